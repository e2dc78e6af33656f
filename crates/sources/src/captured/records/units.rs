//! Columns that scripts work out, with the unit in their name: `OffsetKB`, `StartingOffset (KB)`, `Size_GB`.

use std::borrow::Cow;

use super::Record;

/// Quantities that readers ask for.
const QUANTITIES: [&str; 3] = ["StartingOffset", "Offset", "Size"];

/// True for a unit that stands behind a figure.
pub(super) fn is_unit(text: &str) -> bool {
    matches!(
        text,
        "B" | "KB" | "MB" | "GB" | "TB" | "PB" | "Bytes" | "bytes"
    )
}

/// The quantity and the unit in a name, blanks aside.
fn in_name(name: &str) -> Option<(&'static str, &str)> {
    let quantity = QUANTITIES.into_iter().find(|q| {
        name.get(..q.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(q))
    })?;
    let unit = name[quantity.len()..].trim_matches([' ', '_', '-', '(', ')', '[', ']']);
    let known = ["KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"];
    known.contains(&unit).then_some((quantity, unit))
}

/// Puts units behind the figures, and calls the fields what they are. Figures of one column are shown alike: where one has
/// decimals, one without has as many zeroes.
pub(super) fn from_names(records: &mut [Record<'_>]) {
    let Some(first) = records.first() else { return };
    let columns: Vec<usize> = (0..first.fields.len())
        .filter(|at| in_name(&first.fields[*at].key).is_some())
        .collect();
    for at in columns {
        let decimals = |text: &str| {
            text.find(['.', ','])
                .map_or(0, |point| text.len() - point - 1)
        };
        let all = records.iter().filter_map(|record| record.fields.get(at));
        let most = all.map(|field| decimals(&field.value)).max().unwrap_or(0);
        for record in records.iter_mut() {
            let Some(field) = record.fields.get_mut(at) else {
                continue;
            };
            let Some((quantity, unit)) = in_name(&field.key) else {
                continue;
            };
            let unit = unit.to_owned();
            if !field.value.is_empty() {
                let value = field.value.to_mut();
                if most > 0 && decimals(value) == 0 {
                    value.push_str(&format!(".{}", "0".repeat(most)));
                }
                value.push_str(&format!(" {unit}"));
            }
            field.key = Cow::Borrowed(quantity);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stand_in_names() {
        for (name, expected) in [
            ("OffsetKB", Some(("Offset", "KB"))),
            ("StartingOffset(KB)", Some(("StartingOffset", "KB"))),
            ("Size_GiB", Some(("Size", "GiB"))),
            ("Offset", None),
            ("SizeRemaining", None),
        ] {
            assert_eq!(in_name(name), expected, "{name}");
        }
    }
}
