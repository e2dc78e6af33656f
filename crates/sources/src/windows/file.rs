//! A file on a volume, through its extents down to the disks.

use straddle_io::WindowsDevice;
use straddle_stack::{Layer, LayerKind, Stack};

use super::contents;
use super::dynamic::called;
use super::extents::place;
use super::host::stack;
use super::machine::{Machine, Mounted};
use crate::inventory::{Name, Placing, Space, Thing};
use crate::linux::Root;
use crate::part::part_of;
use crate::{Settings, SourceError};

/// Follows a file of a Windows host down to the disks, or tells all that rests on a disk or volume of it, and what that rests on.
///
/// # Errors
/// [`SourceError::NoDisks`] as for the host, [`SourceError::File`] when no volume has the file, or there is no such device.
pub fn file(root: &Root, path: &str, settings: &Settings) -> Result<Stack, SourceError> {
    let failed = |detail: &str| SourceError::File {
        path: path.to_owned(),
        detail: detail.to_owned(),
    };
    if let Some(device) = WindowsDevice::of(path) {
        let whole = stack(root, settings, |_, _| Ok(()))?;
        let volumes = Machine::new(root).volumes().unwrap_or_default();
        let name = title(device, &volumes);
        let found = name.and_then(|name| called(&whole, &name));
        let id = found.ok_or_else(|| failed("this machine has no such disk or volume"))?;
        let mut part = part_of(&whole, id);
        part.survey(&settings.io);
        return Ok(part);
    }
    let not_followed = || SourceError::NotFollowed {
        path: path.to_owned(),
    };
    let mut whole = stack(root, settings, |machine, all| {
        let volumes = machine
            .volumes()
            .map_err(|why| failed(&format!("the volumes cannot be listed: {why}")))?;
        // A share of another machine, for one.
        let volume =
            volume_of(&volumes, path).ok_or_else(|| match settings.only_when_followed {
                true => not_followed(),
                false => failed("it is on no volume of this machine"),
            })?;
        let on = volume.at.first().unwrap_or(&volume.path);
        let on = Name::new(Space::WindowsVolume, on.clone());
        let name = Name::new(Space::Path, path.to_owned());
        let mut thing = Thing::new(LayerKind::File, path, name).on(on);
        place(machine, &volume.path, path, &mut thing);
        if settings.only_when_followed && thing.placing == Placing::Unknown {
            return Err(not_followed());
        }
        all.add(thing);
        Ok(())
    })?;
    let is_it = |layer: &Layer| layer.kind == LayerKind::File && layer.name == path;
    let found = whole.iter().find(|(_, layer)| is_it(layer));
    let (id, _) = found.ok_or_else(not_followed)?;
    contents::of_file(root, &mut whole, id, path, settings)?;
    let mut part = part_of(&whole, id);
    part.survey(&settings.io);
    Ok(part)
}

/// What the layer of a device is called.
fn title(device: WindowsDevice<'_>, volumes: &[Mounted]) -> Option<String> {
    let name = match device {
        WindowsDevice::Disk(number) => return Some(super::disk::title(number)),
        WindowsDevice::Volume(name) => name,
    };
    let is_it = |path: &String| {
        let path = path.strip_prefix(r"\\?\").unwrap_or(path);
        path.trim_end_matches('\\').eq_ignore_ascii_case(name)
    };
    let mut all = volumes.iter();
    let found = all.find(|one| one.at.iter().chain([&one.path]).any(is_it));
    found.map(super::volume::title)
}

/// The volume whose letter or folder is the longest beginning of a path.
fn volume_of<'a>(volumes: &'a [Mounted], path: &str) -> Option<&'a Mounted> {
    let plain = path.strip_prefix(r"\\?\").unwrap_or(path).to_lowercase();
    let len = |mounted: &Mounted| {
        let begins = mounted.at.iter().chain([&mounted.path]).filter(|at| {
            let at = at.to_lowercase();
            plain.starts_with(at.strip_prefix(r"\\?\").unwrap_or(&at))
        });
        begins.map(String::len).max()
    };
    let found = volumes.iter().filter_map(|one| Some((len(one)?, one)));
    found.max_by_key(|(len, _)| *len).map(|(_, one)| one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_found_by_every_name_that_they_have() {
        let volumes = [Mounted {
            path: r"\\?\Volume{1-2}\".to_owned(),
            at: vec![r"E:\".to_owned()],
        }];
        for name in ["e:", "volume{1-2}"] {
            let found = title(WindowsDevice::Volume(name), &volumes);
            assert_eq!(found.as_deref(), Some("E:"), "{name}");
        }
        assert_eq!(title(WindowsDevice::Volume("f:"), &volumes), None);
    }

    #[test]
    fn a_file_is_on_the_volume_that_is_mounted_nearest_to_it() {
        let volume = |path: &str, at: &[&str]| Mounted {
            path: path.to_owned(),
            at: at.iter().map(|at| (*at).to_owned()).collect(),
        };
        let volumes = [
            volume(r"\\?\Volume{1}\", &[r"D:\"]),
            volume(r"\\?\Volume{2}\", &[r"D:\data\"]),
            volume(r"\\?\Volume{3}\", &[]),
        ];
        let of = |path: &str| volume_of(&volumes, path).map(|one| one.path.as_str());
        assert_eq!(of(r"d:\a.mdf"), Some(r"\\?\Volume{1}\"));
        assert_eq!(of(r"D:\Data\a.mdf"), Some(r"\\?\Volume{2}\"));
        assert_eq!(of(r"\\?\D:\data\a.mdf"), Some(r"\\?\Volume{2}\"));
        assert_eq!(of(r"\\?\Volume{3}\x"), Some(r"\\?\Volume{3}\"));
        assert_eq!(of(r"C:\a"), None);
    }
}
