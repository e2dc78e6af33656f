//! Predictions, comparisons of designs and profiles as people and programs read them.
//!
//! Tables, words and columns are those of [`bench`](crate::bench), so that what was predicted can be compared with what was
//! measured line by line.

mod comparison;
pub mod csv;
mod decision;
mod document;
pub mod fit;
mod header;
pub mod profile;
mod sensitivity;
pub mod text;
mod why;
mod words;

pub use document::{Document, SCHEMA};
pub use words::asked as workload;
