use super::*;
use crate::partition::testing::{children, found, kinds, put};
use proptest::prelude::*;
use straddle_io::Reader;

/// Writes entry `index` of the boot record at sector `record`.
fn entry(disk: &mut [u8], record: usize, index: usize, kind: u8, first: u32, sectors: u32) {
    let at = record * 512 + 446 + 16 * index;
    disk[at + 4] = kind;
    put(disk, at + 8, &first.to_le_bytes());
    put(disk, at + 12, &sectors.to_le_bytes());
    put(disk, record * 512 + 510, &[0x55, 0xaa]);
}

/// A primary partition, and an extended one with three logical partitions, the second record empty.
fn chained() -> Vec<u8> {
    let mut disk = vec![0; 512 << 10];
    entry(&mut disk, 0, 0, 0x83, 63, 100);
    entry(&mut disk, 0, 2, 0x0f, 200, 700);
    entry(&mut disk, 200, 0, 0x83, 63, 10);
    entry(&mut disk, 200, 1, 0x05, 100, 20);
    entry(&mut disk, 300, 1, 0x05, 200, 30);
    entry(&mut disk, 400, 0, 0x82, 1, 20);
    entry(&mut disk, 400, 1, 0x05, 300, 30);
    entry(&mut disk, 500, 0, 0x07, 1, 20);
    disk
}

fn details(detected: &Detected) -> Vec<&str> {
    detected
        .anomalies
        .iter()
        .map(|o| o.detail.as_str())
        .collect()
}

#[test]
fn logical_partitions_count_from_five_and_skip_empty_records() {
    let mut disk = chained();
    put(&mut disk, 440, &0x1234_5678_u32.to_le_bytes());
    let detected = found(&PROBER, &disk).expect("an MBR");
    let row =
        |n, first: u64, sectors: u64, kind: &str| (n, first * 512, sectors * 512, kind.into());
    assert_eq!(
        children(&detected),
        [
            row(1, 63, 100, "83"),
            row(3, 200, 700, "0f"),
            row(5, 263, 10, "83"),
            row(6, 401, 20, "82"),
            row(7, 501, 20, "07"),
        ]
    );
    let nesting: Vec<_> = detected.children.iter().map(|c| c.nesting).collect();
    assert_eq!(
        nesting,
        [
            Nesting::Plain,
            Nesting::Container,
            Nesting::Contained,
            Nesting::Contained,
            Nesting::Contained
        ]
    );
    // From the beginning of the disk, like the placement, whatever the entry counts from.
    let first = |child: &crate::Child| {
        let found = child.attributes.iter().find(|a| a.key == Key::StartSector);
        found.expect("recorded").value.value.to_string()
    };
    let firsts: Vec<String> = detected.children.iter().map(first).collect();
    assert_eq!(firsts, ["63", "200", "263", "401", "501"]);
    assert_eq!(kinds(&detected), []);
    let id = detected.attributes.iter().find(|a| a.key == Key::TableId);
    assert_eq!(id.expect("recorded").value.value.to_string(), "12345678");
}

#[test]
fn chains_that_loop_or_run_backwards_end() {
    let mut disk = chained();
    entry(&mut disk, 400, 1, 0x05, 100, 30);
    let detected = found(&PROBER, &disk).expect("an MBR");
    assert_eq!(
        details(&detected),
        [
            "the chain of extended boot records returns to the one at byte 153600; it is followed once"
        ]
    );
    entry(&mut disk, 400, 1, 0x05, 50, 30);
    entry(&mut disk, 250, 0, 0x83, 1, 4);
    let detected = found(&PROBER, &disk).expect("an MBR");
    assert_eq!(
        details(&detected),
        ["the chain of extended boot records runs backwards, from byte 204800 to 128000"]
    );
    assert_eq!(children(&detected)[4].1, 251 * 512);
}

