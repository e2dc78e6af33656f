use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use straddle_geometry::{Access, Bytes, Family, Grid, gcd};

use super::curves::{Curves, Loads, grids_of, load, side};
use super::load::Load;
use super::question::Question;
use super::shapes::{Cost, Shape, Shapes};
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
    let mut devices = Devices::new(statistics, &judged.is);
    let mut all = DeviceAnswer::default();
    let loads = everywhere(statistics, question, &mut devices, &mut all)?;
    let common = question.common();
    all.best = common.map(|common| loads.best(question, common));
    all.grids = loads.grids(question, all.best);
    for device in &devices.answers {
        all.sequential[0] += device.sequential[0];
        all.sequential[1] += device.sequential[1];
    }
    let mut closely: BTreeMap<usize, Curves> = devices
        .largest(question.devices)
        .map(|at| (at, Curves::new(question)))
        .collect();
    let windows = one_by_one(statistics, question, &mut devices, &mut all, &mut closely)?;
    for (at, curves) in closely {
        let device = &mut devices.answers[at];
        let loads = curves.loads();
        device.best = common.map(|common| loads.best(question, common));
        device.grids = loads.grids(question, device.best);
    }
    let mut devices = devices.answers;
    devices.sort_by(|a, b| a.order().cmp(&b.order()));
    Ok(Answer {
        all,
        devices,
        common,
        left_out: judged.left_out,
        windows,
    })
}

/// The devices that are judged.
struct Devices {
    answers: Vec<DeviceAnswer>,
    /// Where the answer for a number is, if anywhere.
    at: Vec<Option<u32>>,
}

impl Devices {
    fn new(statistics: &Statistics, is_judged: &[bool]) -> Devices {
        let (mut answers, mut at) = (Vec::new(), Vec::new());
        let all = statistics.devices().iter().zip(statistics.sequential());
        for ((device, sequential), is_judged) in all.zip(is_judged) {
            at.push(u32::try_from(answers.len()).ok().filter(|_| *is_judged));
            if *is_judged {
                answers.push(DeviceAnswer {
                    device: Some(device.clone()),
                    sequential,
                    ..DeviceAnswer::default()
                });
            }
        }
        Devices { answers, at }
    }

    fn place(&self, key: Key) -> Option<usize> {
        let at = self.at.get(usize::try_from(key.device()).ok()?)?;
        at.and_then(|at| usize::try_from(at).ok())
    }

    /// Places of the `n` that come first.
    fn largest(&self, n: usize) -> impl Iterator<Item = usize> {
        let mut places: Vec<usize> = (0..self.answers.len()).collect();
        places.sort_by(|a, b| self.answers[*a].order().cmp(&self.answers[*b].order()));
        places.into_iter().take(n)
    }
}

/// Goes over the counts of all periods: the grids that are counted in the period, with their places among all of them, whether it is
/// [`PERIOD`], the place of the device among those that are judged, and how many requests have which key.
fn each(
    statistics: &mut Statistics,
    question: &Question,
    devices: &mut Devices,
    mut visit: impl FnMut(&[(usize, Grid)], bool, &mut DeviceAnswer, usize, Key, u64),
) -> io::Result<()> {
    let periods: Vec<u64> = statistics.periods().collect();
    for period in periods {
        let grids = grids_of(question, period);
        for entry in statistics.counted(period)? {
            let (key, count) = entry?;
            if let Some(at) = devices.place(key) {
                let device = &mut devices.answers[at];
                visit(&grids, period == PERIOD, device, at, key, count);
            }
        }
    }
    Ok(())
}

/// What all devices do at every start, and what there is of each.
fn everywhere(
    statistics: &mut Statistics,
    question: &Question,
    devices: &mut Devices,
    all: &mut DeviceAnswer,
) -> io::Result<Loads> {
    let mut curves = Curves::new(question);
    each(
        statistics,
        question,
        devices,
        |grids, is_first, device, _, key, count| {
            for (grid, _) in grids {
                curves.add(*grid, key, count);
            }
            if is_first {
                device.count(question, key, count);
                all.count(question, key, count);
            }
        },
    )?;
    Ok(curves.loads())
}

/// What each device does today and where it is best for all of them, what requests do over time, which cost most; and what a few
/// devices do at every start.
fn one_by_one(
    statistics: &mut Statistics,
    question: &Question,
    devices: &mut Devices,
    all: &mut DeviceAnswer,
    closely: &mut BTreeMap<usize, Curves>,
) -> io::Result<Vec<WindowAnswer>> {
    let best = all.best.map(Bytes::new);
    let width = statistics.window();
    let mut windows: BTreeMap<u64, WindowAnswer> = BTreeMap::new();
    each(
        statistics,
        question,
        devices,
        |grids, is_first, device, at, key, count| {
            let mut curves = closely.get_mut(&at);
            let side = side(key.access());
            let mut window = width.map(|width| {
                let window = windows.entry(key.window()).or_insert_with(|| WindowAnswer {
                    from: key.window().saturating_mul(width),
                    requests: [0; 2],
                    grids: vec![Default::default(); question.grids.len()],
                });
                if is_first {
                    window.requests[side] += count;
                }
                window
            });
            let mut extra = 0_u64;
            for (at, grid) in grids {
                let of = |start: Bytes| load(*grid, key, question.shift(start, *grid), count);
                let today = of(question.today);
                let best = best.map(of);
                device.add(question, *at, side, today, best);
                if let Some(window) = &mut window {
                    let (sum, sums) = &mut window.grids[*at];
                    sum[side].add(today);
                    if let Some(best) = best {
                        sums.get_or_insert_default()[side].add(best);
                    }
                }
                if let Some(curves) = &mut curves {
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
                if curves.is_some() {
                    device.dear.add(shape, cost);
                }
            }
        },
    )?;
    Ok(windows.into_values().collect())
}

impl DeviceAnswer {
    /// Those with most requests come first.
    fn order(&self) -> (Reverse<u64>, Option<&Device>) {
        let [reads, writes] = self.requests;
        (Reverse(reads + writes), self.device.as_ref())
    }

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
