//! Files that are no history, or a damaged one: nothing panics, nothing is changed, and what is wrong is said.

use straddle_history::{Filter, Store, Trouble};

use crate::run;

/// Calls `act` while the database may not become longer than it is.
pub(crate) fn with_room_for<T>(
    store: &mut Store,
    bytes: i64,
    act: impl FnOnce(&mut Store) -> T,
) -> T {
    store.limit_to(bytes).expect("possible");
    act(store)
}

#[test]
fn what_is_no_history_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let other = folder.path().join("other.sqlite");
    let connection = rusqlite::Connection::open(&other).expect("opens");
    connection
        .execute_batch("CREATE TABLE bookmarks (url TEXT)")
        .expect("valid");
    drop(connection);
    let text = folder.path().join("text");
    std::fs::write(
        &text,
        "Dear diary, this is longer than the header of a database file. ".repeat(20),
    )
    .expect("writable");
    let short = folder.path().join("short");
    std::fs::write(&short, "x").expect("writable");
    for path in [other, text, short] {
        let before = std::fs::read(&path).expect("there");
        for store in [Store::open(&path), Store::read(&path)] {
            let error = store.expect_err("no history");
            assert!(matches!(error.trouble, Trouble::Foreign { .. }), "{error}");
            assert!(
                error.to_string().contains(&path.display().to_string()),
                "{error}"
            );
        }
        assert_eq!(
            std::fs::read(&path).expect("there"),
            before,
            "{}",
            path.display()
        );
        assert!(!path.with_extension("sqlite-journal").exists());
    }
    let error = Store::read(folder.path()).expect_err("a folder").trouble;
    assert!(matches!(error, Trouble::Foreign { .. }), "{error}");
}

#[test]
fn a_damaged_history_never_panics_and_never_invents() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let whole = folder.path().join("whole.sqlite");
    let mut store = Store::open(&whole).expect("made");
    for number in 0..40 {
        store.add(&run("db1", number)).expect("kept");
    }
    drop(store);
    let bytes = std::fs::read(&whole).expect("there");
    let path = folder.path().join("damaged.sqlite");
    let stored: Vec<String> = (0..40).map(|number| run("db1", number).document).collect();
    let mut said = 0;
    let mut look = |damaged: &[u8]| {
        std::fs::write(&path, damaged).expect("writable");
        let Ok(store) = Store::read(&path) else {
            said += 1;
            return;
        };
        let Ok(runs) = store.list(&Filter::default(), 1000) else {
            said += 1;
            return;
        };
        for entry in runs {
            match store.document(entry.id) {
                // A document that comes back is one that was stored.
                Ok(text) => assert!(stored.contains(&text), "{text}"),
                Err(_) => said += 1,
            }
        }
    };
    for cut in (0..bytes.len()).step_by(911) {
        look(&bytes[..cut]);
    }
    for at in (0..bytes.len()).step_by(127) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        look(&damaged);
    }
    assert!(said > 50, "{said} of them were noticed");
}

#[test]
fn damage_is_said_with_what_to_do() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("h.sqlite");
    let mut store = Store::open(&path).expect("made");
    for number in 0..200 {
        store.add(&run("db1", number)).expect("kept");
    }
    drop(store);
    let mut bytes = std::fs::read(&path).expect("there");
    let pages = bytes.len() / 4096;
    for page in 1..pages {
        bytes[page * 4096] = 0x77;
    }
    std::fs::write(&path, &bytes).expect("writable");
    let error = Store::read(&path)
        .and_then(|store| store.list(&Filter::default(), 1000))
        .expect_err("damaged");
    assert!(matches!(error.trouble, Trouble::Damaged { .. }), "{error}");
    assert!(
        error.to_string().contains("straddle history export"),
        "{error}"
    );
}
