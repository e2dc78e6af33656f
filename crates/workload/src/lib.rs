//! What is asked of storage, and what answers prove: what measuring and predicting have in common.
//!
//! - [`Workload`]: how large requests are, which way they go, in which order, how many at once. [`offset`]: the places that are
//!   tried out. [`generator`]: which request comes next.
//! - [`recording`]: the replay of recorded requests. [`histogram`]: how long answers took. [`interval`]: how far a ratio may lie from the truth, and what that proves.

pub mod generator;
pub mod histogram;
pub mod interval;
pub mod offset;
pub mod recording;
mod workload;

pub use workload::{Pattern, Percent, Workload};
