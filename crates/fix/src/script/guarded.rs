//! The lines of a shell script that refuse another device.

use std::fmt::Write;

use super::guard::Guard;

/// The lines around the steps that write to a device.
#[derive(Default)]
pub(super) struct Guarded {
    /// Refuse to go on with another one.
    pub(super) before: String,
    /// Behind `--yes`: make what is in it accessible, and refuse the same.
    pub(super) opened: String,
    /// When all is done.
    pub(super) closed: String,
}

/// Lines that refuse what is not as long, or has other bytes in the places that tell it from others.
pub(super) fn marked(guard: &Guard, disk: &str) -> String {
    let mut out = String::new();
    if let Some(size) = guard.size {
        line(&mut out, &format!("size_is \"${disk}\" {}", size.get()));
    }
    for mark in &guard.marks {
        let bytes = mark.bytes.iter();
        let hex: String = bytes.map(|byte| format!("{byte:02x}")).collect();
        let (at, what) = (mark.at.get(), mark.what);
        line(
            &mut out,
            &format!("bytes_are \"${disk}\" {at} {hex} '{what}'"),
        );
    }
    out
}

fn line(out: &mut String, text: &str) {
    let _ = writeln!(out, "{text}");
}
