//! What logs and counters say: findings, figures, and answers to what people ask of them.

mod answers;
mod change;
pub mod csv;
mod document;
mod joined;
pub mod text;

pub use answers::{Answer, answers};
pub use change::{Change, Unmatched};
pub use document::{Document, Failure, SCHEMA};
pub use joined::Evidence;
