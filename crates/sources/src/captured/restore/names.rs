//! Columns without their names: `lsblk -rno NAME,START`. The command says what they are.

use std::borrow::Cow;

use super::lines::{Numbered, Widths, is_typed, words_from};

/// Programs that print columns by name.
const PROGRAMS: [&str; 5] = ["lsblk", "partx", "pvs", "vgs", "lvs"];

/// Fields of LVM, and what they are called above a column.
const FIELDS: [(&str, &str); 14] = [
    ("pv_name", "PV"),
    ("vg_name", "VG"),
    ("lv_name", "LV"),
    ("pe_start", "1st PE"),
    ("pv_size", "PSize"),
    ("dev_size", "DevSize"),
    ("lv_size", "LSize"),
    ("vg_extent_size", "Ext"),
    ("devices", "Devices"),
    ("segtype", "Type"),
    ("stripes", "#Str"),
    ("stripe_size", "Stripe"),
    ("chunk_size", "Chunk"),
    ("seg_pe_ranges", "PE Ranges"),
];

/// Widest cell of a row that is put below its name.
const WIDEST: usize = 96;

/// The lines, with names above columns that a command asked for without.
pub(super) fn added(lines: Vec<Numbered<'_>>) -> Vec<Numbered<'_>> {
    if !lines.iter().any(|(_, line)| asked(line).is_some()) {
        return lines;
    }
    let mut out: Vec<Numbered<'_>> = Vec::with_capacity(lines.len() + 1);
    let mut lines = lines.into_iter().peekable();
    while let Some((number, line)) = lines.next() {
        let asked = asked(&line);
        out.push((number, line));
        let Some(Asked { names, layout }) = asked else {
            continue;
        };
        let mut rows = Vec::new();
        while let Some(row) = lines.next_if(|(_, row)| !row.trim().is_empty() && !is_typed(row)) {
            rows.push(row);
        }
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        let words = |row: &'_ str| row.split_whitespace().count();
        let fits = |row: &str| {
            words(row) == names.len() && row.split_whitespace().all(|word| word.len() <= WIDEST)
        };
        let mut widths = Widths::default();
        widths.add(&names);
        for (_, row) in rows.iter().filter(|(_, row)| fits(row)) {
            widths.add(&row.split_whitespace().collect::<Vec<_>>());
        }
        let below = |row: Cow<'_, str>| -> String {
            let words: Vec<&str> = row.split_whitespace().collect();
            match layout {
                Layout::Padded if fits(&row) => widths.padded(&words),
                _ => words.join(" "),
            }
        };
        out.push((
            number,
            Cow::Owned(match layout {
                Layout::Padded => widths.padded(&names),
                Layout::Raw | Layout::Squeezed => names.join(" "),
            }),
        ));
        out.extend(rows.into_iter().map(|(number, row)| match layout {
            Layout::Raw => (number, row),
            Layout::Squeezed | Layout::Padded => (number, Cow::Owned(below(row))),
        }));
    }
    out
}

/// How rows are put below the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// As they are: one blank between cells, two where one is empty.
    Raw,
    /// One blank between words: the reader tells them by what they look like.
    Squeezed,
    /// In columns.
    Padded,
}

struct Asked {
    names: Vec<Cow<'static, str>>,
    layout: Layout,
}

/// True for a command that asked for columns without their names.
pub(super) fn is_asked(line: &str) -> bool {
    asked(line).is_some()
}

/// The columns that a command asked for, if without their names.
fn asked(line: &str) -> Option<Asked> {
    let words = words_from(line, &PROGRAMS)?;
    let program = words.first()?.rsplit('/').next()?;
    let of_lvm = matches!(program, "pvs" | "vgs" | "lvs");
    let (mut bare, mut raw, mut list) = (false, false, None);
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        if let Some(long) = word.strip_prefix("--") {
            bare |= long == "noheadings";
            raw |= long == "raw";
            if let Some(rest) = long.strip_prefix("output").or(long.strip_prefix("options")) {
                list = rest.strip_prefix('=').or(if rest.is_empty() {
                    words.next().copied()
                } else {
                    None
                });
            }
        } else if let Some(short) = word.strip_prefix('-') {
            let (flags, rest) = match short.split_once('o') {
                Some((flags, rest)) => (flags, Some(rest)),
                None => (short, None),
            };
            let letter = if program == "partx" { 'g' } else { 'n' };
            bare |= !of_lvm && flags.contains(letter);
            raw |= flags.contains('r');
            // Machines get something else.
            if !of_lvm && flags.contains(['J', 'P']) {
                return None;
            }
            match rest {
                Some("") => list = words.next().copied(),
                Some(rest) => list = Some(rest),
                None => {}
            }
        }
    }
    let list = list.filter(|list| bare && !list.starts_with('+'))?;
    let names: Vec<Cow<'static, str>> = list
        .split(',')
        .map(
            |name| match FIELDS.iter().find(|(field, _)| of_lvm && *field == name) {
                Some((_, column)) => Cow::Borrowed(*column),
                None => Cow::Owned(name.to_uppercase()),
            },
        )
        .collect();
    let plain = |name: &Cow<'static, str>| {
        !name.is_empty()
            && !name.contains(|c: char| !(c.is_ascii_alphanumeric() || "-:% #".contains(c)))
    };
    let layout = match (of_lvm, raw) {
        (true, _) => Layout::Padded,
        (false, true) => Layout::Raw,
        (false, false) => Layout::Squeezed,
    };
    (names.len() > 1 && names.iter().all(plain)).then_some(Asked { names, layout })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{numbered, shown};
    use super::*;

    #[test]
    fn the_command_names_the_columns() {
        let of = |text| shown(&added(numbered(text)));
        assert_eq!(
            of("$ lsblk -rno NAME,START /dev/sda\nsda \nsda1 63\n$ x  y"),
            "1 $ lsblk -rno NAME,START /dev/sda\n1 NAME START\n2 sda \n3 sda1 63\n4 $ x  y"
        );
        assert_eq!(
            of("$ sudo lsblk --noheadings --output=name,phy-sec\nsda    4096\n\na  b"),
            "1 $ sudo lsblk --noheadings --output=name,phy-sec\n1 NAME PHY-SEC\n2 sda 4096\n3 \n4 a  b"
        );
        assert_eq!(
            of("# pvs --noheadings -o pv_name,vg_name,pe_start\n  /dev/sda2 vg0  1.00m"),
            "1 # pvs --noheadings -o pv_name,vg_name,pe_start\n1 PV         VG   1st PE\n2 /dev/sda2  vg0  1.00m"
        );
        for text in [
            "$ lsblk -o NAME,START\nNAME START",
            "$ lsblk -n\nsda",
            "$ lsblk -no +START\nsda",
            "$ lsblk -Jno NAME,START\n{",
        ] {
            let before = numbered(text);
            assert_eq!(added(before.clone()), before, "{text}");
        }
    }
}
