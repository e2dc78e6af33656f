//! Blocks at the end of a file.

use straddle_geometry::Bytes;

use super::error::ContainerError;
use crate::Store;

/// Makes `start..end` of the file zeroes that are there, whether it ends before, in, or after them; they are not flushed.
///
/// Beyond its end a file becomes longer by its last bytes alone, so that what is between them stays a hole.
pub(super) fn zeroes(file: &dyn Store, start: u64, end: u64) -> Result<(), ContainerError> {
    const LAST: u64 = 512;
    let what = || ContainerError::io("adding blocks at the end of the file");
    let had = file.size().get();
    let there = had.min(end).saturating_sub(start);
    if there > 0 {
        file.zero(Bytes::new(start), Bytes::new(there))
            .map_err(what())?;
    }
    if end > had {
        let from = end.saturating_sub(LAST).max(had.max(start));
        let len = usize::try_from(end - from).unwrap_or(0);
        file.write_at(Bytes::new(from), &vec![0; len])
            .map_err(what())?;
    }
    Ok(())
}

/// Writes `entries` of `width` bytes into the table at `table`, each at its index; those in a row as one.
pub(super) fn entries<const N: usize>(
    file: &dyn Store,
    table: u64,
    entries: impl Iterator<Item = (u64, [u8; N])>,
) -> Result<(), ContainerError> {
    let width = u64::try_from(N).unwrap_or(u64::MAX);
    let mut run: Option<(u64, Vec<u8>)> = None;
    let send = |(first, bytes): (u64, Vec<u8>)| {
        let at = first
            .checked_mul(width)
            .and_then(|at| at.checked_add(table));
        let at = Bytes::new(at.ok_or(std::io::ErrorKind::InvalidInput)?);
        file.write_at(at, &bytes)
    };
    let what = || ContainerError::io("writing entries of the table of blocks");
    for (index, entry) in entries {
        match &mut run {
            Some((first, bytes))
                if u64::try_from(bytes.len() / N.max(1))
                    .ok()
                    .and_then(|count| first.checked_add(count))
                    == Some(index) =>
            {
                bytes.extend_from_slice(&entry);
            }
            _ => {
                if let Some(run) = run.take() {
                    send(run).map_err(what())?;
                }
                run = Some((index, entry.to_vec()));
            }
        }
    }
    if let Some(run) = run {
        send(run).map_err(what())?;
    }
    Ok(())
}
