//! Scripts in POSIX shell: quoting, the guards, and the frame around what tools do.

use std::fmt::Write;
use std::path::Path;
use straddle_stack::{Key, LayerId};

use super::guarded::{Guarded, marked};
use super::in_use::IN_USE;
use super::job::{Job, Writer};
use super::prelude::{BACKED_UP, COMMON, Choice, PRELUDE, options, used};
use super::tool::{Language, Order, Tool};
use super::words::{comment, indented, quoted, variable};
use super::{Guard, Refusal, esxi, virtual_disk};
use crate::change::Change;
use crate::{How, Step};

pub(super) fn script(order: &Order<'_>, step: Carry) -> Result<String, Refusal> {
    let Order { job, tool, .. } = *order;
    let mut out = String::from("#!/bin/sh\n");
    let steps = || job.plan.steps.iter();
    let mine = || steps().filter(|step| (tool.does)(&step.change));
    line(
        &mut out,
        &format!(
            "# {}: what `straddle fix` plans for it, by {}.",
            comment(job.target),
            tool.title
        ),
    );
    let parts = Parts::of(job, tool, step)?;
    let text = format!("{}{}{}", parts.guards, parts.body, parts.closed);
    let prelude = match tool.language {
        Language::Esxi => esxi::PRELUDE,
        _ => PRELUDE,
    };
    let in_use = match tool.language {
        Language::Esxi => "",
        _ => IN_USE,
    };
    let functions = used([prelude, in_use].iter().chain(&parts.functions), &text);
    let keeps = text.contains("$folder") || functions.contains("$folder");
    let only_reads = mine().all(|step| match &step.change {
        Change::Image(_) => true,
        change => change
            .written()
            .iter()
            .all(|layer| parts.packed.contains(layer)),
    });
    out += match only_reads {
        true => {
            "#\n# It only reads the file named below, and writes a new one beside it. Shut the guest down first.\n"
        }
        false => {
            "#\n# It writes to the devices named below. Have a backup that was test-restored, and nothing mounted.\n"
        }
    };
    out += match keeps {
        true => {
            "# Run it with --yes; without, it only says whether it would. The folder is for logs and copies.\n"
        }
        false => "# Run it with --yes; without, it only says whether it would.\n",
    };
    let refills = tool.language == Language::Shell
        && mine().any(|step| matches!(step.how, How::Refill { .. }));
    if refills {
        out += "# It makes filesystems or volumes again: what is in them is gone, and comes back from your backup. It refuses those\n\
                # that are not empty, unless --contents-are-backed-up is given too.\n";
    }
    let is_packed = |layer: LayerId| parts.packed.contains(&layer);
    for step in steps() {
        let is_here = match &step.change {
            // What lies in a virtual disk is changed as raw bytes, of which the new file is made.
            Change::Image(image) => is_packed(image.disk),
            _ => false,
        };
        let by = if is_here || (tool.does)(&step.change) {
            "here".to_owned()
        } else {
            match (order.other)(&step.change) {
                Some(other) => format!("not here: straddle fix --script {}", other.name),
                None => "by hand".to_owned(),
            }
        };
        line(
            &mut out,
            &format!("#\n# Step {} ({by}): {}", step.number, comment(&step.title)),
        );
        for text in step.arithmetic.iter().chain(&step.notes) {
            line(&mut out, &format!("#   {}", comment(text)));
        }
    }
    out += "set -eu\n\n";
    let mut choices = parts.choices;
    if refills || tool.language == Language::Esxi {
        choices.push(&BACKED_UP);
    }
    out += &options(&choices, keeps);
    out += COMMON;
    out += &functions;
    out += parts.guards.trim_start();
    out += "\nif [ \"$yes\" != 1 ]; then\n    say 'everything is as the plan expects; run it again with --yes'\n    exit 0\nfi\n";
    out += &parts.body;
    out += &parts.closed;
    out += "\nstate='all that was planned is done'\n";
    let said = match only_reads {
        true => {
            "done; whether it helped: straddle fix --verify plan.json, with the new file".to_owned()
        }
        false => format!("done; whether it helped: {}", job.again),
    };
    line(&mut out, &format!("say {}", quoted(Path::new(&said))?));
    Ok(out)
}

