//! Compressed clusters: each is compressed for itself.

use flate2::{Decompress, FlushDecompress, Status};
use ruzstd::decoding::StreamingDecoder;
use std::io::Read;
use straddle_geometry::TableError;

/// The largest window that zstd's ordinary levels use, four times the largest cluster.
const MAX_WINDOW: u64 = 8 << 20;

/// How clusters are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Deflate,
    Zstd,
    Unknown(u8),
}

impl Compression {
    pub(super) fn of(kind: u8) -> Compression {
        match kind {
            0 => Compression::Deflate,
            1 => Compression::Zstd,
            other => Compression::Unknown(other),
        }
    }

    pub(super) fn name(self) -> String {
        match self {
            Compression::Deflate => "deflate".to_owned(),
            Compression::Zstd => "zstd".to_owned(),
            Compression::Unknown(kind) => format!("type {kind}"),
        }
    }

    pub(super) fn is_unknown(self) -> bool {
        matches!(self, Compression::Unknown(_))
    }

    /// Fills `out`; what the packed bytes hold beyond that is not unpacked, so a bomb costs no more than a cluster.
    pub(super) fn unpack(self, packed: &[u8], out: &mut [u8]) -> Result<(), TableError> {
        let want = out.len();
        match self {
            Compression::Deflate => {
                let mut inflate = Decompress::new(false);
                let status = inflate
                    .decompress(packed, out, FlushDecompress::Finish)
                    .map_err(|error| format!("a compressed cluster is damaged: {error}"))?;
                let got = inflate.total_out();
                if got != u64::try_from(want)? {
                    let how = match status {
                        Status::StreamEnd => "ends",
                        Status::Ok | Status::BufError => "is cut off",
                    };
                    return Err(format!(
                        "a compressed cluster {how} after {got} bytes; expected {want}"
                    )
                    .into());
                }
                Ok(())
            }
            Compression::Zstd => {
                let damaged = |error: &dyn std::fmt::Display| {
                    format!("a compressed cluster is damaged: {error}")
                };
                let mut decoder = StreamingDecoder::new_with_max_window_size(packed, MAX_WINDOW)
                    .map_err(|error| damaged(&error))?;
                decoder.read_exact(out).map_err(|error| damaged(&error))?;
                Ok(())
            }
            Compression::Unknown(kind) => {
                Err(format!("compression type {kind} is not known; expected 0 or 1").into())
            }
        }
    }
}
