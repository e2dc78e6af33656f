//! A disk of several sparse parts with one parent: split VMDK snapshots.

use std::sync::Arc;
use straddle_geometry::{
    BlockTable, Bytes, Extent, Gap, Place, Segment, Sink, TableError, Unit, entry,
};

/// One part of the disk.
#[derive(Debug)]
pub(super) struct Piece {
    /// Its addresses in the whole disk.
    pub(super) upper: Extent,
    pub(super) lies: Lies,
}

/// Where the bytes of a part are.
#[derive(Debug)]
pub(super) enum Lies {
    /// All of them in a file, from this address on.
    Flat { target: usize, start: Bytes },
    /// Those that the part's own table has; the part is a disk by itself, and a target.
    Sparse {
        target: usize,
        table: Arc<dyn BlockTable>,
    },
    /// Nowhere: zeroes, whatever a parent holds.
    Zeroes,
}

/// What a part lacks lies in the parent of the whole disk, at the address in the whole disk: no part can know that alone.
#[derive(Debug)]
pub(super) struct Concatenated {
    pub(super) pieces: Vec<Piece>,
    pub(super) size: Bytes,
    pub(super) block: Unit,
    pub(super) parent: usize,
}

impl Concatenated {
    fn from(&self, offset: Bytes) -> &[Piece] {
        let first = self
            .pieces
            .partition_point(|piece| piece.upper.end() <= offset);
        self.pieces.get(first..).unwrap_or(&[])
    }
}

impl BlockTable for Concatenated {
    fn block(&self) -> Unit {
        self.block
    }

    fn size(&self) -> Bytes {
        self.size
    }

    fn parent(&self) -> Option<usize> {
        Some(self.parent)
    }

    fn locate(&self, offset: Bytes) -> Result<Place, TableError> {
        let piece = self
            .from(offset)
            .first()
            .filter(|piece| piece.upper.start() <= offset)
            .ok_or("an address beyond all parts of the disk")?;
        let within = difference(offset, piece.upper.start());
        let run = difference(piece.upper.end(), offset);
        Ok(match &piece.lies {
            Lies::Zeroes => Place::Zero { run },
            Lies::Flat { target, start } => Place::At {
                target: *target,
                offset: start.checked_add(within).ok_or("a part beyond 2⁶⁴ bytes")?,
                run,
            },
            Lies::Sparse { target, table } => {
                let place = table.locate(within)?;
                let run = place.run(within).min(run);
                match place {
                    Place::Absent { .. } => Place::Absent { run },
                    // What is there, compressed or recorded as zeroes, is the part's own matter.
                    _ => Place::At {
                        target: *target,
                        offset: within,
                        run,
                    },
                }
            }
        })
    }

    fn stream(&self, range: Extent, sink: &mut dyn Sink) -> Result<(), TableError> {
        let end = range.end().min(self.size);
        for piece in self.from(range.start()) {
            let start = piece.upper.start().max(range.start());
            let Some(len) = piece.upper.end().min(end).checked_sub(start) else {
                break;
            };
            let Some(upper) = Extent::new(start, len).filter(|upper| !upper.is_empty()) else {
                continue;
            };
            let within = difference(start, piece.upper.start());
            match &piece.lies {
                Lies::Zeroes => sink.gap(upper, Gap::Zero),
                Lies::Flat { target, start } => sink.piece(Segment {
                    upper,
                    target: *target,
                    lower: start.checked_add(within).ok_or("a part beyond 2⁶⁴ bytes")?,
                }),
                Lies::Sparse { target, table } => {
                    let range = Extent::new(within, len).ok_or("a part beyond 2⁶⁴ bytes")?;
                    let mut lifted = Lifted {
                        sink: &mut *sink,
                        start: piece.upper.start(),
                        target: *target,
                        block: table.block().bytes(),
                    };
                    table.stream(range, &mut lifted)?;
                }
            }
        }
        Ok(())
    }
}

fn difference(a: Bytes, b: Bytes) -> Bytes {
    a.checked_sub(b).unwrap_or(Bytes::ZERO)
}

