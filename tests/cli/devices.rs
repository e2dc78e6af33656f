//! Tests that must not run beside those of `main.rs`, as programs run one after the other: loop devices over deleted files, in front
//! of which scripts of `fix` refuse.

#![cfg(target_os = "linux")]

mod bench_devices;
mod realign_devices;
#[allow(dead_code, reason = "another test program uses the rest")]
mod support;
mod trace_devices;
