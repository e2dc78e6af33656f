use straddle_geometry::{Bytes, Unit, both_ways};
use straddle_stack::{GridRole, Key, Layer, LayerId, LayerKind, Value};

use crate::context::Findings;
use crate::shared::pieces::{HARD, off};
use crate::shared::start::say_what_is_free;
use crate::wording::Correlation;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::LOOP_DEVICE,
    name: "loop-device",
    summary: "loop device is misaligned on its backing file or disk",
    status: Status::Stable,
    repair: Repair::None("a loop device begins where losetup --offset says: set it up again"),
    page: Page {
        checks: "Whether the offset of a loop device, and the extents of the file behind it, lie on the physical sectors and stripe units \
                 below; and whether its logical sector is at least what direct I/O to that file needs.",
        why: "A loop device adds its own offset, then the file's place. With an offset of 63 sectors every 4 KiB request covers two pages \
              of the host's cache, or two sectors of its disk. With a logical sector below the file's direct-I/O alignment, small requests \
              cannot use direct I/O and pass through the page cache instead.",
        evidence: "sysfs `loop/offset`, `loop/backing_file`, `loop/dio`, `queue/logical_block_size`; the file's extents where they could be \
                   asked for.",
        example: "`losetup --offset 32256`: 32,256 ÷ 4,096 = 7.875. Partitions inside that device which start at 1 MiB are off by 3,584 bytes.",
        fix: "Attach the whole file and let the kernel find the partitions (`losetup --partscan --find --show FILE`), or copy the part into \
              a file of its own. `losetup --sector-size 4096 --direct-io=on --find --show FILE` matches a 4K file, if what is inside was \
              made for 4K sectors.",
        fix_safety: "Detach before changing anything. A table inside, written for 512-byte sectors, is not readable with --sector-size 4096 \
                     (STR105).",
        references: &["losetup(8)", "Linux drivers/block/loop.c: loop_update_dio"],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Device) {
        // Only a device that rests on a file is one.
        let Some(file) = context.stack.only_below(id) else {
            continue;
        };
        let mut known = false;
        for grid in HARD.into_iter().flat_map(|role| context.below(id, role)) {
            known = true;
            let Some(line) = off(&grid.seen) else {
                continue;
            };
            let unit = grid.fact.value.unit();
            let title = format!(
                "{} lies off the {} of {unit} behind it",
                layer.name,
                grid.role.name()
            );
            let mut finding = Finding::priced(RULE.code, id, title, context.prices(grid));
            if let Some(offset) = layer.bytes(Key::DataOffset) {
                let label = format!("offset = {}", both_ways(offset.value));
                finding = finding.evidence(&offset.source, label);
            }
            finding = finding
                .evidence(&grid.fact.source, format!("{} = {unit}", grid.role.name()))
                .arithmetic(line)
                .help("attach the whole file with --partscan, or copy the part into a file of its own");
            findings.push(say_what_is_free(finding));
        }
        if !known {
            findings.extend(offset_in_pages(id, layer));
        }
        findings.extend(direct_io(context, id, layer, file));
    }
}

/// Where nothing is known below the file, the host's cache pages still are.
fn offset_in_pages(id: LayerId, layer: &Layer) -> Option<Finding> {
    let offset = layer.bytes(Key::DataOffset)?;
    if offset.value.is_multiple_of(Unit::B4096) {
        return None;
    }
    let title = format!(
        "{} begins inside a 4,096-byte page of the file behind it",
        layer.name
    );
    let finding = Finding::new(RULE.code, Severity::Note, id, title)
        .evidence(
            &offset.source,
            format!("offset = {}", both_ways(offset.value)),
        )
        .arithmetic(Correlation::new("offset ÷ page", offset.value, Unit::B4096).arithmetic())
        .note("where the file lies on its disk is not known, so there is no price");
    Some(finding)
}

/// Direct I/O that falls back to the page cache.
fn direct_io(context: &Context<'_>, id: LayerId, layer: &Layer, file: LayerId) -> Option<Finding> {
    let wants = layer.attribute(Key::DirectIo)?.value == Value::Flag(true);
    let need = context.stack.layer(file).bytes(Key::DioOffsetAlignment)?;
    let sector = layer.grid(GridRole::LogicalSector)?;
    let small = sector.value.unit().bytes() < need.value && need.value > Bytes::ZERO;
    if !(wants && small) {
        return None;
    }
    let title = format!(
        "{}: sectors of {} are too small for direct I/O to the file",
        layer.name,
        sector.value.unit()
    );
    let finding = Finding::new(RULE.code, Severity::Note, id, title)
        .evidence(
            &sector.source,
            format!("logical sector = {}", sector.value.unit()),
        )
        .evidence(
            &need.source,
            format!("direct I/O alignment = {}", need.value),
        )
        .arithmetic(format!(
            "{} < {}",
            sector.value.unit().bytes().grouped(),
            need.value.grouped()
        ))
        .help("losetup --sector-size 4096, when what is inside was made for it");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, LayerId, LayerKind, Value};

    fn loop_over_file(offset: u64, on_disk: bool) -> (Lab, LayerId) {
        let mut lab = Lab::new();
        let disk = lab.disk(if on_disk { 4096 } else { 512 });
        let file = if on_disk {
            lab.file(disk, &[(0, 1 << 30, 1 << 20)])
        } else {
            lab.over(LayerKind::File, &[], straddle_geometry::Map::IDENTITY)
        };
        let device = lab.upper(LayerKind::Device, "loop", file, offset);
        lab.bytes(device, Key::DataOffset, offset);
        lab.bytes(file, Key::DioOffsetAlignment, 4096);
        (lab, device)
    }

    #[test]
    fn the_offset_counts_down_to_the_disk() {
        let (lab, _) = loop_over_file(32_256, true);
        lab.one(
            &RULE,
            Severity::Error,
            "every piece begins 3,584 B behind a boundary (unit 4,096)",
        );
        let (lab, _) = loop_over_file(32_256, false);
        lab.one(&RULE, Severity::Note, "32,256 ÷ 4,096 = 7.875");
    }

    #[test]
    fn direct_io_needs_whole_sectors() {
        let (mut lab, device) = loop_over_file(0, true);
        lab.grid(device, GridRole::LogicalSector, 512);
        lab.set(device, Key::DirectIo, Value::Flag(true));
        lab.one(&RULE, Severity::Note, "512 < 4,096");
    }

    #[test]
    fn whole_files_on_boundaries_are_silent() {
        let (lab, _) = loop_over_file(0, true);
        lab.none(&RULE);
    }
}
