//! One file for each recorder.

pub(crate) mod alibaba;
pub(crate) mod msr;
pub(crate) mod spc;
pub(crate) mod tencent;
