//! Shapes of texts about whole machines, of pvereport and msinfo32, and of the folders of our own scripts: what must be known of each, by value.

use std::fs;
use std::path::Path;

use crate::support::{scratch, sh, straddle};
use crate::support_shapes::{Fact, check_facts, check_shape, fdisk, put_all};

/// What the host is called, the name of the file, commands with what they print, and what must be known.
type Shape<'a> = (&'a str, &'a str, Vec<(&'a str, String)>, Vec<Fact<'a>>);
/// Size of a sector, size of the disk, and start and length of each partition.
type Disk<'a> = (u64, u64, &'a [(u64, u64)]);

fn pve(host: &str, disks: &[(&str, &str)]) -> String {
    let mut text = format!(
        "\n==== general system info ====\n\n# hostname\n{host}\n\n# pveversion --verbose\nproxmox-ve: 8.1.0 (running kernel: 6.5.11-7-pve)\n\n# cat /etc/hosts\n# --- comment\n127.0.0.1 localhost\n\n\
         ==== info about storage ====\n\n# cat /etc/pve/storage.cfg\nlvmthin: local-lvm\n\tthinpool data\n\tvgname pve\n\n==== info about virtual guests ====\n\n# cat /etc/pve/qemu-server/100.conf\nscsi0: local-lvm:vm-100-disk-0,size=32G\n\n==== info about disks ====\n"
    );
    for (command, printed) in disks {
        text.push_str(&format!("\n# {command}\n{printed}"));
    }
    text.push_str("\n# ls -l /dev/disk/by-*/\nlrwxrwxrwx 1 root root 9 Nov 28 10:15 wwn-0x5000c500a1b2c3d4 -> ../../sda\n");
    text
}

