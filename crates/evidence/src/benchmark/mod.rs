//! Results of benchmarks.

pub(crate) mod diskspd;
pub(crate) mod diskspd_xml;
pub(crate) mod fio;
pub(crate) mod sqlio;
