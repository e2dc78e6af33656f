//! The layouts of a history, and the steps from each to the next.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::Trouble;

/// `STRD`: what `PRAGMA application_id` of a history says.
const APPLICATION: i64 = 0x5354_5244;

/// The step from each layout to the next; the first makes an empty file a history. A step that was released is never changed.
const STEPS: &[&str] = &[
    // 1: runs and their documents.
    "CREATE TABLE runs (
         id INTEGER PRIMARY KEY AUTOINCREMENT,
         key BLOB NOT NULL UNIQUE CHECK (length(key) = 16),
         verb TEXT NOT NULL,
         target TEXT NOT NULL,
         headline TEXT NOT NULL,
         began INTEGER NOT NULL,
         machine TEXT NOT NULL,
         version TEXT NOT NULL,
         command TEXT NOT NULL,
         status INTEGER NOT NULL,
         document_bytes INTEGER NOT NULL
     );
     CREATE INDEX runs_by_time ON runs (began, id);
     CREATE TABLE documents (
         run INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
         packed BLOB NOT NULL
     );",
    // 2: baselines, and runs that are under way.
    "CREATE TABLE baselines (
         name TEXT PRIMARY KEY,
         run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
         worse REAL NOT NULL
     );
     CREATE TABLE progress (
         id INTEGER PRIMARY KEY AUTOINCREMENT,
         pid INTEGER NOT NULL,
         started INTEGER NOT NULL,
         verb TEXT NOT NULL,
         target TEXT NOT NULL,
         journal TEXT NOT NULL,
         began INTEGER NOT NULL
     );",
];

/// The newest layout.
#[expect(clippy::cast_possible_wrap, reason = "a handful of steps")]
pub const VERSION: i64 = STEPS.len() as i64;

/// What a file says of itself, read in one transaction of the caller: another program may be making it.
fn read(
    transaction: &Transaction<'_>,
    mut between: impl FnMut(),
) -> Result<(i64, i64, i64), Trouble> {
    let mut one = |sql: &str| {
        let said = transaction.query_row(sql, [], |row| row.get::<_, i64>(0));
        between();
        said
    };
    Ok((
        one("PRAGMA application_id")?,
        one("PRAGMA user_version")?,
        one("SELECT count(*) FROM sqlite_schema")?,
    ))
}

/// Refuses what is no history, or a newer one; gives the layout, 0 for an empty file.
pub(crate) fn layout(connection: &Connection) -> Result<i64, Trouble> {
    layout_in(&connection.unchecked_transaction()?)
}

fn layout_in(transaction: &Transaction<'_>) -> Result<i64, Trouble> {
    let (application, version, tables) = read(transaction, || {})?;
    if application == 0 && version == 0 && tables == 0 {
        return Ok(0);
    }
    if application != APPLICATION {
        return Err(Trouble::Foreign {
            found: "it is the SQLite database of another program".to_owned(),
        });
    }
    if version > VERSION {
        return Err(Trouble::Newer {
            found: version,
            known: VERSION,
        });
    }
    if version < 1 {
        return Err(Trouble::Damaged {
            detail: format!("its layout is {version}"),
        });
    }
    Ok(version)
}

