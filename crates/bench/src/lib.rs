//! What each offset really delivers on a file or device: an experiment, its measurements and what they prove.
//!
//! The data goes through in this order:
//!
//! 1. [`straddle_workload`]: what is asked of the storage, all but the offset. A workload and its number is a cell of the plan.
//! 2. [`place`]: where the requests of an [`Offset`](straddle_workload::offset::Offset) lie, in the file and on every grid of the stack below it.
//! 3. [`plan`]: which cells, which offsets, in which order, how often: blocks in random order, the baseline offset between
//!    all others, until the interval is narrow enough or the time is up. It is a state machine without I/O.
//! 4. [`run`]: one run of one cell at one offset, on the engines of `straddle-io`, gives a [`sample::Sample`].
//! 5. [`journal`]: every sample goes to a file at once, so that nothing measured is lost and a run can be resumed.
//! 6. [`session`] goes through all of that, run after run, until it is enough or somebody stops it.
//! 7. [`statistics`] and [`results`]: ratios with intervals, drift, noise floor, knee, verdicts.
//! 8. [`validity`]: what could make all of that worthless, and what to do about it.

pub mod compat;
pub mod counters;
pub mod journal;
pub mod machine;
pub mod place;
pub mod plan;
pub mod results;
pub mod run;
pub mod sample;
pub mod session;
pub mod statistics;
pub mod target;
pub mod validity;
