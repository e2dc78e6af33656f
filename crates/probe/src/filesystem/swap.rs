//! Linux swap: a header page whose last ten bytes are the signature.
//!
//! ```text
//! byte 1024  version, 1 (4)       page - 10  "SWAPSPACE2", or "SWAP-SPACE" for the old version
//!      1028  last page (4)
//!      1032  bad pages (4)
//!      1052  label (16)
//! ```
//!
//! The page size is that of the machine that wrote it: it is known only by where the signature stands. Numbers are in
//! that machine's byte order. Pages of 16 KiB and more have their signature outside the bytes that are read anyway, so
//! it is looked for only when the fields at 1,024 are plausible.
//!
//! Source: Linux `include/linux/swap.h`, `union swap_header`; `mkswap(8)`.

use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, GridRole, Key};
use zerocopy::byteorder::{BigEndian, ByteOrder, LittleEndian, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::record::{Place, Recorder, place};
use crate::{Class, Detected, Prober, Window};

pub(crate) static PROBER: Prober = Prober {
    name: "swap",
    class: Class::Filesystem,
    min_size: 4096,
    magics: &[],
    probe,
    find: None,
};

const HEADER_AT: u64 = 1024;
const SIGNATURE_LEN: u64 = 10;
const OLD: &[u8; 10] = b"SWAP-SPACE";
const NEW: &[u8; 10] = b"SWAPSPACE2";
/// Pages whose end is in the bytes that are read for every volume.
const SMALL_PAGES: [u64; 2] = [4096, 8192];
const LARGE_PAGES: [u64; 3] = [16_384, 32_768, 65_536];

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header<O: ByteOrder> {
    version: U32<O>,
    last_page: U32<O>,
    bad_pages: U32<O>,
    uuid: [u8; 16],
    label: [u8; 16],
}

fn probe(window: &Window<'_>) -> Result<Option<Detected>, ReadError> {
    for page in SMALL_PAGES {
        if window.matches(page - SIGNATURE_LEN, NEW)? {
            return read(window, page);
        }
        if window.matches(page - SIGNATURE_LEN, OLD)? {
            return Ok(Some(old(window, page)));
        }
    }
    if plausible_version(window)?.is_none() {
        return Ok(None);
    }
    for page in LARGE_PAGES {
        if window.matches(page - SIGNATURE_LEN, NEW)? {
            return read(window, page);
        }
    }
    Ok(None)
}

/// The last page, read in whichever byte order makes the version 1.
fn plausible_version(window: &Window<'_>) -> Result<Option<u32>, ReadError> {
    let little: Header<LittleEndian> = window.get(HEADER_AT)?;
    if little.version.get() == 1 {
        return Ok(Some(little.last_page.get()));
    }
    let big: Header<BigEndian> = window.get(HEADER_AT)?;
    Ok((big.version.get() == 1).then_some(big.last_page.get()))
}

fn signature(page: u64) -> Place {
    let at = page.saturating_sub(SIGNATURE_LEN);
    // The recorder counts from the header.
    Place::new(
        usize::try_from(at.saturating_sub(HEADER_AT)).unwrap_or(usize::MAX),
        10,
    )
}

fn page_size(rec: &mut Recorder<'_>, version: &'static str, page: u64) {
    rec.text(Key::Version, version, signature(page));
    rec.bytes(Key::PageSize, page, signature(page));
    rec.grid(GridRole::AllocationUnit, page, 0, signature(page));
}

/// The old kind: a bitmap of pages and the signature.
fn old(window: &Window<'_>, page: u64) -> Detected {
    let mut rec = Recorder::new(window, HEADER_AT);
    page_size(&mut rec, "0", page);
    rec.finish()
}

fn read(window: &Window<'_>, page: u64) -> Result<Option<Detected>, ReadError> {
    type Fields = Header<LittleEndian>;
    let fields: Fields = window.get(HEADER_AT)?;
    let mut rec = Recorder::new(window, HEADER_AT);
    page_size(&mut rec, "1", page);
    rec.label(&fields.label, place!(Fields.label));
    match plausible_version(window)? {
        // 32 bits of pages of 64 KiB at most fit in 64 bits.
        Some(last) => {
            rec.claimed_size((u64::from(last) + 1) * page, place!(Fields.last_page));
        }
        None => rec.odd(
            AnomalyKind::Damaged,
            "a version other than 1, in either byte order",
            place!(Fields.version),
        ),
    }
    Ok(Some(rec.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Asked, Volume};

    fn swap(page: usize, last: u32) -> Volume {
        Volume::new(1 << 20)
            .with(1024, 1_u32.to_le_bytes())
            .with(1028, last.to_le_bytes())
            .with(1052, b"spare")
            .with(page - 10, NEW)
    }

    #[test]
    fn the_place_of_the_signature_is_the_page_size() {
        for page in [4096, 8192, 16_384, 32_768, 65_536_u32] {
            let last = (1 << 20) / page - 1;
            let found = swap(usize::try_from(page).expect("small"), last)
                .probe(&PROBER)
                .expect("swap");
            let page = u64::from(page);
            assert_eq!(found.bytes(Key::PageSize), Some(page));
            assert_eq!(
                found.evidence(Key::PageSize),
                Some((page - 10, NEW.to_vec()))
            );
            assert_eq!(found.bytes(Key::ClaimedSize), Some(1 << 20));
            assert_eq!(found.text(Key::Label).as_deref(), Some("spare"));
            assert_eq!(found.grid(GridRole::AllocationUnit), Some((page, 0)));
            assert_eq!(found.anomalies(), []);
        }
    }

    #[test]
    fn the_other_byte_order_is_read() {
        let found = swap(4096, 0)
            .with(1024, 1_u32.to_be_bytes())
            .with(1028, 255_u32.to_be_bytes())
            .probe(&PROBER)
            .expect("swap");
        assert_eq!(found.bytes(Key::ClaimedSize), Some(1 << 20));
    }

    #[test]
    fn the_old_kind_has_only_a_page_size() {
        let found = Volume::new(1 << 20).with(4086, OLD).probe(&PROBER);
        let found = found.expect("swap");
        assert_eq!(found.text(Key::Version).as_deref(), Some("0"));
        assert_eq!(found.bytes(Key::PageSize), Some(4096));
        assert_eq!(found.bytes(Key::ClaimedSize), None);
    }

    #[test]
    fn large_pages_are_looked_for_only_behind_a_plausible_header() {
        let volume = swap(65_536, 15).with(1024, 2_u32.to_le_bytes());
        assert!(volume.probe(&PROBER).is_none());
        let damaged = swap(4096, 255).with(1024, 2_u32.to_le_bytes());
        let found = damaged.probe(&PROBER).expect("swap");
        assert_eq!(found.anomalies(), [AnomalyKind::Damaged]);
    }
}
