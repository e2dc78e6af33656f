//! What scripts must not do.

use std::fs::{self, File};
use std::process::Command;

use super::contents::contents;
use super::ways::MIB;
use super::ways::On::{self, Ext4, Luks, Noise, Swap, Xfs};
use super::ways::Table::{Gpt, Mbr};
use super::{TOOLS, places, run_script, script, sh, small, write_at};
use crate::support::{in_memory, lint, straddle, tool};

#[test]
fn no_other_disk_is_touched() {
    for (tool, table) in TOOLS {
        let folder = in_memory();
        let folder = folder.path();
        small(folder, "disk.img", table);
        let disk = folder.join("disk.img");
        let text = script(folder, "disk.img", tool);
        let whole = fs::read(&disk).expect("readable");
        let refused = |said: &str, changed: &[u8], args: &[&str], tools: &[(&str, &str)]| {
            fs::write(&disk, changed).expect("writable");
            let (code, out) = run_script(folder, &text, args, tools);
            assert_eq!(code, 2, "{tool}: {out}");
            assert!(out.contains(said), "{tool}: {out}");
            assert!(
                fs::read(&disk).expect("readable") == changed,
                "{tool}: {said}: it was written to"
            );
        };
        let longer = [whole.as_slice(), &[0; 512]].concat();
        refused("it is another disk", &longer, &["--yes"], &[]);
        refused(
            "it is another disk",
            &whole[..whole.len() - 512],
            &["--yes"],
            &[],
        );
        // The identifier of the table: in an MBR at byte 440, in a GPT at byte 56 of its header.
        let mut other = whole.clone();
        other[if table == Mbr { 440 } else { 512 + 56 }] ^= 1;
        refused("it is another disk", &other, &["--yes"], &[]);
        let pool = format!("echo '  {} ONLINE 0 0 0'", disk.display());
        refused("is in a ZFS pool", &whole, &["--yes"], &[("zpool", &pool)]);
        // A partition that is longer than planned, and one that nobody planned.
        let mut other = whole.clone();
        other[if table == Mbr { 446 + 12 } else { 1024 + 40 }] ^= 1;
        refused("it was changed", &other, &["--yes"], &[]);
        if table == Mbr {
            let mut other = whole.clone();
            let entry = [0, 0, 0, 0, 0x83, 0, 0, 0, 0, 0xa0, 0, 0, 8, 0, 0, 0];
            other[462..478].copy_from_slice(&entry);
            refused("it was changed", &other, &["--yes"], &[]);
        }
        refused("usage:", &whole, &["--maybe"], &[]);
        refused("cannot make a folder", &whole, &["--yes", "nowhere"], &[]);
        let full = "echo 'Filesystem 1024-blocks Used Available Capacity Mounted on'; echo 'x 1 1 99 1% /'";
        refused("has room for 99 KiB", &whole, &["--yes"], &[("df", full)]);
        // What the tool cannot do, or does otherwise than planned, is found on a copy of the table.
        let fails =
            format!("case \"$*\" in *--dump*) exec /usr/sbin/{tool} \"$@\" ;; esac; exit 1");
        refused(
            "does not take the new table",
            &whole,
            &["--yes"],
            &[(tool, &fails)],
        );
        let idle = format!("case \"$*\" in *--dump*) exec /usr/sbin/{tool} \"$@\" ;; esac; exit 0");
        refused("rehearsed on a copy", &whole, &["--yes"], &[(tool, &idle)]);
        let kept = fs::read_dir(folder)
            .expect("readable")
            .filter_map(Result::ok);
        let kept: Vec<_> = kept
            .filter(|entry| entry.path().join("step-1/table.before").exists())
            .collect();
        assert!(
            kept.is_empty(),
            "{tool}: copies of what was refused: {kept:?}"
        );
        // Without --yes nothing is written either.
        fs::write(&disk, &whole).expect("writable");
        let (code, out) = run_script(folder, &text, &[], &[]);
        assert_eq!(code, 0, "{out}");
        assert!(out.contains("run it again with --yes"), "{out}");
        assert!(fs::read(&disk).expect("readable") == whole);
        // What fails later says in which state things are, and what goes on from there does.
        let fails = "case \"$*\" in *of=./disk.img*) exit 1 ;; esac; exec /bin/dd \"$@\"";
        let (code, out) = run_script(folder, &text, &["--yes"], &[("dd", fails)]);
        assert_eq!(code, 1, "{tool}: {out}");
        assert!(
            out.contains("stopped while moving partition"),
            "{tool}: {out}"
        );
        let go_on = out.rsplit("--go-on ").next().expect("a folder").trim();
        let (code, out) = run_script(folder, &text, &["--yes", "--go-on", go_on], &[]);
        assert_eq!(code, 0, "{tool}: {out}");
        assert_eq!(places(&disk)[0].1, 2048, "{tool}");
    }
}

