//! Stacks, findings and experiments as people and programs read them: text, JSON, CSV, pictures.
//!
//! Nothing here prints: every function returns text or writes into what the caller gives. Text carries ANSI styles; the
//! caller strips them where they do not belong.

pub mod bench;
pub mod compat;
pub mod csv;
mod document;
pub mod fix;
mod fleet;
mod places;
pub mod predict;
pub mod study;
pub mod text;

pub use document::{Checked, Counts, SCHEMA, TargetDocument};
pub use fleet::{Digest, Fleet, RuleCount, Summary, Worst};
pub use places::{Asked, GapDocument, Place, Step};
