use straddle_geometry::{Bytes, Grid, Unit, both_ways};
use straddle_stack::{
    Fact, GridRole, Interval, Key, Layer, LayerId, Seen, SeenGrid, Source, Trust, Value,
};

use crate::commands::{self, Lack};
use crate::context::{Findings, is_believable, is_idle, platform_of};
use crate::repair::FACTS;
use crate::shared::candidates::{Bounds, Candidates, Verdict, logical_sector};
use crate::shared::plausible::{is_single_drive, plausible};
use crate::wording::{division, with_article};
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::ROUNDED_FACT,
    name: "rounded-fact",
    summary: "partition's start is known only as a rounded figure",
    status: Status::Stable,
    repair: Repair::None(FACTS),
    page: Page {
        checks: "Partitions whose start was captured as a rounded figure, such as `32 KB` of DiskPart. Every whole sector that the figure can \
                 mean is compared with the physical sector, the stripe unit, the full stripe and the indirection unit below, and, where \
                 no stripe unit is known, with the usual ones. Off for all of them: the verdict survives the rounding, and is priced. On \
                 for all of them: nothing. Otherwise a note says what is open, and which command settles it. Where no start is certain, \
                 and no figure can mean a usual one (a multiple of 1 MiB; below that, of 64 KiB), the check ends with status 2.",
        why: "A verdict on a rounded figure as it stands would be wrong either way: DiskPart shows 31.5 KiB, 32 KiB and 32.5 KiB alike as \
              32 KB. The first is sector 63, off every boundary; the second is on a 4 KiB physical sector.",
        evidence: "The line of the capture, the range that its rounding leaves open, and the sectors in it. DiskPart's own rounding \
                   differs between versions: a figure N stands for anything above N − 1 and up to N + ½.",
        example: "32 KB can be 31,745 to 33,280 B: sectors 63, 64 and 65. On a 64 KiB stripe unit all three are off, so STR904 is an error \
                  whichever is true; on 4,096-byte sectors only 64 is on, so that is open.",
        fix: "Run the command that the finding names: it prints bytes. Add its output to the same folder and check again; the exact figure \
              takes the place of the rounded one. Where the verdict survives, move the partition as for STR101 or STR201.",
        fix_safety: "Never move data because of a rounded figure alone, unless the finding says that it is off whichever start is true; and \
                     not without a backup that was test-restored. The commands only read.",
        references: &[
            "J. May and D. Lee, Disk Partition Alignment Best Practices for SQL Server",
            "https://learn.microsoft.com/en-us/archive/blogs/jimmymay/disk-partition-alignment-sector-alignment-for-sql-server-part-4-essentials-cheat-sheet",
        ],
    },
    check,
};

/// Most candidates that are told one by one.
const FEW: u64 = 4;

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.data_partitions() {
        if let Some(rounded) = Rounded::of(context, id, layer) {
            rounded.check(findings);
        }
    }
}

/// A partition whose start is known only as a rounded figure.
struct Rounded<'a> {
    context: &'a Context<'a>,
    id: LayerId,
    layer: &'a Layer,
    disk: LayerId,
    source: &'a Source,
    shown: Interval,
    candidates: Candidates,
}

