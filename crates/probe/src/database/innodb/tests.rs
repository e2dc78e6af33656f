use super::*;
use crate::fixture::{Asked, Volume};
use straddle_stack::AnomalyKind;

/// A tablespace of four pages of `page` bytes with number 7, without checksums.
fn unsealed(page: usize, flags: u32) -> Volume {
    let mut file = Volume::new(4 * page);
    for number in 0..4_u32 {
        let at = page * usize::try_from(number).expect("small");
        let kind: u16 = if number == 0 { SPACE_HEADER } else { 5 };
        file = file
            .with(at + 4, number.to_be_bytes())
            .with(at + 24, kind.to_be_bytes())
            .with(at + 34, 7_u32.to_be_bytes());
    }
    file.with(38, 7_u32.to_be_bytes())
        .with(46, 4_u32.to_be_bytes())
        .with(54, flags.to_be_bytes())
}

/// As the server leaves it: with the checksum of page 0.
fn tablespace(page: usize, flags: u32) -> Volume {
    let file = unsealed(page, flags);
    let bytes = &file.0[..page];
    if flags & FULL_CRC32 != 0 {
        let sum = crc32c::of(&bytes[..page - 4]);
        return file.with(page - 4, sum.to_be_bytes());
    }
    let sum = if flags >> 1 & 0xf == 0 {
        crc32c::of(&bytes[4..26]) ^ crc32c::of(&bytes[38..page - 8])
    } else {
        crc32c::of(&bytes[4..16]) ^ crc32c::of(&bytes[24..26]) ^ crc32c::of(&bytes[34..])
    };
    file.with(0, sum.to_be_bytes())
}

#[test]
fn every_page_size_is_found_in_both_forms_of_the_flags() {
    for (shift, page, extent) in [
        (3, 4096, 1 << 20),
        (4, 8192, 1 << 20),
        (5, 16_384, 1 << 20),
        (6, 32_768, 2 << 20),
        (7, 65_536, 4 << 20),
    ] {
        // MySQL 8 adds what it knows of the tablespace: dictionary inside, encrypted, shared.
        for flags in [
            shift | FULL_CRC32,
            shift | FULL_CRC32 | 3 << 5,
            shift << 6,
            shift << 6 | 0x21,
            shift << 6 | 0x6821,
            shift << 6 | 0x1_0021,
        ] {
            let found = tablespace(page, flags).probe(&PROBER).expect("tablespace");
            let page = u64::try_from(page).expect("small");
            assert_eq!(found.bytes(Key::PageSize), Some(page), "flags {flags:#x}");
            assert_eq!(found.grid(GridRole::DatabasePage), Some((page, 0)));
            assert_eq!(found.bytes(Key::DatabaseExtent), Some(extent));
            assert_eq!(found.text(Key::Compression), None);
            assert_eq!(found.anomalies(), []);
        }
    }
    // The default of old servers needs no flags at all.
    let found = tablespace(16_384, 0).probe(&PROBER).expect("tablespace");
    assert_eq!(found.bytes(Key::PageSize), Some(16_384));
    assert_eq!(found.evidence(Key::PageSize), Some((54, vec![0; 4])));
}

#[test]
fn a_compressed_table_has_the_pages_that_are_written() {
    for (shift, physical) in [(1, 1024), (2, 2048), (3, 4096), (4, 8192)] {
        let found = tablespace(physical, 0x21 | shift << 1).probe(&PROBER);
        let found = found.expect("tablespace");
        let physical = u64::try_from(physical).expect("small");
        assert_eq!(found.grid(GridRole::DatabasePage), Some((physical, 0)));
        assert_eq!(
            found.text(Key::Compression).as_deref(),
            Some("from pages of 16 KiB")
        );
        assert_eq!(found.bytes(Key::DatabaseExtent), Some(64 * physical));
    }
    // A block of the size of the page is compressed all the same, and its checksum is made in that way.
    let found = tablespace(16_384, 0x2b).probe(&PROBER).expect("tablespace");
    assert_eq!(found.bytes(Key::PageSize), Some(16_384));
}

#[test]
fn a_checksum_or_the_second_page_tells_a_tablespace_from_anything_else() {
    // Page 1 is not written yet.
    let new = |file: Volume| file.with(16_384, [0; 64]);
    assert!(new(tablespace(16_384, 0)).probe(&PROBER).is_some());
    assert!(new(unsealed(16_384, 0)).probe(&PROBER).is_none());
    let new_full = new(tablespace(16_384, 0x15));
    assert!(new_full.probe(&PROBER).is_some());
    assert!(new(unsealed(16_384, 0x15)).probe(&PROBER).is_none());
    // A checksum that is not known: page 1 is there.
    let found = unsealed(16_384, 0).with(0, [1, 2, 3, 4]).probe(&PROBER);
    assert_eq!(found.expect("tablespace").anomalies(), []);
    let other = unsealed(16_384, 0).with(16_384 + 37, [8]);
    assert!(other.probe(&PROBER).is_none());
    let elsewhere = unsealed(16_384, 0).with(16_384 + 7, [2]);
    assert!(elsewhere.probe(&PROBER).is_none());
    // Where only one is possible, a wrong one is said.
    let found = unsealed(16_384, 0x15).probe(&PROBER).expect("tablespace");
    assert_eq!(found.anomalies(), [AnomalyKind::Damaged]);
}

#[test]
fn flags_that_no_server_writes_are_refused() {
    for flags in [
        1 << 6,         // pages of 1 KiB
        2 << 6,         // of 2 KiB
        8 << 6,         // of 128 KiB
        0x21 | 6 << 1,  // compressed to 32 KiB
        0x01 | 3 << 1,  // compressed, with long columns inside
        3 << 6 | 0x29,  // compressed to more than the page
        6 << 6 | 0x27,  // compressed from 32 KiB
        1 << 17,        // a flag that does not exist
        FULL_CRC32,     // no page size
        FULL_CRC32 | 8, // pages of 128 KiB
        FULL_CRC32 | 5 | 1 << 8,
    ] {
        assert_eq!(Pages::of(flags), None, "flags {flags:#x}");
    }
}

#[test]
fn another_page_and_a_cut_file_are_not_tablespaces() {
    let file = || tablespace(16_384, 0x15);
    assert!(file().with(7, [1]).probe(&PROBER).is_none());
    assert!(file().with(25, [9]).probe(&PROBER).is_none());
    assert!(file().with(37, [8]).probe(&PROBER).is_none());
    assert!(file().with(49, [0]).probe(&PROBER).is_none());
    let cut = Volume(file().0[..16_383].to_vec());
    assert!(cut.probe(&PROBER).is_none());
    let one_page = Volume(file().0[..16_384].to_vec());
    assert!(one_page.probe(&PROBER).is_some());
}
