//! Recorded requests.

use std::sync::Arc;

use super::{Kind, Record, Script};
use crate::profile::Refusal;

/// Most requests of a recording: more are a model of nothing else than fewer, and are all in memory.
pub const MAX_RECORDS: usize = 4_000_000;
/// Longest request.
const MAX_LEN: u64 = 64 << 20;

impl Script {
    /// A recording of these requests, in the order in which they were made.
    ///
    /// # Errors
    /// When there is none or more than [`MAX_RECORDS`], one is empty or longer than 64 MiB, or ends behind the last address.
    pub fn recorded(name: &str, records: Vec<Record>) -> Result<Script, Refusal> {
        let refuse = |found: String, expected: &str| Err(Refusal::new(name, found, expected));
        if records.is_empty() {
            return refuse(
                "without a read or a write".to_owned(),
                "a trace of requests",
            );
        }
        if records.len() > MAX_RECORDS {
            return refuse(
                format!("more than {MAX_RECORDS} requests"),
                "a shorter trace, or a part of this one",
            );
        }
        let is_sound = |record: &Record| {
            (1..=MAX_LEN).contains(&record.len) && record.start.checked_add(record.len).is_some()
        };
        if let Some(at) = records.iter().position(|record| !is_sound(record)) {
            let Record { start, len, .. } = records[at];
            return refuse(
                format!("request {}: {len} bytes at {start}", at + 1),
                "requests of 1 byte to 64 MiB",
            );
        }
        Ok(Script {
            title: format!("recorded in {name}"),
            kind: Kind::Recorded(Arc::new(records)),
        })
    }
}
