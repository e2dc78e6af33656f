use super::*;
use straddle_stack::{Attribute, LayerKind};

fn put(disk: &mut [u8], at: usize, bytes: &[u8]) {
    disk[at..at + bytes.len()].copy_from_slice(bytes);
}

fn mbr_entry(disk: &mut [u8], record: usize, index: usize, kind: u8, first: u32, sectors: u32) {
    let at = record * 512 + 446 + 16 * index;
    disk[at + 4] = kind;
    put(disk, at + 8, &first.to_le_bytes());
    put(disk, at + 12, &sectors.to_le_bytes());
    put(disk, record * 512 + 510, &[0x55, 0xaa]);
}

/// A disklabel of two partitions at byte 512 of `volume`.
fn disklabel(volume: &mut [u8], partitions: [(u32, u32); 2]) {
    for at in [512, 512 + 132] {
        put(volume, at, &0x8256_4557_u32.to_le_bytes());
    }
    put(volume, 512 + 40, &512_u32.to_le_bytes());
    put(volume, 512 + 138, &[2, 0]);
    for (i, (first, sectors)) in partitions.into_iter().enumerate() {
        put(volume, 512 + 148 + 16 * i, &sectors.to_le_bytes());
        put(volume, 512 + 152 + 16 * i, &first.to_le_bytes());
        volume[512 + 160 + 16 * i] = 7;
    }
    let sum = volume[512..512 + 180]
        .chunks(2)
        .fold(0, |sum, word| sum ^ u16::from_le_bytes([word[0], word[1]]));
    put(volume, 512 + 136, &sum.to_le_bytes());
}

fn inspected(disk: &[u8]) -> Stack {
    let mut stack = Stack::new();
    let base = stack.push(Layer::new(LayerKind::Device, "disk"));
    let reader = Reader::new(&disk);
    inspect(&mut stack, base, &reader, None, Limits::default());
    stack
}

/// Name, table or nothing, and start in the disk of every partition.
fn partitions(stack: &Stack) -> Vec<(&str, Option<&str>, u64)> {
    let root = stack.roots().next().expect("one");
    let partition = |(id, layer): (LayerId, &'_ Layer)| {
        (layer.kind == LayerKind::Partition)
            .then(|| stack.start_in(id, root).expect("linear").get())
    };
    stack
        .iter()
        .filter_map(|(id, layer)| {
            let start = partition((id, layer))?;
            Some((layer.name.as_str(), layer.text(Key::PartitionTable), start))
        })
        .collect()
}

fn anomalies(stack: &Stack) -> Vec<&str> {
    let all = stack.layers().iter().flat_map(|layer| &layer.anomalies);
    all.map(|anomaly| anomaly.detail.as_str()).collect()
}

#[test]
fn a_disklabel_in_a_partition_is_nested_once() {
    let mut disk = vec![0; 256 << 10];
    mbr_entry(&mut disk, 0, 0, 0xa6, 63, 300);
    // The first slice starts with the partition and so with the label itself.
    disklabel(&mut disk[63 * 512..], [(63, 100), (163, 200)]);
    assert_eq!(
        partitions(&inspected(&disk)),
        [
            ("partition 1", Some("bsd"), 63 * 512),
            ("partition a", None, 63 * 512),
            ("partition b", None, 163 * 512),
        ]
    );
    assert_eq!(anomalies(&inspected(&disk)), [""; 0]);
}

#[test]
fn a_disk_given_to_bsd_as_a_whole_needs_no_mbr() {
    let mut disk = vec![0; 256 << 10];
    disklabel(&mut disk, [(16, 100), (116, 200)]);
    // The stub that FreeBSD's boot block carries: from sector 0, which no real partition does.
    mbr_entry(&mut disk, 0, 3, 0xa5, 0, 50_000);
    let stack = inspected(&disk);
    assert_eq!(
        partitions(&stack),
        [
            ("partition a", None, 8_192),
            ("partition b", None, 116 * 512)
        ]
    );
    assert_eq!(stack.layers()[0].text(Key::PartitionTable), Some("bsd"));
}

