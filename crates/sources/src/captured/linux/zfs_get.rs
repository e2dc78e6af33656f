//! `zfs get`: the block sizes of volumes and datasets, for the pools that other outputs of the same machine describe.

use straddle_geometry::Bytes;
use straddle_stack::{Key, LayerKind, Value};

use crate::captured::text::Line;
use crate::captured::tool::{Notes, Section};
use crate::inventory::{Name, Placing, Space, Thing};

/// The heading of its table.
pub(super) fn begins(lines: &[Line<'_>]) -> bool {
    let words = lines.first().map(|line| line.text.split_whitespace());
    words.is_some_and(|words| words.eq(["NAME", "PROPERTY", "VALUE", "SOURCE"]))
}

/// `tank/vm  volblocksize  8K  default`.
pub(super) fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    for line in section.lines.iter().skip(1) {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let [name, property, value, ..] = words.as_slice() else {
            break;
        };
        let (key, kind, format) = match *property {
            "volblocksize" => (Key::VolumeBlockSize, LayerKind::Volume, "zvol"),
            "recordsize" => (Key::RecordSize, LayerKind::Volume, "zfs-dataset"),
            _ => continue,
        };
        // `-` where the property has no meaning.
        let Some(bytes) = size(value) else { continue };
        let pool = name.split('/').next().unwrap_or(name);
        // A dataset may be called as its pool is.
        let title = format!("{format} {name}");
        let mut thing = Thing::new(kind, title.clone(), Name::new(Space::Pool, title));
        thing.format = Some(notes.said(line, format.into()));
        thing.set_text(Key::Pool, notes.said(line, pool.to_owned()));
        thing.set(key, notes.said(line, Value::Bytes(bytes)));
        thing.placing = Placing::Unknown;
        notes.add(thing);
    }
}

/// `8K`, `1M`, or bytes with `-p`: always a power of two, so that nothing is rounded.
fn size(text: &str) -> Option<Bytes> {
    let (digits, scale) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 10),
        None => match text.strip_suffix(['M', 'm']) {
            Some(digits) => (digits, 20),
            None => (text.strip_suffix('B').unwrap_or(text), 0),
        },
    };
    let bytes = digits.parse::<u64>().ok()?.checked_mul(1 << scale)?;
    bytes.is_power_of_two().then_some(Bytes::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_powers_of_two() {
        let bytes = |text| size(text).map(|bytes| bytes.get());
        assert_eq!(bytes("8K"), Some(8192));
        assert_eq!(bytes("1M"), Some(1 << 20));
        assert_eq!(bytes("131072"), Some(131_072));
        assert_eq!(bytes("512B"), Some(512));
        for odd in ["-", "", "K", "3K", "99999999999999999999M"] {
            assert_eq!(bytes(odd), None, "{odd}");
        }
    }
}
