//! Rows of figures of sysstat: a device and its figures, also where a mail or a terminal broke them.

use straddle_stack::activity::{Moment, Quantity, Span};

use super::columns::{self, Meaning};
use super::devices::{Devices, channels};
use crate::line::Line;
use crate::notes::Notes;
use crate::number;
use crate::subject::Subject;

/// The columns of a table, without those before the device.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Columns {
    meanings: Vec<Option<Meaning>>,
    /// The device stands behind the figures.
    pub(super) device_last: bool,
    /// A word at the end that is no name of a column: the beginning of one, when the line was broken.
    loose: Option<String>,
}

/// More than any version has.
const MAX_COLUMNS: usize = 64;

impl Columns {
    /// The columns that a line names, `device` being the name of the one for the device.
    pub(super) fn of(text: &str, device: &[&str]) -> Option<Columns> {
        if text.len() > LONGEST {
            return None;
        }
        let mut words = text.split_whitespace();
        let first = words.next()?;
        let device_first = device.contains(&first);
        let mut columns = Columns {
            meanings: Vec::new(),
            device_last: false,
            loose: None,
        };
        if !device_first && !columns.add(first) {
            return None;
        }
        for word in words {
            if columns.device_last || columns.meanings.len() > MAX_COLUMNS {
                return None;
            }
            if !device_first && device.contains(&word) {
                columns.device_last = true;
            } else {
                columns.add(word);
            }
        }
        let known = columns.meanings.iter().flatten().count();
        (known >= 2 && (device_first || columns.device_last)).then(|| columns.once())
    }

    /// Adds a column; false for one that is not known.
    fn add(&mut self, word: &str) -> bool {
        if let Some(loose) = self.loose.take() {
            let whole = format!("{loose}{word}");
            if let Some(meaning) = columns::known(&whole) {
                self.meanings.push(meaning);
                return true;
            }
            // A column of a version that is not known.
            self.meanings.push(None);
        }
        if let Some(meaning) = columns::known(word) {
            self.meanings.push(meaning);
            return true;
        }
        if let Some((first, second)) = columns::split(word) {
            let both = [first, second].map(|name| columns::known(name).flatten());
            self.meanings.extend(both);
            return true;
        }
        self.loose = Some(word.to_owned());
        false
    }

    /// The columns with those of the next line, if it is the rest of the names.
    pub(super) fn with(&self, text: &str) -> Option<Columns> {
        if text.len() > LONGEST {
            return None;
        }
        let mut columns = self.clone();
        let mut words = text.split_whitespace();
        let was_loose = columns.loose.is_some();
        let mut is_rest = columns.add(words.next()?) || was_loose;
        for word in words {
            is_rest &= columns.add(word);
        }
        let is_short = columns.meanings.len() <= MAX_COLUMNS && columns.loose.is_none();
        (is_rest && is_short && !self.device_last).then(|| columns.once())
    }

    /// Leaves only the last column of those that say the same in other units.
    fn once(mut self) -> Columns {
        for at in 0..self.meanings.len() {
            let (before, behind) = self.meanings.split_at_mut(at + 1);
            if let Some(Some(this)) = before.last()
                && behind
                    .iter()
                    .flatten()
                    .any(|other| other.quantity == this.quantity)
                && let Some(last) = before.last_mut()
            {
                *last = None;
            }
        }
        self
    }

    fn len(&self) -> usize {
        self.meanings.len() + usize::from(self.loose.is_some())
    }

    /// What the figures of a row say of a quantity.
    pub(super) fn value(&self, quantity: Quantity, figures: &[f64]) -> Option<f64> {
        let mut cells = self.meanings.iter().zip(figures);
        cells.find_map(|(meaning, figure)| {
            let meaning = meaning.filter(|meaning| meaning.quantity == quantity)?;
            Some(figure * meaning.factor)
        })
    }
}

/// What says how many requests the figure of a column stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Weight {
    None,
    Of(usize),
    /// Reads and writes together.
    OfBoth(usize, usize),
}

