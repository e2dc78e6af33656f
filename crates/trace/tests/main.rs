//! Traces as recorders write them, and what they come to.

mod exact;
