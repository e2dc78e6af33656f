//! Shapes of what supportconfig and vm-support collect: what must be known of each, by value.

use crate::support::{scratch, sh, straddle};
use crate::support_shapes::{Fact, check_facts, check_shape, fdisk, parted, put_all};

const MIB: u64 = 1 << 20;

/// A text of supportconfig: each output below its title.
fn titled(parts: &[(&str, &str, &str)]) -> String {
    let part = |(kind, what, printed): &(&str, &str, &str)| {
        format!("#==[ {kind} ]======================================#\n# {what}\n{printed}\n")
    };
    parts.iter().map(part).collect()
}

#[test]
fn supportconfig_of_many_ages() {
    let environment = |host: &str| {
        let uname = format!("Linux {host} 5.14.21-150500 #1 SMP x86_64 GNU/Linux\n");
        titled(&[
            ("Command", "/bin/date", "Sat Nov 28\n"),
            ("Command", "/bin/uname -a", &uname),
        ])
    };
    let disk = fdisk(
        "/dev/sda",
        40 << 30,
        4096,
        &[(1, 63, 4_194_304), (2, 4_196_352, 8_388_608)],
    );
    let facts = [
        Fact("sda1", "/placement/value/start", 63 * 512),
        Fact("sda2", "/placement/value/start", 4_196_352 * 512),
        Fact("sda", "grid physical-sector", 4096),
        Fact("sda", "/size/value", 40 << 30),
    ];
    // Names of the directory: old and new, with underscores in the name of the host; programs with and without their directory.
    for (top, host, command) in [
        ("nts_sles11_140312_0930", "sles11", "/sbin/fdisk -l"),
        (
            "nts_app_server_190412_0930",
            "app_server",
            "/sbin/fdisk -l 2>/dev/null",
        ),
        ("scc_sles15_230405_1112", "sles15", "/usr/sbin/fdisk -l"),
        ("scc_leap_241128_1015", "leap", "fdisk -l"),
    ] {
        check_shape(
            top,
            &[
                ("basic-environment.txt", environment(host)),
                (
                    "fs-diskio.txt",
                    titled(&[
                        ("Command", command, &disk),
                        ("Log File", "/var/log/x", "Disk /dev/sdz: 1 GB\n"),
                    ]),
                ),
            ],
            &format!("a supportconfig of host {host}"),
            &facts,
        );
    }
    // By parted, in sectors.
    check_shape(
        "scc_parted_241128_1015",
        &[
            ("basic-environment.txt", environment("parted")),
            (
                "fs-diskio.txt",
                titled(&[(
                    "Command",
                    "/usr/sbin/parted -s /dev/nvme0n1 unit s print",
                    &parted(
                        "/dev/nvme0n1",
                        41_943_040,
                        (512, 4096),
                        "gpt",
                        &[(1, 2048, 1_048_576)],
                    ),
                )]),
            ),
        ],
        "a supportconfig of host parted",
        &[Fact("nvme0n1p1", "/placement/value/start", MIB)],
    );
    // An array, and what the kernel says of it.
    check_shape(
        "scc_raid_241128_1015",
        &[
            ("basic-environment.txt", environment("raid")),
            (
                "fs-softraid.txt",
                titled(&[
                    (
                        "Configuration File",
                        "/proc/mdstat",
                        "Personalities : [raid0]\nmd0 : active raid0 sdc[1] sdb[0]\n      20953088 blocks super 1.2 512k chunks\n\nunused devices: <none>\n",
                    ),
                    (
                        "Configuration File",
                        "/etc/mdadm.conf",
                        "ARRAY /dev/md9 metadata=1.2\n",
                    ),
                ]),
            ),
        ],
        "a supportconfig of host raid",
        &[
            Fact("md0", "grid stripe-unit", 524_288),
            Fact("md0", "/size/value", 20_953_088 << 10),
        ],
    );
    // Where LVM begins on its disk.
    check_shape(
        "scc_lvm_241128_1015",
        &[
            ("basic-environment.txt", environment("lvm")),
            (
                "lvm.txt",
                titled(&[
                    (
                        "Command",
                        "/sbin/pvs --units b -o +pe_start",
                        "  PV         VG   Fmt  Attr PSize        PFree 1st PE \n  /dev/sdb   vg1  lvm2 a--  10733223936B    0B 196608B\n",
                    ),
                    (
                        "Command",
                        "/sbin/vgs --units b -o +vg_extent_size",
                        "  VG   #PV #LV #SN Attr   VSize        VFree Ext     \n  vg1    1   1   0 wz--n- 10733223936B    0B 4194304B\n",
                    ),
                    (
                        "Command",
                        "/sbin/lvs --segments --units b -o +devices,stripes,stripesize",
                        "  LV   VG   Attr       #Str Type   SSize       Devices     #Str Stripe\n  data vg1  -wi-a-----    1 linear 4294967296B /dev/sdb(0)    1     0B\n",
                    ),
                ]),
            ),
        ],
        "a supportconfig of host lvm",
        &[Fact("vg1/data", "/map/start", 196_608)],
    );
    // XFS by its mount and by its own tool.
    check_shape(
        "scc_xfs_241128_1015",
        &[
            ("basic-environment.txt", environment("xfs")),
            (
                "fs-diskio.txt",
                titled(&[
                    (
                        "Command",
                        "/bin/mount",
                        "/dev/sdb1 on /hana type xfs (rw,relatime,sunit=512,swidth=2048)\ntmpfs on /run type tmpfs (rw)\n",
                    ),
                    (
                        "Command",
                        "/sbin/fdisk -l",
                        &fdisk("/dev/sdb", 20 << 30, 512, &[(1, 2048, 4_194_304)]),
                    ),
                ]),
            ),
        ],
        "a supportconfig of host xfs",
        &[
            Fact("xfs", "attribute fs-stripe-unit", 262_144),
            Fact("xfs", "attribute fs-full-stripe", MIB),
            Fact("sdb1", "/placement/value/start", MIB),
        ],
    );
}

