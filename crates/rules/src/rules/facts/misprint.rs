use straddle_geometry::{Bytes, SectorSize, Unit, both_ways};
use straddle_stack::{AnomalyKind, Fact, Interval, Key, Layer, LayerId, Source, Trust, Value};

use crate::commands::{self, Lack};
use crate::context::{Findings, platform_of};
use crate::repair::FACTS;
use crate::shared::anomalies::report;
use crate::shared::candidates::logical_sector;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::MISPRINT,
    name: "misprint",
    summary: "captured number cannot be right, or is probably a typing error",
    status: Status::Stable,
    repair: Repair::None(FACTS),
    page: Page {
        checks: "Starts that are not a whole number of sectors, other numbers in captured text that cannot be right, and a first partition that is said \
                 to start at 1 GiB with nothing before it.",
        why: "A verdict on a misprint would be wrong, so none is given. Figures are copied by hand into tickets, mails and tables, and \
              published examples have such slips. A partition starts on a sector, so 131,172 is not a start; one digit away is 131,072 = \
              128 KiB.",
        evidence: "The line of the capture, and the division by the sector.",
        example: "`StartingOffset=131172`: 131,172 = 256 × 512 + 100. `1073741824` as the start of the first partition: 1,048,576 was \
                  probably meant.",
        fix: "Run the command again and send what it prints, not a copy by hand.",
        fix_safety: "Do not move a partition because of a number that cannot be right.",
        references: &[
            "https://learn.microsoft.com/en-us/windows/win32/cimwin32prov/win32-diskpartition",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    let first = findings.len();
    report(
        RULE.code,
        context,
        findings,
        &[(AnomalyKind::Misprint, Severity::Warning)],
        "",
        "run the command again and send what it prints",
    );
    for finding in &mut findings[first..] {
        let note = start_in(&finding.title).and_then(|start| {
            let disk = context.stack.only_below(finding.layer);
            let sector = disk.map_or(SectorSize::B512.unit(), |disk| {
                logical_sector(context, disk)
            });
            guess(start, sector)
        });
        finding.notes.extend(note);
    }
    for (id, layer) in context.data_partitions() {
        findings.extend(impossible(context, id, layer));
        findings.extend(far_away(context, id, layer));
    }
}

/// A start that no sector has. The inventory has marked it as doubtful and placed the partition nowhere.
fn impossible(context: &Context<'_>, id: LayerId, layer: &Layer) -> Option<Finding> {
    let Fact {
        value: Value::Between(shown),
        source,
        trust: Trust::Doubtful,
    } = layer.attribute(Key::StartShown)?
    else {
        return None;
    };
    let sector = context
        .stack
        .only_below(id)
        .map(|disk| logical_sector(context, disk))?;
    let title = format!(
        "{} cannot start at {}: that is not a whole number of sectors",
        layer.name,
        told(*shown)
    );
    let finding = Finding::new(RULE.code, Severity::Warning, id, title)
        .evidence(source, format!("start = {}", told(*shown)));
    let finding = match shown.known() {
        Some(start) => finding.arithmetic(division(start, sector)),
        None => finding.arithmetic(format!(
            "not a multiple of {} lies in {shown}",
            sector.bytes().grouped()
        )),
    };
    let finding = match shown.known().and_then(|start| guess(start, sector)) {
        Some(guess) => finding.note(format!("{guess}; nothing is built on that either")),
        None => finding.note("what was meant is not known, so its place is taken as unknown"),
    };
    let advice = commands::advice(Lack::Start, platform_of(context.stack, id));
    let ask = |finding: Finding, line| finding.help(format!("for the start in bytes: {line}"));
    Some(advice.into_iter().fold(finding, ask))
}

/// The number that a reader said cannot be the start of a partition.
fn start_in(title: &str) -> Option<Bytes> {
    let before = title.split_once(" cannot be the start")?.0;
    let digits = before.rsplit(' ').next()?.replace(',', "");
    digits.parse().ok().map(Bytes::new)
}

/// What was probably meant, in words.
fn guess(wrong: Bytes, sector: Unit) -> Option<String> {
    let (start, slip) = meant(wrong, sector)?;
    Some(format!("probably {} was meant: {slip}", both_ways(start)))
}

fn told(shown: Interval) -> String {
    match shown.known() {
        Some(bytes) => format!("{} B", bytes.grouped()),
        None => shown.to_string(),
    }
}

/// `131,172 = 256 × 512 + 100`.
fn division(start: Bytes, sector: Unit) -> String {
    let (sectors, rest) = start.div_rem(sector);
    format!(
        "{} = {} × {} + {}",
        start.grouped(),
        Bytes::new(sectors).grouped(),
        sector.bytes().grouped(),
        rest.grouped()
    )
}

/// A GiB where a MiB is usual, and nothing before it.
fn far_away(context: &Context<'_>, id: LayerId, layer: &Layer) -> Option<Finding> {
    const GIB: Bytes = Bytes::mib(1024);
    let disk = context.stack.only_below(id)?;
    let placement = layer.placement.as_ref()?;
    if placement.value.start() != GIB || !matches!(placement.source, Source::Captured { .. }) {
        return None;
    }
    // Whatever else is on the disk, even at an unknown place, may be what fills the first GiB.
    let alone_before = context
        .stack
        .above(disk)
        .filter(|other| *other != id)
        .all(|other| {
            let other = context.stack.layer(other);
            let start = other.placement.as_ref().map(|fact| fact.value.start());
            start.is_some_and(|start| start > GIB)
        });
    alone_before.then(|| {
        let title = format!("{} starts at 1 GiB, and nothing is before it", layer.name);
        Finding::new(RULE.code, Severity::Note, id, title)
            .evidence(&placement.source, "start = 1,073,741,824 B")
            .note(
                "1,048,576 (1 MiB) is the usual start of a first partition; 1,073,741,824 (1 GiB) is the number most often \
                 written in its place",
            )
            .help("compare with the line as the tool printed it; both are on every usual boundary")
    })
}

/// The start that was probably meant by a number that cannot be one: one slip away, and as round as starts are.
fn meant(wrong: Bytes, sector: Unit) -> Option<(Bytes, &'static str)> {
    /// Starts that are not a multiple of 4 KiB and yet usual: sector 63.
    const USUAL: u64 = 32_256;
    let roundness = |n: u64| match n {
        USUAL => Some(20),
        n if n.is_multiple_of(4096) => Some(n.trailing_zeros()),
        _ => None,
    };
    let all = slips(&wrong.get().to_string()).into_iter();
    let possible = all.filter_map(|(digits, slip)| {
        let n: u64 = digits.parse().ok()?;
        let round = roundness(n).filter(|_| n > 0 && Bytes::new(n).is_multiple_of(sector))?;
        Some((round, n, slip))
    });
    let nearness = |n: u64| n.abs_diff(wrong.get());
    let best = possible.max_by(|a, b| (a.0, nearness(b.1)).cmp(&(b.0, nearness(a.1))))?;
    Some((Bytes::new(best.1), best.2))
}

/// Every number that one slip of the pen makes `digits` of.
fn slips(digits: &str) -> Vec<(String, &'static str)> {
    let digits = digits.as_bytes();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap_or_default();
    let mut found = Vec::new();
    for at in 0..digits.len() {
        for digit in b'0'..=b'9' {
            let mut changed = digits.to_vec();
            changed[at] = digit;
            found.push((text(changed), "one digit is another"));
            let mut longer = digits.to_vec();
            longer.insert(at, digit);
            found.push((text(longer), "one digit is missing"));
        }
        let mut shorter = digits.to_vec();
        shorter.remove(at);
        found.push((text(shorter), "one digit is too many"));
        if at + 1 < digits.len() {
            let mut swapped = digits.to_vec();
            swapped.swap(at, at + 1);
            found.push((text(swapped), "two digits are swapped"));
        }
    }
    for digit in b'0'..=b'9' {
        let mut longer = digits.to_vec();
        longer.push(digit);
        found.push((text(longer), "one digit is missing"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Lab, captured};
    use straddle_geometry::{Extent, Map};
    use straddle_stack::{AnomalyKind, LayerKind};

    fn doubtful(lab: &mut Lab, disk: LayerId, start: u64) -> LayerId {
        let id = lab.over(LayerKind::Partition, &[disk], Map::Segments(Vec::new()));
        let fact = Fact {
            value: Value::Between(Interval::exact(Bytes::new(start))),
            source: captured("wmic.txt", 3, "StartingOffset=131172"),
            trust: Trust::Doubtful,
        };
        lab.stack.layer_mut(id).set(Key::StartShown, fact);
        id
    }

    #[test]
    fn a_start_inside_a_sector_is_a_misprint() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.text(disk, Key::Platform, "linux");
        doubtful(&mut lab, disk, 131_172);
        let finding = lab.one(&RULE, Severity::Warning, "131,172 = 256 × 512 + 100");
        assert!(
            finding.notes[0].starts_with("probably 128 KiB = 256 sectors = 131,072 B was meant"),
            "{finding:#?}"
        );
        assert!(finding.help[0].contains("sfdisk"));
    }

    #[test]
    fn the_usual_slips_are_seen_through() {
        let meant = |n| meant(Bytes::new(n), SectorSize::B512.unit()).map(|(n, _)| n.get());
        assert_eq!(meant(131_172), Some(131_072));
        assert_eq!(meant(32_265), Some(32_256));
        assert_eq!(meant(3_256), Some(32_256));
        assert_eq!(meant(322_256), Some(32_256));
        assert_eq!(meant(1_048_567), Some(1_048_576));
        assert_eq!(meant(1_048_676), Some(1_048_576));
        assert_eq!(meant(104_876), Some(1_048_576));
        assert_eq!(meant(123_457), None);
        assert_eq!(meant(7), None);
        assert_eq!(meant(u64::MAX), None);
    }

    fn first_at(starts: &[u64]) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        for start in starts {
            let id = lab.partition(disk, start / 512);
            let extent = Extent::new(Bytes::new(*start), Bytes::new(1 << 30)).expect("small");
            lab.stack.layer_mut(id).placement = Some(Fact {
                value: extent,
                source: captured("wmic.txt", 3, "StartingOffset=1073741824"),
                trust: Trust::Reported,
            });
        }
        lab
    }

    #[test]
    fn a_gib_with_nothing_before_it_is_probably_a_mib() {
        let findings = first_at(&[1 << 30, 1 << 32]).findings(&RULE);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].severity, Severity::Note);
        first_at(&[1 << 20, 1 << 30]).none(&RULE);
        let mut lab = first_at(&[1 << 30]);
        let disk = lab.disk(512);
        doubtful(&mut lab, disk, 131_172);
        assert_eq!(lab.findings(&RULE).len(), 2);
        // What a table on a disk records is what counts there.
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.partition(disk, (1 << 30) / 512);
        lab.none(&RULE);
    }

    #[test]
    fn what_readers_found_is_passed_on() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.odd(disk, AnomalyKind::Misprint, "65 sectors per track");
        let detail = "32,265 cannot be the start of a partition";
        lab.odd(disk, AnomalyKind::Misprint, detail);
        let findings = lab.findings(&RULE);
        assert_eq!(findings[0].severity, Severity::Warning);
        assert!(findings[0].notes.is_empty());
        assert!(findings[1].notes[0].contains("32,256 B was meant: two digits are swapped"));
    }
}
