//! Tables of Linux tools whose cells a page or a wiki put between bars: `| NAME | START |`. Their readers look at where words stand.

use std::borrow::Cow;

use super::lines::{Numbered, Widths};

/// What the first column of such a table is called, in capitals as the tools write it.
const FIRST: [&str; 10] = [
    "NAME", "KNAME", "PATH", "Device", "Number", "NR", "PV", "LV", "VG", "RO",
];
/// Widest cell that is looked at, and most cells of a line: what is wider is no table of a tool.
const WIDEST: usize = 96;
const MAX_CELLS: usize = 32;

/// The lines, tables with bars without those.
pub(super) fn aligned(lines: Vec<Numbered<'_>>) -> Vec<Numbered<'_>> {
    if !lines.iter().any(|(_, line)| is_heading(line)) {
        return lines;
    }
    let mut out: Vec<Numbered<'_>> = Vec::with_capacity(lines.len());
    let mut lines = lines.into_iter().peekable();
    while let Some(line) = lines.next() {
        if !is_heading(&line.1) {
            out.push(line);
            continue;
        }
        let mut table = vec![line];
        // In a page, rows stand apart.
        let mut blanks = Vec::new();
        while let Some(next) = lines
            .next_if(|(_, line)| line.trim().is_empty() || cells(line).is_some() || is_ruler(line))
        {
            match next.1.trim().is_empty() {
                true => blanks.push(next),
                false => {
                    blanks.clear();
                    table.push(next);
                }
            }
        }
        out.extend(table_of(table));
        out.append(&mut blanks);
    }
    out
}

/// The cells of a line that has a bar at both ends.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let cells: Vec<&str> = inner.split('|').take(MAX_CELLS + 1).collect();
    let fits = cells.len() <= MAX_CELLS && cells.iter().all(|cell| cell.len() <= WIDEST);
    fits.then_some(cells)
}

pub(super) fn is_heading(line: &str) -> bool {
    if !line.trim_start().starts_with('|') {
        return false;
    }
    let names: Vec<&str> = cells(line)
        .unwrap_or_default()
        .iter()
        .map(|cell| cell.trim())
        .collect();
    let first = names.first().is_some_and(|name| FIRST.contains(name));
    // Disks of Windows have numbers too.
    let own = names.first() != Some(&"Number") || names.contains(&"Start");
    names.len() > 1 && first && own
}

/// `|---|---:|`, `+----+----+`.
fn is_ruler(line: &str) -> bool {
    let text = line.trim();
    text.contains("--")
        && text.starts_with(['|', '+'])
        && text
            .bytes()
            .all(|b| matches!(b, b'-' | b':' | b'|' | b'+' | b' '))
}

/// The rows, each cell as wide as its column, two blanks apart.
fn table_of(table: Vec<Numbered<'_>>) -> Vec<Numbered<'_>> {
    let mut widths = Widths::default();
    for (_, line) in table.iter().filter(|(_, line)| !is_ruler(line)) {
        widths.add(&cells(line).unwrap_or_default());
    }
    let rows = table.into_iter().filter(|(_, line)| !is_ruler(line));
    rows.map(|(number, line)| {
        let text = widths.padded(&cells(&line).unwrap_or_default());
        (number, Cow::Owned(text))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{numbered, shown};
    use super::*;

    #[test]
    fn cells_stand_below_each_other() {
        let text = "x\n| NAME | START | SIZE |\n|---|---:|---|\n| sda | | 1.8T |\n\n| └─sda1 | 63 | 100M |\n\nend";
        assert_eq!(
            shown(&aligned(numbered(text))),
            "1 x\n2 NAME    START  SIZE\n4 sda            1.8T\n6 └─sda1  63     100M\n7 \n8 end"
        );
        let text = "+----+----+\n| Number | Start |\n+----+----+\n| 1 | 63s |\n";
        assert_eq!(
            shown(&aligned(numbered(text))),
            "1 +----+----+\n2 Number  Start\n4 1       63s\n5 "
        );
    }

    #[test]
    fn tables_of_others_stay() {
        for text in [
            "| Number | FriendlyName |\n|---|---|\n| 0 | x |",
            "| Name | StartingOffset |",
            "|- sda1",
        ] {
            let before = numbered(text);
            assert_eq!(aligned(before.clone()), before);
        }
    }
}