/// Brings a file up to date, in one transaction: it has the old layout or the new one.
pub(crate) fn bring_up_to_date(connection: &mut Connection) -> Result<(), Trouble> {
    if layout(connection)? == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another program may have done it meanwhile.
    let from = layout_in(&transaction)?;
    for step in STEPS.iter().skip(usize::try_from(from).unwrap_or(0)) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Filter, Run, Store};

    /// A file of the first layout, with a run in it.
    fn first(path: &std::path::Path) {
        let connection = Connection::open(path).expect("opens");
        connection.execute_batch(STEPS[0]).expect("valid");
        connection
            .pragma_update(None, "application_id", APPLICATION)
            .expect("possible");
        connection
            .pragma_update(None, "user_version", 1)
            .expect("possible");
        connection
            .execute(
                "INSERT INTO runs VALUES (7, ?1, 'bench', '/data', '+2%', 5, 'db1', '0.1.0', 'straddle bench /data', 0, 2)",
                [crate::Key::parts("bench", "db1", 5, "{}").bytes()],
            )
            .expect("valid");
        // `{}` in one stored block.
        let packed: &[u8] = &[1, 2, 0, 253, 255, b'{', b'}'];
        connection
            .execute("INSERT INTO documents VALUES (7, ?1)", [packed])
            .expect("valid");
    }

    /// Another program makes the file while this one asks what it is: it is nothing yet, or a history, at whatever point that happens.
    #[test]
    fn a_file_that_is_being_made_is_nobody_elses() {
        let folder = tempfile::tempdir().expect("temporary folder");
        for point in 1..=3 {
            let path = folder.path().join(format!("{point}.sqlite"));
            std::fs::write(&path, b"").expect("written");
            let mut asked = 0;
            let mut made = false;
            let connection = Connection::open(&path).expect("opens");
            let transaction = connection.unchecked_transaction().expect("begins");
            let said = read(&transaction, || {
                asked += 1;
                if asked == point {
                    let mut other = Connection::open(&path).expect("opens");
                    other
                        .busy_timeout(std::time::Duration::ZERO)
                        .expect("possible");
                    made = bring_up_to_date(&mut other).is_ok();
                }
            });
            assert_eq!((said.expect("reads"), made), ((0, 0, 0), false), "{point}");
            drop(transaction);
            // Afterwards it can be made.
            let store = Store::open(&path).expect("opens");
            assert_eq!(layout(&store.connection).expect("reads"), VERSION);
        }
    }

    #[test]
    fn an_older_layout_is_brought_up_to_date_and_keeps_its_runs() {
        let folder = tempfile::tempdir().expect("temporary folder");
        for reads in [false, true] {
            let path = folder.path().join(format!("{reads}.sqlite"));
            first(&path);
            let store = if reads {
                Store::read(&path)
            } else {
                Store::open(&path)
            };
            let store = store.expect("opens");
            let runs = store.list(&Filter::default(), 10).expect("reads");
            assert_eq!(
                (runs.len(), runs[0].id, runs[0].headline.as_str()),
                (1, 7, "+2%")
            );
            assert_eq!(store.document(7).expect("there"), "{}");
            assert_eq!(store.baselines().expect("the table is there"), []);
            assert_eq!(layout(&store.connection).expect("a history"), VERSION);
        }
    }

    #[test]
    fn a_newer_layout_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("h.sqlite");
        first(&path);
        let connection = Connection::open(&path).expect("opens");
        connection
            .pragma_update(None, "user_version", VERSION + 1)
            .expect("possible");
        drop(connection);
        let before = std::fs::read(&path).expect("there");
        for store in [Store::open(&path), Store::read(&path)] {
            let error = store.expect_err("newer").trouble;
            assert!(
                matches!(error, Trouble::Newer { found, known } if found == VERSION + 1 && known == VERSION),
                "{error}"
            );
        }
        assert_eq!(std::fs::read(&path).expect("there"), before);
    }

    #[test]
    fn a_step_that_fails_leaves_the_old_layout() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("h.sqlite");
        first(&path);
        let connection = Connection::open(&path).expect("opens");
        // The second step makes a table of this name.
        connection
            .execute_batch("CREATE TABLE progress (x)")
            .expect("valid");
        drop(connection);
        Store::open(&path).expect_err("the table is there");
        let connection = Connection::open(&path).expect("opens");
        assert_eq!(layout(&connection).expect("a history"), 1);
        let tables: i64 = connection
            .query_row(
                "SELECT count(*) FROM sqlite_schema WHERE name = 'baselines'",
                [],
                |row| row.get(0),
            )
            .expect("reads");
        assert_eq!(tables, 0, "the first half of the step is undone");
        let runs: Store = Store { path, connection };
        assert_eq!(runs.count(&Filter::default()).expect("reads"), 1);
    }

    #[test]
    fn keys_tell_runs_apart_whose_parts_run_together() {
        let run = |verb: &str, machine: &str| Run {
            verb: verb.to_owned(),
            target: String::new(),
            headline: String::new(),
            began: 0,
            machine: machine.to_owned(),
            version: String::new(),
            command: String::new(),
            status: 0,
            document: "{}".to_owned(),
        };
        assert_ne!(
            crate::Key::of(&run("ab", "c")),
            crate::Key::of(&run("a", "bc"))
        );
    }
}
