//! Hostile names of images, partitions and labels: every script that runs here carries its plan out on such a file and on no other, or is
//! not written; contents are compared.

use crate::support::{straddle, with_quick_luks};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Names of image files. What a tool, a shell, a terminal or a person might take for something else.
const NAMES: &[&str] = &[
    "--help",
    "--version",
    "-n",
    "./-",
    "--",
    "-v.img",
    "--yes",
    "--go-on",
    "-f",
    "--raw",
    "v.img?offset=0",
    "v.img?offset=1048576",
    "?",
    "v.img?",
    "v.img@@1M",
    "@@",
    "a,b",
    "a,,b",
    ",",
    "format=raw",
    "file:v.img",
    "json:{}",
    "json:{\"driver\":\"raw\"}",
    "nbd:x",
    "nbd://x",
    "fd:0",
    "blkdebug::v.img",
    "raw:v.img",
    "host:v.img",
    "driver=raw,file.filename=v.img",
    "UUID=1234",
    "LABEL=root",
    "PARTUUID=1",
    "/dev/null",
    "two words",
    " leading",
    "trailing ",
    "\u{20}",
    "*",
    "?*[a-z]",
    "[!x]",
    "$HOME",
    "$(touch pwned)",
    "`touch pwned`",
    "${IFS}",
    "a;touch pwned",
    "a|b",
    "a&b",
    "a>b",
    "a<b",
    "!x",
    "it's",
    "'",
    "''",
    "\"",
    "\\",
    "a\\nb",
    "\\040",
    "#x",
    "~",
    "~root",
    "{a,b}",
    "a=b",
    "%s%n",
    "\u{e9}",
    "\u{1f4a9}",
    "a:b",
    ":",
    "C:",
    "a.img.aligned",
    "..img",
    ".hidden",
    "x.",
    "x.img.",
];

/// Those that no script takes: what would be in them hides a line, or shows another name.
const REFUSED: &[&str] = &[
    "two\nlines",
    "a\rb",
    "bell\u{7}",
    "esc\u{1b}[2J",
    "c1\u{9b}2J",
    "del\u{7f}",
    "\u{202e}gmi",
    "\u{61c}x",
    "\u{200f}x",
    "\u{200e}x",
    "\u{2066}x",
    "\u{2069}x",
    "\u{200b}x",
    "\u{200d}x",
    "\u{2028}x",
    "\u{2029}x",
    "\u{feff}x",
    "\u{ad}x",
    "\u{2060}x",
    "\u{e0041}x",
    "\u{180e}x",
    "\u{fff9}x",
];

fn output(folder: &Path, program: &str, args: &[&str]) -> Output {
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(folder)
        .env("PATH", with_quick_luks())
        .env("LUKS_KEY_FILE", folder.join("key"));
    command
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"))
}

#[track_caller]
fn sh(folder: &Path, lines: &str) {
    let done = output(folder, "sh", &["-euc", lines]);
    assert!(done.status.success(), "{lines}: {done:?}");
}

/// A tool, what makes its image `made`, what `straddle fix` is told, and what is the same before and after: lines of shell with `$1`, the
/// image.
struct Writer {
    tool: &'static str,
    make: &'static str,
    flags: &'static [&'static str],
    same: &'static str,
}

const PARTITIONED: &str = "truncate -s 8M made; printf '%s\\n' 'label: gpt' 'first-lba: 34' 'start=34, size=2014, name=\"--help\"' | sfdisk -q made; \
    head -c 1031168 /dev/urandom | dd of=made bs=512 seek=34 conv=notrunc status=none";
const MOVED: &str = "start=$(sfdisk --dump -- \"$1\" | sed -n 's/.*start= *\\([0-9]*\\),.*/\\1/p'); [ \"$start\" = 34 ] || [ \"$start\" = 2048 ]; \
    dd if=\"$1\" bs=512 skip=$start count=2014 status=none | sha256sum; sfdisk --part-label -- \"$1\" 1; sfdisk --part-uuid -- \"$1\" 1";

