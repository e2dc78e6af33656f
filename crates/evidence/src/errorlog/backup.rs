//! Messages 3014 and 18264: how many pages a backup or a restore went over, and how long it took.

use straddle_stack::activity::{Moment, Quantity, Span};

use super::{at, message, moment};
use crate::format::{Format, Reading, Shape};
use crate::line::Line;
use crate::notes::{At, Notes, Unnamed};
use crate::number;
use crate::subject::Subject;
use crate::word;

pub(crate) static FORMAT: Format = Format {
    name: "backup-messages",
    commands: &["BACKUP", "RESTORE", "ERRORLOG", "SQL Server Agent"],
    says: "pages, seconds and rate of backups and restores, by database",
    shape: Shape::Messages {
        marks: &[
            "successfully processed",
            " MB/s",
            " Mo/s",
            " MБ/",
            " МБ/",
            " MB/秒",
            "MB/초",
            "초당 ",
        ],
        of_errorlog: true,
        read,
    },
};

/// The database that the summary below is about.
pub(crate) static NAMES: Format = Format {
    name: "backup-databases",
    commands: &["BACKUP", "RESTORE", "ERRORLOG"],
    says: "the database that a backup's summary is about",
    shape: Shape::Messages {
        marks: &[
            "pages for database",
            "pages traitées pour la base",
            "Seiten wurden für die",
            "páginas para ",
            "pagine per il database",
            "страниц для базы данных",
            "の処理を行いました",
            "を処理しました",
            "已为数据库",
            "資料庫 '",
            "데이터베이스 '",
            "creation date(time)",
        ],
        of_errorlog: true,
        read: name,
    },
};

pub(super) fn name(line: &Line<'_>, notes: &mut Notes<'_>) -> Reading {
    let text = line.text;
    // Other messages name a database in these words, too: this one says what was processed.
    let names_more = [("資料庫 '", "處理"), ("데이터베이스 '", "처리")];
    if names_more
        .iter()
        .any(|(named, processed)| text.contains(named) && !text.contains(processed))
    {
        return Reading::Other;
    }
    let found = match word::split_once(text, "Database: ") {
        Some((_, rest)) => rest.split(", creation").next(),
        None => {
            let from = text.find(['\'', '"', '‘', '“']);
            let quote = from.and_then(|from| text[from..].chars().next());
            quote.zip(from).and_then(|(quote, from)| {
                let rest = &text[from + quote.len_utf8()..];
                // Names have quotes in them, so that what stands behind tells where one ends.
                let close = match quote {
                    '‘' => '’',
                    '“' => '”',
                    quote => quote,
                };
                let ends = [",", "，", "-", " の", "、"];
                let is_end = |(at, close): &(usize, &str)| {
                    let behind = &rest[at + close.len()..];
                    ends.iter().any(|end| behind.starts_with(end))
                };
                let mut closes = rest.match_indices(close);
                closes.find(is_end).map(|(end, _)| &rest[..end])
            })
        }
    };
    match found {
        Some(name) => {
            named(name.trim(), moment(line), notes);
            Reading::Done
        }
        None => Reading::Other,
    }
}

/// A line says of which database a backup is.
pub(super) fn named(name: &str, at: Option<Moment>, notes: &mut Notes<'_>) {
    if let Some(above) = notes.unnamed.take() {
        let is_its = at.is_some_and(|at| is_of(&above, at));
        note_as(&above, if is_its { name } else { NOBODY }, notes);
    }
    notes.database = Some(name.into());
    notes.database_at = at;
}

/// The name of a database that is not known.
const NOBODY: &str = "-";

/// Whether a message of that moment is of the same backup: it was written just before the summary.
fn is_of(above: &Unnamed, at: Moment) -> bool {
    (0.0..=2.0).contains(&above.moment.since(at))
}

fn note_as(above: &Unnamed, database: &str, notes: &mut Notes<'_>) {
    let line = Line {
        number: above.number,
        text: &above.text,
    };
    let at = At {
        line,
        moment: Some(above.moment),
    };
    note(at, database, above.figures, notes);
}

/// Notes a summary of which no line says whose it is.
pub(crate) fn settle(notes: &mut Notes<'_>) {
    if let Some(above) = notes.unnamed.take() {
        note_as(&above, NOBODY, notes);
    }
}

