//! Export-Csv, ConvertTo-Csv, `wmic … /format:csv`.

use std::borrow::Cow;

use super::{Field, MAX_FIELDS, MAX_RECORDS, Record};
use crate::captured::text::Line;

/// The records in comma- or semicolon-separated lines under a line of names, up to a blank line; and how many lines they
/// take.
///
/// `known` is asked with the names before any row is read, so that a text of many such lines is not gone over again for
/// each.
pub(crate) fn from_csv<'t>(
    lines: &[Line<'t>],
    known: impl Fn(&Record<'t>) -> bool,
) -> (Vec<Record<'t>>, usize) {
    // Windows PowerShell says of what type the objects are.
    let skip = usize::from(
        lines
            .first()
            .is_some_and(|line| line.text.starts_with("#TYPE")),
    );
    let Some(header) = lines.get(skip) else {
        return (Vec::new(), skip);
    };
    let separator = separator(header.text);
    // Names are plain words, so this line needs no reader.
    let names: Vec<String> = header
        .text
        .split(char::from(separator))
        .take(MAX_FIELDS)
        .map(|name| name.trim().trim_matches('"').to_owned())
        .collect();
    let head = names.iter().map(|name| Field {
        key: Cow::Owned(name.clone()),
        value: Cow::Borrowed(""),
        line: *header,
    });
    let mut head = Record {
        fields: head.collect(),
    };
    super::units::from_names(std::slice::from_mut(&mut head));
    let mut taken = skip + 1;
    if !known(&head) {
        return (Vec::new(), taken);
    }
    let mut records = Vec::new();
    for line in lines[taken..].iter().take_while(|line| !line.is_blank()) {
        if records.len() >= MAX_RECORDS {
            taken += 1;
            continue;
        }
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(separator)
            // The usual buffer of 8 KiB costs more than the line.
            .buffer_capacity(256)
            .from_reader(line.text.as_bytes());
        let row = reader.records().next();
        let Some(Ok(row)) = row else { break };
        // What comes behind the rows is something else: a prompt, another output.
        if row.len() < 2 {
            break;
        }
        // A row that ends early was cut in the middle of its last value.
        taken += 1;
        let whole = row.len() >= names.len() && !is_open(line.text);
        let count = if whole { row.len() } else { row.len() - 1 };
        let row = without_loose_commas(row.iter().take(count), &names);
        let fields = names.iter().zip(row).map(|(name, value)| Field {
            key: Cow::Owned(name.clone()),
            value: Cow::Owned(value.trim().to_owned()),
            line: *line,
        });
        records.push(Record {
            fields: fields.collect(),
        });
    }
    super::units::from_names(&mut records);
    (records, taken)
}

/// `wmic` does not quote `Disk #0, Partition #1`: where there are more cells than names, one that begins with a blank
/// belongs to the one before, and so does one that is no number in a column of numbers.
fn without_loose_commas<'r>(
    row: impl Iterator<Item = &'r str>,
    names: &[String],
) -> Vec<Cow<'r, str>> {
    let mut rest: Vec<&str> = row.take(2 * MAX_FIELDS).collect();
    let mut loose = rest.len().saturating_sub(names.len());
    let mut cells: Vec<Cow<'r, str>> = Vec::with_capacity(names.len());
    for cell in rest.drain(..) {
        let misplaced = || {
            let name = names.get(cells.len());
            name.is_some_and(|name| super::shape::is_misplaced(name, cell))
        };
        let belongs = loose > 0 && (cell.starts_with(' ') || misplaced());
        match cells.last_mut() {
            Some(last) if belongs => {
                let last = last.to_mut();
                last.push(',');
                last.push_str(cell);
                loose -= 1;
            }
            _ => cells.push(Cow::Borrowed(cell)),
        }
    }
    cells
}

fn separator(header: &str) -> u8 {
    if header.contains(',') { b',' } else { b';' }
}

/// True when a quotation mark is missing.
fn is_open(text: &str) -> bool {
    text.bytes().filter(|byte| *byte == b'"').count() % 2 == 1
}

/// True for a line that names the fields of comma-separated lines: three names or more.
pub(crate) fn is_csv_header(line: &Line<'_>) -> bool {
    let text = line.text;
    if text.starts_with("#TYPE") {
        return true;
    }
    let separator = char::from(separator(text));
    // `esxcli --formatter=csv` ends each line with a comma.
    let text = text.strip_suffix(separator).unwrap_or(text);
    let mut names = 0;
    for name in text.split(separator) {
        let name = name.trim().trim_matches('"');
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return false;
        }
        names += 1;
        if names > MAX_FIELDS {
            return false;
        }
    }
    names >= 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::text::Text;

    #[test]
    fn a_comma_inside_a_value_is_no_end_of_it() {
        let text = Text::new(
            b"Node,Name,Size\nDB1,Disk #0, Partition #1,5\nDB1,Disk #0,6\nDB1,Disk #0,Partition #2,7\n",
            false,
        );
        let lines = text.lines();
        let (records, _) = from_csv(&lines, |_| true);
        let name = |n: usize| records[n].filled("Name").map(|f| f.value.to_string());
        assert_eq!(name(0).as_deref(), Some("Disk #0, Partition #1"));
        assert_eq!(records[0].number("Size").map(|(n, _)| n), Some(5));
        assert_eq!(records[1].number("Size").map(|(n, _)| n), Some(6));
        assert_eq!(name(2).as_deref(), Some("Disk #0,Partition #2"));
        assert_eq!(records[2].number("Size").map(|(n, _)| n), Some(7));
    }

    #[test]
    fn a_comma_at_the_end_of_the_names_is_no_name() {
        let header = |text| is_csv_header(&Line { number: 1, text });
        assert!(header("Device,EndSector,Partition,"));
        assert!(!header("Device,EndSector,,"));
        assert!(!header("one, and two,"));
    }

    #[test]
    fn a_type_line_and_semicolons_are_those_of_export_csv_in_german() {
        let text = "#TYPE Microsoft.Management.Infrastructure.CimInstance\r\n\"Number\";\"Size\";\"Model\"\r\n\
                    \"0\";\"512110190592\";\"A;B \"\"x\"\"\"\r\n\"1\";\"5121";
        let text = Text::new(text.as_bytes(), false);
        let lines = text.lines();
        assert!(is_csv_header(&lines[0]) && is_csv_header(&lines[1]));
        let (records, taken) = from_csv(&lines, |_| true);
        assert_eq!((records.len(), taken), (2, 4));
        assert_eq!(
            records[0].filled("Model").map(|f| f.value.as_ref()),
            Some("A;B \"x\"")
        );
        // Half a number is none.
        assert!(records[1].get("Size").is_none());
        assert_eq!(records[1].number("Number").map(|(n, _)| n), Some(1));
    }
}
