use straddle_geometry::{Bytes, Grid, Unit, both_ways};
use straddle_stack::{AnomalyKind, Fact, GridRole, Key, Layer, LayerId, LayerKind, Source};

use crate::context::Findings;
use crate::repair::CONVERTED;
use crate::shared::virtual_disk::{file_name, host_grids, renamed};
use crate::wording::division;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::VHD_SIZE,
    name: "vhd-size",
    summary: "size of a VHD is not a whole number of MiB, or disagrees with its footer",
    status: Status::Stable,
    repair: Repair::None(CONVERTED),
    page: Page {
        checks: "The numbers in the footer of a VHD. Fixed: whether the disk is a whole number of MiB, whether the footer ends the file inside \
                 a sector of the storage below, and whether the disk that it records is there. All kinds: whether size and geometry agree \
                 where a reader goes by the geometry, and whether the footer is the old one of 511 bytes.",
        why: "Azure accepts only fixed VHDs of a whole number of MiB and refuses others after the upload. `qemu-img` rounds the size up to \
              a whole geometry of cylinders, heads and sectors unless told not to, and such a size is rarely a whole number of MiB. If \
              size and geometry differ, QEMU shows the geometry of disks made by Virtual PC and by itself, Hyper-V shows the size: what \
              lies between, such as the backup of a GPT, exists for one and not for the other. The footer adds 512 bytes to the file, so \
              on disks with 4,096-byte logical sectors its last sector is partly filled: a copy to a raw disk with such sectors, or a \
              writer with direct I/O, must pad it. What the guest stored lies before it and does not move.",
        evidence: "The footer's fields for size (0x30) and geometry (0x38), its creator (0x1c), and the length of the file.",
        example: "`qemu-img create -f vpc -o subformat=fixed x.vhd 3M`: 91 × 4 × 17 sectors of 512 bytes = 3,168,256 = 3 × 1,048,576 + 22,528. \
                  With `force_size=on` the disk has 3,145,728 bytes and the file 3,145,728 + 512 = 768 × 4,096 + 512.",
        fix: "Make the disk a whole number of MiB, larger and never smaller, and write it with `force_size=on`: `qemu-img convert -f vpc -O \
              raw OLD.vhd NEW.raw` (without -f, qemu-img takes a fixed VHD for a raw disk, footer and all), `qemu-img resize -f raw NEW.raw \
              SIZE`, `qemu-img convert -f raw -O vpc -o subformat=fixed,force_size=on NEW.raw NEW.vhd`. On Windows `Resize-VHD -Path X.vhd \
              -SizeBytes SIZE`. An old footer of 511 bytes is replaced by any conversion that is told the format.",
        fix_safety: "Work on a copy. After growing, the backup GPT is no longer at the end: `sgdisk -e DISK` in the guest or on the raw image moves it. \
                     Never cut a disk down to the MiB below: its last sectors hold that backup, and perhaps a filesystem's end.",
        references: &[
            "Microsoft, Virtual Hard Disk Image Format Specification 1.0 (2006): Hard Disk Footer Format, CHS calculation",
            "https://learn.microsoft.com/en-us/azure/virtual-machines/windows/prepare-for-upload-vhd-image: fixed size, whole number of MB",
            "https://learn.microsoft.com/en-us/azure/virtual-machines/linux/create-upload-generic: qemu-img, force_size",
            "QEMU block/vpc.c: vpc_open, the table of creators that go by geometry",
        ],
    },
    check,
};

const MIB: u64 = 1 << 20;
/// 65,535 cylinders, 16 heads, 255 sectors: the geometry of every disk that is larger, which all readers know.
const LARGEST_GEOMETRY: u64 = 65_535 * 16 * 255 * 512;

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::Container) {
        if layer.format.as_deref() != Some("vhd") {
            continue;
        }
        let file = file_name(context.stack, id);
        let fixed = layer.text(Key::Subformat) == Some("fixed");
        if fixed && let Some(finding) = cut_short(id, layer, file) {
            // What the sizes are is not known then.
            findings.push(finding);
            continue;
        }
        let old = is_old(context, layer);
        if fixed {
            findings.extend(whole_mib(id, layer, file));
            findings.extend(end_of_file(context, id, layer, file));
        }
        findings.extend(geometry(id, layer, file));
        if let Some((footer, length)) = old {
            findings.push(old_footer(id, layer, file, &footer, length));
        }
    }
}

