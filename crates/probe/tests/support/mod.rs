//! What several test files share. Each uses a part of it.
#![allow(dead_code, unreachable_pub)]

pub mod firmware;
pub mod qemu_map;