impl<'a> Rounded<'a> {
    fn of(context: &'a Context<'a>, id: LayerId, layer: &'a Layer) -> Option<Rounded<'a>> {
        let disk = context.stack.only_below(id)?;
        let Fact {
            value: Value::Between(shown),
            source,
            trust,
        } = layer.attribute(Key::StartShown)?
        else {
            return None;
        };
        // A figure that cannot be right (STR907) is no rounded one.
        if *trust == Trust::Doubtful {
            return None;
        }
        let sector = logical_sector(context, disk);
        Some(Rounded {
            context,
            id,
            layer,
            disk,
            source,
            shown: *shown,
            candidates: Candidates::of(*shown, sector)?,
        })
    }

    fn check(&self, findings: &mut Findings) {
        let idle = is_idle(self.layer);
        let mut verdicts = Vec::new();
        for (seen, grid) in self.grids() {
            let Some(verdict) = self.candidates.on(grid) else {
                continue;
            };
            if verdict == Verdict::Off {
                findings.extend(self.off(seen, grid));
            }
            verdicts.push((verdict, seen));
        }
        let unknown = self.stripe_units();
        if !idle && !unknown.is_empty() && unknown.iter().all(|(_, v)| *v == Verdict::Off) {
            findings.push(self.off_all_plausible(&unknown));
        }
        let is_open = |verdict: &Verdict| matches!(verdict, Verdict::Open { .. });
        let open =
            verdicts.iter().any(|(v, _)| is_open(v)) || unknown.iter().any(|(_, v)| is_open(v));
        // Where a partition starts that nothing reads in normal operation is not worth a question.
        if open && !idle {
            findings.push(self.open(&verdicts, &unknown));
        }
    }

    /// The grids that a start is compared with, in addresses of the disk.
    fn grids(&self) -> Vec<(&'a SeenGrid<'a>, Grid)> {
        let context = self.context;
        let told = |grid: &&SeenGrid<'_>| {
            is_believable(grid)
                && matches!(
                    grid.role,
                    GridRole::PhysicalSector
                        | GridRole::StripeUnit
                        | GridRole::FullStripe
                        | GridRole::IndirectionUnit
                )
        };
        let uniform = |grid: &'a SeenGrid<'a>| match grid.seen {
            Seen::Uniform(seen) => Some((grid, seen)),
            Seen::Pieces(_) => None,
        };
        let all = context.seen(self.disk).iter().filter(told);
        all.filter_map(uniform).collect()
    }

