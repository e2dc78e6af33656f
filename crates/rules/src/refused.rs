//! What larger logical sectors would shut out of what lies on a layer.

use straddle_geometry::{Unit, both_ways};
use straddle_stack::{GridRole, Key, Layer, LayerId, LayerKind, Stack};

/// One line for each filesystem and partition table on `base`, directly or not, that could not be used any more if `base` had
/// logical sectors of `sector`: `xfs has sectors of 512 B, and cannot be mounted on sectors of 4,096 B`.
///
/// A kernel mounts a filesystem where the device's sector is no larger than the filesystem's own, which is that of its
/// superblock (XFS, FAT, NTFS, exFAT, ReFS, btrfs) and need not be its block: XFS with blocks of 4 KiB may have sectors of 512
/// bytes. ext has blocks alone. A table counts in the sectors that it was written for.
#[must_use]
pub fn refused_above(stack: &Stack, base: LayerId, sector: Unit) -> Vec<String> {
    stack
        .iter()
        .filter(|(id, _)| stack.rests_on(*id, base))
        .filter_map(|(_, layer)| refused(layer, sector))
        .collect()
}

fn refused(layer: &Layer, sector: Unit) -> Option<String> {
    let too_small = |own: Unit| own < sector;
    if layer.kind == LayerKind::Filesystem {
        let own = layer.bytes(Key::SectorSize).map(|fact| fact.value);
        let (what, own) = match own.and_then(|bytes| Unit::try_from(bytes).ok()) {
            Some(own) => ("sectors", own),
            None => ("blocks", layer.grid(GridRole::AllocationUnit)?.value.unit()),
        };
        return too_small(own).then(|| {
            format!(
                "{} has {what} of {}, and cannot be mounted on sectors of {}",
                layer.name,
                both_ways(own.bytes()),
                both_ways(sector.bytes())
            )
        });
    }
    layer.text(Key::PartitionTable)?;
    let written = layer.bytes(Key::TableSectorSize).map(|fact| fact.value);
    let written = written
        .and_then(|bytes| Unit::try_from(bytes).ok())
        .or(Unit::new(512))
        .filter(|own| too_small(*own))?;
    Some(format!(
        "the partition table of {} is for sectors of {}, and is not found with sectors of {}",
        layer.name,
        both_ways(written.bytes()),
        both_ways(sector.bytes())
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    fn on_crypt(build: impl Fn(&mut Lab, LayerId)) -> Vec<String> {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let crypt = lab.upper(LayerKind::Encryption, "luks2", disk, 16 << 20);
        build(&mut lab, crypt);
        refused_above(&lab.stack, crypt, Unit::B4096)
    }

    #[test]
    fn a_sector_counts_where_there_is_one_and_not_the_block() {
        let xfs = |sector| {
            on_crypt(move |lab, crypt| {
                let volume = lab.upper(LayerKind::Volume, "lvm", crypt, 1 << 20);
                let xfs = lab.filesystem("xfs", volume, 4096);
                lab.bytes(xfs, Key::SectorSize, sector);
            })
        };
        let lines = xfs(512);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].ends_with(
            "has sectors of 1 sector = 512 B, and cannot be mounted on sectors of 4 KiB = 8 sectors = 4,096 B"
        ));
        assert!(xfs(4096).is_empty());
    }

    #[test]
    fn blocks_count_where_there_are_no_sectors() {
        let ext = |block| on_crypt(move |lab, crypt| _ = lab.filesystem("ext4", crypt, block));
        assert!(ext(1024)[0].contains("has blocks of 1 KiB"));
        assert!(ext(4096).is_empty());
    }

    #[test]
    fn tables_count_in_their_own_sectors() {
        let table = |sector| {
            on_crypt(move |lab, crypt| {
                lab.text(crypt, Key::PartitionTable, "gpt");
                lab.bytes(crypt, Key::TableSectorSize, sector);
            })
        };
        assert_eq!(table(512).len(), 1);
        assert!(table(4096).is_empty());
        // An MBR does not say.
        let mbr = on_crypt(|lab, crypt| lab.text(crypt, Key::PartitionTable, "mbr"));
        assert_eq!(mbr.len(), 1);
    }
}
