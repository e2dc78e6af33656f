//! The table of a directory's largest files, and the line that says what a target was taken for.

use std::fmt::Write;
use straddle_geometry::{Bytes, Ratio, Unit};

use super::style::{FAINT, STRONG, paint};
use super::table::{Cell, Column, render as table};
use crate::below::{FileBelow, FilesBelow, Taken};
use crate::escape::terminal;

/// Width of a terminal where nobody says another.
const WIDTH: usize = 120;
/// Most grids that get a column: the larger ones, since a file that lies off a small one lies off them, too.
const MAX_GRIDS: usize = 4;

/// What the target was taken for.
pub(super) fn taken(taken: &Taken) -> String {
    let mut out = format!("taken as {}", terminal(&taken.words));
    if let Some(instead) = &taken.instead {
        let _ = write!(out, "; {}", terminal(instead));
    }
    format!("{}\n\n", paint(FAINT, out))
}

/// The files of a directory.
pub(super) fn files(files: &FilesBelow, out: &mut String) {
    let _ = writeln!(out, "\n{}", paint(STRONG, title(files)));
    let grids = columns(files);
    let column = |of: &dyn Fn(&FileBelow) -> String| -> Vec<Cell> {
        files.largest.iter().map(|file| of(file).into()).collect()
    };
    if !files.largest.is_empty() {
        let names = Column::words("file", column(&|file| terminal(&file.path).into_owned()));
        let mut rest = vec![
            Column::figures("size", column(&|file| file.size.to_string())),
            Column::figures(
                "extents",
                column(&|file| {
                    file.extents
                        .map_or_else(|| "?".to_owned(), |n| n.to_string())
                }),
            ),
        ];
        if files.largest.iter().any(|file| file.database.is_some()) {
            let kind = |file: &FileBelow| file.database.clone().unwrap_or_default();
            rest.insert(0, Column::words("database", column(&kind)));
        }
        for (unit, role) in &grids {
            let head = format!("off {unit} {role}");
            rest.push(Column::figures(head, column(&|file| share(file, *unit))));
        }
        table(&[names], &rest, WIDTH, out);
    }
    let mut notes: Vec<String> = Vec::new();
    for file in &files.largest {
        for why in &file.unknown {
            notes.push(format!("{}: {why}", file.path));
        }
    }
    if files.unread > 0 {
        notes.push(format!("{} could not be looked at", files.unread));
    }
    for note in notes {
        let _ = writeln!(out, "  {}", paint(FAINT, terminal(&note)));
    }
}

fn title(files: &FilesBelow) -> String {
    let among = grouped(files.among);
    let s = if files.among == 1 { "" } else { "s" };
    let mut title = match (files.largest.len(), files.among) {
        (0, _) => format!("{among} file{s}"),
        (1, 1) => "1 file, as it lies below".to_owned(),
        (n, all) if n == all => format!("{among} files, as they lie below"),
        (n, _) => format!("the {n} largest of {among} files, as they lie below"),
    };
    let kinds: Vec<String> = files
        .databases
        .iter()
        .map(|(kind, count)| format!("{} of {kind}", grouped(*count)))
        .collect();
    if !kinds.is_empty() {
        let _ = write!(title, " (database files among those: {})", kinds.join(", "));
    }
    title
}

fn grouped(count: usize) -> String {
    Bytes::new(u64::try_from(count).unwrap_or(u64::MAX))
        .grouped()
        .to_string()
}

/// The grids of all files, by unit; of one unit the first that is named.
fn columns(files: &FilesBelow) -> Vec<(Unit, &'static str)> {
    let mut all: Vec<(Unit, &'static str)> = Vec::new();
    for grid in files.largest.iter().flat_map(|file| &file.grids) {
        if !all.iter().any(|(unit, _)| *unit == grid.unit) {
            all.push((grid.unit, grid.role));
        }
    }
    all.sort_unstable();
    let more = all.len().saturating_sub(MAX_GRIDS);
    all.split_off(more)
}

/// How much of what is known of the file lies off the boundaries that are `unit` apart.
fn share(file: &FileBelow, unit: Unit) -> String {
    let off = file.grids.iter().filter(|grid| grid.unit == unit);
    let Some(off) = off.map(|grid| grid.off).max() else {
        return "?".to_owned();
    };
    let share = Ratio::new(off.get(), file.mapped.get());
    share.map_or_else(|| "?".to_owned(), |share| share.to_string())
}
