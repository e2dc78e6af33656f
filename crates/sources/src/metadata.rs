//! Bytes of devices in a capture: the blocks that a check of the device reads, which are its tables and superblocks.
//!
//! They are recorded by reading: whatever the probers of the machine ask for, and nothing else, so that the same probers find the same in the
//! captured host. The text form, below `.straddle/metadata/`, is a file for each device:
//! ```text
//! size 17179869184
//! 0 33c08ed0bc007c…
//! 4096 zeros 12288
//! ```
//! `OFFSET` is in bytes, followed by what stands there in hexadecimal, or by `zeros` and their number.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use straddle_geometry::Bytes;
use straddle_io::{ReadAt, Target};

/// Where the record of a captured host has the bytes of the device `name`.
pub(crate) fn path(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

/// Whether a file of a record has bytes of a device.
pub(crate) fn is_at(path: &str) -> bool {
    let below = path.strip_prefix(FOLDER);
    below.is_some_and(|below| below.starts_with('/'))
}

/// Where a capture has bytes of devices.
pub(crate) const FOLDER: &str = ".straddle/metadata";

/// What is read of a device at once.
const BLOCK: u64 = 4096;
/// Most bytes of one device in a capture; tables and superblocks of a hundred partitions are 2 MiB.
const MOST: usize = 16 << 20;
/// Longest text of one device.
pub(crate) const LONGEST: usize = 2 * MOST + (4 << 20);

/// A device whose bytes are read: one of this machine, or what a capture has of one.
pub(crate) struct Device {
    pub(crate) bytes: Arc<dyn ReadAt>,
    /// What is open, on this machine.
    pub(crate) file: Option<Arc<Target>>,
}

impl From<Target> for Device {
    fn from(target: Target) -> Device {
        let target = Arc::new(target);
        Device {
            bytes: target.clone(),
            file: Some(target),
        }
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device")
            .field("size", &self.bytes.size())
            .field("file", &self.file)
            .finish()
    }
}

/// A device of this machine, and what has been read of it.
#[derive(Debug)]
pub(crate) struct Recorder {
    target: Arc<Target>,
    read: Mutex<BTreeMap<u64, Vec<u8>>>,
}

impl Recorder {
    pub(crate) fn new(target: Arc<Target>) -> Recorder {
        Recorder {
            target,
            read: Mutex::default(),
        }
    }

    /// What has been read, as the text of a capture.
    pub(crate) fn text(&self) -> String {
        let mut out = format!("size {}\n", self.target.size().get());
        let mut zeros: Option<(u64, u64)> = None;
        let write_zeros = |out: &mut String, zeros: Option<(u64, u64)>| {
            if let Some((at, length)) = zeros {
                let _ = writeln!(out, "{at} zeros {length}");
            }
        };
        for (at, block) in &*locked(&self.read) {
            let length = u64::try_from(block.len()).unwrap_or(u64::MAX);
            if block.iter().all(|byte| *byte == 0) {
                zeros = match zeros {
                    Some((start, had)) if start + had == *at => Some((start, had + length)),
                    other => {
                        write_zeros(&mut out, other);
                        Some((*at, length))
                    }
                };
                continue;
            }
            write_zeros(&mut out, zeros.take());
            let _ = write!(out, "{at} ");
            for byte in block {
                let _ = write!(out, "{byte:02x}");
            }
            out.push('\n');
        }
        write_zeros(&mut out, zeros);
        out
    }

    /// The block that begins at `start`, which is less than the size.
    fn block(&self, start: u64) -> io::Result<Vec<u8>> {
        if let Some(block) = locked(&self.read).get(&start) {
            return Ok(block.clone());
        }
        let length = BLOCK.min(self.target.size().get() - start);
        let mut block = Vec::new();
        while block.len() as u64 != length {
            let had = block.len() as u64;
            let rest = usize::try_from(length - had).unwrap_or(0);
            if self
                .target
                .append_at(Bytes::new(start + had), rest, &mut block)?
                == 0
            {
                break;
            }
        }
        let mut read = locked(&self.read);
        if read.len() < MOST / BLOCK as usize {
            read.insert(start, block.clone());
        }
        Ok(block)
    }
}

impl ReadAt for Recorder {
    fn size(&self) -> Bytes {
        self.target.size()
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let at = offset.get();
        if buf.is_empty() || at >= self.target.size().get() {
            return Ok(0);
        }
        let start = at - at % BLOCK;
        let block = self.block(start)?;
        let within = usize::try_from(at - start).unwrap_or(usize::MAX);
        Ok(copied(block.get(within..).unwrap_or_default(), buf))
    }

    fn data_from(&self, offset: Bytes) -> Bytes {
        self.target.data_from(offset)
    }
}

/// What a capture has of a device.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pieces {
    size: u64,
    pieces: BTreeMap<u64, Piece>,
}

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Bytes(Vec<u8>),
    Zeros(u64),
}

impl Piece {
    fn length(&self) -> u64 {
        match self {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::Zeros(length) => *length,
        }
    }
}

