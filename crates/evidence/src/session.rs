//! Which lines of an input are whose.

mod messages;

use crate::errorlog::backup;
use crate::format::{Body, Document, Format, Shape, Taken};
use crate::gathered::Gathered;
use crate::json::{Met, State, Walker};
use crate::line::{Line, is_errorlog, without_fence};
use crate::marks::{Hits, marks};
use crate::notes::{Found, Notes};
use crate::others;
use crate::prefix::{Behind, Prefix};
use crate::registry::FORMATS;
use crate::table::{Head, Heads, is_ruler};
use crate::upright::{Objects, Upright, begins_upright, field, is_mark};
use messages::{Pending, messages_in, messages_of};
use std::rc::Rc;

/// What is looked for.
type Formats = &'static [&'static Format];

/// Reads the lines of one input, in order.
pub(crate) struct Session<'g> {
    notes: Notes<'g>,
    formats: Formats,
    number: u64,
    body: Option<(&'static Format, Box<dyn Body>)>,
    table: Option<Table>,
    upright: Upright,
    json: Option<Json>,
    walker: Walker,
    /// The rows of the last document, whose memory is used again.
    objects: Objects,
    pending: Option<Pending>,
    /// What stands before each line of the output that is read.
    prefix: Option<Prefix>,
    /// The place of the last line that can be names of columns, until the next line.
    names: Option<usize>,
    heads: Heads,
    /// The last line, where it has words of names of columns that a ruler below may tell apart: names have blanks in them.
    unruled: Option<String>,
}

/// A table that is being read.
struct Table {
    format: &'static Format,
    head: Rc<Head>,
    rows: u64,
    /// A blank line was read since the last row.
    is_apart: bool,
}

struct Json {
    documents: Vec<(&'static Format, Box<dyn Document>)>,
    /// Objects that may be rows of a table; none when nothing in a document of one line names one.
    objects: Option<Objects>,
    has_rows: bool,
}

impl<'g> Session<'g> {
    pub(crate) fn new(formats: Formats, name: &str, gathered: &'g mut Gathered) -> Session<'g> {
        Session {
            notes: Notes::new(name, gathered),
            formats,
            number: 0,
            body: None,
            table: None,
            upright: Upright::default(),
            json: None,
            walker: Walker::default(),
            objects: Objects::default(),
            pending: None,
            prefix: None,
            names: None,
            heads: Heads::default(),
            unruled: None,
        }
    }

    /// A line, of which more was left out if it is `cut`.
    pub(crate) fn whole_line(&mut self, number: u64, text: &str, cut: bool) {
        let line = Line { number, text };
        if cut {
            self.notes
                .remark("too long, of which the end was left out", &line);
        }
        self.line(&line);
    }

    pub(crate) fn line(&mut self, line: &Line<'_>) {
        let line = &Line {
            text: without_fence(line.text),
            ..*line
        };
        self.number = line.number;
        self.notes.gathered.lines += 1;
        if self.pending.is_some() && self.goes_on(line) {
            return;
        }
        self.notes.collected = None;
        let inner = self.inner(line);
        if self.json.is_some() && self.json_line(&inner) {
            return;
        }
        if let Some((format, mut body)) = self.body.take() {
            match body.line(&inner, &mut self.notes) {
                Taken::Yes => {
                    self.body = Some((format, body));
                    return;
                }
                Taken::No => self.body = Some((format, body)),
                Taken::Ended => {}
            }
        }
        let bytes = line.text.as_bytes();
        let errorlog = is_errorlog(bytes);
        // Other lines of an ERRORLOG are other messages, and come by the million.
        if errorlog && !marks().may_be_of_errorlog(bytes) {
            return;
        }
        let hits = marks().of(bytes);
        if self.message(line, marks().messages(hits, bytes, errorlog)) || errorlog {
            return;
        }
        if self.ruled(&inner) || self.row(&inner, hits) || self.upright_line(&inner, hits) {
            return;
        }
        if !marks().tables(hits).is_empty() {
            self.unruled = Some(inner.text.to_owned());
        }
        if inner.text.len() < line.text.len() && self.begin(&inner, hits) {
            return;
        }
        if !self.start_over(line, hits)
            && hits.may_be_of_others()
            && let Some(what) = others::of(line.text)
        {
            self.notes.other(what, line);
        }
    }

    /// A line without what stands before each line of the output that is read.
    fn inner<'l>(&mut self, line: &Line<'l>) -> Line<'l> {
        let Some(prefix) = &mut self.prefix else {
            return *line;
        };
        let Some((text, moment)) = prefix.off(line.text) else {
            return *line;
        };
        self.notes.collected = moment;
        if prefix.has_host() {
            self.notes.of_host(crate::prefix::host(line.text), line);
        }
        Line { text, ..*line }
    }

