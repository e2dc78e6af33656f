//! Where sectors are: zones of cylinders whose tracks have the same number of sectors.
//!
//! Sectors are numbered along a track, then head after head through a cylinder, then inwards.

use super::clock::MASK;

/// A zone. Divisions by its constants are multiplications by `⌈2⁶⁴ ÷ n⌉`, which are exact while dividend × divisor < 2⁶⁴.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Zone {
    /// Its first physical sector.
    first: u64,
    /// Its first cylinder.
    cylinder: u32,
    /// Sectors of a track.
    sectors: u32,
    per_track: u64,
    per_cylinder: u64,
    /// 2⁴⁰ steps of a revolution ÷ sectors of a track.
    step: u64,
}

/// A physical sector on its platter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) cylinder: u32,
    pub(super) head: u32,
    /// Angle at which it begins, in steps.
    pub(super) angle: u32,
}

/// A run of sectors of one track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) place: Place,
    /// Sectors from there to the end of the track.
    pub(super) left: u32,
    /// The number of its zone.
    zone: u32,
}

/// Parts into which all sectors are divided, to find the zone of one.
const PARTS: usize = 128;

/// All zones.
#[derive(Clone, Debug)]
pub(super) struct Zones {
    zones: Vec<Zone>,
    /// The number of the zone in which each part begins.
    parts: [u8; PARTS],
    /// Binary logarithm of a part's sectors.
    part_bits: u32,
    surfaces: u32,
    sectors: u64,
    cylinders: u32,
    /// Steps from the end of a track to the beginning of the next in its cylinder.
    pub(super) track_skew: u32,
    /// The same to the next cylinder.
    pub(super) cylinder_skew: u32,
}

impl Zones {
    /// From shares of cylinders (which are taken relative to their sum) and sectors per track.
    pub(super) fn new(rows: &[(f64, u32)], cylinders: u32, surfaces: u32) -> Zones {
        let sum: f64 = rows.iter().map(|row| row.0).sum();
        let (mut zones, mut first, mut cylinder, mut share) = (Vec::new(), 0_u64, 0_u32, 0.0);
        for (number, (part, sectors)) in rows.iter().enumerate() {
            share += part / sum;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "at most the number of cylinders"
            )]
            let end = (libm::round(share * f64::from(cylinders)) as u32).min(cylinders);
            let end = if number + 1 == rows.len() {
                cylinders
            } else {
                end
            };
            if end <= cylinder {
                continue;
            }
            let in_cylinder = u64::from(*sectors) * u64::from(surfaces);
            zones.push(Zone {
                first,
                cylinder,
                sectors: *sectors,
                per_track: reciprocal(u64::from(*sectors)),
                per_cylinder: reciprocal(in_cylinder),
                step: (1 << 40) / u64::from(*sectors),
            });
            first += in_cylinder * u64::from(end - cylinder);
            cylinder = end;
        }
        let part_bits = (first / PARTS as u64 + 1)
            .next_power_of_two()
            .trailing_zeros();
        let mut parts = [0; PARTS];
        for (number, part) in parts.iter_mut().enumerate() {
            let begins = (number as u64) << part_bits;
            let behind = zones.partition_point(|zone| zone.first <= begins);
            *part = u8::try_from(behind.saturating_sub(1)).unwrap_or(0);
        }
        Zones {
            zones,
            parts,
            part_bits,
            surfaces,
            sectors: first,
            cylinders,
            track_skew: 0,
            cylinder_skew: 0,
        }
    }

    /// Physical sectors in all.
    pub(super) fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Tracks of a surface.
    pub(super) fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// Surfaces with a head each.
    #[cfg(test)]
    pub(super) fn surfaces(&self) -> u32 {
        self.surfaces
    }

    /// Where a sector begins and what follows it on its track; one behind the last counts as the last.
    #[inline]
    pub(super) fn run(&self, sector: u64) -> Run {
        let sector = sector.min(self.sectors - 1);
        let part = (sector >> self.part_bits) as usize;
        let mut number = usize::from(self.parts[part % PARTS]);
        while let Some(next) = self.zones.get(number + 1)
            && next.first <= sector
        {
            number += 1;
        }
        let zone = &self.zones[number];
        let within = sector - zone.first;
        let row = times(within, zone.per_cylinder);
        let rest = within - row * u64::from(zone.sectors) * u64::from(self.surfaces);
        let head = times(rest, zone.per_track);
        let sector = rest - head * u64::from(zone.sectors);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "cylinders, heads and sectors of a track are below 2³²"
        )]
        let (row, head, sector) = (row as u32, head as u32, sector as u32);
        let cylinder = zone.cylinder + row;
        #[expect(clippy::cast_possible_truncation, reason = "there are up to 64")]
        let zone_number = number as u32;
        #[expect(clippy::cast_possible_truncation, reason = "at most one revolution")]
        let along = ((u64::from(sector) * zone.step) >> 16) as u32;
        Run {
            place: Place {
                cylinder,
                head,
                angle: self.turned(cylinder, head).wrapping_add(along) & MASK,
            },
            left: zone.sectors - sector,
            zone: zone_number,
        }
    }

    /// Angle at which a track begins, and whole revolutions.
    #[inline]
    fn turned(&self, cylinder: u32, head: u32) -> u32 {
        cylinder
            .wrapping_mul(self.surfaces - 1)
            .wrapping_add(head)
            .wrapping_mul(self.track_skew)
            .wrapping_add(cylinder.wrapping_mul(self.cylinder_skew))
    }

    /// What [`Zones::run`] says of `sector`, the first of the track behind that of `before`, without dividing.
    #[inline]
    pub(super) fn next(&self, before: Run, sector: u64) -> Run {
        if sector >= self.sectors {
            return self.last();
        }
        let Place { cylinder, head, .. } = before.place;
        let mut zone = before.zone;
        let (cylinder, head) = if self.is_followed(before.place) {
            (cylinder, head + 1)
        } else {
            let behind = self.zones.get(zone as usize + 1);
            zone += u32::from(behind.is_some_and(|behind| behind.first == sector));
            (cylinder + 1, 0)
        };
        Run {
            place: Place {
                cylinder,
                head,
                angle: self.turned(cylinder, head) & MASK,
            },
            left: self.zones[zone as usize].sectors,
            zone,
        }
    }

    #[cold]
    fn last(&self) -> Run {
        self.run(self.sectors)
    }

    /// Steps for which a sector of a run passes, times 2¹⁶.
    #[inline]
    pub(super) fn step(&self, run: Run) -> u64 {
        self.zones[run.zone as usize].step
    }

    /// Where a sector begins.
    #[inline]
    pub(super) fn place(&self, sector: u64) -> Place {
        self.run(sector).place
    }

    /// True when the track behind that of a place is in the same cylinder.
    #[inline]
    pub(super) fn is_followed(&self, place: Place) -> bool {
        place.head + 1 < self.surfaces
    }
}

