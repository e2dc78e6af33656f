use straddle_geometry::Bytes;
use straddle_stack::{GridRole, Key, LayerKind};

use crate::context::Findings;
use crate::shared::cloud::{Cloud, cloud_of};
use crate::wording::Correlation;
use crate::{Context, Finding, Page, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::TORN_PAGE,
    name: "torn-page",
    summary: "database pages take several sectors, and only the database protects them",
    status: Status::Stable,
    repair: Repair::None("a page is torn or not by what the database does: keep that on"),
    page: Page {
        checks: "Whether pages of a database file are larger than a physical sector where nothing below promises larger writes whole. Where a \
                 device says how much it writes atomically, STR702 compares.",
        why: "A power failure in the middle of a page leaves sectors of the new page beside sectors of the old. Each database has one thing \
              that saves it from that, or finds it at least, and all of them can be switched off: PostgreSQL and InnoDB keep a second copy, SQL \
              Server and Oracle find a torn page when they read it next and need a backup. WiredTiger never writes over a page that counts, and \
              is left out.",
        evidence: "The page size and the format from the database file; the physical sector of the device; for volumes of clouds their model, \
                   and what their vendors promise for it.",
        example: "InnoDB pages of 16,384 bytes on sectors of 4,096: 16,384 ÷ 4,096 = 4 sectors, three places to tear. On Amazon EBS, 16,384 \
                  bytes at a multiple of 16,384 are promised whole, if file system and volume manager do not cut them.",
        fix: "PostgreSQL: `full_page_writes=on`. InnoDB: `innodb_doublewrite=ON`. SQL Server: `CHECKSUM` as page verification, and backups that \
              were restored. Oracle: `DB_BLOCK_CHECKSUM`, archived redo logs and backups. On Amazon EBS and Azure managed disks of NVMe, a \
              database may go without when every page lies on a multiple of its size on the volume: files in whole blocks of that size (ext4 \
              with bigalloc), direct I/O, and a kernel that does not cut.",
        fix_safety: "Never turn torn-page protection off because a device is `enterprise`: test by cutting power, or keep it.",
        references: &[
            "https://www.postgresql.org/docs/current/wal-reliability.html",
            "https://dev.mysql.com/doc/refman/8.0/en/innodb-doublewrite-buffer.html",
            "https://learn.microsoft.com/en-us/sql/relational-databases/pages-and-extents-architecture-guide",
            "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/supported-block-sizes.html, and twp-reqs.html beside it",
            "https://learn.microsoft.com/en-us/azure/virtual-machines/disks-torn-write-prevention",
        ],
    },
    check,
};

/// What a database does about torn pages, and what must stay as it is for that. `None` for those that write no page twice to one place.
fn protection(format: &str) -> Option<(&'static str, &'static str)> {
    Some(match format {
        "postgresql" => (
            "PostgreSQL writes each page whole to its log at the first change after a checkpoint",
            "keep full_page_writes on",
        ),
        "innodb" => (
            "InnoDB writes each page to its doublewrite buffer first",
            "keep innodb_doublewrite on",
        ),
        "sqlserver" => (
            "SQL Server finds a torn page by its checksum when it reads it, and does not repair it",
            "keep page verification at CHECKSUM, and backups that were restored",
        ),
        "oracle" => (
            "Oracle finds a torn block by its checksum when it reads it, and repairs it from a backup and redo logs",
            "keep DB_BLOCK_CHECKSUM on, and backups with archived logs",
        ),
        _ => return None,
    })
}

