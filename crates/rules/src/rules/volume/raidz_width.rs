use straddle_geometry::{Bytes, Ratio};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerKind, Value};

use crate::context::Findings;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::RAIDZ_WIDTH,
    name: "raidz-width",
    summary: "block size of a ZFS volume or dataset wastes space on a RAID-Z of this width",
    status: Status::Stable,
    repair: Repair::None(
        "volblocksize and recordsize are chosen for what is created next (16k to 64k), the width when a RAID-Z is made",
    ),
    page: Page {
        checks: "How much of a RAID-Z each block of a volume (`volblocksize`) or dataset (`recordsize`) takes, with parity and padding, beside what the \
                 width promises: data disks of all disks.",
        why: "A block of few sectors pays almost as much for parity as for data; volumes of 8 KiB blocks on 4 KiB sectors take what a \
              mirror would. RAID-Z has no fixed stripe: each block gets its own parity, one sector for each row of data sectors and each \
              parity, and what it takes is rounded up to a multiple of parity + 1 sectors.",
        evidence: "`zfs get volblocksize,recordsize`, number of disks, parity and ashift of the vdev (`zdb -C`, labels).",
        example: "RAID-Z2 of 6 disks, ashift 12, volblocksize 8 KiB: 8,192 ÷ 4,096 = 2 data sectors in 1 row, 2 parity sectors, 4 in all, rounded up to \
                  a multiple of 3: 6. 6 × 4,096 = 24,576 B for 8,192: 33% of the space holds data, where 4 of 6 disks promise 67%.",
        fix: "Larger blocks: volblocksize 16 to 64 KiB for volumes (16 KiB is the default since OpenZFS 2.2), recordsize 128 KiB or more for files; or mirrors \
              for volumes with small random writes.",
        fix_safety: "volblocksize is set when a volume is made: make a new one and copy. recordsize holds for files written from then on. Larger blocks make \
                     random writes of less than a block read-modify-write.",
        references: &[
            "https://github.com/openzfs/zfs/issues/3255",
            "https://github.com/LINBIT/linstor-server/issues/128",
            "OpenZFS module/zfs/vdev_raidz.c, vdev_raidz_asize",
        ],
    },
    check,
};

/// What a block takes of a RAID-Z.
#[derive(Debug, PartialEq, Eq)]
struct Taken {
    data: u64,
    rows: u64,
    parity: u64,
    all: u64,
}

/// Sectors for a block of `block` bytes; `None` where the figures make no RAID-Z.
fn taken(block: u64, sector: u64, members: u64, parity: u64) -> Option<Taken> {
    let columns = members.checked_sub(parity).filter(|columns| *columns > 0)?;
    if !(1..=3).contains(&parity) || sector == 0 || block == 0 {
        return None;
    }
    let data = block.div_ceil(sector);
    let rows = data.div_ceil(columns);
    let parities = rows.checked_mul(parity)?;
    let all = data
        .checked_add(parities)?
        .checked_next_multiple_of(parity + 1)?;
    Some(Taken {
        data,
        rows,
        parity: parities,
        all,
    })
}

fn count(layer: &Layer, key: Key) -> Option<u64> {
    match layer.attribute(key)?.value {
        Value::Count(n) => Some(n),
        _ => None,
    }
}

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.stack.iter() {
        let Some(pool) = layer.text(Key::Pool) else {
            continue;
        };
        for (key, what) in [
            (Key::VolumeBlockSize, "volblocksize"),
            (Key::RecordSize, "recordsize"),
        ] {
            let Some(block) = layer.bytes(key) else {
                continue;
            };
            // Vdevs of one shape say the same.
            let mut shapes = Vec::new();
            for (_, array) in context.of_kind(LayerKind::Array) {
                let is_of_pool = array
                    .name
                    .strip_prefix(pool)
                    .is_some_and(|rest| rest.starts_with("/raidz"));
                let shape = is_of_pool.then(|| shape(array)).flatten();
                if let Some((members, parity, sector)) = shape
                    && !shapes.contains(&(members, parity, sector))
                {
                    shapes.push((members, parity, sector));
                    let finding =
                        finding(id, layer, array, (what, &block), (members, parity, sector));
                    findings.extend(finding);
                }
            }
        }
    }
}

/// Disks, parity disks, and the sector of a RAID-Z.
fn shape(array: &Layer) -> Option<(u64, u64, u64)> {
    let members = count(array, Key::Members)?;
    let parity = members.checked_sub(count(array, Key::DataMembers)?)?;
    let sector = array.grid(GridRole::StripeUnit)?.value.unit().get();
    Some((members, parity, sector))
}

