use straddle_geometry::Unit;
use straddle_stack::{GridRole, Key, Layer, LayerId, LayerKind, SeenGrid, Value};

use crate::context::Findings;
use crate::wording::Correlation;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::PAGE_COPIED,
    name: "page-copied",
    summary: "database pages are smaller than what a layer below copies for them",
    status: Status::Stable,
    repair: Repair::None(
        "chunks and clusters are chosen when a pool or an image is made; copy-on-write when a file is",
    ),
    page: Page {
        checks: "Whether a database file lies on chunks of a thin pool or clusters of a qcow2 image with a backing file or snapshots that are \
                 larger than its pages, or on btrfs.",
        why: "The first write to a chunk or cluster after a snapshot copies all of it, for one page: with pages written at random, nearly every \
              write of the first minutes does. btrfs never writes over data: each page goes to a new place, so that the file ends up in pieces \
              of a page, and reading it in order becomes reading at random.",
        evidence: "The page size from the database file; the chunk from the pool's metadata, `lvs -o +chunk_size` or the device-mapper table; the \
                   cluster or subcluster from the image's header; the filesystem below the file.",
        example: "PostgreSQL pages of 8,192 bytes on thin chunks of 65,536: 65,536 ÷ 8,192 = 8; after a snapshot, the first write of each page \
                  copies as much as 8 pages, until each chunk was copied once.",
        fix: "Thin pool: chunks of 64 KiB, the smallest, where databases have snapshots; they are chosen when the pool is made. qcow2: \
              subclusters (`extended_l2=on`), or no snapshots below a database. btrfs: turn copy-on-write off for the directory before the files are made \
              (`chattr +C DIRECTORY`), and take no frequent snapshots of it, each of which makes the next write of a page a copy again.",
        fix_safety: "Files on btrfs without copy-on-write have no checksums and are not compressed: the database must have its own. The \
                     attribute has no effect on files with data: copy them into the directory with the database stopped.",
        references: &[
            "Linux Documentation/admin-guide/device-mapper/thin-provisioning.rst",
            "QEMU docs/interop/qcow2.rst: extended L2 entries",
            "btrfs(5), nodatacow; chattr(1), attribute C",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::DatabasePage) {
        let Some(page) = layer.grid(GridRole::DatabasePage) else {
            continue;
        };
        let size = page.value.unit();
        let copied = [GridRole::ThinChunk, GridRole::ContainerBlock]
            .into_iter()
            .flat_map(|role| context.below(id, role))
            .filter_map(|grid| Some((grid, copied_by(context, grid)?)))
            .filter(|(_, copied)| *copied > size)
            .max_by_key(|(_, copied)| *copied);
        if let Some((grid, copied)) = copied {
            let what = match grid.role {
                GridRole::ThinChunk => "thin chunks",
                _ => "clusters of the image below",
            };
            let title = format!(
                "{}: pages of {size} on {what} of {copied}, which are copied whole",
                layer.name
            );
            findings.push(
                Finding::new(RULE.code, Severity::Note, id, title)
                    .evidence(&page.source, format!("page = {size}"))
                    .evidence(&grid.fact.source, format!("{} = {}", grid.role.name(), grid.fact.value.unit()))
                    .arithmetic(Correlation::new("copied ÷ page", copied.bytes(), size).arithmetic())
                    .note("paid once for each after a snapshot, and at the first write of what was never written")
                    .help("keep snapshots below databases few and short, or the unit that is copied small"),
            );
        }
        if let Some(finding) = rewritten(context, id, layer) {
            findings.push(finding);
        }
    }
}

/// What is copied for a write of one byte; `None` where nothing is.
fn copied_by(context: &Context<'_>, grid: &SeenGrid<'_>) -> Option<Unit> {
    let unit = grid.fact.value.unit();
    if grid.role == GridRole::ThinChunk {
        return Some(unit);
    }
    // Others keep what a child has by the sector, or allocate only.
    let image = context.stack.layer(grid.layer);
    let snapshots = image.attribute(Key::Snapshots).map(|fact| &fact.value);
    let has_more =
        matches!(snapshots, Some(Value::Count(1..))) || image.attribute(Key::Parent).is_some();
    if image.format.as_deref() != Some("qcow2") || !has_more {
        return None;
    }
    let sub = image.bytes(Key::SubclusterSize);
    sub.and_then(|sub| Unit::try_from(sub.value).ok())
        .or(Some(unit))
}

