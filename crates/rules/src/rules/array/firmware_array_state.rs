use straddle_stack::{Key, Layer, LayerId, Value};

use crate::context::Findings;
use crate::repair::STATE;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::FIRMWARE_ARRAY_STATE,
    name: "firmware-array-state",
    summary: "firmware RAID is degraded, rebuilding, migrating or dirty: costs hold only once it is optimal",
    status: Status::Stable,
    repair: Repair::None(STATE),
    page: Page {
        checks: "What the metadata of a firmware RAID say of its state: everything but optimal. Degraded, failed, missing, rebuilding and \
                 migrating volumes are a warning; dirty, initialising and verifying ones a note, since a volume that was copied while it was \
                 mounted is always dirty.",
        why: "The costs shown are those of a volume with all members present and in sync. Without one, reads are reconstructed from the \
              others; during a rebuild or a migration the members do that work too, and part of a migrating volume has the old geometry \
              and part the new. A dirty volume with parity is resynchronised first when it is started again.",
        evidence: "The state fields of the metadata on the members (IMSM: map state, migration type, dirty flag; DDF: VD_State and Init_State).",
        example: "IMSM: map state 2 (degraded), migration type 1 (rebuilding): the volume runs without one member, which is being filled.",
        fix: "Let it finish: `cat /proc/mdstat` and `mdadm --wait /dev/mdN`, or the vendor's tool; replace a disk that failed. Then check \
              again.",
        fix_safety: "Change no partition, and measure nothing, while a volume is rebuilt or migrated. A degraded volume without redundancy \
                     left is lost with the next disk: back it up first.",
        references: &[
            "mdadm(8), --examine and --wait",
            "SNIA, Common RAID Disk Data Format Specification, Virtual Disk Records: VD_State, Init_State",
        ],
    },
    check,
};

/// States in which a volume works as it does when all is well.
const HARMLESS: [&str; 5] = [
    "dirty",
    "initialising",
    "not initialised",
    "verifying",
    "partially optimal",
];

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.stack.iter() {
        if layer.attribute(Key::FirmwareRaid).is_some() {
            check_volume((id, layer), findings);
        }
    }
}

fn check_volume((id, layer): (LayerId, &Layer), findings: &mut Findings) {
    let states = layer.attributes.iter().filter(|a| a.key == Key::State);
    let bad: Vec<(&str, &straddle_stack::Source)> = states
        .filter_map(|attribute| match &attribute.value.value {
            Value::Text(text) if text != "optimal" => {
                Some((text.as_ref(), &attribute.value.source))
            }
            _ => None,
        })
        .collect();
    if bad.is_empty() {
        return;
    }
    let words: Vec<&str> = bad.iter().map(|(word, _)| *word).collect();
    let severity = if words.iter().all(|word| HARMLESS.contains(word)) {
        Severity::Note
    } else {
        Severity::Warning
    };
    let title = format!("{} is {}", layer.name, words.join(", "));
    let mut finding = Finding::new(RULE.code, severity, id, title);
    for (word, source) in bad {
        finding = finding.evidence(source, format!("state = {word}"));
    }
    findings.push(
        finding
            .note("prices in this report are those of the volume when all its members are in step")
            .help("wait until it is done (mdadm --wait, or the vendor's tool), replace a disk that failed, then check again"),
    );
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::Key;

    fn volume(states: &[&'static str]) -> Lab {
        let mut lab = Lab::new();
        let members = [lab.disk(512), lab.disk(512)];
        let array = lab.array(&members, 65_536, &[0, 0]);
        lab.text(array, Key::FirmwareRaid, "SNIA DDF");
        for state in states {
            lab.text(array, Key::State, state);
        }
        lab
    }

    #[test]
    fn what_is_missing_is_worse_than_what_is_dirty() {
        let found = volume(&["degraded", "rebuilding"]).findings(&RULE);
        assert_eq!(found[0].severity, Severity::Warning);
        assert!(found[0].title.ends_with("is degraded, rebuilding"));
        let found = volume(&["dirty"]).findings(&RULE);
        assert_eq!(found[0].severity, Severity::Note);
    }

    #[test]
    fn optimal_volumes_and_other_arrays_are_silent() {
        volume(&["optimal"]).none(&RULE);
        let mut lab = Lab::new();
        let members = [lab.disk(512), lab.disk(512)];
        let array = lab.array(&members, 65_536, &[0, 0]);
        lab.text(array, Key::State, "degraded");
        lab.none(&RULE);
    }
}
