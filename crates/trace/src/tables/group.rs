//! Groups of rows of a file, each read by itself, by several threads.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use straddle_io::ReadAt;

use super::rows::Scratch;
use super::served::{self, Served};
use crate::column_map::ColumnsError;
use crate::sink::Sink;
use crate::statistics::{Part, Statistics};

/// A row group or record batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// From 1, as it stands in the file.
    pub(super) number: usize,
    /// The bytes of the file that it stands for: up to the next group, the first one from the beginning of the file.
    pub(super) from: u64,
    pub(super) to: u64,
    /// Its first byte.
    pub(super) begin: u64,
}

/// Why a file of tables cannot be read at all.
pub(crate) enum Unreadable {
    /// Its columns are none of requests.
    Columns(ColumnsError),
    /// It is damaged, or cannot be read.
    Read(io::Error),
}

impl From<ColumnsError> for Unreadable {
    fn from(error: ColumnsError) -> Unreadable {
        Unreadable::Columns(error)
    }
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Unreadable {
        Unreadable::Read(error)
    }
}

/// A file of tables that was opened.
pub(crate) trait Groups: Sync {
    /// Its groups that have rows, in the order of the file.
    fn groups(&self) -> &[Group];

    /// Counts the rows of one.
    fn read(
        &self,
        group: &Group,
        served: &Served,
        scratch: &mut Scratch,
        sink: &mut Sink<'_>,
    ) -> io::Result<()>;
}

/// Gives each group its place, where each begins behind the one before it, as they do in every file that a program wrote in one go.
pub(super) fn placed(begins: &[(usize, u64)], size: u64) -> io::Result<Vec<Group>> {
    let ends = begins.iter().skip(1).map(|(_, begin)| *begin);
    let mut from = 0;
    let mut groups = Vec::with_capacity(begins.len());
    for ((number, begin), to) in begins.iter().zip(ends.chain([size])) {
        if to <= *begin {
            return Err(damaged("its groups of rows are not in their order"));
        }
        groups.push(Group {
            number: *number,
            from,
            to,
            begin: *begin,
        });
        from = to;
    }
    Ok(groups)
}

/// Counts the groups that begin in a range of the file. What comes back is why one of them was not read to its end: the first of these. Others
/// are counted all the same, as each is whole by itself.
pub(crate) fn counted(
    file: &dyn Groups,
    number: u32,
    source: &dyn ReadAt,
    range: Option<(u64, u64)>,
    sinks: &mut [Sink<'_>],
    statistics: &mut Statistics,
) -> Option<io::Error> {
    let (from, to) = range.unwrap_or((0, u64::MAX));
    let chosen: Vec<&Group> = file
        .groups()
        .iter()
        .filter(|group| (from..to).contains(&group.begin))
        .collect();
    let next = AtomicUsize::new(0);
    let failed: Mutex<Vec<(usize, io::Error)>> = Mutex::default();
    let parts: Mutex<&mut Statistics> = Mutex::new(statistics);
    let work = |sink: &mut Sink<'_>, served: &Served| {
        let mut scratch = Scratch::default();
        while !sink.is_done() {
            let Some(group) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            sink.begin(number, group.from, group.begin);
            let read = file.read(group, served, &mut scratch, sink);
            let part: Part = sink.end(group.to, false);
            let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
            parts.add(part);
            if let Err(error) = read {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.push((group.number, error));
            }
        }
    };
    let threads = sinks.len().min(chosen.len());
    served::with(source, |served| {
        let Some((first, others)) = sinks[..threads].split_first_mut() else {
            return;
        };
        let (work, served) = (&work, &served);
        std::thread::scope(|scope| {
            for sink in others {
                scope.spawn(move || work(sink, served));
            }
            work(first, served);
        });
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    let first = failed.into_iter().min_by_key(|(number, _)| *number);
    first.map(|(_, error)| error)
}

/// What a decoder says of a damaged file.
pub(super) fn damaged(why: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("it is damaged: {why}"))
}

/// What a decoder makes of bytes that anybody may have written. One that gives up altogether says no more than that.
pub(super) fn decoded<T, E: std::fmt::Display>(
    decode: impl FnOnce() -> Result<T, E>,
) -> io::Result<T> {
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(decoded) => decoded.map_err(damaged),
        Err(_) => Err(damaged("its decoder gave up")),
    }
}
