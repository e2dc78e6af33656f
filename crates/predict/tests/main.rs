//! The tests of this crate by its public interface, in one program: linking is most of what a change waits for.

mod cached;
mod common;
mod conservation;
mod controls;
mod convergence;
mod corpora;
mod lab;
mod parity;
mod queueing;
mod rules_of_thumb;
