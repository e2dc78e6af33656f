//! Shapes of sosreports, of sos 2 to 4 on several distributions: what must be known of each, by value.

use crate::support::scratch;
use crate::support_shapes::{Fact, check_shape, parted, put_all};

const VG: &str = "vg0 {\nid = \"AAAAAA-0000-0000-0000-0000-0000-000001\"\nseqno = 3\nextent_size = 8192\n\nphysical_volumes {\npv0 {\nid = \"AAAAAA-0000-0000-0000-0000-0000-000002\"\n\
    device = \"/dev/sdb\"\npe_start = 384\npe_count = 2559\n}\n\npv1 {\nid = \"AAAAAA-0000-0000-0000-0000-0000-000003\"\ndevice = \"/dev/sdc\"\npe_start = 384\npe_count = 2559\n}\n}\n\n\
    logical_volumes {\ndata {\nid = \"AAAAAA-0000-0000-0000-0000-0000-000004\"\nsegment_count = 1\n\nsegment1 {\nstart_extent = 0\nextent_count = 2000\ntype = \"striped\"\n\
    stripe_count = 2\nstripe_size = 128\n\nstripes = [\n\"pv0\", 0,\n\"pv1\", 0\n]\n}\n}\n}\n}\n";

fn ext4(uuid: &str, stride: u64) -> String {
    format!(
        "dumpe2fs 1.46.5 (30-Dec-2021)\nFilesystem volume name:   <none>\nLast mounted on:          /db\nFilesystem UUID:          {uuid}\n\
         Filesystem magic number:  0xEF53\nFilesystem features:      has_journal ext_attr filetype extent 64bit flex_bg sparse_super\n\
         Block count:              524288\nFirst block:              0\nBlock size:               4096\nBlocks per group:         32768\n\
         RAID stride:              {stride}\nRAID stripe width:        {}\n",
        stride * 4
    )
}

fn lsblk(rows: &str) -> String {
    format!("NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINT\n{rows}")
}

#[test]
fn the_names_of_sos_3_on_rhel_6() {
    check_shape(
        "sosreport-ora1.02512345-20140318101500-ab12",
        &[
            ("sos_commands/general/hostname", "ora1\n".into()),
            ("sos_commands/block/lsblk", lsblk("sda 8:0 0 100G 0 disk \n`-sda1 8:1 0 99G 0 part /u01\n")),
            (
                "sos_commands/block/parted_-s_.dev.sda_unit_s_print",
                parted("/dev/sda", 209_715_200, (512, 512), "msdos", &[(1, 63, 207_618_048)]),
            ),
            (
                "sos_commands/block/udevadm_info_-ap_.sys.block.sda",
                "\n  looking at device '/devices/pci0000:00/host0/target0:0:0/0:0:0:0/block/sda':\n    KERNEL==\"sda\"\n    SUBSYSTEM==\"block\"\n    ATTR{size}==\"209715200\"\n".into(),
            ),
        ],
        "a sosreport of host ora1",
        &[
            Fact("sda1", "/placement/value/start", 63 * 512),
            Fact("sda1", "/size/value", 207_618_048 * 512),
            Fact("sda", "/size/value", 209_715_200 * 512),
        ],
    );
}

