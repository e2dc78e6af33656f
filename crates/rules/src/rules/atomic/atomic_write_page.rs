use straddle_geometry::Bytes;
use straddle_stack::{GridRole, Key, LayerKind};

use crate::context::Findings;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::ATOMIC_WRITE_PAGE,
    name: "atomic-write-page",
    summary: "the largest atomic write is smaller than the database page",
    status: Status::Stable,
    repair: Repair::None(
        "the device decides what it writes atomically: keep torn-page protection on",
    ),
    page: Page {
        checks: "Whether the device's largest atomic write covers a whole page of the database file on it.",
        why: "A page that takes several device writes can be torn by a power failure: the first part new, the rest old. The database then \
              needs its own protection (double write, full-page images, checksums with restore), which costs writes. Turning that off for \
              speed is safe only if one atomic write covers the page.",
        evidence: "sysfs `queue/atomic_write_unit_max_bytes` and the page size from the database file.",
        example: "Pages of 16,384 bytes on a drive that writes 4,096 atomically: 16,384 ÷ 4,096 = 4 writes, three places to tear.",
        fix: "Keep `innodb_doublewrite=ON` or `full_page_writes=on`. A drive with a larger atomic unit (16 KiB and more are sold), a \
              filesystem that offers untorn writes (ext4 bigalloc, XFS) and direct I/O are needed to drop it.",
        fix_safety: "Never turn torn-page protection off because a device is `enterprise`: test by cutting power, or keep it.",
        references: &[
            "Linux Documentation/ABI/stable/sysfs-block: atomic_write_unit_max_bytes",
            "NVM Express base specification: AWUPF, NAWUPF, NABSPF",
        ],
    },
    check,
};

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::DatabasePage) {
        let Some(page) = layer.grid(GridRole::DatabasePage) else {
            continue;
        };
        let size = page.value.unit();
        let largest = context
            .stack
            .foundations(id)
            .into_iter()
            .filter_map(|below| context.stack.layer(below).bytes(Key::AtomicWriteMax))
            .filter(|fact| fact.value > Bytes::ZERO)
            .min_by_key(|fact| fact.value);
        let Some(largest) = largest.filter(|fact| fact.value < size.bytes()) else {
            continue;
        };
        let title = format!(
            "{}: pages of {size} are larger than the largest atomic write of {}",
            layer.name, largest.value
        );
        findings.push(
            Finding::new(RULE.code, Severity::Note, id, title)
                .evidence(&page.source, format!("page = {size}"))
                .evidence(
                    &largest.source,
                    format!("largest atomic write = {}", largest.value),
                )
                .arithmetic(format!(
                    "{} > {}",
                    size.bytes().grouped(),
                    largest.value.grouped()
                ))
                .help("keep the database's torn-page protection on"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, LayerKind};

    fn pages(largest: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.bytes(disk, Key::AtomicWriteMax, largest);
        let pages = lab.upper(LayerKind::DatabasePage, "innodb", disk, 0);
        lab.grid(pages, GridRole::DatabasePage, 16_384);
        lab
    }

    #[test]
    fn four_writes_can_be_torn() {
        pages(4096).one(&RULE, Severity::Note, "16,384 > 4,096");
    }

    #[test]
    fn one_write_or_none_promised_is_silent() {
        pages(16_384).none(&RULE);
        pages(0).none(&RULE);
    }
}
