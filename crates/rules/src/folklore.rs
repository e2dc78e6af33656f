//! Beliefs about alignment, and what is true of them.

use crate::Folklore;

pub(crate) const PAGES: &[Folklore] = &[
    Folklore {
        name: "tracks",
        belief: "Partitions must start on a track or cylinder boundary",
        truth: "Sector 63 was the first sector of the second track of an invented geometry: 63 sectors a track, 255 heads. Disks have had \
                zones with different numbers of sectors per track since about 1990, and have hidden their geometry ever since. 63 \
                is the largest sector number that fits the six bits of a BIOS call; its eight bits for heads carry 0 to 255, which are \
                256 heads; but MS-DOS up to 7.10 cannot handle 256 (the number overflows a byte), so BIOSes stop at 255. No boundary of anything real lies at sector 63. \
                \n\nWhat a start must match are the boundaries that exist: physical sectors, stripe units, flash pages. None of them is a \
                track.",
        references: &[
            "INT 13h/AH=08h register layout: 6 bits for sectors, 8 bits for heads",
            "https://en.wikipedia.org/wiki/Cylinder-head-sector: why 255 heads and not 256",
            "UEFI 2.10, 5.2.1 Legacy MBR",
        ],
    },
    Folklore {
        name: "1mib",
        belief: "1 MiB is always right",
        truth: "1 MiB is a multiple of every power of two up to 1 MiB, so it is right for every usual sector, page and stripe unit, and \
                64 KiB, 128 KiB or 2 MiB are then exactly as good. It is not right for what is not a power of two: a full stripe of \
                3 × 64 KiB = 196,608 bytes divides 1,048,576 with a remainder (5.33), so full-stripe writes from 1 MiB on still touch two \
                stripes. Nor for a drive whose `alignment_offset` is 3584, where sector 63 is right. And a start is only the first of \
                several offsets that add up: LVM, LUKS, md and the filesystem each add their own.",
        references: &[
            "https://github.com/util-linux/util-linux/issues/688",
            "straddle explain STR202",
            "straddle explain STR109",
        ],
    },
    Folklore {
        name: "obsolete",
        belief: "Alignment no longer matters",
        truth: "Installers have started partitions at 1 MiB since about 2008, so sector 63 has become rare on new systems; disks that were \
                cloned, upgraded or virtualised keep it. What has grown since: dynamic VHD and VDI files whose blocks are off the host's \
                grid, QLC flash with indirection units of 16 or 64 KiB, arrays with widths that are not powers of two, controllers that \
                report a false `optimal_io_size` that volume managers then obey, and atomic writes that the kernel refuses on a \
                misaligned partition.\n\nHow much it costs depends on the layer: from nothing (requests smaller than the unit and on \
                their own lattice) over a few percent (big caching arrays) to a multiple (4K-sector disks). Measure or compute it; do not \
                believe either slogan.",
        references: &[
            "https://bugs.debian.org/cgi-bin/bugreport.cgi?bug=1121006",
            "https://github.com/ceph/ceph/pull/71954",
        ],
    },
    Folklore {
        name: "ssd",
        belief: "SSDs have no moving parts, so alignment does not matter for them",
        truth: "Flash is programmed in pages and mapped in indirection units (usually 4 KiB, 16 or 64 KiB on QLC). A write that covers part \
                of a unit makes the controller read, merge and rewrite it, which costs bandwidth and wears the flash. What has vanished \
                is the seek, not the read-modify-write.",
        references: &[
            "https://github.com/ceph/ceph/pull/71954",
            "NVM Express base specification: NPWG, NPWA",
        ],
    },
    Folklore {
        name: "defragment",
        belief: "Defragmenting or reformatting cures misalignment",
        truth: "Both rearrange what lies inside the partition. Its start stays where the partition table says, so every cluster stays \
                exactly as far off the grid as before. Only moving the partition, or changing the grid below it, helps.",
        references: &["straddle explain STR101"],
    },
    Folklore {
        name: "bigger",
        belief: "A larger offset is better: 2 MiB beats 1 MiB, which beats 64 KiB",
        truth: "Only the remainder counts. On a 64 KiB stripe unit the starts 65,536, 131,072, 1,048,576 and 2,097,152 all leave 0, so they \
                are equal for every request size. A larger start only satisfies more possible units: 1 MiB is right for a unit of 512 \
                KiB that you do not know about, 64 KiB is not. That is a reason to choose 1 MiB for new partitions, and none to move one \
                that is at 64 KiB on a unit of 64 KiB.",
        references: &["straddle explain STR201", "straddle explain STR203"],
    },
    Folklore {
        name: "rounded",
        belief: "The tool says that the partition starts at 32 KB, so it is aligned",
        truth: "Tools round what they show. 31.5 KiB (sector 63) and 32 KiB (sector 64) can both appear as 32 KB, and 1 MB may stand for \
                1,000,000 or 1,048,576 bytes. Judge by bytes or sectors: `sfdisk --dump`, `parted unit s print`, `wmic partition get \
                StartingOffset`, `Get-Partition | select Offset`. And 32 KiB is itself off a 64 KiB stripe unit: 32,768 ÷ 65,536 = 0.5.",
        references: &[
            "https://frankdenneman.nl/2009/05/20/windows-2008-disk-alignment/",
            "straddle explain STR101",
        ],
    },
];
