use straddle_fix::change::partitions::Partitions;
use straddle_geometry::{Bytes, Extent, SectorSize, both_ways};

use crate::Refusal;

/// Of which kind a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Four entries, one of which may hold a chain of others.
    Mbr,
    /// Two copies of an array of entries.
    Gpt,
}

/// A partition, where it is and where it will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number in the table.
    pub number: u64,
    /// Where it is.
    pub from: Extent,
    /// Where it will be; at least as long.
    pub to: Extent,
}

impl Place {
    /// True when it starts elsewhere.
    #[must_use]
    pub fn moves(&self) -> bool {
        self.from.start() != self.to.start()
    }
}

/// What becomes of the partitions of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Of which kind the table is.
    pub table: Table,
    /// What it counts in.
    pub sector: SectorSize,
    /// How long the disk will be.
    pub size: Bytes,
    /// All partitions that hold data; those that stay, too.
    pub partitions: Vec<Place>,
    /// The extended partition of an MBR.
    pub extended: Option<Place>,
}

impl Layout {
    /// Where a plan puts the partitions of a disk of this size.
    ///
    /// # Errors
    /// When the table is of a kind that is not written here, or a partition would become shorter.
    pub fn of(plan: &Partitions, size: Bytes) -> Result<Layout, Refusal> {
        let table = match plan.table.as_str() {
            "mbr" => Table::Mbr,
            "gpt" => Table::Gpt,
            other => {
                return Err(Refusal::new(
                    format_args!("the partition table is of the kind {other}"),
                    "only MBR and GPT are written; copy the data to a disk with one of these",
                ));
            }
        };
        let entries = plan.entries.iter().map(|entry| Place {
            number: entry.number,
            from: entry.from,
            to: entry.to,
        });
        let layout = Layout {
            table,
            sector: plan.sector,
            size,
            partitions: entries.collect(),
            extended: plan.extended.as_ref().map(|extended| Place {
                number: extended.number,
                from: extended.from,
                to: extended.to,
            }),
        };
        layout.is_sound().map(|()| layout)
    }

    /// The partitions that start elsewhere.
    pub fn moved(&self) -> impl Iterator<Item = &Place> {
        self.partitions.iter().filter(|place| place.moves())
    }

    /// What must hold whatever the table says.
    pub(super) fn is_sound(&self) -> Result<(), Refusal> {
        for place in &self.partitions {
            let (number, to) = (place.number, place.to);
            if to.len() < place.from.len() {
                let short = place.from.len().checked_sub(to.len()).unwrap_or_default();
                return Err(Refusal::new(
                    format_args!(
                        "partition {number} has no room behind it: it would have to become {} shorter",
                        both_ways(short)
                    ),
                    "make the disk longer (an image: --grow), or shrink the filesystem and the partition first",
                ));
            }
            if to.end() > self.size {
                return Err(Refusal::new(
                    format_args!(
                        "partition {number} would end at byte {}, and the disk has {}",
                        to.end().grouped(),
                        self.size.grouped()
                    ),
                    "choose a lower start, or make the disk longer (an image: --grow)",
                ));
            }
            let unit = self.sector.unit();
            if !to.start().is_multiple_of(unit) || !to.len().is_multiple_of(unit) {
                return Err(Refusal::new(
                    format_args!(
                        "partition {number} would start at byte {}, inside a sector of {}",
                        to.start().grouped(),
                        self.sector
                    ),
                    "choose a start that is a multiple of the sector",
                ));
            }
            let mut others = self.partitions.iter().filter(|other| *other != place);
            if let Some(other) = others.find(|other| other.to.overlaps(to)) {
                return Err(Refusal::new(
                    format_args!(
                        "partition {number} would overlap partition {}",
                        other.number
                    ),
                    "choose a start with room for all of it, or move the neighbour too",
                ));
            }
        }
        Ok(())
    }
}

/// Why a table is not the one that the plan saw.
pub(super) fn changed(what: impl std::fmt::Display) -> Refusal {
    Refusal::new(
        format_args!("the table was changed since it was looked at: {what}"),
        "run `straddle check` on it, and plan again",
    )
}
