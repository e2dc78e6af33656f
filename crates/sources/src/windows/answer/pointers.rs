//! `FSCTL_GET_RETRIEVAL_POINTERS`: which clusters of a volume hold a file; `FSCTL_GET_RETRIEVAL_POINTER_BASE`: where cluster 0 lies.

use straddle_geometry::{Bytes, Extent, SectorSize, Unit};

use super::fields::Fields;
use super::{BadAnswer, Problem};

const HEAD: &str = "RETRIEVAL_POINTERS_BUFFER";
const FIRST_RUN: usize = 16;
const RUN_SIZE: usize = 16;
const NEXT: (&str, usize) = ("NextVcn", 0);
const LCN: (&str, usize) = ("Lcn", 8);
/// A hole of a sparse file, or what is left of a unit after compression.
const NOWHERE: i64 = -1;

/// A part of the list of a file's clusters.
///
/// A file whose data lies in its file record has none: the system answers `ERROR_HANDLE_EOF` then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrievalPointers {
    /// The runs, in the order of the file, without gaps.
    pub runs: Vec<Run>,
    /// How many runs it counts that are not in the answer.
    pub missing: u32,
}

/// A run of clusters of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First cluster in the file.
    pub vcn: u64,
    /// Number of clusters.
    pub clusters: u64,
    /// First cluster on the volume; `None` where the file has no cluster of its own.
    pub lcn: Option<u64>,
}

impl RetrievalPointers {
    /// Decodes a `RETRIEVAL_POINTERS_BUFFER`.
    ///
    /// # Errors
    /// When the head is not whole, a run does not end after the one before it, or it lies at a negative cluster.
    pub fn decode(bytes: &[u8]) -> Result<RetrievalPointers, BadAnswer> {
        let head = Fields::new(HEAD, bytes);
        let count = head.u32(("ExtentCount", 0))?;
        let mut vcn = head.count(("StartingVcn", 8))?;
        let (each, missing) = head.list(HEAD, FIRST_RUN, RUN_SIZE, count);
        let runs = each.map(|part| {
            let next = part.count(NEXT)?;
            let clusters = next.checked_sub(vcn).filter(|clusters| *clusters > 0);
            let clusters = clusters
                .ok_or_else(|| part.unexpected(NEXT, next, "more than where the run starts"))?;
            let lcn = match part.array(LCN).map(i64::from_le_bytes)? {
                NOWHERE => None,
                lcn => Some(u64::try_from(lcn).map_err(|_| part.bad(LCN, Problem::Negative(lcn)))?),
            };
            let run = Run { vcn, clusters, lcn };
            vcn = next;
            Ok(run)
        });
        Ok(RetrievalPointers {
            runs: runs.collect::<Result<_, _>>()?,
            missing,
        })
    }

    /// Where to ask for the rest, when the system says that there is more.
    #[must_use]
    pub fn next_vcn(&self) -> Option<u64> {
        let last = self.runs.last()?;
        last.vcn.checked_add(last.clusters)
    }
}

impl Run {
    /// The bytes of the file that it holds; `None` past 2⁶⁴ − 1.
    #[must_use]
    pub fn in_file(&self, cluster: Unit) -> Option<Extent> {
        let start = cluster.bytes().checked_mul(self.vcn)?;
        Extent::new(start, cluster.bytes().checked_mul(self.clusters)?)
    }

    /// The bytes of the volume that hold it, when cluster 0 starts at `base`; `None` for a hole, or past 2⁶⁴ − 1.
    #[must_use]
    pub fn on_volume(&self, cluster: Unit, base: Bytes) -> Option<Extent> {
        let start = cluster.bytes().checked_mul(self.lcn?)?;
        let len = cluster.bytes().checked_mul(self.clusters)?;
        Extent::new(base.checked_add(start)?, len)
    }
}

/// Decodes a `RETRIEVAL_POINTER_BASE`, which counts sectors of the volume: where cluster 0 starts. NTFS and ReFS count clusters from
/// the volume's first byte, FAT and exFAT from where the data starts.
///
/// # Errors
/// When it is not whole, negative or past 2⁶⁴ − 1 bytes.
pub fn pointer_base(bytes: &[u8], sector: SectorSize) -> Result<Bytes, BadAnswer> {
    let field = ("FileAreaOffset", 0);
    let all = Fields::new("RETRIEVAL_POINTER_BASE", bytes);
    let count = all.count(field)?;
    let base = sector.sectors(count).bytes();
    base.ok_or_else(|| all.unexpected(field, count, "a sector below 2^64 bytes"))
}

/// Whether a file is stored compressed: then no byte of it has a place of its own.
///
/// # Errors
/// When it is not whole.
pub fn is_compressed(bytes: &[u8]) -> Result<bool, BadAnswer> {
    let all = Fields::new("FSCTL_GET_COMPRESSION", bytes);
    Ok(all.u16(("CompressionState", 0))? != 0)
}
