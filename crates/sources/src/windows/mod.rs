//! The live Windows host, by system calls: no WMI, no PowerShell and no child process.
//!
//! [`answer`] decodes what the system writes into a caller's buffer. It is safe Rust that runs on every system, so a captured
//! answer is read anywhere as it was read on the host. [`host`] puts together what disks, volumes and filesystems answer; [`file()`]
//! follows a file through its extents.

pub mod answer;
mod contents;
mod disk;
mod dynamic;
mod file;
mod machine;
mod question;
mod volume;

use straddle_stack::{Anomaly, AnomalyKind, Fact, LayerKind, Stack};

use crate::inventory::{Inventory, Name, Space, Thing};
use crate::linux::Root;
use crate::{Settings, SourceError};
use answer::BadAnswer;
use machine::Machine;
pub(crate) use question::FOLDER;
use question::{Ask, NoAnswer, Of};

pub use file::file;

/// Whether a root is a Windows host: this one, or one that was captured.
#[must_use]
pub fn is_windows(root: &Root) -> bool {
    match root.is_live() {
        true => cfg!(windows),
        false => root.has_directory(FOLDER),
    }
}

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
fn stack(
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
    // A captured host has no contents.
    if root.is_live() {
        contents::add(&mut stack, &disks, &machine.volumes().unwrap_or_default());
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
    thing.placing = crate::inventory::Placing::Unknown;
    thing.remarks.push(Anomaly::new(AnomalyKind::Missing, why));
    thing
}

/// What one thing answers to one question, decoded; what is wrong with the answer is remarked.
struct Asked<'a> {
    machine: Machine<'a>,
    of: Of,
}

impl Asked<'_> {
    /// The decoded answer. `None` where there is none; where that is no ordinary refusal, `thing` says so.
    fn get<T>(
        &self,
        thing: &mut Thing,
        ask: Ask,
        decode: impl FnOnce(&[u8]) -> Result<T, BadAnswer>,
    ) -> Option<T> {
        let bytes = self.machine.ask(&self.of, ask).ok()?;
        self.decoded(thing, ask, decode(&bytes))
    }

    /// The same, with the reason where there is no answer.
    fn try_get<T>(
        &self,
        thing: &mut Thing,
        ask: Ask,
        decode: impl FnOnce(&[u8]) -> Result<T, BadAnswer>,
    ) -> Result<Option<T>, NoAnswer> {
        let bytes = self.machine.ask(&self.of, ask)?;
        Ok(self.decoded(thing, ask, decode(&bytes)))
    }

    fn decoded<T>(&self, thing: &mut Thing, ask: Ask, answer: Result<T, BadAnswer>) -> Option<T> {
        answer
            .map_err(|error| {
                let detail = format!("{} answers what cannot be: {error}", ask.call());
                thing
                    .remarks
                    .push(Anomaly::new(AnomalyKind::Damaged, detail));
            })
            .ok()
    }
}

/// What a call answered.
fn said<T>(ask: Ask, value: T, text: impl Into<String>) -> Fact<T> {
    Fact::answered(value, ask.call(), text)
}