#[test]
fn a_long_chain_is_followed_for_256_records() {
    let mut disk = vec![0; 512 << 10];
    entry(&mut disk, 0, 0, 0x05, 1, 1000);
    for record in 1..400 {
        entry(&mut disk, record as usize, 0, 0x83, 1, 1);
        entry(&mut disk, record as usize, 1, 0x05, record, 2);
    }
    let detected = found(&PROBER, &disk).expect("an MBR");
    assert_eq!(detected.children.len(), 257);
    assert_eq!(kinds(&detected), [AnomalyKind::LimitReached]);
}

#[test]
fn broken_records_are_named() {
    let mut disk = chained();
    disk[300 * 512 + 511] = 0;
    let detected = found(&PROBER, &disk).expect("an MBR");
    assert_eq!(kinds(&detected), [AnomalyKind::Damaged]);
    disk.truncate(300 * 512);
    let detected = found(&PROBER, &disk).expect("an MBR");
    assert_eq!(kinds(&detected), [AnomalyKind::Unreadable]);
    assert_eq!(detected.children.len(), 3);
}

#[test]
fn superfluous_entries_and_second_chains_are_named() {
    let mut disk = chained();
    entry(&mut disk, 500, 2, 0x83, 30, 5);
    entry(&mut disk, 500, 3, 0x83, 40, 5);
    entry(&mut disk, 0, 3, 0x05, 950, 40);
    entry(&mut disk, 950, 0, 0x83, 1, 5);
    let detected = found(&PROBER, &disk).expect("an MBR");
    assert_eq!(
        details(&detected),
        [
            "entry 3 of the extended boot record at byte 256000 is one too many and ignored; expected one partition and one link",
            "entry 4 of the extended boot record at byte 256000 is one too many and ignored; expected one partition and one link",
            "more than one extended partition; expected one: Linux reads the chain of each, sfdisk only the first"
        ]
    );
    let numbers: Vec<_> = children(&detected).iter().map(|c| c.0).collect();
    assert_eq!(numbers, [1, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn boot_code_and_aix_volumes_are_no_tables() {
    let mut disk = chained();
    disk[446] = 0x81;
    assert!(found(&PROBER, &disk).is_none());
    disk[446] = 0x80;
    assert!(found(&PROBER, &disk).is_some());
    put(&mut disk, 0, &AIX);
    assert!(found(&PROBER, &disk).is_none());
}

#[test]
fn protection_without_a_gpt_is_named() {
    let mut disk = vec![0; 64 << 10];
    entry(&mut disk, 0, 0, 0xee, 1, 127);
    let detected = found(&PROBER, &disk).expect("an MBR");
    assert_eq!(kinds(&detected), [AnomalyKind::Damaged]);
    assert_eq!(
        detected.anomalies[0].detail,
        "the MBR protects a GPT (type ee), but neither of its copies is found; expected EFI PART at LBA 1 and at the last LBA"
    );
    assert_eq!(children(&detected), []);
    // Those of a hybrid MBR stay what they are, and an entry without length protects as well.
    entry(&mut disk, 0, 0, 0xee, 1, 0);
    entry(&mut disk, 0, 1, 0x83, 8, 16);
    let detected = found(&PROBER, &disk).expect("an MBR");
    assert_eq!(kinds(&detected), [AnomalyKind::Damaged]);
    assert_eq!(children(&detected), [(2, 4096, 8192, "83".into())]);
}

proptest! {
    #[test]
    fn no_change_of_bytes_panics_or_reads_without_end(
        changes in proptest::collection::vec((0_usize..5, 0_usize..66, any::<u8>()), 0..12),
        len in 0_usize..(512 << 10),
    ) {
        let mut disk = chained();
        for (record, at, value) in changes {
            disk[[0, 200, 300, 400, 500][record] * 512 + 446 + at] = value;
        }
        disk.truncate(len);
        let reader = Reader::new(&disk);
        let _ = PROBER.run(&Window::whole(&reader, None));
        // Every record is one page, and there are at most 256 besides the table.
        prop_assert!(reader.spent() <= Bytes::kib(4 * 258), "{}", reader.spent());
    }
}