/// Reads the rows below names of columns.
pub(super) struct Rows {
    pub(super) columns: Columns,
    pub(super) span: Span,
    weights: Vec<Weight>,
    devices: Devices,
    /// Of the row that is read, in the columns' units; no number where there is none.
    values: Vec<f64>,
    pending: Option<Pending>,
}

/// A row that is not whole.
struct Pending {
    number: u64,
    text: String,
    moment: Option<Moment>,
}

impl Pending {
    fn has_figures(&self) -> bool {
        self.text.split_ascii_whitespace().nth(1).is_some()
    }
}

/// A row over more characters is none.
const LONGEST: usize = 1024;

/// Figures are of a disk, and one that was cut off the row cannot be told.
const NAMELESS: &str = "with as many figures as there are names of columns, and no name of a device: what cut these lines is to keep the column of the \
                        device";

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape<'t> {
    Row(&'t str),
    /// Beginning of a row.
    Part,
    /// A row that cannot be read.
    Broken,
    /// One with all its figures, and nothing that is called by a name.
    Nameless,
    Other,
}

impl Rows {
    pub(super) fn new(columns: Columns, span: Span) -> Rows {
        let of = |quantity: Quantity| {
            let is = |meaning: &Option<Meaning>| meaning.is_some_and(|m| m.quantity == quantity);
            columns.meanings.iter().position(is)
        };
        let weight = |meaning: &Option<Meaning>| {
            let Some(meaning) = meaning else {
                return Weight::None;
            };
            let Some(rate) = meaning.quantity.rate() else {
                return Weight::None;
            };
            match (of(rate), of(Quantity::ReadRate), of(Quantity::WriteRate)) {
                (Some(at), _, _) => Weight::Of(at),
                (None, Some(reads), Some(writes)) if rate == Quantity::TransferRate => {
                    Weight::OfBoth(reads, writes)
                }
                _ => Weight::None,
            }
        };
        Rows {
            weights: columns.meanings.iter().map(weight).collect(),
            span,
            devices: Devices::default(),
            values: Vec::with_capacity(columns.len()),
            pending: None,
            columns,
        }
    }

    /// Reads a line, of which `text` is what stands behind its time; false when it is no row.
    pub(super) fn line(
        &mut self,
        line: &Line<'_>,
        text: &str,
        moment: Option<Moment>,
        notes: &mut Notes<'_>,
    ) -> bool {
        if self.pending.is_some() && self.goes_on(line, notes) {
            return true;
        }
        match self.shape(text) {
            Shape::Row(name) => {
                self.send(name, line, moment, notes);
                true
            }
            // Other lines of one word.
            Shape::Part if super::clock::line(text).is_some() => false,
            Shape::Part if text.len() <= LONGEST => {
                self.pending = Some(Pending {
                    number: line.number,
                    text: text.to_owned(),
                    moment,
                });
                true
            }
            Shape::Nameless => {
                notes.remark(NAMELESS, line);
                notes.unread(line);
                true
            }
            Shape::Part | Shape::Broken => {
                notes.unread(line);
                true
            }
            Shape::Other => false,
        }
    }

    /// Whether a text has as many figures as a row.
    pub(super) fn has_figures(&self, text: &str) -> bool {
        let figures = text
            .split_ascii_whitespace()
            .filter(|word| figure(word).is_some());
        text.len() <= LONGEST && figures.count() == self.columns.len()
    }

    /// Reads a line that is only a row if all of it is there, as behind a blank line.
    pub(super) fn whole_line(
        &mut self,
        line: &Line<'_>,
        text: &str,
        moment: Option<Moment>,
        notes: &mut Notes<'_>,
    ) -> bool {
        let Shape::Row(name) = self.shape(text) else {
            return false;
        };
        self.send(name, line, moment, notes);
        true
    }