#[test]
fn a_disk_of_nvme_lies_below_its_controller_in_sys() {
    let queue = "sys/devices/pci0000:00/0000:00:1d.0/0000:3c:00.0/nvme/nvme0/nvme0n1/queue";
    let files = [
        ("logical_block_size", "4096\n"),
        ("physical_block_size", "4096\n"),
        ("minimum_io_size", "4096\n"),
        ("rotational", "0\n"),
    ];
    let mut all: Vec<(String, String)> = files
        .iter()
        .map(|(file, value)| (format!("{queue}/{file}"), (*value).to_owned()))
        .collect();
    all.push((
        "sos_commands/block/parted_-s_.dev.nvme0n1_unit_s_print".into(),
        parted(
            "/dev/nvme0n1",
            244_190_646,
            (4096, 4096),
            "gpt",
            &[(1, 256, 131_072), (2, 131_328, 244_000_000)],
        ),
    ));
    all.push((
        "sos_commands/block/lsblk".into(),
        lsblk("nvme0n1 259:0 0 931.5G 0 disk \n|-nvme0n1p1 259:1 0 512M 0 part /boot/efi\n`-nvme0n1p2 259:2 0 930.8G 0 part /\n"),
    ));
    let all: Vec<(&str, String)> = all
        .iter()
        .map(|(path, text)| (path.as_str(), text.clone()))
        .collect();
    check_shape(
        "sosreport-k8s-7-2024-05-02-hijklmn",
        &all,
        "a sosreport of host k8s-7",
        &[
            Fact("nvme0n1p1", "/placement/value/start", 256 * 4096),
            Fact("nvme0n1p2", "/placement/value/start", 131_328 * 4096),
            Fact("nvme0n1", "/size/value", 244_190_646 * 4096),
            Fact("nvme0n1", "grid minimum-io", 4096),
        ],
    );
}

#[test]
fn the_name_of_a_volume_may_have_points_and_underscores() {
    check_shape(
        "sosreport-ub22-2023-01-09-aaaaaaa",
        &[
            (
                "sos_commands/block/lsblk",
                lsblk("vda 252:0 0 20G 0 disk \n`-vda1 252:1 0 20G 0 part \n  `-ubuntu.vg-lv_a.1 253:0 0 10G 0 lvm /db\n"),
            ),
            (
                "sos_commands/block/blkid_-c_.dev.null",
                "/dev/mapper/ubuntu.vg-lv_a.1: UUID=\"11111111-2222-3333-4444-555555555555\" TYPE=\"ext4\"\n".into(),
            ),
            (
                "sos_commands/filesys/dumpe2fs_-h_.dev.mapper.ubuntu.vg-lv_a.1",
                ext4("11111111-2222-3333-4444-555555555555", 16),
            ),
            (
                "sos_commands/block/parted_-s_.dev.vda_unit_s_print",
                parted("/dev/vda", 41_943_040, (512, 512), "gpt", &[(1, 2048, 41_938_944)]),
            ),
        ],
        "a sosreport of host ub22",
        &[
            Fact("vda1", "/placement/value/start", 1 << 20),
            Fact("ext4", "attribute fs-stripe-unit", 65_536),
            Fact("ext4", "grid allocation-unit", 4096),
            Fact("ext4", "below ubuntu.vg-lv_a.1", 0),
        ],
    );
}

#[test]
fn a_point_in_the_name_of_a_group_is_no_slash_where_the_host_knows_better() {
    let uuid = "11111111-2222-3333-4444-666666666666";
    check_shape(
        "sosreport-h-2023-01-09-aaaaaaa",
        &[
            (
                "sos_commands/filesys/mount_-l",
                "/dev/vg.a/lv.b on /db type ext4 (rw,relatime,stripe=64)\nproc on /proc type proc (rw)\n".into(),
            ),
            ("sos_commands/filesys/dumpe2fs_-h_.dev.vg.a.lv.b", ext4(uuid, 16)),
            ("sos_commands/block/lsblk", lsblk("sda 8:0 0 20G 0 disk \n")),
        ],
        "a sosreport of host h",
        &[
            Fact("ext4", "grid allocation-unit", 4096),
            Fact("ext4", "attribute fs-stripe-unit", 65_536),
            Fact("ext4", "only one", 1),
        ],
    );
}

#[test]
fn stripes_of_lvm_are_in_the_copy_that_it_keeps_for_itself() {
    check_shape(
        "sosreport-lv-2021-06-30-bcdefgh",
        &[
            ("etc/lvm/backup/vg0", VG.into()),
            (
                "sos_commands/block/lsblk",
                lsblk("sdb 8:16 0 10G 0 disk \nsdc 8:32 0 10G 0 disk \n"),
            ),
        ],
        "a sosreport of host lv",
        &[
            Fact("vg0/data", "grid stripe-unit", 65_536),
            Fact("vg0/data", "/map/stripe_unit", 65_536),
            Fact("vg0/data", "/map/starts/1", 384 * 512),
        ],
    );
}

