use rusqlite::{OptionalExtension, params};
use serde::Serialize;

use crate::{Error, Store, Trouble};

/// A run that later ones are compared with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Baseline {
    /// What it is called.
    pub name: String,
    /// The number of the run.
    pub run: i64,
    /// By how much a later run may be worse, as a share: 0.05 is 5%.
    pub worse: f64,
}

impl Store {
    /// Names a run; a name that was there names this one now.
    ///
    /// # Errors
    /// Where there is no such run, or the history cannot be written.
    pub fn set_baseline(&mut self, baseline: &Baseline) -> Result<(), Error> {
        self.entry(baseline.run)?;
        let set = self.connection.execute(
            "INSERT INTO baselines (name, run, worse) VALUES (?1, ?2, ?3)
             ON CONFLICT (name) DO UPDATE SET run = ?2, worse = ?3",
            params![baseline.name, baseline.run, baseline.worse],
        );
        self.tried(set.map(|_| ()).map_err(Trouble::from))
    }

    /// All of them, by name.
    ///
    /// # Errors
    /// Where the history cannot be read.
    pub fn baselines(&self) -> Result<Vec<Baseline>, Error> {
        let listed = || -> Result<Vec<Baseline>, Trouble> {
            let mut statement = self
                .connection
                .prepare("SELECT name, run, worse FROM baselines ORDER BY name")?;
            let rows = statement.query_map([], |row| {
                Ok(Baseline {
                    name: row.get(0)?,
                    run: row.get(1)?,
                    worse: row.get(2)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        };
        self.tried(listed())
    }

    /// One by its name.
    ///
    /// # Errors
    /// Where the history cannot be read.
    pub fn baseline(&self, name: &str) -> Result<Option<Baseline>, Error> {
        let found = self.connection.query_row(
            "SELECT run, worse FROM baselines WHERE name = ?1",
            [name],
            |row| {
                Ok(Baseline {
                    name: name.to_owned(),
                    run: row.get(0)?,
                    worse: row.get(1)?,
                })
            },
        );
        self.tried(found.optional().map_err(Trouble::from))
    }

    /// Forgets a name; false where there was none.
    ///
    /// # Errors
    /// Where the history cannot be written.
    pub fn remove_baseline(&mut self, name: &str) -> Result<bool, Error> {
        let removed = self
            .connection
            .execute("DELETE FROM baselines WHERE name = ?1", [name]);
        self.tried(removed.map(|count| count > 0).map_err(Trouble::from))
    }
}
