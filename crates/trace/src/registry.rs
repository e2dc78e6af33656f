use crate::format::Format;
use crate::readers::{alibaba, msr, spc, tencent};

/// Every recorder that is read, in the order in which a file is held against them.
pub static FORMATS: &[&Format] = &[&msr::MSR, &alibaba::ALIBABA, &tencent::TENCENT, &spc::SPC];