    /// Whether a line is the rest of the row that is not whole. If not, that row is given up.
    pub(super) fn goes_on(&mut self, line: &Line<'_>, notes: &mut Notes<'_>) -> bool {
        let Some(pending) = self.pending.take() else {
            return false;
        };
        let more = line.text;
        let mut words = more.split_ascii_whitespace().peekable();
        let mut is_rest = words.peek().is_some();
        while let Some(word) = words.next() {
            let is_last = words.peek().is_none();
            let is_name = is_last && self.columns.device_last;
            is_rest &= figure(word).is_some() || is_last && is_fragment(word) || is_name;
        }
        if !is_rest || pending.text.len() + more.len() > LONGEST {
            Rows::give_up(&pending, notes);
            return false;
        }
        let between = match is_in_word(&pending.text, more) {
            true => "",
            false => " ",
        };
        let text = format!("{}{between}{}", pending.text.trim_end(), more.trim());
        let first = Line {
            number: match pending.has_figures() {
                true => pending.number,
                false => line.number,
            },
            text: &text,
        };
        match self.shape(&text) {
            Shape::Row(name) => self.send(name, &first, pending.moment, notes),
            Shape::Part => {
                self.pending = Some(Pending {
                    number: first.number,
                    text: text.clone(),
                    moment: pending.moment,
                });
            }
            Shape::Broken | Shape::Nameless | Shape::Other => notes.unread(&first),
        }
        true
    }

    /// Nothing follows.
    pub(super) fn end(&mut self, notes: &mut Notes<'_>) {
        if let Some(pending) = self.pending.take() {
            Rows::give_up(&pending, notes);
        }
    }

    fn give_up(pending: &Pending, notes: &mut Notes<'_>) {
        // A word alone can be anything.
        if pending.has_figures() {
            notes.unread(&Line {
                number: pending.number,
                text: &pending.text,
            });
        }
    }

    /// Reads a text into `values`.
    fn shape<'t>(&mut self, text: &'t str) -> Shape<'t> {
        let count = self.columns.len();
        self.values.clear();
        let (mut name, mut names, mut others) = ("", 0_usize, 0_usize);
        let mut is_figure_first = false;
        let mut last = "";
        for (index, (word, figure)) in words(text).enumerate() {
            last = word;
            let is_first = index == 0 && !self.columns.device_last;
            match figure {
                Some(figure) if !is_first => {
                    if self.values.len() >= count {
                        // A device can be called 8 or 3600508b1001c1d2e.
                        name = word;
                        names += 1;
                        continue;
                    }
                    let meaning = self.columns.meanings.get(self.values.len());
                    let value = meaning.copied().flatten().map(|meaning| {
                        let is_bytes = meaning.factor > 1.0;
                        let factor = figure.unit.filter(|_| is_bytes);
                        figure.value * factor.unwrap_or(meaning.factor)
                    });
                    self.values.push(value.unwrap_or(f64::NAN));
                }
                Some(_) => {
                    is_figure_first = true;
                    others += 1;
                }
                None if is_first || self.columns.device_last && self.values.len() == count => {
                    name = word;
                    names += 1;
                }
                None => others += 1,
            }
        }
        let read = self.values.len();
        let has_negative = self.values.iter().any(|value| *value < 0.0);
        if others == 0 && names == 1 && read == count && !has_negative {
            return Shape::Row(name);
        }
        // With the device at the end, a row without one is the first part of a row.
        if is_figure_first && others == 1 && names == 0 && read + 1 == count {
            return Shape::Nameless;
        }
        let is_cut = others == 0 || others == 1 && figure(last).is_none() && is_fragment(last);
        let named = match self.columns.device_last {
            true => names == 0 && read > 0,
            false => names == 1,
        };
        if is_cut && named && read + others <= count && !has_negative {
            return Shape::Part;
        }
        match read >= 2 && read > others {
            true => Shape::Broken,
            false => Shape::Other,
        }
    }

    /// Notes the figures of a row.
    fn send(&mut self, name: &str, line: &Line<'_>, moment: Option<Moment>, notes: &mut Notes<'_>) {
        let (meanings, span) = (&self.columns.meanings, self.span);
        let make = |subject: &Subject| {
            let quantities = meanings.iter().flatten().map(|meaning| meaning.quantity);
            channels(subject, quantities, span)
        };
        let at = notes.at(*line, moment);
        let mut channels = self.devices.of(&notes.name_here(name), make).iter_mut();
        for ((value, meaning), weight) in self.values.iter().zip(meanings).zip(&self.weights) {
            if meaning.is_none() {
                continue;
            }
            let Some(channel) = channels.next() else {
                return;
            };
            if value.is_nan() {
                continue;
            }
            let of = |at: usize| self.values.get(at).copied().unwrap_or(f64::NAN);
            let weight = match *weight {
                Weight::None => f64::NAN,
                Weight::Of(at) => of(at),
                Weight::OfBoth(reads, writes) => of(reads) + of(writes),
            };
            notes.send(channel, at, *value, Some(weight));
        }
    }
}

