use straddle_stack::activity::{Quantity, Span, Summary};
use straddle_stack::{Layer, LayerId};

use crate::context::Findings;
use crate::figures::{number, percent};
use crate::shared::activity::{active, show_largest, titled};
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::BACKUP_SLOWER,
    name: "backup-slower",
    summary: "backups of one database have become slower, or are slow beside reference systems",
    status: Status::Stable,
    repair: Repair::None("a backup's rate is a symptom; what it shows is repaired elsewhere"),
    page: Page {
        checks: "The messages of BACKUP and RESTORE: pages of 8 KiB ÷ seconds. Backups of one database against each other; and all against what \
                 other systems reach.",
        why: "A backup reads all pages in order in requests of up to 1 MiB, and is timed by itself: it is the benchmark that every server runs \
              each night. When the same database takes twice as long, the disks, their path or the target have changed. A low rate beside good \
              small requests points to few spindles, one file on one LUN, or the target.",
        evidence: "Pages and seconds from the message. The rate is computed again: old versions divide by 1,000,000, new ones by 1,048,576.",
        example: "8,259,522 pages in 638.561 s: 8,259,522 × 8,192 ÷ 638.561 = 105.96 million bytes a second; after a second channel and separate \
                  files 9,497,102 pages in 313.501 s = 248.17: +134%.",
        fix: "Back up to NUL with COPY_ONLY: the rate is then that of reading alone, and the difference is the target's. Then compare with the \
              sequential rate of the volume (straddle bench).",
        fix_safety: "BACKUP … TO DISK = 'NUL' WITH COPY_ONLY reads only; without COPY_ONLY it breaks the chain of differential backups.",
        references: &[
            "McBath, Database & Disk Configuration With SQL Server (SQL-DISK-005, 2007): rates of healthy and of sick systems",
        ],
    },
    check,
};

/// Smaller backups take as long as their opening and closing: 1,000 pages are 8 MB.
const FEWEST_PAGES: f64 = 1000.0;
const PAGE: f64 = 8192.0;

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer, activity) in active(context) {
        for (pages, seconds, what) in [
            (Quantity::BackupPages, Quantity::BackupTime, "backup"),
            (Quantity::RestorePages, Quantity::RestoreTime, "restore"),
        ] {
            let (Some(pages), Some(seconds)) = (
                activity.mean(pages, Span::Event),
                activity.mean(seconds, Span::Event),
            ) else {
                continue;
            };
            let rates = [rate(pages, seconds, true), rate(pages, seconds, false)];
            let [Some((first_rate, first)), Some((last_rate, last))] = rates else {
                findings.extend(all(id, layer, (pages, seconds), what));
                continue;
            };
            let (severity, title) = match pages.count {
                1 => (
                    Severity::Note,
                    format!(
                        "{} a {what} at {} million bytes a second",
                        titled(layer),
                        number(last_rate / 1e6)
                    ),
                ),
                count if last_rate < first_rate / 2.0 => (
                    Severity::Warning,
                    format!(
                        "{} the last of {count} {what}s is slower than the first by {}",
                        titled(layer),
                        percent(1.0 - last_rate / first_rate)
                    ),
                ),
                count => (
                    Severity::Note,
                    format!(
                        "{} {count} {what}s, the first at {} and the last at {} million bytes a second",
                        titled(layer),
                        number(first_rate / 1e6),
                        number(last_rate / 1e6)
                    ),
                ),
            };
            let mut finding = Finding::new(RULE.code, severity, id, title)
                .evidence(&pages.first.source, "the first");
            if pages.count > 1 {
                let source = pages.last.source.as_ref().unwrap_or(&pages.first.source);
                finding = finding.evidence(source, "the last").arithmetic(first);
            }
            finding = finding.arithmetic(last);
            if pages.count > 1 {
                let gain = last_rate / first_rate - 1.0;
                let sign = if gain < 0.0 { "−" } else { "+" };
                finding = finding.arithmetic(format!(
                    "{} ÷ {} = {sign}{}",
                    number(last_rate / 1e6),
                    number(first_rate / 1e6),
                    percent(gain.abs())
                ));
            }
            findings.push(finding.note(beside(last_rate / 1e6)).help(
                "BACKUP … TO DISK = 'NUL' WITH COPY_ONLY tells the rate of reading alone: what is missing then is the target's",
            ));
        }
    }
}

