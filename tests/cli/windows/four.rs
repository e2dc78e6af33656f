//! One machine described four ways: what its console tools print, what PowerShell exports, what the system answers, and its disk.
//!
//! A disk of 500,107,862,016 bytes in sectors of 512 on 4 KiB: an NTFS with clusters of 64 KiB at sector 63, and a FAT32 in an extended
//! partition.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use straddle_testkit::windows::made;

use crate::support::{scratch, sh, straddle};

const SIZE: u64 = 500_107_862_016;
const FIRST: (u64, u64) = (32_256, 107_371_952_640);
const EXTENDED: (u64, u64) = (107_374_182_400, 53_687_091_200);
const LOGICAL: (u64, u64) = (107_375_230_976, 53_685_014_528);

/// What every description of it comes to.
fn seen(folder: &Path, args: &[&str]) -> Value {
    let run = straddle(folder, args);
    assert!(run.stderr.is_empty(), "{args:?}: {}", run.stderr);
    let all: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let target = &all["targets"][0];
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let stack = list(&target["stack"]);
    let grid = |layer: &Value, role: &str| {
        let grids = list(&layer["grids"]);
        let found = grids.iter().find(|grid| grid["role"] == role);
        found.map(|grid| grid["grid"]["value"]["unit"].clone())
    };
    let mut places = Vec::new();
    for layer in &stack {
        if layer["kind"] == "partition" {
            let place = &layer["placement"]["value"];
            places.push(json!([place["start"], place["len"]]));
        }
    }
    places.sort_by_key(|place| place[0].as_u64());
    let ntfs = stack.iter().find(|layer| layer["format"] == "ntfs");
    let ntfs = ntfs.expect("an NTFS");
    let disk = &stack[0];
    // Findings about starts; what is missing in a description is said of each.
    let findings = list(&target["findings"]);
    let about_starts = findings.iter().filter(|finding| {
        let code = finding["code"].as_str().expect("a code");
        code.starts_with("STR1") || code.starts_with("STR2")
    });
    let mut said: Vec<Value> = about_starts
        .map(|finding| json!([finding["code"], finding["severity"], finding["arithmetic"]]))
        .collect();
    said.sort_by_key(Value::to_string);
    // A table counts sectors, the others bytes.
    let said = Value::from(said).to_string().replace("63 × 512 = ", "");
    json!({
        "disk": disk["size"]["value"],
        "logical": grid(disk, "logical-sector"),
        "partitions": places,
        "cluster": grid(ntfs, "allocation-unit"),
        "findings": said,
    })
}

/// wmic and fsutil, as they print into files.
fn console(folder: &Path) {
    fs::create_dir(folder).expect("writable");
    let disk = format!(
        "BytesPerSector=512\r\nIndex=0\r\nInterfaceType=SCSI\r\nModel=EXAMPLE Logical Volume\r\nName=\\\\.\\PHYSICALDRIVE0\r\n\
         Partitions=2\r\nSignature=2712847316\r\nSize={SIZE}\r\n"
    );
    fs::write(folder.join("wmic_diskdrive.txt"), disk).expect("writable");
    let partition = |number: u32, kind: &str, (start, len): (u64, u64)| {
        format!(
            "BlockSize=512\r\nBootable=FALSE\r\nDeviceID=Disk #0, Partition #{number}\r\nDiskIndex=0\r\nIndex={number}\r\n\
             Name=Disk #0, Partition #{number}\r\nNumberOfBlocks={}\r\nSize={len}\r\nStartingOffset={start}\r\nType={kind}\r\n\r\n\r\n",
            len / 512
        )
    };
    let partitions = [
        partition(0, "Installable File System", FIRST),
        partition(1, "Extended w/Extended Int 13", EXTENDED),
        partition(2, "Win95 w/Extended Int 13", LOGICAL),
    ]
    .concat();
    fs::write(folder.join("wmic_partition.txt"), partitions).expect("writable");
    let letters = "Antecedent=\\\\DB1\\root\\cimv2:Win32_DiskPartition.DeviceID=\"Disk #0, Partition #0\"\r\n\
                   Dependent=\\\\DB1\\root\\cimv2:Win32_LogicalDisk.DeviceID=\"C:\"\r\nEndingAddress=107371984895\r\nStartingAddress=32256\r\n";
    fs::write(folder.join("wmic_letters.txt"), letters).expect("writable");
    let ntfs = "C:\\>fsutil fsinfo ntfsinfo C:\r\nNTFS Volume Serial Number :       0x5840d42e40d4151a\r\n\
                Version :                         3.1\r\nNumber Sectors :                  0x000000000c7ff63c\r\n\
                Total Clusters :                  0x000000000018ffec\r\nBytes Per Sector  :               512\r\n\
                Bytes Per Physical Sector :       4096\r\nBytes Per Cluster :               65536\r\n\
                Bytes Per FileRecord Segment    : 1024\r\nClusters Per FileRecord Segment : 0\r\n\
                Mft Start Lcn  :                  0x000000000000c000\r\n";
    fs::write(folder.join("fsutil_ntfsinfo_C.txt"), ntfs).expect("writable");
}

