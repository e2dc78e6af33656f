//! Files that are packed, unpacked while they are read.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// One or more members of gzip.
    Gzip,
    /// One or more streams of bzip2.
    Bzip2,
    /// One or more streams of xz.
    Xz,
    /// One or more frames of zstd.
    Zstd,
}

/// Most memory that one stream may ask for, in KiB: `xz -9` and `zstd --ultra` want 64 MiB, and what asks for more is a trap or was made
/// with a window of its own choice.
const MAX_WINDOW: u32 = 128 << 10;

impl Packing {
    /// As much of a file's beginning as tells how it is packed.
    pub const HEAD: usize = 8;

    /// Of a file that begins so; `None` when it is not packed in a way that is known.
    #[must_use]
    pub fn of(head: &[u8]) -> Option<Packing> {
        match head {
            [0x1f, 0x8b, ..] => Some(Packing::Gzip),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, ..] => Some(Packing::Bzip2),
            // A stream without blocks is a trailer from the start.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, ..] => Some(Packing::Bzip2),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Packing::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Packing::Zstd),
            _ => None,
        }
    }

    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Bzip2 => "bzip2",
            Packing::Xz => "xz",
            Packing::Zstd => "zstd",
        }
    }

    /// What is packed, all members and frames of it.
    #[must_use]
    pub fn unpack<R: Read>(self, packed: R) -> Unpacked<R> {
        Unpacked(match self {
            Packing::Gzip => Kind::Gzip(flate2::read::MultiGzDecoder::new(packed)),
            Packing::Bzip2 => Kind::Bzip2(bzip2::read::MultiBzDecoder::new(packed)),
            Packing::Xz => {
                let packed = BufReader::with_capacity(PACKED, packed);
                Kind::Xz(Box::new(lzma_rust2::XzReader::new_mem_limit(
                    packed, true, MAX_WINDOW,
                )))
            }
            Packing::Zstd => {
                let packed = BufReader::with_capacity(PACKED, packed);
                Kind::Zstd(Box::new(Frames {
                    packed: Shared(Arc::new(Mutex::new(packed))),
                    frame: None,
                }))
            }
        })
    }
}

/// What comes out of something packed.
pub struct Unpacked<R: Read>(Kind<R>);

enum Kind<R: Read> {
    Gzip(flate2::read::MultiGzDecoder<R>),
    Bzip2(bzip2::read::MultiBzDecoder<R>),
    Xz(Box<lzma_rust2::XzReader<BufReader<R>>>),
    Zstd(Box<Frames<R>>),
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Gzip(gzip) => gzip.read(buffer),
            Kind::Bzip2(bzip2) => bzip2.read(buffer),
            Kind::Xz(xz) => xz.read(buffer),
            Kind::Zstd(frames) => frames.read(buffer),
        }
    }
}

/// How much is read at once of what is packed.
const PACKED: usize = 128 << 10;

/// What is packed, handed from one frame's decoder to the next.
struct Shared<R>(Arc<Mutex<BufReader<R>>>);

impl<R> Shared<R> {
    fn packed(&self) -> MutexGuard<'_, BufReader<R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Read> Read for Shared<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.packed().read(buffer)
    }
}

/// Frames of zstd, one after another, as `pzstd` and `cat` write them.
struct Frames<R: Read> {
    packed: Shared<R>,
    frame: Option<StreamingDecoder<Shared<R>, FrameDecoder>>,
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let read = frame.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
                self.frame = None;
            }
            if self.packed.packed().fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.frame = match StreamingDecoder::new(Shared(Arc::clone(&self.packed.0))) {
                Ok(frame) => Some(frame),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut packed = self.packed.packed();
                    io::copy(&mut (&mut *packed).take(length.into()), &mut io::sink())?;
                    None
                }
                Err(error) => return Err(io::Error::other(error.to_string())),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(text).expect("memory");
        out.finish().expect("memory")
    }

    fn bzip2(text: &[u8]) -> Vec<u8> {
        let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        out.write_all(text).expect("memory");
        out.finish().expect("memory")
    }

    fn xz(text: &[u8], preset: u32) -> Vec<u8> {
        let options = lzma_rust2::XzOptions::with_preset(preset);
        let mut out = lzma_rust2::XzWriter::new(Vec::new(), options).expect("options");
        out.write_all(text).expect("memory");
        out.finish().expect("memory")
    }

    #[test]
    fn a_window_larger_than_any_preset_is_refused() {
        let mut options = lzma_rust2::XzOptions::with_preset(1);
        options.lzma_options.dict_size = 512 << 20;
        let mut out = lzma_rust2::XzWriter::new(Vec::new(), options).expect("options");
        out.write_all(b"text").expect("memory");
        let packed = out.finish().expect("memory");
        let error = Packing::Xz.unpack(&packed[..]).read_to_end(&mut Vec::new());
        assert_eq!(
            error.expect_err("refused").kind(),
            io::ErrorKind::OutOfMemory
        );
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    #[test]
    fn members_and_frames_are_one_text() {
        // What may stand between frames, of any length.
        let skipped = [
            &0x184d_2a53_u32.to_le_bytes()[..],
            &5_u32.to_le_bytes(),
            b"aside",
        ]
        .concat();
        for (packing, packed) in [
            (Packing::Gzip, [gzip(b"one "), gzip(b"two")].concat()),
            (Packing::Bzip2, [bzip2(b"one "), bzip2(b"two")].concat()),
            (Packing::Xz, [xz(b"one ", 1), xz(b"two", 9)].concat()),
            (Packing::Zstd, [zstd(b"one "), zstd(b"two")].concat()),
            (
                Packing::Zstd,
                [zstd(b"one "), skipped, zstd(b"two")].concat(),
            ),
        ] {
            assert_eq!(Packing::of(&packed), Some(packing));
            let mut text = String::new();
            let read = packing.unpack(&packed[..]).read_to_string(&mut text);
            assert_eq!((read.expect("whole"), text.as_str()), (7, "one two"));
            let cut = packing
                .unpack(&packed[..packed.len() - 1])
                .read_to_end(&mut Vec::new());
            assert!(cut.is_err(), "{}", packing.name());
        }
        assert_eq!(Packing::of(b"text"), None);
    }
}
