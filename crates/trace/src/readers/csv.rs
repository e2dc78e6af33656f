use straddle_geometry::Access;

use crate::column_map::{ColumnMap, ColumnsError, Op, Which};
use crate::columns::cells::Separator;
use crate::columns::sheet::{
    Accesses, LENGTHS, Name, STARTS, Scratch, Sheet, has_no_numbers, named,
};
use crate::format::{Detected, Format, Head, Tally};

/// Any other table that names its columns, or whose columns the user names.
pub(crate) static CSV: Format = Format {
    name: "csv",
    of: "any table of requests",
    says: "columns by their names, separated by tabs, semicolons, commas or blanks: offset, lba, sector or block; size, length, bytes, sectors or blocks; op, \
           type or rw; time or timestamp; device, disk, volume or lun. Sectors, blocks and addresses of blocks count 512 bytes, everything else bytes, unless \
           the name says another unit (size_kb, offset (sectors), time_us). A time without a unit is used where it is a date, a decimal (seconds), or as large \
           as one since 1970 or 1601 is. --columns says which column is what where there is no heading",
    detect,
};

const NO_OPERATION: &str = "a table of requests in which no column says whether they read or write: name it with \
    --columns, such as offset=2,size=3,op=4, or say op=read or op=write if all do";

const NO_NUMBERS: &str = "a table of requests by the names of its columns, and offsets or lengths in it are no whole numbers: a unit belongs into \
    the name of a column (size_kb), not into its cells, and spreadsheets have to show all digits";

fn detect(head: &Head<'_>) -> Option<Detected> {
    let Some(found) = named(head, None) else {
        return has_no_numbers(head).then_some(Detected::Refused(NO_NUMBERS));
    };
    match (found.has_operation, found.has_time) {
        (true, _) => Some(Detected::Lines(Box::new(found.sheet))),
        (false, true) => Some(Detected::Refused(NO_OPERATION)),
        // A list of partitions has starts and sizes too.
        (false, false) => None,
    }
}

/// The table that a user says a file is.
pub(crate) fn with(map: &ColumnMap, head: &Head<'_>) -> Result<Detected, ColumnsError> {
    let mut best: Option<(Tally, Sheet)> = None;
    let mut error = None;
    for separator in Separator::ALL {
        match sheet(map, head, separator) {
            Ok(sheet) => {
                let tally = sheet.tally(head);
                if best
                    .as_ref()
                    .is_none_or(|(best, _)| tally.requests > best.requests)
                {
                    best = Some((tally, sheet));
                }
            }
            Err((columns, other)) => {
                // That of the separator that finds most columns says most.
                if error.as_ref().is_none_or(|(known, _)| columns > *known) {
                    error = Some((columns, other));
                }
            }
        }
    }
    match (best, error) {
        (Some((tally, sheet)), _) if tally.requests > 0 => Ok(Detected::Lines(Box::new(sheet))),
        (Some((_, sheet)), _) => Err(ColumnsError(why_none(&sheet, head))),
        (None, Some((_, error))) => Err(error),
        (None, None) => Err(ColumnsError("there are no lines in it".to_owned())),
    }
}

/// The table with this separator, or how many columns there are and why it is none.
fn sheet(
    map: &ColumnMap,
    head: &Head<'_>,
    separator: Separator,
) -> Result<Sheet, (usize, ColumnsError)> {
    let Some(first) = head.all_lines().next() else {
        return Err((0, ColumnsError("there are no lines in it".to_owned())));
    };
    let cells = |line: &[u8]| {
        let mut cells = Vec::new();
        separator.cells(line, &mut cells).map(|()| cells)
    };
    let names: Vec<String> = cells(first)
        .unwrap_or_default()
        .iter()
        .map(|(from, to)| String::from_utf8_lossy(&first[*from..*to]).into_owned())
        .collect();
    let missing = |which: &Which| {
        let list = names.join(", ");
        let says = match which {
            Which::Number(number) => format!(
                "column {} is asked for, and the first line has {}: {}",
                number + 1,
                names.len(),
                list.escape_debug()
            ),
            Which::Name(name) => format!(
                "no column is called {name}; the first line has {}",
                list.escape_debug()
            ),
        };
        (names.len(), ColumnsError(says))
    };
    // A title above the table may be shorter than its lines.
    let count = head
        .all_lines()
        .skip(1)
        .take(20)
        .filter_map(|line| cells(line).map(|cells| cells.len()))
        .max()
        .unwrap_or(names.len());
    let mut by_name = false;
    let mut find = |which: &Which| match which {
        Which::Number(number) if *number < count => Ok(*number),
        Which::Number(_) => Err(missing(which)),
        Which::Name(name) => {
            by_name = true;
            let is = |known: &String| known.trim().eq_ignore_ascii_case(name.trim());
            names.iter().position(is).ok_or_else(|| missing(which))
        }
    };
    let start = find(&map.offset.0)?;
    let len = find(&map.size.0)?;
    let operation = match &map.op {
        Op::Always(access) => Err(*access),
        Op::Column(which) => Ok(find(which)?),
    };
    let time = match &map.time {
        Some((which, clock)) => Some((find(which)?, *clock)),
        None => None,
    };
    let mut device = Vec::new();
    for which in &map.device {
        device.push(find(which)?);
    }
    let name = |column: usize| names.get(column).map(|name| Name::of(name.as_bytes()));
    // A name that says its unit says it here too.
    let unit = |(which, unit): &(Which, Option<u64>), column: usize, known: &[(&str, u64)]| {
        let by_name = match which {
            Which::Number(_) => None,
            Which::Name(_) => name(column).and_then(|name| {
                let usual = known.iter().find(|(key, _)| *key == name.key);
                name.bytes().or(usual.map(|(_, unit)| *unit))
            }),
        };
        unit.or(by_name).filter(|unit| *unit > 0).unwrap_or(1)
    };
    let mut sheet = Sheet {
        separator,
        count,
        start: (start, unit(&map.offset, start, STARTS)),
        len: (len, unit(&map.size, len, LENGTHS)),
        access: Accesses::Always(operation.err().unwrap_or(Access::Read)),
        time: None,
        device,
        file: head.stem.as_bytes().to_vec(),
        heading: None,
    };
    if let Ok(column) = operation {
        let key = name(column).map(|name| name.key).unwrap_or_default();
        sheet.find_operations(head, column, &key);
    }
    if let Some((column, clock)) = time {
        let clock = clock.or(name(column).and_then(|name| name.clock()));
        sheet.find_time(head, column, clock);
        if sheet.time.is_none() {
            let says = format!(
                "the time in column {} has no unit, and may be anything: say s, ms, us, ns or filetime behind a colon",
                column + 1
            );
            return Err((names.len(), ColumnsError(says)));
        }
    }
    if by_name || sheet.record(first, &mut Scratch::default()).is_err() {
        sheet.heading = Some(first.trim_ascii().to_vec());
    }
    Ok(sheet)
}

/// Why no line is a request: what the first one is that is no heading.
fn why_none(sheet: &Sheet, head: &Head<'_>) -> String {
    let mut scratch = Scratch::default();
    for line in head.all_lines() {
        if let Err(fault) = sheet.record(line, &mut scratch) {
            let text = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
            return format!(
                "no line is a request with these columns: in `{}`, {}",
                text.escape_debug(),
                fault.says()
            );
        }
    }
    "no line is a request with these columns".to_owned()
}
