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
                several offsets that add up: LVM, LUKS, md and the filesystem each add their own.\
                \n\nWhy 1 MiB and not less: the tool that partitions a disk cannot ask a hardware array for its stripe unit, so the start has \
                to fit all of them. 1,048,576 ÷ 65,536 = 16, ÷ 131,072 = 8, ÷ 262,144 = 4, ÷ 524,288 = 2, ÷ 1,048,576 = 1: whole numbers for every \
                unit from 64 KiB to 1 MiB, where a start at 64 KiB fits only the first. It costs 1 MiB, a hundred-thousandth of a disk of \
                100 GB, and leaves room for a boot loader in front. Windows starts there since Vista and Server 2008 (64 KiB on disks below \
                4 GB; the registry can change both), parted and fdisk since about 2010.\
                \n\nThis is arithmetic. Measured on an EVA8100 with random 8 KiB requests: 128 KiB, 1 MiB and 2 MiB are \
                within 2.4% of 64 KiB with one thread, within 1.3% with two or more.",
        references: &[
            "https://github.com/util-linux/util-linux/issues/688",
            "Microsoft, MS-VDS: HKLM\\SYSTEM\\CurrentControlSet\\Services\\VDS\\Alignment",
            "https://www.sql-server-pro.com/eva-partition-alignment.html",
            "straddle explain STR202",
            "straddle explain STR203",
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
    Folklore {
        name: "mount-point",
        belief: "Volumes without a drive letter need no alignment",
        truth: "A volume that is mounted in a folder (`E:\\data1`) is a partition like any other, with a start of its own. The folder is only \
                its name: no request to the volume passes through E:, so the start of E: is not added to it, and says nothing about it. \
                With E: at 1,048,576 and the volume in its folder at 32,256, on stripe units of 64 KiB: 1,048,576 ÷ 65,536 = 16, and 32,256 ÷ \
                65,536 = 0.49. The letter is aligned and the data are not.\
                \n\nLists of letters leave these volumes out, so go by partitions. `wmic partition get DiskIndex,Name,StartingOffset` has the \
                start of each, with or without a letter, but no dynamic disks; `Get-Partition | select \
                DiskNumber,Offset,AccessPaths` has the folders beside the starts. `mountvol` and `list volume` of diskpart say which volume \
                is mounted where, `diskext` of Sysinternals where it lies on its disk in bytes, and `wmic volume get Name,BlockSize` its \
                allocation unit. On Linux, `lsblk -o NAME,START,MOUNTPOINT` has all. `straddle check` looks at every volume of the machine, and \
                `straddle check E:\\data1\\sales.mdf` at those that this file is on.\
                \n\nRests on: the sums are computed; that volumes and mount points are separate things is documented.",
        references: &[
            "https://learn.microsoft.com/en-us/windows-server/administration/windows-commands/mountvol",
            "https://devblogs.microsoft.com/oldnewthing/20201019-00/?p=104380",
            "straddle explain STR201",
        ],
    },
    Folklore {
        name: "e-switch",
        belief: "SQL Server with the start switch -E (/E) needs a stripe unit of 256 KiB",
        truth: "A filegroup with several files is filled in turns: an extent of 64 KiB in one file, then one in the next. With -E it is four \
                extents before the next file: 4 × 65,536 = 262,144 bytes. That is an allocation in a file and not a stripe of an array, though \
                it has been called a 256 KB stripe. Later versions are reported to take 64 extents, 4 MiB. Its purpose is larger \
                read-ahead in scans of a data warehouse; Microsoft says not to use it for anything else. (-e, in lower case, is the path of the error log.)\
                \n\nAligned, a run of 256 KiB takes four units of 64 KiB on four disks, or one unit of 256 KiB on one disk. \
                One reader at a time is served faster by four disks; many readers are served with less positioning by one each. The run \
                fits one unit of 256 KiB only if it begins on one. Runs begin at extents: if all four places in the unit are equally likely, \
                3 of 4 runs lie on two disks, and a mean run makes 1.75 requests.\
                \n\nSo what -E asks for is what SQL Server asks for anyway: start ÷ stripe unit a whole number, and allocation units of 64 KiB. \
                65,536 and 262,144 both divide 1,048,576, so a start at 1 MiB serves either. From sector 63 on, units of 64 KiB take five requests for four.\
                \n\nRests on: four extents are documented for SQL Server 2000 (64-bit) and 2005; 64 is one author's report; the counts are \
                computed; equally likely places are assumed. No measurement with and without -E on two stripe units is known here.",
        references: &[
            "https://support.microsoft.com/en-us/kb/329526",
            "http://consultingblogs.emc.com/jamesrowlandjones/archive/2010/04/25/focus-on-fast-track-understanding-the-e-startup-parameter.aspx",
            "straddle explain practices",
        ],
    },
    Folklore {
        name: "slower-64k",
        belief: "Reads of 64 KiB got slower after aligning, so aligning can do harm",
        truth: "This was reported of one EMC CX3. Offsets, queue depth, RAID level and number of disks are not recorded here, nor any \
                repetition, so the cause is unknown. What arithmetic can say: a CLARiiON puts 128 sectors = 64 KiB on one disk by default. From sector 63 on, \
                every read of 64 KiB is 33,280 bytes on one disk and 32,256 on the next; from a boundary on, it is one request. Where disks are the \
                bottleneck, one request for two cannot slow them down.\
                \n\nThree things could have made it slower all the same. (1) The LUN may have had an offset already. If the array's boundaries lie 63 \
                sectors into each unit, start 63 leaves 0, and start 128 leaves (128 − 63) × 512 = 33,280: the *aligned* partition is the one that \
                is split. NetApp documents such a prefix for some LUN types. (2) One reader that waits for each request, in order: the split read \
                comes from two disks at once. At 98 MB/s, 65,536 bytes take 0.67 ms and 33,280 take 0.34, so up to 0.33 ms is saved. With random \
                reads that is more than lost again: at 15,000 rpm one disk turns 2.0 ms on average to the data, the later of two 2.67. (3) What changed besides: \
                the volume was reformatted, the file lies elsewhere, the cache is cold.\
                \n\nTo find out, measure one file at shifted offsets, without repartitioning (`bench` makes the file and removes it): `straddle bench D:\\ --offsets \
                unaligned,64K,1M --io 64K --rw read --outstanding 1,32`. If unaligned wins at both depths, ask for an offset of the LUN; \
                if only at 1, it is the second disk.\
                \n\nRests on: the times are computed from one disk's figures (98 MB/s, 15,000 rpm, equal seeks); which of the three it was is unknown. \
                Measured elsewhere: 947 reads of 64 KiB a second aligned and 504 at sector 63 (md RAID 0, six disks); no difference in sequential \
                requests (EVA8100).",
        references: &[
            "http://www.emcstorageinfo.com/2008/12/clariion-disk-format-structure.html",
            "https://docs.netapp.com/us-en/ontap/san-admin/io-misalignments-properly-aligned-luns-concept.html",
            "https://www.sql-server-pro.com/eva-partition-alignment.html",
            "straddle explain STR201",
        ],
    },
    Folklore {
        name: "six-disks",
        belief: "Four disks are fine and six are not: the number of disks must be a power of two",
        truth: "It depends on what has to fit. A request on RAID 0 or 10 only has to fit the stripe unit, and that does not change with the number of \
                disks: 1,048,576 ÷ 65,536 = 16 with four and with six. What changes is the full stripe. RAID 0 over four disks: 4 × 64 KiB = 262,144, \
                and 1,048,576 ÷ 262,144 = 4. Over six: 393,216, and the quotient is 2.67. Nothing on RAID 0 or 10 depends on that quotient: a \
                request as large as a full stripe that begins at any stripe unit still has one piece on each disk.\
                \n\nParity needs it, and there data disks count, not disks. RAID 5 over four disks has three, and 1,048,576 ÷ 196,608 = 5.33; over \
                five it has four, which fits; over six five, and 1,048,576 ÷ 327,680 = 3.2. RAID 6 over six disks has four, and fits. Where it does not fit, \
                full-stripe writes from 1 MiB on read old data or parity first: start at a common multiple (STR202: 3 MiB for three, 5 MiB for five).\
                \n\nA power of two can be the worse choice: 8 KiB requests that lie 262,144 bytes apart on four disks with units of 64 KiB go \
                to one disk only (4 units on, 4 mod 4 = 0). On six they take turns on three (0, 4, 2).\
                \n\nRests on: all quotients are computed. Measured on RAID 5 over six disks, writes of 320 KiB: 5.84 requests to members at a \
                multiple of the full stripe, 8.92 at 1 MiB. Microsoft reports that RAID 10 over six disks, aligned, did as well as over eight that were not. \
                Which array the saying comes from is not known.",
        references: &[
            "J. May and D. Lee, Disk Partition Alignment Best Practices for SQL Server",
            "straddle explain STR202",
            "straddle explain STR214",
        ],
    },
    Folklore {
        name: "wasted",
        belief: "A stripe unit of 256 KiB wastes space when files and requests are smaller",
        truth: "A stripe unit allocates nothing. It only says how many bytes in a row are on one disk: four files of 64 KiB, one after the other, fill a \
                unit of 256 KiB completely. Nor does an array read or write whole units: a read of 8 KiB is 8 KiB on the disk. What is lost is less than \
                one unit at the end of each disk: with six disks at most 6 × 262,144 = 1,572,864 bytes in all.\
                \n\nSpace is allocated by the filesystem: each file loses half an allocation unit on average. With units of 64 KiB, 1,000 files lose \
                32,768,000 bytes; a database of a few large files loses next to nothing.\
                \n\nWhat the stripe unit changes is who works. Off the boundary, requests of 8 KiB end to end straddle 8 ÷ 64 = 12.5% of the time, on \
                256 KiB 8 ÷ 256 = 3.1%. A single read of 256 KiB has four disks in the first case and one in the second, so one scan without read-ahead is \
                slower and many at once position less. With parity, the full stripe grows along: five data disks have 1,280 KiB instead of 320, and fewer \
                writes fill it.\
                \n\nRests on: computed; half a unit for each file is the usual assumption (lengths that have nothing to do with the unit). Arrays that do \
                allocate in large pieces (thin pools, snapshots) have a unit of their own: see STR606.",
        references: &[
            "Linux md(4), chunk size",
            "straddle explain STR201",
            "straddle explain STR301",
        ],
    },
    Folklore {
        name: "practices",
        belief: "The partition is aligned, so the disk is set up right",
        truth: "Three settings belong together, and each is made with its layer, from the bottom up: the stripe unit with the array, the start with the \
                partition, the allocation unit with the filesystem. Two quotients have to be whole numbers: start ÷ stripe unit, and stripe unit ÷ \
                allocation unit. The first matters most: where it fails, every allocation unit above is off as well.\
                \n\nFor SQL Server, with 64 KiB extents: 1,048,576 ÷ 65,536 = 16 and 65,536 ÷ 65,536 = 1, so every extent is on one disk. From sector 63, \
                32,256 ÷ 65,536 = 0.49, and every extent is on two. At 1 MiB with allocation units of 4 KiB both quotients are whole (16 and 16), but a \
                file may begin at 16 places in a stripe unit, and at 15 of them its extents are on two disks: 93.75%. With 64 KiB on a stripe unit of 32 KiB the \
                second is 0.5: each extent is on two disks wherever it begins.\
                \n\nThe lower the layer, the more a change costs later: another allocation unit means formatting one volume, another start moving \
                a partition (`straddle realign` does it in place), another stripe unit rebuilding the array. So ask for the stripe unit before anything is formatted.\
                \n\nRests on: computed; 93.75% assumes that all places are equally likely. Measured: moving the start alone took about 30% off the latency and \
                duration of a query (Microsoft, RAID 10, stripe and allocation units of 64 KiB) and brought 1.6 to 2.9% on an \
                EVA8100 (random 8 KiB). What the allocation \
                unit alone brings was not measured in either.",
        references: &[
            "J. May and D. Lee, Disk Partition Alignment Best Practices for SQL Server",
            "https://www.sql-server-pro.com/eva-partition-alignment.html",
            "straddle explain STR201",
            "straddle explain STR204",
            "straddle explain STR301",
        ],
    },
];
