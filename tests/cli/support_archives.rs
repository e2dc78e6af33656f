//! Hosts that support tools collected: what their files say is one stack, in a directory or an archive, packed or not.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{repository, scratch, sh, straddle};

fn put(here: &Path, path: &str, text: &str) {
    let path = here.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
    fs::write(path, text).expect("writable");
}

/// What sos 4 collects of a host with a disk of 512e, a partition at this sector with LVM on it, and an array.
fn sosreport(here: &Path, top: &str, start: u64) {
    let put = |path: &str, text: &str| put(here, &format!("{top}/{path}"), text);
    put("sos_commands/host/hostname", "db7.example.com\n");
    put(
        "sos_commands/block/lsblk",
        "NAME            MAJ:MIN RM  SIZE RO TYPE MOUNTPOINTS\nsda               8:0    0   20G  0 disk \n\
         └─sda1            8:1    0   19G  0 part \n  └─vg0-data    253:0    0   10G  0 lvm  /data\nloop0             7:0    0    0B  0 loop \n",
    );
    put(
        "sos_commands/block/parted_-s_.dev.sda_unit_s_print",
        &format!(
            "Model: ATA ST20000 (scsi)\nDisk /dev/sda: 41943040s\nSector size (logical/physical): 512B/4096B\nPartition Table: msdos\nDisk Flags: \n\n\
             Number  Start  End        Size       Type     File system  Flags\n 1      {start}s    {end}s  {size}s  primary               lvm\n\n",
            end = start + 39_845_888 - 1,
            size = 39_845_888_u64,
        ),
    );
    let device = "/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda";
    put(
        "sos_commands/block/udevadm_info_-a_.dev.sda",
        &format!(
            "\n  looking at device '{device}':\n    KERNEL==\"sda\"\n    SUBSYSTEM==\"block\"\n    ATTR{{queue/minimum_io_size}}==\"4096\"\n    ATTR{{size}}==\"41943040\"\n"
        ),
    );
    put(
        "sos_commands/block/udevadm_info_-a_.dev.loop0",
        "\n  looking at device '/devices/virtual/block/loop0':\n    KERNEL==\"loop0\"\n    ATTR{size}==\"0\"\n    ATTR{queue/logical_block_size}==\"512\"\n",
    );
    for (file, value) in [
        ("logical_block_size", 512),
        ("physical_block_size", 4096),
        ("rotational", 1),
    ] {
        put(&format!("sys{device}/queue/{file}"), &format!("{value}\n"));
    }
    put(
        "sos_commands/lvm2/pvs_-a_-v_-o_pv_mda_free_pv_mda_size_pv_mda_count_pv_mda_used_count_pe_start_--config_global_metadata_read_only_1_--nolocking_--foreign",
        "  PV         VG  Fmt  Attr PSize   PFree  DevSize PV UUID                                PMdaFree  PMdaSize  #PMda #PMdaUse 1st PE \n\
           /dev/sda1  vg0 lvm2 a--  <19.00g <9.00g 19.00g  AbCdEf-0001-0002-0003-0004-0005-GhIjKl   506.50k  1020.00k     1        1   1.00m\n",
    );
    put(
        "sos_commands/networking/ip_addr",
        "1: lo: <LOOPBACK> mtu 65536\n",
    );
    put("var/log/messages", "Disk /dev/sdz: 10 GB\n");
    put("version.txt", "sosreport: 4.5.0\n");
}

/// The layer of this name in the only target of a document.
fn layer<'d>(document: &'d Value, name: &str) -> &'d Value {
    let stack = document["targets"][0]["stack"].as_array();
    let stack = stack.unwrap_or_else(|| panic!("{document:#}"));
    let found = stack.iter().find(|layer| layer["name"] == name);
    found.unwrap_or_else(|| panic!("{name} in {document:#}"))
}

fn document(here: &Path, target: &str) -> Value {
    let run = straddle(here, &["check", "--json", target]);
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.transcript()))
}