#[test]
fn logical_partitions_do_not_overlap_the_extended_one() {
    let mut disk = vec![0; 256 << 10];
    mbr_entry(&mut disk, 0, 0, 0x83, 63, 100);
    mbr_entry(&mut disk, 0, 1, 0x05, 200, 200);
    mbr_entry(&mut disk, 200, 0, 0x83, 1, 50);
    mbr_entry(&mut disk, 200, 1, 0x05, 100, 60);
    mbr_entry(&mut disk, 300, 0, 0x83, 1, 50);
    let stack = inspected(&disk);
    assert_eq!(anomalies(&stack), [""; 0]);
    let extended = &stack.layers()[2];
    assert_eq!(extended.name, "partition 2");
    let flag = |a: &Attribute| a.key == Key::HoldsPartitions && a.value.value == Value::Flag(true);
    assert!(extended.attributes.iter().any(flag));

    // A primary inside the extended partition, a logical that leaves it, two logicals that overlap, one past the end.
    mbr_entry(&mut disk, 0, 2, 0x83, 390, 5);
    mbr_entry(&mut disk, 200, 0, 0x83, 1, 105);
    mbr_entry(&mut disk, 300, 0, 0x83, 1, 300);
    assert_eq!(
        anomalies(&inspected(&disk)),
        [
            "partition 6 ends at byte 307,712, beyond the end at 262,144",
            "partition 6, bytes 154,112 to 307,712, lies outside of every extended partition",
            "partition 3 starts at byte 199,680, inside partition 2, which ends at 204,800",
            "partition 6 starts at byte 154,112, inside partition 5, which ends at 156,672",
            "partition 3 starts at byte 199,680, inside partition 6, which ends at 307,712",
        ]
    );
}

#[test]
fn a_disklabel_in_a_partition_of_another_type_is_left_over() {
    for (kind, is_used) in [(0x83, false), (0x07, false), (0xa5, true), (0xa9, true)] {
        let mut disk = vec![0; 256 << 10];
        mbr_entry(&mut disk, 0, 0, kind, 63, 300);
        disklabel(&mut disk[63 * 512..], [(63, 100), (163, 200)]);
        let stack = inspected(&disk);
        assert_eq!(partitions(&stack).len(), if is_used { 3 } else { 1 });
        let detail = format!(
            "a bsd label of 2 partitions in a partition of type {kind:02x}, which has none: left by a former owner, and not used"
        );
        let want: &[&str] = if is_used { &[] } else { &[&detail] };
        assert_eq!(anomalies(&stack), want);
    }
}

/// FAT16 on the whole disk.
fn fat(disk: &mut [u8]) {
    put(disk, 0, &[0xeb, 0x3c, 0x90]);
    put(disk, 11, &[0, 2, 4, 1, 0, 2, 0, 2, 0, 0x50, 0xf8, 20, 0]);
    put(disk, 510, &[0x55, 0xaa]);
}

#[test]
fn what_lies_where_a_boot_sector_s_table_would_be_makes_no_partitions() {
    let mut disk = vec![0; 20_480 * 512];
    fat(&mut disk);
    let formats = |disk: &[u8]| {
        let stack = inspected(disk);
        let names = stack.layers().iter().map(|layer| layer.name.clone());
        (names.skip(1).collect::<Vec<_>>(), anomalies(&stack).len())
    };
    assert_eq!(formats(&disk), (vec!["fat16".to_owned()], 0));
    // Code that passes for a partition on the disk, which holds nothing.
    mbr_entry(&mut disk, 0, 1, 0x83, 2048, 4096);
    assert_eq!(formats(&disk), (vec!["fat16".to_owned()], 1));
    // A partition that holds something is one: the boot code is what the disk was before.
    put(&mut disk, 2048 * 512 + 4096 - 10, b"SWAPSPACE2");
    put(&mut disk, 2048 * 512 + 1024, &[1]);
    put(&mut disk, 2048 * 512 + 1028, &[100]);
    let (names, _) = formats(&disk);
    assert_eq!(names, ["partition 2", "swap"]);
}

#[test]
fn protection_without_a_gpt_is_said_beside_a_filesystem_too() {
    let mut disk = vec![0; 20_480 * 512];
    fat(&mut disk);
    mbr_entry(&mut disk, 0, 0, 0xee, 1, 20_479);
    let stack = inspected(&disk);
    assert_eq!(stack.layers()[1].name, "fat16");
    let [anomaly] = anomalies(&stack)[..] else {
        panic!("one")
    };
    assert!(anomaly.starts_with("the MBR protects a GPT (type ee), but neither"));
}

#[test]
fn partitions_beyond_the_disk_do_not_hide_a_filesystem() {
    let mut disk = vec![0; 1 << 20];
    put(&mut disk, 4096 - 10, b"SWAPSPACE2");
    put(&mut disk, 1024, &[1]);
    put(&mut disk, 1028, &[255]);
    mbr_entry(&mut disk, 0, 0, 0x83, 40_000, 4096);
    let stack = inspected(&disk);
    assert_eq!(stack.layers()[1].name, "swap");
    assert_eq!(
        anomalies(&stack),
        ["both swap and mbr match; it is read as swap"]
    );
    // On the disk, they do.
    mbr_entry(&mut disk, 0, 0, 0x83, 64, 512);
    assert_eq!(inspected(&disk).layers()[1].name, "partition 1");
}
