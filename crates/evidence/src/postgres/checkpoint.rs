//! `checkpoint complete`: what a checkpoint wrote, and how long it took. The words are translated from version 14 on, the order
//! of the figures is the same in all languages.

use straddle_stack::activity::{Quantity, Span};

use crate::format::{Format, Reading, Shape};
use crate::line::Line;
use crate::notes::Notes;
use crate::number;
use crate::stamp;
use crate::word;

pub(crate) static FORMAT: Format = Format {
    name: "postgresql-checkpoints",
    commands: &["log_checkpoints = on"],
    says: "buffers and times of checkpoints: for writing, for syncing, and for the file that took longest to sync",
    shape: Shape::Messages {
        marks: MARKS,
        of_errorlog: false,
        read,
    },
};

/// From the message catalogues of PostgreSQL 15. What a standby server does is a restartpoint.
const MARKS: &[&str] = &[
    "checkpoint complete:",
    "restartpoint complete:",
    "Checkpoint komplett:",
    "Restart-Punkt komplett:",
    "checkpoint completado:",
    "restartpoint completado:",
    "checkpoint terminé",
    "restartpoint terminé",
    "checkpoint completato:",
    "punto di riavvio completato:",
    "контрольная точка завершена:",
    "точка перезапуска завершена:",
    "контрольна точка завершена:",
    "точка перезапуску завершена:",
    "チェックポイント完了:",
    "リスタートポイント完了:",
    "체크포인트 작업완료:",
    "restartpoint 작업완료:",
    "checkpoint klar:",
    "restartpoint klar:",
    BY_SHAPE,
];

/// Translations that are not known are known by their figures: behind the share of all buffers stand three times.
const BY_SHAPE: &str = "%);";

/// What stands between the mark and the number of buffers.
const WORDS: &[&str] = &[
    "",
    "wrote",
    "se escribió",
    "a écrit",
    "ha scritto",
    "записано буферов",
    "записано",
    "skrev",
];

/// The figures, as far as there are.
#[derive(Debug, PartialEq)]
enum Found {
    /// Buffers; write, sync, total; longest and average sync, which versions before 9.1 do not tell.
    Whole(f64, [f64; 3], Option<[f64; 2]>),
    /// The message goes on.
    Partly,
    /// Somebody speaks of checkpoints.
    Nothing,
}

fn read(line: &Line<'_>, notes: &mut Notes<'_>) -> Reading {
    let text = line.text;
    let place = |mark: &'static str| Some((word::find(text, mark)?, mark));
    let Some((start, mark)) = MARKS.iter().copied().find_map(place) else {
        return Reading::Other;
    };
    let (start, len) = match mark {
        BY_SHAPE => match shaped(text, start) {
            Some(start) => (start, 0),
            None => return Reading::Other,
        },
        mark => (start, mark.len()),
    };
    let message = &text[start + len..];
    // In a CSV or JSON log, the message ends at a quote.
    let (message, closed) = match message.split_once('"') {
        Some((message, _)) => (message, true),
        None => (message, false),
    };
    let found = figures(message, mark != BY_SHAPE);
    let (buffers, times, syncs) = match found {
        // Cut, or no checkpoint at all.
        Found::Whole(_, _, None) | Found::Partly if mark == BY_SHAPE => return Reading::Other,
        Found::Whole(buffers, times, syncs) => (buffers, times, syncs),
        Found::Partly if closed => {
            notes.unread(line);
            return Reading::Done;
        }
        Found::Partly => return Reading::Unfinished,
        Found::Nothing => return Reading::Other,
    };
    let at = notes.at(*line, stamp::last(&text[..start]));
    let server = notes.server(line);
    let [write, sync, total] = times;
    let mut add = |quantity, value| notes.add(at, &server, quantity, Span::Event, value);
    add(Quantity::CheckpointBuffers, buffers);
    add(Quantity::CheckpointWrite, write);
    add(Quantity::CheckpointSync, sync);
    add(Quantity::CheckpointTotal, total);
    if let Some([longest, average]) = syncs {
        add(Quantity::CheckpointLongestSync, longest);
        add(Quantity::CheckpointAverageSync, average);
    }
    Reading::Done
}

