//! Filesystems that the real tools made: left in order, and not.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use straddle_geometry::{Bytes, Extent};
use straddle_realign::Refusal;
use straddle_realign::contents::check;

use crate::tables::tool;

const SIZE: u64 = 320 << 20;

/// A file in which a tool made a filesystem, and its name.
fn made(dir: &Path, name: &str, make: &[&str]) -> PathBuf {
    let path = dir.join(name);
    let file = fs::File::create(&path).expect("creates");
    file.set_len(SIZE).expect("sparse");
    let (tool_name, args) = make.split_first().expect("a tool");
    let mut args = args.to_vec();
    args.push(path.to_str().expect("plain"));
    tool(tool_name, &args, "");
    path
}

/// What is said of it, 1 MiB into a disk.
fn found(path: &Path, format: &str) -> Result<Option<String>, Refusal> {
    struct Shifted(fs::File);
    const START: u64 = 1 << 20;
    impl straddle_io::ReadAt for Shifted {
        fn size(&self) -> Bytes {
            Bytes::new(SIZE + START)
        }
        fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> std::io::Result<usize> {
            match offset.get().checked_sub(START) {
                Some(at) => self.0.read_at(buf, at),
                None => {
                    let len = buf
                        .len()
                        .min(usize::try_from(START - offset.get()).expect("small"));
                    buf[..len].fill(0xaa);
                    Ok(len)
                }
            }
        }
    }
    let disk = Shifted(fs::File::open(path).expect("is there"));
    let place = Extent::new(Bytes::new(START), Bytes::new(SIZE)).expect("small");
    check(&disk, 3, place, Some(format))
}

fn assert_refused(path: &Path, format: &str, words: &[&str]) {
    let refusal = found(path, format).expect_err("it was not left in order");
    let text = refusal.to_string();
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
}

fn set(path: &Path, at: u64, bytes: &[u8]) {
    let file = fs::File::options()
        .write(true)
        .open(path)
        .expect("is there");
    file.write_all_at(bytes, at).expect("writes");
}

fn get(path: &Path, at: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let file = fs::File::open(path).expect("is there");
    file.read_exact_at(&mut bytes, at).expect("reads");
    bytes
}

/// A copy of a filesystem as it is while it is mounted and something in it was just written, and the same once it was unmounted.
fn mounted(path: &Path, options: &str) -> (PathBuf, PathBuf) {
    let dir = path.parent().expect("a directory");
    let (at, dirty) = (dir.join("mounted"), path.with_extension("dirty"));
    fs::create_dir_all(&at).expect("a directory");
    let [path_text, at_text, dirty_text] =
        [path, &at, &dirty].map(|path| path.to_str().expect("plain"));
    tool("mount", &["-o", options, path_text, at_text], "");
    let written = format!("of={at_text}/file");
    let copied = std::panic::catch_unwind(|| {
        // Another process writes the file: what a test beside this one starts would hold one that is open here, until its own program runs, and the mount would be busy.
        let args = ["if=/dev/zero", &written, "bs=70000", "count=1"];
        tool(
            "dd",
            &[&args[..], &["conv=fsync", "status=none"]].concat(),
            "",
        );
        tool("cp", &["--sparse=always", path_text, dirty_text], "");
    });
    tool("umount", &[at_text], "");
    copied.expect("copies");
    (dirty, path.to_owned())
}

#[test]
fn journals_of_linux_that_wait_are_found() {
    let dir = tempfile::tempdir().expect("a directory");
    for (format, make, options, words) in [
        (
            "ext4",
            &["mkfs.ext4", "-q", "-F"][..],
            "loop",
            ["journal that was not replayed", "e2fsck -p"],
        ),
        (
            "xfs",
            &["mkfs.xfs", "-q"],
            "loop",
            ["log that was not replayed", "mount and unmount it"],
        ),
        (
            "btrfs",
            &["mkfs.btrfs", "-q"],
            // A log tree waits until the next transaction, which comes by the clock: not before a busy machine has copied it.
            "loop,commit=100000",
            ["log tree that was not replayed", "mount and unmount it"],
        ),
    ] {
        let path = made(dir.path(), format, make);
        assert_eq!(found(&path, format), Ok(None), "{format} as it was made");
        let (dirty, clean) = mounted(&path, options);
        assert_eq!(
            found(&clean, format),
            Ok(None),
            "{format} once it was unmounted"
        );
        assert_refused(&dirty, format, &words);
    }
}

