//! Whether a device is blank where formats keep their marks.
//!
//! A list of signatures is never complete. What is known of all of them is where they lie: in the first and the last MiB (most
//! below 64 KiB, VMFS from 1 MiB on, md 1.0 and firmware RAID at the end), and copies at round places in between. A device that has
//! nothing but one byte there, 0x00 as most are delivered and zeroed, or 0xff as erased flash reads, holds no format; any other may
//! hold something that nobody here has heard of.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use straddle_geometry::{Bytes, Extent};

/// What is looked at in whole at either end.
const END: u64 = 4 << 20;
/// What is looked at elsewhere: as much as the largest page in which a format keeps one mark.
const SAMPLE: u64 = 4 << 10;
/// Samples at equal distances over the whole.
const SAMPLES: u64 = 256;
/// Copies of superblocks that lie at fixed places: btrfs at 64 MiB and 256 GiB, ext at the block groups after the first.
const COPIES: [u64; 4] = [64 << 20, 128 << 20, 256 << 20, 256 << 30];

/// What the places hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blankness {
    /// This byte alone.
    Blank(u8),
    /// Something else, the first of it at this byte.
    Data(Bytes),
}

/// The places of a device of `size` bytes, ascending, each within it.
pub(super) fn marked_places(size: Bytes) -> Vec<Extent> {
    let size = size.get();
    let mut starts = vec![(0, END), (size.saturating_sub(END), END)];
    starts.extend((1..SAMPLES).map(|number| {
        let at = u128::from(size) * u128::from(number) / u128::from(SAMPLES);
        (u64::try_from(at).unwrap_or(size) & !(SAMPLE - 1), SAMPLE)
    }));
    starts.extend(COPIES.map(|at| (at, SAMPLE)));
    starts.sort_unstable();
    let within = starts.into_iter().filter(|(at, _)| *at < size);
    within
        .filter_map(|(at, len)| Extent::new(Bytes::new(at), Bytes::new(len.min(size - at))))
        .collect()
}

/// Looks at all places of a device of `size` bytes.
pub(super) fn blankness(mut file: &File, size: Bytes) -> io::Result<Blankness> {
    let mut expected = None;
    let mut buffer = vec![0; usize::try_from(END).unwrap_or_default()];
    for place in marked_places(size) {
        let len = usize::try_from(place.len().get()).unwrap_or_default();
        let Some(bytes) = buffer.get_mut(..len) else {
            continue;
        };
        file.seek(SeekFrom::Start(place.start().get()))?;
        file.read_exact(bytes)?;
        let byte = *expected.get_or_insert(bytes.first().copied().unwrap_or_default());
        let is_blank = |found: u8| found == byte && (found == 0 || found == 0xff);
        if let Some(at) = bytes.iter().position(|found| !is_blank(*found)) {
            return Ok(Blankness::Data(Bytes::new(place.start().get() + at as u64)));
        }
    }
    Ok(Blankness::Blank(expected.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const SIZE: u64 = 300 << 20;

    /// A sparse file with these bytes at these places.
    fn disk(bytes: &[(u64, &[u8])]) -> File {
        let mut file = tempfile::tempfile().expect("a file");
        file.set_len(SIZE).expect("is set");
        for (at, bytes) in bytes {
            file.seek(SeekFrom::Start(*at)).expect("seeks");
            file.write_all(bytes).expect("writes");
        }
        file
    }

    fn look(bytes: &[(u64, &[u8])]) -> Blankness {
        blankness(&disk(bytes), Bytes::new(SIZE)).expect("reads")
    }

    #[test]
    fn one_byte_anywhere_in_the_places_is_data() {
        assert_eq!(look(&[]), Blankness::Blank(0));
        for at in [
            0,
            512,
            0x1_0000,
            1 << 20,
            (4 << 20) - 1,
            64 << 20,
            (128 << 20) + 56,
            SIZE / 2,
            SIZE - (4 << 20),
            SIZE - 512,
            SIZE - 1,
        ] {
            assert_eq!(
                look(&[(at, b"\x01")]),
                Blankness::Data(Bytes::new(at)),
                "{at}"
            );
            // The first byte decides what the others have to be.
            let found = Blankness::Data(Bytes::new(at.max(1)));
            assert_eq!(look(&[(at, b"\xff")]), found, "{at}");
        }
    }

    #[test]
    fn erased_flash_is_blank() {
        let size = Bytes::mib(9);
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&vec![0xff; 9 << 20]).expect("writes");
        assert_eq!(
            blankness(&file, size).expect("reads"),
            Blankness::Blank(0xff)
        );
        file.seek(SeekFrom::Start(0)).expect("seeks");
        file.write_all(&vec![0x55; 9 << 20]).expect("writes");
        let found = blankness(&file, size).expect("reads");
        assert_eq!(found, Blankness::Data(Bytes::ZERO));
    }

    #[test]
    fn every_place_lies_within_a_device_of_any_size() {
        for size in [
            0,
            1,
            4095,
            4096,
            4097,
            1 << 20,
            5 << 20,
            SIZE,
            1 << 40,
            u64::MAX >> 2,
        ] {
            let places = marked_places(Bytes::new(size));
            assert!(
                places.iter().all(|place| place.end().get() <= size),
                "{size}"
            );
            let first = places.first().map(|place| place.start().get());
            assert_eq!(first, (size > 0).then_some(0), "{size}");
            let last = places.iter().map(|place| place.end().get()).max();
            assert_eq!(last.unwrap_or(0), size, "{size}");
        }
    }
}