/// A number as sysstat prints it, and the bytes of the unit behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) value: f64,
    pub(super) unit: Option<f64>,
}

/// A word that is a figure: `12.50`, `12,50`, `29.1M`, `99.8%`, `nan`.
pub(super) fn figure(word: &str) -> Option<Figure> {
    const UNITS: [(u8, f64); 6] = [
        (b'B', 1.0),
        (b'k', 1024.0),
        (b'M', 1024.0 * 1024.0),
        (b'G', 1024.0 * 1024.0 * 1024.0),
        (b'T', 1024.0 * 1024.0 * 1024.0 * 1024.0),
        (b'P', 1024.0 * 1024.0 * 1024.0 * 1024.0 * 1024.0),
    ];
    let bytes = word.as_bytes();
    let (sign, digits) = match bytes {
        [b'-', rest @ ..] => (-1.0, rest),
        rest => (1.0, rest),
    };
    let point = match digits.contains(&b',') {
        true => b',',
        false => b'.',
    };
    let Some((value, len)) = number::decimal(digits, point) else {
        let is_none = matches!(digits, b"nan" | b"inf");
        return is_none.then_some(Figure {
            value: f64::NAN,
            unit: None,
        });
    };
    // `3120.` is cut off.
    if digits[..len].ends_with(&[point]) {
        return None;
    }
    let unit = match &digits[len..] {
        [] | [b'%'] => None,
        [unit] => Some(UNITS.iter().find(|(name, _)| name == unit)?.1),
        _ => return None,
    };
    let value = sign * value;
    Some(Figure { value, unit })
}

/// The words of a text, and what figure each is.
fn words(text: &str) -> impl Iterator<Item = (&str, Option<Figure>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        while bytes.get(at)?.is_ascii_whitespace() {
            at += 1;
        }
        let start = at;
        // Nearly all are digits with a point between them, which need not be looked for first.
        let usual = number::decimal(bytes.get(start..)?, b'.');
        at += usual.map_or(0, |(_, len)| len);
        let end = at;
        while bytes
            .get(at)
            .is_some_and(|byte| !byte.is_ascii_whitespace())
        {
            at += 1;
        }
        let word = &text[start..at];
        let figure = match usual {
            Some((value, _)) if end == at && !word.ends_with('.') => {
                Some(Figure { value, unit: None })
            }
            _ => figure(word),
        };
        Some((word, figure))
    })
}

/// The beginning of a figure.
fn is_fragment(word: &str) -> bool {
    word.bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','))
}