fn check(context: &Context<'_>, findings: &mut Findings) {
    for (id, layer) in context.of_kind(LayerKind::DatabasePage) {
        let known = layer.format.as_deref().and_then(protection);
        let (Some(page), Some((does, keep))) = (layer.grid(GridRole::DatabasePage), known) else {
            continue;
        };
        let below = context.stack.foundations(id);
        let mut devices = below.iter().map(|below| context.stack.layer(*below));
        let said = |key| move |layer: &straddle_stack::Layer| layer.bytes(key);
        let atomic = devices
            .clone()
            .filter_map(said(Key::AtomicWriteMax))
            .any(|largest| largest.value > Bytes::ZERO);
        let size = page.value.unit();
        let sectors = context.below(id, GridRole::PhysicalSector);
        let smallest = sectors.min_by_key(|grid| grid.fact.value.unit());
        let Some(sector) =
            smallest.filter(|grid| !atomic && grid.fact.value.unit().bytes() < size.bytes())
        else {
            continue;
        };
        let unit = sector.fact.value.unit();
        let title = format!(
            "{}: pages of {size} take several sectors of {unit}, and can be torn",
            layer.name
        );
        let mut finding = Finding::new(RULE.code, Severity::Note, id, title)
            .evidence(&page.source, format!("page = {size}"))
            .evidence(&sector.fact.source, format!("physical sector = {unit}"))
            .arithmetic(Correlation::new("page ÷ sector", size.bytes(), unit).arithmetic())
            .note(does);
        let cloud = devices.find_map(|device| Some((cloud_of(device)?, device)));
        if let Some((cloud, device)) = cloud {
            if let Some(model) = device.attribute(Key::Model) {
                finding = finding.evidence(&model.source, format!("model = {}", model.value));
            }
            if let Some(note) = promise(cloud, size.bytes()) {
                finding = finding.note(note);
            }
        }
        findings.push(finding.help(keep));
    }
}

/// What the vendor promises for pages of this size.
fn promise(cloud: &Cloud, page: Bytes) -> Option<String> {
    let untorn = cloud.untorn?;
    Some(if page <= untorn {
        format!(
            "promised by {}: {} bytes whole at a multiple of that, where nothing above cuts them",
            cloud.name,
            untorn.grouped()
        )
    } else {
        format!(
            "promised by {}: no more than {} bytes whole on every volume",
            cloud.name,
            untorn.grouped()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, LayerKind};

    fn pages(format: &'static str, page: u64, sector: u64, model: &'static str) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(sector);
        lab.text(disk, Key::Model, model);
        let pages = lab.upper(LayerKind::DatabasePage, format, disk, 0);
        lab.grid(pages, GridRole::DatabasePage, page);
        lab
    }

    #[test]
    fn each_database_has_its_own_protection() {
        for (format, keep) in [
            ("postgresql", "full_page_writes"),
            ("innodb", "innodb_doublewrite"),
            ("sqlserver", "CHECKSUM"),
            ("oracle", "DB_BLOCK_CHECKSUM"),
        ] {
            let found =
                pages(format, 16_384, 4096, "").one(&RULE, Severity::Note, "16,384 ÷ 4,096 = 4");
            let help = format!("{found:?}");
            assert!(help.contains(keep), "{help}");
        }
        pages("wiredtiger", 16_384, 4096, "").none(&RULE);
    }

    #[test]
    fn a_page_of_one_sector_and_a_known_atomic_write_are_silent() {
        pages("innodb", 4096, 4096, "").none(&RULE);
        pages("oracle", 512, 4096, "").none(&RULE);
        let mut lab = Lab::new();
        let disk = lab.disk(4096);
        lab.bytes(disk, Key::AtomicWriteMax, 4096);
        let pages = lab.upper(LayerKind::DatabasePage, "innodb", disk, 0);
        lab.grid(pages, GridRole::DatabasePage, 16_384);
        lab.none(&RULE);
    }

    #[test]
    fn clouds_promise_what_their_pages_say() {
        for (model, page, said) in [
            (
                "Amazon Elastic Block Store",
                16_384,
                "by Amazon EBS: 16,384 bytes whole",
            ),
            (
                "Amazon Elastic Block Store",
                32_768,
                "by Amazon EBS: no more than 16,384",
            ),
            (
                "Amazon EC2 NVMe Instance Storage",
                16_384,
                "storage: no more than 4,096",
            ),
            (
                "MSFT NVMe Accelerator v1.0",
                8192,
                "disks: 16,384 bytes whole",
            ),
        ] {
            let found = pages("innodb", page, 512, model).findings(&RULE);
            let text = format!("{found:?}");
            assert!(text.contains(said), "{text}");
        }
    }
}