    /// The usual stripe units and the verdicts on them, where an array of unknown geometry may lie below.
    fn stripe_units(&self) -> Vec<(Unit, Verdict)> {
        let known = self.context.seen(self.disk).iter().any(|grid| {
            is_believable(grid)
                && matches!(
                    grid.role,
                    GridRole::StripeUnit | GridRole::FullStripe | GridRole::MinimumIo
                )
                // Every drive has a minimum request: its sector.
                && (grid.role != GridRole::MinimumIo || grid.fact.value.unit() > Unit::B4096)
        });
        let device = self.context.device_of(self.disk);
        match device {
            Some((_, device)) if !known && !is_single_drive(device) => plausible()
                .filter_map(|unit| Some((unit, self.candidates.on(Grid::new(unit))?)))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// What was printed: `32 KB`.
    fn figure(&self) -> &'a str {
        let text = match self.source {
            Source::Captured { text, .. } => figure_in(text, self.shown),
            _ => None,
        };
        text.unwrap_or("the printed figure")
    }

    /// `32 KB can be 31,745 to 33,280 B: sectors 63, 64 and 65 of 512 B`.
    fn range(&self) -> String {
        let all = &self.candidates;
        let number = |start| Bytes::new(all.number(start)).grouped();
        let sectors = if all.count == 1 {
            format!("sector {}", number(all.first))
        } else if all.count <= FEW {
            let numbers = all.number(all.first)..all.number(all.last);
            let numbers: Vec<String> = numbers
                .map(|n| Bytes::new(n).grouped().to_string())
                .collect();
            format!("sectors {} and {}", numbers.join(", "), number(all.last))
        } else {
            format!(
                "{} sectors, {} to {}",
                Bytes::new(all.count).grouped(),
                number(all.first),
                number(all.last)
            )
        };
        format!(
            "{} can be {}: {sectors} of {}",
            self.figure(),
            self.shown,
            all.sector
        )
    }

    fn evidence(&self, finding: Finding) -> Finding {
        finding.evidence(self.source, format!("start = {}", self.shown))
    }

    /// The commands that print the exact start.
    fn settled_by(&self, mut finding: Finding) -> Finding {
        let platform = platform_of(self.context.stack, self.id);
        for line in commands::advice(Lack::Start, platform) {
            finding = finding.help(format!("for the start in bytes: {line}"));
        }
        finding
    }

    /// The finding that it is off a grid whichever start is true.
    fn off(&self, seen: &SeenGrid<'_>, grid: Grid) -> Option<Finding> {
        let unit = grid.unit();
        let Bounds { least, most } =
            self.candidates
                .prices(seen.role, grid, &self.context.options.io)?;
        let title = format!(
            "{} starts inside {} of {unit}, whichever start {} means",
            self.layer.name,
            with_article(seen.role),
            self.figure()
        );
        let dearer: Vec<String> = most
            .rows
            .iter()
            .zip(&least.rows)
            .filter(|(most, least)| most.extra > least.extra)
            .map(|(most, least)| {
                format!("{} requests +{} to +{}", most.io, least.extra, most.extra)
            })
            .collect();
        let mut finding = self.evidence(Finding::priced(RULE.code, self.id, title, least));
        finding = finding
            .evidence(&seen.fact.source, format!("{} = {unit}", seen.role.name()))
            .arithmetic(self.range());
        if self.candidates.count <= FEW {
            for start in self.each() {
                finding = finding.arithmetic(format!(
                    "{} × {} = {}",
                    Bytes::new(self.candidates.number(start)).grouped(),
                    self.candidates.sector.bytes().grouped(),
                    division(start, grid)
                ));
            }
        } else {
            finding = finding.arithmetic(format!(
                "none of them is a boundary: {} leaves the remainder {}, and the next boundary lies behind {}",
                self.candidates.first.grouped(),
                grid.remainder(self.candidates.first).grouped(),
                self.candidates.last.grouped()
            ));
        }
        if !dearer.is_empty() {
            finding = finding.note(format!(
                "the cost is the least over these starts; it depends on which is true: {}",
                dearer.join(", ")
            ));
        }
        if let Ok(good) = self.context.good_start(self.disk, self.candidates.last) {
            finding = finding.help(format!(
                "start it at {}: the first place from here on that is on every boundary known",
                both_ways(good)
            ));
        }
        if is_idle(self.layer) {
            finding = finding.at_most(
                Severity::Note,
                "it is a partition that only a boot loader or an installer uses; its start does not matter for speed",
            );
        }
        Some(finding)
    }

    /// The candidates, when they are few.
    fn each(&self) -> impl Iterator<Item = Bytes> {
        let all = self.candidates;
        (0..all.count.min(FEW)).filter_map(move |n| {
            let distance = all.sector.bytes().checked_mul(n)?;
            all.first.checked_add(distance)
        })
    }

    /// The finding that no usual stripe unit has a boundary where it can start.
    fn off_all_plausible(&self, unknown: &[(Unit, Verdict)]) -> Finding {
        let title = format!(
            "{} is off all {} plausible stripe units, whichever start {} means, and the true one is unknown",
            self.layer.name,
            unknown.len(),
            self.figure()
        );
        let finding = Finding::new(RULE.code, Severity::Warning, self.id, title);
        self.evidence(finding)
            .arithmetic(self.range())
            .note(format!(
                "if no array lies below {}, this costs nothing",
                self.context.stack.layer(self.disk).name
            ))
            .help("find the stripe unit (strip size) with the array's own tool and give it: --stripe-unit 64K")
    }

    /// The note that the figure leaves the verdict open.
    fn open(&self, verdicts: &[(Verdict, &SeenGrid<'_>)], unknown: &[(Unit, Verdict)]) -> Finding {
        let title = format!(
            "{} does not tell whether {} starts on a boundary",
            self.figure(),
            self.layer.name
        );
        let finding = Finding::new(RULE.code, Severity::Note, self.id, title);
        let mut finding = self.evidence(finding).arithmetic(self.range());
        for (verdict, seen) in verdicts {
            let assumed = match seen.fact.trust {
                Trust::Assumed => " (assumed)",
                _ => "",
            };
            let grid = format!("{} {}{assumed}", seen.role.name(), seen.fact.value.unit());
            finding = finding.arithmetic(format!("{grid}: {}", self.told(*verdict)));
        }
        for line in self.usual_units(unknown) {
            finding = finding.arithmetic(line);
        }
        for note in self.usual_starts() {
            finding = finding.note(note);
        }
        self.settled_by(finding)
    }

    /// `on for 1 of 3, sector 64`.
    fn told(&self, verdict: Verdict) -> String {
        let all = &self.candidates;
        let count = Bytes::new(all.count).grouped();
        match verdict {
            Verdict::On => format!("on for all {count}"),
            Verdict::Off => format!("off for all {count}"),
            Verdict::Open { on, first_on } => {
                let first = Bytes::new(all.number(first_on)).grouped();
                let which = match on {
                    1 => format!("sector {first}"),
                    _ => format!("sector {first} first"),
                };
                format!("on for {} of {count}, {which}", Bytes::new(on).grouped())
            }
        }
    }

    /// The verdicts on the usual stripe units, those alike in one line.
    fn usual_units(&self, unknown: &[(Unit, Verdict)]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut rest = unknown;
        while let Some((_, first)) = rest.first() {
            let alike = rest.iter().take_while(|(_, v)| v == first).count();
            let (these, others) = rest.split_at(alike);
            let units: Vec<String> = these.iter().map(|(unit, _)| unit.to_string()).collect();
            lines.push(format!(
                "stripe unit not known; {}: {}",
                units.join(", "),
                self.told(*first)
            ));
            rest = others;
        }
        lines
    }

    /// Starts within the range that are usual. None of them is thereby proven.
    fn usual_starts(&self) -> Vec<String> {
        let is_there = |start: Bytes| {
            self.shown.contains(start) && start.is_multiple_of(self.candidates.sector)
        };
        let mut notes = Vec::new();
        if is_there(Bytes::new(32_256)) {
            notes.push(format!(
                "{} is where the first partition begins that was made before Windows Vista and Server 2008, or by Linux tools before \
                 2010: the likeliest here",
                both_ways(Bytes::new(32_256))
            ));
        }
        let narrow = self.shown.to().get() - self.shown.from().get() < 1 << 20;
        for kib in [32, 64, 128] {
            let start = Bytes::kib(kib);
            if narrow && is_there(start) {
                notes.push(format!(
                    "{} is one that people chose by hand",
                    both_ways(start)
                ));
            }
        }
        let Some(mib) = Unit::new(1 << 20) else {
            return notes;
        };
        match (self.shown.count(mib), self.shown.multiples_of(mib)) {
            (1, Some(only)) if only.from() == Bytes::mib(1) => notes.push(format!(
                "{} is the usual start since Windows Vista and Server 2008: likely, and still not proven",
                both_ways(Bytes::mib(1))
            )),
            (1, Some(only)) => notes.push(format!(
                "{} is the one whole MiB in it, as partitioners since Windows Vista and Server 2008 choose: likely, and still not proven",
                both_ways(only.from())
            )),
            (0, _) | (_, None) => {}
            (n, _) => notes.push(format!(
                "{} whole MiB are in it, as partitioners since Windows Vista and Server 2008 choose; one of them is likely if this one made it, \
                 and still not proven",
                Bytes::new(n).grouped()
            )),
        }
        notes
    }
}

/// The figure in a line that stands for something within `shown`: `32 KB` of `Partition 1  Primary  33 GB  32 KB`.
fn figure_in(text: &str, shown: Interval) -> Option<&str> {
    let mut found = None;
    let mut rest = text;
    let mut offset = 0;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let number = &rest[at..];
        let end = number.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','));
        let end = end.unwrap_or(number.len());
        let (digits, behind) = number.split_at(end);
        let gap = behind.len() - behind.trim_start_matches([' ', '\u{a0}']).len();
        let unit = behind[gap..].split_whitespace().next().unwrap_or_default();
        if gap <= 2 && is_within(digits, unit, shown) {
            let from = offset + at;
            found = text.get(from..from + end + gap + unit.len());
        }
        offset += at + end;
        rest = behind;
    }
    found
}

