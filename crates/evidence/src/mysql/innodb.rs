//! `SHOW ENGINE INNODB STATUS`: what stands in its section FILE I/O, however its lines came: one below the other, with `\n` between
//! them, or all in one line. Other sections have rates too; those are of pages and rows.

use straddle_stack::activity::{Moment, Quantity, Span};

use crate::format::{Format, Reading, Shape};
use crate::line::Line;
use crate::notes::{At, Notes};
use crate::number;
use crate::stamp;
use crate::subject::Subject;
use crate::word;

pub(crate) static FORMAT: Format = Format {
    name: "innodb-status",
    commands: &["SHOW ENGINE INNODB STATUS"],
    says: "reads, writes and flushes of the server since its start, and their rates in the last seconds",
    shape: Shape::Messages {
        marks: &[TITLE, READS, SIZE],
        of_errorlog: false,
        read,
    },
};

const TITLE: &str = "INNODB MONITOR OUTPUT";
const READS: &str = " OS file reads";
const SIZE: &str = " avg bytes/read";

const COUNTERS: [(&str, Quantity); 3] = [
    (READS, Quantity::Reads),
    (" OS file writes", Quantity::Writes),
    (" OS fsyncs", Quantity::Flushes),
];
const RATES: [(&str, Quantity); 4] = [
    (" reads/s", Quantity::ReadRate),
    (SIZE, Quantity::ReadSize),
    (" writes/s", Quantity::WriteRate),
    (" fsyncs/s", Quantity::FlushRate),
];

fn read(line: &Line<'_>, notes: &mut Notes<'_>) -> Reading {
    let text = line.text;
    let mut is_mine = false;
    if let Some(moment) = word::find(text, TITLE).and_then(|at| begun(&text[..at])) {
        // The figures come some lines below.
        notes.at(*line, Some(moment));
        is_mine = true;
    }
    let counters = word::find(text, READS).map(|at| figures(text, at, 0, &COUNTERS));
    let rates = word::find(text, SIZE).map(|at| figures(text, at, 1, &RATES));
    // One line that a mail wrapped; a whole status in one line is cut off.
    let is_alone = !is_mine && counters.is_none() != rates.is_none();
    for (found, span) in [(counters, Span::SinceStart), (rates, Span::Interval)] {
        match found {
            None => continue,
            Some(None) if is_alone => return Reading::Unfinished,
            Some(None) => notes.unread(line),
            Some(Some(figures)) => {
                let at = At {
                    line: *line,
                    moment: notes.clock,
                };
                for (quantity, value) in figures {
                    notes.add(at, &Subject::whole_server(), quantity, span, value);
                }
            }
        }
        is_mine = true;
    }
    match is_mine {
        true => Reading::Done,
        false => Reading::Other,
    }
}

/// The numbers before these words, when all are there, one after another; `at` is the place of the word number `which`.
fn figures(
    text: &str,
    at: usize,
    which: usize,
    words: &[(&str, Quantity)],
) -> Option<Vec<(Quantity, f64)>> {
    let mut from = at;
    for (word, _) in words.get(..which)?.iter().rev() {
        from = text[..from].rfind(word)?;
    }
    let mut figures = Vec::new();
    let mut before = 0;
    for (word, quantity) in words {
        let place = from + word::find(&text[from..], word)?;
        figures.push((*quantity, number_before(&text[before..place])?));
        (from, before) = (place, place + word.len());
    }
    Some(figures)
}

/// The number at the end of a text.
fn number_before(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    number::plain(&text[digits.len()..])
}

/// When the status was taken, as its title says: in two digits for the year up to 5.5.
fn begun(before: &str) -> Option<Moment> {
    let title = before.rfind('=').map_or(before, |at| &before[at + 1..]);
    let title = title.trim_start_matches("\\n");
    stamp::first(title).or_else(|| {
        let mut words = title.split_whitespace();
        let date = words.next().filter(|date| date.len() == 6)?;
        let part = |from: usize| date.get(from..from + 2)?.parse::<u32>().ok();
        let (year, month, day) = (part(0)?, part(2)?, part(4)?);
        let (time, micros, _) = stamp::time(words.next()?)?;
        Moment::new((2000 + i64::from(year), month, day), time, micros)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_before_the_words() {
        let text = "91.20 reads/s, 4.00 creates/s\\n990112 OS file reads, 5 OS file writes, 6 OS fsyncs\\n201.33 reads/s, 65536 avg bytes/read, 40.50 writes/s, 9.75 fsyncs/s";
        let at = text.find(READS).expect("counters");
        let values = |found: Option<Vec<(Quantity, f64)>>| -> Option<Vec<f64>> {
            Some(found?.into_iter().map(|(_, value)| value).collect())
        };
        let counters = figures(text, at, 0, &COUNTERS);
        assert_eq!(values(counters), Some(vec![990_112.0, 5.0, 6.0]));
        let at = text.find(SIZE).expect("rates");
        let rates = figures(text, at, 1, &RATES);
        assert_eq!(values(rates), Some(vec![201.33, 65_536.0, 40.5, 9.75]));
        let cut = &text[..text.len() - 10];
        assert_eq!(figures(cut, at, 1, &RATES), None);
    }

    #[test]
    fn titles_have_the_time() {
        let shown = |text| begun(text).map(|at| at.to_string()).unwrap_or_default();
        assert_eq!(shown("130219 11:08:27 "), "2013-02-19T11:08:27");
        assert_eq!(
            shown("\\n====\\n2019-08-05 23:59:59 0x7f1c "),
            "2019-08-05T23:59:59"
        );
        assert_eq!(shown("END OF "), "");
    }
}
