//! Messages of SQL Server: in its ERRORLOG, in event logs, in what clients print.

pub(crate) mod aside;
pub(crate) mod backup;
pub(crate) mod event;
pub(crate) mod event_xml;
pub(crate) mod flush_cache;
pub(crate) mod misaligned;
pub(crate) mod sector;
pub(crate) mod stall;

use straddle_stack::activity::{Moment, Role};

use crate::line::Line;
use crate::notes::{At, Notes};
use crate::prefix;
use crate::stamp;
use crate::word;

/// The message without what stands before it: a time, a process.
fn message(text: &str) -> &str {
    for mark in ["spid", "Backup", "Server "] {
        if let Some(at) = word::find(text, mark).filter(|at| *at <= 48) {
            let rest = &text[at + mark.len()..];
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == 's');
            if rest.starts_with([' ', '\t', '"', ',']) && (at == 0 || stamp::first(text).is_some())
            {
                return rest.trim_start();
            }
        }
    }
    text
}

/// When a message was written: what its line says, or the event that it is in.
fn at<'t>(line: &Line<'t>, notes: &mut Notes<'_>) -> At<'t> {
    notes.of_host(prefix::host(line.text), line);
    let moment = moment(line).or_else(|| notes.event.and_then(stamp::Event::moment));
    notes.at(*line, moment)
}

/// The time that the line of a message says.
fn moment(line: &Line<'_>) -> Option<Moment> {
    stamp::first(prefix::behind(line.text)).or_else(|| stamp::first(line.text))
}

/// What a database keeps in a file, by its name.
pub(crate) fn role_of(path: &str, database: Option<&str>) -> Option<Role> {
    let name = path.rsplit(['\\', '/']).next().unwrap_or_default();
    let begins = |begin: &str| {
        let start = name.as_bytes().get(..begin.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(begin.as_bytes()))
    };
    let ends = |end: &str| {
        let start = name.len().checked_sub(end.len());
        let tail = start.and_then(|start| name.as_bytes().get(start..));
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end.as_bytes()))
    };
    let is_in = |folder: &str| {
        let mut folders = path.split('/');
        folders.next();
        folders.next_back();
        folders.any(|name| name.eq_ignore_ascii_case(folder))
    };
    if database.is_some_and(|name| name.eq_ignore_ascii_case("tempdb"))
        || ["tempdb", "templog", "ibtmp"].into_iter().any(begins)
    {
        return Some(Role::Tempdb);
    }
    if ends(".ldf")
        || ["ib_logfile", "#ib_redo", "binlog.", "mysql-bin."]
            .into_iter()
            .any(begins)
        || is_in("pg_wal")
        || is_in("pg_xlog")
    {
        return Some(Role::Log);
    }
    if [".bak", ".trn", ".dif"].into_iter().any(ends) {
        return Some(Role::Backup);
    }
    let is_data = [".mdf", ".ndf", ".ibd"].into_iter().any(ends);
    (is_data || begins("ibdata") || is_in("base")).then_some(Role::Data)
}
