use std::collections::HashMap;
use straddle_stack::{AnomalyKind, GridRole, Key, Layer, LayerId, LayerKind, Source, Trust};

use crate::commands::{Lack, Supply, is_array, suitable};
use crate::context::{Findings, is_extended, is_idle};
use crate::repair::FACTS;
use crate::shared::plausible::is_single_drive;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::MISSING_FACT,
    name: "missing-fact",
    summary: "captured text lacks a figure that a verdict needs",
    status: Status::Stable,
    repair: Repair::None(FACTS),
    page: Page {
        checks: "Stacks made of captured text: is everything there that a verdict rests on? What each disk is, its size and its physical sector, the \
                 start of each partition, the allocation unit of what fills it, the logical volumes on a physical volume of LVM, and the stripe unit where the disk is a volume of a RAID \
                 controller or of an array. One note for each disk.",
        why: "A partition without a start is not aligned; it is unknown. A physical sector size that no capture shows is assumed to be 4 \
              KiB, which is right for 512e and 4Kn drives and wrong for 512n ones, which are sold for servers to this day. Silence would \
              look like an answer.",
        evidence: "None: nothing was captured. Assumptions that took the place of a fact are named.",
        example: "`wmic partition` alone gives starts; `fsutil fsinfo ntfsinfo C:` adds the allocation unit, `perccli /cALL/vALL show all` the stripe \
                  unit.",
        fix: "Run the commands that the note names, put what they print into the same folder, and check again. A fact that is known otherwise \
              can be stated: `--physical-sector 512`, `--stripe-unit 64K`.",
        fix_safety: "All of these commands only read; none of them needs the server to stop.",
        references: &["straddle check --help"],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    let mut asked: Vec<Asked<'_>> = Vec::new();
    let mut by_root: HashMap<LayerId, usize> = HashMap::new();
    let mut by_lacks: HashMap<(Vec<LayerId>, Vec<Lack>), usize> = HashMap::new();
    for root in context.stack.roots() {
        let Some(platform) = context.stack.layer(root).text(Key::Platform) else {
            continue;
        };
        let own = of_root(context, root);
        let above: Vec<LayerId> = context.stack.above(root).collect();
        let new = asked.len();
        // Members of one array that lack the same are one question.
        let first = match above.is_empty() {
            true => new,
            false => *by_lacks.entry((above, own.clone())).or_insert(new),
        };
        if let Some(first) = asked.get_mut(first) {
            first.more += 1;
            continue;
        }
        by_root.insert(root, new);
        asked.push(Asked {
            root,
            platform,
            own,
            more: 0,
            upper: Vec::new(),
        });
    }
    for (id, layer) in context.stack.iter() {
        // What lies on several disks is asked about once.
        let root = first_root(context, id);
        if let Some(index) = by_root.get(&root) {
            let asked = &mut asked[*index];
            let missing = of_layer(context, id, layer, asked.platform);
            asked.upper.extend(missing);
        }
    }
    let mut given = Vec::new();
    for asked in asked {
        if !(asked.own.is_empty() && asked.upper.is_empty()) {
            findings.push(finding(context, &asked, &mut given));
        }
    }
}

/// What is asked about one disk, or about disks that are alike, and what lies on it.
struct Asked<'a> {
    root: LayerId,
    platform: &'a str,
    /// What is missing about the disk itself.
    own: Vec<Lack>,
    /// How many other disks lack the same.
    more: usize,
    /// What is missing about what lies on it.
    upper: Vec<Missing<'a>>,
}

impl Asked<'_> {
    /// The commands for a fact. An allocation unit is asked of the tools of the formats that are there, where they are known.
    fn supplies(&self, lack: Lack, model: &str) -> Vec<&'static Supply> {
        let mut all = suitable(lack, self.platform, model);
        let fits = |supply: &&Supply| {
            let mut of = self.upper.iter().filter(|missing| missing.lack == lack);
            of.any(|missing| supply.tells_of(missing.format))
        };
        if lack == Lack::AllocationUnit && all.iter().any(fits) {
            all.retain(fits);
        }
        all
    }
}