/// A disk that Azure refuses.
fn whole_mib(id: LayerId, layer: &Layer, file: &str) -> Option<Finding> {
    let size = layer.size.as_ref()?;
    let mib = Unit::new(MIB)?;
    if size.value.is_multiple_of(mib) {
        return None;
    }
    let wanted = size.value.get().div_ceil(MIB);
    let title = format!(
        "{file}: virtual size {} B is not a whole number of MiB",
        size.value.grouped()
    );
    let mut finding = Finding::new(RULE.code, Severity::Warning, id, title)
        .evidence_in(
            layer.below.first().copied(),
            &size.source,
            format!("current size = {}", both_ways(size.value)),
        )
        .arithmetic(division(size.value, Grid::new(mib)));
    if let Some(geometry) = layer.bytes(Key::GeometrySize)
        && geometry.value == size.value
    {
        finding = finding
            .evidence_in(layer.below.first().copied(), &geometry.source, "cylinders, heads, sectors")
            .arithmetic(product(&geometry.source, geometry.value))
            .note("the size is exactly that of the geometry: qemu-img rounds up to it without force_size=on");
    }
    let raw = renamed(file, ".raw");
    let new = renamed(file, &format!("-{wanted}M.vhd"));
    Some(
        finding
            .note("Azure refuses the disk; other readers do not mind")
            .help(format!(
                "qemu-img convert -f vpc -O raw {file} {raw} && qemu-img resize -f raw {raw} {wanted}M"
            ))
            .help(format!(
                "qemu-img convert -f raw -O vpc -o subformat=fixed,force_size=on {raw} {new}"
            )),
    )
}

/// A file that ends inside a logical sector of what it lies on.
fn end_of_file(context: &Context<'_>, id: LayerId, layer: &Layer, file: &str) -> Option<Finding> {
    let footer = layer.bytes(Key::FooterOffset)?;
    let length = file_size(context, layer)?;
    let host = host_grids(context, id, GridRole::LogicalSector)
        .find(|grid| grid.fact.value.unit().get() > 512)?;
    let sector = host.fact.value.unit();
    if length.is_multiple_of(sector) {
        return None;
    }
    let own = length.checked_sub(footer.value)?;
    let title = format!("{file}: the footer ends inside a logical sector of {sector}");
    let finding = Finding::new(RULE.code, Severity::Note, id, title)
        .evidence_in(layer.below.first().copied(), &footer.source, format!("footer at byte {}", footer.value.grouped()))
        .evidence(&host.fact.source, format!("logical sector = {sector}"))
        .arithmetic(format!("{} + {} = {}", footer.value.grouped(), own.grouped(), length.grouped()))
        .arithmetic(division(length, Grid::new(sector)))
        .note("the guest's data lies before the footer and is not affected; on a filesystem the rest of the sector is filled")
        .help("copied to a raw disk: fill the last sector up (dd conv=sync), or convert to VHDX, which has no footer");
    Some(finding)
}

/// A disk whose recorded size is not what lies before the footer.
fn cut_short(id: LayerId, layer: &Layer, file: &str) -> Option<Finding> {
    let anomaly = layer
        .anomalies
        .iter()
        .find(|anomaly| anomaly.kind == AnomalyKind::SizeDiffers)?;
    let title = format!("{file}: {}", anomaly.detail);
    let mut finding = Finding::new(RULE.code, Severity::Warning, id, title);
    if let Some(source) = &anomaly.source {
        finding = finding.evidence_in(layer.below.first().copied(), source, "current size");
    }
    Some(
        finding
            .note("a guest is shown the one or the other, whichever its hypervisor reads")
            .help("compare with the backup of the disk before anything writes to it; qemu-img convert writes a footer that agrees"),
    )
}

/// A disk of which QEMU shows its geometry and Hyper-V its size.
fn geometry(id: LayerId, layer: &Layer, file: &str) -> Option<Finding> {
    let by_geometry = layer.text(Key::CreatedBy).map(str::trim_end);
    let creator = by_geometry.filter(|name| matches!(*name, "vpc" | "qemu"))?;
    let size = layer.size.as_ref()?;
    let geometry = layer.bytes(Key::GeometrySize)?;
    if geometry.value == size.value || geometry.value.get() >= LARGEST_GEOMETRY {
        return None;
    }
    let (more, less) = (
        geometry.value.max(size.value),
        geometry.value.min(size.value),
    );
    let title = format!(
        "{file}: size and geometry differ by {} B",
        more.checked_sub(less)?.grouped()
    );
    let finding = Finding::new(RULE.code, Severity::Warning, id, title)
        .evidence_in(layer.below.first().copied(), &size.source,
            format!("current size = {}", both_ways(size.value)),
        )
        .evidence_in(layer.below.first().copied(), &geometry.source, "cylinders, heads, sectors")
        .arithmetic(product(&geometry.source, geometry.value))
        .arithmetic(format!(
            "{} − {} = {}",
            more.grouped(),
            less.grouped(),
            more.checked_sub(less)?.grouped()
        ))
        .note(format!(
            "the creator is `{creator}`, so QEMU shows the guest {} B and Hyper-V {} B: the end of the disk moves",
            geometry.value.grouped(),
            size.value.grouped()
        ))
        .help(format!(
            "read it by its size: qemu-img convert --image-opts driver=vpc,force_size_calc=current_size,file.filename={file} -O vhdx {}",
            renamed(file, ".vhdx")
        ));
    Some(finding)
}