#[test]
fn proxmox_reports_are_hosts() {
    let folder = scratch();
    let here = folder.path();
    let old = "NAME         MAJ:MIN RM   SIZE RO TYPE MOUNTPOINT\nsda            8:0    0   100G  0 disk \n|-sda1         8:1    0  1007K  0 part \n|-sda2         8:2    0   512M  0 part /boot/efi\n`-sda3         8:3    0  99.5G  0 part \n  |-pve-swap 253:0    0     8G  0 lvm  [SWAP]\n  `-pve-root 253:1    0  24.8G  0 lvm  /\n";
    let new = |sector: u64| {
        format!(
            "NAME         MAJ:MIN RM   SIZE RO TYPE MOUNTPOINTS HOTPLUG ROTA PHY-SEC FSTYPE      MODEL     TRAN\n\
             sda            8:0    0 931.5G  0 disk                   0    1 {sector:>7}             ACME_4000 sata\n\
             |-sda1         8:1    0  1007K  0 part                   0    1 {sector:>7}                       \n\
             `-sda3         8:3    0   931G  0 part                   0    1 {sector:>7} LVM2_member           \n  \
             `-pve-root 253:1    0    96G  0 lvm  /                 0    1 {sector:>7} ext4                  \n"
        )
    };
    let zpool = "  pool: rpool\n state: ONLINE\nconfig:\n\n\tNAME        STATE     READ WRITE CKSUM\n\trpool       ONLINE       0     0     0\n\t  mirror-0  ONLINE       0     0     0\n\t    sda3    ONLINE       0     0     0\n\t    sdb3    ONLINE       0     0     0\n\nerrors: No known data errors\n";
    let shapes: [Shape; 8] = [
        ("pve5", "report-5.txt", vec![("lsblk --ascii", old.into())], vec![Fact("pve-root", "below sda3", 0)]),
        ("pve6.example.com", "report-6.txt", vec![("lsblk --ascii", old.into()), ("pvs", "  PV         VG  Fmt  Attr PSize  PFree \n  /dev/sda3  pve lvm2 a--  99.50g 12.25g\n".into())], vec![Fact("pve-root", "below sda3", 0)]),
        ("pve7", "pve7-pve-report-Tue-01-August-2023-9-0.txt", vec![("lsblk --ascii -M -o +HOTPLUG,ROTA,PHY-SEC,FSTYPE,MODEL,TRAN", new(4096))], vec![Fact("sda", "grid physical-sector", 4096)]),
        ("pve8", "r8.txt", vec![("lsblk --ascii -M -o +HOTPLUG,ROTA,PHY-SEC,FSTYPE,MODEL,TRAN", new(512))], vec![Fact("sda", "grid physical-sector", 512)]),
        ("pvez", "z.txt", vec![("lsblk --ascii", old.into()), ("zpool status", zpool.into())], vec![Fact("sda3", "only one", 1)]),
        ("pvem", "m.txt", vec![("findmnt --ascii", "TARGET SOURCE FSTYPE OPTIONS\n/      /dev/mapper/pve-root ext4 rw,relatime\n`-/hana /dev/sdb1 xfs rw,sunit=128,swidth=256\n".into()), ("lsblk --ascii", "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINT\nsdb 8:16 0 10G 0 disk \n`-sdb1 8:17 0 10G 0 part /hana\n".into())], vec![Fact("xfs", "attribute fs-stripe-unit", 65_536)]),
        ("pvef", "f.txt", vec![("fdisk -l", fdisk("/dev/sda", 20 << 30, 4096, &[(1, 63, 1_000_000)]))], vec![Fact("sda1", "/placement/value/start", 63 * 512)]),
        ("pvee", "e.txt", vec![("iscsiadm -m node", "iscsiadm: No records found\n".into()), ("lsblk --ascii", old.into())], vec![Fact("pve-root", "below sda3", 0)]),
    ];
    for (host, file, disks, facts) in &shapes {
        let disks: Vec<(&str, &str)> = disks
            .iter()
            .map(|(command, text)| (*command, text.as_str()))
            .collect();
        fs::write(here.join(file), pve(host, &disks)).expect("writable");
        check_facts(here, file, &format!("a pvereport of host {host}"), facts);
    }
    sh(here, "gzip -k r8.txt; tar cf z.tar z.txt");
    check_facts(
        here,
        "r8.txt.gz",
        "a pvereport of host pve8",
        &[Fact("sda", "grid physical-sector", 512)],
    );
    check_facts(
        here,
        "z.tar",
        "a pvereport of host pvez",
        &[Fact("sda3", "only one", 1)],
    );
    // What no such report has is asked for; what guests have is none of it.
    let run = straddle(here, &["check", "--details", "report-5.txt"]);
    let words: String = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("start of sda1, sda2, sda3: `fdisk -l`"),
        "{}",
        run.transcript()
    );
    assert!(!words.contains("vm-100"), "{}", run.transcript());
    for (how, says) in [
        ("--as=support", Some("taken as a pvereport of host pve5")),
        ("--as=text", None),
    ] {
        let run = straddle(here, &["check", how, "report-5.txt"]);
        assert_eq!(
            run.stdout.starts_with("taken as"),
            says.is_some(),
            "{}",
            run.transcript()
        );
        assert!(
            run.stdout.contains(says.unwrap_or("sda1")),
            "{}",
            run.transcript()
        );
    }
    fs::write(here.join("other.txt"), "nothing of the kind\n").expect("writable");
    let run = straddle(here, &["check", "--as=support", "other.txt"]);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    assert!(
        run.stderr.contains("no output of a known tool"),
        "{}",
        run.transcript()
    );
    // Two in a folder are two hosts.
    sh(here, "mkdir two; cp report-5.txt r8.txt two");
    let run = straddle(here, &["check", "two"]);
    assert!(run.stdout.contains("2 hosts"), "{}", run.transcript());
}