/// All together, where the first or the last one is too short to say anything.
fn all(
    id: LayerId,
    layer: &Layer,
    (pages, seconds): (&Summary, &Summary),
    what: &str,
) -> Option<Finding> {
    let (sum, time) = (pages.sum.get(), seconds.sum.get());
    if sum < FEWEST_PAGES || time <= 0.0 {
        return None;
    }
    let rate = sum * PAGE / time / 1e6;
    let title = format!(
        "{} {} {what}s at {} million bytes a second in all",
        titled(layer),
        pages.count,
        number(rate)
    );
    let finding = Finding::new(RULE.code, Severity::Note, id, title);
    Some(
        show_largest(finding, pages, "the longest")
            .arithmetic(format!(
                "{} pages × 8,192 ÷ {time} s = {rate:.3} million bytes a second",
                number(sum)
            ))
            .note(beside(rate)),
    )
}

/// Bytes a second of the first or the last one, and how they are computed.
fn rate(pages: &Summary, seconds: &Summary, first: bool) -> Option<(f64, String)> {
    let of = |summary: &Summary| match first {
        true => summary.first.value.get(),
        false => summary.last.value.get(),
    };
    let (pages, seconds) = (of(pages), of(seconds));
    if pages < FEWEST_PAGES || seconds <= 0.0 {
        return None;
    }
    let rate = pages * PAGE / seconds;
    // Cut off after three digits, as the message itself does.
    let shown = (rate / 1e3).floor() / 1e3;
    let line = format!(
        "{} pages × 8,192 ÷ {seconds} s = {shown:.3} million bytes a second",
        number(pages)
    );
    Some((rate, line))
}

/// Where a rate stands among published ones.
fn beside(rate: f64) -> String {
    const KNOWN: [(f64, &str); 7] = [
        (
            25.154,
            "one file on one LUN of RAID 5 with accesses of 200 ms",
        ),
        (35.326, "concatenated RAID volumes"),
        (75.679, "a single 10K SATA disk"),
        (105.960, "one RAID 0+1 device of mixed disks"),
        (
            248.165,
            "the same after a second channel and separate files",
        ),
        (359.638, "RAID 10 of 72 GB 15K disks on a SAN"),
        (653.921, "a great system of that time"),
    ];
    let below = KNOWN.iter().rev().find(|(known, _)| *known <= rate);
    let above = KNOWN.iter().find(|(known, _)| *known > rate);
    let say = |(rate, what): &(f64, &str)| format!("{rate} ({what})");
    match (below, above) {
        (Some(below), Some(above)) => format!(
            "published in 2007: between {} and {}",
            say(below),
            say(above)
        ),
        (None, Some(above)) => format!("published in 2007: less than {}", say(above)),
        (Some(below), None) => format!("published in 2007: more than {}", say(below)),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{RULE, beside};
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::LayerKind;
    use straddle_stack::activity::{Quantity, Span};

    fn lab(pages: &[f64], seconds: &[f64]) -> Lab {
        let mut lab = Lab::new();
        let series = [
            (Quantity::BackupPages, Span::Event, pages),
            (Quantity::BackupTime, Span::Event, seconds),
        ];
        lab.active(LayerKind::Service, &[], &series);
        lab
    }

    #[test]
    fn rates_are_computed_of_pages_and_seconds() {
        let line = "9,497,102 pages × 8,192 ÷ 313.501 s = 248.165 million bytes a second";
        let gain = lab(&[8_259_522.0, 9_497_102.0], &[638.561, 313.501]);
        gain.one(&RULE, Severity::Note, line);
        gain.one(&RULE, Severity::Note, "248 ÷ 106 = +134%");
        let line = "8,259,522 pages × 8,192 ÷ 638.561 s = 105.960 million bytes a second";
        gain.one(&RULE, Severity::Note, line);
        lab(&[9_497_102.0, 8_259_522.0], &[313.501, 638.561]).one(
            &RULE,
            Severity::Warning,
            "106 ÷ 248 = −57%",
        );
        let line = "5,000 pages × 8,192 ÷ 11 s = 3.724 million bytes a second";
        lab(&[5000.0, 0.0], &[10.0, 1.0]).one(&RULE, Severity::Note, line);
        // Too short to say anything.
        lab(&[3.0], &[0.019]).none(&RULE);
    }

    #[test]
    fn a_rate_has_its_place_among_published_ones() {
        assert!(beside(80.0).contains("between 75.679"));
        assert!(beside(1.0).contains("less than 25.154"));
        assert!(beside(9000.0).contains("more than 653.921"));
    }
}