/// The footer of versions before Virtual PC 2004, where it starts, and the length of the file.
fn is_old(context: &Context<'_>, layer: &Layer) -> Option<(Fact<Bytes>, Bytes)> {
    let footer = layer.bytes(Key::FooterOffset)?;
    let length = file_size(context, layer)?;
    let own = length.checked_sub(footer.value)?;
    (own == Bytes::new(511)).then_some((footer, length))
}

fn old_footer(
    id: LayerId,
    layer: &Layer,
    file: &str,
    footer: &Fact<Bytes>,
    length: Bytes,
) -> Finding {
    let title = format!("{file}: the footer is the old one of 511 bytes");
    Finding::new(RULE.code, Severity::Note, id, title)
        .evidence_in(
            layer.below.first().copied(),
            &footer.source,
            format!("footer at byte {}", footer.value.grouped()),
        )
        .arithmetic(format!(
            "{} − {} = 511",
            length.grouped(),
            footer.value.grouped()
        ))
        .note("the file is not a whole number of sectors; a reader that looks exactly 512 bytes before its end takes it for a raw disk")
        .help(format!(
            "qemu-img finds it when told the format: qemu-img convert -f vpc -O vhdx {file} {}",
            renamed(file, ".vhdx")
        ))
}

fn file_size(context: &Context<'_>, layer: &Layer) -> Option<Bytes> {
    let file = context.stack.layer(*layer.below.first()?);
    Some(file.size.as_ref()?.value)
}

/// `91 cylinders × 4 heads × 17 sectors × 512 = 3,168,256`.
fn product(source: &Source, size: Bytes) -> String {
    let field: &[u8] = match source {
        Source::Image(bytes) => bytes.field(),
        _ => &[],
    };
    let &[high, low, heads, sectors] = field else {
        return format!("cylinders × heads × sectors × 512 = {}", size.grouped());
    };
    let cylinders = Bytes::new(u64::from(u16::from_be_bytes([high, low])));
    format!(
        "{} cylinders × {heads} heads × {sectors} sectors × 512 = {}",
        cylinders.grouped(),
        size.grouped()
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{AnomalyKind, GridRole, Key, LayerId, LayerKind};

    fn vhd(subformat: &'static str, size: u64, footer: u64) -> (Lab, LayerId) {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        let file = lab.file(disk, &[(0, size + footer, 1 << 20)]);
        lab.size(file, size + footer);
        let id = lab.upper(LayerKind::Container, "vhd", file, 0);
        lab.size(id, size);
        lab.text(id, Key::Subformat, subformat);
        lab.text(id, Key::CreatedBy, "qemu");
        lab.bytes(id, Key::FooterOffset, size);
        (lab, id)
    }

    #[test]
    fn a_size_that_was_rounded_to_a_geometry_is_found() {
        let (mut lab, id) = vhd("fixed", 3_168_256, 512);
        lab.bytes(id, Key::GeometrySize, 3_168_256);
        let found = lab.one(
            &RULE,
            Severity::Warning,
            "3,168,256 = 3 × 1,048,576 + 22,528",
        );
        assert!(found.help[0].ends_with(" 4M"), "{:?}", found.help);
    }

    #[test]
    fn readers_that_disagree_are_named() {
        let (mut lab, id) = vhd("dynamic", 3 << 20, 512);
        lab.bytes(id, Key::GeometrySize, 3_133_440);
        let found = lab.one(&RULE, Severity::Warning, "3,145,728 − 3,133,440 = 12,288");
        assert!(found.notes[0].contains("QEMU shows the guest 3,133,440 B"));
        // Both readers go by the size.
        let (mut lab, id) = vhd("dynamic", 3 << 20, 512);
        lab.stack.layer_mut(id).attributes.clear();
        lab.text(id, Key::CreatedBy, "win");
        lab.bytes(id, Key::GeometrySize, 3_133_440);
        lab.none(&RULE);
    }

    #[test]
    fn the_footer_ends_inside_a_large_sector() {
        let (mut lab, _) = vhd("fixed", 3 << 20, 512);
        let disk = lab.stack.roots().next().expect("a disk");
        lab.stack.layer_mut(disk).grids.clear();
        lab.grid(disk, GridRole::LogicalSector, 4096);
        lab.one(&RULE, Severity::Note, "3,146,240 = 768 × 4,096 + 512");
    }

    #[test]
    fn old_footers_and_missing_ends_are_found() {
        let (lab, _) = vhd("fixed", 3 << 20, 511);
        lab.one(&RULE, Severity::Note, "3,146,239 − 3,145,728 = 511");
        let (mut lab, id) = vhd("fixed", 3 << 20, 512);
        lab.odd(id, AnomalyKind::SizeDiffers, "the footer records more");
        lab.bytes(id, Key::GeometrySize, 5 << 20);
        let found = lab.findings(&RULE);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0].severity, Severity::Warning);
    }

    #[test]
    fn whole_mebibytes_are_silent() {
        let (mut lab, id) = vhd("fixed", 3 << 20, 512);
        lab.bytes(id, Key::GeometrySize, 3 << 20);
        lab.none(&RULE);
    }
}
