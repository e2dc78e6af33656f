//! Scripts for Windows PowerShell: quoting, and the frame around checks and what tools do.

use std::fmt::Write;

use super::windows::{crlf, heading};
use super::{Job, Order, Refusal, safe};
use crate::Step;

/// Text as an expression. In single quotes only quotes mean anything, of which PowerShell knows five; what is not ASCII is put
/// together from numbers, so that it means the same in every code page.
///
/// # Errors
/// [`Refusal::UnsafeName`] for line breaks and the like.
pub(super) fn quoted(text: &str) -> Result<String, Refusal> {
    let text = safe(text.as_ref())?;
    let mut parts: Vec<String> = Vec::new();
    let mut run = String::new();
    for c in text.chars() {
        if c.is_ascii() {
            run.push(c);
            if c == '\'' {
                run.push(c);
            }
            continue;
        }
        if !run.is_empty() || parts.is_empty() {
            parts.push(format!("'{run}'"));
            run.clear();
        }
        let mut units = [0; 2];
        let units = c.encode_utf16(&mut units);
        parts.extend(units.iter().map(|unit| format!("[char]0x{unit:04x}")));
    }
    if !run.is_empty() || parts.is_empty() {
        parts.push(format!("'{run}'"));
    }
    match parts.as_slice() {
        [one] => Ok(one.clone()),
        parts => Ok(format!("({})", parts.join(" + "))),
    }
}

/// What differs between tools.
pub(super) struct Frame {
    /// The module that is needed.
    pub(super) module: &'static str,
    /// Comments about what it does to data.
    pub(super) warning: &'static str,
    /// Whether contents are lost that must have been copied away.
    pub(super) needs_backup: bool,
    /// What a step comes to.
    pub(super) parts: fn(&Job<'_>, &Step, usize) -> Result<Parts, Refusal>,
}

/// A step of a script.
pub(super) struct Parts {
    /// Whether the number of the disk must be given.
    pub(super) asks_number: bool,
    /// Whether it can be told that the disk is empty.
    pub(super) takes_empty: bool,
    /// What refuses any other disk.
    pub(super) checks: String,
    /// What is done.
    pub(super) writes: String,
}

/// The script.
pub(super) fn script(order: &Order<'_>, frame: &Frame) -> Result<String, Refusal> {
    let Order { job, tool, .. } = *order;
    let mut out = format!(
        "#Requires -Version 3.0\n#Requires -Modules {}\n\n",
        frame.module
    );
    for text in heading(order) {
        let _ = writeln!(out, "{}", format!("# {text}").trim_end());
    }
    out += frame.warning;
    let mut checks = String::new();
    let mut body = String::new();
    let mut asks_number = false;
    let mut takes_empty = false;
    let steps = job.plan.steps.iter();
    for (index, step) in steps.filter(|step| (tool.does)(&step.change)).enumerate() {
        let parts = (frame.parts)(job, step, index)?;
        asks_number |= parts.asks_number;
        takes_empty |= parts.takes_empty;
        if asks_number && index > 0 {
            return Err(Refusal::Unknown(
                "several disks, and not all of their numbers are known; make a script for each image".to_owned(),
            ));
        }
        let _ = write!(
            checks,
            "\n# Step {}: is it the disk of the plan?\n{}",
            step.number, parts.checks
        );
        let _ = write!(body, "\n# Step {}\n{}", step.number, parts.writes);
    }
    let number = if asks_number {
        "    [Parameter(Mandatory = $true)]\n    [uint32] $Number,\n\n"
    } else {
        ""
    };
    let (mut switches, backup) = match frame.needs_backup {
        true => (vec!["    [switch] $ContentsAreBackedUp"], BACKUP),
        false => (Vec::new(), ""),
    };
    if takes_empty {
        switches.push("    [switch] $DiskIsEmpty");
        out += EMPTY;
    }
    let switches = match switches.is_empty() {
        true => String::new(),
        false => switches.join(",\n\n") + "\n",
    };
    let _ = write!(
        out,
        "[CmdletBinding(SupportsShouldProcess = $true, ConfirmImpact = 'High')]\n\
         param(\n{number}{switches})\n\n\
         Set-StrictMode -Version 2.0\n\
         $ErrorActionPreference = 'Stop'\n\n{PRELUDE}{checks}\n{backup}{body}\n\
         Write-Output -InputObject 'done; whether it helped: straddle fix --verify, with the plan that --json printed before'\n"
    );
    Ok(crlf(&out))
}

const EMPTY: &str = "# With -DiskIsEmpty it is for a disk of the same size without a table: one that takes the place of the old, or an array that its\n\
    # controller has re-created with another stripe unit. It initialises that, and makes the same partitions.\n";

const BACKUP: &str = r#"if (-not $ContentsAreBackedUp -and -not $WhatIfPreference) {
    throw 'refused, nothing was written: what is on its volumes will be gone; copy it away, try the copy, and say -ContentsAreBackedUp'
}
"#;

const PRELUDE: &str = include_str!("fragments/assert_same.ps1");
