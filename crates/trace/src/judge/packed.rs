//! Answers for many devices, of which each takes as many bytes as its figures have digits.

use std::borrow::Cow;

use straddle_geometry::{Family, Grid};

use super::answer::{DeviceAnswer, GridAnswer};
use super::load::Load;
use crate::names::Device;
use crate::record::Event;

/// The answers for all devices, those with most requests first.
///
/// The first few, which were looked at closely, are there as they are. Of the others there may be a hundred thousand, on several grids
/// each, so they are packed, and unpacked for whoever asks.
#[derive(Clone, Debug, Default)]
pub struct DeviceAnswers {
    first: Vec<DeviceAnswer>,
    others: Packed,
    /// Where the others begin, in their order.
    at: Vec<Place>,
}

impl DeviceAnswers {
    pub(super) const fn new(
        first: Vec<DeviceAnswer>,
        others: Packed,
        at: Vec<Place>,
    ) -> DeviceAnswers {
        DeviceAnswers { first, others, at }
    }

    /// How many devices there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.first.len() + self.at.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, DeviceAnswer>> {
        let others = self.at.iter().map(|at| Cow::Owned(self.others.at(*at)));
        self.first.iter().map(Cow::Borrowed).chain(others)
    }
}

/// Where an answer is packed depends on the number that a device got, which is another each time.
impl PartialEq for DeviceAnswers {
    fn eq(&self, other: &DeviceAnswers) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for DeviceAnswers {}

/// Packed answers, one after another in pieces of [`PIECE`] bytes: one that grows would be there twice whenever it does.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed {
    grids: Vec<(Grid, Family)>,
    pieces: Vec<Vec<u8>>,
}

/// A piece that is longer takes no more answers.
const PIECE: usize = 60 << 10;

/// Where a packed answer is: which piece, and which byte of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    piece: u32,
    byte: u32,
}

impl Packed {
    pub(super) const fn new(grids: Vec<(Grid, Family)>) -> Packed {
        Packed {
            grids,
            pieces: Vec::new(),
        }
    }

    /// Packs the answer for a device that was not looked at closely, and says where it is.
    pub(super) fn push(&mut self, answer: &DeviceAnswer) -> Place {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let mut last = self.pieces.pop().unwrap_or_default();
        if last.len() > PIECE {
            self.pieces.push(last);
            last = Vec::with_capacity(PIECE + (4 << 10));
        }
        let place = Place {
            piece: number(self.pieces.len()),
            byte: number(last.len()),
        };
        Packed::pack(answer, &mut last);
        self.pieces.push(last);
        place
    }

    fn pack(answer: &DeviceAnswer, bytes: &mut Vec<u8>) {
        let mut out = Out(bytes);
        let name = answer.device.as_ref().map_or("", |device| &*device.name);
        let event = answer
            .device
            .as_ref()
            .and_then(|device| Event::ALL.iter().position(|event| *event == device.event));
        out.number(event.map_or(0, |event| event as u64 + 1));
        out.number(name.len() as u64);
        out.0.extend_from_slice(name.as_bytes());
        for pair in [answer.requests, answer.bytes, answer.sequential] {
            pair.into_iter().for_each(|number| out.number(number));
        }
        answer
            .sectors
            .into_iter()
            .for_each(|number| out.number(number));
        out.number(answer.inside);
        out.number(answer.granularity);
        out.number(answer.grids.len() as u64);
        for grid in &answer.grids {
            out.number(u64::from(grid.best.is_some()));
            for loads in [Some(grid.today), grid.best].into_iter().flatten() {
                for (load, requests) in loads.into_iter().zip(answer.requests) {
                    // These are the same wherever there is nothing wrong.
                    out.number(load.requests ^ requests);
                    out.number(load.straddling);
                    out.number(load.granules);
                    out.number(load.partial);
                }
            }
        }
    }

