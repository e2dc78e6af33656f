//! Texts that one program wrote about one whole machine: each is a host by itself, whatever lies beside it. Which commands printed what,
//! the text says in its own way.
//!
//! A report is one file here and one line in [`REPORTS`].

mod msinfo;
pub(super) mod part;
mod pvereport;
pub(super) mod titled;

use part::Report;

/// The programs whose reports are read.
pub(super) const REPORTS: &[&Report] = &[&pvereport::REPORT, &msinfo::REPORT];
