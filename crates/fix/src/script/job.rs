//! What a script is written for: the plan with the places of its layers, and a script that is being written.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use straddle_geometry::{Bytes, Map};
use straddle_stack::{LayerId, LayerKind, Stack};

use super::prelude;
use super::refusal::Refusal;
use super::virtual_disk;
use super::words::variable;
use crate::change::Change;
use crate::change::partitions::Partitions;
use crate::{How, Plan, Step};

/// What a script is written for.
pub struct Job<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The stack that it was made from.
    pub stack: &'a Stack,
    /// What the plan is called by: the target, as it was named.
    pub target: &'a str,
    /// The command that says afterwards what became of the plan.
    pub again: &'a str,
    /// Where the layer at the bottom can be opened, by its name there: the path of an image or of a device.
    pub paths: fn(&Stack, LayerId) -> Option<PathBuf>,
}

/// A job in the middle of a script: its devices have names there.
pub struct Writer<'a> {
    /// The job.
    pub job: &'a Job<'a>,
    /// The devices that were told from others so far; the first is `$disk` in a shell, the second `$disk2`.
    pub(super) guarded: Vec<LayerId>,
    /// What must hold before anything is written, beside the guards.
    pub(super) checks: RefCell<String>,
    /// Functions that steps may call, beside those that all may; a script has those that it uses.
    pub(super) functions: RefCell<Vec<&'static str>>,
    /// Options of the script, beside those that all have.
    pub(super) choices: RefCell<Vec<&'static prelude::Choice>>,
    /// Those of the guarded that are virtual disks: the script changes them as raw bytes.
    pub(super) packed: Vec<LayerId>,
}

impl<'a> Writer<'a> {
    /// At the beginning of a script.
    pub(super) fn new(job: &'a Job<'a>) -> Writer<'a> {
        Writer {
            job,
            guarded: Vec::new(),
            checks: RefCell::default(),
            functions: RefCell::default(),
            choices: RefCell::default(),
            packed: Vec::new(),
        }
    }

    /// Adds lines that `die` when something is not as the step needs it. They run with the guards, whether or not `--yes` is
    /// given, and before any step writes.
    pub fn check(&self, lines: &str) {
        self.checks.borrow_mut().push_str(lines);
    }

    /// Makes functions known that a step may call.
    pub(super) fn know(&self, functions: &'static str) {
        let mut known = self.functions.borrow_mut();
        if !known.contains(&functions) {
            known.push(functions);
        }
    }

    /// Adds an option.
    pub(super) fn choice(&self, choice: &'static prelude::Choice) {
        let mut choices = self.choices.borrow_mut();
        if !choices.contains(&choice) {
            choices.push(choice);
        }
    }

    /// What a device that a step writes is called in a shell script, quoted: `"$disk"`.
    #[must_use]
    pub fn disk(&self, layer: LayerId) -> String {
        let at = self.guarded.iter().position(|guarded| *guarded == layer);
        format!("\"${}\"", variable("disk", at.unwrap_or(0) + 1))
    }

    /// Lines after which `$part` is a device with the bytes of a layer that a step writes: the layer itself where it can be
    /// opened, else a loop device of its place in what it lies in. [`Self::release`] has the lines that end that.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] when it cannot be reached.
    pub fn reach(&self, layer: LayerId) -> Result<String, Refusal> {
        let (carrier, start) = self.job.carrier(layer)?;
        let disk = self.disk(carrier);
        let folder = "[ -d \"$folder\" ] || die \"$folder is no folder\"\n";
        if carrier == layer {
            return Ok(format!("{folder}as_plain {disk}\npart=$named\n"));
        }
        let size = self.job.stack.layer(layer).size.as_ref();
        let size = size.map(|size| size.value).ok_or_else(|| {
            let name = &self.job.stack.layer(layer).name;
            Refusal::Unknown(format!("the size of {name} is not known"))
        })?;
        Ok(format!(
            "{folder}need losetup mount\n\
             part=$(losetup --find --show --offset {} --sizelimit {} {disk}) || die 'no loop device could be had for it'\n\
             loop=$part\n\
             give_back() {{ if [ -n \"$loop\" ]; then losetup --detach \"$loop\" || :; fi; }}\n\
             at_end give_back\n",
            start.get(),
            size.get()
        ))
    }

    /// Lines that give back what [`Self::reach`] took.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] when it cannot be reached.
    pub fn release(&self, layer: LayerId) -> Result<&'static str, Refusal> {
        let (carrier, _) = self.job.carrier(layer)?;
        Ok(match carrier == layer {
            true => "",
            false => "losetup --detach \"$loop\"\nloop=\n",
        })
    }

    /// Refuses while a step below `layer` has not been done: what a script checks and writes is another then.
    ///
    /// # Errors
    /// [`Refusal::Earlier`].
    pub fn first(&self, step: &Step) -> Result<(), Refusal> {
        let stack = self.job.stack;
        let earlier = self.job.plan.steps.iter().find(|other| {
            other.number < step.number
                && other.how != How::ByHand
                && other.layer != step.layer
                && !matches!(&other.change, Change::Image(image) if self.packed.contains(&image.disk))
                && stack.rests_on(step.layer, other.layer)
        });
        match earlier {
            Some(earlier) => Err(Refusal::Earlier {
                number: step.number,
                earlier: earlier.number,
            }),
            None => Ok(()),
        }
    }
}

