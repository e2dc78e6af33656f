use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use straddle_geometry::{Access, Bytes, Family, Grid, Unit, gcd};

use super::curves::{Curves, grids_of, load, side};
use super::load::Load;
use super::question::Question;
use super::shapes::{Shape, Shapes};
use super::step::judged;
use crate::names::Device;
use crate::statistics::{Key, PERIOD, Statistics};

/// What requests do on one grid. Pairs are reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridAnswer {
    /// Its boundaries.
    pub grid: Grid,
    /// What crossing one costs.
    pub family: Family,
    /// Where it begins today.
    pub today: [Load; 2],
    /// At each start that was asked about; of a device that was not looked at so closely none.
    pub starts: Vec<[Load; 2]>,
    /// At the best start, where it was looked for.
    pub best: Option<[Load; 2]>,
}

impl GridAnswer {
    /// Requests that straddle, as a share of all; `None` where there are none.
    #[must_use]
    pub fn straddling(loads: &[Load; 2]) -> Option<f64> {
        let [reads, writes] = loads;
        let all = reads.requests + writes.requests;
        (all > 0).then(|| figure(reads.straddling + writes.straddling) / figure(all))
    }

    /// Operations of reads and writes together.
    #[must_use]
    pub const fn operations(&self, loads: &[Load; 2]) -> u64 {
        let [reads, writes] = loads;
        let reads = reads.operations(self.family, Access::Read);
        reads.saturating_add(writes.operations(self.family, Access::Write))
    }

    /// How many more operations there are than at the best start, relative to those; `None` where that was not looked for.
    #[must_use]
    pub fn extra(&self, loads: &[Load; 2]) -> Option<f64> {
        let best = self.operations(&self.best?);
        (best > 0).then(|| figure(self.operations(loads)) / figure(best) - 1.0)
    }
}

#[expect(clippy::cast_precision_loss, reason = "shares of counts")]
fn figure(count: u64) -> f64 {
    count as f64
}

/// The requests of a device, or of all of them. Pairs are reads and writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceAnswer {
    /// Which; none: all of them.
    pub device: Option<Device>,
    /// How many there are.
    pub requests: [u64; 2],
    /// Bytes that they move.
    pub bytes: [u64; 2],
    /// Those that begin where the one before them ended.
    pub sequential: [u64; 2],
    /// How many begin in each of the eight sectors of 4 KiB, today.
    pub sectors: [u64; 8],
    /// How many begin inside a sector.
    pub inside: u64,
    /// The largest power of two up to 1 MiB of which every offset and length, as recorded, is a multiple; 0 without requests.
    pub granularity: u64,
    /// By grid, as they were asked about.
    pub grids: Vec<GridAnswer>,
    /// The start at which least is to be done, below [`Answer::common`].
    pub best: Option<u64>,
    /// The shapes of those that straddle the first grid, today.
    pub straddling: Shapes,
}

/// What requests of a stretch of time do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowAnswer {
    /// When it begins, in nanoseconds as the recorder counts.
    pub from: u64,
    /// Reads and writes.
    pub requests: [u64; 2],
    /// By grid: reads and writes today, and at the best start of all devices.
    pub grids: Vec<([Load; 2], Option<[Load; 2]>)>,
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// All devices together.
    pub all: DeviceAnswer,
    /// Each of them, those with most requests first.
    pub devices: Vec<DeviceAnswer>,
    /// The least common multiple of all units: starts that differ by it are alike. `None` when it is too large to try all below.
    pub common: Option<u64>,
    /// Requests of other steps that were left out, so that none counts twice.
    pub left_out: u64,
    /// Over time, where that was counted.
    pub windows: Vec<WindowAnswer>,
}

