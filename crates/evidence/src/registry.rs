use crate::benchmark::{diskspd, diskspd_xml, fio, sqlio};
use crate::errorlog::{aside, backup, event, event_xml, flush_cache, misaligned, sector, stall};
use crate::etcd::{histogram, slow};
use crate::format::Format;
use crate::linux::{
    diskstats, iostat, iostat_csv, iostat_json, node_exporter, sadf, sadf_json, sadf_lines,
    sadf_xml, sar, vmstat,
};
use crate::mysql::{self, innodb};
use crate::pdh::{esxtop, export, get_counter, perfmon};
use crate::postgres::{checkpoint, statistics};
use crate::sqlserver::{blitz, file_stats, files};

/// Everything whose output is read. Where two recognise the same text, the first has it.
pub static FORMATS: &[&Format] = &[
    &stall::FORMAT,
    &misaligned::FORMAT,
    &sector::FORMAT,
    &aside::FORMAT,
    &flush_cache::FORMAT,
    &backup::FORMAT,
    &backup::NAMES,
    &event::FORMAT,
    &event_xml::FORMAT,
    &perfmon::FORMAT,
    &esxtop::FORMAT,
    &esxtop::SCREEN,
    &get_counter::FORMAT,
    &export::FORMAT,
    &blitz::FORMAT,
    &file_stats::FORMAT,
    &file_stats::NAMELESS,
    &files::FORMAT,
    &diskspd::FORMAT,
    &diskspd_xml::FORMAT,
    &sqlio::FORMAT,
    &checkpoint::FORMAT,
    &statistics::CHECKPOINTS,
    &statistics::DATABASES,
    &statistics::IO,
    &statistics::WAL,
    &innodb::FORMAT,
    &mysql::files::FORMAT,
    &slow::FORMAT,
    &histogram::FORMAT,
    &fio::text::FORMAT,
    &fio::json::FORMAT,
    &fio::terse::FORMAT,
    &iostat::FORMAT,
    // Its names of columns are those of iostat, too.
    &sadf::FORMAT,
    &iostat_csv::FORMAT,
    &iostat_json::FORMAT,
    &sar::FORMAT,
    &sadf_lines::FORMAT,
    &sadf_json::FORMAT,
    &sadf_xml::FORMAT,
    &diskstats::FORMAT,
    &node_exporter::FORMAT,
    &vmstat::FORMAT,
];
