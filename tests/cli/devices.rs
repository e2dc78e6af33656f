//! Tests that make loop devices over files that are deleted. Scripts of `fix` refuse where there is one, so that this is a
//! program apart: programs run one after the other.

#![cfg(target_os = "linux")]

mod bench_devices;
#[allow(dead_code, reason = "another test program uses the rest")]
mod support;
