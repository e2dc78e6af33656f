//! What tools of Linux print about disks: sysstat (iostat, sar, sadf), the counters of the kernel, vmstat.

mod clock;
mod columns;
mod devices;
pub(crate) mod diskstats;
pub(crate) mod iostat;
pub(crate) mod iostat_csv;
pub(crate) mod iostat_json;
pub(crate) mod node_exporter;
mod reports;
mod rows;
pub(crate) mod sadf;
pub(crate) mod sadf_json;
pub(crate) mod sadf_lines;
pub(crate) mod sadf_xml;
pub(crate) mod sar;
mod sysstat_json;
mod unnamed;
pub(crate) mod vmstat;

pub(crate) use clock::english;
pub(crate) use reports::Reports;