/// Sends on which blocks a part has, in the addresses of the whole disk; they lie in the part itself.
struct Lifted<'a> {
    sink: &'a mut dyn Sink,
    start: Bytes,
    target: usize,
    block: Bytes,
}

impl Lifted<'_> {
    fn here(&mut self, within: Extent) {
        if let Some(upper) = self.lift(within) {
            self.sink.piece(Segment {
                upper,
                target: self.target,
                lower: within.start(),
            });
        }
    }

    fn lift(&self, within: Extent) -> Option<Extent> {
        Extent::new(self.start.checked_add(within.start())?, within.len())
    }
}

impl Sink for Lifted<'_> {
    fn blocks(&mut self, first: Bytes, _: usize, lower: &[u64]) {
        let mut at = first;
        // Runs of blocks that are alike are sent as one.
        for run in lower.chunk_by(|a, b| (*a == entry::ABSENT) == (*b == entry::ABSENT)) {
            let count = u64::try_from(run.len()).unwrap_or(0);
            let len = Bytes::new(self.block.get().saturating_mul(count));
            let Some(within) = Extent::new(at, len) else {
                return;
            };
            if run.first() == Some(&entry::ABSENT) {
                self.gap(within, Gap::Absent);
            } else {
                self.here(within);
            }
            at = within.end();
        }
    }

    fn piece(&mut self, piece: Segment) {
        self.here(piece.upper);
    }

    fn gap(&mut self, within: Extent, gap: Gap) {
        match gap {
            Gap::Absent => {
                if let Some(upper) = self.lift(within) {
                    self.sink.gap(upper, gap);
                }
            }
            Gap::Zero | Gap::Packed => self.here(within),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_geometry::{Listed, Listing};

    /// Blocks of 512 bytes: present, absent, zero, present.
    #[derive(Debug)]
    struct Part;

    impl BlockTable for Part {
        fn block(&self) -> Unit {
            Unit::new(512).expect("not zero")
        }
        fn size(&self) -> Bytes {
            Bytes::new(2048)
        }
        fn parent(&self) -> Option<usize> {
            None
        }
        fn locate(&self, offset: Bytes) -> Result<Place, TableError> {
            let run = Bytes::new(512 - offset.get() % 512);
            Ok(match offset.get() / 512 {
                1 => Place::Absent { run },
                2 => Place::Zero { run },
                _ => Place::At {
                    target: 0,
                    offset,
                    run,
                },
            })
        }
        fn stream(&self, _: Extent, sink: &mut dyn Sink) -> Result<(), TableError> {
            sink.blocks(Bytes::ZERO, 0, &[0, entry::ABSENT, entry::ZERO, 1536]);
            Ok(())
        }
    }

    #[test]
    fn what_a_part_lacks_is_absent_at_the_address_of_the_whole() {
        let extent = |start, len| Extent::new(Bytes::new(start), Bytes::new(len)).expect("small");
        let sparse = |at, target| Piece {
            upper: extent(at, 2048),
            lies: Lies::Sparse {
                target,
                table: Arc::new(Part),
            },
        };
        let disk = Concatenated {
            pieces: vec![sparse(0, 1), sparse(2048, 2)],
            size: Bytes::new(4096),
            block: Unit::new(512).expect("not zero"),
            parent: 3,
        };
        let listing = Listing::of(&disk, extent(0, 4096), 16).expect("readable");
        let piece = |start, len, target, lower| {
            Listed::Piece(Segment {
                upper: extent(start, len),
                target,
                lower: Bytes::new(lower),
            })
        };
        assert_eq!(
            listing.parts(),
            [
                piece(0, 512, 1, 0),
                Listed::Gap(extent(512, 512), Gap::Absent),
                piece(1024, 1024, 1, 1024),
                piece(2048, 512, 2, 0),
                Listed::Gap(extent(2560, 512), Gap::Absent),
                piece(3072, 1024, 2, 1024),
            ]
        );
        for part in listing.parts() {
            let place = disk.locate(part.upper().start()).expect("readable");
            assert_eq!(
                matches!(part, Listed::Gap(..)),
                matches!(place, Place::Absent { .. })
            );
        }
    }
}
