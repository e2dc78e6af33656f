//! The tests of this crate by its public interface, in one program: linking is most of what a change waits for.

mod cached;
mod common;
mod conservation;
mod controls;
mod convergence;
mod corpora;
mod lab;
mod parity;
#[path = "../../../fuzz/src/predict.rs"]
#[expect(unreachable_pub, reason = "the fuzz targets use it")]
mod predict;
mod queueing;
mod rules_of_thumb;
