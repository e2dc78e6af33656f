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
    /// One or more frames of zstd.
    Zstd,
}

impl Packing {
    /// Of a file that begins so; `None` when it is not packed in a way that is known.
    #[must_use]
    pub fn of(head: &[u8]) -> Option<Packing> {
        match head {
            [0x1f, 0x8b, ..] => Some(Packing::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Packing::Zstd),
            _ => None,
        }
    }

    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
        }
    }

    /// What is packed, all members and frames of it.
    #[must_use]
    pub fn unpack<R: Read>(self, packed: R) -> Unpacked<R> {
        Unpacked(match self {
            Packing::Gzip => Kind::Gzip(flate2::read::MultiGzDecoder::new(packed)),
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
    Zstd(Box<Frames<R>>),
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Gzip(gzip) => gzip.read(buffer),
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

/// Frames of zstd, one behind the other, as `pzstd` and `cat` write them.
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