/// Get-Disk, Get-Partition and Get-Volume through Export-Clixml.
fn exported(folder: &Path) {
    fs::create_dir(folder).expect("writable");
    let object = |class: &str, properties: &str| {
        format!(
            "  <Obj RefId=\"0\">\r\n    <TN RefId=\"0\">\r\n      <T>Microsoft.Management.Infrastructure.CimInstance#ROOT/Microsoft/Windows/Storage/{class}</T>\r\n\
             \u{20}     <T>Microsoft.Management.Infrastructure.CimInstance#{class}</T>\r\n      <T>System.Object</T>\r\n    </TN>\r\n\
             \u{20}   <ToString>{class}</ToString>\r\n    <Props>\r\n{properties}    </Props>\r\n  </Obj>\r\n"
        )
    };
    let write = |name: &str, objects: &[String]| {
        let text = format!(
            "<Objs Version=\"1.1.0.1\" xmlns=\"http://schemas.microsoft.com/powershell/2004/04\">\r\n{}</Objs>",
            objects.concat()
        );
        let mut bytes = vec![0xff, 0xfe];
        bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        fs::write(folder.join(name), bytes).expect("writable");
    };
    let property = |kind: &str, name: &str, value: &str| {
        format!("      <{kind} N=\"{name}\">{value}</{kind}>\r\n")
    };
    let number = |name: &str, value: u64| property("U64", name, &value.to_string());
    let disk = [
        number("Number", 0),
        property("U16", "PartitionStyle", "1"),
        property("U16", "BusType", "8"),
        property("S", "FriendlyName", "EXAMPLE Logical Volume"),
        property("S", "Model", "EXAMPLE Logical Volume"),
        number("LogicalSectorSize", 512),
        number("PhysicalSectorSize", 4096),
        number("Signature", 2_712_847_316),
        number("Size", SIZE),
    ]
    .concat();
    write("get-disk.clixml", &[object("MSFT_Disk", &disk)]);
    let volume = r"\\?\Volume{a1b2c3d4-0000-0000-0000-007e00000000}\";
    let partition = |index: u64, kind: u64, (start, len): (u64, u64), letter: Option<u32>| {
        let letter = letter.map(|letter| property("C", "DriveLetter", &letter.to_string()));
        let properties = [
            number("DiskNumber", 0),
            number("PartitionNumber", index),
            number("MbrType", kind),
            number("Offset", start),
            number("Size", len),
            letter.unwrap_or_default(),
        ];
        object("MSFT_Partition", &properties.concat())
    };
    write(
        "get-partition.clixml",
        &[
            partition(1, 7, FIRST, Some(67)),
            partition(0, 15, EXTENDED, None),
            partition(2, 12, LOGICAL, None),
        ],
    );
    let properties = [
        property("S", "UniqueId", volume),
        number("AllocationUnitSize", 65_536),
        property("C", "DriveLetter", "67"),
        property("S", "FileSystem", "NTFS"),
        property("S", "Path", volume),
        number("Size", 107_371_925_504),
    ];
    write(
        "get-volume.clixml",
        &[object("MSFT_Volume", &properties.concat())],
    );
}

/// What the system answers, laid out by a C compiler, as a capture keeps it.
fn answered(folder: &Path) {
    const VOLUME: &str = "a1b2c3d4-0000-0000-0000-007e00000000";
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.join(".straddle/windows").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        fs::write(path, bytes).expect("writable");
    };
    put("disks", b"0\n");
    put(
        "volumes",
        format!("\\\\?\\Volume{{{VOLUME}}}\\\tC:\\\n").as_bytes(),
    );
    for (name, answer) in [("geometry", "geometry_mbr"), ("layout", "layout_mbr")] {
        put(&format!("disk/0/{name}"), &made(answer).bytes);
    }
    for (name, answer) in [
        ("extents", "extents_mbr"),
        ("number", "number_mbr"),
        ("ntfs", "ntfs"),
    ] {
        put(&format!("volume/{VOLUME}/{name}"), &made(answer).bytes);
    }
}

/// The disk, as sfdisk and mkfs.ntfs make it.
fn disk(folder: &Path) {
    let lines = format!(
        "truncate -s {SIZE} disk\n\
         printf 'label: dos\\nlabel-id: 0xa1b2c3d4\\nstart=63, size=209710845, type=7\\nstart=209715200, size=104857600, type=f\\n\
         start=209717248, size=104853544, type=c\\n' | sfdisk --quiet disk\n\
         truncate -s 107371952640 ntfs\n\
         mkfs.ntfs --quiet --force --fast --cluster-size 65536 --partition-start 63 --sector-size 512 --heads 255 --sectors-per-track 63 ntfs\n\
         dd if=ntfs of=disk bs=512 seek=63 count=2097152 conv=notrunc,sparse status=none\n"
    );
    sh(folder, &lines);
}

#[test]
fn one_machine_is_the_same_by_text_by_export_by_answer_and_by_its_disk() {
    let folder = scratch();
    let at = |name: &str| folder.path().join(name);
    console(&at("console"));
    exported(&at("exported"));
    fs::create_dir(at("answered")).expect("writable");
    answered(&at("answered"));
    disk(folder.path());
    let by_answer = seen(
        folder.path(),
        &[
            "check",
            "--sysroot",
            "answered",
            "--json",
            "--physical-sector",
            "4096",
        ],
    );
    assert_eq!(by_answer["disk"], SIZE);
    assert_eq!(by_answer["cluster"], 65_536);
    assert_eq!(by_answer["partitions"].as_array().map(Vec::len), Some(3));
    let findings = by_answer["findings"].as_str().expect("text");
    for code in ["STR101", "STR104", "STR203"] {
        assert!(findings.contains(code), "{code}: {findings}");
    }
    for name in ["console", "exported", "disk"] {
        let other = seen(
            folder.path(),
            &["check", name, "--json", "--physical-sector", "4096"],
        );
        assert_eq!(other, by_answer, "{name}");
    }
}
