use super::entry::name;
use super::*;
use crate::partition::testing::{children, found, kinds, put};
use proptest::prelude::*;
use straddle_geometry::Bytes;
use straddle_io::Reader;
use zerocopy::byteorder::little_endian::U16;

/// The type of a Linux filesystem partition, as stored and as printed.
const LINUX: [u8; 16] = [
    0xaf, 0x3d, 0xc6, 0x0f, 0x83, 0x84, 0x72, 0x47, 0x8e, 0x79, 0x3d, 0x69, 0xd8, 0x47, 0x7d, 0xe4,
];
const LINUX_TEXT: &str = "0FC63DAF-8483-4772-8E79-3D69D8477DE4";

/// A disk to be made.
#[derive(Clone)]
struct Disk {
    sector: usize,
    sectors: usize,
    /// Number recorded, size of one, and how many there really are.
    count: u32,
    size: u32,
    real: usize,
    partitions: Vec<(u64, u64)>,
}

impl Default for Disk {
    fn default() -> Disk {
        Disk {
            sector: 512,
            sectors: 128,
            count: 128,
            size: 128,
            real: 128,
            partitions: vec![(34, 40), (41, 94)],
        }
    }
}

impl Disk {
    fn array(&self) -> Vec<u8> {
        // Illegal sizes are only recorded.
        let stride = match self.size as usize {
            size @ (128 | 256 | 512 | 4096) => size,
            _ => 128,
        };
        let mut array = vec![0; stride * self.real];
        for (i, (first, last)) in self.partitions.iter().enumerate() {
            let at = i * stride;
            put(&mut array, at, &LINUX);
            put(&mut array, at + 32, &first.to_le_bytes());
            put(&mut array, at + 40, &last.to_le_bytes());
            put(&mut array, at + 56, &[b'p', 0, b'0' + i as u8, 0]);
        }
        array
    }

    fn array_sectors(&self) -> u64 {
        self.array().len().div_ceil(self.sector) as u64
    }

    fn make(&self) -> Vec<u8> {
        let mut disk = vec![0; self.sector * self.sectors];
        put(&mut disk, 446 + 4, &[0xee]);
        put(&mut disk, 446 + 8, &1_u32.to_le_bytes());
        put(
            &mut disk,
            446 + 12,
            &(self.sectors as u32 - 1).to_le_bytes(),
        );
        put(&mut disk, 510, &[0x55, 0xaa]);
        let last = self.sectors as u64 - 1;
        let array = self.array();
        for (own, other, entries) in [(1, last, 2), (last, 1, last - self.array_sectors())] {
            put(&mut disk, entries as usize * self.sector, &array);
            let at = own as usize * self.sector;
            put(&mut disk, at, b"EFI PART\0\0\x01\0\x5c\0\0\0");
            for (offset, value) in [
                (24, own),
                (32, other),
                (40, 2 + self.array_sectors()),
                (48, last - self.array_sectors() - 1),
                (72, entries),
            ] {
                put(&mut disk, at + offset, &value.to_le_bytes());
            }
            put(&mut disk, at + 56, &[7; 16]);
            put(&mut disk, at + 80, &self.count.to_le_bytes());
            put(&mut disk, at + 84, &self.size.to_le_bytes());
            put(&mut disk, at + 88, &crc32fast::hash(&array).to_le_bytes());
            seal(&mut disk, at);
        }
        disk
    }
}

/// Makes the checksum of the header at `at` right again.
fn seal(disk: &mut [u8], at: usize) {
    put(disk, at + 16, &[0; 4]);
    let crc = crc32fast::hash(&disk[at..at + 92]);
    put(disk, at + 16, &crc.to_le_bytes());
}

fn details(detected: &Detected) -> Vec<&str> {
    detected
        .anomalies
        .iter()
        .map(|o| o.detail.as_str())
        .collect()
}

fn two(sector: u64) -> Vec<(u64, u64, u64, String)> {
    let row = |n, first, sectors| (n, first * sector, sectors * sector, LINUX_TEXT.to_owned());
    vec![row(1, 34, 7), row(2, 41, 54)]
}

