//! What rules about things that probers and sources found odd share.

use straddle_stack::{Anomaly, AnomalyKind, Layer, NOT_GIVEN, Source};

use crate::context::Findings;
use crate::{Code, Context, Finding, Severity};

/// One finding for each anomaly of these kinds, with what it means and what to do about it.
pub(crate) fn report(
    code: Code,
    context: &Context<'_>,
    findings: &mut Findings,
    kinds: &[(AnomalyKind, Severity)],
    note: &str,
    help: &str,
) {
    for (id, layer) in context.stack.iter() {
        for anomaly in &layer.anomalies {
            let Some((_, severity)) = kinds.iter().find(|(kind, _)| *kind == anomaly.kind) else {
                continue;
            };
            // Told of all members of a set at once, by whoever asks for this kind.
            if anomaly.detail == NOT_GIVEN {
                continue;
            }
            let title = format!("{}: {}", subject(layer, anomaly), anomaly.detail);
            let mut finding = Finding::new(code, *severity, id, title);
            if let Some(source) = &anomaly.source {
                finding = finding.evidence(source, anomaly.kind.name());
            }
            if let Some(against) = &anomaly.against {
                finding = finding.evidence(against, "against this");
            }
            for (line, add) in [
                (note, Finding::note as fn(Finding, String) -> Finding),
                (help, Finding::help),
            ] {
                if !line.is_empty() {
                    finding = add(finding, line.to_owned());
                }
            }
            findings.push(finding);
        }
    }
}

/// What an anomaly is about: of a text, the file.
fn subject<'a>(layer: &'a Layer, anomaly: &'a Anomaly) -> &'a str {
    let is_of_text = anomaly.of_text || anomaly.kind == AnomalyKind::Truncated;
    match &anomaly.source {
        Some(Source::Captured { file, .. }) if is_of_text => file,
        _ => &layer.name,
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::facts::{misprint, unit_unclear};
    use crate::testing::{Lab, captured};
    use straddle_stack::{Anomaly, AnomalyKind};

    #[test]
    fn what_is_said_of_a_text_is_not_said_of_its_first_disk() {
        for (kind, rule) in [
            (AnomalyKind::Misprint, &misprint::RULE),
            (AnomalyKind::UnitUnclear, &unit_unclear::RULE),
        ] {
            let mut lab = Lab::new();
            let disk = lab.disk(512);
            lab.disk(512);
            let said = Anomaly::at(kind, "it cannot be", captured("a.txt", 3, "x"));
            let layer = lab.stack.layer_mut(disk);
            layer.anomalies = vec![said.clone(), said.of_text()];
            let findings = lab.findings(rule);
            assert_eq!(findings[0].title, "sda: it cannot be");
            assert_eq!(findings[1].title, "a.txt: it cannot be");
        }
    }
}