/// Answers a question.
///
/// # Errors
/// When what was kept on disk cannot be read.
pub fn answer(statistics: &mut Statistics, question: &Question) -> io::Result<Answer> {
    let judged = judged(statistics, &question.only)?;
    let mut devices = devices(statistics, &judged.is);
    let periods: Vec<u64> = statistics.periods().collect();
    // What all of them do everywhere.
    let mut curves = Curves::new(question);
    let mut all = DeviceAnswer::default();
    for period in &periods {
        let grids = grids_of(question, *period);
        for entry in statistics.counted(*period)? {
            let (key, count) = entry?;
            let Some(device) = devices.get_mut(&key.device()) else {
                continue;
            };
            for (at, _) in &grids {
                curves.add(*at, key, count);
            }
            if *period == PERIOD {
                device.count(question, key, count);
                all.count(question, key, count);
            }
        }
    }
    let loads = curves.loads();
    let common = question.common();
    let best = common.map(|common| loads.best(question, common));
    all.grids = loads.grids(question, best);
    all.best = best;
    for device in devices.values() {
        all.sequential[0] += device.sequential[0];
        all.sequential[1] += device.sequential[1];
    }
    let mut order: Vec<(Reverse<u64>, Option<Device>, u32)> = devices
        .iter()
        .map(|(number, device)| {
            (
                Reverse(device.requests.iter().sum()),
                device.device.clone(),
                *number,
            )
        })
        .collect();
    order.sort();
    // The largest of them at every start, the others today and where it is best for all; and all of them over time.
    let closely = order.iter().take(question.devices);
    let mut closely: BTreeMap<u32, Curves> = closely
        .map(|(.., number)| (*number, Curves::new(question)))
        .collect();
    let mut windows: BTreeMap<u32, WindowAnswer> = BTreeMap::new();
    for period in &periods {
        let grids = grids_of(question, *period);
        for entry in statistics.counted(*period)? {
            let (key, count) = entry?;
            let Some(device) = devices.get_mut(&key.device()) else {
                continue;
            };
            let side = side(key.access());
            let mut window =
                statistics_window(&mut windows, question, key, count, *period == PERIOD);
            for (at, grid) in &grids {
                let of = |start: Bytes| load(*grid, key, question.shift(start, *grid), count);
                let today = of(question.today);
                let best = best.map(|start| of(Bytes::new(start)));
                device.add(question, *at, side, today, best);
                if let Some(window) = &mut window {
                    add(&mut window.grids[*at], side, today, best);
                }
                if let Some(curves) = closely.get_mut(&key.device()) {
                    curves.add(*at, key, count);
                }
            }
        }
    }
    for (number, curves) in closely {
        if let Some(device) = devices.get_mut(&number) {
            let loads = curves.loads();
            device.best = common.map(|common| loads.best(question, common));
            device.grids = loads.grids(question, device.best);
        }
    }
    let width = statistics.window();
    Ok(Answer {
        all,
        devices: order
            .iter()
            .filter_map(|(.., number)| devices.remove(number))
            .collect(),
        common,
        left_out: judged.left_out,
        windows: match width {
            None => Vec::new(),
            Some(width) => windows
                .into_iter()
                .map(|(number, window)| WindowAnswer {
                    from: u64::from(number).saturating_mul(width),
                    ..window
                })
                .collect(),
        },
    })
}

fn devices(statistics: &Statistics, is_judged: &[bool]) -> BTreeMap<u32, DeviceAnswer> {
    let sequential = statistics.sequential();
    let devices = statistics.devices().iter().zip(sequential).zip(is_judged);
    (0..)
        .zip(devices)
        .filter(|(_, (_, is_judged))| **is_judged)
        .map(|(number, ((device, sequential), _))| {
            let answer = DeviceAnswer {
                device: Some(device.clone()),
                sequential,
                ..DeviceAnswer::default()
            };
            (number, answer)
        })
        .collect()
}

fn statistics_window<'a>(
    windows: &'a mut BTreeMap<u32, WindowAnswer>,
    question: &Question,
    key: Key,
    count: u64,
    is_first: bool,
) -> Option<&'a mut WindowAnswer> {
    let window = windows.entry(key.window()).or_default();
    window
        .grids
        .resize(question.grids.len(), Default::default());
    if is_first {
        window.requests[side(key.access())] += count;
    }
    Some(window)
}

fn add(of: &mut ([Load; 2], Option<[Load; 2]>), side: usize, today: Load, best: Option<Load>) {
    of.0[side].add(today);
    if let Some(best) = best {
        of.1.get_or_insert_default()[side].add(best);
    }
}

impl DeviceAnswer {
    fn count(&mut self, question: &Question, key: Key, count: u64) {
        let side = side(key.access());
        self.requests[side] += count;
        self.bytes[side] = self.bytes[side].saturating_add(key.length().saturating_mul(count));
        self.granularity = gcd(
            self.granularity,
            gcd(PERIOD, gcd(key.place(), key.length())),
        );
        let pages = Grid::new(PAGE);
        let place = (key.place() + question.shift(question.today, pages)) % PAGE.get();
        self.sectors[usize::try_from(place / 512).unwrap_or(0)] += count;
        if !place.is_multiple_of(512) {
            self.inside += count;
        }
        let Some((grid, _)) = question.grids.first().copied() else {
            return;
        };
        let shift = question.shift(question.today, grid);
        if PERIOD.is_multiple_of(grid.unit().get()) && load(grid, key, shift, count).straddling > 0
        {
            let shape = Shape {
                access: key.access(),
                place,
                len: key.length(),
            };
            self.straddling.add(shape, count);
        }
    }

    fn add(
        &mut self,
        question: &Question,
        at: usize,
        side: usize,
        today: Load,
        best: Option<Load>,
    ) {
        if self.grids.is_empty() {
            let grid = |(grid, family): &(Grid, Family)| GridAnswer {
                grid: *grid,
                family: *family,
                today: Default::default(),
                starts: Vec::new(),
                best: None,
            };
            self.grids = question.grids.iter().map(grid).collect();
        }
        let grid = &mut self.grids[at];
        grid.today[side].add(today);
        if let Some(best) = best {
            grid.best.get_or_insert_default()[side].add(best);
        }
    }
}

/// What the sectors of requests are counted in.
const PAGE: Unit = match Unit::new(4096) {
    Some(unit) => unit,
    None => unreachable!(),
};
