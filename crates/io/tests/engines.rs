//! What every engine promises, asked of each one that works here.
#![cfg(any(unix, windows))]

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};
use straddle_geometry::{Access, Bytes, Extent, Unit};
use straddle_io::Opening;
use straddle_io::engine::faulty::{Fault, Faults, Faulty, What, When};
use straddle_io::engine::{Durability, Ended, Engine, Kind, Request, Setup, Wait, open};

const BLOCK: u64 = 4096;
const BLOCKS: u64 = 256;

/// A file whose block n is filled with n.
fn file() -> Scratch {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    for n in 0..BLOCKS {
        let byte = u8::try_from(n).expect("256 blocks");
        file.write_all(&[byte; 4096]).expect("room for a MiB");
    }
    Scratch(file)
}

/// A file and, for engines, a handle as they want it.
struct Scratch(tempfile::NamedTempFile);

trait Measured {
    fn measured(&self) -> File;
}

impl Measured for Scratch {
    fn measured(&self) -> File {
        measured(self.0.path(), true)
    }
}

impl Measured for File {
    fn measured(&self) -> File {
        self.try_clone().expect("a second handle")
    }
}

fn measured(path: &std::path::Path, write: bool) -> File {
    let opening = Opening {
        write,
        overlapped: true,
        ..Opening::default()
    };
    opening.open(path).expect("opens")
}

/// What is in the file at a place.
fn contents(file: &Scratch, len: usize, at: u64) -> Vec<u8> {
    use std::io::{Read, Seek, SeekFrom};
    let mut bytes = vec![0; len];
    let mut file = file.0.as_file();
    file.seek(SeekFrom::Start(at)).expect("seeks");
    file.read_exact(&mut bytes).expect("it is inside");
    bytes
}

fn setup(file: &impl Measured, slots: u32) -> Setup {
    Setup {
        file: file.measured(),
        slots,
        largest: Unit::new(2 * BLOCK).expect("not zero"),
        memory_alignment: Unit::new(4096).expect("not zero"),
        durability: Durability::Cached,
        atomic: false,
        polled: false,
    }
}

/// The engines that move bytes.
fn engines(file: &impl Measured, slots: u32) -> Vec<(Kind, Box<dyn Engine>)> {
    let kinds = Kind::ALL.iter().filter(|kind| **kind != Kind::Null);
    let engines: Vec<_> = kinds
        .filter(|kind| kind.available().is_ok())
        .map(|kind| {
            let engine = open(*kind, setup(file, slots));
            (*kind, engine.expect("it is available"))
        })
        .collect();
    assert!(!engines.is_empty());
    engines
}

fn request(access: Access, block: u64, slot: u32) -> Request {
    Request {
        access,
        offset: Bytes::new(block * BLOCK),
        len: Bytes::new(BLOCK),
        slot,
    }
}

fn finish_all(engine: &mut dyn Engine, count: usize) -> Vec<Ended> {
    let mut ended = Vec::new();
    while ended.len() < count {
        engine
            .finish(Wait::One, &mut ended)
            .expect("the engine works");
    }
    assert_eq!(ended.len(), count);
    ended
}

#[cfg(target_os = "linux")]
#[test]
fn io_uring_works_where_tests_run() {
    // Where this fails, the other tests here say nothing of io_uring.
    Kind::IoUring.available().expect("io_uring on this machine");
    let engine = straddle_io::engine::Uring::new(setup(&file(), 8)).expect("a ring");
    assert_eq!(engine.registered(), (true, true));
}

#[test]
fn every_slot_reads_what_it_was_asked_for() {
    let file = file();
    for (kind, mut engine) in engines(&file, 32) {
        let mut next = 0;
        let mut at: HashMap<u32, u64> = HashMap::new();
        let mut free: Vec<u32> = (0..engine.slots()).collect();
        let mut done = 0;
        let mut ended = Vec::new();
        while done < 5000 {
            while let Some(slot) = free.pop() {
                let block = next * 7 % BLOCKS;
                next += 1;
                engine.start(request(Access::Read, block, slot));
                assert!(engine.buffer(slot).is_none(), "{kind}: under way");
                at.insert(slot, block);
            }
            engine
                .finish(Wait::One, &mut ended)
                .expect("the engine works");
            assert!(!ended.is_empty(), "{kind}");
            for ended in ended.drain(..) {
                assert_eq!(ended.moved.expect("a read"), Bytes::new(BLOCK));
                let block = at.remove(&ended.slot).expect("it was under way");
                let buffer = engine.buffer(ended.slot).expect("it is free");
                let bytes = buffer.get(..4096).expect("a block");
                assert!(bytes.iter().all(|byte| u64::from(*byte) == block), "{kind}");
                free.push(ended.slot);
                done += 1;
            }
        }
    }
}

