//! Scripts for the command interpreter of Windows: quoting, options, and the frame around checks and what tools do.

use std::fmt::Write;

use super::fragment::filled;
use super::windows::{Disk, ascii, crlf, heading};
use super::{Order, Refusal};

/// Text in double quotes, where nothing but the quote itself and percent signs mean anything.
///
/// # Errors
/// [`Refusal::UnsafeName`].
pub(super) fn quoted(text: &str) -> Result<String, Refusal> {
    let text = ascii(text)?;
    let refuse = |what| {
        Err(Refusal::UnsafeName {
            name: text.to_owned(),
            what,
        })
    };
    if text.contains('"') {
        return refuse("quotation mark");
    }
    if text.ends_with('\\') {
        return refuse("backslash at its end");
    }
    Ok(format!("\"{}\"", text.replace('%', "%%")))
}

/// The script.
pub(super) fn script(
    order: &Order<'_>,
    parts: fn(&Disk<'_>) -> Result<(String, String), Refusal>,
) -> Result<String, Refusal> {
    let Order { job, tool, .. } = *order;
    let mut out = String::from("@echo off\n");
    for text in heading(order) {
        // These mean something even in a remark.
        let text = text.replace(['&', '|', '<', '>', '^', '"'], " ");
        let _ = writeln!(
            out,
            "{}",
            format!("rem {}", text.replace('%', "%%")).trim_end()
        );
    }
    out += "rem It deletes partitions, then re-creates and formats them: what is on them is gone, and must be copied back.\n\
            rem Without options it only says whether it would. Run it as an administrator.\n";
    out += "setlocal EnableExtensions DisableDelayedExpansion\n";
    let mine = || {
        let steps = job.plan.steps.iter();
        steps.filter(|step| (tool.does)(&step.change))
    };
    let mut checks = String::new();
    let mut body = String::new();
    let mut numbers = Vec::new();
    for step in mine() {
        let disk = Disk::of(job, &step.change)?;
        numbers.push(disk.number);
        if numbers.len() > 1 && numbers.contains(&None) {
            return Err(Refusal::Unknown(
                "several disks, and not all of their numbers are known; make a script for each image".to_owned(),
            ));
        }
        let set = match disk.number {
            Some(number) => format!("set \"disk={number}\"\n"),
            None => String::new(),
        };
        let _ = writeln!(
            checks,
            "\nrem Step {}: is it the disk of the plan?",
            step.number
        );
        let _ = writeln!(body, "\necho step {}", step.number);
        checks += &set;
        body += &set;
        let (check, write) = parts(&disk)?;
        checks += &check;
        body += &write;
    }
    out += &options(numbers.contains(&None));
    out += &checks;
    out += "\nif not defined yes goto dry\nif not defined backed goto contents\n";
    out += &body;
    out += END;
    Ok(crlf(&out))
}

/// The options: `/disk:N` only where the plan does not know the number.
fn options(asks_disk: bool) -> String {
    let (preset, test, usage) = if asks_disk {
        (
            "set \"disk=\"\n",
            "set \"word=%~1\"\nif /i \"%word:~0,6%\"==\"/disk:\" goto option_disk\n",
            "/disk:N ",
        )
    } else {
        ("", "", "")
    };
    let given = if asks_disk {
        "if not defined disk goto usage\nfor /f \"delims=0123456789\" %%a in (\"%disk%\") do goto usage\n"
    } else {
        ""
    };
    let option_disk = if asks_disk {
        ":option_disk\nset \"disk=%word:~6%\"\nshift\ngoto options\n\n"
    } else {
        ""
    };
    filled(
        include_str!("fragments/options.cmd"),
        &[
            ("preset", preset),
            ("test", test),
            ("usage", usage),
            ("option_disk", option_disk),
            ("given", given),
        ],
    )
}

const END: &str = concat!("\n", include_str!("fragments/end.cmd"));
