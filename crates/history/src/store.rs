use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, TransactionBehavior, params};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::error::PATIENCE;
use crate::{Entry, Error, Filter, Key, Run, Trouble, VERSION, schema};

/// What a run has, in the order in which [`entry`] reads it.
const COLUMNS: &str =
    "id, key, verb, target, headline, began, machine, version, command, status, document_bytes";

/// Which runs: parameters 1 to 3 are verb, part of the target, and machine; each may be null.
const WHICH: &str = "(?1 IS NULL OR verb = ?1) AND (?2 IS NULL OR instr(target, ?2) > 0) AND (?3 IS NULL OR machine = ?3)";

/// An open history.
#[derive(Debug)]
pub struct Store {
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
}

impl Store {
    /// Opens a history to write to it; makes it, and its folder, where there is none, for nobody but its owner.
    ///
    /// # Errors
    /// Where it is no history, a newer one, damaged, or cannot be written.
    pub fn open(path: &Path) -> Result<Store, Error> {
        let made = || -> Result<Store, Trouble> {
            if !path.exists() {
                if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
                    std::fs::create_dir_all(folder).map_err(|error| unwritable(&error))?;
                }
                new_file(path).map_err(|error| unwritable(&error))?;
            }
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let mut store = Store::with(path, flags)?;
            schema::bring_up_to_date(&mut store.connection)?;
            Ok(store)
        };
        made().map_err(|trouble| trouble.at(path))
    }

    /// Opens a history to read it. Nothing is written; a history of an older layout is brought up to date first, where that can be
    /// done.
    ///
    /// # Errors
    /// Where there is none, it is no history, a newer one, or damaged.
    pub fn read(path: &Path) -> Result<Store, Error> {
        let opened = || -> Result<Store, Trouble> {
            match std::fs::metadata(path) {
                Ok(found) if found.is_file() => {}
                Ok(_) => {
                    return Err(Trouble::Foreign {
                        found: "it is not a file".to_owned(),
                    });
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Err(Trouble::Missing);
                }
                Err(error) => return Err(Trouble::Io(error)),
            }
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let store = Store::with(path, flags)?;
            match schema::layout(&store.connection)? {
                0 => Err(Trouble::Missing),
                VERSION => Ok(store),
                found => {
                    drop(store);
                    Store::open(path).map_err(|error| match error.trouble {
                        Trouble::ReadOnly { .. } => Trouble::Outdated {
                            found,
                            known: VERSION,
                        },
                        other => other,
                    })
                }
            }
        };
        opened().map_err(|trouble| trouble.at(path))
    }

    fn with(path: &Path, flags: OpenFlags) -> Result<Store, Trouble> {
        is_database(path)?;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        // What a file claims about itself is checked when its pages are read.
        connection.pragma_update(None, "cell_size_check", true)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        Ok(Store {
            path: path.to_owned(),
            connection,
        })
    }

    /// Lets the file become no longer than this many bytes, so that tests can have a full disk.
    ///
    /// # Errors
    /// Those of SQLite.
    #[doc(hidden)]
    pub fn limit_to(&self, bytes: i64) -> Result<(), Error> {
        let page = self
            .connection
            .pragma_query_value(None, "page_size", |row| row.get::<_, i64>(0));
        let limited = page.and_then(|page| {
            let pages = bytes.checked_div(page).unwrap_or(1);
            self.connection
                .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
        });
        self.tried(limited.map_err(Trouble::from))
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn tried<T>(&self, result: Result<T, Trouble>) -> Result<T, Error> {
        result.map_err(|trouble| trouble.at(&self.path))
    }

    /// Keeps a run; gives its number, and false where it was there already.
    ///
    /// # Errors
    /// Where it cannot be written; then nothing was changed.
    pub fn add(&mut self, run: &Run) -> Result<(i64, bool), Error> {
        let added = self.insert(run);
        self.tried(added)
    }

    fn insert(&mut self, run: &Run) -> Result<(i64, bool), Trouble> {
        let packed = pack(&run.document)?;
        let key = Key::of(run);
        let behaviour = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behaviour)?;
        let known = transaction
            .query_row("SELECT id FROM runs WHERE key = ?1", [key.bytes()], |row| {
                row.get(0)
            })
            .optional()?;
        if let Some(id) = known {
            return Ok((id, false));
        }
        transaction.execute(
            "INSERT INTO runs (key, verb, target, headline, began, machine, version, command, status, document_bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                key.bytes(),
                run.verb,
                run.target,
                run.headline,
                run.began,
                run.machine,
                run.version,
                run.command,
                run.status,
                i64::try_from(run.document.len()).unwrap_or(i64::MAX),
            ],
        )?;
        let id = transaction.last_insert_rowid();
        transaction.execute(
            "INSERT INTO documents (run, packed) VALUES (?1, ?2)",
            params![id, packed],
        )?;
        transaction.commit()?;
        Ok((id, true))
    }

    /// Runs, the latest first, at most `limit`.
    ///
    /// # Errors
    /// Where the history cannot be read.
    pub fn list(&self, filter: &Filter, limit: u64) -> Result<Vec<Entry>, Error> {
        let listed = || -> Result<Vec<Entry>, Trouble> {
            let sql = format!(
                "SELECT {COLUMNS} FROM runs WHERE {WHICH} ORDER BY began DESC, id DESC LIMIT ?4"
            );
            let mut statement = self.connection.prepare(&sql)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(
                params![filter.verb, filter.target, filter.machine, limit],
                entry,
            )?;
            Ok(rows.collect::<Result<_, _>>()?)
        };
        self.tried(listed())
    }

    /// How many runs there are.
    ///
    /// # Errors
    /// Where the history cannot be read.
    pub fn count(&self, filter: &Filter) -> Result<u64, Error> {
        let sql = format!("SELECT count(*) FROM runs WHERE {WHICH}");
        let counted = self.connection.query_row(
            &sql,
            params![filter.verb, filter.target, filter.machine],
            |row| row.get::<_, i64>(0),
        );
        let count = self.tried(counted.map_err(Trouble::from))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// A run by its number.
    ///
    /// # Errors
    /// Where there is none, or the history cannot be read.
    pub fn entry(&self, id: i64) -> Result<Entry, Error> {
        let sql = format!("SELECT {COLUMNS} FROM runs WHERE id = ?1");
        let found = self.connection.query_row(&sql, [id], entry).optional();
        let found = self.tried(found.map_err(Trouble::from))?;
        found.ok_or_else(|| {
            Trouble::NoRun(format!(
                "has no run {id}; `straddle history list` shows those that it has"
            ))
            .at(&self.path)
        })
    }

    /// The document of a run, byte for byte as it was stored: its key is computed again.
    ///
    /// # Errors
    /// Where there is none, it cannot be unpacked, or the history cannot be read.
    pub fn document(&self, id: i64) -> Result<String, Error> {
        let entry = self.entry(id)?;
        let packed =
            self.connection
                .query_row("SELECT packed FROM documents WHERE run = ?1", [id], |row| {
                    row.get::<_, Vec<u8>>(0)
                });
        let packed = self.tried(packed.map_err(Trouble::from))?;
        let text = unpack(&packed, entry.document_bytes).and_then(|document| {
            let key = Key::parts(&entry.verb, &entry.machine, entry.began, &document);
            if key == entry.key {
                Ok(document)
            } else {
                Err("it is not what was stored".to_owned())
            }
        });
        self.tried(text.map_err(|detail| Trouble::Document { id, detail }))
    }

    /// Removes runs; baselines that name one of them go with it. All of them or, where one is not there, none.
    ///
    /// # Errors
    /// Where one is not there, or the history cannot be written.
    pub fn remove(&mut self, ids: &[i64]) -> Result<(), Error> {
        for id in ids {
            self.entry(*id)?;
        }
        let removed = (|| -> Result<(), Trouble> {
            let behaviour = TransactionBehavior::Immediate;
            let transaction = self.connection.transaction_with_behavior(behaviour)?;
            for id in ids {
                transaction.execute("DELETE FROM runs WHERE id = ?1", [id])?;
            }
            Ok(transaction.commit()?)
        })();
        self.tried(removed)
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let bytes: i64 = row.get(10)?;
    Ok(Entry {
        id: row.get(0)?,
        key: Key::from_bytes(row.get(1)?),
        verb: row.get(2)?,
        target: row.get(3)?,
        headline: row.get(4)?,
        began: row.get(5)?,
        machine: row.get(6)?,
        version: row.get(7)?,
        command: row.get(8)?,
        status: row.get(9)?,
        document_bytes: u64::try_from(bytes).unwrap_or(0),
    })
}

fn unwritable(error: &std::io::Error) -> Trouble {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Trouble::Full,
        _ => Trouble::ReadOnly {
            detail: error.to_string(),
        },
    }
}

