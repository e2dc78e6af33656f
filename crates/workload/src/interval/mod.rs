//! How far a ratio may lie from the truth, and what that proves. Floating point comes from `libm`, so that results are equal
//! everywhere.
//!
//! [`ratio`] makes paired log ratios of runs, [`estimate`] their interval and when it is narrow enough ([`student`] has the
//! distribution), [`verdict`](mod@verdict) what an interval proves.

pub mod estimate;
pub mod ratio;
pub mod student;
pub mod verdict;

pub use estimate::{ERROR, Estimate, Interval};
pub use verdict::Verdict;