#[test]
fn what_is_written_is_in_the_file() {
    let mut known = vec![Durability::Cached];
    if cfg!(target_os = "linux") {
        known.push(Durability::ForcedUnitAccess);
    }
    for durability in known {
        let file = file();
        for kind in Kind::ALL.iter().filter(|kind| **kind != Kind::Null) {
            let setup = Setup {
                durability,
                ..setup(&file, 4)
            };
            let mut engine = open(*kind, setup).expect("it works here");
            for slot in 0..4_u8 {
                let buffer = engine.buffer(u32::from(slot)).expect("free");
                buffer.fill(0xf0 | slot);
                engine.start(request(
                    Access::Write,
                    10 + u64::from(slot),
                    u32::from(slot),
                ));
            }
            for ended in finish_all(&mut *engine, 4) {
                assert_eq!(ended.moved.expect("a write"), Bytes::new(BLOCK));
            }
            for slot in 0..4_u8 {
                let bytes = contents(&file, 4096, (10 + u64::from(slot)) * BLOCK);
                assert!(bytes.iter().all(|byte| *byte == 0xf0 | slot), "{kind}");
            }
        }
    }
}

#[test]
fn ends_short_at_the_end_of_the_file() {
    let file = file();
    for (kind, mut engine) in engines(&file, 2) {
        engine.start(Request {
            offset: Bytes::new(BLOCKS * BLOCK - 512),
            ..request(Access::Read, 0, 0)
        });
        engine.start(request(Access::Read, BLOCKS, 1));
        for ended in finish_all(&mut *engine, 2) {
            let moved = ended.moved.expect("short is no error");
            assert_eq!(
                moved,
                Bytes::new(if ended.slot == 0 { 512 } else { 0 }),
                "{kind}"
            );
        }
    }
}

#[test]
fn what_cannot_be_started_ends_with_an_error() {
    let file = file();
    let mut all = engines(&file, 2);
    all.push((
        Kind::Null,
        open(Kind::Null, setup(&file, 2)).expect("memory"),
    ));
    for (kind, mut engine) in all {
        engine.start(request(Access::Read, 1, 0));
        engine.start(request(Access::Read, 2, 0));
        engine.start(request(Access::Read, 3, 9));
        engine.start(Request {
            len: Bytes::new(1 << 20),
            ..request(Access::Read, 4, 1)
        });
        let ended = finish_all(&mut *engine, 4);
        let errors: Vec<String> = ended
            .iter()
            .filter_map(|ended| ended.moved.as_ref().err().map(ToString::to_string))
            .collect();
        assert_eq!(errors.len(), 3, "{kind}: {ended:?}");
        for word in ["under way", "does not exist", "longer than"] {
            assert!(
                errors.iter().any(|error| error.contains(word)),
                "{kind}: {errors:?}"
            );
        }
        // Nothing was lost: both slots are free.
        assert!(
            engine.buffer(0).is_some() && engine.buffer(1).is_some(),
            "{kind}"
        );
        assert!(engine.buffer(9).is_none());
    }
}

#[test]
fn an_error_of_the_system_is_the_requests() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let file = measured(file.path(), false);
    for (kind, mut engine) in engines(&file, 1) {
        engine.start(request(Access::Write, 0, 0));
        let ended = finish_all(&mut *engine, 1);
        let error = ended.into_iter().next().and_then(|ended| ended.moved.err());
        assert_eq!(
            error.and_then(|error| error.raw_os_error()),
            Some(if cfg!(windows) { 5 } else { 9 }),
            "{kind}: EBADF, or access denied"
        );
    }
}