#[test]
fn a_supportconfig_without_a_name_says_whose_it_is() {
    let folder = scratch();
    let here = folder.path();
    put_all(
        here,
        "s",
        &[
            (
                "basic-environment.txt",
                titled(&[("Command", "/bin/uname -a", "Linux sap9 5.14 #1 SMP\n")]),
            ),
            (
                "fs-diskio.txt",
                titled(&[(
                    "Command",
                    "/sbin/fdisk -l",
                    &fdisk("/dev/sda", 40 << 30, 512, &[(1, 63, 100_000)]),
                )]),
            ),
        ],
    );
    sh(here, "tar cjf a.tbz -C s . && tar cJf b.txz -C s .");
    for target in ["a.tbz", "b.txz"] {
        check_facts(
            here,
            target,
            "a supportconfig of host sap9",
            &[Fact("sda1", "/placement/value/start", 63 * 512)],
        );
    }
}

/// What `partedUtil.sh` prints of a disk.
fn parted_util(device: &str, table: &str, sectors: u64, rows: &[(u64, u64, u64, &str)]) -> String {
    let mut text = format!(
        "Device:  /vmfs/devices/disks/{device}\nPartition table:\n{table}\n{} 255 63 {sectors}\n",
        sectors / 16_065
    );
    for (number, first, last, kind) in rows {
        text.push_str(&format!("{number} {first} {last} {kind}\n"));
    }
    text.push_str(&format!("\nUsable sectors:\n34 {}\n\n\n", sectors - 34));
    text
}