#[rustfmt::skip]
const WRITERS: &[Writer] = &[
    Writer { tool: "sfdisk", make: PARTITIONED, flags: &["--only", "partitions"], same: MOVED },
    Writer { tool: "parted", make: PARTITIONED, flags: &["--only", "partitions"], same: MOVED },
    Writer { tool: "sgdisk", make: PARTITIONED, flags: &["--only", "partitions"], same: MOVED },
    Writer { tool: "systemd-repart", make: "truncate -s 8M made; printf '%s\\n' 'label: gpt' 'first-lba: 34' 'start=34, size=2008, name=\"--help\"' | sfdisk -q made; \
        head -c 1028096 /dev/urandom | dd of=made bs=512 seek=34 conv=notrunc status=none", flags: &["--only", "partitions"],
        same: "start=$(sfdisk --dump -- \"$1\" | sed -n 's/.*start= *\\([0-9]*\\),.*/\\1/p'); dd if=\"$1\" bs=512 skip=$start count=2008 status=none | sha256sum; sfdisk --part-label -- \"$1\" 1" },
    Writer { tool: "tune2fs", make: "mkdir -p d; echo hi > d/file; truncate -s 8M made; mke2fs -q -t ext4 -b 4096 -L --help -d d made", flags: &["--stripe-unit", "64K", "--only", "hints"],
        same: "ln -sfn \"$1\" link; debugfs -R 'cat file' link 2> /dev/null; e2fsck -fn link > /dev/null 2>&1; blkid -p -o value -s LABEL -s UUID link" },
    Writer { tool: "mkfs", make: "truncate -s 8M made; mke2fs -q -t ext4 -b 1024 -L -x made", flags: &["--only", "filesystem"],
        same: "ln -sfn \"$1\" link; e2fsck -fn link > /dev/null 2>&1; blkid -p -o value -s LABEL -s UUID link" },
    Writer { tool: "cryptsetup", make: "printf secret > key; truncate -s 18M made; cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file key --sector-size 4096 --label=--help made; \
        head -c 1048576 /dev/urandom | dd of=made bs=1M seek=16 conv=notrunc status=none", flags: &["--stripe-unit", "64K", "--stripe-width", "192K", "--only", "payload"],
        same: "ln -sfn \"$1\" link; at=$(cryptsetup luksDump link | sed -n 's/.*offset: \\([0-9]*\\) .bytes.*/\\1/p'); dd if=link bs=1M iflag=skip_bytes,count_bytes skip=$at count=1048576 status=none | sha256sum; cryptsetup luksDump link | grep -e Label -e UUID" },
    Writer { tool: "qemu-img", make: "truncate -s 4M raw; head -c 1M /dev/urandom | dd of=raw bs=1M seek=1 conv=notrunc status=none; qemu-img convert -f raw -O vpc -o subformat=dynamic,force_size=on raw made; rm raw", flags: &["--only", "image"], same: "" },
];

/// Runs a writer's script on a file of this name, which has a neighbour whose name is what a tool could make of it.
fn tried(writer: &Writer, made: &Path, name: &str, is_refused: bool) -> Result<(), String> {
    let folder = tempfile::tempdir_in("/dev/shm").expect("temporary folder");
    let folder = folder.path();
    // A name with a slash in it is in folders.
    let path = folder.join(name.trim_start_matches('/'));
    let name = name.trim_start_matches('/');
    fs::create_dir_all(path.parent().expect("a folder")).map_err(|error| error.to_string())?;
    sh(
        folder,
        &format!(
            "cp --sparse=always -- '{0}/made' new; cp -- '{0}/made' v.img; [ ! -e '{0}/key' ] || cp '{0}/key' .",
            made.display()
        ),
    );
    fs::rename(folder.join("new"), &path).map_err(|error| error.to_string())?;
    let neighbour = fs::read(folder.join("v.img")).expect("readable");
    let args = [
        &["fix"],
        writer.flags,
        &["--script", writer.tool, "--", name],
    ]
    .concat();
    let written = straddle(folder, &args);
    if is_refused {
        return match written.code == Some(2) && written.stderr.contains("not safe in a script") {
            true => Ok(()),
            false => Err(written.transcript()),
        };
    }
    if written.code != Some(0) {
        return Err(written.transcript());
    }
    fs::write(folder.join("fix.sh"), &written.stdout).expect("writable");
    let look = |path: &Path| {
        let path = path.to_str().expect("UTF-8");
        let done = output(folder, "sh", &["-euc", writer.same, "sh", path]);
        match done.status.success() {
            true => Ok(done.stdout),
            false => Err(format!("{done:?}")),
        }
    };
    let before = look(&path)?;
    let bytes = fs::read(&path).expect("readable");
    let done = output(folder, "dash", &["fix.sh", "--yes"]);
    let said = format!("{done:?}");
    if !done.status.success() {
        return Err(said);
    }
    let after = fs::read(&path).expect("readable");
    if (after == bytes) != (writer.tool == "qemu-img") {
        return Err(format!("it was not what was changed: {said}"));
    }
    if look(&path)? != before {
        return Err(format!("its contents are others: {said}"));
    }
    if fs::read(folder.join("v.img")).expect("readable") != neighbour
        || folder.join("pwned").exists()
    {
        return Err(format!("something else was written: {said}"));
    }
    Ok(())
}

/// Each name is tried with some of the writers, or with `STRADDLE_SOAK=1` with all.
fn all(index: usize) {
    let writer = &WRITERS[index];
    // Moving what lies on a partition takes longest.
    let every = if index < 4 || writer.tool == "cryptsetup" {
        8
    } else {
        2
    };
    let is_long = straddle_testkit::is_soak();
    let made = tempfile::tempdir_in("/dev/shm").expect("temporary folder");
    sh(made.path(), writer.make);
    let long = "x".repeat(255);
    let taken = NAMES
        .iter()
        .copied()
        .chain([long.as_str()])
        .map(|name| (name, false));
    let names: Vec<(&str, bool)> = taken
        .chain(REFUSED.iter().map(|name| (*name, true)))
        .collect();
    assert!(NAMES.len() >= 60, "{}", NAMES.len());
    let mut failed = Vec::new();
    for (at, (name, is_refused)) in names.into_iter().enumerate() {
        if !is_long && !is_refused && at % every != index % every {
            continue;
        }
        if let Err(error) = tried(writer, made.path(), name, is_refused) {
            failed.push(format!("{}, {name:?}: {error}", writer.tool));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n---\n"));
}

macro_rules! writers {
    ($($name:ident $index:literal),+) => { $( #[test] fn $name() { all($index); } )+ };
}

writers!(sfdisk 0, parted 1, sgdisk 2, systemd_repart 3, tune2fs 4, mkfs 5, cryptsetup 6, qemu_img 7);
