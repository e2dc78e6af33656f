//! Scripts that carry a plan out: one file for each tool.
//!
//! A script says what it does and why, and does nothing to a device whose size, or whose bytes in the places that tell it from
//! others, are not those that the plan was made for. Steps of other tools are named in it, not done.

mod batch;
mod convert_vhd;
mod copies;
mod cryptsetup;
mod diskpar;
mod diskpart;
mod esxi;
mod guard;
mod in_use;
mod lvm;
mod mdadm;
mod mkfs;
mod mount;
mod parted;
mod parted_util;
mod power;
mod powershell;
mod prelude;
mod price;
mod qemu_img;
mod repart;
mod sfdisk;
mod sgdisk;
mod shell;
mod tables;
mod tune2fs;
mod vds;
mod virtual_disk;
mod windows;
mod zpool;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use straddle_geometry::{Bytes, Map};
use straddle_stack::{LayerId, LayerKind, Stack};
use thiserror::Error;

use crate::change::Change;
use crate::change::partitions::Partitions;
use crate::{How, Plan, Step};

pub use guard::Guard;
pub use price::Traffic;
pub(crate) use price::of as price;

/// A tool that scripts are written for.
#[derive(Debug)]
pub struct Tool {
    /// What it is called on the command line: `sfdisk`.
    pub name: &'static str,
    /// What it is, for the documentation.
    pub title: &'static str,
    /// What its scripts are run by.
    pub language: Language,
    /// Whether it carries out a change.
    pub does: fn(&Change) -> bool,
    /// Writes a script for the steps that it carries out, of which there is at least one.
    script: fn(&Job<'_>, &'static Tool) -> Result<String, Refusal>,
}

/// What a script is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// POSIX shell.
    Shell,
    /// The command interpreter of Windows: a `.cmd` file.
    Batch,
    /// Windows PowerShell 3.0 or later: a `.ps1` file.
    PowerShell,
    /// What `regedit` and `reg import` read: a `.reg` file.
    Registry,
    /// The shell of ESXi, which is that of busybox.
    Esxi,
}

impl Language {
    /// What the name of a script ends with.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Language::Shell | Language::Esxi => "sh",
            Language::Batch => "cmd",
            Language::PowerShell => "ps1",
            Language::Registry => "reg",
        }
    }
}

/// All tools, in the order of the documentation.
pub static TOOLS: &[&Tool] = &[
    &sfdisk::TOOL,
    &sgdisk::TOOL,
    &parted::TOOL,
    &repart::TOOL,
    &mdadm::TOOL,
    &lvm::TOOL,
    &cryptsetup::TOOL,
    &mkfs::TOOL,
    &tune2fs::TOOL,
    &mount::TOOL,
    &zpool::TOOL,
    &diskpart::TOOL,
    &powershell::TOOL,
    &diskpar::TOOL,
    &vds::TOOL,
    &parted_util::TOOL,
    &qemu_img::TOOL,
    &convert_vhd::TOOL,
];

impl Tool {
    /// What becomes of the data when this tool carries out a step. Those of Windows and ESXi move nothing: they make partitions
    /// and filesystems again, and files have to be copied back. The registry holds a setting for what is made later.
    #[must_use]
    pub fn how(&self, step: &Step) -> How {
        match (self.language, step.how) {
            (Language::Shell, how) | (_, how @ How::ByHand) => how,
            (Language::Registry, _) => How::InPlace,
            (_, how) => How::Refill { bytes: how.bytes() },
        }
    }

    /// Whether this tool runs where a stack is: captured text says of which system it is, an image can belong to any.
    #[must_use]
    pub fn suits(&self, stack: &Stack) -> bool {
        match (crate::situation::platform(stack), self.language) {
            (Some("windows"), Language::Batch | Language::PowerShell | Language::Registry)
            | (Some("esxi"), Language::Esxi) => true,
            (Some("windows" | "esxi"), _) => false,
            (_, language) => language == Language::Shell,
        }
    }

    /// Whether it keeps the data in a step, in their place or another.
    fn keeps_data(&self, step: &Step) -> bool {
        self.how(step) == step.how
    }
}

/// What a script is written for.
pub struct Job<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The stack that it was made from.
    pub stack: &'a Stack,
    /// What the plan is called by: the target, as it was named.
    pub target: &'a str,
    /// The words behind `straddle fix` that the plan was made by.
    pub typed: &'a str,
    /// Where the layer at the bottom can be opened, by its name there: the path of an image or of a device.
    pub paths: fn(&Stack, LayerId) -> Option<PathBuf>,
}

/// A job in the middle of a script: its devices have names there.
pub struct Writer<'a> {
    /// The job.
    pub job: &'a Job<'a>,
    /// The devices that were told from others so far; the first is `$disk` in a shell, the second `$disk2`.
    guarded: Vec<LayerId>,
    /// What must hold before anything is written, beside the guards.
    checks: RefCell<String>,
    /// Functions that steps may call, beside those that all may; a script has those that it uses.
    functions: RefCell<Vec<&'static str>>,
    /// Options of the script, beside those that all have.
    choices: RefCell<Vec<&'static prelude::Choice>>,
    /// Those of the guarded that are virtual disks: the script changes them as raw bytes.
    packed: Vec<LayerId>,
}