/// SQLite takes a file of a few bytes for an empty database, and writes over them.
fn is_database(path: &Path) -> Result<(), Trouble> {
    const MARK: &[u8] = b"SQLite format 3\0";
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| {
        file.take(u64::try_from(MARK.len()).unwrap_or(16))
            .read_to_end(&mut head)
    });
    match read {
        Ok(_) if head.is_empty() || head == MARK => Ok(()),
        Ok(_) => Err(Trouble::Foreign {
            found: "it is not an SQLite database".to_owned(),
        }),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(Trouble::ReadOnly {
                detail: error.to_string(),
            })
        }
        Err(error) => Err(Trouble::Io(error)),
    }
}

/// An empty file that only its owner may read: documents name machines and files.
fn new_file(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        other => other.map(|_| ()),
    }
}

fn pack(document: &str) -> Result<Vec<u8>, Trouble> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    let packed = encoder
        .write_all(document.as_bytes())
        .and_then(|()| encoder.finish());
    packed.map_err(Trouble::Io)
}

/// Unpacks no more than was stored, whatever the bytes claim.
fn unpack(packed: &[u8], length: u64) -> Result<String, String> {
    let mut text = String::new();
    let mut decoder = DeflateDecoder::new(packed).take(length.saturating_add(1));
    decoder
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    if u64::try_from(text.len()).is_ok_and(|found| found == length) {
        Ok(text)
    } else {
        Err(format!(
            "{} bytes were unpacked, expected {length}",
            text.len()
        ))
    }
}
