//! Hosts whose disks have several names: multipath, device-mapper's numbers, and what a support tool was told to hide.

use crate::support_shapes::{Fact, check_shape, parted};

const WWID: &str = "3600a0b800012345600000abc5f1e2d3c";

/// `lsblk` of a disk that is reached two ways, with a partition that holds LVM.
fn tree(partition: &str) -> String {
    format!(
        "NAME                MAJ:MIN RM  SIZE RO TYPE  MOUNTPOINT\nsdb                   8:16   0  100G  0 disk  \n`-mpatha            253:2    0  100G  0 mpath \n  `-{partition}         253:3    0  100G  0 part  \n    `-vg_ora-lv_data 253:4    0   80G  0 lvm   /u01\nsdc                   8:32   0  100G  0 disk  \n`-mpatha            253:2    0  100G  0 mpath \n  `-{partition}         253:3    0  100G  0 part  \n    `-vg_ora-lv_data 253:4    0   80G  0 lvm   /u01\n"
    )
}

fn ways() -> String {
    format!(
        "mpatha ({WWID}) dm-2 ACME,BOX-9\nsize=100G features='1 queue_if_no_path' hwhandler='1 alua' wp=rw\n|-+- policy='service-time 0' prio=50 status=active\n| `- 1:0:0:1 sdb 8:16 active ready running\n`-+- policy='service-time 0' prio=10 status=enabled\n  `- 2:0:0:1 sdc 8:32 active ready running\n"
    )
}

/// Each path has the table of the disk, and `parted` prints it of all of them and of `dm-2`.
fn tables() -> Vec<(&'static str, String)> {
    let table = |disk: &str| {
        parted(
            disk,
            209_715_200,
            (512, 4096),
            "msdos",
            &[(1, 63, 209_712_447)],
        )
    };
    vec![
        ("sos_commands/block/parted_-s_.dev.sdb_unit_s_print", table("/dev/sdb")),
        ("sos_commands/block/parted_-s_.dev.sdc_unit_s_print", table("/dev/sdc")),
        ("sos_commands/block/parted_-s_.dev.dm-2_unit_s_print", table("/dev/dm-2")),
        ("sos_commands/devicemapper/dmsetup_table", "mpatha: 0 209715200 multipath 1 queue_if_no_path 1 alua 2 1 service-time 0 1 2 8:16 1 1 service-time 0 1 2 8:32 1 1\nmpatha1: 0 209712447 linear 253:2 63\nvg_ora-lv_data: 0 167772160 linear 253:3 2048\n".into()),
    ]
}

/// One disk, one partition: with the names that kpartx gives, of RHEL 6, and those of later ones.
#[test]
fn a_disk_that_is_reached_two_ways_is_one() {
    for (top, plugin, partition) in [
        (
            "sosreport-ora6.01234567-20150318101500-ab12",
            "multipath_-v4_-ll",
            "mpatha1",
        ),
        (
            "sosreport-ora8-2022-03-18-abcdefg",
            "multipath_-ll",
            "mpatha1",
        ),
    ] {
        let path = format!("sos_commands/multipath/{plugin}");
        let mut files = tables();
        files.push(("sos_commands/block/lsblk", tree(partition)));
        files.push((path.as_str(), ways()));
        let host = if top.contains("ora6") { "ora6" } else { "ora8" };
        check_shape(
            top,
            &files,
            &format!("a sosreport of host {host}"),
            &[
                Fact("mpatha1", "/placement/value/start", 63 * 512),
                Fact("mpatha1", "below mapper/mpatha", 0),
                Fact("mpatha1", "only one", 1),
                Fact("mapper/mpatha", "/size/value", 209_715_200 * 512),
                Fact("mapper/mpatha", "grid physical-sector", 4096),
                Fact("vg_ora-lv_data", "below mpatha1", 0),
                Fact("vg_ora-lv_data", "/placement/value/start", 2048 * 512),
                Fact("sdb", "none", 0),
                Fact("sdc", "none", 0),
                Fact("sdb1", "none", 0),
                Fact("dm-2p1", "none", 0),
                Fact("dm-2", "none", 0),
            ],
        );
    }
}

