use straddle_geometry::{Bytes, Extent, Grid, Map, Unit};
use straddle_rules::codes;
use straddle_stack::{Fact, GridRole, Key, Layer, LayerId, LayerKind, Stack, Value};

use super::Partitions;
use crate::change::Change;
use crate::{Ask, How, Plan, plan};

/// A disk of 1 GiB with a table.
struct Disk {
    stack: Stack,
    base: LayerId,
    sector: u64,
}

impl Disk {
    fn new(table: &'static str, sector: u64) -> Disk {
        let mut layer = Layer::new(LayerKind::Device, "sda");
        let size = (1_u64 << 30) / sector * sector;
        layer.size = Some(Fact::assumed(Bytes::new(size), "test"));
        layer.set(Key::PartitionTable, text(table));
        let size = Value::Bytes(Bytes::new(sector));
        layer.set(Key::TableSectorSize, Fact::assumed(size, "test"));
        let mut stack = Stack::new();
        let base = stack.push(layer);
        let mut disk = Disk {
            stack,
            base,
            sector,
        };
        disk.grid(GridRole::LogicalSector, sector, 0);
        disk
    }

    fn grid(&mut self, role: GridRole, unit: u64, phase: u64) {
        let unit = Unit::new(unit).expect("not zero");
        let grid = Grid::with_phase(unit, Bytes::new(phase));
        let base = self.stack.layer_mut(self.base);
        base.add_grid(role, Fact::assumed(grid, "test"));
    }

    fn partition(&mut self, number: u64, start: u64, sectors: u64) -> LayerId {
        let mut layer = Layer::new(LayerKind::Partition, format!("sda{number}"));
        let [start_byte, len] = [start, sectors].map(|n| Bytes::new(n * self.sector));
        let extent = Extent::new(start_byte, len).expect("fits");
        layer.below = vec![self.base];
        layer.map = Map::Linear { start: start_byte };
        layer.placement = Some(Fact::assumed(extent, "test"));
        layer.size = Some(Fact::assumed(len, "test"));
        layer.set(
            Key::PartitionNumber,
            Fact::assumed(Value::Count(number), "test"),
        );
        layer.set(Key::StartSector, Fact::assumed(Value::Count(start), "test"));
        layer.set(Key::PartitionType, text("83"));
        self.stack.push(layer)
    }

    fn plan(&self) -> Plan {
        plan(&self.stack, &Ask::default())
    }
}

fn text(text: &'static str) -> Fact<Value> {
    Fact::assumed(Value::Text(text.into()), "test")
}

fn partitions(plan: &Plan) -> &Partitions {
    let step = plan.steps.first().expect("a step");
    match &step.change {
        Change::Partitions(partitions) => partitions,
        #[allow(unreachable_patterns, reason = "as long as no other change exists")]
        other => panic!("{other:?}"),
    }
}

/// Where the partitions of a plan will begin, in sectors.
fn starts(plan: &Plan) -> Vec<u64> {
    let partitions = partitions(plan);
    let sector = u64::from(partitions.sector.get());
    let entries = partitions.entries.iter();
    entries
        .map(|entry| entry.to.start().get() / sector)
        .collect()
}

#[test]
fn shifted_sectors_are_met_where_they_are() {
    // A drive with alignment_offset 3584: sector 7 begins a physical one, and so does 63.
    let mut disk = Disk::new("mbr", 512);
    disk.grid(GridRole::PhysicalSector, 4096, 3584);
    disk.grid(GridRole::StripeUnit, 65_536, 3584);
    disk.partition(1, 2048, 10_000);
    let plan = disk.plan();
    // 2,048 is 2,048 − 7 = 2,041 behind the first boundary; 16 × 128 + 7 is the next.
    assert_eq!(starts(&plan), [2055]);
    assert!(
        plan.left
            .iter()
            .all(|left| left.finding.code != codes::PARTITION_START_PHYSICAL_SECTOR),
        "{:?}",
        plan.left
    );
}