impl Job<'_> {
    /// The nearest layer at or below `layer` that can be opened, and where `layer` begins in it: an image, for its partitions. A virtual
    /// disk is one whose bytes can be had raw.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] when its bytes lie in several places, or in nothing that has a path.
    pub fn carrier(&self, layer: LayerId) -> Result<(LayerId, Bytes), Refusal> {
        let (mut here, mut at) = (layer, Bytes::ZERO);
        while self.found(here).is_none() {
            if virtual_disk::file(self, here).is_some() {
                break;
            }
            let below = self.stack.only_below(here);
            let start = match self.stack.layer(here).map {
                Map::Linear { start } => at.checked_add(start),
                _ => None,
            };
            let (Some(below), Some(start)) = (below, start) else {
                return self.path(layer).map(|_| (layer, Bytes::ZERO));
            };
            (here, at) = (below, start);
        }
        Ok((here, at))
    }

    /// Where a layer can be opened, by a name that begins with a slash or a dot: no tool takes such a one for an option, a protocol or a label.
    fn found(&self, layer: LayerId) -> Option<PathBuf> {
        let path = (self.paths)(self.stack, layer)?;
        let is_plain = path.is_absolute() || path.starts_with(".") || path.starts_with("..");
        Some(match is_plain {
            true => path,
            false => Path::new(".").join(path),
        })
    }

    /// Where a layer can be opened, by a name that no tool takes for anything else.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] when it has no path.
    pub fn path(&self, layer: LayerId) -> Result<PathBuf, Refusal> {
        self.found(layer).ok_or_else(|| {
            let here = self.stack.layer(layer);
            let name = &here.name;
            if here.kind == LayerKind::Container {
                return Refusal::Unknown(format!(
                    "what is to be changed lies in a {name}, which this tool cannot open: `qemu-img convert -O raw` it with the guest shut \
                     down, make a plan and a script for the raw file, and convert that back"
                ));
            }
            Refusal::Unknown(format!(
                "{name} has no path that a script could open; make the script where the disk is, or from an image of it"
            ))
        })
    }
}

/// The partitions that a step is about.
///
/// # Errors
/// [`Refusal::Unknown`] when it is about something else.
pub(super) fn partitions_of(change: &Change) -> Result<&Partitions, Refusal> {
    change
        .partitions()
        .ok_or_else(|| Refusal::Unknown("the step is about no partitions".to_owned()))
}