/// The engine with many requests under way, and the offset that pipes are read at.
#[cfg(target_os = "linux")]
const MANY: (Kind, u64) = (Kind::IoUring, u64::MAX);
#[cfg(windows)]
const MANY: (Kind, u64) = (Kind::Overlapped, 0);

/// A pipe that nobody writes to: a read from it stays under way.
#[cfg(target_os = "linux")]
fn silence() -> (File, File) {
    let (read, write) = std::io::pipe().expect("a pipe");
    let read = std::os::fd::OwnedFd::from(read);
    let write = std::os::fd::OwnedFd::from(write);
    (read.into(), write.into())
}

/// The output of a program that waits for a line, and prints it: what children print into is made for overlapped reads.
#[cfg(windows)]
#[allow(clippy::zombie_processes, reason = "Windows has none")]
fn silence() -> (File, std::process::ChildStdin) {
    use std::process::{Command, Stdio};
    let mut child = Command::new("cmd")
        .args(["/q", "/c", "set /p line=& echo still here"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a program that waits");
    let read = child.stdout.take().expect("a pipe");
    let read = std::os::windows::io::OwnedHandle::from(read);
    (read.into(), child.stdin.take().expect("a pipe"))
}

#[cfg(any(target_os = "linux", windows))]
#[test]
fn waiting_ends_when_the_time_is_up() {
    let (read, _write) = silence();
    let mut engine = open(MANY.0, setup(&read, 2)).expect("it works here");
    let mut ended = Vec::new();
    // Nothing is under way: no wait at all.
    let start = Instant::now();
    engine.finish(Wait::One, &mut ended).expect("nothing to do");
    engine
        .finish(Wait::For(Duration::from_secs(100)), &mut ended)
        .expect("nothing to do");
    assert!(start.elapsed() < Duration::from_secs(10));
    engine.start(Request {
        offset: Bytes::new(MANY.1),
        ..request(Access::Read, 0, 0)
    });
    let start = Instant::now();
    engine
        .finish(Wait::For(Duration::from_millis(50)), &mut ended)
        .expect("time is up");
    assert!(start.elapsed() >= Duration::from_millis(45));
    engine.finish(Wait::No, &mut ended).expect("nothing yet");
    assert!(ended.is_empty());
    assert!(engine.buffer(0).is_none());
}

/// Buffers are freed only when the kernel has let go of them. A read from a silent pipe would wait for ever, so this also
/// shows that a dropped engine cancels.
#[cfg(any(target_os = "linux", windows))]
#[test]
fn a_dropped_engine_cancels_and_waits() {
    let (read, mut write) = silence();
    for _ in 0..20 {
        let mut engine = open(MANY.0, setup(&read, 16)).expect("it works here");
        for slot in 0..16 {
            engine.start(Request {
                offset: Bytes::new(MANY.1),
                ..request(Access::Read, 0, slot)
            });
        }
        engine
            .finish(Wait::No, &mut Vec::new())
            .expect("handed over");
        drop(engine);
    }
    // No read is left behind that would swallow this.
    write.write_all(b"still here\n").expect("a pipe");
    drop(write);
    let mut engine = open(MANY.0, setup(&read, 1)).expect("it works here");
    engine.start(Request {
        offset: Bytes::new(MANY.1),
        ..request(Access::Read, 0, 0)
    });
    let ended = finish_all(&mut *engine, 1);
    let moved = ended.into_iter().next().expect("one").moved;
    // The end of the line may come by itself.
    assert!(moved.expect("a read") >= Bytes::new(10));
}

/// What was handed over is over when the engine is gone: a write that went on would change the file, and take its bytes
/// from memory that is somebody else's by then. Writes that wait for the disk are under way long enough to show.
#[cfg(target_os = "linux")]
#[test]
fn nothing_goes_on_after_an_engine_is_dropped() {
    for round in 1..=5 {
        let file = file();
        let setup = Setup {
            durability: Durability::ForcedUnitAccess,
            ..setup(&file, 128)
        };
        let mut engine = open(Kind::IoUring, setup).expect("io_uring");
        for slot in 0..128 {
            engine.buffer(slot).expect("free").fill(0xee);
            engine.start(request(Access::Write, u64::from(2 * slot), slot));
        }
        engine
            .finish(Wait::No, &mut Vec::new())
            .expect("handed over");
        drop(engine);
        let all = || contents(&file, 1 << 20, 0);
        let at_once = all();
        std::thread::sleep(Duration::from_millis(100));
        assert!(at_once == all(), "round {round}: a write went on");
    }
}

/// Engines made, filled and dropped at any point, in several threads, while memory that was freed is used again at once and
/// watched: a late write of the kernel would show in it.
#[test]
fn engines_dropped_with_requests_under_way_leave_memory_alone() {
    let file = file();
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let file = &file;
            scope.spawn(move || {
                for round in 0..60_u32 {
                    for (kind, mut engine) in engines(file, 64) {
                        for slot in 0..64 {
                            engine.start(request(Access::Read, u64::from(slot + 1), slot));
                        }
                        let mut ended = Vec::new();
                        if round % 3 > 0 {
                            let wait = if round % 3 == 1 { Wait::No } else { Wait::One };
                            engine.finish(wait, &mut ended).expect("handed over");
                        }
                        if round % 2 == 0 {
                            // Some are started again before the end.
                            for ended in &ended {
                                engine.start(request(Access::Read, 200, ended.slot));
                            }
                        }
                        drop(engine);
                        let watched = vec![0_u8; 64 * 8192];
                        std::thread::yield_now();
                        assert!(watched.iter().all(|byte| *byte == 0), "{kind}, {thread}");
                    }
                }
            });
        }
    });
}

