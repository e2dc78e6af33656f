use straddle_stack::{AnomalyKind, Key, Layer, LayerId};

use crate::context::{Findings, platform_of};
use crate::repair::FACTS;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::SAME_IDENTITY,
    name: "same-identity",
    summary: "two disks have the same identity: clones of each other, or two paths to one disk",
    status: Status::Stable,
    repair: Repair::None(FACTS),
    page: Page {
        checks: "Disks with different numbers or names, in one capture, that share a serial number, a world-wide name, a disk signature or a disk \
                 GUID. Disks that multipath has already joined are left out.",
        why: "Two paths to one LUN are one disk: its findings count once, and writing through both without a multipath driver destroys \
              data. Clones are two disks: Windows takes the second one with the same signature offline, and captures do not show which of \
              them a fact belongs to. Straddle keeps them as two.",
        evidence: "The lines with the identity of both, each with its file and number.",
        example: "`disk 2` and `disk 3` with the disk GUID of the template from which a virtual machine was cloned; `sda` and `sdb` with one \
                  world-wide name, over two host adapters.",
        fix: "Find out which it is: equal serial number and world-wide name mean two paths (install the multipath driver), equal signature \
              or GUID with different serial numbers means a clone (`uniqueid disk` in DiskPart, `sgdisk -G DISK` on Linux give a new one).",
        fix_safety: "A new signature or GUID breaks boot configurations and cluster resources that name the old one; change it on the copy, \
                     never on the original, and not while the disk is in use.",
        references: &[
            "https://learn.microsoft.com/en-us/windows-server/administration/windows-commands/uniqueid",
            "multipath(8)",
        ],
    },
    check,
};

/// What tells paths from clones.
const TELLS: [(&str, &str); 3] = [
    (
        "windows",
        "two paths to one disk, or two disks? mpclaim -s -d lists what multipath I/O has joined; Get-Disk | Format-List \
         Number,UniqueId,SerialNumber,Signature,Guid compares identities",
    ),
    (
        "linux",
        "two paths to one disk, or two disks? multipath -ll lists what was joined; lsblk -o NAME,WWN,SERIAL,PTUUID compares identities",
    ),
    (
        "esxi",
        "two paths to one disk, or two disks? esxcli storage core path list shows which paths lead to which device",
    ),
];

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.stack.iter() {
        if is_joined(context, id) {
            continue;
        }
        let twins = layer.anomalies.iter();
        for anomaly in twins.filter(|anomaly| anomaly.kind == AnomalyKind::SameIdentity) {
            let title = format!("{} {}", layer.name, anomaly.detail);
            let mut finding = Finding::new(RULE.code, Severity::Note, id, title);
            let sources = [
                (anomaly.source.as_ref(), "this"),
                (anomaly.against.as_deref(), "and this"),
            ];
            for (source, label) in sources {
                if let Some(source) = source {
                    finding = finding.evidence(source, label);
                }
            }
            finding = finding.note("they are taken for two disks, and every finding on them is there twice if they are one");
            let platform = platform_of(context.stack, id);
            let tells = TELLS.iter().find(|(system, _)| *system == platform);
            if let Some((_, tells)) = tells {
                finding = finding.help(*tells);
            }
            findings.push(finding);
        }
    }
}

/// True for a path of a multipath device.
fn is_joined(context: &Context<'_>, id: LayerId) -> bool {
    let is_multipath = |layer: &Layer| {
        layer.format.as_deref() == Some("multipath") || layer.text(Key::Target) == Some("multipath")
    };
    context
        .stack
        .above(id)
        .any(|above| is_multipath(context.stack.layer(above)))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::Lab;
    use straddle_geometry::Map;
    use straddle_stack::{AnomalyKind, Key, LayerKind};

    #[test]
    fn twins_are_told_with_what_tells_them_apart() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.text(disk, Key::Platform, "linux");
        lab.odd(
            disk,
            AnomalyKind::SameIdentity,
            "has the serial number A as sdb has",
        );
        let findings = lab.findings(&RULE);
        assert_eq!(findings[0].title, "sda has the serial number A as sdb has");
        assert!(findings[0].help[0].contains("multipath -ll"));
    }

    #[test]
    fn paths_that_were_joined_are_silent() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        lab.odd(disk, AnomalyKind::SameIdentity, "as sdb");
        let paths = lab.over(LayerKind::Volume, &[disk], Map::IDENTITY);
        lab.stack.layer_mut(paths).format = Some("multipath".into());
        lab.none(&RULE);
    }
}