    fn at(&self, at: Place) -> DeviceAnswer {
        let piece = self.pieces.get(at.piece as usize);
        let bytes = piece.and_then(|piece| piece.get(at.byte as usize..));
        let mut read = In(bytes.unwrap_or_default());
        let event = usize::try_from(read.number()).unwrap_or(0);
        let name = read.text();
        let event = event.checked_sub(1).and_then(|at| Event::ALL.get(at));
        let device = event.map(|event| Device {
            name,
            event: *event,
        });
        let requests = read.numbers();
        let mut answer = DeviceAnswer {
            device,
            requests,
            bytes: read.numbers(),
            sequential: read.numbers(),
            sectors: read.numbers(),
            inside: read.number(),
            granularity: read.number(),
            ..DeviceAnswer::default()
        };
        let grids = usize::try_from(read.number()).unwrap_or(0);
        let loads = |read: &mut In<'_>| {
            requests.map(|requests| Load {
                requests: read.number() ^ requests,
                straddling: read.number(),
                granules: read.number(),
                partial: read.number(),
            })
        };
        for (grid, family) in self.grids.iter().take(grids) {
            let has_best = read.number() == 1;
            answer.grids.push(GridAnswer {
                grid: *grid,
                family: *family,
                today: loads(&mut read),
                starts: Vec::new(),
                best: has_best.then(|| loads(&mut read)),
            });
        }
        answer
    }
}

/// Numbers of seven bits a byte, the lowest first; all but the last byte have their highest bit.
struct Out<'a>(&'a mut Vec<u8>);

impl Out<'_> {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.0.push(number.to_le_bytes()[0]);
    }
}

struct In<'a>(&'a [u8]);

impl In<'_> {
    fn number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        while let Some((byte, rest)) = self.0.split_first() {
            self.0 = rest;
            number |= u64::from(byte & 0x7f).unbounded_shl(shift);
            shift += 7;
            if *byte < 0x80 {
                break;
            }
        }
        number
    }

    fn numbers<const N: usize>(&mut self) -> [u64; N] {
        std::array::from_fn(|_| self.number())
    }

    fn text(&mut self) -> String {
        let len = usize::try_from(self.number()).unwrap_or(usize::MAX);
        let (text, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use straddle_geometry::Unit;

    fn number() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0_u32..64).prop_map(|(number, shift)| number >> shift)
    }

    fn pair() -> impl Strategy<Value = [u64; 2]> {
        [number(), number()]
    }

    fn load() -> impl Strategy<Value = Load> {
        [number(), number(), number(), number()].prop_map(
            |[requests, straddling, granules, partial]| Load {
                requests,
                straddling,
                granules,
                partial,
            },
        )
    }

    fn grids() -> Vec<(Grid, Family)> {
        [4096, 196_608]
            .map(|unit| {
                (
                    Grid::new(Unit::new(unit).expect("a unit")),
                    Family::Splitting,
                )
            })
            .to_vec()
    }

    fn answer() -> impl Strategy<Value = DeviceAnswer> {
        let loads = || [load(), load()];
        let on_grids = prop_oneof![
            Just(Vec::new()),
            proptest::collection::vec((loads(), proptest::option::of(loads())), 2)
        ];
        let device = (".{0,20}", 0_usize..4).prop_map(|(name, event)| Device {
            name,
            event: Event::ALL[event],
        });
        let pairs = (pair(), pair(), pair());
        let numbers = (proptest::array::uniform8(number()), number(), number());
        (proptest::option::of(device), pairs, numbers, on_grids).prop_map(
            |(device, (requests, bytes, sequential), (sectors, inside, granularity), on_grids)| {
                let grids = grids().into_iter().zip(on_grids);
                DeviceAnswer {
                    device,
                    requests,
                    bytes,
                    sequential,
                    sectors,
                    inside,
                    granularity,
                    grids: grids
                        .map(|((grid, family), (today, best))| GridAnswer {
                            grid,
                            family,
                            today,
                            starts: Vec::new(),
                            best,
                        })
                        .collect(),
                    ..DeviceAnswer::default()
                }
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// As many as need several pieces.
        #[test]
        fn what_is_packed_comes_out_as_it_was(answers in proptest::collection::vec(answer(), 0..900)) {
            let mut packed = Packed::new(grids());
            let at: Vec<Place> = answers.iter().map(|answer| packed.push(answer)).collect();
            let all = DeviceAnswers::new(Vec::new(), packed, at);
            prop_assert_eq!(all.len(), answers.len());
            let found: Vec<DeviceAnswer> = all.iter().map(Cow::into_owned).collect();
            prop_assert_eq!(found, answers);
        }
    }
}
