use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use straddle_geometry::{Access, Bytes, Family, Grid, gcd};

use super::curves::{Curves, Loads, grids_of, load, side};
use super::load::Load;
use super::packed::{DeviceAnswers, Packed, Place};
use super::question::Question;
use super::shapes::{Cost, Shape, Shapes};
use super::step::judged;
use crate::names::Device;
use crate::statistics::{Key, Merged, PERIOD, Statistics};

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
    /// Which of them cost more today than at the best start, on grids whose units divide 1 MiB; of a device that was not looked at so
    /// closely none.
    pub dear: Shapes,
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
    pub devices: DeviceAnswers,
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
    let sequential = statistics.sequential();
    let mut all = DeviceAnswer::default();
    let (loads, requests) = everywhere(statistics, question, &judged.is, &mut all)?;
    let common = question.common();
    all.best = common.map(|common| loads.best(question, common));
    all.grids = loads.grids(question, all.best);
    let order = order(statistics.devices(), &judged.is, &requests);
    let closely = order.iter().take(question.devices);
    let mut closely: BTreeMap<u32, Option<DeviceAnswer>> =
        closely.map(|number| (*number, None)).collect();
    let mut others = Packed::new(question.grids.clone());
    // Where the answer for a device is, by its number.
    let mut at = vec![Place::default(); judged.is.len()];
    let mut windows = Windows::new(statistics.window(), question);
    let devices: Vec<Device> = std::mem::take(&mut statistics.devices);
    let mut each = || -> io::Result<()> {
        let mut keys = Keys::new(statistics, question)?;
        for (number, device) in (0_u32..).zip(&devices) {
            let place = number as usize;
            if !judged.is[place] {
                continue;
            }
            let close = closely.get_mut(&number);
            let mut one = One {
                answer: DeviceAnswer {
                    device: Some(device.clone()),
                    sequential: sequential[place],
                    ..DeviceAnswer::default()
                },
                curves: close.is_some().then(|| Curves::new(question)),
            };
            keys.of(number, |grids, is_first, key, count| {
                if is_first {
                    one.answer.count(question, key, count);
                }
                one.on_grids(
                    question,
                    grids,
                    is_first,
                    key,
                    count,
                    &mut all,
                    &mut windows,
                );
            })?;
            all.sequential[0] += one.answer.sequential[0];
            all.sequential[1] += one.answer.sequential[1];
            match close {
                Some(close) => *close = Some(one.closely(question, common)),
                None => at[place] = others.push(&one.answer),
            }
        }
        Ok(())
    };
    let done = each();
    statistics.devices = devices;
    done?;
    let first = order.iter().filter_map(|number| closely.remove(number)?);
    let first: Vec<DeviceAnswer> = first.collect();
    let others_at = order.iter().skip(first.len());
    let others_at = others_at.map(|number| at[*number as usize]).collect();
    Ok(Answer {
        all,
        devices: DeviceAnswers::new(first, others, others_at),
        common,
        left_out: judged.left_out,
        windows: windows.found.into_values().collect(),
    })
}

/// The numbers of the devices that are judged, those with most requests first.
fn order(devices: &[Device], is_judged: &[bool], requests: &[u64]) -> Vec<u32> {
    let all = (0_u32..).zip(is_judged);
    let mut order: Vec<u32> = all
        .filter_map(|(number, is_judged)| is_judged.then_some(number))
        .collect();
    order.sort_unstable_by_key(|number| {
        let at = *number as usize;
        (Reverse(requests[at]), &devices[at])
    });
    order
}

/// What all devices do at every start, and how many requests each has, by its number.
fn everywhere(
    statistics: &mut Statistics,
    question: &Question,
    is_judged: &[bool],
    all: &mut DeviceAnswer,
) -> io::Result<(Loads, Vec<u64>)> {
    let mut curves = Curves::new(question);
    let mut requests = vec![0_u64; is_judged.len()];
    let periods: Vec<u64> = statistics.periods().collect();
    for period in periods {
        let grids = grids_of(question, period);
        for entry in statistics.counted(period)? {
            let (key, count) = entry?;
            let at = key.device() as usize;
            if is_judged.get(at) != Some(&true) {
                continue;
            }
            for (grid, _) in &grids {
                curves.add(*grid, key, count);
            }
            if period == PERIOD {
                requests[at] += count;
                all.count(question, key, count);
            }
        }
    }
    Ok((curves.loads(), requests))
}

/// The counts of all periods, one device after the other.
struct Keys<'a> {
    periods: Vec<Period<'a>>,
}

