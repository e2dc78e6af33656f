use crate::format::Format;
use crate::readers::{
    alibaba, biosnoop, blkalgn, blkparse, blktrace, csv, etw, file_offsets, fio_log, fiu, ftrace,
    iolog, msr, pcap, spc, systor, tencent,
};
use crate::tables;

/// Every recorder that is read, in the order in which they are asked: what a few bytes tell first, then tables without a heading,
/// which differ in the number and kind of their columns, then lines that name what they are.
///
/// Those that may be taken for each other stand so that the narrower one is first: `fio-log` has a blank behind each comma, where the tables of
/// numbers before it have none; `csv` takes whatever names its columns, so it is the last.
pub static FORMATS: &[&Format] = &[
    &blktrace::BLKTRACE,
    &pcap::PCAP,
    &msr::MSR,
    &alibaba::ALIBABA,
    &tencent::TENCENT,
    &spc::SPC,
    &systor::SYSTOR,
    &fio_log::FIO_LOG,
    &iolog::IOLOG,
    &fiu::FIU,
    &blkparse::BLKPARSE,
    &ftrace::FTRACE,
    &blkalgn::BLKALGN,
    &biosnoop::BIOSNOOP,
    &etw::ETW,
    &file_offsets::FILE_OFFSETS,
    &csv::CSV,
];

/// Files of tables, which are told by their first bytes before any recorder is asked. Their rows are requests, as those of `csv` are.
pub static TABLES: &[&Format] = &[&tables::PARQUET, &tables::ARROW];
