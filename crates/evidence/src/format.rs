use crate::json::Event;
use crate::line::Line;
use crate::notes::Notes;
use crate::table::{Head, Row};

/// Something whose output is read.
pub struct Format {
    /// Name, as in the documentation: `iostat`, `errorlog-stalls`.
    pub name: &'static str,
    /// The commands that print it, or what writes it.
    pub commands: &'static [&'static str],
    /// What it says, for the page of formats.
    pub says: &'static str,
    pub(crate) shape: Shape,
}

impl Format {
    /// Whether columns are those of its table.
    pub(crate) fn has_columns(&self, head: &Head) -> bool {
        matches!(&self.shape, Shape::Table { is, .. } if is(head))
    }
}

/// How it looks.
pub(crate) enum Shape {
    /// Messages, each for itself, wherever they stand in a line.
    Messages {
        /// A line without any of these is none.
        marks: &'static [&'static str],
        /// True for messages of a SQL Server ERRORLOG, in which no others are looked for.
        of_errorlog: bool,
        read: fn(&Line<'_>, &mut Notes<'_>) -> Reading,
    },
    /// Lines below a heading.
    Lines {
        /// A line without any of these, in any case, is no heading; none: every line is asked about.
        marks: &'static [&'static str],
        /// The reader, when this line is a heading.
        begins: fn(&Line<'_>, &mut Notes<'_>) -> Option<Box<dyn Body>>,
    },
    /// Rows of named columns, however they were printed.
    Table {
        /// A line without any of these, in any case, is no line of its names.
        marks: &'static [&'static str],
        /// True for columns of this table.
        is: fn(&Head) -> bool,
        read: fn(&Row<'_>, &mut Notes<'_>),
    },
    /// A JSON document.
    Json {
        /// The reader, when a document begins.
        begins: fn() -> Box<dyn Document>,
    },
}

/// What a message comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// It was noted.
    Done,
    /// It goes on in the next line.
    Unfinished,
    /// It is another message.
    Other,
}

/// Reads the lines below a heading.
pub(crate) trait Body {
    fn line(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> Taken;

    /// Nothing follows: the input has ended, or something else begins. Not called behind [`Taken::Ended`].
    fn end(&mut self, _notes: &mut Notes<'_>) {}
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It belongs to the output.
    Yes,
    /// It does not, and the output may go on behind it.
    No,
    /// The output has ended before it.
    Ended,
}

/// Reads a JSON document, event by event.
pub(crate) trait Document {
    /// True when the document is known to be this format's.
    fn is_mine(&self) -> bool;
    fn event(&mut self, event: &Event<'_>, notes: &mut Notes<'_>);

    /// The document is whole, or the input ended in it: what is not whole is told.
    fn end(&mut self, _: &mut Notes<'_>) {}
}