#[test]
fn an_array_is_described_by_mdadm() {
    check_shape(
        "sosreport-md-2020-11-11-cdefghi",
        &[
            (
                "sos_commands/md/mdadm_-D_.dev.md0",
                "/dev/md0:\n           Version : 1.2\n        Raid Level : raid5\n        Array Size : 20953088 (19.98 GiB 21.46 GB)\n     Used Dev Size : 10476544 (9.99 GiB 10.73 GB)\n      Raid Devices : 3\n     Total Devices : 3\n             State : clean \n    Active Devices : 3\n   Working Devices : 3\n            Layout : left-symmetric\n        Chunk Size : 256K\n              UUID : 0a0a0a0a:0b0b0b0b:0c0c0c0c:0d0d0d0d\n\n    Number   Major   Minor   RaidDevice State\n       0       8       16        0      active sync   /dev/sdb\n       1       8       32        1      active sync   /dev/sdc\n       2       8       48        2      active sync   /dev/sdd\n".into(),
            ),
            ("proc/mdstat", "Personalities : [raid6] [raid5] [raid4] \nmd0 : active raid5 sdd[2] sdc[1] sdb[0]\n      20953088 blocks super 1.2 level 5, 256k chunk, algorithm 2 [3/3] [UUU]\n\nunused devices: <none>\n".into()),
        ],
        "a sosreport of host md",
        &[
            Fact("md0", "grid stripe-unit", 262_144),
            Fact("md0", "grid full-stripe", 524_288),
            Fact("md0", "/size/value", 20_953_088 << 10),
        ],
    );
}

#[test]
fn the_header_of_luks_is_of_the_device_in_the_name_of_its_file() {
    check_shape(
        "sosreport-crypt-2022-02-02-defghij",
        &[
            (
                "sos_commands/block/cryptsetup_luksDump_.dev.sda2",
                "LUKS header information for /dev/sda2\n\nVersion:       \t1\nCipher name:   \taes\nCipher mode:   \txts-plain64\nHash spec:     \tsha256\nPayload offset:\t2056\nMK bits:       \t512\nUUID:          \taaaaaaaa-1111-2222-3333-444444444444\n".into(),
            ),
            (
                "sos_commands/block/lsblk",
                lsblk("sda 8:0 0 20G 0 disk \n`-sda2 8:2 0 19G 0 part \n  `-luks-aaaaaaaa-1111-2222-3333-444444444444 253:0 0 19G 0 crypt /\n"),
            ),
            (
                "sos_commands/block/fdisk_-l_.dev.sda",
                "Disk /dev/sda: 20 GiB, 21474836480 bytes, 41943040 sectors\nUnits: sectors of 1 * 512 = 512 bytes\nSector size (logical/physical): 512 bytes / 4096 bytes\nI/O size (minimum/optimal): 4096 bytes / 4096 bytes\nDisklabel type: dos\nDisk identifier: 0x0badcafe\n\nDevice     Boot   Start      End  Sectors Size Id Type\n/dev/sda2       2099200 41943039 39843840  19G 83 Linux\n".into(),
            ),
        ],
        "a sosreport of host crypt",
        &[
            Fact("sda2", "/placement/value/start", 2_099_200 * 512),
            Fact("LUKS on sda2", "/placement/value/start", 2056 * 512),
            Fact("sda", "grid physical-sector", 4096),
        ],
    );
}

#[test]
fn stripes_of_xfs_are_among_the_options_of_its_mount() {
    check_shape(
        "sosreport-xfs-2019-08-15-efghijk",
        &[
            (
                "proc/mounts",
                "rootfs / rootfs rw 0 0\n/dev/sdb1 /data xfs rw,relatime,attr2,inode64,sunit=128,swidth=512,noquota 0 0\n".into(),
            ),
            (
                "sos_commands/block/parted_-s_.dev.sdb_unit_s_print",
                parted("/dev/sdb", 41_943_040, (512, 4096), "gpt", &[(1, 34, 41_942_973)]),
            ),
        ],
        "a sosreport of host xfs",
        &[
            Fact("sdb1", "/placement/value/start", 34 * 512),
            Fact("xfs", "attribute fs-stripe-unit", 65_536),
            Fact("xfs", "attribute fs-full-stripe", 262_144),
        ],
    );
}