/// A fact that is not there, and what it is a fact about: its name, and its format where it has one.
struct Missing<'a> {
    lack: Lack,
    of: &'a str,
    format: Option<&'a str>,
}

fn first_root(context: &Context<'_>, id: LayerId) -> LayerId {
    let mut here = id;
    while let Some(below) = context.stack.layer(here).below.first() {
        here = *below;
    }
    here
}

fn is_only_named(layer: &Layer) -> bool {
    let mut anomalies = layer.anomalies.iter();
    anomalies.any(|anomaly| anomaly.kind == AnomalyKind::OnlyNamed)
}

/// What is missing about the disk at the bottom itself.
fn of_root(context: &Context<'_>, root: LayerId) -> Vec<Lack> {
    let layer = context.stack.layer(root);
    match layer.kind {
        LayerKind::Device => {}
        LayerKind::Partition => return vec![Lack::Volume],
        LayerKind::Volume if is_only_named(layer) => return vec![Lack::Volume],
        _ => return Vec::new(),
    }
    if context.stack.above(root).next().is_none() {
        // A disk behind a RAID controller is called after its place, `c0/e32/s1`, and has no level: a spare has no partitions.
        let seen_by_system = !layer.name.contains('/') || layer.attribute(Key::Level).is_some();
        return match seen_by_system {
            true if layer.attribute(Key::FirstExtent).is_some() => vec![Lack::LogicalVolumes],
            true => vec![Lack::Start],
            false => Vec::new(),
        };
    }
    let mut lacks = Vec::new();
    if is_only_named(layer) {
        lacks.push(Lack::Disk);
    } else if layer.size.is_none() && layer.attribute(Key::SizeShown).is_none() {
        lacks.push(Lack::Size);
    }
    let known = layer
        .grid(GridRole::PhysicalSector)
        .is_some_and(|fact| fact.trust < Trust::Assumed);
    if !known {
        lacks.push(Lack::PhysicalSector);
    }
    if lacks_stripe_unit(layer) {
        lacks.push(Lack::StripeUnit);
    }
    lacks
}

/// What is missing about a layer.
fn of_layer<'a>(
    context: &Context<'_>,
    id: LayerId,
    layer: &'a Layer,
    platform: &str,
) -> Vec<Missing<'a>> {
    let mut found = Vec::new();
    let mut lacks = |lack| {
        found.push(Missing {
            lack,
            of: &layer.name,
            format: layer.format.as_deref(),
        });
    };
    let has_size = layer.size.is_some() || layer.attribute(Key::SizeShown).is_some();
    match layer.kind {
        LayerKind::Device => {
            if !has_size && !layer.below.is_empty() {
                lacks(Lack::Size);
            }
            if !layer.below.is_empty() && lacks_stripe_unit(layer) {
                lacks(Lack::StripeUnit);
            }
        }
        LayerKind::Array if lacks_stripe_unit(layer) => lacks(Lack::StripeUnit),
        LayerKind::Partition if !is_extended(layer) && !layer.below.is_empty() => {
            let has_start = layer.placement.is_some() || layer.attribute(Key::StartShown).is_some();
            if !has_start {
                lacks(Lack::Start);
            }
            if !has_size {
                lacks(Lack::Size);
            }
            // Where it can hold a filesystem and nothing says which.
            let empty = context.stack.above(id).next().is_none();
            if empty
                && !is_idle(layer)
                && !is_no_filesystem(layer)
                && matches!(platform, "windows" | "linux")
            {
                lacks(Lack::AllocationUnit);
            }
        }
        LayerKind::Filesystem => {
            let swap = layer.format.as_deref() == Some("swap");
            if layer.grid(GridRole::AllocationUnit).is_none() && !swap {
                lacks(Lack::AllocationUnit);
            }
        }
        _ => {}
    }
    found
}

/// True for partitions whose type says that something other than a filesystem fills them: swap, LVM, RAID, a dynamic disk.
fn is_no_filesystem(layer: &Layer) -> bool {
    const TYPES: [&str; 9] = [
        "82",
        "8e",
        "fd",
        "42",
        "0657FD6D-A4AB-43C4-84E5-0933C84B4F4F",
        "E6D6D379-F507-44C2-A23C-238F2A3DF928",
        "A19D880F-05FC-4D3B-A006-743F0F84911E",
        "AF9B60A0-1431-4F62-BC68-3311714A69AD",
        "5808C8AA-7E8F-42E0-85D2-E1E90434CFB3",
    ];
    layer
        .text(Key::PartitionType)
        .is_some_and(|kind| TYPES.iter().any(|other| other.eq_ignore_ascii_case(kind)))
}

