//! Which column of a table is what.

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use straddle_geometry::Access;

use super::cells::text;
use crate::column_map::{ColumnMap, ColumnsError, Op, Which};
use crate::columns::Clock;
use crate::columns::cells::{Operations, When};
use crate::columns::sheet::{LENGTHS, Name, Roles, STARTS};

/// Which column is what. Columns are numbered among those that are read.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) start: (usize, u64),
    pub(super) len: (usize, u64),
    pub(super) access: AccessBy,
    pub(super) time: Option<(usize, TimeBy)>,
    /// What a device is called by; the file, where there is none.
    pub(super) device: Vec<usize>,
    pub(super) file: Vec<u8>,
    /// The user says which column is what.
    pub(super) is_told: bool,
    /// Columns that are read, by their number in the file, ascending.
    pub(super) columns: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum AccessBy {
    Always(Access),
    /// A column, and what it is called.
    Column(usize, String, Operations),
}

/// How a column says when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeBy {
    /// Its type says so.
    Typed,
    /// It does not: what its name or the user says, if they do.
    Clock(Option<Clock>),
    /// As its first cells look.
    Looks(When),
}

const NO_TABLE: &str = "no table of requests: no column is called like an offset and another like a size; name them with --columns, such as offset=START,size=BYTES,op=KIND";
const NO_OPERATION: &str = "no column says whether requests read or write: name it with --columns, such as offset=START,size=BYTES,op=KIND, or say op=read or op=write if all do";

impl Layout {
    /// Of a table with these columns.
    pub(super) fn of(
        schema: &Schema,
        map: Option<&ColumnMap>,
        stem: &str,
    ) -> Result<Layout, ColumnsError> {
        let fields = schema.fields();
        let names: Vec<Name> = fields
            .iter()
            .map(|field| Name::of(field.name().as_bytes()))
            .collect();
        let mut layout = match map {
            Some(map) => mapped(schema, &names, map)?,
            None => named(&names)?,
        };
        layout.file = stem.as_bytes().to_vec();
        layout.is_told = map.is_some();
        let mut columns = vec![layout.start.0, layout.len.0];
        columns.extend(&layout.device);
        columns.extend(layout.time.map(|(column, _)| column));
        if let AccessBy::Column(column, ..) = layout.access {
            columns.push(column);
        }
        columns.sort_unstable();
        columns.dedup();
        for (column, wanted) in layout.types() {
            let field = &fields[column];
            if !wanted.takes(field.data_type()) {
                return Err(ColumnsError(format!(
                    "column {} is of type {}; expected {}",
                    field.name(),
                    field.data_type(),
                    wanted.says()
                )));
            }
        }
        if let Some((column, by)) = &mut layout.time
            && has_unit(fields[*column].data_type())
        {
            *by = TimeBy::Typed;
        }
        let place = |column: &mut usize| {
            *column = columns.binary_search(column).unwrap_or_default();
        };
        place(&mut layout.start.0);
        place(&mut layout.len.0);
        layout.device.iter_mut().for_each(place);
        if let Some((column, _)) = &mut layout.time {
            place(column);
        }
        if let AccessBy::Column(column, ..) = &mut layout.access {
            place(column);
        }
        layout.columns = columns;
        Ok(layout)
    }

    fn types(&self) -> Vec<(usize, Wanted)> {
        let mut types = vec![(self.start.0, Wanted::Number), (self.len.0, Wanted::Number)];
        types.extend(self.device.iter().map(|column| (*column, Wanted::Name)));
        types.extend(self.time.map(|(column, _)| (column, Wanted::Time)));
        if let AccessBy::Column(column, ..) = self.access {
            types.push((column, Wanted::Operation));
        }
        types
    }

    /// Finds out what only cells tell: what words of operations are, and what a time counts that has no unit. These are the first rows.
    pub(super) fn learn(&mut self, batch: &RecordBatch) -> Result<(), ColumnsError> {
        let rows = batch.num_rows().min(LOOKED_AT);
        let texts = |column: usize| {
            let column = batch.column(column);
            (0..rows).filter_map(move |row| text(column, row))
        };
        if let AccessBy::Column(column, name, operations) = &mut self.access {
            let cells: Vec<String> = texts(*column).collect();
            *operations = Operations::of(name, cells.iter().map(String::as_bytes));
        }
        let Some((column, TimeBy::Clock(clock))) = self.time else {
            return Ok(());
        };
        let looks = texts(column).find_map(|cell| When::of(cell.as_bytes(), false));
        let when = match (looks, clock) {
            (Some(When::Dated), _) => Some(When::Dated),
            (_, Some(clock)) => Some(When::Counted(clock)),
            (looks, None) => looks,
        };
        if when.is_none() && self.is_told {
            return Err(ColumnsError(format!(
                "the time in column {} has no unit, and may be anything: say s, ms, us, ns or filetime behind a colon",
                batch.schema_ref().field(column).name()
            )));
        }
        self.time = when.map(|when| (column, TimeBy::Looks(when)));
        Ok(())
    }
}