#[test]
fn a_sosreport_is_one_host_however_it_is_packed() {
    let folder = scratch();
    let here = folder.path();
    sosreport(here, "sosreport-db7-2026-11-28-abcdefg", 63);
    sh(
        here,
        "tar cJf a.tar.xz sosreport-db7-2026-11-28-abcdefg; tar czf b.tgz sosreport-db7-2026-11-28-abcdefg
         tar cf c.tar -C sosreport-db7-2026-11-28-abcdefg .",
    );
    let mut first: Option<Value> = None;
    for target in [
        "sosreport-db7-2026-11-28-abcdefg",
        "a.tar.xz",
        "b.tgz",
        "c.tar",
        // A folder of it is that host, too.
        "sosreport-db7-2026-11-28-abcdefg/sos_commands",
        "sosreport-db7-2026-11-28-abcdefg/sos_commands/block",
    ] {
        let document = document(here, target);
        let found = &document["targets"][0];
        assert_eq!(found["taken_as"]["kind"], "support", "{target}: {found:#}");
        let words = found["taken_as"]["words"].as_str().expect("words");
        let host = if target == "c.tar" {
            "db7.example.com"
        } else {
            "db7"
        };
        assert_eq!(words, format!("a sosreport of host {host}"), "{target}");
        let codes: Vec<_> = found["findings"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|finding| (finding["code"].clone(), finding["severity"].clone()))
            .collect();
        assert!(
            codes.contains(&("STR101".into(), "error".into())),
            "{target}: {codes:?}"
        );
        let sda1 = layer(&document, "sda1");
        assert_eq!(sda1["placement"]["value"]["start"], 32_256, "{sda1:#}");
        let text = found.to_string();
        // The disk from sysfs, the place from parted, the volume group from pvs; nothing of a device without a medium, or of a log.
        assert!(text.contains("parted_-s_.dev.sda_unit_s_print"), "{target}");
        assert!(text.contains("vg0"), "{target}");
        assert!(
            !text.contains("loop0") && !text.contains("sdz"),
            "{target}: {text}"
        );
        let findings = serde_json::json!(codes);
        assert_eq!(
            first.get_or_insert_with(|| findings.clone()),
            &findings,
            "{target}"
        );
    }
    // Guard: the aligned host has no such finding.
    sosreport(here, "sosreport-db8-2026-11-28-abcdefg", 2048);
    let aligned = document(here, "sosreport-db8-2026-11-28-abcdefg").to_string();
    assert!(
        aligned.contains("\"sda1\"") && !aligned.contains("STR101"),
        "{aligned}"
    );
}

#[test]
fn a_folder_of_support_archives_counts_hosts_not_files() {
    let folder = scratch();
    let here = folder.path();
    for (name, start) in [("db1", 63), ("db2", 63), ("db3", 2048)] {
        sosreport(
            here,
            &format!("all/sosreport-{name}-2026-11-28-abcdefg"),
            start,
        );
    }
    sh(
        here,
        "cd all; tar cJf db2.tar.xz sosreport-db2-*; rm -r sosreport-db2-*; head -c 600 db2.tar.xz > cut.tar.xz",
    );
    let run = straddle(here, &["check", "all"]);
    assert_eq!(run.code, Some(2), "the damaged one: {}", run.transcript());
    assert!(
        run.stdout.contains("2 hosts alike: db2, db1"),
        "{}",
        run.transcript()
    );
    assert!(run.stdout.contains("  db3"), "{}", run.transcript());
    assert!(
        run.stdout.contains("1 could not be read"),
        "{}",
        run.transcript()
    );
    assert!(
        run.stderr.contains("all/cut.tar.xz"),
        "{}",
        run.transcript()
    );
}

#[test]
fn the_archives_of_other_tools_are_hosts_too() {
    let folder = scratch();
    let here = folder.path();
    let fdisk = fs::read_to_string(repository().join("tests/captured/linux/fdisk-rhel6.txt"))
        .expect("a fixture");
    let from = fdisk.find("Disk ").expect("an output");
    put(
        here,
        "scc_sap1_261128_1015/fs-diskio.txt",
        &format!(
            "#==[ Command ]======================================#\n# /sbin/fdisk -l 2>/dev/null\n{}",
            &fdisk[from..]
        ),
    );
    put(
        here,
        "scc_sap1_261128_1015/basic-environment.txt",
        "#==[ Command ]===#\n# /bin/uname -a\nLinux sap1 5.14.21\n",
    );
    put(
        here,
        "scc_sap1_261128_1015/network.txt",
        "Disk /dev/sdz: 10 GB\n",
    );
    let esxi = |name: &str| {
        let path = format!("tests/captured/esxi/{name}");
        fs::read_to_string(repository().join(path)).expect("a fixture")
    };
    let top = "esx-esx4-2026-11-28--10.15-2100123/commands";
    put(
        here,
        &format!("{top}/localcli_storage-core-device-list.txt"),
        &esxi("esxcli-device-list.txt"),
    );
    put(
        here,
        &format!("{top}/localcli_storage-core-device-partition-list.txt"),
        &esxi("esxcli-partition-list.txt"),
    );
    put(
        here,
        &format!("{top}/vmware_-vl.txt"),
        "VMware ESXi 7.0.3 build-1\n",
    );
    sh(here, "tar cJf sap.txz scc_sap1_261128_1015");
    for target in ["scc_sap1_261128_1015", "sap.txz"] {
        let document = document(here, target);
        assert_eq!(
            document["targets"][0]["taken_as"]["words"], "a supportconfig of host sap1",
            "{document:#}"
        );
        let text = document.to_string();
        assert!(
            text.contains("fs-diskio.txt") && !text.contains("sdz"),
            "{text}"
        );
        assert!(text.contains("\"partition\""), "{text}");
    }
    let document = document(here, "esx-esx4-2026-11-28--10.15-2100123");
    assert_eq!(
        document["targets"][0]["taken_as"]["words"], "a vm-support of host esx4",
        "{document:#}"
    );
    let text = document.to_string();
    assert!(
        text.contains("localcli_storage-core-device-partition-list.txt"),
        "{text}"
    );
}