#[test]
fn a_log_of_xfs_is_followed_around_the_ring() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = made(dir.path(), "ring", &["mkfs.xfs", "-q"]);
    let text = path.to_str().expect("plain");
    for cycle in ["2", "9"] {
        tool(
            "xfs_db",
            &["-x", "-c", &format!("logformat -c {cycle} -s 16"), text],
            "",
        );
        assert_eq!(found(&path, "xfs"), Ok(None), "turn {cycle}");
    }
    // Of the last record, the flag that says "unmount": the head is where xfs_logprint finds it.
    let printed = tool("xfs_logprint", &["-t", text], "");
    assert!(printed.contains("<CLEAN>"), "{printed}");
    let block = |at| {
        u64::from(u32::from_be_bytes(
            get(&path, at, 4).try_into().expect("four"),
        ))
    };
    let first = u64::from_be_bytes(get(&path, 48, 8).try_into().expect("eight"));
    let shift = get(&path, 124, 1)[0];
    let start = ((first >> shift) * block(84) + (first & ((1 << shift) - 1))) * block(4);
    let flags = start + 512 + 9;
    assert_eq!(get(&path, flags, 1), [0x20]);
    set(&path, flags, &[0]);
    assert_refused(&path, "xfs", &["log that was not replayed"]);
}

#[test]
fn states_of_ext_are_told_apart() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = made(dir.path(), "ext", &["mkfs.ext2", "-q", "-F"]);
    let text = path.to_str().expect("plain");
    assert_eq!(found(&path, "ext2"), Ok(None));
    tool("debugfs", &["-w", "-R", "ssv state 0", text], "");
    assert_refused(&path, "ext2", &["partition 3", "was not unmounted cleanly"]);
    tool("debugfs", &["-w", "-R", "ssv state 3", text], "");
    assert_refused(&path, "ext2", &["has recorded errors"]);
}

#[test]
fn flags_of_fat_and_exfat_are_found() {
    let dir = tempfile::tempdir().expect("a directory");
    for (bits, entry, unmounted, errors) in [("16", 2_u64, 0x80_u8, 0x40_u8), ("32", 4, 0x08, 0x04)]
    {
        let path = made(dir.path(), bits, &["mkfs.fat", "-F", bits]);
        assert_eq!(found(&path, "fat"), Ok(None), "FAT{bits}");
        let boot = get(&path, 0, 512);
        let word = |at: usize| u64::from(u16::from_le_bytes([boot[at], boot[at + 1]]));
        let top = word(14) * word(11) + entry + entry - 1;
        let was = get(&path, top, 1)[0];
        set(&path, top, &[was & !unmounted]);
        assert_refused(&path, "fat", &["dirty flag", "fsck.fat"]);
        set(&path, top, &[was & !errors]);
        assert_refused(&path, "fat", &["recorded errors"]);
        set(&path, top, &[was]);
        set(&path, if bits == "32" { 65 } else { 37 }, &[1]);
        assert_refused(&path, "fat", &["dirty flag"]);
    }
    let path = made(dir.path(), "exfat", &["mkfs.exfat"]);
    assert_eq!(found(&path, "exfat"), Ok(None));
    set(&path, 106, &[2]);
    assert_refused(&path, "exfat", &["dirty flag", "chkdsk"]);
    set(&path, 106, &[4]);
    assert_refused(&path, "exfat", &["recorded errors"]);
}

/// Where the record of a file of NTFS with this number is.
fn record(path: &Path, number: u64) -> u64 {
    let boot = get(path, 0, 512);
    let cluster = u64::from(u16::from_le_bytes([boot[11], boot[12]])) * u64::from(boot[13]);
    let mft = u64::from_le_bytes(boot[48..56].try_into().expect("eight"));
    mft * cluster + number * 1024
}