#[test]
fn disks_of_smart_array_lie_in_a_directory() {
    check_shape(
        "sosreport-hp-2016-03-03-fghijkl",
        &[(
            "sos_commands/block/fdisk_-l_.dev.cciss.c0d0",
            "\nDisk /dev/cciss/c0d0: 146.8 GB, 146778685440 bytes\n255 heads, 63 sectors/track, 17844 cylinders, total 286677120 sectors\nUnits = sectors of 1 * 512 = 512 bytes\nSector size (logical/physical): 512 bytes / 512 bytes\nDisk identifier: 0x000b1c2d\n\n           Device Boot      Start         End      Blocks   Id  System\n/dev/cciss/c0d0p1   *          63      208844      104391   83  Linux\n/dev/cciss/c0d0p2          208845   286664805   143227980+  8e  Linux LVM\n".into(),
        )],
        "a sosreport of host hp",
        &[
            Fact("cciss/c0d0p1", "/placement/value/start", 63 * 512),
            Fact("cciss/c0d0p2", "/placement/value/start", 208_845 * 512),
        ],
    );
}

#[test]
fn udev_alone_says_where_partitions_are() {
    check_shape(
        "sosreport-udev-2022-09-09-ghijklm",
        &[
            (
                "sos_commands/devices/udevadm_info_--export-db",
                "P: /devices/pci0000:00/0000:00:05.0/virtio2/block/vdb\nN: vdb\nE: DEVNAME=/dev/vdb\nE: DEVTYPE=disk\nE: ID_PART_TABLE_TYPE=gpt\nE: SUBSYSTEM=block\n\nP: /devices/pci0000:00/0000:00:05.0/virtio2/block/vdb/vdb1\nN: vdb1\nE: DEVNAME=/dev/vdb1\nE: DEVTYPE=partition\nE: ID_PART_ENTRY_NUMBER=1\nE: ID_PART_ENTRY_OFFSET=2048\nE: ID_PART_ENTRY_SIZE=41938944\nE: ID_PART_ENTRY_DISK=252:16\nE: PARTN=1\nE: SUBSYSTEM=block\n".into(),
            ),
            ("sos_commands/block/lsblk", lsblk("vdb 252:16 0 20G 0 disk \n`-vdb1 252:17 0 20G 0 part /data\n")),
        ],
        "a sosreport of host udev",
        &[Fact("vdb1", "/placement/value/start", 1 << 20)],
    );
}

#[test]
fn the_geometry_of_xfs_is_that_of_its_plugin() {
    check_shape(
        "sosreport-x-12345678-2022-09-09-ghijklm",
        &[
            (
                "sos_commands/xfs/xfs_info_.data",
                "meta-data=/dev/sdb1              isize=512    agcount=4, agsize=1310656 blks\n         =                       sectsz=4096  attr=2, projid32bit=1\n         =                       crc=1        finobt=1, sparse=1, rmapbt=0\ndata     =                       bsize=4096   blocks=5242624, imaxpct=25\n         =                       sunit=16     swidth=64 blks\nnaming   =version 2              bsize=4096   ascii-ci=0, ftype=1\nlog      =internal log           bsize=4096   blocks=2560, version=2\n         =                       sectsz=4096  sunit=1 blks, lazy-count=1\nrealtime =none                   extsz=4096   blocks=0, rtextents=0\n".into(),
            ),
            (
                "sos_commands/block/parted_-s_.dev.sdb_unit_s_print",
                parted("/dev/sdb", 41_943_040, (512, 4096), "gpt", &[(1, 2048, 41_940_992)]),
            ),
        ],
        "a sosreport of host x",
        &[
            Fact("xfs", "attribute fs-stripe-unit", 65_536),
            Fact("xfs", "grid allocation-unit", 4096),
            Fact("sdb1", "/placement/value/start", 1 << 20),
        ],
    );
}

