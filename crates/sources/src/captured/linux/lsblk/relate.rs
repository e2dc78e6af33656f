//! What lies on what, where lsblk prints no tree, or one that stands on its head.

use std::borrow::Cow;
use std::collections::HashMap;
use straddle_stack::disk_of;

use super::rows::{Cell, Kind, Row};

/// Rows, each below what it lies on.
pub(super) fn related(mut rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    if is_inverse(&rows) {
        rows = upright(rows);
    }
    let mut by_name: HashMap<String, usize> = HashMap::new();
    for (index, row) in rows.iter().enumerate() {
        if let Some(name) = row.name() {
            by_name.entry(name).or_insert(index);
        }
    }
    // `-l`, `-r` and `-P` say so only in the column PKNAME.
    let lost = |row: &Row<'_>| {
        row.parent.is_none()
            && row.get("pkname").is_none()
            && row.kind_below(None) == Some(Kind::Partition)
    };
    let disk = |row: &Row<'_>| {
        let kernel = row
            .text("kname")
            .map(|name| name.trim_start_matches("/dev/").to_owned());
        let name = kernel.or_else(|| row.name())?;
        disk_of(&name).map(str::to_owned)
    };
    for (index, row) in rows.iter_mut().enumerate() {
        let Some(disk) = Some(&*row).filter(|row| lost(row)).and_then(disk) else {
            continue;
        };
        match by_name.get(&disk) {
            Some(parent) if *parent != index => row.parent = Some(*parent),
            _ => row.cells.push(Cell {
                column: Cow::Borrowed("pkname"),
                text: Cow::Owned(disk),
                line: row.line,
            }),
        }
    }
    rows
}

/// True for the tree of `lsblk -s`: a disk lies on nothing, so what it stands below lies on it.
fn is_inverse(rows: &[Row<'_>]) -> bool {
    rows.iter().any(|row| {
        let parent = row.parent.and_then(|parent| rows.get(parent));
        parent.is_some_and(|parent| {
            row.text("type") == Some("disk") || {
                let (name, above) = (row.name(), parent.name());
                let disk = above.as_deref().and_then(disk_of);
                disk.is_some() && disk == name.as_deref()
            }
        })
    })
}

/// Turns a tree over. What lies on several comes once for each.
fn upright(rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    let mut turned: Vec<Row<'_>> = rows
        .iter()
        .map(|row| Row {
            parent: None,
            ..row.clone()
        })
        .collect();
    for (index, row) in rows.iter().enumerate() {
        let Some(above) = row.parent else { continue };
        let Some(thing) = turned.get_mut(above) else {
            continue;
        };
        if thing.parent.is_none() {
            thing.parent = Some(index);
        } else {
            let again = Row {
                parent: Some(index),
                ..thing.clone()
            };
            turned.push(again);
        }
    }
    turned
}
