//! Repair plans, and what became of them, as people and programs read them.

mod document;
pub mod text;
mod verdicts;

pub use document::{Document, SCHEMA, VerifiedDocument};
