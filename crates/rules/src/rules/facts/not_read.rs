use std::collections::{BTreeMap, BTreeSet};
use straddle_stack::{AnomalyKind, LayerId, NOT_GIVEN};

use crate::context::Findings;
use crate::repair::FACTS;
use crate::shared::anomalies::report;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::NOT_READ,
    name: "not-read",
    summary: "part of the storage could not be read or was skipped, so the answer is incomplete",
    status: Status::Stable,
    repair: Repair::None(FACTS),
    page: Page {
        checks: "What is missing from the picture: parts of a device that gave an error, lists longer than the limit, facts that the system does \
                 not give to this user or this kernel, parents of a virtual disk that were not found, parts of a file inside a guest that \
                 lie nowhere by themselves (holes, compressed or encrypted parts), members of an array or volume group that were not given.",
        why: "The report has no opinion about a layer that was not read: silence is not a verdict. This finding says which layers those \
              are, and how to supply the facts.",
        evidence: "The error of the read, the limit that was reached, or the file that is absent.",
        example: "Without root the device nodes cannot be opened, so boot sectors on them are not read; sysfs still gives starts, sectors and \
                  stripe units.",
        fix: "Do what the finding says: run it as root, capture the host where it is allowed (`straddle capture`), give the missing fact by a \
              flag, or get the whole image.",
        fix_safety: "Reading changes nothing. When a device gives read errors, stop and copy it first (`ddrescue DISK COPY MAP`): every \
                     further read of a dying disk is a risk.",
        references: &["ddrescue(1)", "straddle capture --help"],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    report(
        RULE.code,
        context,
        findings,
        &[
            (AnomalyKind::Unreadable, Severity::Warning),
            (AnomalyKind::LimitReached, Severity::Note),
            (AnomalyKind::Missing, Severity::Note),
            // Parts of a file that have no place of their own, or none that says what a program reads there.
            (AnomalyKind::Inline, Severity::Note),
            (AnomalyKind::Sparse, Severity::Note),
            (AnomalyKind::Compressed, Severity::Note),
            (AnomalyKind::Encrypted, Severity::Note),
            (AnomalyKind::Unwritten, Severity::Note),
            (AnomalyKind::Pending, Severity::Note),
            (AnomalyKind::Elsewhere, Severity::Note),
        ],
        "",
        "",
    );
    report_members(context, findings);
}

/// Members shown by name; the others are counted.
const MAX_NAMED: usize = 4;

/// One finding for each array or volume group some of whose members were not given.
fn report_members(context: &Context<'_>, findings: &mut Findings) {
    let stack = context.stack;
    let mut sets: BTreeMap<LayerId, Vec<&str>> = BTreeMap::new();
    // An array that knows how many members it should have says so itself (STR208 and others).
    let mut told: BTreeSet<LayerId> = BTreeSet::new();
    for (whole, layer) in stack.iter().rev() {
        let mut anomalies = layer.anomalies.iter();
        let tells = anomalies
            .any(|odd| matches!(odd.kind, AnomalyKind::PartlyGiven | AnomalyKind::Degraded));
        // What it rests on comes behind it.
        if tells || told.contains(&whole) {
            told.insert(whole);
            told.extend(&layer.below);
        }
    }
    for (id, layer) in stack.iter() {
        let is_absent = layer.anomalies.iter().any(|odd| odd.detail == NOT_GIVEN);
        if is_absent && !told.contains(&id) {
            let whole = stack.above(id).next().unwrap_or(id);
            sets.entry(whole).or_default().push(&layer.name);
        }
    }
    for (id, names) in sets {
        let mut shown = names
            .iter()
            .take(MAX_NAMED)
            .copied()
            .collect::<Vec<_>>()
            .join(", ");
        if let Some(more) = names.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
            shown.push_str(&format!(" and {more} more"));
        }
        let (verb, them, their) = match names.len() {
            1 => ("was", "it", "its"),
            _ => ("were", "them", "their"),
        };
        let title = format!(
            "{}: {shown} {verb} not given: what lies on {them}, and {their} sectors, are not known",
            stack.layer(id).name
        );
        findings.push(
            Finding::new(RULE.code, Severity::Note, id, title)
                .help("name the images of all members: straddle check FIRST SECOND …; their order does not matter"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{AnomalyKind, NOT_GIVEN};

    #[test]
    fn errors_weigh_more_than_limits() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.odd(
            disk,
            AnomalyKind::Unreadable,
            "input/output error at byte 0",
        );
        lab.odd(disk, AnomalyKind::LimitReached, "more than 256 entries");
        let severities: Vec<Severity> = lab
            .findings(&RULE)
            .iter()
            .map(|finding| finding.severity)
            .collect();
        assert_eq!(severities, [Severity::Warning, Severity::Note]);
    }

    #[test]
    fn members_that_were_not_given_are_one_finding() {
        let mut lab = Lab::new();
        let disks = [(); 3].map(|()| lab.disk(512));
        lab.array(&disks, 65_536, &[0, 0, 0]);
        for disk in &disks[1..] {
            lab.odd(*disk, AnomalyKind::Missing, NOT_GIVEN);
        }
        let findings = lab.findings(&RULE);
        assert_eq!(findings.len(), 1, "{findings:#?}");
        assert!(
            findings[0]
                .title
                .contains("sda, sda were not given: what lies on them")
        );
    }

    #[test]
    fn what_was_read_is_silent() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.odd(disk, AnomalyKind::Damaged, "x");
        lab.none(&RULE);
    }
}
