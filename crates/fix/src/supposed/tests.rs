//! Verdicts that rest on what nobody said: what decides, what does not, and what one more fact decides.

use straddle_geometry::{Bytes, Extent, Grid, Map, SectorSize, Unit};
use straddle_stack::{Fact, GridRole, Key, Layer, LayerKind, Stack, Value};

use super::Unknown;
use crate::{Ask, Plan, Recommendation, plan};

/// A disk with one partition, as one machine's captures tell of it.
#[derive(Clone, Copy, Debug)]
struct Disk {
    platform: Option<&'static str>,
    transport: &'static str,
    model: &'static str,
    /// What is known of its physical sector.
    physical: Option<u64>,
    stripe: Option<u64>,
    /// First sector and length of its partition.
    start: u64,
    gib: u64,
    old: bool,
}

const SATA: Disk = Disk {
    platform: Some("linux"),
    transport: "sata",
    model: "",
    physical: None,
    stripe: None,
    start: 63,
    gib: 400,
    old: false,
};
const WINDOWS: Disk = Disk {
    platform: Some("windows"),
    ..SATA
};
const RAID: Disk = Disk {
    transport: "scsi",
    model: "DELL PERC H710 SCSI Disk Device",
    ..WINDOWS
};
const LUN: Disk = Disk {
    transport: "fc",
    ..SATA
};
const IMAGE: Disk = Disk {
    platform: None,
    transport: "",
    ..SATA
};

fn stack(disk: Disk) -> Stack {
    let mut stack = Stack::new();
    let fact = |value| Fact::derived(value, "captured");
    let text = |text: &'static str| Fact::derived(Value::Text(text.into()), "captured");
    let mut base = Layer::new(LayerKind::Device, "disk 1");
    base.size = Some(fact(Bytes::new((disk.gib + 1) << 30)));
    base.add_grid(
        GridRole::LogicalSector,
        Fact::derived(Grid::new(SectorSize::B512.unit()), "captured"),
    );
    let unit = |bytes| Grid::new(Unit::new(bytes).expect("not zero"));
    base.add_grid(
        GridRole::PhysicalSector,
        match disk.physical {
            Some(bytes) => Fact::derived(unit(bytes), "captured"),
            None => Fact::assumed(unit(4096), "nobody says"),
        },
    );
    if let Some(bytes) = disk.stripe {
        base.add_grid(GridRole::StripeUnit, Fact::derived(unit(bytes), "captured"));
    }
    base.set(Key::PartitionTable, text("mbr"));
    if let Some(platform) = disk.platform {
        base.set(Key::Platform, text(platform));
    }
    for (key, value) in [(Key::Transport, disk.transport), (Key::Model, disk.model)] {
        if !value.is_empty() {
            base.set(key, text(value));
        }
    }
    if disk.old {
        base.set(Key::SystemGeneration, text("Windows before Vista"));
    }
    let base = stack.push(base);
    let start = Bytes::new(disk.start * 512);
    let len = Bytes::new(disk.gib << 30);
    let mut partition = Layer::new(LayerKind::Partition, "disk 1 partition 1");
    partition.below = vec![base];
    partition.map = Map::Linear { start };
    partition.size = Some(Fact::derived(len, "captured"));
    let place = Extent::new(start, len).expect("fits");
    partition.placement = Some(Fact::derived(place, "captured"));
    partition.set(
        Key::PartitionNumber,
        Fact::derived(Value::Count(1), "captured"),
    );
    partition.set(Key::PartitionType, text("07"));
    partition.set(
        Key::StartSector,
        Fact::derived(Value::Count(disk.start), "captured"),
    );
    stack.push(partition);
    stack
}

fn planned(disk: Disk) -> Plan {
    plan(&stack(disk), &Ask::default())
}

fn asked(plan: &Plan) -> Vec<Unknown> {
    plan.worth.questions.iter().map(|q| q.unknown).collect()
}