fn reciprocal(divisor: u64) -> u64 {
    (u64::MAX / divisor).wrapping_add(1)
}

#[inline]
fn times(dividend: u64, reciprocal: u64) -> u64 {
    ((u128::from(dividend) * u128::from(reciprocal)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_sector_is_once_where_counting_puts_it(
            rows in proptest::collection::vec((0.01_f64..1.0, 8_u32..60), 1..6),
            cylinders in 16_u32..60,
            surfaces in 1_u32..6,
            (track_skew, cylinder_skew) in (0_u32..MASK, 0_u32..MASK),
        ) {
            let mut zones = Zones::new(&rows, cylinders, surfaces);
            zones.track_skew = track_skew;
            zones.cylinder_skew = cylinder_skew;
            let mut number = 0;
            let mut begins = 0_u64;
            let mut before = None;
            for cylinder in 0..cylinders {
                let zone = zones.zones.iter().rev().find(|zone| zone.cylinder <= cylinder);
                let sectors = zone.expect("the first begins at 0").sectors;
                for head in 0..surfaces {
                    for sector in 0..sectors {
                        let run = zones.run(number);
                        prop_assert_eq!((run.place.cylinder, run.place.head), (cylinder, head));
                        prop_assert_eq!(run.left, sectors - sector);
                        if let Some(before) = before.filter(|_| sector == 0) {
                            prop_assert_eq!(zones.next(before, number), run);
                        }
                        before = Some(run);
                        let angle = begins + (u64::from(sector) << 24) / u64::from(sectors);
                        let off = u64::from(run.place.angle).abs_diff(angle % (1 << 24));
                        prop_assert!(off <= 1 || off == u64::from(MASK), "{}", off);
                        number += 1;
                    }
                    let next = head + 1 == surfaces;
                    begins += u64::from(if next { cylinder_skew } else { track_skew });
                }
            }
            prop_assert_eq!(number, zones.sectors());
            let last = zones.run(number);
            prop_assert_eq!(zones.next(last, number), last);
        }

        #[test]
        fn reciprocals_divide(dividend in 0_u64..1 << 38, divisor in 8_u64..1 << 22) {
            prop_assert_eq!(times(dividend, reciprocal(divisor)), dividend / divisor);
        }
    }
}
