//! What to change so that every layer of a stack is on the grids below it, what that takes, whether it is worth it, and the
//! scripts that do it.
//!
//! A [`Plan`] is data: it is made from a stack and the findings on it, without I/O. Each [`change`] is tried on a copy of the
//! stack, and the rules look at the copy again: what they no longer find is what the plan promises to cure. A [`script`] writes
//! the steps of a plan for one tool.

pub mod change;
mod effort;
mod plan;
pub mod script;
mod situation;
mod supposed;
mod survival;
pub mod uncured;
mod verify;
mod worth;

pub use effort::{Effort, How};
pub use plan::{Ask, Cost, Cure, Left, Plan, Step, has_steps, plan};
pub use situation::{Known, Situation};
pub use supposed::{Alternative, Question, Unknown, settle};
pub use survival::{Kept, Reader, Sample, Survival, sha256};
pub use verify::{Before, Outcome, Unverifiable, Verification, verify};
pub use worth::{Call, Worth, duration, rate};