impl<'a> Writer<'a> {
    /// At the beginning of a script.
    fn new(job: &'a Job<'a>) -> Writer<'a> {
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
    fn know(&self, functions: &'static str) {
        let mut known = self.functions.borrow_mut();
        if !known.contains(&functions) {
            known.push(functions);
        }
    }

    /// Adds an option.
    fn choice(&self, choice: &'static prelude::Choice) {
        let mut choices = self.choices.borrow_mut();
        if !choices.contains(&choice) {
            choices.push(choice);
        }
    }

    /// What a device that a step writes is called in a shell script, quoted: `"$disk"`.
    #[must_use]
    pub fn disk(&self, layer: LayerId) -> String {
        let at = self.guarded.iter().position(|guarded| *guarded == layer);
        format!("\"${}\"", shell::variable("disk", at.unwrap_or(0) + 1))
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

/// Why there is no script.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The plan has no step that the tool carries out.
    #[error("no step of this plan is done by {tool}: {}", others(.with))]
    NothingToDo {
        /// The tool that was asked for.
        tool: &'static str,
        /// Those that do have steps.
        with: Vec<&'static str>,
    },
    /// A step cannot be left to a script.
    #[error("step {number} cannot be left to a script: {why}")]
    Hindered {
        /// The step.
        number: usize,
        /// Why not.
        why: String,
    },
    /// What lies below is to be changed first.
    #[error(
        "step {earlier} comes before step {number} and changes what it lies on: do that first, then ask for this script again"
    )]
    Earlier {
        /// The step.
        number: usize,
        /// The one that comes first.
        earlier: usize,
    },
    /// A name that no script should contain.
    #[error("{name:?} has a {what} in it, which is not safe in a script; give it another name")]
    UnsafeName {
        /// The name.
        name: String,
        /// What is in it.
        what: &'static str,
    },
    /// Something that the script needs is not known.
    #[error("{0}")]
    Unknown(String),
}

fn others(tools: &[&str]) -> String {
    match tools {
        [] => "there is nothing in it that a script could do".to_owned(),
        tools => format!("there are scripts for {}", tools.join(", ")),
    }
}

/// The tool of this name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name).copied()
}

/// The first tool that carries out a change.
#[must_use]
pub fn for_change(change: &Change) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| (tool.does)(change)).copied()
}

/// The script that carries out the steps of a plan that `tool` can.
///
/// # Errors
/// [`Refusal`] when there are none, or one is not to be left to a script.
pub fn write(job: &Job<'_>, tool: &'static Tool) -> Result<String, Refusal> {
    if !has_steps(job, tool) {
        return Err(Refusal::NothingToDo {
            tool: tool.name,
            with: writable(job).iter().map(|tool| tool.name).collect(),
        });
    }
    written(job, tool)
}

/// The tools that a script can be written for: each writes its script, which is thrown away.
#[must_use]
pub fn writable(job: &Job<'_>) -> Vec<&'static Tool> {
    let tools = TOOLS.iter().copied();
    tools
        .filter(|tool| {
            has_steps(job, tool) && tool.suits(&job.plan.after) && written(job, tool).is_ok()
        })
        .collect()
}

fn has_steps(job: &Job<'_>, tool: &Tool) -> bool {
    let mut steps = job.plan.steps.iter();
    steps.any(|step| (tool.does)(&step.change))
}

/// The script of a tool that has steps.
fn written(job: &Job<'_>, tool: &'static Tool) -> Result<String, Refusal> {
    // What stands in the way of data that are moved is nothing to a tool that does not move them.
    let hindered = |step: &&Step| {
        (tool.does)(&step.change) && (step.how == How::ByHand || tool.keeps_data(step))
    };
    for step in job.plan.steps.iter().filter(hindered) {
        if let Some(why) = step.hindrances.first() {
            return Err(Refusal::Hindered {
                number: step.number,
                why: why.clone(),
            });
        }
    }
    (tool.script)(job, tool)
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
fn partitions_of(change: &Change) -> Result<&Partitions, Refusal> {
    change
        .partitions()
        .ok_or_else(|| Refusal::Unknown("the step is about no partitions".to_owned()))
}

/// Lines, each four blanks further in.
fn indented(lines: &str) -> String {
    let lines = lines.lines();
    lines.map(|line| format!("    {line}\n")).collect()
}

/// A name with nothing in it that could end its quotation, or hide a line of a script from who reads it.
///
/// # Errors
/// [`Refusal::UnsafeName`].
pub(crate) fn safe(name: &Path) -> Result<&str, Refusal> {
    let refuse = |what| Refusal::UnsafeName {
        name: name.display().to_string(),
        what,
    };
    let text = name
        .to_str()
        .ok_or_else(|| refuse("byte that is no UTF-8"))?;
    match text.chars().find(|c| c.is_control() || is_deceptive(*c)) {
        Some('\n' | '\r') => Err(refuse("line break")),
        Some(_) => Err(refuse("control character")),
        None => Ok(text),
    }
}

/// Characters that make text look other than it is: those of format (Cf: direction marks, joiners, tags), and line separators.
fn is_deceptive(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e007f}'
    )
}