#[test]
fn partitions_have_places_types_numbers_and_names() {
    let detected = found(&PROBER, &Disk::default().make()).expect("a GPT");
    assert_eq!(children(&detected), two(512));
    assert_eq!(kinds(&detected), []);
    let name = |i: usize| {
        let child = &detected.children[i];
        let name = child
            .attributes
            .iter()
            .find(|a| a.key == Key::PartitionName);
        name.expect("named").value.value.to_string()
    };
    assert_eq!([name(0), name(1)], ["p0", "p1"]);
    let id = detected.attributes.iter().find(|a| a.key == Key::TableId);
    assert_eq!(
        id.expect("recorded").value.value.to_string(),
        "07070707-0707-0707-0707-070707070707"
    );
}

#[test]
fn every_sector_size_is_read_with_its_own() {
    for sector in [512, 520, 528, 2048, 4096] {
        let disk = Disk {
            sector,
            ..Disk::default()
        };
        let detected = found(&PROBER, &disk.make()).expect("a GPT");
        assert_eq!(children(&detected), two(sector as u64));
        assert_eq!(kinds(&detected), [], "{sector}");
    }
}

#[test]
fn a_table_for_the_other_sector_size_is_read_and_named() {
    let disk = Disk::default().make();
    let reader = Reader::new(&disk);
    let window = Window::whole(&reader, Some(SectorSize::B4096));
    let detected = PROBER.run(&window).expect("readable").expect("a GPT");
    assert_eq!(children(&detected), two(512));
    assert_eq!(
        details(&detected),
        [
            "the GPT was written for sectors of 512 B, the device has 4,096 B: its header stands at byte 512, LBA 1 of the table"
        ]
    );
    assert_eq!(kinds(&detected), [AnomalyKind::ForeignSectorSize]);
}

#[test]
fn legal_entry_sizes_are_read() {
    for size in [128, 256, 512, 4096] {
        let disk = Disk {
            size,
            count: 8,
            real: 8,
            partitions: vec![(70, 71), (72, 90)],
            sectors: 256,
            ..Disk::default()
        };
        let detected = found(&PROBER, &disk.make()).expect("a GPT");
        let places: Vec<_> = children(&detected).iter().map(|c| (c.1, c.2)).collect();
        assert_eq!(places, [(70 * 512, 1024), (72 * 512, 19 * 512)], "{size}");
        assert_eq!(kinds(&detected), [], "{size}");
    }
}

#[test]
fn illegal_entry_sizes_are_named_and_nothing_is_read() {
    for size in [0, 1, 127, 130, 192, 1 << 31, u32::MAX] {
        let disk = Disk {
            size,
            ..Disk::default()
        };
        let detected = found(&PROBER, &disk.make()).expect("a GPT");
        assert_eq!(detected.children.len(), 0, "{size}");
        assert_eq!(kinds(&detected), [AnomalyKind::Damaged]);
        let want = format!(
            "the GPT records entries of {size} bytes; expected 128, 256, 512 or another 128 × 2^n up to 4096"
        );
        assert_eq!(details(&detected), [want]);
    }
}

#[test]
fn four_thousand_million_entries_are_as_many_as_fit() {
    let disk = Disk {
        count: u32::MAX,
        ..Disk::default()
    }
    .make();
    let reader = Reader::new(&disk);
    let detected = PROBER.run(&Window::whole(&reader, None)).expect("readable");
    let detected = detected.expect("a GPT");
    assert_eq!(children(&detected), two(512));
    assert_eq!(
        details(&detected),
        [
            "the GPT records 4294967295 entries of 128 bytes; 128 fit between LBA 2 and byte 17408: the first 128 are read"
        ]
    );
    assert!(reader.spent() <= Bytes::kib(64), "{}", reader.spent());
}

