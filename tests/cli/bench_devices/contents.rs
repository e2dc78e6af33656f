//! What a device may carry: made by the real tools, or by the mark that a format's documentation gives.

use crate::support::tool;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

/// What is on a device.
pub(crate) enum Content {
    /// Made by a tool: the package, and a shell command in which `$f` is the file.
    Tool(&'static str, &'static str),
    /// These bytes at this place, counted from the end when it is negative.
    Bytes(i64, &'static [u8]),
}

use Content::{Bytes, Tool};

pub(crate) const MIB: u64 = 1 << 20;

/// Name, size in MiB, content. Those by bytes are formats whose tools Debian has not, or that need a kernel or a cluster.
pub(crate) const CONTENTS: &[(&str, u64, Content)] = &[
    (
        "dos table",
        8,
        Tool("fdisk", "echo start=2048 | sfdisk -q \"$f\""),
    ),
    (
        "empty dos table",
        8,
        Tool("fdisk", "echo label:dos | sfdisk -q \"$f\""),
    ),
    ("gpt", 8, Tool("fdisk", "echo label:gpt | sfdisk -q \"$f\"")),
    (
        "gpt, only its copy",
        8,
        Tool(
            "fdisk",
            "echo label:gpt | sfdisk -q \"$f\" && dd if=/dev/zero of=\"$f\" bs=512 count=34 conv=notrunc status=none",
        ),
    ),
    (
        "sun label",
        8,
        Tool("fdisk", "echo label:sun | sfdisk -q \"$f\""),
    ),
    (
        "sgi label",
        8,
        Tool("fdisk", "echo label:sgi | sfdisk -q \"$f\""),
    ),
    (
        "mac label",
        8,
        Tool("parted", "parted -s \"$f\" mklabel mac"),
    ),
    (
        "bsd label",
        8,
        Tool("parted", "parted -s \"$f\" mklabel bsd"),
    ),
    (
        "amiga label",
        8,
        Tool("parted", "parted -s \"$f\" mklabel amiga"),
    ),
    (
        "atari label",
        8,
        Tool("parted", "parted -s \"$f\" mklabel atari"),
    ),
    (
        "dvh label",
        8,
        Tool("parted", "parted -s \"$f\" mklabel dvh"),
    ),
    (
        "pc98 label",
        8,
        Tool("parted", "parted -s \"$f\" mklabel pc98"),
    ),
    ("aix label", 8, Bytes(0, b"\xc9\xc2\xd4\xc1")),
    ("ext2", 8, Tool("e2fsprogs", "mkfs.ext2 -q -F \"$f\"")),
    ("ext4", 16, Tool("e2fsprogs", "mkfs.ext4 -q -F \"$f\"")),
    (
        "external journal of ext4",
        8,
        Tool("e2fsprogs", "mke2fs -q -F -O journal_dev -b 4096 \"$f\""),
    ),
    ("xfs", 320, Tool("xfsprogs", "mkfs.xfs -q \"$f\"")),
    ("btrfs", 128, Tool("btrfs-progs", "mkfs.btrfs -q \"$f\"")),
    ("ntfs", 8, Tool("ntfs-3g", "mkntfs -q -F -Q \"$f\"")),
    ("fat", 8, Tool("dosfstools", "mkfs.fat \"$f\"")),
    ("exfat", 8, Tool("exfatprogs", "mkfs.exfat \"$f\"")),
    ("swap", 8, Tool("util-linux", "mkswap -q \"$f\"")),
    ("minix", 8, Tool("util-linux", "mkfs.minix \"$f\"")),
    ("minix 3", 8, Tool("util-linux", "mkfs.minix -3 \"$f\"")),
    ("bfs", 8, Tool("util-linux", "mkfs.bfs \"$f\"")),
    (
        "luks 1",
        8,
        Tool(
            "cryptsetup-bin",
            "printf x | cryptsetup luksFormat -q --type luks1 --iter-time 1 \"$f\" -",
        ),
    ),
    (
        "luks 2",
        32,
        Tool(
            "cryptsetup-bin",
            "printf x | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \"$f\" -",
        ),
    ),
    (
        "luks 2, only its second header",
        32,
        Tool(
            "cryptsetup-bin",
            "printf x | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \"$f\" - && dd if=/dev/zero of=\"$f\" bs=4096 count=1 conv=notrunc status=none",
        ),
    ),
    (
        "hashes of dm-verity",
        8,
        Tool(
            "cryptsetup-bin",
            "truncate -s 1M \"$f.data\" && veritysetup format \"$f.data\" \"$f\"",
        ),
    ),
    ("squashed files", 8, Bytes(0, b"hsqs")),
    ("gfs2", 8, Bytes(0x1_0000, b"\x01\x16\x19\x70")),
    ("ocfs2", 8, Bytes(8192, b"OCFSV2")),
    ("drbd", 8, Bytes(-4096 + 60, b"\x83\x74\x02\x6b")),
    ("cramfs", 8, Bytes(0, b"\x45\x3d\xcd\x28")),
    ("romfs", 8, Bytes(0, b"-rom1fs-")),
    ("ufs 1", 8, Bytes(8192 + 1372, b"\x54\x19\x01\x00")),
    ("ufs 2", 8, Bytes(0x1_0000 + 1372, b"\x19\x01\x54\x19")),
    ("vxfs", 8, Bytes(1024, b"\xf5\xfc\x01\xa5")),
    ("vxfs of hp-ux", 8, Bytes(8192, b"\xa5\x01\xfc\xf5")),
    ("reiserfs", 8, Bytes(0x1_0034, b"ReIsErFs")),
    ("reiser4", 8, Bytes(0x1_0000, b"ReIsEr4")),
    ("snapshot store", 8, Bytes(0, b"SnAp")),
    ("dm-integrity", 8, Bytes(0, b"integrt\0")),
    ("lvm2", 8, Bytes(512, b"LABELONE")),
    ("lvm1", 8, Bytes(0, b"HM\x01\x00")),
    ("md 0.90", 8, Bytes(-0x1_0000, b"\xfc\x4e\x2b\xa9")),
    ("md 1.0", 8, Bytes(-0x2000, b"\xfc\x4e\x2b\xa9")),
    ("md 1.2", 8, Bytes(4096, b"\xfc\x4e\x2b\xa9")),
    ("imsm", 8, Bytes(-1024, b"Intel Raid ISM Cfg")),
    ("ddf", 8, Bytes(-512, b"\xde\x11\xde\x11")),
    ("nvidia raid", 8, Bytes(-1024, b"NVIDIA")),
    ("megaraid", 8, Bytes(-512, b"$XIDE$")),
    (
        "bcache",
        8,
        Bytes(
            4096 + 24,
            b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
        ),
    ),
    (
        "zfs",
        8,
        Bytes(128 << 10, b"\x0c\xb1\xba\x00\x00\x00\x00\x00"),
    ),
    ("vmfs", 8, Bytes(1 << 20, b"\x0d\xd0\x01\xc0")),
    ("oracle asm", 8, Bytes(32, b"ORCLDISK")),
    ("ceph", 8, Bytes(0, b"bluestore block device")),
    ("apfs", 8, Bytes(32, b"NXSB")),
    ("hfs+", 8, Bytes(1024, b"H+\x00\x04")),
    ("hpfs", 8, Bytes(0x2000, b"\x49\xe8\x95\xf9")),
    ("nilfs2", 8, Bytes(1030, b"\x34\x34")),
    ("f2fs", 8, Bytes(1024, b"\x10\x20\xf5\xf2")),
    ("jfs", 8, Bytes(0x8000, b"JFS1")),
    ("iso 9660", 8, Bytes(0x8001, b"CD001")),
    ("bitlocker", 8, Bytes(3, b"-FVE-FS-")),
    ("qcow2", 8, Bytes(0, b"QFI\xfb")),
    ("vhd", 8, Bytes(-512, b"conectix")),
    // Of formats that nobody here has heard of.
    ("one byte at the start", 8, Bytes(17, b"\x01")),
    ("one byte at the end", 8, Bytes(-1, b"\x01")),
    ("text in the middle", 64, Bytes(32 << 20, b"the only copy")),
    ("a copy of a superblock", 96, Bytes(64 << 20, b"_BHRfS_M")),
];

impl Content {
    pub(crate) fn put(&self, file: &Path, size: u64) {
        match self {
            Tool(package, command) => {
                let path = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin";
                let mut shell = Command::new("sh");
                shell
                    .args(["-ec", command])
                    .env("f", file)
                    .env("PATH", path);
                tool(package, &mut shell);
            }
            Bytes(at, bytes) => {
                let file = OpenOptions::new().write(true).open(file).expect("opens");
                let at = size.checked_add_signed(if *at < 0 { *at } else { 0 });
                let at = match self {
                    Bytes(place, _) if *place >= 0 => place.unsigned_abs(),
                    _ => at.expect("within it"),
                };
                file.write_all_at(bytes, at).expect("writes");
            }
        }
    }
}