#[test]
fn names_are_quoted_or_refused() {
    let folder = in_memory();
    let folder = folder.path();
    for name in ["it's a \"quoted\" $HOME `id` \\.img", "-it's.img", "*.img"] {
        // All tools with the worst name; what is quoted with the others does not depend on the tool.
        let tools = if name.contains('$') { 4 } else { 2 };
        for (tool, table) in TOOLS.into_iter().take(tools) {
            small(folder, name, table);
            let text = script(folder, name, tool);
            let (code, out) = run_script(folder, &text, &["--yes"], &[]);
            assert_eq!(code, 0, "{tool}, {name}: {out}");
            let disk = folder.join(name);
            assert_eq!(places(&disk)[0].1, 2048, "{tool}, {name}");
            lint(&text);
            fs::remove_file(disk).expect("there");
        }
    }
    for name in ["two\nlines.img", "bell\u{7}.img", "\u{202e}gmi.img"] {
        small(folder, name, Mbr);
        let run = straddle(
            folder,
            &[
                "fix",
                "--only",
                "partitions",
                "--script",
                "sfdisk",
                "--",
                name,
            ],
        );
        assert_eq!(run.code, Some(2), "{}", run.transcript());
        assert!(
            run.stderr.contains("not safe in a script"),
            "{}",
            run.stderr
        );
    }
}

/// A table, what lies on it, and why no script moves it.
type Hindered = (
    &'static str,
    u64,
    &'static str,
    On,
    &'static [&'static str],
    &'static str,
);

#[test]
fn what_a_script_must_not_do_is_said() {
    const MBR: &str = "label: dos\n";
    #[rustfmt::skip]
    let cases: [Hindered; 6] = [
        ("63 20000 83; 15000 9000 83", 32 * MIB, MBR, Noise, &[], "partition 1 and partition 2 overlap"),
        ("63 65473 83", 65_536, MBR, Xfs, &["--stripe-unit", "64K"], "XFS cannot be made smaller"),
        ("63 65473 82", 65_536, MBR, Swap, &["--stripe-unit", "64K"], "mkswap -U UUID DEVICE 31744"),
        ("63 65473 83", 65_536, MBR, Luks, &["--stripe-unit", "64K"], "LUKS itself records no length"),
        ("63 65473 83", 65_536, MBR, Noise, &["--stripe-unit", "64K"], "was not recognised"),
        ("63 65473 83", 65_536, MBR, Ext4, &["--stripe-unit", "16M"], "there is no room for it"),
    ];
    for (table, sectors, label, on, flags, why) in cases {
        let folder = in_memory();
        let folder = folder.path();
        let disk = folder.join("disk.img");
        File::create(&disk)
            .and_then(|file| file.set_len(sectors * 512))
            .expect("writable");
        let mut all = label.to_owned();
        let rows: Vec<Vec<&str>> = table
            .split("; ")
            .map(|row| row.split(' ').collect())
            .collect();
        if let [only] = rows.as_slice() {
            all += &format!("start={}, size={}, type={}\n", only[0], only[1], only[2]);
        }
        fs::write(folder.join("table"), all).expect("writable");
        sh(folder, "sfdisk -q --force --wipe never disk.img < table");
        let number = |text: &str| text.parse::<u64>().expect("a number");
        if rows.len() > 1 {
            // No tool makes such a table, so its entries are written by hand.
            for (row, at) in rows.iter().zip([446, 462]) {
                let word = |text: &str| u32::try_from(number(text)).expect("small").to_le_bytes();
                let entry = [
                    &[0, 0, 0, 0, 0x83, 0, 0, 0][..],
                    &word(row[0]),
                    &word(row[1]),
                ]
                .concat();
                write_at(&disk, at, &entry);
            }
        }
        let (start, len) = (number(rows[0][0]), number(rows[0][1]));
        write_at(&disk, start * 512, &contents(folder, on, start, len));
        let args = [
            &[
                "fix",
                "disk.img",
                "--only",
                "partitions",
                "--script",
                "sfdisk",
            ],
            flags,
        ]
        .concat();
        let run = straddle(folder, &args);
        assert_eq!(run.code, Some(2), "{why}: {}", run.transcript());
        assert!(run.stderr.contains(why), "{why}: {}", run.transcript());
    }
}

#[test]
fn a_hybrid_table_is_not_moved() {
    let folder = in_memory();
    let folder = folder.path();
    small(folder, "disk.img", Gpt);
    tool(
        "gdisk",
        Command::new("sgdisk")
            .args(["--hybrid=1"])
            .arg(folder.join("disk.img")),
    );
    let run = straddle(
        folder,
        &[
            "fix",
            "disk.img",
            "--only",
            "partitions",
            "--script",
            "sgdisk",
        ],
    );
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    assert!(run.stderr.contains("(hybrid)"), "{}", run.stderr);
}

#[test]
fn a_full_filesystem_is_not_made_shorter() {
    let folder = in_memory();
    let folder = folder.path();
    let disk = folder.join("disk.img");
    File::create(&disk)
        .and_then(|file| file.set_len(65_536 * 512))
        .expect("writable");
    sh(
        folder,
        "echo 'start=63, size=65473, type=83' | sfdisk -q disk.img",
    );
    let fill = "truncate -s 33522176 contents; mkdir tree; head -c 28400000 /dev/zero | tr '\\0' x > tree/file; \
                mke2fs -q -t ext4 -F -m 0 -d tree contents";
    sh(folder, fill);
    write_at(
        &disk,
        63 * 512,
        &fs::read(folder.join("contents")).expect("made"),
    );
    let before = fs::read(&disk).expect("readable");
    let run = straddle(
        folder,
        &[
            "fix",
            "--only",
            "partitions",
            "disk.img",
            "--script",
            "sfdisk",
            "--stripe-unit",
            "64K",
        ],
    );
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let (code, out) = run_script(folder, &run.stdout, &["--yes"], &[]);
    assert_eq!(code, 2, "{out}");
    assert!(out.contains("resize2fs cannot make it shorter"), "{out}");
    assert!(fs::read(&disk).expect("readable") == before);
}