/// Words of `msinfo32` in a language: system name, model, bytes per sector, size, partition, its size, its offset; disk and partition as they
/// are named with their numbers; what separates thousands; the unit.
struct Words(
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    fn(u64, u64) -> String,
    &'static str,
    &'static str,
);

const LANGUAGES: [Words; 6] = [
    Words(
        "System Name",
        "Model",
        "Bytes/Sector",
        "Size",
        "Partition",
        "Partition Size",
        "Partition Starting Offset",
        |d, p| format!("Disk #{d}, Partition #{p}"),
        ",",
        "bytes",
    ),
    Words(
        "Systemname",
        "Modell",
        "Bytes/Sektor",
        "Größe",
        "Partition",
        "Partitionsgröße",
        "Partitionsstartoffset",
        |d, p| format!("Datenträgernr. {d}, Partitionsnr. {p}"),
        ".",
        "Bytes",
    ),
    Words(
        "Nom du système",
        "Modèle",
        "Octets/secteur",
        "Taille",
        "Partition",
        "Taille de partition",
        "Décalage de démarrage de la partition",
        |d, p| format!("Disque n°{d}, partition n°{p}"),
        "\u{a0}",
        "octets",
    ),
    Words(
        "Nombre del sistema",
        "Modelo",
        "Bytes/sector",
        "Tamaño",
        "Partición",
        "Tamaño de partición",
        "Desplazamiento de inicio de la partición",
        |d, p| format!("disco n.º {d}, partición n.º {p}"),
        ".",
        "bytes",
    ),
    Words(
        "Имя системы",
        "Модель",
        "Байт/сектор",
        "Размер",
        "Раздел",
        "Размер раздела",
        "Смещение начала раздела",
        |d, p| format!("диск №{d}, раздел №{p}"),
        "\u{a0}",
        "байт",
    ),
    Words(
        "システム名",
        "モデル",
        "バイト/セクター",
        "サイズ",
        "パーティション",
        "パーティション サイズ",
        "パーティションの開始オフセット",
        |d, p| format!("ディスク #{d}、パーティション #{p}"),
        ",",
        "バイト",
    ),
];

fn grouped(number: u64, separator: &str) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push_str(separator);
        }
        out.push(digit);
    }
    out
}