#[test]
fn widths_that_are_no_power_of_two() {
    // Sectors of the smallest start that is a multiple of the full stripe and of 1 MiB.
    for (members, expected) in [(3, 6144), (5, 10_240), (6, 6144), (7, 14_336), (11, 22_528)] {
        let mut disk = Disk::new("gpt", 512);
        disk.grid(GridRole::PhysicalSector, 4096, 0);
        disk.grid(GridRole::StripeUnit, 65_536, 0);
        disk.grid(GridRole::FullStripe, 65_536 * members, 0);
        disk.partition(1, 63, 10_000);
        assert_eq!(starts(&disk.plan()), [expected], "{members} members");
    }
}

#[test]
fn sectors_with_protection_information() {
    for (sector, unit) in [(520, 520 * 128), (528, 528 * 128)] {
        let mut disk = Disk::new("mbr", sector);
        disk.grid(GridRole::StripeUnit, unit, 0);
        disk.partition(1, 63, 10_000);
        let plan = disk.plan();
        // The smallest start that is on the stripe unit and on 1 MiB, by trying each.
        let mut by_hand = (1..).map(|n| n * unit);
        let by_hand = by_hand
            .find(|at| at.is_multiple_of(1 << 20))
            .expect("there is one");
        assert_eq!(starts(&plan), [by_hand / sector], "sectors of {sector}");
    }
}

#[test]
fn grids_without_a_boundary_in_common_are_told() {
    let mut disk = Disk::new("mbr", 512);
    disk.grid(GridRole::PhysicalSector, 4096, 0);
    disk.grid(GridRole::StripeUnit, 65_536, 512);
    disk.partition(1, 63, 10_000);
    let plan = disk.plan();
    let step = plan.steps.first().expect("a step");
    assert_eq!(step.how, How::ByHand);
    assert!(
        step.blockers[0].contains("no boundary in common"),
        "{step:?}"
    );
    assert!(plan.cured.is_empty());
}

#[test]
fn tables_that_contradict_themselves_are_left_alone() {
    let blocker = |change: &dyn Fn(&mut Disk)| {
        let mut disk = Disk::new("mbr", 512);
        disk.grid(GridRole::PhysicalSector, 4096, 0);
        disk.partition(1, 63, 10_000);
        change(&mut disk);
        let plan = disk.plan();
        let step = plan.steps.first().expect("a step");
        assert_eq!(step.how, How::ByHand);
        step.blockers.join("; ")
    };
    let overlap = blocker(&|disk| {
        disk.partition(2, 9000, 10_000);
    });
    assert!(overlap.starts_with("sda1 and sda2 overlap"), "{overlap}");
    let behind = blocker(&|disk| {
        disk.partition(2, 11_000, 1 << 22);
    });
    assert_eq!(behind, "sda2 ends behind the end of the disk");
    let outside = blocker(&|disk| {
        let extended = disk.partition(2, 20_000, 10_000);
        disk.stack
            .layer_mut(extended)
            .attributes
            .retain(|a| a.key != Key::PartitionType);
        disk.stack
            .layer_mut(extended)
            .set(Key::PartitionType, text("05"));
        let holds = Fact::assumed(Value::Flag(true), "test");
        disk.stack
            .layer_mut(extended)
            .set(Key::HoldsPartitions, holds);
        disk.partition(5, 40_000, 10_000);
    });
    assert_eq!(outside, "sda5 lies outside the extended partition");
    let other = blocker(&|disk| {
        let base = disk.stack.layer_mut(disk.base);
        base.attributes
            .retain(|attribute| attribute.key != Key::PartitionTable);
        base.set(Key::PartitionTable, text("bsd"));
    });
    assert!(other.contains("of the kind bsd"), "{other}");
}

#[test]
fn the_copy_of_a_gpt_at_the_end_is_not_written_over() {
    for (sector, behind) in [(512, 33), (4096, 5)] {
        let mut disk = Disk::new("gpt", sector);
        disk.grid(GridRole::PhysicalSector, 4096, 0);
        disk.grid(GridRole::StripeUnit, 65_536, 0);
        let last = (1 << 30) / sector - behind;
        disk.partition(1, 63, last - 63);
        let plan = disk.plan();
        let entry = &partitions(&plan).entries[0];
        assert!(entry.to.end().get() <= last * sector);
        assert!(
            last * sector - entry.to.end().get() < 4096,
            "no more is lost than must be"
        );
        assert_eq!(entry.to.start(), Bytes::mib(1));
    }
}