/// That btrfs writes each page to a new place.
fn rewritten(context: &Context<'_>, id: LayerId, layer: &Layer) -> Option<Finding> {
    let page = layer.grid(GridRole::DatabasePage)?;
    let below = context.stack.foundations(id);
    let mut below = below.iter().map(|below| context.stack.layer(*below));
    let btrfs = below.find(|below| {
        below.kind == LayerKind::Filesystem && below.format.as_deref() == Some("btrfs")
    })?;
    let block = btrfs.grid(GridRole::AllocationUnit)?;
    let (size, unit) = (page.value.unit(), block.value.unit());
    let title = format!(
        "{}: btrfs writes each page of {size} to a new place, unless the file is nodatacow",
        layer.name
    );
    Some(
        Finding::new(RULE.code, Severity::Note, id, title)
            .evidence(&page.source, format!("page = {size}"))
            .evidence(&block.source, format!("block of btrfs = {unit}"))
            .arithmetic(Correlation::new("page ÷ block", size.bytes(), unit).arithmetic())
            .note("whether the file has the attribute is not read: lsattr shows a C")
            .help("turn copy-on-write off for the directory before the files are made: chattr +C"),
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, LayerId, LayerKind, Value};

    fn pages(lab: &mut Lab, below: LayerId) {
        let pages = lab.upper(LayerKind::DatabasePage, "postgresql", below, 0);
        lab.grid(pages, GridRole::DatabasePage, 8192);
    }

    #[test]
    fn a_chunk_of_a_thin_pool_is_copied_whole() {
        for (chunk, line) in [
            (65_536, Some("65,536 ÷ 8,192 = 8")),
            (1 << 20, Some("1,048,576 ÷ 8,192 = 128")),
            (8192, None),
        ] {
            let mut lab = Lab::new();
            let disk = lab.disk(4096);
            let pool = lab.upper(LayerKind::Volume, "thin-pool", disk, 0);
            lab.grid(pool, GridRole::ThinChunk, chunk);
            let fs = lab.filesystem("ext4", pool, 4096);
            pages(&mut lab, fs);
            match line {
                Some(line) => drop(lab.one(&RULE, Severity::Note, line)),
                None => lab.none(&RULE),
            }
        }
    }

    #[test]
    fn a_cluster_is_copied_where_there_is_something_to_keep() {
        let image = |format: &'static str, snapshots, sub| {
            let mut lab = Lab::new();
            let disk = lab.disk(4096);
            let file = lab.upper(LayerKind::File, "", disk, 0);
            let image = lab.container(format, file, 65_536, &[0, 65_536]);
            lab.grid(image, GridRole::ContainerBlock, 65_536);
            lab.set(image, Key::Snapshots, Value::Count(snapshots));
            if sub > 0 {
                lab.bytes(image, Key::SubclusterSize, sub);
            }
            pages(&mut lab, image);
            lab
        };
        image("qcow2", 1, 0).one(&RULE, Severity::Note, "65,536 ÷ 8,192 = 8");
        image("qcow2", 1, 32_768).one(&RULE, Severity::Note, "32,768 ÷ 8,192 = 4");
        image("qcow2", 1, 2048).none(&RULE);
        image("qcow2", 0, 0).none(&RULE);
        image("vhdx", 1, 0).none(&RULE);
    }

    #[test]
    fn btrfs_writes_elsewhere() {
        for (format, found) in [("btrfs", true), ("xfs", false)] {
            let mut lab = Lab::new();
            let disk = lab.disk(4096);
            let fs = lab.filesystem(format, disk, 4096);
            pages(&mut lab, fs);
            if found {
                lab.one(&RULE, Severity::Note, "8,192 ÷ 4,096 = 2");
            } else {
                lab.none(&RULE);
            }
        }
    }
}