/// What the steps of a script come to.
struct Parts {
    /// Lines that refuse another device, or one in another state.
    guards: String,
    /// What is done behind `--yes`.
    body: String,
    /// What is done when all steps are.
    closed: String,
    /// Functions that steps may call, beside the prelude.
    functions: Vec<&'static str>,
    /// Options of the tool.
    choices: Vec<&'static Choice>,
    /// Virtual disks that new files are written of.
    packed: Vec<LayerId>,
}

impl Parts {
    fn of(job: &Job<'_>, tool: &'static Tool, carry_out: Carry) -> Result<Parts, Refusal> {
        let mut writer = Writer::new(job);
        let (mut guards, mut opened) = (String::new(), String::new());
        let (mut body, mut closed) = (String::new(), String::new());
        let mut before: Option<usize> = None;
        let mine = job.plan.steps.iter();
        for step in mine.filter(|step| (tool.does)(&step.change)) {
            if let Some(before) = before.replace(step.number) {
                line(
                    &mut body,
                    &format!(
                        "begun='nothing after step {before}'\nstate='nothing after step {before} was written'"
                    ),
                );
            }
            for layer in step.change.written() {
                let carrier = match step.change.is_reached() {
                    true => job.carrier(layer)?.0,
                    false => layer,
                };
                let known = writer.guarded.iter().position(|other| *other == carrier);
                if known.is_none() {
                    writer.guarded.push(carrier);
                }
                if known.is_some() && carrier == layer {
                    continue;
                }
                let number = known.map_or(writer.guarded.len(), |at| at + 1);
                let is_inside = step.change.partitions().is_some() || step.change.is_reached();
                let guarded = if tool.language == Language::Esxi {
                    esxi::guard(job, layer, number)?
                } else if is_inside && virtual_disk::file(job, carrier).is_some() {
                    writer.packed.push(carrier);
                    virtual_disk::guard(job, (layer, carrier), number, known.is_some())?
                } else {
                    guard(job, (layer, carrier), number, step)?
                };
                guards += &guarded.before;
                opened += &guarded.opened;
                closed += &guarded.closed;
            }
            let title = comment(&format!("step {}: {}", step.number, step.title));
            line(&mut body, &format!("\nsay {}", quoted(Path::new(&title))?));
            body += &carry_out(&writer, step)?;
        }
        guards += &writer.checks.into_inner();
        Ok(Parts {
            guards,
            body: opened + &body,
            closed,
            functions: writer.functions.into_inner(),
            choices: writer.choices.into_inner(),
            packed: writer.packed,
        })
    }
}

fn line(out: &mut String, text: &str) {
    let _ = writeln!(out, "{text}");
}

/// What carries a step out.
pub(super) type Carry = fn(&Writer<'_>, &Step) -> Result<String, Refusal>;

/// The lines that refuse to go on with another device.
fn guard(
    job: &Job<'_>,
    (layer, carrier): (LayerId, LayerId),
    number: usize,
    step: &Step,
) -> Result<Guarded, Refusal> {
    let path = job.path(carrier)?;
    let disk = variable("disk", number);
    let mut guard = Guard::within(job.stack, layer, carrier);
    let mut before = format!("\n{disk}={}\n", quoted(&path)?);
    if step.change.partitions().is_some() {
        // What a run that was stopped has moved has left its place; what the whole is known by has not.
        let moving;
        (guard.marks, moving) = guard
            .marks
            .into_iter()
            .partition(|mark| mark.what == Key::TableId.name());
        let moving = Guard {
            size: None,
            marks: moving,
            serial: None,
        };
        let moving = indented(&marked(&moving, &disk));
        before += &marked(&guard, &disk);
        if !moving.is_empty() {
            let _ = write!(before, "if ! is_begun {}; then\n{moving}fi\n", step.number);
        }
    } else {
        before += &marked(&guard, &disk);
    }
    if !before.contains("bytes_are") {
        let Some(serial) = &guard.serial else {
            return Err(Refusal::Unknown(format!(
                "nothing was read that tells {} from other disks; no script is written that could not refuse the wrong one",
                job.stack.layer(layer).name
            )));
        };
        let serial = quoted(Path::new(serial))?;
        line(&mut before, &format!("serial_is \"${disk}\" {serial}"));
    }
    let holder = match step.change.holder() {
        Some(holder) => format!(" {}", quoted(Path::new(holder))?),
        None => String::new(),
    };
    line(&mut before, &format!("not_in_use \"${disk}\"{holder}"));
    Ok(Guarded {
        before,
        ..Guarded::default()
    })
}