/// Whether a line was broken within a figure: what stands before the break has fewer decimals than the other figures.
fn is_in_word(before: &str, behind: &str) -> bool {
    let decimals = |word: &str| word.rsplit_once(['.', ',']).map(|(_, part)| part.len());
    let mut words = before.split_ascii_whitespace().rev();
    let Some(last) = words.next() else {
        return false;
    };
    let next = behind.split_ascii_whitespace().next().unwrap_or_default();
    if before.ends_with(char::is_whitespace) || !is_fragment(last) {
        return false;
    }
    match words.next().filter(|word| figure(word).is_some()) {
        Some(other) => decimals(last) < decimals(other),
        None => next.starts_with(['.', ',']) || last.ends_with(['.', ',']),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_as_sysstat_prints_them() {
        let read = |word| figure(word).map(|figure| (figure.value, figure.unit));
        for (word, expected) in [
            ("12.50", (12.5, None)),
            ("12,50", (12.5, None)),
            ("1467908.17", (1_467_908.17, None)),
            ("0", (0.0, None)),
            ("-3", (-3.0, None)),
            ("1.5k", (1.5, Some(1024.0))),
            ("99.8%", (99.8, None)),
        ] {
            assert_eq!(read(word), Some(expected), "{word}");
        }
        for word in [
            "",
            "-",
            ".",
            "3120.",
            "1.2.3",
            "sda",
            "12x",
            "1e5",
            "%",
            "k",
            "1234567890123456789012",
        ] {
            assert_eq!(read(word), None, "{word}");
        }
        assert!(figure("-nan").is_some_and(|figure| figure.value.is_nan()));
    }

    #[test]
    fn words_of_the_usual_form_are_the_figures_of_every_form() {
        const PIECES: [&str; 14] = [
            "0", "7", "12", "990817", ".", ".", ",", " ", "  ", "\t", "k", "-", "sd", "é",
        ];
        let mut state = 1_u64;
        let mut usual = 0;
        for _ in 0..50_000 {
            let mut text = String::new();
            for _ in 0..12 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                text += PIECES[usize::try_from(state >> 33).expect("31 bits") % PIECES.len()];
            }
            let bits = |figure: Option<Figure>| figure.map(|f| (f.value.to_bits(), f.unit));
            let read: Vec<_> = words(&text).map(|(word, f)| (word, bits(f))).collect();
            let expected: Vec<_> = text
                .split_ascii_whitespace()
                .map(|word| (word, bits(figure(word))))
                .collect();
            assert_eq!(read, expected, "{text}");
            let is_usual = |word: &&str| {
                let read = number::decimal(word.as_bytes(), b'.');
                read.is_some_and(|(_, len)| len == word.len())
            };
            usual += text.split_ascii_whitespace().filter(is_usual).count();
        }
        assert!(usual > 10_000, "only {usual}");
    }

    #[test]
    fn a_break_is_within_a_figure_or_between_two() {
        for (before, behind, expected) in [
            ("sda 0.70 268.81     7", ".33   70.25", true),
            ("sda 0.70 268.81     7.", "33   70.25", true),
            ("sda 0.70 268.8", "1   70.25", true),
            ("sda 0.70 268.81", "7.33", false),
            ("sda 5 268", "7", false),
            ("sda 0.70 2.81 ", "7.33", false),
            ("sda", "7.33", false),
            ("", "", false),
        ] {
            assert_eq!(is_in_word(before, behind), expected, "{before}|{behind}");
        }
    }

    #[test]
    fn names_of_columns_may_be_broken() {
        let whole = Columns::of("Device: r/s w/s avgqu-sz await", &["Device:"]);
        let first = Columns::of("Device: r/s w/s avgqu", &["Device:"]).expect("columns");
        assert_eq!(first.with("-sz await"), whole);
        let first = Columns::of("Device: r/s w/s", &["Device:"]).expect("columns");
        assert_eq!(first.with("avgqu-sz await"), whole);
        assert_eq!(first.with("sda 1.00"), None);
        assert_eq!(Columns::of("Device: reads", &["Device:"]), None);
        assert_eq!(Columns::of("r/s w/s", &["Device"]), None);
        assert!(Columns::of("r/s w/s Device", &["Device"]).is_some());
    }

    #[test]
    fn a_row_without_a_device_is_told_from_one_that_is_cut() {
        let columns = Columns::of("Device r/s w/s await %util", &["Device"]).expect("columns");
        let mut rows = Rows::new(columns, Span::Interval);
        for (text, shape) in [
            ("sda 1.00 2.00 3.00 4.00", Shape::Row("sda")),
            ("  1.00 2.00 3.00 4.00", Shape::Nameless),
            ("  1.00 2.00 3.00", Shape::Broken),
            ("sda 1.00 2.00 3.00", Shape::Part),
        ] {
            assert_eq!(rows.shape(text), shape, "{text}");
        }
    }
}
