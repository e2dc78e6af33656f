//! Experiments of `bench` as people and programs read them.
//!
//! One file a form: [`text`] for terminals, [`Document`] for JSON, [`csv`] for spreadsheets, [`fio`] for tools that read
//! fio's own output, [`picture`] for pages. All of them take a [`straddle_bench::results::Experiment`] and judge nothing
//! themselves, but for the closing words of [`text`].

pub mod csv;
pub(crate) mod document;
pub mod fio;
pub mod picture;
pub mod text;
pub(crate) mod wording;

pub use document::{Document, SCHEMA};

/// What is asked for, and how much at once: `8 KiB random, reads only, 8 × 32`.
#[must_use]
pub fn workload(workload: &straddle_workload::Workload) -> String {
    format!("{}, {}", wording::title(workload), wording::load(workload))
}