/// The items of a machine with these disks: sector size, size, and start and length of each partition.
fn items(host: &str, words: &Words, disks: &[Disk<'_>]) -> Vec<(String, String)> {
    let Words(system, model, sector, size, partition, length, offset, named, separator, unit) =
        words;
    let item = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let amount = |bytes: u64| {
        format!(
            "1{}00 GB ({} {unit})",
            if *separator == "," { "." } else { "," },
            grouped(bytes, separator)
        )
    };
    let mut all = vec![
        item("[System Summary]", ""),
        item("OS Name", "Microsoft Windows Server 2019 Standard"),
        item("Version", "10.0.17763 Build 17763"),
        item(system, host),
        item("[Disks]", ""),
    ];
    for (number, (bytes, whole, partitions)) in (0..).zip(disks) {
        all.extend([
            item("Description", "Disk drive"),
            item(model, "ACME 4000 SCSI Disk Device"),
            item(sector, &bytes.to_string()),
            item("Media Loaded", "Yes"),
            item("Partitions", &partitions.len().to_string()),
            item("Sectors/Track", "63"),
            item(size, &amount(*whole)),
            item("Total Cylinders", &grouped(121_601, separator)),
            item("Tracks/Cylinder", "255"),
        ]);
        for (index, (start, len)) in (0..).zip(*partitions) {
            all.extend([
                item(partition, &named(number, index)),
                item(length, &amount(*len)),
                item(offset, &format!("{} {unit}", grouped(*start, separator))),
            ]);
        }
        all.push(item("", ""));
    }
    all
}

/// The file that it saves, in UTF-16.
fn nfo(items: &[(String, String)]) -> Vec<u8> {
    let mut text = String::from(
        "<?xml version=\"1.0\"?>\r\n<MsInfo>\r\n<Metadata><Version>8.0</Version><CreationUTC>11/28/26 10:15:00</CreationUTC></Metadata>\r\n",
    );
    let mut open = false;
    for (key, value) in items {
        if let Some(name) = key.strip_prefix('[').and_then(|key| key.strip_suffix(']')) {
            if open {
                text.push_str("</Category>\r\n");
            }
            text.push_str(&format!("<Category name=\"{name}\">\r\n"));
            open = true;
        } else {
            text.push_str(&format!("<Data>\r\n<Item><![CDATA[{key}]]></Item>\r\n<Value><![CDATA[{value}]]></Value>\r\n</Data>\r\n"));
        }
    }
    text.push_str("</Category>\r\n</MsInfo>\r\n");
    wide(&text)
}

/// What it exports as text, in UTF-16.
fn exported(host: &str, items: &[(String, String)]) -> Vec<u8> {
    let mut text = format!(
        "System Information report written at: 11/28/26 10:15:00\r\nSystem Name: {host}\r\n"
    );
    for (key, value) in items {
        match key.starts_with('[') {
            true => text.push_str(&format!("{key}\r\n\r\nItem\tValue\r\n")),
            false => text.push_str(&format!("{key}\t{value}\r\n")),
        }
    }
    wide(&text)
}

fn wide(text: &str) -> Vec<u8> {
    let mut bytes = vec![0xff, 0xfe];
    bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    bytes
}

#[test]
fn msinfo32_is_read_in_every_language() {
    let folder = scratch();
    let here = folder.path();
    let disks: [Disk<'_>; 2] = [
        (
            512,
            500_105_249_280,
            &[(32_256, 104_857_600), (105_906_176, 499_000_000_512)],
        ),
        (4096, 1_000_202_273_280, &[(1_048_576, 999_000_002_560)]),
    ];
    let facts = [
        Fact("disk 0 partition #0", "/placement/value/start", 32_256),
        Fact("disk 0 partition #0", "/size/value", 104_857_600),
        Fact("disk 0 partition #1", "/placement/value/start", 105_906_176),
        Fact("disk 1 partition #0", "/placement/value/start", 1_048_576),
        Fact("disk 0", "grid logical-sector", 512),
        Fact("disk 1", "grid logical-sector", 4096),
    ];
    for (number, words) in LANGUAGES.iter().enumerate() {
        let host = format!("SQL{number}");
        let items = items(&host, words, &disks);
        let file = format!("m{number}.nfo");
        fs::write(here.join(&file), nfo(&items)).expect("writable");
        check_facts(
            here,
            &file,
            &format!("an msinfo32 report of host {host}"),
            &facts,
        );
        let file = format!("m{number}.txt");
        fs::write(here.join(&file), exported(&host, &items)).expect("writable");
        if number < 2 {
            check_facts(
                here,
                &file,
                &format!("an msinfo32 report of host {host}"),
                &facts,
            );
        }
    }
    sh(
        here,
        "gzip -k m0.nfo; tar cf m.tar m1.nfo; mkdir all; cp m0.nfo m1.nfo m2.nfo all",
    );
    check_facts(here, "m0.nfo.gz", "an msinfo32 report of host SQL0", &facts);
    check_facts(here, "m.tar", "an msinfo32 report of host SQL1", &facts);
    let run = straddle(here, &["check", "all"]);
    assert!(run.stdout.contains("3 hosts"), "{}", run.transcript());
    // Cut in the middle of a character, or of everything: no panic, and what stands before is read.
    let whole = nfo(&items("SQL0", &LANGUAGES[0], &disks));
    for len in [1, 2, 3, 500, whole.len() - 301] {
        fs::write(here.join("cut.nfo"), &whole[..len]).expect("writable");
        let run = straddle(here, &["check", "cut.nfo"]);
        assert!(matches!(run.code, Some(0..=2)), "{}", run.transcript());
    }
}

#[test]
fn the_folders_of_our_own_scripts_are_hosts() {
    let said = |host: &str, command: &str, printed: &str| {
        format!("### host: {host}\n### command: {command}\n{printed}")
    };
    let linux = |host: &str, start: u64| {
        vec![
            (
                "lsblk-topology.txt",
                said(
                    host,
                    "lsblk -t",
                    "NAME ALIGNMENT MIN-IO OPT-IO PHY-SEC LOG-SEC ROTA\nsda 0 4096 0 4096 512 1\n`-sda1 0 4096 0 4096 512 1\n",
                ),
            ),
            (
                "fdisk-sda.txt",
                said(
                    host,
                    "fdisk -l /dev/sda",
                    &fdisk("/dev/sda", 20 << 30, 4096, &[(1, start, 2_000_000)]),
                ),
            ),
            (
                "sgdisk-sda.txt",
                said(host, "sgdisk -p /dev/sda", "# not installed: sgdisk\n"),
            ),
            (
                "mounts.txt",
                said(
                    host,
                    "cat /proc/self/mountinfo",
                    "36 1 8:1 / /db rw shared:1 - xfs /dev/sda1 rw,sunit=128,swidth=256\n",
                ),
            ),
        ]
    };
    for (top, host, start) in [
        ("straddle-db1-20261128-101500", "db1", 63_u64),
        ("straddle-db-2-20261128-101500", "db-2", 2048),
    ] {
        check_shape(
            top,
            &linux(host, start),
            &format!("a straddle-collect folder of host {host}"),
            &[
                Fact("sda1", "/placement/value/start", start * 512),
                Fact("sda", "grid physical-sector", 4096),
                Fact("xfs", "attribute fs-stripe-unit", 65_536),
            ],
        );
    }
    // Under another name, the files say whose they are.
    check_shape(
        "from-the-customer",
        &linux("db9", 63),
        "a straddle-collect folder of host db9",
        &[Fact("sda1", "/placement/value/start", 63 * 512)],
    );
    let esxi = vec![(
        "esxcli-partitions.txt",
        said(
            "esx1",
            "esxcli storage core device partition list",
            "Device                Partition  Start Sector  End Sector  Type          Size\n--------------------  ---------  ------------  ----------  ----  ------------\nnaa.5000c500a1b2c3d4          1            63   937703055    fb  480102915584\n",
        ),
    )];
    check_shape(
        "straddle-esx1-20261128-101500",
        &esxi,
        "a straddle-collect folder of host esx1",
        &[],
    );
    let windows = vec![
        (
            "wmic-logicaldisktopartition.txt",
            said(
                "SQL1",
                "wmic path Win32_LogicalDiskToPartition get /value",
                "\n",
            ),
        ),
        (
            "wmic-partition.txt",
            said(
                "SQL1",
                "wmic partition get /value",
                "\n\nBlockSize=512\nDiskIndex=0\nIndex=0\nName=Disk #0, Partition #0\nSize=104857600\nStartingOffset=32256\n\n",
            ),
        ),
    ];
    check_shape(
        "straddle-SQL1-28.11.2026",
        &windows,
        "a straddle-collect folder of host SQL1",
        &[Fact(
            "disk 0 partition #0",
            "/placement/value/start",
            32_256,
        )],
    );
    // A folder of three of them is three hosts, not the number of their files.
    let folder = scratch();
    let here: &Path = folder.path();
    for (top, host) in [
        ("straddle-a-20261128-101500", "a"),
        ("straddle-b-20261128-101500", "b"),
        ("straddle-c-20261128-101500", "c"),
    ] {
        put_all(here, &format!("all/{top}"), &linux(host, 63));
    }
    let run = straddle(here, &["check", "all"]);
    assert!(run.stdout.contains("3 hosts"), "{}", run.transcript());
}
