//! STR9xx: the quality of the facts.

pub(crate) mod ambiguous_signatures;
pub(crate) mod contradiction;
pub(crate) mod damaged_structure;
pub(crate) mod misprint;
pub(crate) mod missing_fact;
pub(crate) mod not_read;
pub(crate) mod rounded_fact;
pub(crate) mod same_identity;
pub(crate) mod stale_capture;
pub(crate) mod truncated_output;
pub(crate) mod unit_unclear;
