//! The tables and properties of `storcli` as text.

use std::borrow::Cow;

use super::super::volume::field;
use super::{
    Controller, controller_of_path, member_of, place_of_drive, vd_of_heading, vd_of_properties,
};
use crate::captured::number;
use crate::captured::records::{Field, Record};
use crate::captured::text::Line;
use crate::captured::tool::{Notes, Section};

/// True where an output, or an excerpt of one, begins.
pub(super) fn begins(lines: &[Line<'_>]) -> bool {
    let text = lines[0].text.trim();
    if text.starts_with("CLI Version") || text.starts_with("DG/VD") || text.starts_with("EID:Slt") {
        return true;
    }
    if text.starts_with("Controller =") {
        let near = &lines[..lines.len().min(6)];
        return near.iter().any(|line| line.text.starts_with("Status ="));
    }
    if text.starts_with("/c") {
        return controller_of_path(text).is_some() && text.ends_with(':');
    }
    text.starts_with("VD LIST") || vd_of_properties(text).is_some()
}

/// What the lines belong to.
enum Under<'t> {
    Nothing,
    Volume(u64),
    Drive(&'t str, &'t str),
}

pub(super) fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let typed = section.context.command.as_ref();
    let of_command = typed.and_then(|command| controller_of_path(command.word("/c")?));
    let mut controller = Controller::new(of_command.unwrap_or(0));
    let mut under = Under::Nothing;
    let mut names: Vec<&str> = Vec::new();
    let mut members_of = None;
    for line in section.lines {
        let text = line.text.trim();
        if text.bytes().all(|b| b == b'-' || b == b'=') {
            continue;
        }
        if text.starts_with("DG/VD") || text.starts_with("EID:Slt") {
            names = text.split_whitespace().collect();
            continue;
        }
        let heading = text.ends_with(':');
        if let (true, Some(number)) = (heading && text.starts_with("/c"), controller_of_path(text))
        {
            change(&mut controller, number, notes);
            (under, names, members_of) = (Under::Nothing, Vec::new(), None);
            continue;
        }
        if let Some(vd) = vd_of_properties(text) {
            (under, names) = (Under::Volume(vd), Vec::new());
            continue;
        }
        if let Some(vd) = vd_of_heading(text) {
            (under, members_of) = (Under::Nothing, Some(vd));
            continue;
        }
        if let Some((enclosure, slot)) = place_of_drive(text) {
            (under, members_of) = (Under::Drive(enclosure, slot), None);
            continue;
        }
        if heading {
            (under, names, members_of) = (Under::Nothing, Vec::new(), None);
            continue;
        }
        if names.first() == Some(&"DG/VD") || names.first() == Some(&"EID:Slt") {
            if let Some(row) = row(&names, line) {
                if names[0] == "DG/VD" {
                    controller.vd_row(&row, notes);
                } else {
                    controller.pd_row(&row, notes);
                    member_of(&mut controller, members_of, &row);
                }
                continue;
            }
            if line.is_blank() {
                names = Vec::new();
                continue;
            }
        }
        let Some((key, value)) = field(line) else {
            continue;
        };
        if key == "Controller"
            && let Some(number) = number::leading(value)
        {
            change(&mut controller, number, notes);
            continue;
        }
        let field = Field {
            key: Cow::Borrowed(key),
            value: Cow::Borrowed(value),
            line: *line,
        };
        match under {
            Under::Volume(vd) => controller.vd_property(vd, &field, notes),
            Under::Drive(enclosure, slot) => {
                controller.pd_property((enclosure, slot), &field, notes);
            }
            Under::Nothing => {}
        }
    }
    controller.finish(notes);
}

/// Goes on to another controller.
fn change(controller: &mut Controller<'_>, number: u64, notes: &mut Notes<'_>) {
    if controller.number != number {
        std::mem::replace(controller, Controller::new(number)).finish(notes);
    }
}

/// The words of a row under the names of its columns. `12.732 TB` is one word, and the last column has the rest.
fn row<'t>(names: &[&'t str], line: &Line<'t>) -> Option<Record<'t>> {
    let first = line.text.split_whitespace().next()?;
    let separator = if names.first() == Some(&"DG/VD") {
        '/'
    } else {
        ':'
    };
    // `252:0`, ` :0`, `0/0`, `-/1`.
    let (a, b) = first.split_once(separator)?;
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !(number(b) && !b.is_empty() && (number(a) || a == "-")) {
        return None;
    }
    let mut words: Vec<Cow<'t, str>> = Vec::new();
    for word in line.text.split_whitespace() {
        let unit = matches!(
            word,
            "B" | "KB" | "MB" | "GB" | "TB" | "PB" | "KiB" | "MiB" | "GiB" | "TiB" | "PiB"
        );
        let after_number = words
            .last()
            .is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit() || b == b'.'));
        let full = words.len() == names.len();
        match words.last_mut() {
            Some(last) if full || unit && after_number => {
                let last = last.to_mut();
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(Cow::Borrowed(word)),
        }
    }
    let fields = names.iter().zip(words).map(|(name, value)| Field {
        key: Cow::Borrowed(*name),
        value,
        line: *line,
    });
    Some(Record {
        fields: fields.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_rows_are_one_column() {
        let names: Vec<&str> = "DG/VD TYPE State Access Consist Cache Cac sCC Size Name"
            .split_whitespace()
            .collect();
        let line = Line {
            number: 7,
            text: "20/1  RAID0 Optl  RW     Yes     RAWBD -   ON  12.732 TB VD 1",
        };
        let row = row(&names, &line).expect("a row");
        assert_eq!(row.get("Size").map(|f| &*f.value), Some("12.732 TB"));
        assert_eq!(row.get("Name").map(|f| &*f.value), Some("VD 1"));
        let legend = Line {
            number: 8,
            text: "Optl=Optimal|RO=Read Only|RW=Read Write",
        };
        assert!(super::row(&names, &legend).is_none());
    }
}
