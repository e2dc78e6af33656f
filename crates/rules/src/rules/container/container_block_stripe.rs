use straddle_stack::GridRole;

use crate::context::Findings;
use crate::repair::CONVERTED;
use crate::shared::guest::{disks_and_grids, fits, holder, is_on};
use crate::shared::start::say_what_is_free;
use crate::wording::Correlation;
use crate::{Context, Finding, Page, Repair, Rule, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::CONTAINER_BLOCK_STRIPE,
    name: "container-block-stripe",
    summary: "virtual disk's blocks do not fit the stripes below",
    status: Status::Stable,
    repair: Repair::None(CONVERTED),
    page: Page {
        checks: "Whether the block of a virtual disk (qcow2 cluster, VHDX block, VMDK grain) is a multiple of the stripe unit and the full stripe below, or a \
                 whole fraction of the stripe unit.",
        why: "Some blocks span two disks of the array, however well the file is aligned, if a stripe unit is not a whole number of blocks \
              and a block not a whole number of stripe units: blocks are stored one after another in the file. If a block is not a whole \
              number of full stripes, writing a whole block to RAID 5 or 6 is a read-modify-write at its ends.",
        evidence: "The block size from the container's header, the stripe from the array or from a flag, and every entry of the block table.",
        example: "Clusters of 64 KiB on a stripe unit of 96 KiB: 98,304 ÷ 65,536 = 1.5. Every third cluster lies on two disks.",
        fix: "Choose a cluster size that the stripe divides, when the disk is made or converted: `qemu-img convert -O qcow2 -o \
              cluster_size=… OLD NEW`; for a full stripe that is no power of two there is none, and a smaller cluster loses nothing.",
        fix_safety: "Convert into a new file while the guest is off. Larger clusters make the first write after a snapshot copy more.",
        references: &[
            "qemu-img(1): cluster_size",
            "Microsoft, Disk Partition Alignment Best Practices for SQL Server: stripe unit ÷ file allocation unit",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    let stripes = [GridRole::StripeUnit, GridRole::FullStripe];
    for disk in disks_and_grids(context, |grid| stripes.contains(&grid.role)) {
        let Some(block) = context.stack.layer(disk.id).grid(GridRole::ContainerBlock) else {
            continue;
        };
        let (size, unit) = (block.value.unit(), disk.grid.fact.value.unit());
        let fits = fits(size, disk.grid.role, unit);
        if fits || is_on(&disk.grid.seen) {
            continue;
        }
        let file = holder(context.stack, disk.id);
        let name = disk.grid.role.name();
        let title = format!("blocks of {size} do not fit the {name} of {unit}");
        let (a, b) = if size > unit {
            (size, unit)
        } else {
            (unit, size)
        };
        let finding = Finding::priced(RULE.code, disk.id, title, context.prices(disk.grid))
            .evidence_in(file, &block.source, format!("block = {size}"))
            .evidence(&disk.grid.fact.source, format!("{name} = {unit}"))
            .arithmetic(Correlation::new("larger ÷ smaller", a.bytes(), b).arithmetic())
            .help(
                "convert into blocks that the stripe divides: qemu-img convert -o cluster_size=…",
            );
        findings.push(say_what_is_free(finding));
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, LayerKind};

    fn qcow2(stripe: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.stated(disk, GridRole::StripeUnit, stripe);
        let file = lab.upper(LayerKind::File, "", disk, 0);
        let entries: Vec<u64> = [5_u64, 0, 3, 1, 4, 2].map(|n| n * 65_536).to_vec();
        let container = lab.container("qcow2", file, 65_536, &entries);
        lab.grid(container, GridRole::ContainerBlock, 65_536);
        lab
    }

    #[test]
    fn every_third_cluster_lies_on_two_disks() {
        let finding = qcow2(98_304).one(&RULE, Severity::Note, "98,304 ÷ 65,536 = 1.5");
        let at_64k = finding.prices.expect("priced").rows[2];
        // So does every third request of 64 KiB to the bare array, so the price of being off is nothing.
        assert_eq!(
            at_64k.straddling.numerator() * 3,
            at_64k.straddling.denominator()
        );
        assert!(at_64k.extra.is_zero());
    }

    #[test]
    fn clusters_that_divide_the_stripe_unit_are_silent() {
        qcow2(131_072).none(&RULE);
        qcow2(32_768).none(&RULE);
    }
}
