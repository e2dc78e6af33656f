use rusqlite::{OptionalExtension, TransactionBehavior, params};
use serde::Serialize;
use std::path::Path;

use crate::{Error, Store, Trouble};

/// A process, told from another that gets its number later by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it started, in whatever the system counts in; 0 where that is not known.
    pub started: i64,
}

impl Process {
    /// This one.
    #[must_use]
    pub fn this() -> Process {
        let pid = std::process::id();
        Process {
            pid,
            started: started(pid).unwrap_or(0),
        }
    }

    /// Whether it is there still. Where the system does not say when a process started, it is taken to be.
    #[must_use]
    pub fn is_there(self) -> bool {
        match started(self.pid) {
            Some(started) => started == self.started,
            None => started(std::process::id()).is_none(),
        }
    }
}

/// When a process started: field 22 of its line in /proc, in ticks since the system did.
fn started(pid: u32) -> Option<i64> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may hold anything.
    let (_, rest) = line.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

/// A run that is under way and writes a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Its number among those.
    pub id: i64,
    /// Who makes it.
    pub process: Process,
    /// The verb.
    pub verb: String,
    /// What it is about.
    pub target: String,
    /// The journal, by its absolute path.
    pub journal: String,
    /// When it began: microseconds since 1970-01-01 00:00 UTC.
    pub began: i64,
}

impl Store {
    /// Says that a run is under way; gives the number by which [`Store::ended`] knows it. One that goes on with its journal keeps the number
    /// that it had. Runs whose journal is gone are forgotten: nothing can go on with them.
    ///
    /// # Errors
    /// Where the history cannot be written.
    pub fn under_way(&mut self, run: &Progress) -> Result<i64, Error> {
        let gone: Vec<i64> = self
            .all_under_way()?
            .into_iter()
            .filter(|other| other.journal != run.journal && !Path::new(&other.journal).exists())
            .map(|other| other.id)
            .collect();
        let said = (|| -> Result<i64, Trouble> {
            let behaviour = TransactionBehavior::Immediate;
            let transaction = self.connection.transaction_with_behavior(behaviour)?;
            for id in gone {
                transaction.execute("DELETE FROM progress WHERE id = ?1", [id])?;
            }
            let had: Option<i64> = transaction
                .query_row(
                    "SELECT id FROM progress WHERE journal = ?1",
                    [&run.journal],
                    |row| row.get(0),
                )
                .optional()?;
            transaction.execute(
                "INSERT OR REPLACE INTO progress (id, pid, started, verb, target, journal, began)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    had,
                    run.process.pid,
                    run.process.started,
                    run.verb,
                    run.target,
                    run.journal,
                    run.began
                ],
            )?;
            let id = transaction.last_insert_rowid();
            transaction.commit()?;
            Ok(id)
        })();
        self.tried(said)
    }

    /// Says that it has ended.
    ///
    /// # Errors
    /// Where the history cannot be written.
    pub fn ended(&mut self, id: i64) -> Result<(), Error> {
        let removed = self
            .connection
            .execute("DELETE FROM progress WHERE id = ?1", [id]);
        self.tried(removed.map(|_| ()).map_err(Trouble::from))
    }

    /// What is under way, or was when its process was stopped.
    ///
    /// # Errors
    /// Where the history cannot be read.
    pub fn all_under_way(&self) -> Result<Vec<Progress>, Error> {
        let listed = || -> Result<Vec<Progress>, Trouble> {
            let mut statement = self.connection.prepare(
                "SELECT id, pid, started, verb, target, journal, began FROM progress ORDER BY began DESC, id DESC",
            )?;
            let rows = statement.query_map([], |row| {
                Ok(Progress {
                    id: row.get(0)?,
                    process: Process {
                        pid: row.get(1)?,
                        started: row.get(2)?,
                    },
                    verb: row.get(3)?,
                    target: row.get(4)?,
                    journal: row.get(5)?,
                    began: row.get(6)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        };
        self.tried(listed())
    }
}
