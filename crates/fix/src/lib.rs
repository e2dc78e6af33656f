//! What to change so that every layer of a stack is on the grids below it, what that takes, whether it is worth it, and the
//! scripts that do it.
//!
//! A [`Plan`] is data: it is made from a stack and the findings on it, without I/O. Each [`change`] is tried on a copy of the
//! stack, and the rules look at the copy again: what they no longer find is what the plan promises to cure. A [`script`] writes
//! the steps of a plan for one tool.

mod ask;
pub mod change;
mod cure;
mod effort;
mod how;
mod plan;
mod question;
mod recommendation;
pub mod script;
mod situation;
mod step;
mod supposed;
mod survival;
mod traffic;
mod verdict;
mod verify;
mod worth;

pub use ask::Ask;
pub use cure::{Cost, Cure, Left, compared};
pub use effort::Effort;
pub use how::How;
pub use plan::Plan;
pub use question::{Alternative, Question, Unknown};
pub use recommendation::Recommendation;
pub use situation::{Known, Situation};
pub use step::Step;
pub use supposed::settle;
pub use survival::{Kept, Reader, Sample, Survival, sha256};
use traffic::Traffic;
pub use verdict::{outline, plan};
pub use verify::{Before, Outcome, Unverifiable, Verification, verify};
pub use worth::{Worth, duration, rate};