/// Semicolons separate what was written, log files, times, syncs and, in later versions, distance and position.
fn figures(message: &str, has_known_words: bool) -> Found {
    let message = message.trim_start_matches([' ', ':', '：', '\u{a0}', '\u{202f}']);
    let parts: Vec<&str> = message.split(';').collect();
    let first = parts.first().copied().unwrap_or_default();
    let digit = first.find(|c: char| c.is_ascii_digit());
    let words = first[..digit.unwrap_or(first.len())].trim_end_matches([' ', ':']);
    if has_known_words && !WORDS.contains(&words.trim()) {
        return Found::Nothing;
    }
    let Some(digit) = digit else {
        return Found::Partly;
    };
    let rest = &first[digit..];
    let len = rest.bytes().take_while(u8::is_ascii_digit).count();
    let Some(buffers) = number::plain(&rest[..len]) else {
        return Found::Nothing;
    };
    if !first.contains("%)") {
        // Behind the number stand a few words, and the part of all buffers.
        let is_cut = parts.len() == 1 && rest.len() <= 64;
        return if is_cut {
            Found::Partly
        } else {
            Found::Nothing
        };
    }
    let Some([write, sync, total]) = parts.get(2).and_then(|part| times(part)) else {
        return Found::Partly;
    };
    let Some(part) = parts.get(3) else {
        return Found::Whole(buffers, [write, sync, total], None);
    };
    match times(part) {
        Some(syncs) => Found::Whole(buffers, [write, sync, total], Some(syncs)),
        None => Found::Partly,
    }
}

/// Where the message begins whose share of all buffers, `(25.7%);`, ends at `end`: behind a colon, with its number and a few words.
fn shaped(text: &str, end: usize) -> Option<usize> {
    const WITHIN: usize = 160;
    let least = end.saturating_sub(WITHIN);
    let least = (least..=end).find(|at| text.is_char_boundary(*at))?;
    let before =
        text[least..end].trim_end_matches(|c: char| c.is_ascii_digit() || ".,".contains(c));
    let before = before.strip_suffix('(')?;
    let colon = before.rfind([':', '：'])?;
    let has_number = before[colon..].contains(|c: char| c.is_ascii_digit());
    let is_log_file = text[end..].split(';').nth(1)?.contains("WAL");
    (has_number && is_log_file).then_some(least + colon)
}

/// The values with seconds behind them, when there are so many.
fn times<const N: usize>(part: &str) -> Option<[f64; N]> {
    let mut found = Vec::new();
    for (at, sign) in part.match_indices(['=', ':']) {
        let value = part[at + sign.len()..].trim_start();
        let (value, unit) = value.split_at(number::end(value));
        if unit.trim_start().starts_with(['s', '秒', 'с']) {
            // A comma may stand before the fraction, even in one message with points.
            found.push(number::local(value, false)?);
        }
    }
    found.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_figures_is_that_of_all_languages() {
        let german = " 24167 Puffer geschrieben (18.4%); 1 WAL-Datei(en) hinzugefügt, 0 entfernt, 31 wiederverwendet; Schreiben=161,956 s, Sync=29,469 s, gesamt=191,828 s; sync. Dateien=315, längste=23,772 s, Durchschnitt=0.093 s; Entfernung=44287 kB, Schätzung=349050 kB";
        let korean = " 32253개(24.6%) 버퍼 씀; 1개 WAL 파일 추가됨, 2개 지웠음, 22개 재활용; 쓰기시간: 34.310 s, 동기화시간: 17.252 s, 전체시간: 51.770 s; 동기화 파일 개수: 280, 최장시간: 7.455 s, 평균시간: 0.061 s; 실제작업량: 226318 kB";
        let ukrainian = " записано 5 буферів (0.1%); 1 WAL файлів додано, 2 видалено, 3 перероблених; запис=1.000 сек, синхронізація=2.000 сек, усього=3.000 сек";
        assert_eq!(
            figures(german, true),
            Found::Whole(24_167.0, [161.956, 29.469, 191.828], Some([23.772, 0.093]))
        );
        assert_eq!(
            figures(korean, true),
            Found::Whole(32_253.0, [34.31, 17.252, 51.77], Some([7.455, 0.061]))
        );
        assert_eq!(
            figures(ukrainian, true),
            Found::Whole(5.0, [1.0, 2.0, 3.0], None)
        );
    }

    #[test]
    fn a_message_is_cut_where_figures_are_missing() {
        let whole = " wrote 12 buffers (0.1%); 0 WAL file(s) added, 0 removed, 4 recycled; write=2.0 s, sync=0.1 s, total=2.2 s; sync files=5, longest=0.1 s, average=0.1 s";
        assert!(matches!(figures(whole, true), Found::Whole(_, _, Some(_))));
        let old = whole.find("; sync files");
        for end in 0..whole.len() {
            let found = figures(&whole[..end], true);
            match Some(end) == old {
                true => assert!(matches!(found, Found::Whole(_, _, None))),
                // In a word, it is not known what it will be.
                false => assert!(matches!(found, Found::Partly | Found::Nothing), "{end}"),
            }
        }
        for text in [
            " wrote nothing",
            " 5 things are to be said about it, and this is one of them, or another; and so on",
        ] {
            assert_eq!(figures(text, true), Found::Nothing, "{text}");
        }
    }
}
