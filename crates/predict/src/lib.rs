//! What each offset would deliver: discrete-event models of disks, arrays and flash.
//!
//! A [`Profile`](profile::Profile) names a device or an array by physical parameters, each with its source. A system is built
//! from it and works through the requests of a workload in simulated time: integers, seeded random numbers and the
//! pure-Rust `libm`, so that a run is the same to the bit everywhere.

pub mod compose;
mod count;
pub mod decision;
pub mod design;
mod document;
pub mod experiment;
pub mod fit;
mod kernel;
pub mod mechanism;
pub mod model;
pub mod outline;
pub mod prediction;
pub mod profile;
mod quantity;
mod requests;
mod scenario;
pub mod script;
pub mod sensitivity;
pub mod study;
mod system;

pub use count::{count, count_requests};
pub use kernel::Time;
pub use requests::{Arrivals, Next, Requests};
pub use scenario::{Scenario, replay};
pub use system::{Counts, LEVEL, Length, MARKS, Mark, Outcome, Resource, Store, check};
