//! What a report on a whole machine is, and what it falls into.

use crate::captured::text::Line;
use crate::captured::tool::Notes;
use crate::missing::Missing;

/// A program that reports on a whole machine.
pub(in crate::captured) struct Report {
    /// Its name.
    pub(in crate::captured) name: &'static str,
    /// True for its text, by its beginning and by what it has only.
    pub(in crate::captured) is: fn(&[Line<'_>]) -> bool,
    /// The name of the machine.
    pub(in crate::captured) host: for<'t> fn(&[Line<'t>]) -> Option<&'t str>,
    /// Its parts; what tells nothing of storage is none.
    pub(in crate::captured) parts: for<'t> fn(&[Line<'t>]) -> Vec<Part<'t>>,
    /// What the tools of its commands do not read.
    pub(in crate::captured) besides: fn(&[Line<'_>], &mut Notes<'_>),
    /// What has what it does not say of a layer.
    pub(in crate::captured) missing: &'static [(Missing, &'static str)],
}

/// What one command printed.
pub(in crate::captured) struct Part<'t> {
    /// The command, where the text names it.
    pub(in crate::captured) command: Option<&'t str>,
    pub(in crate::captured) lines: Vec<Line<'t>>,
}