#[test]
fn a_long_array_is_read_in_part() {
    let disk = Disk {
        count: 2048,
        real: 2048,
        sectors: 2048,
        partitions: vec![(514, 600)],
        ..Disk::default()
    }
    .make();
    let reader = Reader::new(&disk);
    let detected = PROBER.run(&Window::whole(&reader, None)).expect("readable");
    let detected = detected.expect("a GPT");
    assert_eq!(detected.children.len(), 1);
    assert_eq!(kinds(&detected), [AnomalyKind::LimitReached]);
    assert_eq!(
        details(&detected),
        [
            "the GPT has 2048 entries of 128 bytes; the first 1024 are read, and their checksum is not verified"
        ]
    );
    assert!(reader.spent() <= Bytes::kib(160), "{}", reader.spent());
}

#[test]
fn entries_beyond_the_end_of_the_world_are_named() {
    let mut disk = Disk::default().make();
    let last = 127 * 512;
    for at in [512, last] {
        put(&mut disk, at + 72, &u64::MAX.to_le_bytes());
        seal(&mut disk, at);
    }
    let detected = found(&PROBER, &disk).expect("a GPT");
    assert_eq!(detected.children.len(), 0);
    assert_eq!(
        details(&detected),
        ["the GPT records its entries at LBA 18446744073709551615; expected 2 to 127"]
    );
}

#[test]
fn partitions_that_run_backwards_or_to_the_end_of_the_world_are_named() {
    let disk = Disk {
        partitions: vec![(50, 49), (40, u64::MAX), (34, 39), (2, 3)],
        ..Disk::default()
    };
    let detected = found(&PROBER, &disk.make()).expect("a GPT");
    let numbers: Vec<_> = children(&detected).iter().map(|c| c.0).collect();
    assert_eq!(numbers, [3, 4]);
    assert_eq!(kinds(&detected), [AnomalyKind::Damaged; 2]);
    assert_eq!(
        detected.children[1].anomalies[0].detail,
        "partition 4 is recorded from LBA 2 to 3; the GPT gives LBA 34 to 94 to partitions"
    );
}

#[test]
fn the_backup_stands_in_for_a_primary_that_is_gone() {
    for sector in [512, 4096] {
        for keep_mbr in [true, false] {
            let mut disk = Disk {
                sector,
                ..Disk::default()
            }
            .make();
            let from = if keep_mbr { 512 } else { 0 };
            disk[from..sector * 34].fill(0);
            let detected = found(&PROBER, &disk).expect("a GPT");
            assert_eq!(children(&detected), two(sector as u64));
            let mut want = vec![AnomalyKind::UnusualPlace];
            if !keep_mbr {
                want.push(AnomalyKind::Damaged);
            }
            assert_eq!(kinds(&detected), want);
        }
    }
}

#[test]
fn the_better_copy_is_used() {
    // A bit of the header, a bit of an entry.
    for (at, fault) in [(512 + 48, "the GPT header"), (1024 + 32, "the GPT records")] {
        let mut disk = Disk::default().make();
        disk[at] ^= 1;
        let detected = found(&PROBER, &disk).expect("a GPT");
        assert_eq!(children(&detected), two(512));
        assert_eq!(
            kinds(&detected),
            [AnomalyKind::Damaged, AnomalyKind::CopiesDiffer]
        );
        assert!(detected.anomalies[0].detail.starts_with(fault));
    }
}

#[test]
fn copies_that_differ_are_named() {
    let mut disk = Disk::default().make();
    let last = 127 * 512;
    put(&mut disk, last + 88, &[1, 2, 3, 4]);
    seal(&mut disk, last);
    let detected = found(&PROBER, &disk).expect("a GPT");
    assert_eq!(
        details(&detected),
        [
            "the backup at LBA 127 differs from the primary, which is used, in its checksum of the entries"
        ]
    );
    disk[last..].fill(0);
    let detected = found(&PROBER, &disk).expect("a GPT");
    assert_eq!(
        details(&detected),
        ["there is no backup header at LBA 127; expected EFI PART"]
    );
    assert_eq!(kinds(&detected), [AnomalyKind::CopiesDiffer]);
}