impl Pieces {
    /// Reads the text of a capture. What is wrong in it is said with its line.
    pub(crate) fn parse(text: &str) -> Result<Pieces, String> {
        let mut lines = (1_u32..).zip(text.lines());
        let size = lines
            .next()
            .and_then(|(_, line)| line.strip_prefix("size "));
        let size = size.and_then(|size| size.trim().parse().ok());
        let size = size.ok_or("line 1 is not `size BYTES`")?;
        let mut pieces = BTreeMap::new();
        let mut end = 0;
        for (number, line) in lines {
            let wrong = |what: &str| format!("line {number} {what}");
            let (at, what) = line
                .trim_end()
                .split_once(' ')
                .ok_or_else(|| wrong("is not `OFFSET BYTES` or `OFFSET zeros LENGTH`"))?;
            let at: u64 = at.parse().map_err(|_| wrong("has no offset"))?;
            let piece = match what.strip_prefix("zeros ") {
                Some(length) => Piece::Zeros(length.parse().map_err(|_| wrong("has no length"))?),
                None => Piece::Bytes(hex(what).ok_or_else(|| wrong("is not hexadecimal"))?),
            };
            let next = at.checked_add(piece.length());
            let next = next.filter(|next| at >= end && *next <= size && *next > at);
            end = next.ok_or_else(|| {
                wrong("overlaps the one before it, is empty, or lies beyond the end of the device")
            })?;
            pieces.insert(at, piece);
        }
        Ok(Pieces { size, pieces })
    }
}

impl ReadAt for Pieces {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let at = offset.get();
        if buf.is_empty() || at >= self.size {
            return Ok(0);
        }
        let before = self.pieces.range(..=at).next_back();
        let piece = before.filter(|(start, piece)| at - **start < piece.length());
        let Some((start, piece)) = piece else {
            return Err(io::Error::other(
                "these bytes are not in the capture; take it again with this version of straddle",
            ));
        };
        Ok(match piece {
            Piece::Bytes(bytes) => {
                let within = usize::try_from(at - start).unwrap_or(usize::MAX);
                copied(bytes.get(within..).unwrap_or_default(), buf)
            }
            Piece::Zeros(length) => {
                let rest = usize::try_from(start + length - at).unwrap_or(usize::MAX);
                let length = rest.min(buf.len());
                buf[..length].fill(0);
                length
            }
        })
    }
}

/// As much of `from` as there is room for; its length.
fn copied(from: &[u8], to: &mut [u8]) -> usize {
    let length = from.len().min(to.len());
    to[..length].copy_from_slice(&from[..length]);
    length
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            let [high, low] = pair else { return None };
            u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()
        })
        .collect()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom, Write};

    fn device(marks: &[(u64, &[u8])], size: u64) -> (tempfile::NamedTempFile, Arc<Target>) {
        let mut file = tempfile::NamedTempFile::new().expect("temporary file");
        for (at, bytes) in marks {
            file.seek(SeekFrom::Start(*at)).expect("seek");
            file.write_all(bytes).expect("write");
        }
        file.as_file().set_len(size).expect("grow");
        let target = Arc::new(Target::open(file.path()).expect("opens"));
        (file, target)
    }

    fn read(from: &dyn ReadAt, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        while out.len() < length {
            let rest = length - out.len();
            let read = from.append_at(Bytes::new(at + out.len() as u64), rest, &mut out)?;
            if read == 0 {
                break;
            }
        }
        Ok(out)
    }

    #[test]
    fn what_was_read_is_there_and_nothing_else() {
        let (_file, target) = device(&[(510, &[0x55, 0xaa]), (20_000, b"here")], 100_000);
        let recorder = Recorder::new(target);
        assert_eq!(read(&recorder, 510, 2).expect("reads"), [0x55, 0xaa]);
        assert_eq!(read(&recorder, 4090, 10).expect("reads"), [0; 10]);
        assert_eq!(read(&recorder, 99_990, 50).expect("reads"), [0; 10]);
        let text = recorder.text();
        let zeros = "00".repeat(510);
        let rest = "00".repeat(4096 - 512);
        assert_eq!(
            text,
            format!("size 100000\n0 {zeros}55aa{rest}\n4096 zeros 4096\n98304 zeros 1696\n")
        );
        let pieces = Pieces::parse(&text).expect("its own text");
        assert_eq!(pieces.size(), Bytes::new(100_000));
        assert_eq!(
            read(&pieces, 508, 6).expect("reads"),
            [0, 0, 0x55, 0xaa, 0, 0]
        );
        assert_eq!(read(&pieces, 4090, 10).expect("reads"), [0; 10]);
        assert_eq!(read(&pieces, 99_990, 50).expect("reads"), [0; 10]);
        assert_eq!(read(&pieces, 100_000, 5).expect("reads"), [0; 0]);
        let error = read(&pieces, 20_000, 4).expect_err("was not read");
        assert!(error.to_string().contains("not in the capture"), "{error}");
        read(&pieces, 8190, 4).expect_err("its end was not read");
    }

    #[test]
    fn forged_pieces_are_refused_with_their_line() {
        for (text, line) in [
            ("", "line 1 "),
            ("size x\n", "line 1 "),
            ("size 10\n0\n", "line 2 "),
            ("size 10\n0 0\n", "line 2 is not hexadecimal"),
            ("size 10\n0 zz\n", "line 2 is not hexadecimal"),
            ("size 10\nx 00\n", "line 2 has no offset"),
            ("size 10\n0 zeros -1\n", "line 2 has no length"),
            ("size 10\n0 zeros 0\n", "line 2 overlaps"),
            ("size 10\n0 zeros 11\n", "line 2 overlaps"),
            ("size 10\n0 0000\n1 00\n", "line 3 overlaps"),
            ("size 10\n4 00\n2 00\n", "line 3 overlaps"),
            (
                "size 18446744073709551615\n18446744073709551615 zeros 18446744073709551615\n",
                "line 2 overlaps",
            ),
        ] {
            let error = Pieces::parse(text).expect_err(text);
            assert!(error.starts_with(line), "{text:?}: {error}");
        }
    }
}
