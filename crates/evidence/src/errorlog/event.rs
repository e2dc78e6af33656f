//! Event Viewer: the date and the time of what follows.

use crate::format::{Format, Reading, Shape};
use crate::line::Line;
use crate::notes::Notes;
use crate::stamp::{self, Order};

pub(crate) static FORMAT: Format = Format {
    name: "event-viewer",
    commands: &["Event Viewer, copied as text", "Get-WinEvent | Format-List"],
    says: "date and time of the messages in events",
    shape: Shape::Messages {
        marks: &[
            "Date:",
            "Date :",
            "Date\u{a0}:",
            "Time:",
            "Datum:",
            "Fecha:",
            "Data:",
            "Дата:",
            "日付:",
            "日期:",
            "날짜:",
            "Uhrzeit:",
            "TimeCreated",
            "TimeGenerated",
            "Computer:",
            "Ordinateur :",
            "Ordinateur\u{a0}:",
            "Equipo:",
            "Computador:",
            "Компьютер:",
            "コンピューター:",
            "计算机:",
            "컴퓨터:",
            "MachineName",
        ],
        of_errorlog: false,
        read,
    },
};

fn read(line: &Line<'_>, notes: &mut Notes<'_>) -> Reading {
    let text = line.trimmed();
    let Some((key, value)) = text.split_once(':') else {
        return Reading::Other;
    };
    let order = match key.trim_end() {
        // In French one blank stands before the colon.
        "Date" if key == "Date " || key == "Date\u{a0}" => Order::DayFirst,
        "Date" | "Time" | "TimeCreated" | "TimeGenerated" => Order::MonthFirst,
        "Datum" | "Uhrzeit" | "Fecha" | "Data" | "Дата" | "日付" | "日期" | "날짜" => {
            Order::DayFirst
        }
        "Computer"
        | "Ordinateur"
        | "Equipo"
        | "Computador"
        | "Компьютер"
        | "コンピューター"
        | "计算机"
        | "컴퓨터"
        | "MachineName"
            if notes.event.is_some() =>
        {
            notes.of_host(value.trim(), line);
            return Reading::Done;
        }
        _ => return Reading::Other,
    };
    let event = notes.event.get_or_insert_default();
    let value = value.trim();
    if let Some(moment) = stamp::local(value, order) {
        event.date = Some(moment.date());
        let (_, time) = value.split_once([' ', '\t']).unwrap_or_default();
        event.time = stamp::time(time.trim()).map(|(time, micros, _)| (time, micros));
    } else if let Some(date) = stamp::date(value, order) {
        (event.date, event.time) = (Some(date), None);
    } else if let Some((time, micros, _)) = stamp::time(value) {
        event.time = Some((time, micros));
    } else {
        return Reading::Other;
    }
    Reading::Done
}
