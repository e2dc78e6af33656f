//! What recorded requests cost at each start: text, JSON, CSV.

mod csv;
mod document;
mod doubts;
mod result;
mod text;
pub(crate) mod words;

pub use csv::write as csv;
pub use document::{Document, SCHEMA};
pub use result::{Boundary, Failure, Section, Trace};
pub use text::report as text;