fn finding(
    id: straddle_stack::LayerId,
    layer: &Layer,
    array: &Layer,
    (what, block): (&str, &Fact<Bytes>),
    (members, parity, sector): (u64, u64, u64),
) -> Option<Finding> {
    let size = block.value.get();
    let taken = taken(size, sector, members, parity)?;
    let space = taken.all.checked_mul(sector)?;
    // What the width promises: a block would take size × members ÷ data members.
    let promised = Ratio::reduced(
        u128::from(size) * u128::from(members),
        u128::from(members - parity),
    )?;
    let extra = Ratio::new(space, 1)?
        .saturating_sub(promised)?
        .checked_div(promised)?;
    let severity = Severity::of_price(extra);
    if severity == Severity::Note {
        return None;
    }
    let title = format!(
        "{}: each block of {} ({what}) takes {} of {}",
        layer.name,
        block.value,
        Bytes::new(space),
        array.name
    );
    let unit = Bytes::new(sector).grouped();
    let sum = taken.data + taken.parity;
    let mut finding = Finding::new(RULE.code, severity, id, title)
        .evidence(&block.source, format!("{what} = {}", block.value));
    if let Some(members_fact) = array.attribute(Key::Members) {
        finding = finding.evidence(
            &members_fact.source,
            format!("{members} disks, {parity} of them parity"),
        );
    }
    if let Some(grid) = array.grid(GridRole::StripeUnit) {
        let label = format!("sector = {}", grid.value.unit());
        finding = finding.evidence(&grid.source, label);
    }
    let share = |part: u64, whole: u64| {
        Ratio::new(part, whole).map_or_else(String::new, |ratio| ratio.to_string())
    };
    Some(
        finding
            .arithmetic(format!(
                "{} ÷ {unit} = {} data sectors; rows of {}: {}",
                block.value.grouped(),
                taken.data,
                members - parity,
                taken.rows
            ))
            .arithmetic(format!(
                "{} × {parity} = {} parity sectors; {sum} in all, rounded up to a multiple of {} = {}",
                taken.rows,
                taken.parity,
                parity + 1,
                taken.all
            ))
            .arithmetic(format!(
                "{} × {unit} = {} B: {} of it are data, where {} of {members} disks promise {}",
                taken.all,
                Bytes::new(space).grouped(),
                share(size, space),
                members - parity,
                share(members - parity, members)
            ))
            .note("blocks that compress to fewer sectors pay as much as blocks of that size")
            .help("make volumes with larger blocks (volblocksize=16k to 64k), or use mirrors for them"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    fn lab(block: u64, members: usize, parity: u64, sector: u64) -> Lab {
        let mut lab = Lab::new();
        let disks: Vec<_> = (0..members).map(|_| lab.disk(4096)).collect();
        let array = lab.array(&disks, sector, &vec![4 << 20; members]);
        let all = u64::try_from(members).expect("few");
        lab.stack.layer_mut(array).name = format!("tank/raidz{parity}-0");
        lab.set(array, Key::Members, Value::Count(all));
        lab.set(array, Key::DataMembers, Value::Count(all - parity));
        let volume = lab.upper(LayerKind::Volume, "zvol", array, 0);
        lab.text(volume, Key::Pool, "tank");
        lab.bytes(volume, Key::VolumeBlockSize, block);
        lab
    }

    #[test]
    fn the_published_examples() {
        // The table that goes with the issue on the arithmetic: sectors taken, padding included.
        for (block, sector, members, parity, all) in [
            (8192, 4096, 6, 2, 6),
            (8192, 4096, 5, 1, 4),
            (16_384, 4096, 6, 2, 6),
            (4096, 4096, 6, 2, 3),
            (131_072, 4096, 6, 2, 48),
            (131_072, 4096, 8, 2, 45),
            (8192, 512, 3, 1, 24),
        ] {
            let taken = taken(block, sector, members, parity).expect("a RAID-Z");
            assert_eq!(taken.all, all, "{block} {sector} {members} {parity}");
        }
        assert_eq!(taken(8192, 4096, 2, 2), None);
    }

    #[test]
    fn eight_kib_on_six_disks() {
        let finding = lab(8192, 6, 2, 4096).one(
            &RULE,
            Severity::Error,
            "8,192 ÷ 4,096 = 2 data sectors; rows of 4: 1",
        );
        assert!(finding.arithmetic[1].ends_with("4 in all, rounded up to a multiple of 3 = 6"));
        assert!(finding.arithmetic[2].contains("6 × 4,096 = 24,576 B: ≈33.33% of it are data"));
    }

    #[test]
    fn whole_rows_are_silent() {
        lab(131_072, 6, 2, 4096).none(&RULE);
        lab(8192, 3, 1, 512).none(&RULE);
    }
}
