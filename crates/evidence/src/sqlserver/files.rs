//! `sys.database_files`, `sys.master_files`, `sp_helpfile`, `sp_helpdb`: sizes and growth of files.

use straddle_stack::activity::{Quantity, Span};

use super::file_of;
use crate::format::{Format, Shape};
use crate::notes::Notes;
use crate::number;
use crate::table::{Head, Row};

pub(crate) static FORMAT: Format = Format {
    name: "database-files",
    commands: &[
        "sp_helpfile",
        "sp_helpdb NAME",
        "SELECT * FROM sys.database_files",
        "SELECT * FROM sys.master_files",
    ],
    says: "size and growth of each file of a database",
    shape: Shape::Table {
        marks: &["growth"],
        is,
        read,
    },
};

fn is(head: &Head) -> bool {
    head.has_any(&["physical_name", "filename"])
        && head.has_any(&["size", "sizemb", "size_mb"])
        && head.has_any(&["growth", "growthmb", "growth_mb"])
}

fn read(row: &Row<'_>, notes: &mut Notes<'_>) {
    let Some(subject) = file_of(row, notes) else {
        return notes.unread(&row.line);
    };
    let at = notes.at(row.line, None);
    let mega = 1024.0 * 1024.0;
    // The procedures print units, the views count pages of 8 KiB.
    let size = row.text(&["size"]).and_then(bytes).or_else(|| {
        let (value, _) = row.number(&["sizemb", "size_mb"])?;
        Some(value * mega)
    });
    match size {
        Some(size) => notes.add(at, &subject, Quantity::FileSize, Span::State, size),
        None => return notes.unread(&row.line),
    }
    let growth = row.text(&["growth"]).unwrap_or_default();
    let is_percent = row
        .number(&["is_percent_growth"])
        .is_some_and(|(flag, _)| flag > 0.0);
    let percent = growth.strip_suffix('%').or(is_percent.then_some(growth));
    if let Some(percent) = percent.and_then(number::plain) {
        notes.add(
            at,
            &subject,
            Quantity::FileGrowthPercent,
            Span::State,
            percent / 100.0,
        );
    } else if let Some(growth) = bytes(growth) {
        notes.add(at, &subject, Quantity::FileGrowth, Span::State, growth);
    } else if let Some((growth, _)) = row.number(&["growthmb", "growth_mb"]) {
        notes.add(
            at,
            &subject,
            Quantity::FileGrowth,
            Span::State,
            growth * mega,
        );
    }
}

/// `1024 KB`, or pages.
fn bytes(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(' ').unwrap_or(text.len());
    let value = number::local(&text[..end], true)?;
    Some(match text[end..].trim() {
        "" => value * 8192.0,
        "KB" => value * 1024.0,
        "MB" => value * 1024.0 * 1024.0,
        "GB" => value * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    })
}
