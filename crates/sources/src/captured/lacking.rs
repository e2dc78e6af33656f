//! Outputs of tools that people send, and that hold nothing of what alignment needs: which tool it is, what it does not print, and what does.

use super::text::Text;

/// A tool whose output says of nothing where it begins.
#[derive(Debug, PartialEq, Eq)]
pub struct Lacking {
    /// The command.
    pub tool: &'static str,
    /// What it does not say, behind "prints".
    pub lacks: &'static str,
    /// What says it, on the same system.
    pub next: Next,
}

/// What to run instead.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// This.
    Run(&'static str),
    /// Whatever prints starts on this platform.
    On(&'static str),
}

/// One, and the beginnings of lines that tell it, with one blank between words: one of each row has to be there.
type Told = (&'static [&'static [&'static str]], Lacking);

const GUEST: &str = "how long a virtual disk is, not where the guest's partitions begin in it";

const SIZES: &str = "which disks there are and how long, not where partitions begin";

static TOOLS: [Told; 24] = [
    (
        &[
            &["file format: ", "\"format\": "],
            &["virtual size: ", "\"virtual-size\": "],
        ],
        Lacking {
            tool: "qemu-img info",
            lacks: GUEST,
            next: Next::Run(
                "`straddle check IMAGE` where the image lies: it reads the image itself, its clusters and the guest's table",
            ),
        },
    ),
    (
        &[&["Storage format:"], &["Capacity:", "Logical size:"]],
        Lacking {
            tool: "VBoxManage showmediuminfo",
            lacks: GUEST,
            next: Next::Run(
                "`straddle check DISK.vdi` where the file of `Location` lies: it reads the disk itself, its blocks and the guest's table",
            ),
        },
    ),
    (
        &[
            &[
                "scsi0: ",
                "scsi1: ",
                "virtio0: ",
                "virtio1: ",
                "sata0: ",
                "ide0: ",
                "rootfs: ",
            ],
            &["scsihw: ", "ostype: ", "memory: "],
        ],
        Lacking {
            tool: "qm config",
            lacks: "which volumes a guest has, not where its partitions begin in them",
            next: Next::Run(
                "`straddle check /dev/pve/vm-ID-disk-N` on the Proxmox host (`pvesm path VOLUME` prints the path of a volume)",
            ),
        },
    ),
    (
        &[&["Name Type Status Total Used Available"]],
        Lacking {
            tool: "pvesm status",
            lacks: "which storages there are, not what they lie on",
            next: Next::Run(
                "`straddle check` on the Proxmox host, or `pvereport` there and check its text",
            ),
        },
    ),
    (
        &[&["dir: ", "lvmthin: ", "zfspool: "], &["content "]],
        Lacking {
            tool: "cat /etc/pve/storage.cfg",
            lacks: "which storages there are, not what they lie on",
            next: Next::Run(
                "`straddle check` on the Proxmox host, or `pvereport` there and check its text",
            ),
        },
    ),
    (
        &[&["\\==+"], &["|----"]],
        Lacking {
            tool: "esxcfg-info",
            lacks: "a tree of everything, whose partitions are not read",
            next: Next::On("esxi"),
        },
    ),
    (
        &[&["\"zfs_guid\""], &["\"lunid\""]],
        Lacking {
            tool: "midclt call disk.query",
            lacks: "which disks there are, neither their sectors nor where partitions begin",
            next: Next::Run(
                "`lsblk -J -b -O` on TrueNAS SCALE, `gpart show` and `geom disk list` on TrueNAS CORE, and `zdb -C -U /data/zfs/zpool.cache` on both",
            ),
        },
    ),
    (
        &[
            &["PHYSICAL VOLUME: hdisk", "hdisk"],
            &["PP SIZE: ", "hdisk"],
        ],
        Lacking {
            tool: "lspv",
            lacks: "in which physical partitions a disk is divided, not where the first begins on it; no command of AIX prints that",
            next: Next::Run(
                "`lsvg VG` and `getlvcb -AT LV`: whether a volume has its control block before its data (a DEVICESUBTYPE of DS_LVZ has none), which shifts them",
            ),
        },
    ),
    (
        &[&["Part Tag Flag Cylinders"]],
        Lacking {
            tool: "format",
            lacks: "slices in whole cylinders, whose length depends on the geometry",
            next: Next::On("solaris"),
        },
    ),
    (
        &[&["Vendor: "], &["c0", "c1", "c2", "c3"], &["Size: "]],
        Lacking {
            tool: "iostat -En",
            lacks: "which disks there are, not where slices begin",
            next: Next::On("solaris"),
        },
    ),
    (
        &[&["magic"], &["superblock location"]],
        Lacking {
            tool: "dumpfs",
            lacks: "the blocks of a filesystem, not where its partition begins",
            next: Next::On("freebsd"),
        },
    ),
    (
        &[&["DEVICE TYPE DISK GROUP STATUS"]],
        Lacking {
            tool: "vxdisk list",
            lacks: "which disks there are, not where their public regions begin",
            next: Next::Run(
                "`vxdisk list DISK` (its line `public:` has the offset in sectors) and `vxprint -ht`, and the partitions of the disk by the system's own tool",
            ),
        },
    ),
    (
        &[&["TY NAME ASSOC"]],
        Lacking {
            tool: "vxprint",
            lacks: "places within volumes of VxVM, not where these lie on the disks",
            next: Next::Run(
                "`vxdisk list DISK` (its line `public:` has the offset in sectors), and the partitions of the disk by the system's own tool",
            ),
        },
    ),
    (
        &[&["Label: "], &["devid "]],
        Lacking {
            tool: "btrfs filesystem show",
            lacks: "which devices a filesystem has, not where these begin",
            next: Next::On("linux"),
        },
    ),
    (
        &[&["[block]", "[db]"], &["osd id", "cluster fsid"]],
        Lacking {
            tool: "ceph-volume lvm list",
            lacks: "which volumes an OSD has, not where these lie",
            next: Next::Run(
                "`pvs -o +pe_start --units b`, `dmsetup table` and `lsblk -J -b -O` on the host of the OSD",
            ),
        },
    ),
    (
        &[&["NAME PROPERTY VALUE SOURCE"]],
        Lacking {
            tool: "zpool get",
            lacks: "the ashift that new vdevs of a pool get (0 is what their disks say), not what its vdevs have nor where they begin",
            next: Next::Run(
                "`zdb -C POOL` (ashift of each vdev and the paths of its disks), and the partitions of these disks by the system's own tool",
            ),
        },
    ),
    (
        &[&[
            "Filesystem Size Used",
            "Filesystem 1K-blocks",
            "Filesystem Type Size",
        ]],
        Lacking {
            tool: "df",
            lacks: "which filesystems are mounted, not what they lie on",
            next: Next::On("linux"),
        },
    ),
    (
        &[
            &["*-disk", "*-volume", "*-namespace", "*-cdrom"],
            &["description: "],
        ],
        Lacking {
            tool: "lshw",
            lacks: SIZES,
            next: Next::On("linux"),
        },
    ),
    (
        &[&["H/W path Device Class"]],
        Lacking {
            tool: "lshw -short",
            lacks: SIZES,
            next: Next::On("linux"),
        },
    ),
    (
        &[&["Hardware Class: "], &["Device File: ", "Device Files: "]],
        Lacking {
            tool: "hwinfo",
            lacks: SIZES,
            next: Next::On("linux"),
        },
    ),
    (
        &[&["Local Storage: ", "Drives: Local Storage: "], &["ID-1: "]],
        Lacking {
            tool: "inxi",
            lacks: SIZES,
            next: Next::On("linux"),
        },
    ),
    (
        &[&["NAME SIZE ALLOC FREE"]],
        Lacking {
            tool: "zpool list",
            lacks: "how full pools are, neither the ashift of their vdevs nor where these begin",
            next: Next::Run(
                "`zdb -C POOL` (ashift of each vdev and the paths of its disks), and the partitions of these disks by the system's own tool",
            ),
        },
    ),
    (
        &[&["TARGET SOURCE FSTYPE"]],
        Lacking {
            tool: "findmnt",
            lacks: "which filesystems are mounted, not what they lie on",
            next: Next::On("linux"),
        },
    ),
    (
        &[&["Host Name: "], &["OS Name: "], &["OS Version: "]],
        Lacking {
            tool: "systeminfo",
            lacks: "which system runs, not which disks it has",
            next: Next::On("windows"),
        },
    ),
];

/// As much of a text as is looked at.
const HEAD: usize = 64 << 10;

/// The tool that printed a text of which nothing is known otherwise.
#[must_use]
pub fn lacking(bytes: &[u8]) -> Option<&'static Lacking> {
    let text = Text::new(bytes.get(..HEAD).unwrap_or(bytes), false);
    let lines = text.lines();
    let lines: Vec<String> = lines
        .iter()
        .map(|line| line.text.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let has = |beginnings: &&[&str]| {
        let begins = |line: &String| beginnings.iter().any(|begin| line.starts_with(begin));
        lines.iter().any(begins)
    };
    let told = |(rows, _): &&Told| rows.iter().all(&has);
    TOOLS.iter().find(told).map(|(_, lacking)| lacking)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_told_by_their_lines() {
        let of = |text: &str| lacking(text.as_bytes()).map(|found| found.tool);
        let qemu = "image: db1.qcow2\nfile format: qcow2\nvirtual size: 40 GiB (42949672960 bytes)\ncluster_size: 65536\n";
        assert_eq!(of(qemu), Some("qemu-img info"));
        assert_eq!(
            of("{\n    \"virtual-size\": 42949672960,\n    \"format\": \"qcow2\"\n}\n"),
            Some("qemu-img info")
        );
        assert_eq!(
            of("hdisk0          00c276b034d03b25                    rootvg          active\n"),
            Some("lspv")
        );
        for (text, tool) in [
            (
                "  *-disk\n       description: ATA Disk\n       logical name: /dev/sda\n",
                "lshw",
            ),
            (
                "H/W path      Device     Class   Description\n====\n",
                "lshw -short",
            ),
            (
                "  Hardware Class: disk\n  Device File: /dev/sda\n",
                "hwinfo",
            ),
            (
                "Drives:    Local Storage: total: 1 TiB\n  ID-1: /dev/sda\n",
                "inxi",
            ),
            (
                "NAME    SIZE  ALLOC   FREE  CAP\ntank   7T  3T  4T  42%\n",
                "zpool list",
            ),
            (
                "TARGET   SOURCE    FSTYPE OPTIONS\n/  /dev/sda1 ext4 rw\n",
                "findmnt",
            ),
            (
                "Host Name:  SQL01\nOS Name:  Microsoft\nOS Version:  5.2.3790\n",
                "systeminfo",
            ),
        ] {
            assert_eq!(of(text), Some(tool), "{text}");
        }
        for other in ["virtual size: 1\n", "The format: raw\n", ""] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