/// Without a tree, what multipath prints says which disks are one.
#[test]
fn supportconfig_tells_paths_by_what_multipath_prints() {
    let titled = |what: &str, printed: &str| {
        format!("#==[ Command ]======================================#\n# {what}\n{printed}\n")
    };
    let table = |disk: &str| {
        parted(
            disk,
            209_715_200,
            (512, 512),
            "msdos",
            &[(1, 2048, 209_710_080)],
        )
    };
    let uname = titled(
        "/bin/uname -a",
        "Linux sap7 4.12.14-122 #1 SMP x86_64 GNU/Linux\n",
    );
    check_shape(
        "scc_sap7_220318_1015",
        &[
            ("basic-environment.txt", uname),
            (
                "mpio.txt",
                format!(
                    "{}{}",
                    titled("/sbin/multipath -ll", &ways()),
                    titled(
                        "/sbin/dmsetup table",
                        "mpatha: 0 209715200 multipath 0 0 1 1 service-time 0 2 2 8:16 1 1 8:32 1 1\nmpatha-part1: 0 209710080 linear 254:2 2048\n"
                    )
                ),
            ),
            (
                "fs-diskio.txt",
                format!(
                    "{}{}",
                    titled(
                        "/usr/sbin/parted -s /dev/sdb unit s print",
                        &table("/dev/sdb")
                    ),
                    titled(
                        "/usr/sbin/parted -s /dev/sdc unit s print",
                        &table("/dev/sdc")
                    ),
                ),
            ),
        ],
        "a supportconfig of host sap7",
        &[
            Fact("mapper/mpatha", "only one", 1),
            Fact("mapper/mpatha", "/size/value", 209_715_200 * 512),
            Fact("sdc", "none", 0),
        ],
    );
}

/// Encryption on a volume: the table has its numbers only.
#[test]
fn numbers_in_tables_are_those_of_the_tree() {
    check_shape(
        "sosreport-vault-2023-04-05-abcdefg",
        &[
            (
                "sos_commands/block/lsblk",
                "NAME            MAJ:MIN RM SIZE RO TYPE  MOUNTPOINTS\nvda             252:0    0  40G  0 disk  \n`-vda2          252:2    0  39G  0 part  \n  `-vg-safe     253:0    0  30G  0 lvm   \n    `-opened    253:1    0  30G  0 crypt /secret\n".into(),
            ),
            (
                "sos_commands/devicemapper/dmsetup_table",
                "opened: 0 62881792 crypt aes-xts-plain64 :64:logon:cryptsetup:aaaaaaaa-d0 0 253:0 32768\nvg-safe: 0 62914560 linear 252:2 2048\n".into(),
            ),
            (
                "sos_commands/block/parted_-s_.dev.vda_unit_s_print",
                parted("/dev/vda", 83_886_080, (512, 512), "gpt", &[(2, 2_099_200, 81_784_832)]),
            ),
        ],
        "a sosreport of host vault",
        &[
            Fact("opened", "below vg-safe", 0),
            Fact("opened", "/placement/value/start", 32_768 * 512),
            Fact("vg-safe", "below vda2", 0),
            Fact("vg-safe", "/placement/value/start", 1 << 20),
            Fact("vda2", "/placement/value/start", 2_099_200 * 512),
        ],
    );
}

/// What `sos clean` leaves: names of hosts and addresses are others, those of devices are not.
#[test]
fn an_obfuscated_report_is_read_as_any_other() {
    check_shape(
        "sosreport-host0-2024-06-07-abcdefg-obfuscated",
        &[
            ("sos_commands/host/hostname", "host0.obfuscateddomain0.com\n".into()),
            (
                "sos_commands/block/lsblk_-O_-P",
                "NAME=\"sda\" KNAME=\"sda\" PATH=\"/dev/sda\" MAJ:MIN=\"8:0\" FSTYPE=\"\" SIZE=\"50G\" TYPE=\"disk\" PHY-SEC=\"4096\" LOG-SEC=\"512\" MIN-IO=\"4096\" OPT-IO=\"0\" ROTA=\"1\" PKNAME=\"\"\nNAME=\"sda1\" KNAME=\"sda1\" PATH=\"/dev/sda1\" MAJ:MIN=\"8:1\" FSTYPE=\"ext4\" SIZE=\"49G\" TYPE=\"part\" PHY-SEC=\"4096\" LOG-SEC=\"512\" MIN-IO=\"4096\" OPT-IO=\"0\" ROTA=\"1\" PKNAME=\"sda\" START=\"63\"\n".into(),
            ),
            (
                "sos_commands/md/mdadm_-E_.dev.sda",
                "mdadm: No md superblock detected on /dev/sda.\n".into(),
            ),
        ],
        "a sosreport of host host0",
        &[
            Fact("sda1", "/placement/value/start", 63 * 512),
            Fact("sda", "grid physical-sector", 4096),
        ],
    );
}
