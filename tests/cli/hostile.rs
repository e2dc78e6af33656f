//! Hostile input: whatever an image claims, the answer is a clear error or finding, soon, in little memory.
//!
//! Speed is never shown by a timed test (benches/ does that). The limit on processor time here guards against hangs and
//! loops that a count read from the image decides: the best of several runs must stay below it, which holds on a busy
//! machine and in a build without optimisation.

use crate::support::{scratch, tool};
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// Most processor time that the best run may take.
const HANG: Duration = Duration::from_millis(50);
/// Runs among which the best is taken.
const RUNS: usize = 5;
/// Most memory that a run may have resident at any time beyond what the program has in any check: its own pages, of which a build without
/// optimisation has several times as many as a release build.
const MEMORY: u64 = 8 << 20;

const MIB: u64 = 1 << 20;
const SECTOR: u64 = 512;

/// What runs of one command line came to.
struct Outcome {
    code: i32,
    text: String,
    fastest: Duration,
    peak: u64,
}

/// Runs `straddle check ARGS` several times, below `time`: asked for by this program, the kernel would count what this
/// program has resident as the child's, because that is what the child was before `execve`.
fn check(args: &[&Path]) -> Outcome {
    let here = scratch();
    let used = here.path().join("used");
    let mut outcome: Option<Outcome> = None;
    for _ in 0..RUNS {
        let output = Command::new("/usr/bin/time")
            .args(["--quiet", "--format=%M %U %S", "--output"])
            .arg(&used)
            .arg(env!("CARGO_BIN_EXE_straddle"))
            .env("STRADDLE_HISTORY", "none")
            .arg("check")
            .args(args)
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| {
                panic!("this test needs `time` of the Debian package time: {error}")
            });
        let text = String::from_utf8(output.stdout).expect("output is UTF-8")
            + &String::from_utf8(output.stderr).expect("messages are UTF-8");
        assert!(!text.contains("panicked"), "{text}");
        let code = output.status.code().expect("time is not killed");
        // Above 128 for a signal, as in a shell.
        assert!(code <= 2, "exit status {code}: {text}");
        let used = fs::read_to_string(&used).expect("what time measured");
        let figures: Vec<f64> = used
            .split_whitespace()
            .map(|figure| figure.parse().expect("kibibytes and seconds"))
            .collect();
        let took = Duration::from_secs_f64(figures[1] + figures[2]);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole kibibytes"
        )]
        let kib = figures[0] as u64;
        let before = outcome.take();
        outcome = Some(Outcome {
            code,
            text,
            fastest: before.as_ref().map_or(took, |b| b.fastest.min(took)),
            peak: before.map_or(0, |b| b.peak).max(kib << 10),
        });
    }
    outcome.expect("it ran at least once")
}

/// What is resident in the check of a file that is nothing.
fn own_memory() -> u64 {
    static OWN: OnceLock<u64> = OnceLock::new();
    *OWN.get_or_init(|| {
        let here = scratch();
        let path = here.path().join("blank.img");
        image(&path, MIB, &[]);
        check(&[&path]).peak
    })
}

/// Checks one target: its exit status, what must be said, and the limits.
#[track_caller]
fn expect(target: &Path, code: i32, said: &[&str]) {
    expect_all(&[target], code, said);
}

#[track_caller]
fn expect_all(args: &[&Path], code: i32, said: &[&str]) {
    let outcome = check(args);
    for words in said {
        assert!(
            outcome.text.contains(words),
            "{args:?} does not say `{words}` but:\n{}",
            outcome.text
        );
    }
    let code = crate::support::status(code, &outcome.text);
    assert_eq!(outcome.code, code, "{args:?}:\n{}", outcome.text);
    assert!(outcome.fastest < HANG, "{args:?}: {:?}", outcome.fastest);
    assert!(
        outcome.peak < own_memory() + MEMORY,
        "{args:?}: {} bytes resident",
        outcome.peak
    );
}

/// A sparse file of `size` bytes with these contents.
fn image(path: &Path, size: u64, contents: &[(u64, &[u8])]) {
    let mut file = File::create(path).expect("a scratch file");
    file.set_len(size).expect("a sparse file");
    for (offset, bytes) in contents {
        file.seek(SeekFrom::Start(*offset)).expect("inside");
        file.write_all(bytes).expect("room for a few sectors");
    }
}

