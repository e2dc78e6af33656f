use straddle_history::{Filter, Imported, Store};

use crate::run;

fn lines(store: &Store) -> String {
    let mut out = Vec::new();
    for entry in store
        .list(&Filter::default(), 1000)
        .expect("reads")
        .iter()
        .rev()
    {
        store
            .export(entry, &mut out)
            .expect("reads")
            .expect("written");
    }
    String::from_utf8(out).expect("UTF-8")
}

fn refuse(_: &str) -> Result<straddle_history::Run, String> {
    Err("no".to_owned())
}

#[test]
fn histories_of_two_machines_are_merged_without_duplicates() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut made = ["db1", "db2"].map(|machine| {
        let mut store = Store::open(&folder.path().join(machine)).expect("made");
        for number in 0..5 {
            store.add(&run(machine, number)).expect("kept");
        }
        store
    });
    let texts = [lines(&made[0]), lines(&made[1])];
    for (store, text) in made.iter_mut().zip([&texts[1], &texts[0]]) {
        let imported = |new, known| Imported {
            new,
            known,
            refused: Vec::new(),
        };
        let first = store
            .import(text.as_bytes(), refuse)
            .expect("written")
            .expect("read");
        assert_eq!(first, imported(5, 0));
        let again = store
            .import(text.as_bytes(), refuse)
            .expect("written")
            .expect("read");
        assert_eq!(again, imported(0, 5));
    }
    let sorted = |store: &Store| {
        let text = lines(store);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(
        sorted(&made[0]),
        sorted(&made[1]),
        "byte for byte the same runs"
    );
}

#[test]
fn a_line_that_is_refused_is_said_and_stops_no_other() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut store = Store::open(&folder.path().join("from")).expect("made");
    store.add(&run("db1", 0)).expect("kept");
    store.add(&run("db1", 1)).expect("kept");
    let text = lines(&store);
    let (first, second) = text.split_once('\n').expect("two lines");
    let changed = first.replacen("+0%", "+9%", 1).replacen("db1", "db9", 1);
    let schema = first.replacen("straddle.run/1", "straddle.run/9", 1);
    let all =
        format!("{changed}\n\n{schema}\nnonsense\n{{\"schema\":\"straddle.bench/1\"}}\n{second}");
    let mut bytes = all.into_bytes();
    bytes.extend(b"\xff\xfe\n");
    let mut to = Store::open(&folder.path().join("to")).expect("made");
    let imported = to
        .import(bytes.as_slice(), refuse)
        .expect("written")
        .expect("read");
    assert_eq!((imported.new, imported.known), (1, 0));
    let lines: Vec<u64> = imported.refused.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 3, 4, 5, 7]);
    assert!(
        imported.refused[0].1.contains("it was changed on its way"),
        "{:?}",
        imported.refused
    );
    assert!(imported.refused[1].1.contains("straddle.run/9"));
    assert!(imported.refused[4].1.contains("not UTF-8"));
    assert_eq!(to.document(1).expect("there"), run("db1", 1).document);
}

#[test]
fn what_a_command_printed_can_be_kept_too() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut store = Store::open(&folder.path().join("h")).expect("made");
    let imported = store
        .import("{\"schema\":\"x\"}\n".as_bytes(), |text| {
            Ok(straddle_history::Run {
                document: text.to_owned(),
                ..run("here", 3)
            })
        })
        .expect("written")
        .expect("read");
    assert_eq!(imported.new, 1);
    assert_eq!(store.document(1).expect("there"), "{\"schema\":\"x\"}");
}