/// True for a volume of an array whose members take turns, when nothing says after how many bytes.
fn lacks_stripe_unit(layer: &Layer) -> bool {
    let known = [GridRole::StripeUnit, GridRole::FullStripe]
        .into_iter()
        .any(|role| layer.grid(role).is_some());
    if known || (layer.kind == LayerKind::Device && is_single_drive(layer)) {
        return false;
    }
    match layer.text(Key::Level) {
        // In these no two members take turns; what does in a pool is its allocation unit.
        Some(level) if level.starts_with("raidz") || level.starts_with("draid") => false,
        Some(level) => !matches!(
            level,
            "raid1" | "mirror" | "linear" | "simple" | "jbod" | "multipath" | "container"
        ),
        None => layer.kind == LayerKind::Device && is_array(layer),
    }
}

/// The note about one disk. `given` are the commands that earlier notes name, and those notes' disks.
fn finding(context: &Context<'_>, asked: &Asked<'_>, given: &mut Vec<(String, String)>) -> Finding {
    let layer = context.stack.layer(asked.root);
    let lacks: Vec<Lack> = Lack::ALL
        .into_iter()
        .filter(|lack| asked.own.contains(lack) || asked.upper.iter().any(|m| m.lack == *lack))
        .collect();
    let told: Vec<String> = lacks
        .iter()
        .map(|lack| told(*lack, asked, &layer.name))
        .collect();
    let more = match asked.more {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let named = match (is_only_named(layer), asked.more) {
        (true, 0) => " is only named; not captured",
        (true, _) => " are only named; not captured",
        (false, _) => ": not captured",
    };
    let title = format!("{}{more}{named}: {}", layer.name, told.join(", "));
    let mut finding = Finding::new(RULE.code, Severity::Note, asked.root, title);
    if !context.options.in_full {
        return finding;
    }
    for grid in &layer.grids {
        let assumed = matches!(grid.grid.source, Source::Assumption { .. });
        if assumed && lacks.contains(&Lack::PhysicalSector) && grid.role == GridRole::PhysicalSector
        {
            let label = format!("{} = {}", grid.role.name(), grid.grid.value.unit());
            finding = finding.evidence(&grid.grid.source, label);
        }
    }
    let model = layer.text(Key::Model).unwrap_or_default();
    // One command can supply several facts.
    let mut supplies: Vec<(&Supply, Vec<&str>)> = Vec::new();
    for lack in &lacks {
        for supply in asked.supplies(*lack, model) {
            match supplies
                .iter_mut()
                .find(|(s, _)| s.command == supply.command)
            {
                Some((_, facts)) => facts.push(lack.name()),
                None => supplies.push((supply, vec![lack.name()])),
            }
        }
    }
    // The tool of a RAID controller does not tell on which system it ran.
    if asked.platform == "raid" && lacks.contains(&Lack::Start) {
        finding = finding.help(
            "start: ask the system as well: wmic partition get Name,StartingOffset,Size on Windows, lsblk -J -b -O on Linux",
        );
    }
    let mut as_for = None;
    for (supply, facts) in supplies {
        let facts = facts.join(", ");
        let line = format!("{facts}: {} ({})", supply.command, supply.systems);
        match given.iter().find(|(other, _)| *other == line) {
            Some((_, disk)) => as_for = Some(disk.clone()),
            None => {
                given.push((line.clone(), layer.name.clone()));
                finding = finding.help(line);
            }
        }
    }
    if let Some(disk) = as_for {
        let others = if finding.help.is_empty() {
            ""
        } else {
            "others: "
        };
        finding = finding.help(format!("{others}the commands named for {disk}"));
    }
    finding
}

/// `start of sda1 and sda2`.
fn told(lack: Lack, asked: &Asked<'_>, root: &str) -> String {
    let name = lack.name();
    let upper = asked.upper.iter().filter(|missing| missing.lack == lack);
    let mut of: Vec<&str> = upper.map(|missing| missing.of).collect();
    let own = asked.own.contains(&lack);
    if own && of.is_empty() {
        return match lack {
            Lack::Start => format!("{name} of its partitions"),
            _ => name.to_owned(),
        };
    }
    if own {
        of.insert(0, "itself");
    }
    match of.as_slice() {
        [only] if *only == root => name.to_owned(),
        [only] => format!("{name} of {only}"),
        [first, second] => format!("{name} of {first} and {second}"),
        more => format!("{name} of {} and {} more", more[0], more.len() - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{Lab, captured};
    use crate::{Finding, Severity};
    use straddle_geometry::{Bytes, Grid, Map, Unit};
    use straddle_stack::{AnomalyKind, Fact, GridRole, Key, Layer, LayerKind, Source, Trust};

    fn only(lab: &Lab) -> Finding {
        let mut findings = lab.findings(&RULE);
        assert_eq!(findings.len(), 1, "{findings:#?}");
        findings.remove(0)
    }

    #[test]
    fn one_note_names_all_that_is_missing_and_how_to_get_it() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.text(disk, Key::Platform, "windows");
        lab.text(disk, Key::Model, "DELL PERC H730 Mini");
        lab.size(disk, 1 << 40);
        lab.stack.layer_mut(disk).grids.clear();
        let assumed = Fact::assumed(Grid::new(Unit::B4096), "as 512e disks have, 512n not");
        lab.stack
            .layer_mut(disk)
            .add_grid(GridRole::PhysicalSector, assumed);
        for _ in 0..2 {
            let id = lab.over(LayerKind::Partition, &[disk], Map::Segments(Vec::new()));
            lab.size(id, 1 << 30);
            lab.filesystem("ntfs", id, 4096);
        }
        let finding = only(&lab);
        assert_eq!(finding.severity, Severity::Note);
        assert_eq!(
            finding.title,
            "sda: not captured: physical sector, start of partition 1 and partition 3, stripe unit"
        );
        let commands: Vec<&str> = finding
            .help
            .iter()
            .filter_map(|line| line.split_once(": ")?.1.split(" (").next())
            .collect();
        assert_eq!(commands[0], "fsutil fsinfo ntfsinfo C:");
        assert!(commands.contains(&"wmic partition get Name,StartingOffset,Size"));
        assert!(commands.contains(&"perccli /cALL/vALL show all"));
        assert!(!commands.iter().any(|c| c.starts_with("ssacli")));
        assert!(matches!(
            finding.evidence[0].source,
            Source::Assumption { .. }
        ));
    }

    #[test]
    fn a_physical_volume_lacks_its_logical_volumes_and_no_partitions() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.text(disk, Key::Platform, "linux");
        lab.size(disk, 1 << 40);
        let title = |lab: &Lab| only(lab).title;
        assert_eq!(title(&lab), "sda: not captured: start of its partitions");
        lab.bytes(disk, Key::FirstExtent, 192 << 10);
        assert_eq!(title(&lab), "sda: not captured: its logical volumes");
        assert!(only(&lab).help[0].contains("lvm fullreport"));
    }

    #[test]
    fn each_filesystem_is_asked_about_by_its_own_tool() {
        let commands = |format: &'static str| {
            let mut lab = Lab::new();
            let disk = lab.disk(512);
            lab.text(disk, Key::Platform, "linux");
            lab.size(disk, 1 << 40);
            let array = lab.array(&[disk], 65_536, &[0]);
            lab.stack.layer_mut(array).grids.clear();
            lab.text(array, Key::Level, "raidz1");
            lab.size(array, 1 << 40);
            let filesystem = lab.filesystem(format, array, 4096);
            lab.stack.layer_mut(filesystem).grids.clear();
            only(&lab).help
        };
        let [of_pool, of_xfs, of_btrfs] = ["zfs", "xfs", "btrfs"].map(commands);
        assert_eq!(of_pool, ["allocation unit: zdb -C (ZFS)"]);
        assert_eq!(of_xfs, ["allocation unit: xfs_info MOUNTPOINT (XFS)"]);
        assert!(of_btrfs.len() > 1, "{of_btrfs:?}");
    }

    #[test]
    fn members_that_lack_the_same_are_one_note_and_commands_are_named_once() {
        let mut lab = Lab::new();
        let disks = [(); 3].map(|()| lab.stack.push(Layer::new(LayerKind::Device, "sda")));
        let other = lab.stack.push(Layer::new(LayerKind::Device, "sdz"));
        for disk in disks.into_iter().chain([other]) {
            lab.text(disk, Key::Platform, "linux");
            lab.size(disk, 1 << 40);
        }
        let array = lab.array(&disks, 65_536, &[0, 0, 0]);
        lab.size(array, 1 << 40);
        lab.filesystem("xfs", array, 4096);
        lab.filesystem("xfs", other, 4096);
        let findings = lab.findings(&RULE);
        let titles: Vec<&str> = findings.iter().map(|f| f.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "sda and 2 more: not captured: physical sector",
                "sdz: not captured: physical sector"
            ]
        );
        assert!(findings[0].help[0].contains("lsblk -J"));
        assert_eq!(findings[1].help, ["the commands named for sda"]);
    }

    #[test]
    fn a_physical_volume_of_lvm_has_no_allocation_unit() {
        for (kind, lacks) in [("8e", 0), ("83", 1)] {
            let mut lab = Lab::new();
            let disk = lab.disk(4096);
            lab.text(disk, Key::Platform, "linux");
            lab.size(disk, 1 << 40);
            let partition = lab.partition(disk, 2048);
            lab.text(partition, Key::PartitionType, kind);
            assert_eq!(lab.findings(&RULE).len(), lacks, "{kind}");
        }
    }

    #[test]
    fn a_disk_of_which_nothing_else_is_known_lacks_its_partitions() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.text(disk, Key::Platform, "windows");
        assert_eq!(
            only(&lab).title,
            "sda: not captured: start of its partitions"
        );
    }

    #[test]
    fn what_is_only_named_is_said_once() {
        let mut lab = Lab::new();
        let mut layer = Layer::new(LayerKind::Volume, "volume c:");
        layer.set(
            Key::Platform,
            Fact::derived(straddle_stack::Value::Text("windows".into()), ""),
        );
        let volume = lab.stack.push(layer);
        lab.odd(volume, AnomalyKind::OnlyNamed, "it is only named");
        lab.filesystem("ntfs", volume, 4096);
        let finding = only(&lab);
        assert_eq!(
            finding.title,
            "volume c: is only named; not captured: where it lies"
        );
        assert!(
            finding
                .help
                .iter()
                .any(|line| line.contains("Get-Partition"))
        );
    }

    #[test]
    fn a_whole_capture_and_what_was_not_captured_are_silent() {
        let whole = |platform: bool| {
            let mut lab = Lab::new();
            let disk = lab.disk(4096);
            if platform {
                lab.text(disk, Key::Platform, "linux");
            }
            lab.size(disk, 1 << 40);
            let partition = lab.partition(disk, 2048);
            lab.filesystem("ext4", partition, 4096);
            lab
        };
        whole(true).none(&RULE);
        let mut lab = whole(false);
        lab.stack = {
            let mut stack = lab.stack.clone();
            stack.push(Layer::new(LayerKind::Device, "sdb"));
            stack
        };
        lab.none(&RULE);
    }

    #[test]
    fn a_rounded_start_is_not_a_missing_one_and_a_mirror_has_no_stripe_unit() {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.text(disk, Key::Platform, "linux");
        lab.text(disk, Key::Level, "raid1");
        lab.size(disk, 1 << 40);
        let partition = lab.over(LayerKind::Partition, &[disk], Map::Segments(Vec::new()));
        lab.size(partition, 1 << 30);
        lab.filesystem("xfs", partition, 4096);
        let shown = straddle_stack::Interval::exact(Bytes::new(7));
        lab.stack.layer_mut(partition).set(
            Key::StartShown,
            Fact {
                value: straddle_stack::Value::Between(shown),
                source: captured("a", 1, "x"),
                trust: Trust::Reported,
            },
        );
        lab.none(&RULE);
    }
}