#[test]
fn a_dirty_ntfs_and_a_sleeping_windows_are_found() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = made(dir.path(), "ntfs", &["mkntfs", "-q", "-F", "-f"]);
    let text = path.to_str().expect("plain");
    assert_eq!(found(&path, "ntfs"), Ok(None));
    // $VOLUME_INFORMATION of $Volume: its attribute is 24 bytes of head and 12 of value.
    let volume = record(&path, 3);
    let bytes = get(&path, volume, 1024);
    let at = bytes
        .windows(4)
        .position(|raw| raw == [0x70, 0, 0, 0])
        .expect("it has one");
    let flags = volume + at as u64 + 24 + 10;
    set(&path, flags, &[1]);
    assert_refused(&path, "ntfs", &["is marked dirty", "chkdsk /f"]);
    set(&path, flags, &[0]);
    // What Windows writes at the head of the file says whether it sleeps; ntfs-3g mounts it only when it does not.
    let source = dir.path().join("sleep");
    let mark = b"....a file that is to be found again";
    let mut bytes = mark.to_vec();
    bytes.resize(70_000, 0);
    fs::write(&source, bytes).expect("writes");
    tool(
        "ntfscp",
        &["-f", text, source.to_str().expect("plain"), "hiberfil.sys"],
        "",
    );
    let whole = fs::read(&path).expect("reads");
    let mut clusters = (0..whole.len()).step_by(4096);
    let head = clusters
        .find(|at| whole[*at..].starts_with(mark))
        .expect("it is there") as u64;
    for (word, is_refused) in [(b"HIBR", true), (b"wake", true), (&[0; 4], false)] {
        set(&path, head, word);
        match is_refused {
            true => assert_refused(&path, "ntfs", &["hibernated", "fast startup"]),
            false => assert_eq!(found(&path, "ntfs"), Ok(None)),
        }
    }
    // A log with a client that is at work.
    let boot = get(&path, 0, 16);
    let cluster = u64::from(u16::from_le_bytes([boot[11], boot[12]])) * u64::from(boot[13]);
    let log = log_place(&path) * cluster;
    let mut page = vec![0; 4096];
    page[..4].copy_from_slice(b"RSTR");
    page[24..26].copy_from_slice(&48_u16.to_le_bytes());
    page[48 + 12..48 + 14].copy_from_slice(&0_u16.to_le_bytes());
    set(&path, log, &page);
    assert_refused(&path, "ntfs", &["log that was not closed"]);
    page[48 + 14] = 2;
    set(&path, log, &page);
    assert_eq!(found(&path, "ntfs"), Ok(None), "said to be clean");
    page[48 + 14] = 0;
    page[48 + 12..48 + 14].fill(0xff);
    set(&path, log, &page);
    assert_eq!(found(&path, "ntfs"), Ok(None), "nobody is at work");
}

/// The first cluster of $LogFile, from its record: the first run of its data.
fn log_place(path: &Path) -> u64 {
    let bytes = get(path, record(path, 2), 1024);
    let at = bytes
        .windows(4)
        .position(|raw| raw == [0x80, 0, 0, 0])
        .expect("it has data");
    let run = at + usize::from(u16::from_le_bytes([bytes[at + 32], bytes[at + 33]]));
    let (lens, starts) = (usize::from(bytes[run] & 15), usize::from(bytes[run] >> 4));
    let start = &bytes[run + 1 + lens..run + 1 + lens + starts];
    start
        .iter()
        .rev()
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[test]
fn what_depends_on_its_place_is_refused_and_what_is_unknown_is_said() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("empty");
    fs::File::create(&path)
        .expect("creates")
        .set_len(SIZE)
        .expect("sparse");
    assert_refused(
        &path,
        "ldm",
        &["dynamic disk", "convert the disk to a basic one"],
    );
    assert_refused(&path, "bitlocker", &["BitLocker", "manage-bde -off"]);
    assert_eq!(found(&path, "lvm2"), Ok(None));
    let note = found(&path, "qnx6")
        .expect("no reason to refuse")
        .expect("a note");
    assert!(note.contains("whether qnx6 records where it is"), "{note}");
    let disk = get(&path, 0, 4096);
    let place = Extent::new(Bytes::ZERO, Bytes::new(4096)).expect("small");
    let note = check(&disk, 1, place, None)
        .expect("no reason to refuse")
        .expect("a note");
    assert!(
        note.contains("nothing was recognised in partition 1"),
        "{note}"
    );
    // A system that sleeps in its swap.
    assert_eq!(found(&path, "swap"), Ok(None));
    set(&path, 4096 - 10, b"S1SUSPEND");
    assert_refused(&path, "swap", &["hibernated"]);
}