const SECTOR: &[Unknown] = &[Unknown::PhysicalSector];
const STRIPE: &[Unknown] = &[Unknown::StripeUnit];
const BOTH: &[Unknown] = &[Unknown::PhysicalSector, Unknown::StripeUnit];

/// What is not decided, what decides, and then: one more fact for each case, and the verdict that it leads to.
fn undecided() -> Vec<(Disk, &'static [Unknown], Disk, Recommendation)> {
    let with = |disk: Disk, physical, stripe| Disk {
        physical,
        stripe,
        ..disk
    };
    let small = |disk: Disk| Disk { gib: 20, ..disk };
    let idle = Recommendation::Nothing;
    let later = Recommendation::NextRebuild;
    let now = Recommendation::Now;
    let mut out = Vec::new();
    // A single drive, on each platform, at odd starts: only its sector decides.
    for disk in [SATA, WINDOWS] {
        for start in [63, 65, 2047, 16_065] {
            let disk = Disk { start, ..disk };
            out.push((disk, SECTOR, with(disk, Some(512), None), idle));
            out.push((disk, SECTOR, with(disk, Some(4096), None), now));
        }
    }
    // A volume of a controller or of a SAN: sector and stripe unit.
    for disk in [RAID, LUN, IMAGE] {
        out.push((disk, BOTH, with(disk, Some(4096), None), now));
        let known = with(disk, Some(512), None);
        out.push((known, STRIPE, with(disk, Some(512), Some(65_536)), now));
        out.push((known, STRIPE, with(disk, Some(512), Some(262_144)), later));
        let known = with(disk, None, Some(1 << 20));
        out.push((known, SECTOR, with(disk, Some(4096), Some(1 << 20)), now));
        out.push((known, SECTOR, with(disk, Some(512), Some(1 << 20)), later));
    }
    // An old system, and one of a model that says nothing.
    let old = Disk {
        old: true,
        ..WINDOWS
    };
    out.push((old, SECTOR, with(old, Some(512), None), idle));
    let unknown = Disk {
        model: "ST600MM0006",
        ..WINDOWS
    };
    out.push((unknown, SECTOR, with(unknown, Some(4096), None), now));
    out.push((
        small(SATA),
        SECTOR,
        with(small(SATA), Some(512), None),
        idle,
    ));
    out
}

#[test]
fn what_is_not_known_and_decides_is_asked_for_and_one_more_fact_decides() {
    let cases = undecided();
    assert!(cases.len() >= 20, "{}", cases.len());
    for (disk, unknown, then, call) in cases {
        let plan = planned(disk);
        assert_eq!(plan.worth.call, Recommendation::FindOut, "{disk:?}");
        assert_eq!(asked(&plan), unknown, "{disk:?}");
        let alternatives = &plan.worth.alternatives;
        assert!(alternatives.len() > 1, "{disk:?}");
        assert!(
            plan.worth
                .questions
                .iter()
                .all(|question| !question.commands.is_empty())
        );
        let decided = planned(then);
        assert_eq!(
            decided.worth.call, call,
            "{then:?}: {:?}",
            decided.worth.because
        );
        assert!(decided.worth.questions.is_empty(), "{then:?}");
        // The verdict was among those that were told.
        let told = |one: &crate::Alternative| super::judge::same(one.call, call);
        assert!(alternatives.iter().any(told), "{disk:?}");
    }
}

