//! Truths about flash that can be worked out by hand.