#[test]
fn vm_support_of_many_ages() {
    const VMFS: &str = "AA31E02A400F11DB9590000C2911D1B8 vmfs 0";
    let table = "Partition table and usable sector information for disks\n\n";
    // As partedUtil.sh prints it, on disks of each kind of name, GPT and MBR.
    for (top, host, device, kind, rows, first) in [
        (
            "esx-esx5-2013-02-01--08.10-99",
            "esx5",
            "naa.600144f0e8cb470000005053b9b50001",
            "msdos",
            "251 0",
            128_u64,
        ),
        (
            "esx-esx6.lab.example-2017-02-01--08.10-99",
            "esx6.lab.example",
            "naa.5000c500a1b2c3d4",
            "gpt",
            VMFS,
            2048,
        ),
        (
            "esx-esx67-2019-02-01--08.10-1234567",
            "esx67",
            "t10.NVMe____ACME_1000_______________________0001A2B3C4D5E6F7",
            "gpt",
            VMFS,
            2048,
        ),
        (
            "esx-esx7-2021-02-01--08.10-1234567",
            "esx7",
            "mpx.vmhba1:C0:T0:L0",
            "gpt",
            VMFS,
            63,
        ),
        (
            "esx-esx8-2024-02-01--08.10-1234567",
            "esx8",
            "eui.0025385a01b2c3d4",
            "gpt",
            VMFS,
            2048,
        ),
    ] {
        let printed = parted_util(device, kind, 937_703_088, &[(1, first, 900_000_000, rows)]);
        let name = format!("{device}:1");
        check_esx(
            top,
            host,
            &[
                ("commands/partedUtil.sh.txt", format!("{table}{printed}")),
                ("commands/vmware_-vl.txt", "VMware ESXi\n".into()),
            ],
            &name,
            first * 512,
        );
    }
    let list = |device: &str, row: &str| {
        format!(
            "Device                                Partition  Start Sector  End Sector  Type          Size\n------------------------------------  ---------  ------------  ----------  ----  ------------\n{device}          {row}\n"
        )
    };
    // As esxcli lists them, by its local twin, and by itself.
    for (top, host, file) in [
        (
            "esx-a-2015-02-01--08.10-1",
            "a",
            "commands/localcli_storage-core-device-partition-list.txt",
        ),
        (
            "esx-b-2015-02-01--08.10-1",
            "b",
            "commands/esxcli_storage_core_device_partition_list.txt",
        ),
    ] {
        let device = "naa.600508b1001c3ea1f0d3b0a14f0e8a11";
        check_esx(
            top,
            host,
            &[
                (
                    file,
                    list(device, "3      15472640   585871931    fb  292044436992"),
                ),
                ("commands/vmware_-vl.txt", "VMware ESXi\n".into()),
            ],
            &format!("{device}:3"),
            15_472_640 * 512,
        );
    }
    // As JSON alone: keys with blanks, and without.
    for (top, host, spaced) in [
        ("esx-c-2022-02-01--08.10-1", "c", true),
        ("esx-d-2022-02-01--08.10-1", "d", false),
    ] {
        let json = "[{\"Device\": \"naa.5000c500a1b2c3d4\", \"Partition\": 1, \"Start Sector\": 63, \"End Sector\": 900000, \"Type\": \"fb\", \"Size\": 460767744}]\n";
        let devices = "[{\"Device\": \"naa.5000c500a1b2c3d4\", \"Devfs Path\": \"/vmfs/devices/disks/naa.5000c500a1b2c3d4\", \"Device Type\": \"Direct-Access \", \"Size\": 457862, \"Model\": \"ST480 \"}]\n";
        let keys = |text: &str| match spaced {
            true => text.to_owned(),
            false => text
                .replace("Start Sector", "StartSector")
                .replace("End Sector", "EndSector")
                .replace("Devfs Path", "DevfsPath")
                .replace("Device Type", "DeviceType"),
        };
        check_esx(
            top,
            host,
            &[
                (
                    "json/localcli_storage-core-device-partition-list.json",
                    keys(json),
                ),
                ("json/localcli_storage-core-device-list.json", keys(devices)),
                (
                    "commands/uname_-a.txt",
                    format!("VMkernel {host} 7.0.3 #1 SMP\n"),
                ),
            ],
            "naa.5000c500a1b2c3d4:1",
            63 * 512,
        );
    }
    // Physical sectors.
    check_shape(
        "esx-e-2022-02-01--08.10-1",
        &[
            ("commands/localcli_storage-core-device-capacity-list.txt", "Device                Physical Blocksize  Logical Blocksize  Logical Block Count         Size  Format Type\n--------------------  ------------------  -----------------  -------------------  -----------  -----------\nnaa.5000c500a1b2c3d4                4096                512            937703088   457862 MiB  512e\n".into()),
            ("commands/vmware_-vl.txt", "VMware ESXi\n".into()),
        ],
        "a vm-support of host e",
        &[Fact("naa.5000c500a1b2c3d4", "grid physical-sector", 4096)],
    );
}

fn check_esx(top: &str, host: &str, files: &[(&str, String)], partition: &str, start: u64) {
    let folder = scratch();
    let here = folder.path();
    put_all(here, top, files);
    sh(here, &format!("tar czf packed.tgz {top}"));
    for target in [top, "packed.tgz"] {
        let run = straddle(here, &["check", "--json", target]);
        let document: serde_json::Value =
            serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.transcript()));
        let found = &document["targets"][0];
        assert_eq!(
            found["taken_as"]["words"],
            format!("a vm-support of host {host}"),
            "{found:#}"
        );
        let starts: Vec<_> = found["stack"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|layer| layer["kind"] == "partition")
            .map(|layer| layer["placement"]["value"]["start"].as_u64())
            .collect();
        assert_eq!(starts, [Some(start)], "{partition}: {found:#}");
    }
}
