//! The journal: plan, setting and samples, a line each, written when they are known.