#[test]
fn what_is_missing_is_asked_for_by_its_plugin() {
    let folder = scratch();
    let here = folder.path();
    put_all(
        here,
        "sosreport-few-2024-01-01-abcdefg",
        &[(
            "sos_commands/block/lsblk_-f_-a_-l",
            "NAME  FSTYPE      FSVER LABEL UUID MOUNTPOINTS\nsda                               \nsda1  xfs                         /db\nsda2  ext4                        /\n".into(),
        )],
    );
    let run = crate::support::straddle(
        here,
        &["check", "--details", "sosreport-few-2024-01-01-abcdefg"],
    );
    for ask in [
        "start of sda1, sda2: the sos plugin `block` (sos report -o block)",
        "block size and stripes of sda1: the sos plugin `xfs` (sos report -o xfs)",
        "block size and stripes of sda2: the sos plugin `filesys` (sos report -o filesys)",
        "sector sizes of sda: the sos plugin `block` (sos report -o block)",
    ] {
        let words: String = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(ask), "{ask}: {}", run.transcript());
    }
}

/// What Ubuntu has besides its disk: loop devices of snaps, a drive of discs, and volumes that `parted` calls by the kernel's name.
#[test]
fn a_volume_is_one_layer_whoever_names_it() {
    check_shape(
        "sosreport-ubu-2024-05-05-abcdefg",
        &[
            (
                "sos_commands/block/lsblk",
                lsblk("sda 8:0 0 50G 0 disk \n`-sda3 8:3 0 48G 0 part \n  `-ubuntu--vg-ubuntu--lv 253:0 0 24G 0 lvm /\nsr0 11:0 1 1024M 0 rom \nloop0 7:0 0 63.3M 1 loop /snap/core20/1822\n"),
            ),
            (
                "sos_commands/block/parted_-s_.dev.sda_unit_s_print",
                parted("/dev/sda", 104_857_600, (512, 512), "gpt", &[(3, 4_198_400, 100_657_152)]),
            ),
            (
                "sos_commands/block/parted_-s_.dev.sr0_unit_s_print",
                "Error: /dev/sr0: unrecognised disk label\nModel: NECVMWar VMware SATA CD01 (scsi)\nDisk /dev/sr0: 524287s\nSector size (logical/physical): 2048B/2048B\nPartition Table: unknown\nDisk Flags: \n".into(),
            ),
            (
                "sos_commands/block/parted_-s_.dev.dm-0_unit_s_print",
                "Error: /dev/dm-0: unrecognised disk label\nModel: Linux device-mapper (linear) (dm)\nDisk /dev/dm-0: 50323456s\nSector size (logical/physical): 512B/512B\nPartition Table: loop\nDisk Flags: \n\nNumber  Start  End        Size       File system  Flags\n 1      0s     50323455s  50323456s  ext4\n\n".into(),
            ),
            (
                "sos_commands/lvm2/pvs_-a_-v_-o_pv_mda_free_pe_start_--config_global_metadata_read_only_1_--nolocking_--foreign",
                "  Reloading config files\n  PV         VG        Fmt  Attr PSize   PFree  DevSize  PV UUID                                1st PE \n  /dev/sda2                 ---       0      0    2.00g                                             0 \n  /dev/sda3  ubuntu-vg lvm2 a--  <48.00g 24.00g <48.00g  abcdef-0000-0000-0000-0000-0000-000001   1.00m\n  Reloading config files\n".into(),
            ),
        ],
        "a sosreport of host ubu",
        &[
            Fact("sda3", "/placement/value/start", 4_198_400 * 512),
            Fact("ubuntu--vg-ubuntu--lv", "/size/value", 50_323_456 * 512),
            Fact("ext4", "below ubuntu--vg-ubuntu--lv", 0),
            Fact("ext4", "only one", 1),
            Fact("dm-0", "none", 0),
            Fact("sr0", "none", 0),
            Fact("loop0", "none", 0),
        ],
    );
}