    /// Whether something begins here, alone or behind what a collector put before its lines.
    fn start_over(&mut self, line: &Line<'_>, hits: Hits) -> bool {
        if !hits.may_begin_behind(line.text) {
            let begins = self.begin(line, hits);
            if begins {
                self.prefix = None;
            }
            return begins;
        }
        let (sure, loose): (Vec<_>, Vec<_>) = Prefix::of(line.text).partition(Behind::is_sure);
        if self.begin_behind(&sure, line, hits) {
            return true;
        }
        self.notes.collected = None;
        if self.begin(line, hits) {
            self.prefix = None;
            return true;
        }
        self.begin_behind(&loose, line, hits)
    }

    /// Whether something begins behind one of these, the longest first.
    fn begin_behind(&mut self, prefixes: &[Behind<'_>], line: &Line<'_>, hits: Hits) -> bool {
        for behind in prefixes.iter().rev() {
            self.notes.collected = behind.moment;
            let text = behind.text;
            let inner = Line { text, ..*line };
            let is_upright = is_mark(text.trim()) || begins_upright(text, hits);
            if is_upright && (self.upright_line(&inner, hits) || !self.upright.is_empty())
                || self.begin(&inner, hits)
            {
                self.prefix = Some(behind.prefix());
                return true;
            }
        }
        self.notes.collected = None;
        false
    }

    /// What is left at the end; what was found, and the number of the last line.
    pub(crate) fn close(mut self) -> (Found, u64) {
        while let Some(pending) = self.pending.take() {
            self.give_up(pending);
        }
        if self.json.is_some() {
            self.end_json(None);
        }
        self.end_body();
        self.end_upright();
        backup::settle(&mut self.notes);
        (self.notes.found, self.number)
    }

    fn end_body(&mut self) {
        if let Some((_, mut body)) = self.body.take() {
            body.end(&mut self.notes);
        }
    }

    fn is_asked_for(&self, format: &'static Format) -> bool {
        is_among(format, self.formats)
    }

    /// Whether it is a ruler below names of columns that were not known without it.
    fn ruled(&mut self, line: &Line<'_>) -> bool {
        let Some(names) = self.unruled.take().filter(|_| self.names.is_none()) else {
            return false;
        };
        if is_ruler(line.text) {
            return self.begin_ruled(&names, line.text);
        }
        for behind in Prefix::of(&names) {
            let mut prefix = behind.prefix();
            let Some((ruler, _)) = prefix.off(line.text).filter(|(rest, _)| is_ruler(rest)) else {
                continue;
            };
            if self.begin_ruled(behind.text, ruler) {
                self.prefix = Some(prefix);
                return true;
            }
        }
        false
    }

    fn begin_ruled(&mut self, names: &str, ruler: &str) -> bool {
        let hits = marks().of(names.as_bytes());
        let Some(head) = Head::of_ruled(names, ruler) else {
            return false;
        };
        let mut formats = marks().tables(hits).formats();
        let found = formats.find(|format| self.is_asked_for(format) && format.has_columns(&head));
        let Some(format) = found else {
            return false;
        };
        self.notes.found(format.name);
        self.table = Some(Table {
            format,
            head: Rc::new(head),
            rows: 0,
            is_apart: false,
        });
        true
    }

    /// A row of a table, or the ruler below the names.
    fn row(&mut self, line: &Line<'_>, hits: Hits) -> bool {
        if let Some(place) = self.names.take() {
            let ruled = is_ruler(line.text);
            let ruler = ruled.then_some(line.text);
            if let Some((format, head)) = self.heads.table(place, ruler) {
                self.notes.found(format.name);
                self.table = Some(Table {
                    format,
                    head,
                    rows: 0,
                    is_apart: false,
                });
                if ruled {
                    return true;
                }
            }
        }
        let Some(table) = &mut self.table else {
            return false;
        };
        let text = line.trimmed();
        if is_ruler(text) {
            return true;
        }
        let Shape::Table { read, .. } = &table.format.shape else {
            return false;
        };
        if text.is_empty() {
            if table.rows > 0 && std::mem::replace(&mut table.is_apart, true) {
                self.table = None;
            }
            return true;
        }
        // Some pages have a blank line behind each line; what is no row does not belong to the table any more.
        if std::mem::take(&mut table.is_apart)
            && !(table.head.row(line)).is_some_and(|row| row.has_figures() && !row.is_names())
        {
            self.table = None;
            return false;
        }
        if !table.head.may_be_row(text) {
            self.table = None;
            return text.starts_with('(');
        }
        match table.head.row(line) {
            // The next reading of the same, whose columns may be of other widths.
            Some(row) if row.is_names() => {
                self.table = None;
                false
            }
            Some(row) => {
                read(&row, &mut self.notes);
                table.rows += 1;
                true
            }
            None => {
                let is_end =
                    text.starts_with('(') || !text.bytes().any(|byte| byte.is_ascii_digit());
                if is_end || names_of(self.formats, text, hits).is_some() {
                    self.table = None;
                    return is_end && text.starts_with('(');
                }
                self.notes.unread(line);
                true
            }
        }
    }

    /// A field of a row that stands one column a line.
    fn upright_line(&mut self, line: &Line<'_>, hits: Hits) -> bool {
        let text = line.trimmed();
        if is_mark(text) {
            self.end_upright();
            self.upright.push(line.number, "", "");
            return true;
        }
        if self.upright.is_empty() && !begins_upright(text, hits) {
            return false;
        }
        let is_key = |key: &str| key.trim().len() <= 64 && !key.trim().is_empty();
        match field(text).filter(|(key, _)| is_key(key)) {
            Some((key, value)) if self.upright.push(line.number, key, value) => {
                // Longer texts of other outputs have colons too.
                self.upright.len() > 1
            }
            _ => {
                self.end_upright();
                false
            }
        }
    }

    fn end_upright(&mut self) {
        self.upright.read(self.formats, &mut self.notes);
        self.upright.clear();
    }

    /// Whether something begins here.
    fn begin(&mut self, line: &Line<'_>, hits: Hits) -> bool {
        let text = line.trimmed();
        if text.is_empty() {
            return false;
        }
        if text.starts_with(['{', '[']) {
            self.begin_json(line, hits);
            if self.json.is_some() {
                return true;
            }
        }
        for format in marks().lines(hits).formats() {
            if let Shape::Lines { begins, .. } = &format.shape
                && self.is_asked_for(format)
                && let Some(body) = begins(line, &mut self.notes)
            {
                self.notes.found(format.name);
                self.end_body();
                self.table = None;
                self.body = Some((format, body));
                return true;
            }
        }
        if !marks().tables(hits).is_empty() {
            let find = || names_of(self.formats, line.text, hits);
            self.names = self.heads.place(line.text, find).or(self.names);
        }
        self.names.is_some()
    }

    fn begin_json(&mut self, line: &Line<'_>, hits: Hits) {
        let mut documents: Vec<(&'static Format, Box<dyn Document>)> = Vec::new();
        for format in self.formats {
            if let Shape::Json { begins } = &format.shape {
                documents.push((*format, begins()));
            }
        }
        self.walker.begin();
        self.objects.begin();
        self.json = Some(Json {
            documents,
            objects: is_open(line, hits).then(|| std::mem::take(&mut self.objects)),
            has_rows: false,
        });
        self.json_line(line);
    }

    /// Gives a line to the document that is open; false when it is no part of one.
    fn json_line(&mut self, line: &Line<'_>) -> bool {
        let Some(json) = &mut self.json else {
            return false;
        };
        let mut messages: Vec<String> = Vec::new();
        let mut other = None;
        if json.objects.is_some() && (json.documents.iter()).any(|(_, document)| document.is_mine())
        {
            self.objects = json.objects.take().unwrap_or_default();
        }
        let (documents, notes) = (&mut json.documents, &mut self.notes);
        let (objects, has_rows, formats) = (&mut json.objects, &mut json.has_rows, self.formats);
        let state = self.walker.line(line, |event| {
            if let Met::Text(text) = event.met {
                let hits = marks().of(text.as_bytes());
                if !messages_of(text, hits).is_empty() {
                    messages.push(text.to_owned());
                } else if hits.may_be_of_others() {
                    other = other.or_else(|| others::of(text));
                }
            }
            for (_, document) in documents.iter_mut() {
                document.event(event, notes);
            }
            if let Some(row) = objects.as_mut().and_then(|objects| objects.event(event)) {
                *has_rows |= row.read(formats, notes);
            }
        });
        for text in messages {
            let line = Line {
                number: line.number,
                text: &text,
            };
            self.message(&line, messages_in(&text));
        }
        if let Some(what) = other {
            self.notes.other(what, line);
        }
        match state {
            State::Open => true,
            State::Ended => {
                self.end_json(None);
                true
            }
            State::Broken => self.end_json(Some(line)),
        }
    }

    /// The document has ended, in `broken` when that is no JSON. Whether the line was its.
    fn end_json(&mut self, broken: Option<&Line<'_>>) -> bool {
        let Some(mut json) = self.json.take() else {
            return false;
        };
        let (mut mine, mut by_a_document) = (json.has_rows, false);
        let cut = (json.objects.as_ref()).and_then(|objects| objects.cut(self.formats));
        if let Some(objects) = json.objects.take() {
            self.objects = objects;
        }
        if let Some(number) = cut {
            mine = true;
            self.notes.unread(&Line { number, text: "" });
        } else if let Some(line) = broken.filter(|_| mine) {
            self.notes.unread(line);
        }
        for (format, document) in &mut json.documents {
            if document.is_mine() {
                if broken.is_none() {
                    document.end(&mut self.notes);
                }
                self.notes.found(format.name);
                (mine, by_a_document) = (true, true);
            }
        }
        if by_a_document && let Some(line) = broken {
            self.notes.unread(line);
        }
        mine
    }
}

/// Whether a document may have rows of a table: it goes on, or has a name of one.
fn is_open(line: &Line<'_>, hits: Hits) -> bool {
    !line.text.ends_with('}') || !marks().tables(hits).is_empty()
}

/// All are among all, which is what is asked for most often, of every line.
fn is_among(format: &'static Format, formats: Formats) -> bool {
    std::ptr::eq(formats, FORMATS) || formats.iter().any(|one| std::ptr::eq(*one, format))
}

/// The table whose names of columns a line has.
fn names_of(formats: Formats, text: &str, hits: Hits) -> Option<(&'static Format, Head)> {
    let mut head = None;
    for format in marks().tables(hits).formats() {
        if !is_among(format, formats) {
            continue;
        }
        let found = head.get_or_insert_with(|| Head::of(text));
        if found.as_ref().is_some_and(|head| format.has_columns(head)) {
            return Some((format, found.take()?));
        }
    }
    None
}