#[test]
fn faults_strike_as_told() {
    let file = file();
    let extent =
        |block: u64| Extent::new(Bytes::new(block * BLOCK + 100), Bytes::new(1)).expect("inside");
    let fault = |when, what| Fault { when, what };
    let faults = Faults::new(vec![
        fault(When::Request(3), What::Error(5)),
        fault(When::Touching(extent(7)), What::Error(61)),
        fault(When::Writing(extent(20)), What::Lost),
        fault(
            When::Reading(extent(21)),
            What::Flip {
                byte: 9,
                mask: 0x10,
            },
        ),
        fault(
            When::Reading(extent(22)),
            What::Misdirected {
                to: Bytes::new(23 * BLOCK),
            },
        ),
        fault(When::Reading(extent(24)), What::Short(Bytes::new(512))),
        fault(
            When::Reading(extent(25)),
            What::Stall(Duration::from_millis(30)),
        ),
        fault(When::Written(Bytes::new(3 * BLOCK)), What::Error(28)),
    ]);
    let inner = open(Kind::Pread, setup(&file, 1)).expect("everywhere");
    let mut engine = Faulty::new(inner, &faults);
    let mut run = |access, block| {
        let buffer = engine.buffer(0).expect("free");
        buffer.fill(0xaa);
        engine.start(request(access, block, 0));
        assert!(engine.buffer(0).is_none());
        let moved = finish_all(&mut engine, 1).remove(0).moved;
        let bytes = engine.buffer(0).expect("free").to_vec();
        (moved.map_err(|error| error.raw_os_error()), bytes)
    };
    let whole = || Ok(Bytes::new(BLOCK));
    assert_eq!(run(Access::Read, 1).0, whole());
    assert_eq!(run(Access::Read, 2).0, whole());
    assert_eq!(run(Access::Read, 2).0, Err(Some(5)));
    assert_eq!(run(Access::Read, 7).0, Err(Some(61)));
    assert_eq!(run(Access::Write, 20).0, whole());
    let (moved, bytes) = run(Access::Read, 20);
    assert_eq!(moved, whole());
    assert_eq!(bytes.first(), Some(&20), "the write was lost");
    let (_, bytes) = run(Access::Read, 21);
    assert_eq!(bytes.get(8..11), Some(&[21, 21 ^ 0x10, 21][..]));
    assert_eq!(run(Access::Read, 22).1.first(), Some(&23));
    assert_eq!(run(Access::Read, 24).0, Ok(Bytes::new(512)));
    let start = Instant::now();
    assert_eq!(run(Access::Read, 25).0, whole());
    assert!(start.elapsed() >= Duration::from_millis(30));
    assert_eq!(run(Access::Write, 30).0, whole());
    assert_eq!(run(Access::Write, 31).0, whole());
    assert_eq!(run(Access::Write, 32).0, Err(Some(28)));
    assert_eq!(faults.struck(), 8);
}
