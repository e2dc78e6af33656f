//! The tests of this crate by its public interface, in one program: linking is most of what a change waits for.

#[path = "../../../fuzz/src/compat.rs"]
#[expect(unreachable_pub, reason = "the fuzz targets use it")]
mod compat;
mod corpora;
mod coverage;
#[path = "../../../fuzz/src/journal.rs"]
#[expect(unreachable_pub, reason = "the fuzz targets use it")]
mod journal;
mod place_brute_force;
mod place_layouts;
mod place_live;
mod run_common;
mod run_device;
mod run_requests;
mod run_verify;
