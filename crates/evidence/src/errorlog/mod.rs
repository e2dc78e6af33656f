//! Messages of SQL Server: in its ERRORLOG, in event logs, in what clients print.

pub(crate) mod backup;
pub(crate) mod event;
pub(crate) mod event_xml;
pub(crate) mod misaligned;
pub(crate) mod stall;

use straddle_stack::activity::Role;

use crate::line::Line;
use crate::notes::{At, Notes};
use crate::prefix;
use crate::stamp;

/// The message without what stands before it: a time, a process.
fn message(text: &str) -> &str {
    for mark in ["spid", "Backup", "Server "] {
        if let Some(at) = text.find(mark).filter(|at| *at <= 48) {
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
    let own = stamp::first(prefix::behind(line.text)).or_else(|| stamp::first(line.text));
    let moment = own.or_else(|| notes.event.and_then(stamp::Event::moment));
    notes.at(*line, moment)
}

/// What a database keeps in a file, by its name.
pub(crate) fn role_of(path: &str, database: Option<&str>) -> Option<Role> {
    let path = path.to_lowercase();
    let name = path.rsplit(['\\', '/']).next().unwrap_or_default();
    if database.is_some_and(|name| name.eq_ignore_ascii_case("tempdb"))
        || name.starts_with("tempdb")
        || name.starts_with("templog")
        || name.starts_with("ibtmp")
    {
        return Some(Role::Tempdb);
    }
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    if ends(&[".ldf"])
        || ["ib_logfile", "#ib_redo", "binlog.", "mysql-bin."]
            .iter()
            .any(|mark| name.starts_with(mark))
        || path.contains("/pg_wal/")
        || path.contains("/pg_xlog/")
    {
        return Some(Role::Log);
    }
    if ends(&[".bak", ".trn", ".dif"]) {
        return Some(Role::Backup);
    }
    ends(&[".mdf", ".ndf", ".ibd"])
        .then_some(Role::Data)
        .or_else(|| (name.starts_with("ibdata") || path.contains("/base/")).then_some(Role::Data))
}