fn note(at: At<'_>, database: &str, figures: [(Quantity, f64); 3], notes: &mut Notes<'_>) {
    let subject = Subject::database(database);
    for (quantity, value) in figures {
        notes.add(at, &subject, quantity, Span::Event, value);
    }
}

pub(super) fn read(line: &Line<'_>, notes: &mut Notes<'_>) -> Reading {
    let text = message(line.text);
    let restores = word::find(text, "RESTORE ");
    let Some(from) = restores.or_else(|| word::find(text, "BACKUP ")) else {
        return Reading::Other;
    };
    let restore = restores.is_some();
    // In some languages the statement is named behind its figures.
    let text = match text[from..].contains('(') {
        true => &text[from..],
        false => crate::prefix::behind(text),
    };
    let Some((before, rate)) = text.rsplit_once('(') else {
        // Cut off, or wrapped: the rate comes with the next line.
        let is_summary = text.contains("successfully processed");
        return if is_summary {
            Reading::Unfinished
        } else {
            Reading::Other
        };
    };
    let numbers = numbers(before);
    // In some languages the unit stands before the figure.
    let rate = rate.trim_start_matches(|c: char| !c.is_ascii_digit());
    let rate_text = &rate[..number::end(rate)];
    let [pages, seconds] = numbers.as_slice() else {
        if !text.contains("successfully processed") {
            return Reading::Other;
        }
        if numbers.len() > 2 {
            // Lines that do not belong together.
            return Reading::Unfinished;
        }
        notes.unread(line);
        return Reading::Done;
    };
    let pages = number::whole(pages).map(number::figure);
    let (Some(pages), Some((seconds, reported))) = (pages, sensible(pages, seconds, rate_text))
    else {
        notes.unread(line);
        return Reading::Done;
    };
    settle(notes);
    let at = at(line, notes);
    let quantities = match restore {
        true => [
            Quantity::RestorePages,
            Quantity::RestoreTime,
            Quantity::RestoreReported,
        ],
        false => [
            Quantity::BackupPages,
            Quantity::BackupTime,
            Quantity::BackupReported,
        ],
    };
    let [first, second, third] = quantities;
    let figures = [(first, pages), (second, seconds), (third, reported)];
    // A database that is spoken of later is that of another backup: the newest line is the first.
    let is_later = notes.database_at.zip(at.moment);
    let is_later = is_later.is_some_and(|(named, done)| named > done);
    match (notes.database.clone().filter(|_| !is_later), at.moment) {
        (Some(database), _) => note(at, &database, figures, notes),
        (None, Some(moment)) => {
            notes.unnamed = Some(Box::new(Unnamed {
                figures,
                number: line.number,
                text: line.text.to_owned(),
                moment,
            }));
        }
        (None, None) => note(at, NOBODY, figures, notes),
    }
    Reading::Done
}

/// Seconds and rate, which a translated message may print with a comma: what fits the pages is meant.
fn sensible(pages: Option<f64>, seconds: &str, rate: &str) -> Option<(f64, f64)> {
    let bytes = pages? * 8192.0;
    let readings = |text: &str| [number::local(text, false), number::local(text, true)];
    for seconds in readings(seconds).into_iter().flatten() {
        for rate in readings(rate).into_iter().flatten() {
            let fits = |mega: f64| {
                let expected = bytes / seconds / mega;
                // Cut off after three digits.
                (expected - rate).abs() <= 0.002 + expected * 1e-3
            };
            if fits(1e6) || fits(1_048_576.0) {
                return Some((seconds, rate));
            }
        }
    }
    Some((number::local(seconds, false)?, number::local(rate, false)?))
}

/// The numbers of a text, each as it is written.
fn numbers(text: &str) -> Vec<&str> {
    let mut numbers = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find(|c: char| c.is_ascii_digit()) {
        let start = from + start;
        let len = number::end(&text[start..]).max(1);
        numbers.push(&text[start..start + len]);
        from = start + len;
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_is_what_fits_the_pages() {
        // 1,234,567 pages in 812.345 seconds are 11.87 MiB a second, 12.45 MB.
        let read = |seconds, rate| sensible(Some(1_234_567.0), seconds, rate);
        assert_eq!(read("812,345", "11,873"), Some((812.345, 11.873)));
        assert_eq!(read("812.345", "11.873"), Some((812.345, 11.873)));
        assert_eq!(read("812,345", "12,450"), Some((812.345, 12.450)));
    }
}
