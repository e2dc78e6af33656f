use straddle_geometry::{Bytes, Unit};
use straddle_stack::{GridRole, Key, Layer, LayerId, LayerKind, Seen, SeenGrid};

use crate::context::Findings;
use crate::wording::{Correlation, division};
use crate::{Context, Finding, Page, Prices, Repair, Rule, Severity, Status, codes};

pub(crate) static RULE: Rule = Rule {
    code: codes::DATABASE_PAGE,
    name: "database-page",
    summary: "database pages do not fit the physical sectors or clusters below",
    status: Status::Stable,
    repair: Repair::None(
        "page size is set when a database is created: dump and reload it, or move it to another volume",
    ),
    page: Page {
        checks: "Whether the pages of a database file begin on physical sectors, are whole numbers of them, and lie each within one \
                 allocation unit. For SQL Server also whether the sectors are larger than 4 KiB, with which it does not run.",
        why: "A page that covers sectors in part makes each page write a read-modify-write, and can be torn if power fails in between. A \
              page larger than the cluster may be split in two at the end of an extent.",
        evidence: "The page size from the file's first page; sectors and clusters from the layers below, or assumed or given by a flag when the \
                   file is looked at by itself.",
        example: "PostgreSQL pages of 8,192 bytes on a drive with 16,384-byte sectors: 8,192 ÷ 16,384 = 0.5; each page write rewrites one \
                  whole sector. With 4 KiB clusters, 8,192 ÷ 4,096 = 2 clusters may be apart. SQL Server on the same drive: no price, since \
                  it supports sectors of 512 and 4,096 bytes only and does not start.",
        fix: "Databases whose page size can be chosen: make it a multiple of the sector. Otherwise use a volume whose sectors divide the \
              page, and 64 KiB clusters. Keep torn-page protection on (`full_page_writes`, `doublewrite`, `CHECKSUM`). SQL Server: put its \
              files on storage that reports 512 or 4,096; where an NVMe drive reports more to Windows 11 or Server 2022, Microsoft names a \
              registry value, ForcedPhysicalSectorSizeInBytes = `* 4095`, for its driver.",
        fix_safety: "The page size is fixed when a database is created: changing it means dumping and loading.",
        references: &[
            "https://www.postgresql.org/docs/current/runtime-config-wal.html: full_page_writes",
            "https://learn.microsoft.com/en-us/sql/relational-databases/pages-and-extents-architecture-guide",
            "https://learn.microsoft.com/en-us/troubleshoot/sql/database-engine/database-file-operations/troubleshoot-os-4kb-disk-sector-size",
            "Oracle Database SQL Language Reference, file_specification: BLOCKSIZE of redo log files",
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
        for grid in context.below(id, GridRole::PhysicalSector) {
            let sector = grid.fact.value.unit();
            let Seen::Uniform(seen) = grid.seen else {
                continue;
            };
            if layer.format.as_deref() == Some("sqlserver") && sector > Unit::B4096 {
                findings.push(unsupported(id, layer, grid));
                continue;
            }
            let fits = size.bytes().is_multiple_of(sector);
            if fits && seen.contains(Bytes::ZERO) {
                continue;
            }
            // Pages are what is read and written, whatever sizes were asked for.
            let prices = Prices::of(grid.role, sector, &grid.seen, Bytes::ZERO, &[size]);
            let what = if fits {
                "start inside a physical sector"
            } else {
                "are not a whole number of physical sectors"
            };
            let title = format!("{}: pages of {size} {what} of {sector}", layer.name);
            let finding = if fits {
                Finding::priced(RULE.code, id, title, prices)
            } else {
                // Starting elsewhere would not help: not a matter of price.
                Finding::new(RULE.code, Severity::Warning, id, title)
            };
            findings.push(
                finding
                    .evidence(&page.source, format!("page = {size}"))
                    .evidence(&grid.fact.source, format!("physical sector = {sector}"))
                    .arithmetic(if fits {
                        division(
                            seen.remainder(Bytes::ZERO),
                            straddle_geometry::Grid::new(sector),
                        )
                    } else {
                        Correlation::new("page ÷ sector", size.bytes(), sector).arithmetic()
                    })
                    .help(if is_redo_log(layer) {
                        "make redo logs of larger blocks: ALTER DATABASE ADD LOGFILE … BLOCKSIZE 4096, then drop the old ones"
                    } else {
                        "keep torn-page protection on; put the file where sectors divide its pages"
                    }),
            );
        }
        for grid in context.below(id, GridRole::AllocationUnit) {
            let cluster = grid.fact.value.unit();
            if size <= cluster {
                continue;
            }
            let title = format!(
                "{}: pages of {size} are larger than the allocation unit of {cluster}",
                layer.name
            );
            findings.push(
                Finding::new(RULE.code, Severity::Note, id, title)
                    .evidence(&page.source, format!("page = {size}"))
                    .evidence(&grid.fact.source, format!("allocation unit = {cluster}"))
                    .arithmetic(
                        Correlation::new("page ÷ allocation unit", size.bytes(), cluster)
                            .arithmetic(),
                    )
                    .note("a page may be cut in two where the file is fragmented"),
            );
        }
    }
}

/// Oracle's data files have the block of their tablespace; of its redo logs each has its own.
fn is_redo_log(layer: &Layer) -> bool {
    layer.format.as_deref() == Some("oracle") && layer.text(Key::Subformat) == Some("redo log")
}

/// SQL Server does not start there, so there is nothing to price.
fn unsupported(id: LayerId, layer: &Layer, grid: &SeenGrid<'_>) -> Finding {
    let sector = grid.fact.value.unit();
    let title = format!(
        "{}: SQL Server does not run on physical sectors of {sector}",
        layer.name
    );
    Finding::new(RULE.code, Severity::Warning, id, title)
        .evidence(&grid.fact.source, format!("physical sector = {sector}"))
        .arithmetic(format!(
            "{} > 4,096, the largest that it supports",
            sector.bytes().grouped()
        ))
        .note("no price: it is refused, not slow")
        .help("put the file on storage that reports sectors of 512 or 4,096 bytes")
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::Severity;
    use crate::testing::Lab;
    use straddle_stack::{GridRole, Key, LayerKind};

    fn pages(physical: u64, at: u64) -> Lab {
        pages_of("postgres", physical, at)
    }

    fn pages_of(database: &'static str, physical: u64, at: u64) -> Lab {
        let mut lab = Lab::new();
        let disk = lab.disk(physical);
        let file = lab.file(disk, &[(0, 1 << 20, at)]);
        let pages = lab.upper(LayerKind::DatabasePage, database, file, 0);
        lab.grid(pages, GridRole::DatabasePage, 8192);
        lab
    }

    #[test]
    fn pages_that_do_not_fit_are_found() {
        pages(16_384, 1 << 20).one(&RULE, Severity::Warning, "8,192 ÷ 16,384 = 0.5");
        pages(4096, 32_256).one(&RULE, Severity::Error, "3,584 = 0 × 4,096 + 3,584");
    }

    #[test]
    fn redo_logs_of_oracle_can_have_larger_blocks() {
        for (kind, help) in [("redo log", "BLOCKSIZE 4096"), ("data file", "torn-page")] {
            let mut lab = Lab::new();
            let disk = lab.disk(4096);
            let file = lab.upper(LayerKind::File, "", disk, 1 << 20);
            let pages = lab.upper(LayerKind::DatabasePage, "oracle", file, 0);
            lab.grid(pages, GridRole::DatabasePage, 512);
            lab.text(pages, Key::Subformat, kind);
            let found = lab.one(&RULE, Severity::Warning, "512 ÷ 4,096 = 0.125");
            assert!(format!("{found:?}").contains(help), "{found:?}");
        }
    }

    #[test]
    fn sql_server_is_not_priced_where_it_does_not_run() {
        let line = "8,192 > 4,096, the largest that it supports";
        let finding = pages_of("sqlserver", 8192, 1 << 20).one(&RULE, Severity::Warning, line);
        assert!(finding.prices.is_none());
        pages_of("sqlserver", 16_384, 32_256).one(
            &RULE,
            Severity::Warning,
            "16,384 > 4,096, the largest that it supports",
        );
        pages_of("sqlserver", 4096, 1 << 20).none(&RULE);
        pages_of("postgres", 8192, 1 << 20).none(&RULE);
    }

    #[test]
    fn small_clusters_are_a_note() {
        let mut lab = Lab::new();
        let disk = lab.disk(512);
        let fs = lab.filesystem("ntfs", disk, 4096);
        let pages = lab.upper(LayerKind::DatabasePage, "sqlserver", fs, 0);
        lab.grid(pages, GridRole::DatabasePage, 8192);
        lab.one(&RULE, Severity::Note, "8,192 ÷ 4,096 = 2");
    }

    #[test]
    fn pages_on_sectors_are_silent() {
        pages(4096, 1 << 20).none(&RULE);
    }
}
