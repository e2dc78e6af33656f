//! Filesystems on the wrong grid, as real tools make them.

/// Something on the wrong grid, and how it is repaired.
pub(crate) struct Way {
    /// What makes `a.img`.
    pub(crate) make: &'static str,
    /// What `straddle fix` is told besides.
    pub(crate) flags: &'static [&'static str],
    /// What carries the plan out.
    pub(crate) tool: &'static str,
    /// The codes that must be promised.
    pub(crate) codes: &'static [&'static str],
}

pub(crate) const fn way(
    make: &'static str,
    flags: &'static [&'static str],
    tool: &'static str,
    codes: &'static [&'static str],
) -> Way {
    Way {
        make,
        flags,
        tool,
        codes,
    }
}

pub(crate) const UUID: &str = "11111111-2222-3333-4444-555555555555";

pub(crate) const ON_64K: &[&str] = &["--stripe-unit", "64K"];
pub(crate) const ON_RAID5: &[&str] = &["--stripe-unit", "64K", "--stripe-width", "256K"];

/// Filesystems, empty all of them.
pub(crate) const FILESYSTEMS: &[Way] = &[
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext4 -b 1024 -L data -U $UUID a.img",
        &[],
        "mkfs",
        &["STR305"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext4 -b 2048 -L 'two words' -U $UUID a.img",
        &[],
        "mkfs",
        &["STR305"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext2 -b 1024 -U $UUID a.img",
        &[],
        "mkfs",
        &["STR305"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext3 -b 1024 -L data -U $UUID a.img",
        &[],
        "mkfs",
        &["STR305"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext4 -b 1024 -U $UUID a.img",
        ON_RAID5,
        "mkfs",
        &["STR305", "STR302", "STR301"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext4 -b 1024 -U $UUID a.img",
        &["--allocation-unit", "64K"],
        "mkfs",
        &["STR305"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext4 -b 4096 -U $UUID a.img",
        ON_64K,
        "tune2fs",
        &["STR302", "STR301"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext4 -b 4096 -U $UUID a.img",
        ON_RAID5,
        "tune2fs",
        &["STR302", "STR301"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext4 -b 4096 -E stride=32,stripe_width=96 -U $UUID a.img",
        ON_RAID5,
        "tune2fs",
        &["STR302"],
    ),
    way(
        "truncate -s 64M a.img; mke2fs -q -t ext3 -b 4096 -E stride=16 -U $UUID a.img",
        ON_RAID5,
        "tune2fs",
        &["STR215"],
    ),
    way(
        "truncate -s 400M a.img; mkfs.xfs -q -L x -m uuid=$UUID a.img",
        &[],
        "mkfs",
        &["STR307"],
    ),
    way(
        "truncate -s 2G a.img; mkfs.xfs -q -s size=512 -m uuid=$UUID a.img",
        ON_RAID5,
        "mkfs",
        &["STR307", "STR303"],
    ),
    way(
        "truncate -s 400M a.img; mkfs.xfs -q -b size=1024 -L x -m uuid=$UUID a.img",
        &[],
        "mkfs",
        &["STR305", "STR307"],
    ),
    way(
        "truncate -s 64M a.img; mkntfs -q -Q -F -s 512 -c 4096 -p 0 -L win a.img",
        ON_64K,
        "mkfs",
        &["STR301"],
    ),
    way(
        "truncate -s 64M a.img; mkntfs -q -Q -F -s 512 -c 512 -p 0 -L win a.img",
        &[],
        "mkfs",
        &["STR305"],
    ),
    way(
        "truncate -s 64M a.img; mkntfs -q -Q -F -s 512 -c 65536 -p 0 -L win a.img",
        &["--stripe-unit", "96K"],
        "mkfs",
        &["STR204"],
    ),
    way(
        "truncate -s 64M a.img; mkfs.vfat -a -F 16 -s 4 -n FATTY -i 12345678 a.img",
        &[],
        "mkfs",
        &["STR304", "STR305"],
    ),
    way(
        "truncate -s 64M a.img; mkfs.vfat -a -F 16 -s 8 -R 3 -i 12345678 a.img",
        &[],
        "mkfs",
        &["STR304"],
    ),
    way(
        "truncate -s 300M a.img; mkfs.vfat -a -F 32 -s 1 -n FATTY -i 12345678 a.img",
        ON_64K,
        "mkfs",
        &["STR304", "STR305"],
    ),
    way(
        "truncate -s 5G a.img; mkfs.vfat -F 32 -s 8 -n FATTY -i 12345678 a.img",
        &["--stripe-unit", "32K"],
        "mkfs",
        &["STR301"],
    ),
    way(
        "truncate -s 8M a.img; mkfs.vfat -a -F 12 -s 8 -n FATTY -i 12345678 a.img",
        &[],
        "mkfs",
        &["STR304"],
    ),
    way(
        "truncate -s 64M a.img; mkfs.exfat -c 4K -b 4K -L exf a.img; exfatlabel -i a.img 0x12345678",
        ON_64K,
        "mkfs",
        &["STR304", "STR301"],
    ),
    way(
        "truncate -s 128M a.img; mkfs.btrfs -q -L b -U $UUID a.img 2> /dev/null",
        &["--stripe-unit", "64K", "--allocation-unit", "64K"],
        "mkfs",
        &["STR301"],
    ),
];

/// Makes `a.img` with one partition from `start`, and something in it by lines that write `part.img`.
macro_rules! partitioned {
    ($label:literal, $start:literal, $make:literal) => {
        concat!(
            $make,
            "; truncate -s 1G a.img; size=$(($(stat -c %s part.img) / 512)); ",
            "printf 'label: ",
            $label,
            "\nlabel-id: 0x11223344\nstart=",
            $start,
            ", size=%s, type=L\\n' \"$size\" | sfdisk -q a.img; ",
            "dd if=part.img of=a.img bs=512 seek=",
            $start,
            " conv=notrunc,sparse status=none; rm part.img"
        )
    };
}

/// The same in partitions, which are reached through a loop device.
pub(crate) const PARTITIONS: &[Way] = &[
    way(
        partitioned!(
            "dos",
            "2048",
            "truncate -s 64M part.img; mke2fs -q -t ext4 -b 1024 -L data -U $UUID part.img"
        ),
        &[],
        "mkfs",
        &["STR305"],
    ),
    way(
        partitioned!(
            "dos",
            "4096",
            "truncate -s 64M part.img; mke2fs -q -t ext4 -b 4096 -U $UUID part.img"
        ),
        ON_RAID5,
        "tune2fs",
        &["STR302", "STR301"],
    ),
    way(
        partitioned!(
            "dos",
            "2048",
            "truncate -s 400M part.img; mkfs.xfs -q -L x -m uuid=$UUID part.img"
        ),
        &[],
        "mkfs",
        &["STR307"],
    ),
    way(
        partitioned!(
            "dos",
            "2048",
            "truncate -s 64M part.img; mkntfs -q -Q -F -s 512 -c 4096 -p 2048 -L win part.img"
        ),
        ON_64K,
        "mkfs",
        &["STR301"],
    ),
    way(
        partitioned!(
            "dos",
            "2048",
            "truncate -s 64M part.img; mkfs.vfat -a -F 16 -s 4 -h 2048 -n FATTY -i 12345678 part.img"
        ),
        &[],
        "mkfs",
        &["STR304", "STR305"],
    ),
];
