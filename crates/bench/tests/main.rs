//! The tests of this crate by its public interface, in one program: linking is most of what a change waits for.

mod corpora;
mod coverage;
mod place_brute_force;
mod place_layouts;
mod place_live;
mod run_common;
mod run_device;
mod run_replay;
mod run_requests;
mod run_verify;
