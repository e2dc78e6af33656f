//! A Windows host as a whole.

use straddle_stack::{Anomaly, AnomalyKind, LayerKind, Stack};

use super::machine::Machine;
use super::{contents, disk, volume};
use crate::inventory::{Inventory, Name, Placing, Space, Thing};
use crate::linux::Root;
use crate::{Settings, SourceError};

/// Reads the storage of a Windows host: its disks, what their tables say, its volumes and filesystems.
///
/// # Errors
/// [`SourceError::NoDisks`] when it has no disk that can be asked.
pub fn host(root: &Root, settings: &Settings) -> Result<Stack, SourceError> {
    let mut stack = stack(root, settings, |_, _| Ok(()))?;
    stack.survey(&settings.io);
    Ok(stack)
}

/// Everything that is known of a host, what `more` adds to what it answers among it.
pub(super) fn stack(
    root: &Root,
    settings: &Settings,
    more: impl FnOnce(Machine<'_>, &mut Inventory) -> Result<(), SourceError>,
) -> Result<Stack, SourceError> {
    let machine = Machine::new(root);
    let disks = machine.disks().map_err(|why| SourceError::NoDisks {
        path: root.name().to_owned(),
        why: why.to_string(),
    })?;
    let mut all = inventory(machine, &disks, root.name())?;
    more(machine, &mut all)?;
    let mut stack = all.stack(&settings.overrides);
    // A captured host has contents only where they were asked for.
    if root.has_devices() {
        let volumes = machine.volumes().unwrap_or_default();
        contents::add(root, &mut stack, &disks, &volumes);
    }
    Ok(stack)
}

fn inventory(machine: Machine<'_>, disks: &[u32], name: &str) -> Result<Inventory, SourceError> {
    if disks.is_empty() {
        return Err(SourceError::NoDisks {
            path: name.to_owned(),
            why: "there is no \\\\.\\PhysicalDrive0 to 127".to_owned(),
        });
    }
    let mut all = Inventory::default();
    for number in disks {
        disk::note(machine, *number, &mut all);
    }
    match machine.volumes() {
        Ok(volumes) => {
            for mounted in volumes {
                volume::note(machine, &mounted, &mut all);
            }
        }
        Err(why) => all.add(nameless(format!("its volumes cannot be listed: {why}"))),
    }
    Ok(all)
}

/// What is missing of the machine as a whole.
fn nameless(why: String) -> Thing {
    let mut thing = Thing::new(
        LayerKind::Volume,
        "volumes",
        Name::new(Space::Path, "volumes of this machine"),
    );
    thing.placing = Placing::Unknown;
    thing.remarks.push(Anomaly::new(AnomalyKind::Missing, why));
    thing
}