#[test]
fn a_disk_that_grew_and_one_cut_short_are_named() {
    let mut disk = Disk::default().make();
    disk.resize(200 * 512, 0);
    let detected = found(&PROBER, &disk).expect("a GPT");
    assert_eq!(kinds(&detected), [AnomalyKind::UnusualPlace]);
    disk.truncate(100 * 512);
    let detected = found(&PROBER, &disk).expect("a GPT");
    assert_eq!(kinds(&detected), [AnomalyKind::CopiesDiffer]);
    assert_eq!(children(&detected), two(512));
}

#[test]
fn damage_to_both_copies_leaves_no_positions_to_believe() {
    let mut disk = Disk::default().make();
    for at in [512 + 40, 1024, 127 * 512 + 40] {
        disk[at] ^= 1;
    }
    let detected = found(&PROBER, &disk).expect("a GPT");
    assert_eq!(detected.children.len(), 0);
    assert!(kinds(&detected).contains(&AnomalyKind::Damaged));
}

#[test]
fn a_hybrid_mbr_is_compared() {
    let mut disk = Disk::default().make();
    let entry = |first: u32, sectors: u32| {
        let mut bytes = [0; 16];
        bytes[4] = 7;
        bytes[8..12].copy_from_slice(&first.to_le_bytes());
        bytes[12..16].copy_from_slice(&sectors.to_le_bytes());
        bytes
    };
    put(&mut disk, 462, &entry(34, 7));
    put(&mut disk, 478, &entry(41, 53));
    let detected = found(&PROBER, &disk).expect("a GPT");
    assert_eq!(kinds(&detected), [AnomalyKind::HybridTable; 2]);
    assert_eq!(
        details(&detected),
        [
            "entry 2 of the MBR (type 07) describes the same sectors as partition 1 of the GPT",
            "entry 3 of the MBR (type 07) describes LBA 41 to 93, which is no partition of the GPT"
        ]
    );
}

#[test]
fn an_mbr_with_partitions_and_no_protection_is_left_to_its_own_prober() {
    let mut disk = Disk::default().make();
    disk[450] = 0x83;
    assert!(found(&PROBER, &disk).is_none());
    let mbr = found(&mbr::PROBER, &disk).expect("an MBR");
    assert_eq!(kinds(&mbr), [AnomalyKind::Ambiguous]);
}

#[test]
fn two_tables_of_different_sector_sizes_are_ambiguous() {
    let disk = Disk::default();
    let mut both = Disk {
        sector: 4096,
        ..disk.clone()
    }
    .make();
    let small = disk.make();
    // The header only: at byte 4096 the array of the small table would lie over the other's header.
    both[512..1024].copy_from_slice(&small[512..1024]);
    let detected = found(&PROBER, &both).expect("a GPT");
    assert!(kinds(&detected).contains(&AnomalyKind::Ambiguous));
}

#[test]
fn names_are_fit_for_a_terminal() {
    let mut units = [U16::ZERO; 36];
    for (unit, value) in units
        .iter_mut()
        .zip([0x41, 0x1b, 0xd800, 0x202e, 0x7f, 0xd83d, 0xde00, 0, 0x42])
    {
        *unit = U16::new(value);
    }
    assert_eq!(name(&units), "A\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{1f600}");
}

proptest! {
    #[test]
    fn no_change_of_bytes_panics_or_reads_without_end(
        sector in prop_oneof![Just(512_usize), Just(4096)],
        changes in proptest::collection::vec((0_usize..127, any::<u8>(), any::<bool>(), any::<bool>()), 0..6),
        cut in 0_usize..2,
        sealed: bool,
    ) {
        let mut disk = Disk { sector, ..Disk::default() }.make();
        let last = 127 * sector;
        for (at, value, in_entry, in_backup) in changes {
            let base = match (in_entry, in_backup) {
                (true, false) => 2 * sector,
                (true, true) => last - 16_384,
                (false, false) => sector,
                (false, true) => last,
            };
            disk[base + at] = value;
        }
        if sealed {
            seal(&mut disk, sector);
            seal(&mut disk, last);
        }
        disk.truncate(disk.len() - cut * 700);
        let reader = Reader::new(&disk);
        let _ = PROBER.run(&Window::whole(&reader, None));
        prop_assert!(reader.spent() <= Bytes::kib(256), "{}", reader.spent());
    }
}
