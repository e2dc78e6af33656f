//! Processes that are killed at any instant while they move parts of a real file, on a real filesystem.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use straddle_geometry::Bytes;
use straddle_io::ReadAt;
use straddle_realign::{
    Check, Edit, FileStore, Job, JournalError, Method, Move, MoveError, Options, Part, Sizes, View,
    journal,
};

/// Bytes of the image.
const IMAGE: usize = 24 << 20;

/// What a child is told by its environment.
const VERB: &str = "STRADDLE_TEST_KILLED";
const FOLDER: &str = "STRADDLE_TEST_FOLDER";
const METHOD: &str = "STRADDLE_TEST_METHOD";

fn parts() -> Vec<Part> {
    let part = |from: u64, to: u64, len: u64| Part {
        from: Bytes::new(from * 512),
        to: Bytes::new(to * 512),
        len: Bytes::new(len * 512),
    };
    // From sector 63 to 1 MiB, and its neighbours, of which one moves less far than it is copied at once.
    vec![
        part(63, 2048, 20_000),
        part(20_063, 22_528, 9_937),
        part(30_000, 32_768, 4000),
    ]
}

/// What is done to an image as it is before.
fn job(image: &dyn ReadAt) -> Job {
    let moved = Job::new(parts(), Vec::new()).expect("a job");
    let edits = [
        446_u64,
        2048 * 512 + 28,
        22_528 * 512 + 28,
        32_768 * 512 + 500,
    ]
    .map(|at| {
        let (at, mut before) = (Bytes::new(at), vec![0; 16]);
        let view = View::new(image, &moved, image.size());
        assert_eq!(view.read_at(at, &mut before).expect("read"), 16);
        let after = before.iter().map(|byte| !byte).collect();
        let what = "sixteen bytes".to_owned();
        Edit {
            at,
            before,
            after,
            what,
        }
    });
    Job::new(parts(), edits.into()).expect("a job")
}

fn options() -> Options {
    Options {
        sizes: Sizes {
            block: Bytes::kib(64),
            batch: Bytes::mib(1),
            ..Sizes::default()
        },
        label: b"image".to_vec(),
    }
}

/// What the child does; as a test of its own it does nothing.
#[test]
#[expect(clippy::exit, reason = "a status that no failing test has")]
fn child() {
    let Ok(verb) = std::env::var(VERB) else {
        return;
    };
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("a folder"));
    let (image, log) = (folder.join("image"), folder.join("journal"));
    let target = FileStore::open(&image).expect("opens");
    let begun = match verb.as_str() {
        "begin" => {
            let (job, options) = (job(&target), options());
            let len = journal::len(&job, &options.sizes, &options.label, target.size());
            let log = FileStore::create(&log, len.expect("sound")).expect("made");
            Move::create(target, log, [9; 16], &job, &options)
        }
        _ => Move::open(target, FileStore::open(&log).expect("opens")),
    };
    let mut it = match begun {
        Ok(it) => it,
        // Killed before anything was begun.
        Err(MoveError::Journal(JournalError::NoHeader)) => std::process::exit(7),
        Err(error) => panic!("{verb}: {error}"),
    };
    it = it.with_method(match std::env::var(METHOD).as_deref() {
        Ok("ordered") => Method::Ordered,
        Ok("journaled") => Method::Journaled,
        _ => Method::Measured,
    });
    let watch = |_| ControlFlow::Continue(());
    let ended = match verb.as_str() == "back" || it.is_going_back() {
        true => it.back(Check::AtTheEnd, watch),
        false => it.forward(Check::AtTheEnd, watch),
    };
    ended.unwrap_or_else(|error| panic!("{verb}: {error}"));
}

fn start(verb: &str, folder: &Path, method: &str) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "kill::child", "--nocapture", "--quiet"])
        .env(VERB, verb)
        .env(FOLDER, folder)
        .env(METHOD, method)
        .stdout(Stdio::null())
        .spawn()
        .expect("starts")
}

#[test]
#[expect(clippy::print_stdout, reason = "the report of the long form")]
fn nothing_is_lost_when_it_is_killed() {
    let wanted = match std::env::var_os("STRADDLE_SOAK") {
        Some(_) => 500,
        None => 12,
    };
    // A filesystem on a disk, where there is one.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (image, log) = (folder.path().join("image"), folder.path().join("journal"));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut before = vec![0; IMAGE];
    random.fill_bytes(&mut before);
    std::fs::write(&image, &before).expect("written");
    let job = job(&before);
    let mut after = vec![0; IMAGE];
    let view = View::new(&before, &job, Bytes::new(IMAGE as u64));
    let mut had = 0;
    while had < IMAGE {
        had += view
            .read_at(Bytes::new(had as u64), &mut after[had..])
            .expect("read");
    }
    let (mut killed, mut ended) = ([0, 0], [0, 0]);
    let mut usual = Duration::from_millis(300);
    let (mut verb, mut to_back) = ("begin", false);
    while killed.iter().sum::<u32>() < wanted || ended.contains(&0) {
        let method = ["ordered", "journaled", "measured"][(random.next_u64() % 3) as usize];
        let began = Instant::now();
        let mut it = start(verb, folder.path(), method);
        let limit = usual.as_micros() as u64 * 5 / 4;
        let wait = Duration::from_micros(random.next_u64() % limit);
        // Every now and then it comes to its end.
        let status = match random.next_u64() % 8 {
            0 => it.wait().expect("ends"),
            _ => {
                std::thread::sleep(wait);
                it.kill().expect("is a child");
                it.wait().expect("ends")
            }
        };
        match status.code() {
            None => {
                killed[usize::from(to_back)] += 1;
                let is_begun = log.exists();
                (verb, to_back) = match random.next_u64() % 4 {
                    _ if !is_begun => ("begin", false),
                    0 => ("back", true),
                    _ if to_back => ("back", true),
                    _ => ("resume", false),
                };
                continue;
            }
            // Nothing was begun.
            Some(7) => {
                assert!(std::fs::read(&image).expect("read") == before);
                std::fs::remove_file(&log).expect("removed");
                (verb, to_back) = ("begin", false);
                continue;
            }
            Some(0) => {}
            Some(other) => panic!("{verb} ended with {other}"),
        }
        usual = (usual + began.elapsed()) / 2;
        let found = std::fs::read(&image).expect("read");
        ended[usize::from(to_back)] += 1;
        if to_back {
            assert!(found == before, "after {killed:?} killed");
            std::fs::remove_file(&log).expect("removed");
            (verb, to_back) = ("begin", false);
        } else {
            assert!(found == after, "after {killed:?} killed");
            (verb, to_back) = ("back", true);
        }
    }
    println!(
        "killed {} times while it moved and {} while it rolled back; {} moves and {} rollbacks came to their ends",
        killed[0], killed[1], ended[0], ended[1]
    );
}
