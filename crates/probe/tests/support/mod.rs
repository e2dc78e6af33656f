//! What several test files share. Each uses a part of it.
#![allow(dead_code, unreachable_pub)]

pub mod bitlocker;
pub mod firmware;
pub mod ldm;
pub mod qemu_map;
pub mod vmfs;
