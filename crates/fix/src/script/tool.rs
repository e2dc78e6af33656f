//! What a tool is, and what it is asked for.

use straddle_stack::Stack;

use super::job::Job;
use super::price;
use super::refusal::Refusal;
use crate::change::Change;
use crate::{How, Step, Traffic};

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
    pub(super) script: fn(&Order<'_>) -> Result<String, Refusal>,
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

/// What a tool writes a script by.
pub(super) struct Order<'a> {
    /// What it is for.
    pub(super) job: &'a Job<'a>,
    /// The tool itself.
    pub(super) tool: &'static Tool,
    /// Who carries out a step that this tool does not: a script names them.
    pub(super) other: fn(&Change) -> Option<&'static Tool>,
}

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
            // What the tool of a RAID controller says may be of any system.
            (None | Some("linux" | "raid"), language) => language == Language::Shell,
            _ => false,
        }
    }

    /// Whether it keeps the data in a step, in their place or another.
    pub(super) fn keeps_data(&self, step: &Step) -> bool {
        self.how(step) == step.how
    }

    /// What this tool's script reads and writes for a step, with what a backup program does around it.
    #[must_use]
    pub fn traffic(&self, stack: &Stack, step: &Step) -> Traffic {
        price::of(stack, &step.change, self.how(step))
    }
}