struct Period<'a> {
    /// The grids that are counted in it, with their places among all of them.
    grids: Vec<(usize, Grid)>,
    /// Whether it is [`PERIOD`].
    is_first: bool,
    counted: Merged<'a>,
    /// What comes next.
    next: Option<(Key, u64)>,
}

impl<'a> Keys<'a> {
    fn new(statistics: &'a mut Statistics, question: &Question) -> io::Result<Keys<'a>> {
        let mut periods = Vec::new();
        for (period, runs) in &mut statistics.periods {
            let mut counted = runs.merged()?;
            periods.push(Period {
                grids: grids_of(question, *period),
                is_first: *period == PERIOD,
                next: counted.next().transpose()?,
                counted,
            });
        }
        Ok(Keys { periods })
    }

    /// Shows those of the device with this number. Numbers ascend.
    fn of(
        &mut self,
        number: u32,
        mut visit: impl FnMut(&[(usize, Grid)], bool, Key, u64),
    ) -> io::Result<()> {
        for period in &mut self.periods {
            while let Some((key, count)) = period.next
                && key.device() <= number
            {
                if key.device() == number {
                    visit(&period.grids, period.is_first, key, count);
                }
                period.next = period.counted.next().transpose()?;
            }
        }
        Ok(())
    }
}

/// What requests do over time.
struct Windows {
    width: Option<u64>,
    grids: usize,
    found: BTreeMap<u64, WindowAnswer>,
}

impl Windows {
    const fn new(width: Option<u64>, question: &Question) -> Windows {
        Windows {
            width,
            grids: question.grids.len(),
            found: BTreeMap::new(),
        }
    }

    /// That of a key, where requests are counted by time.
    fn of(&mut self, key: Key) -> Option<&mut WindowAnswer> {
        let width = self.width?;
        let window = self.found.entry(key.window());
        Some(window.or_insert_with(|| WindowAnswer {
            from: key.window().saturating_mul(width),
            requests: [0; 2],
            grids: vec![Default::default(); self.grids],
        }))
    }
}

/// A device that is being judged.
struct One {
    answer: DeviceAnswer,
    /// What it does at every start, if it is looked at closely.
    curves: Option<Curves>,
}

impl One {
    /// Adds what requests of a key do today and where it is best for all devices, over time, and at every start; and which cost most.
    #[expect(clippy::too_many_arguments, reason = "what a key adds to")]
    fn on_grids(
        &mut self,
        question: &Question,
        grids: &[(usize, Grid)],
        is_first: bool,
        key: Key,
        count: u64,
        all: &mut DeviceAnswer,
        windows: &mut Windows,
    ) {
        let best = all.best.map(Bytes::new);
        let side = side(key.access());
        let mut window = windows.of(key);
        if let Some(window) = window.as_mut().filter(|_| is_first) {
            window.requests[side] += count;
        }
        let mut extra = 0_u64;
        for (at, grid) in grids {
            let of = |start: Bytes| load(*grid, key, question.shift(start, *grid), count);
            let today = of(question.today);
            let best = best.map(of);
            self.answer.add(question, *at, side, today, best);
            if let Some(window) = &mut window {
                let (sum, sums) = &mut window.grids[*at];
                sum[side].add(today);
                if let Some(best) = best {
                    sums.get_or_insert_default()[side].add(best);
                }
            }
            if let Some(curves) = &mut self.curves {
                curves.add(*at, key, count);
            }
            let (_, family) = question.grids[*at];
            let operations = |load: Load| load.operations(family, key.access());
            let least = best.map_or(u64::MAX, operations);
            extra = extra.saturating_add(operations(today).saturating_sub(least));
        }
        if is_first && extra > 0 {
            let shape = Shape {
                access: key.access(),
                place: question.place(key),
                len: key.length(),
            };
            let cost = Cost {
                requests: count,
                extra,
            };
            all.dear.add(shape, cost);
            if self.curves.is_some() {
                self.answer.dear.add(shape, cost);
            }
        }
    }

    /// The answer with what it does at every start.
    fn closely(mut self, question: &Question, common: Option<u64>) -> DeviceAnswer {
        if let Some(curves) = self.curves {
            let loads = curves.loads();
            self.answer.best = common.map(|common| loads.best(question, common));
            self.answer.grids = loads.grids(question, self.answer.best);
        }
        self.answer
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
        let place = question.place(key);
        self.sectors[usize::try_from(place / 512).unwrap_or(0)] += count;
        if !place.is_multiple_of(512) {
            self.inside += count;
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