/// As many rows are looked at to learn what cells are.
const LOOKED_AT: usize = 200;

fn named(names: &[Name]) -> Result<Layout, ColumnsError> {
    let Some(roles) = Roles::of(names) else {
        return Err(ColumnsError(NO_TABLE.to_owned()));
    };
    let Some(operation) = roles.operation else {
        return Err(ColumnsError(NO_OPERATION.to_owned()));
    };
    let key = names[operation].key.clone();
    Ok(Layout {
        start: roles.start,
        len: roles.len,
        access: AccessBy::Column(operation, key, Operations::default()),
        time: roles
            .time
            .map(|column| (column, TimeBy::Clock(names[column].clock()))),
        device: roles.device,
        file: Vec::new(),
        is_told: false,
        columns: Vec::new(),
    })
}

fn mapped(schema: &Schema, names: &[Name], map: &ColumnMap) -> Result<Layout, ColumnsError> {
    let fields = schema.fields();
    let missing = |says: String| {
        let list: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        Err(ColumnsError(format!(
            "{says}; there are {}",
            list.join(", ")
        )))
    };
    let find = |which: &Which| match which {
        Which::Number(number) if *number < names.len() => Ok(*number),
        Which::Number(number) => missing(format!("column {} is asked for", number + 1)),
        Which::Name(name) => {
            let is_exact = fields.iter().position(|field| field.name() == name);
            let is = |known: &str| known.trim().eq_ignore_ascii_case(name.trim());
            let alike = || fields.iter().position(|field| is(field.name()));
            match is_exact.or_else(alike) {
                Some(column) => Ok(column),
                None => missing(format!("no column is called {name}")),
            }
        }
    };
    // A name that says its unit says it here too.
    let place = |(which, unit): &(Which, Option<u64>), known: &[(&str, u64)]| {
        let column = find(which)?;
        let by_name = match which {
            Which::Number(_) => None,
            Which::Name(_) => {
                let name = &names[column];
                let usual = known.iter().find(|(key, _)| *key == name.key);
                name.bytes().or(usual.map(|(_, unit)| *unit))
            }
        };
        Ok((
            column,
            unit.or(by_name).filter(|unit| *unit > 0).unwrap_or(1),
        ))
    };
    let access = match &map.op {
        Op::Always(access) => AccessBy::Always(*access),
        Op::Column(which) => {
            let column = find(which)?;
            AccessBy::Column(column, names[column].key.clone(), Operations::default())
        }
    };
    let time = match &map.time {
        Some((which, clock)) => {
            let column = find(which)?;
            Some((column, TimeBy::Clock(clock.or(names[column].clock()))))
        }
        None => None,
    };
    Ok(Layout {
        start: place(&map.offset, STARTS)?,
        len: place(&map.size, LENGTHS)?,
        access,
        time,
        device: map.device.iter().map(find).collect::<Result<_, _>>()?,
        file: Vec::new(),
        is_told: false,
        columns: Vec::new(),
    })
}

#[derive(Clone, Copy)]
enum Wanted {
    Number,
    Operation,
    Time,
    Name,
}

impl Wanted {
    fn takes(self, found: &DataType) -> bool {
        let found = match found {
            DataType::Dictionary(_, words) => words,
            found => found,
        };
        let is_number =
            found.is_integer() || found.is_floating() || matches!(found, DataType::Decimal128(..));
        let is_text = matches!(
            found,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
        );
        match self {
            Wanted::Number => is_number || is_text,
            Wanted::Operation => is_number || is_text || found == &DataType::Boolean,
            Wanted::Time => is_number || is_text || has_unit(found),
            Wanted::Name => found.is_integer() || is_text,
        }
    }

    const fn says(self) -> &'static str {
        match self {
            Wanted::Number => "numbers",
            Wanted::Operation => "booleans (true: a write), words, or 0 and 1",
            Wanted::Time => "timestamps, durations or numbers",
            Wanted::Name => "words or integers",
        }
    }
}

fn has_unit(found: &DataType) -> bool {
    matches!(
        found,
        DataType::Timestamp(..)
            | DataType::Duration(_)
            | DataType::Time32(_)
            | DataType::Time64(_)
            | DataType::Date64
    )
}
