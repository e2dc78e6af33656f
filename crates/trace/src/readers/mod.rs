//! One file for each recorder.

pub(crate) mod alibaba;
pub(crate) mod biosnoop;
pub(crate) mod blkalgn;
pub(crate) mod blkparse;
pub(crate) mod blktrace;
pub(crate) mod csv;
pub(crate) mod etw;
pub(crate) mod file_offsets;
pub(crate) mod fio_log;
pub(crate) mod fiu;
pub(crate) mod ftrace;
pub(crate) mod iolog;
pub(crate) mod msr;
pub(crate) mod pcap;
pub(crate) mod spc;
pub(crate) mod systor;
pub(crate) mod tencent;
