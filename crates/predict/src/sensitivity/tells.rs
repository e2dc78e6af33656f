//! How an assumption is found out: the command that prints it, or the measurement that shows it.

/// What tells the value of each parameter: the sentence after "find out by".
const TELLS: &[(&str, &str)] = &[
    (
        "cache.write",
        "asking the adapter or array for its write policy (storcli /c0/vall show all: WB or WT; ssacli ctrl all show config detail: \
         \"Accelerator\"), or timing single writes: straddle bench --rw write --outstanding 1 shows well below a millisecond with \
         write-back, a disk's access time without",
    ),
    (
        "cache.size",
        "asking the adapter or array how much of its memory holds writes (storcli /c0 show all: \"On Board Memory Size\"; ssacli ctrl all \
         show detail: \"Cache Ratio\")",
    ),
    (
        "cache.page",
        "the array's manual (cache block or page size), or straddle bench --rw write with offsets 4K, 8K, 16K, 32K and 64K against 1M: \
         those that are not a multiple of the page are slower",
    ),
    (
        "cache.partial",
        "counting the disks' reads under a load of small writes alone (iostat -x 1 on the members, or the array's own counters): where \
         disks read, pages are filled before they are destaged",
    ),
    (
        "cache.read",
        "asking the adapter or array for its read policy (storcli /c0/vall show all: R or NR), or reading the same small region twice \
         with straddle bench --size: the second pass is faster where it is kept",
    ),
    (
        "cache.destages",
        "the queue depth of the members under a load of writes alone (iostat -x 1: aqu-sz), where they are visible",
    ),
    (
        "controller.processors",
        "straddle bench with --threads 1,2,4,8,16: the rate stops growing at what all processors serve together",
    ),
    (
        "array.stripe_unit",
        "asking what built the array (mdadm --detail: Chunk Size; storcli /c0/vall show all: Strip Size; ssacli ctrl all show config \
         detail: Strip Size), or straddle bench with offsets 16K, 32K, 64K, 128K, 256K, 512K against 1M",
    ),
    (
        "array.level",
        "asking what built the array (mdadm --detail, storcli /c0/vall show, ssacli ctrl all show config)",
    ),
    (
        "array.members",
        "asking what built the array (mdadm --detail, storcli /c0/vall show all, ssacli ctrl all show config)",
    ),
    (
        "array.balance",
        "watching single reads spread over the members (iostat -x 1) while straddle bench reads with --outstanding 1",
    ),
    (
        "array.merge",
        "counting members' operations (iostat -x 1: r/s, w/s and rareq-sz) while straddle bench makes requests of several stripe units",
    ),
    (
        "array.parity",
        "counting members' reads for each write (iostat -x 1) under small writes: one read of data and one of each parity is \
         read-modify-write",
    ),
    (
        "array.largest",
        "cat /sys/block/*/queue/max_hw_sectors_kb on the members",
    ),
    (
        "flash.unit",
        "nvme id-ns -H /dev/nvme0n1 (NPWG and NPWA) or the data sheet (indirection unit), or straddle bench --rw write with offsets 4K, \
         8K, 16K and 32K against 64K on a device that has been written over several times",
    ),
    (
        "flash.partial",
        "straddle bench --rw write --io 4K --outstanding 1 at offsets 512 and 4K: answers that take as long are buffered, those that \
         take a page's read time longer are merged first",
    ),
    (
        "flash.layout",
        "straddle bench --rw read before and after the device has been overwritten at random: a device in use is scattered",
    ),
    (
        "flash.over_provision",
        "the data sheet (writes a second of a full device, drive writes per day), or straddle bench --rw write until the rate is steady",
    ),
    (
        "flash.buffer",
        "straddle bench --rw write --outstanding 1 in bursts: the burst that is still answered at once is the buffer's size",
    ),
    (
        "flash.engines",
        "straddle bench at offset 512 with --threads 1,2,4,8,16 against an aligned offset: the rate stops growing at what the engines serve",
    ),
    (
        "disk.format",
        "lsblk -o NAME,LOG-SEC,PHY-SEC, smartctl -i, or fsutil fsinfo sectorinfo: both sector sizes",
    ),
    (
        "disk.write_cache",
        "hdparm -W /dev/sdX, or sdparm --get WCE /dev/sdX: whether the drive's own write cache is on",
    ),
];

/// The measurement or command that tells the value of `section.key`. What has none of its own is told by measuring the same
/// workload, as a fit does.
#[must_use]
pub fn tells(path: &str) -> &'static str {
    let known = TELLS.iter().find(|(known, _)| *known == path);
    known.map_or(
        "measuring the same workload and offsets: straddle bench --format json, then straddle profile fit --ranges says which values \
         the measurement rules out",
        |(_, how)| how,
    )
}