#[test]
fn what_is_not_known_and_does_not_decide_is_not_asked_for() {
    let with = |disk: Disk, physical, stripe| Disk {
        physical,
        stripe,
        ..disk
    };
    let at = |disk: Disk, start| Disk { start, ..disk };
    let of = |disk: Disk, model| Disk { model, ..disk };
    let mut cases = Vec::new();
    // On every plausible boundary.
    for disk in [SATA, WINDOWS, RAID, LUN, IMAGE] {
        cases.push((at(disk, 2048), Recommendation::Nothing));
        cases.push((at(disk, 4096), Recommendation::Nothing));
    }
    // A stripe unit of 64 KiB costs as much whatever the sector is.
    for disk in [SATA, WINDOWS, RAID, LUN, IMAGE] {
        cases.push((with(disk, None, Some(65_536)), Recommendation::Now));
    }
    // What was captured: a sector of 4,096 bytes is dear whatever the stripe unit is.
    for disk in [SATA, WINDOWS, RAID, LUN, IMAGE] {
        cases.push((with(disk, Some(4096), None), Recommendation::Now));
    }
    // The model says it.
    cases.push((of(WINDOWS, "SEAGATE ST600MP0005"), Recommendation::Nothing));
    cases.push((of(SATA, "SEAGATE ST450MP0024"), Recommendation::Nothing));
    cases.push((of(SATA, "SEAGATE ST600MP0034"), Recommendation::Now));
    cases.push((of(WINDOWS, "WDC WD20EARS-00S8B1"), Recommendation::Now));
    cases.push((of(SATA, "SAMSUNG HD204UI"), Recommendation::Now));
    // A drive by itself has no stripe unit.
    cases.push((with(SATA, Some(512), None), Recommendation::Nothing));
    cases.push((with(WINDOWS, Some(512), None), Recommendation::Nothing));
    assert!(cases.len() >= 20, "{}", cases.len());
    for (disk, call) in cases {
        let plan = planned(disk);
        assert_eq!(plan.worth.call, call, "{disk:?}: {:?}", plan.worth.because);
        assert!(plan.worth.alternatives.is_empty(), "{disk:?}");
        assert!(plan.worth.questions.is_empty(), "{disk:?}");
    }
}

#[test]
fn the_commands_are_those_of_what_stands_between_and_of_the_system_that_spoke() {
    let commands = |disk: Disk| {
        let plan = planned(disk);
        let first = plan.worth.questions.into_iter().next().expect("a question");
        (first.commands.join("\n"), first.evidence.join("\n"))
    };
    let (controller, evidence) = commands(RAID);
    assert!(controller.contains("perccli"), "{controller}");
    assert!(
        !controller.contains("fsutil") && !controller.contains("ssacli"),
        "{controller}"
    );
    assert!(evidence.contains("RAID controller"), "{evidence}");
    let (windows, evidence) = commands(WINDOWS);
    assert!(windows.contains("fsutil fsinfo ntfsinfo"), "{windows}");
    assert!(
        evidence.contains("512 to servers to this day"),
        "{evidence}"
    );
    // Windows Server 2003 prints no physical sector.
    let (old, evidence) = commands(Disk {
        old: true,
        ..WINDOWS
    });
    assert!(
        old.contains("wmic diskdrive get Model") && !old.contains("fsutil"),
        "{old}"
    );
    assert!(evidence.contains("512 is the likelier"), "{evidence}");
    let (linux, _) = commands(SATA);
    assert!(linux.contains("lsblk"), "{linux}");
    let (guest, evidence) = commands(Disk {
        model: "VMware Virtual disk SCSI Disk Device",
        transport: "scsi",
        ..WINDOWS
    });
    assert!(guest.contains("fsutil"), "{guest}");
    assert!(evidence.contains("the host"), "{evidence}");
}

#[test]
fn a_profile_says_what_is_only_assumed() {
    let mut of_profile = stack(WINDOWS);
    super::settle(
        &mut of_profile,
        Unit::new(512).expect("not zero"),
        "the profile",
    );
    let plan = plan(&of_profile, &Ask::default());
    assert!(plan.is_empty(), "{:?}", plan.steps);
    // What was captured stays.
    let mut captured = stack(Disk {
        physical: Some(4096),
        ..WINDOWS
    });
    super::settle(
        &mut captured,
        Unit::new(512).expect("not zero"),
        "the profile",
    );
    assert_eq!(
        super::super::plan(&captured, &Ask::default()).worth.call,
        Recommendation::Now
    );
}