/// A boot record with these entries: type, first sector, number of sectors.
fn boot_record(entries: &[(u8, u32, u32)]) -> [u8; 512] {
    let mut sector = [0; 512];
    for (entry, (kind, start, count)) in sector[446..].chunks_exact_mut(16).zip(entries) {
        entry[4] = *kind;
        entry[8..12].copy_from_slice(&start.to_le_bytes());
        entry[12..].copy_from_slice(&count.to_le_bytes());
    }
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

/// What a GPT claims about its entries.
#[derive(Clone, Copy)]
struct Claims {
    entries: u32,
    entry_size: u32,
    entries_at: u64,
}

const USUAL: Claims = Claims {
    entries: 128,
    entry_size: 128,
    entries_at: 2,
};

/// A disk of `size` bytes whose GPT makes these claims, every checksum of it right, with one partition from sector 64.
fn gpt(path: &Path, size: u64, claims: Claims) {
    let last = size / SECTOR - 1;
    let mut entries = vec![0; 16_384];
    entries[..16]
        .copy_from_slice(b"\xa2\xa0\xd0\xeb\xe5\xb9\x33\x44\x87\xc0\x68\xb6\xb7\x26\x99\xc7");
    entries[16..32].fill(1);
    entries[32..40].copy_from_slice(&64_u64.to_le_bytes());
    entries[40..48].copy_from_slice(&127_u64.to_le_bytes());
    let claimed = u64::from(claims.entries) * u64::from(claims.entry_size);
    let summed = usize::try_from(claimed)
        .unwrap_or(usize::MAX)
        .min(entries.len());
    let header = |this: u64, other: u64, at: u64| {
        let mut header = Vec::new();
        header.extend(b"EFI PART");
        header.extend([0, 0, 1, 0, 92, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for lba in [this, other, 34, last - 33] {
            header.extend(lba.to_le_bytes());
        }
        header.extend([7; 16]);
        header.extend(at.to_le_bytes());
        for n in [
            claims.entries,
            claims.entry_size,
            crc32fast::hash(&entries[..summed]),
        ] {
            header.extend(n.to_le_bytes());
        }
        let sum = crc32fast::hash(&header);
        header[16..20].copy_from_slice(&sum.to_le_bytes());
        header
    };
    let backup_at = if claims.entries_at == USUAL.entries_at {
        last - 32
    } else {
        claims.entries_at
    };
    let sectors = u32::try_from(last).unwrap_or(u32::MAX);
    image(
        path,
        size,
        &[
            (0, &boot_record(&[(0xee, 1, sectors)])),
            (SECTOR, &header(1, last, claims.entries_at)),
            (2 * SECTOR, &entries),
            ((last - 32) * SECTOR, &entries),
            (last * SECTOR, &header(last, 1, backup_at)),
        ],
    );
}

#[test]
fn a_usual_gpt_is_not_complained_about() {
    let here = scratch();
    let path = here.path().join("gpt.img");
    gpt(&path, MIB, USUAL);
    let outcome = check(&[&path]);
    assert!(!outcome.text.contains("STR9"), "{}", outcome.text);
    assert!(
        outcome.text.contains("starts at 32 KiB"),
        "{}",
        outcome.text
    );
}

#[test]
fn a_gpt_with_four_thousand_million_entries() {
    let here = scratch();
    let path = here.path().join("gpt.img");
    let claims = Claims {
        entries: u32::MAX,
        ..USUAL
    };
    gpt(&path, MIB, claims);
    expect(
        &path,
        1,
        &[
            "warning[STR901]: ",
            "the GPT records 4294967295 entries of 128 bytes; 128 fit between LBA 2 and byte 17408: the first 128 are read",
            "gpt.img, byte 0x250",
            "starts at 32 KiB",
        ],
    );
}

#[test]
fn gpt_entries_of_impossible_size() {
    for entry_size in [0, 1, 127, 1 << 31, u32::MAX] {
        for entries in [128, u32::MAX] {
            let here = scratch();
            let path = here.path().join("gpt.img");
            let claims = Claims {
                entries,
                entry_size,
                ..USUAL
            };
            gpt(&path, MIB, claims);
            let size = format!(
                "the GPT records entries of {entry_size} bytes; expected 128, 256, 512 or another 128 × 2^n up to 4096"
            );
            expect(
                &path,
                1,
                &["warning[STR901]: ", &size, "gpt.img, byte 0x254"],
            );
        }
    }
}

#[test]
fn gpt_entries_of_unusual_but_legal_size() {
    let here = scratch();
    let path = here.path().join("gpt.img");
    let claims = Claims {
        entries: 64,
        entry_size: 256,
        ..USUAL
    };
    gpt(&path, MIB, claims);
    let outcome = check(&[&path]);
    assert!(!outcome.text.contains("STR9"), "{}", outcome.text);
    assert!(
        outcome.text.contains("starts at 32 KiB"),
        "{}",
        outcome.text
    );
    let claims = Claims {
        entry_size: 256,
        ..USUAL
    };
    gpt(&path, MIB, claims);
    expect(
        &path,
        1,
        &[
            "the GPT records 128 entries of 256 bytes; 64 fit",
            "byte 0x250",
        ],
    );
}

#[test]
fn gpt_entries_beyond_the_end_of_everything() {
    for entries_at in [u64::MAX, u64::MAX / 512, 1 << 55, 1 << 40, 0, 1] {
        let here = scratch();
        let path = here.path().join("gpt.img");
        let claims = Claims {
            entries_at,
            ..USUAL
        };
        gpt(&path, MIB, claims);
        let place = format!("the GPT records its entries at LBA {entries_at}; expected 2 to 2047");
        expect(
            &path,
            1,
            &["warning[STR901]: ", &place, "gpt.img, byte 0x248"],
        );
    }
}

#[test]
fn chains_of_extended_boot_records_that_loop() {
    let here = scratch();
    let path = here.path().join("chain.img");
    let outer = boot_record(&[(5, 64, 1900)]);
    // To itself, and around two.
    let own = boot_record(&[(0x83, 1, 10), (5, 0, 100)]);
    image(&path, MIB, &[(0, &outer), (64 * SECTOR, &own)]);
    let returns = "returns to the one at byte 32768; it is followed once";
    expect(&path, 1, &["warning[STR901]: ", returns, "partition 5"]);
    let first = boot_record(&[(0x83, 1, 10), (5, 100, 100)]);
    let second = boot_record(&[(0x83, 1, 10), (5, 0, 100)]);
    let contents: [(u64, &[u8]); 3] = [(0, &outer), (64 * SECTOR, &first), (164 * SECTOR, &second)];
    image(&path, MIB, &contents);
    expect(&path, 1, &["warning[STR901]: ", returns, "partition 6"]);
}

#[test]
fn a_chain_of_extended_boot_records_that_runs_backwards() {
    let here = scratch();
    let path = here.path().join("chain.img");
    let contents: [(u64, &[u8]); 4] = [
        (0, &boot_record(&[(5, 64, 1900)])),
        (64 * SECTOR, &boot_record(&[(0x83, 1, 10), (5, 400, 100)])),
        (464 * SECTOR, &boot_record(&[(0x83, 1, 10), (5, 200, 100)])),
        (264 * SECTOR, &boot_record(&[(0x83, 1, 10)])),
    ];
    image(&path, MIB, &contents);
    expect(
        &path,
        1,
        &[
            "warning[STR901]: ",
            "the chain of extended boot records runs backwards, from byte 237568 to 135168",
            "byte 0x3a1d6",
            "partition 7",
        ],
    );
}

#[test]
fn a_chain_of_extended_boot_records_without_end() {
    let here = scratch();
    let path = here.path().join("chain.img");
    let outer = boot_record(&[(5, 64, u32::MAX - 64)]);
    let mut records = vec![(0, outer)];
    for n in 0..20_000_u32 {
        let record = boot_record(&[(0x83, 1, 1), (5, (n + 1) * 2, 2)]);
        records.push(((64 + u64::from(n) * 2) * SECTOR, record));
    }
    let contents: Vec<(u64, &[u8])> = records.iter().map(|(at, r)| (*at, &r[..])).collect();
    image(&path, 64 * MIB, &contents);
    let outcome = check(&[&path]);
    assert_eq!(outcome.code, 1);
    let limit = "note[STR903]: ";
    let more = "more than 256 extended boot records; the rest is not looked at";
    assert!(outcome.text.contains(limit) && outcome.text.contains(more));
    // The report on hundreds of partitions is long, so this is no matter of 50 ms in a build without optimisation.
    assert!(outcome.fastest < 40 * HANG, "{:?}", outcome.fastest);
    assert!(
        outcome.peak < own_memory() + MEMORY,
        "{} bytes resident",
        outcome.peak
    );
}

#[test]
fn partitions_that_overlap() {
    let here = scratch();
    let path = here.path().join("overlap.img");
    let table = boot_record(&[(7, 64, 500), (0x83, 300, 500)]);
    image(&path, MIB, &[(0, &table)]);
    expect(
        &path,
        1,
        &[
            "error[STR107]: ",
            "partition 2 starts at byte 153,600, inside partition 1, which ends at 288,768",
            "overlap.img, byte 0x1d6",
        ],
    );
}

#[test]
fn truncated_files() {
    let here = scratch();
    let whole = here.path().join("whole.img");
    gpt(&whole, MIB, USUAL);
    let bytes = fs::read(&whole).expect("a scratch file");
    let path = here.path().join("cut.img");
    for len in [512, 513, 600, 1023] {
        fs::write(&path, &bytes[..len]).expect("a scratch file");
        let there = if len == 1023 {
            "1,023".to_owned()
        } else {
            len.to_string()
        };
        let ends = format!(
            "it protects bytes up to 1,048,576, and {there} are there: the copy is cut off"
        );
        expect(
            &path,
            2,
            &[
                "warning[STR901]: ",
                &ends,
                "cut.img, byte 0x1c2",
                "the MBR protects a GPT (type ee), but neither of its copies is found; expected EFI PART at LBA 1",
            ],
        );
    }
    for len in [1024, 1100, 17_408, 40_000, MIB - 1] {
        let len = usize::try_from(len).expect("small");
        fs::write(&path, &bytes[..len]).expect("a scratch file");
        expect(&path, 1, &["STR901", "cut.img, byte 0x"]);
    }
    // Too short for a table: a file like any other, or an image that nothing is recognised in.
    for len in [1, 509, 511] {
        fs::write(&path, &bytes[..len]).expect("a scratch file");
        let size = format!("{len} B");
        let outcome = check(&[&path]);
        assert!(outcome.text.contains(&size), "{}", outcome.text);
        expect_all(&[Path::new("--as=image"), &path], 0, &[&size]);
    }
}

#[test]
fn an_empty_file() {
    let here = scratch();
    let path = here.path().join("empty.img");
    image(&path, 0, &[]);
    expect(
        &path,
        2,
        &[
            "error: ",
            "empty.img is empty: 0 bytes found; expected a disk image",
        ],
    );
    // A file of the kernel that says it is empty, and cannot be read either.
    expect(
        Path::new("/proc/self/mem"),
        2,
        &["/proc/self/mem is empty: 0 bytes found"],
    );
}

#[test]
fn a_directory() {
    let here = scratch();
    let one = boot_record(&[(7, 63, 500)]);
    image(&here.path().join("one.img"), MIB, &[(0, &one)]);
    image(&here.path().join("empty.img"), 0, &[]);
    fs::write(here.path().join("readme.txt"), "words").expect("a scratch file");
    // A link to the directory itself is not followed.
    std::os::unix::fs::symlink(here.path(), here.path().join("again")).expect("a link");
    expect(
        here.path(),
        1,
        &[
            "STR101",
            "3 targets: 1 with errors, 2 in which nothing was recognised",
        ],
    );
}

#[test]
fn things_that_are_no_files() {
    let here = scratch();
    let expected = "; expected a disk image, a file on a mounted filesystem, or a block device";
    let says = |what: &str| format!(" is {what}{expected}");
    expect(
        Path::new("/dev/zero"),
        2,
        &["/dev/zero", &says("a character device")],
    );
    let fifo = here.path().join("fifo");
    tool("coreutils", Command::new("mkfifo").arg(&fifo));
    expect(&fifo, 2, &["fifo", &says("a FIFO")]);
    expect(
        &here.path().join("nothing"),
        2,
        &["cannot open", "nothing: No such file or directory"],
    );
    let nothing = PathBuf::from("/proc/self/fd/99999");
    expect(&nothing, 2, &["cannot open /proc/self/fd/99999"]);
}

/// A device that vanishes, wherever that happens: strace answers the reads of the target in the kernel's place.
#[test]
fn a_device_that_vanishes() {
    let here = scratch();
    let path = here.path().join("disk.img");
    let table = boot_record(&[(7, 64, 500), (0x83, 600, 500)]);
    image(&path, MIB, &[(0, &table)]);
    let answered = |answer: &str| {
        let output = Command::new("strace")
            .args(["-f", "-o", "/dev/null", "-e", "trace=pread64", "-P"])
            .arg(&path)
            .args(["-e", &format!("inject=pread64:{answer}")])
            .arg(env!("CARGO_BIN_EXE_straddle"))
            .env("STRADDLE_HISTORY", "none")
            .args(["check", "--as", "image"])
            .arg(&path)
            .output()
            .unwrap_or_else(|error| {
                panic!("this test needs `strace` of the Debian package strace: {error}")
            });
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert!(!text.contains("panicked"), "{text}");
        (output.status.code(), text)
    };
    // From the first byte on, by an error; nothing more is read of a device that fails.
    let (code, text) = answered("error=ENXIO");
    assert_eq!(code, Some(2), "{text}");
    let gone = "while looking for gpt: reading 2 bytes at 0x1fe failed: No such device or address";
    assert!(
        text.contains("warning[STR903]: ") && text.contains(gone),
        "{text}"
    );
    assert_eq!(text.matches("STR903]").count(), 1, "{text}");
    // By becoming shorter than it was when it was opened.
    let (code, text) = answered("retval=0");
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("reading 2 bytes at 0x1fe gave fewer bytes than the size promised"),
        "{text}"
    );
    // After the table: what is known of it is printed all the same.
    for answer in ["error=EIO:when=2+", "retval=0:when=2+"] {
        let (code, text) = answered(answer);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("STR903"), "{text}");
        assert!(text.contains("starts at 32 KiB"), "{text}");
        assert!(text.contains("starts at 300 KiB"), "{text}");
    }
}

/// The same with a real device, where this user may make one.
#[test]
fn a_loop_device_whose_file_is_cut() {
    let here = scratch();
    let path = here.path().join("disk.img");
    let table = boot_record(&[(7, 64, 500)]);
    image(&path, MIB, &[(0, &table)]);
    let output = Command::new("losetup")
        .args(["--find", "--show"])
        .arg(&path)
        .output()
        .unwrap_or_else(|error| {
            panic!("this test needs `losetup` of the Debian package mount: {error}")
        });
    if !output.status.success() {
        // Needs root and loop devices; the case above is the one that holds everywhere.
        return;
    }
    let device = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    File::options()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_len(0))
        .expect("the file can be cut");
    let outcome = check(&[&device]);
    tool(
        "mount",
        Command::new("losetup").arg("--detach").arg(&device),
    );
    assert_eq!(outcome.code, 1, "{}", outcome.text);
    let gone = "while looking for gpt: reading 2 bytes at 0x1fe failed: Input/output error";
    assert!(outcome.text.contains(gone), "{}", outcome.text);
    assert!(outcome.fastest < 4 * HANG, "{:?}", outcome.fastest);
    assert!(outcome.peak < own_memory() + MEMORY, "{}", outcome.peak);
}

#[test]
fn the_longest_file_there_can_be() {
    // Only tmpfs takes a file of this length.
    let here = tempfile::tempdir_in("/dev/shm").expect("a tmpfs at /dev/shm");
    let path = here.path().join("huge.img");
    const MAX_LEN: u64 = (1 << 63) - 1;
    let shown = "≈8.00 EiB";
    image(&path, MAX_LEN, &[]);
    expect_all(&[Path::new("--as=image"), &path], 0, &[shown]);
    expect(&path, 0, &[shown, "STR903"]);
    // With a table at either end, and a partition that fills it.
    gpt(&path, MAX_LEN, USUAL);
    expect(&path, 0, &["partition table gpt", "starts at 32 KiB"]);
    image(
        &path,
        MAX_LEN,
        &[(0, &boot_record(&[(0x83, 63, u32::MAX)]))],
    );
    expect(&path, 1, &["STR101", "partition 1"]);
}