/// True when `digits` in `unit`, binary or decimal, is a number within `shown`.
fn is_within(digits: &str, unit: &str, shown: Interval) -> bool {
    let power = match unit.chars().next().map(|c| c.to_ascii_lowercase()) {
        Some('k' | 'к' | 'К') => 1,
        Some('m' | 'м' | 'М') => 2,
        Some('g' | 'г' | 'Г') => 3,
        Some('t' | 'т' | 'Т') => 4,
        _ => return false,
    };
    let (whole, fraction) = match digits.rfind(['.', ',']) {
        Some(at) => (&digits[..at], &digits[at + 1..]),
        None => (digits, ""),
    };
    let (Ok(whole), Ok(scale)) = (whole.parse::<u64>(), u32::try_from(fraction.len())) else {
        return false;
    };
    if scale > 6 {
        return false;
    }
    let parts = fraction.parse::<u64>().unwrap_or(0);
    [1024_u128, 1000].into_iter().any(|base| {
        let factor = base.pow(power);
        let value = u128::from(whole) * factor + u128::from(parts) * factor / 10_u128.pow(scale);
        u64::try_from(value).is_ok_and(|value| shown.contains(Bytes::new(value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;
    use straddle_geometry::Map;
    use straddle_stack::{LayerKind, Source};

    /// A partition of a Windows disk of which DiskPart showed `figure`, which can be `from` to `to`.
    fn shown(lab: &mut Lab, disk: LayerId, figure: &str, from: u64, to: u64) -> LayerId {
        lab.text(disk, Key::Platform, "windows");
        let id = lab.over(LayerKind::Partition, &[disk], Map::Segments(Vec::new()));
        let interval = Interval::new(Bytes::new(from), Bytes::new(to)).expect("in order");
        lab.stack.layer_mut(id).set(
            Key::StartShown,
            Fact {
                value: Value::Between(interval),
                source: Source::Captured {
                    file: "list.txt".into(),
                    line: 7,
                    text: format!("  Partition 1    Primary             33 GB  {figure}"),
                },
                trust: Trust::Reported,
            },
        );
        id
    }

    fn classic() -> (Lab, LayerId) {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.text(disk, Key::Transport, "sata");
        (lab, disk)
    }

    #[test]
    fn thirty_two_kb_leaves_a_physical_sector_open() {
        let (mut lab, disk) = classic();
        shown(&mut lab, disk, "32 KB", 31_745, 33_280);
        let finding = lab.one(
            &RULE,
            Severity::Note,
            "32 KB can be 31,745 to 33,280 B: sectors 63, 64 and 65 of 512 B",
        );
        assert_eq!(
            finding.title,
            "32 KB does not tell whether partition 1 starts on a boundary"
        );
        assert_eq!(
            finding.arithmetic[1],
            "physical sector 4 KiB: on for 1 of 3, sector 64"
        );
        assert!(finding.notes[0].starts_with("31.5 KiB = 63 sectors"));
        assert!(finding.notes[1].starts_with("32 KiB = 64 sectors"));
        assert!(finding.help[1].contains("wmic partition get Name,StartingOffset"));
    }

    #[test]
    fn thirty_two_kb_is_off_a_stripe_unit_of_64_kib_for_certain() {
        let (mut lab, disk) = classic();
        lab.stated(disk, GridRole::StripeUnit, 65_536);
        shown(&mut lab, disk, "32 KB", 31_745, 33_280);
        let findings = lab.findings(&RULE);
        assert_eq!(findings.len(), 2);
        assert_eq!(findings[0].severity, Severity::Error);
        assert_eq!(
            findings[0].arithmetic,
            [
                "32 KB can be 31,745 to 33,280 B: sectors 63, 64 and 65 of 512 B",
                "63 × 512 = 32,256 = 0 × 65,536 + 32,256",
                "64 × 512 = 32,768 = 0 × 65,536 + 32,768",
                "65 × 512 = 33,280 = 0 × 65,536 + 33,280",
            ]
        );
        // Sector 64 lies between two requests of 4 KiB, sector 63 inside one.
        assert_eq!(
            findings[0].notes,
            [
                "the cost is the least over these starts; it depends on which is true: 4 KiB requests +0% to +6.25%, 8 KiB requests +0% to +12.5%"
            ]
        );
        assert_eq!(findings[0].worst_price().to_string(), "100%");
    }

    #[test]
    fn one_mebibyte_is_likely_and_not_proven() {
        let (mut lab, disk) = classic();
        shown(&mut lab, disk, "1024 KB", 1_047_553, 1_049_088);
        let finding = lab.one(
            &RULE,
            Severity::Note,
            "1024 KB can be 1,047,553 to 1,049,088 B: sectors 2,047, 2,048 and 2,049 of 512 B",
        );
        assert_eq!(
            finding.notes,
            [
                "1 MiB = 2,048 sectors = 1,048,576 B is the usual start since Windows Vista and Server 2008: likely, and still not proven"
            ]
        );
    }

    #[test]
    fn hidden_arrays_are_answered_for_the_usual_stripe_units() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        // 63 KB: sectors 125, 126 and 127, off every usual unit.
        shown(&mut lab, disk, "63 KB", 62 * 1024 + 1, 63 * 1024 + 512);
        let finding = lab.one(
            &RULE,
            Severity::Warning,
            "63 KB can be 63,489 to 65,024 B: sectors 125, 126 and 127 of 512 B",
        );
        assert!(finding.title.contains("all 7 plausible stripe units"));

        let mut lab = Lab::new();
        let disk = lab.disk(512);
        shown(&mut lab, disk, "32 KB", 31_745, 33_280);
        let finding = lab.one(
            &RULE,
            Severity::Note,
            "stripe unit not known; 16 KiB, 32 KiB: on for 1 of 3, sector 64",
        );
        assert!(
            finding
                .arithmetic
                .last()
                .is_some_and(|line| line.ends_with("512 KiB, 1 MiB: off for all 3"))
        );
    }

    #[test]
    fn megabytes_are_counted_not_listed() {
        let (mut lab, disk) = classic();
        let mib = 1_u64 << 20;
        shown(&mut lab, disk, "101 MB", 100 * mib + 1, 101 * mib + mib / 2);
        let finding = lab.one(
            &RULE,
            Severity::Note,
            "101 MB can be 104,857,601 to 106,430,464 B: 3,072 sectors, 204,801 to 207,872 of 512 B",
        );
        assert_eq!(
            finding.arithmetic[1],
            "physical sector 4 KiB: on for 384 of 3,072, sector 204,808 first"
        );
        assert!(finding.notes[0].starts_with("101 MiB = 206,848 sectors"));
    }

    #[test]
    fn what_holds_for_every_start_is_silent_or_certain() {
        // On sectors of 4,096 bytes one start is left, and it is on.
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.text(disk, Key::Transport, "sata");
        lab.stack.layer_mut(disk).grids.clear();
        lab.grid(disk, GridRole::LogicalSector, 4096);
        lab.grid(disk, GridRole::PhysicalSector, 4096);
        shown(&mut lab, disk, "1024 KB", 1_047_553, 1_049_088);
        lab.none(&RULE);
        // 33 KB is sector 65, 66 or 67: inside a physical sector, all of them.
        let (mut lab, disk) = classic();
        shown(&mut lab, disk, "33 KB", 32_769, 34_304);
        let finding = lab.one(
            &RULE,
            Severity::Error,
            "66 × 512 = 33,792 = 8 × 4,096 + 1,024",
        );
        assert!(finding.help[0].starts_with("start it at 1 MiB"));
        // An exact start is the other rules' business.
        let (mut lab, disk) = classic();
        lab.partition(disk, 63);
        lab.none(&RULE);
    }

    #[test]
    fn the_figure_is_found_in_its_line() {
        let shown = Interval::new(Bytes::new(31_745), Bytes::new(33_280)).expect("in order");
        for (line, figure) in [
            ("Partition 1  Primary  33 GB    32 KB", Some("32 KB")),
            ("Partition 1  Principale 32 G   32 Ko", Some("32 Ko")),
            ("* 32K", Some("32K")),
            ("31.5 KB", Some("31.5 KB")),
            ("31,5 KB", Some("31,5 KB")),
            ("Partition 32", None),
            ("", None),
        ] {
            assert_eq!(figure_in(line, shown), figure, "{line}");
        }
    }
}
