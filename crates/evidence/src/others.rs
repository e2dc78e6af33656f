//! Outputs of tools whose figures are not read: who brings one learns which it is, and that nothing of it was taken.

/// What a line of such an output has in it, and of what it is then said to be.
type Other = (&'static [&'static str], &'static str);

/// What logs of the Performance Data Helper begin with.
const PDH: &str = "(PDH-";

/// What has the figures that are missing.
macro_rules! instead {
    (disks) => {
        "; `iostat -xt 15 240`, or /proc/diskstats twice, has latency by disk"
    };
    (zfs) => {
        "; on Linux `iostat -xt 15 240` has latency by disk of the pool"
    };
    (sql_server) => {
        "; sys.dm_io_virtual_file_stats, twice, has latency by file"
    };
    (postgresql) => {
        "; pg_stat_io and pg_stat_database, twice, have the times"
    };
    (mysql) => {
        "; performance_schema.file_summary_by_instance, twice, has latency by file"
    };
    (oracle) => {
        "; `iostat -xt 15 240` of the server has latency by disk"
    };
    (hypervisor) => {
        "; `esxtop -b` has latency by device"
    };
    (benchmark) => {
        "; results of fio and diskspd are"
    };
    (none) => {
        ""
    };
}

/// As it is counted: so many lines of that.
macro_rules! other {
    ($($word:literal)+ => $tool:literal, $instead:tt) => {
        (&[$($word),+], concat!("of ", $tool, ", whose figures are not read", instead!($instead)))
    };
}

/// Of several with the same words the first is meant.
const OTHERS: &[Other] = &[
    other!("kr/s" "ms/r" => "iostat of FreeBSD", none),
    other!("kr/s" "qlen" "svc_t" => "iostat of FreeBSD", none),
    other!("kr/s" "actv" => "iostat of Solaris", none),
    other!("tm_act" "tps" => "iostat of AIX", none),
    other!("bps" "sps" "msps" => "iostat of HP-UX", none),
    other!("KB/t" "MB/s" => "iostat of macOS or a BSD", none),
    other!("L(q)" "ops/s" "%busy" => "gstat", none),
    other!("alloc" "pool" "free" "read" "write" => "zpool iostat", zfs),
    other!("total_wait" "disk_wait" => "zpool iostat", zfs),
    other!("sync_read" "async_write" "scrub" => "zpool iostat", zfs),
    other!("avque" "avwait" "avserv" => "sar -d of Solaris or AIX", none),
    other!("DISKREAD," "Disk Read" => "nmon", disks),
    // Where it has counters of disks, and their names are known, it is read.
    (
        &[PDH],
        "of Performance Monitor or esxtop without a counter of a disk that is read: names of counters are known in English, German, French, Spanish, \
         Portuguese, Italian and Russian",
    ),
    other!("rtps" "wtps" "bread/s" => "sar -b, which has no latency and no disks", disks),
    other!("LVM |" "avio" => "atop", disks),
    other!("DSK |" "avio" => "atop", disks),
    other!("-dsk/" => "dstat", disks),
    other!("rpc bklog" "ops/s" => "nfsiostat", none),
    other!("r  b   swpd" "bi    bo" => "vmstat, which has no latency and no disks", disks),
    other!("Histogram: latency of" "(us)" => "vscsiStats", hypervisor),
    other!("blk_read_time" "calls" => "pg_stat_statements", postgresql),
    other!("I/O Timings: " "read=" => "EXPLAIN of PostgreSQL", postgresql),
    other!("rd_avkb" "rd_rt" => "pt-diskstats", disks),
    other!("ReadLatencyMax" "WriteLatencyMax" => "Get-StorageReliabilityCounter", none),
    other!("Innodb_data_reads" => "SHOW GLOBAL STATUS of MySQL", mysql),
    other!("\"msg\":\"Slow query\"" => "MongoDB's log", none),
    other!("\"msg\":\"WiredTiger message\"" => "MongoDB's log", none),
    (
        &["LAT(ms)", "SECTOR", "BYTES"],
        "of biosnoop, which is for `straddle trace`, and whose figures are not read here",
    ),
    (
        &["Reads Queued:", "Writes Queued:"],
        "of blkparse, which is for `straddle trace`, and whose figures are not read here",
    ),
    (
        &["block_rq_complete: "],
        "of the kernel's tracer, which is for `straddle trace`, and whose figures are not read here",
    ),
    other!("kB_rd/s" "kB_wr/s" => "pidstat", disks),
    other!("DISK READ" "DISK WRITE" => "iotop", disks),
    other!("KBRead" "KBWrit" => "collectl", disks),
    other!("VolumeReadOps" => "CloudWatch", disks),
    other!("VolumeWriteOps" => "CloudWatch", disks),
    other!("VolumeTotal" => "CloudWatch", disks),
    other!("VolumeQueueLength" => "CloudWatch", disks),
    other!("VolumeAvg" => "CloudWatch", disks),
    other!("Data Disk " => "Azure Monitor", disks),
    other!("wait_type" "waiting_tasks_count" => "wait statistics of SQL Server", sql_server),
    other!("PAGEIOLATCH_" => "wait statistics of SQL Server", sql_server),
    other!("db file sequential read" => "wait events of Oracle", oracle),
    other!("CrystalDiskMark" "hiyohiyo" => "CrystalDiskMark", benchmark),
    other!("ATTO Disk Benchmark" => "ATTO Disk Benchmark", benchmark),
    other!("Compare file sync methods using" => "pg_test_fsync", benchmark),
    other!("Iozone: Performance Test of File I/O" => "IOzone", benchmark),
    other!(" ioping statistics " => "ioping", benchmark),
    other!("Timing buffered disk reads:" => "hdparm", benchmark),
    other!("copied, " " bytes " "B/s" => "dd", benchmark),
];

/// The first words, which a line is looked through for.
pub(crate) fn marks() -> impl Iterator<Item = &'static str> {
    OTHERS
        .iter()
        .filter_map(|(words, _)| words.first().copied())
}

/// What a line is of that is not read.
pub(crate) fn of(text: &str) -> Option<&'static str> {
    /// Longer lines are no names of columns.
    const LONGEST: usize = 1 << 12;
    let has_all = |(words, _): &&Other| words.iter().all(|word| text.contains(word));
    let (words, what) = OTHERS.iter().find(has_all)?;
    // A log of all counters names thousands.
    (text.len() <= LONGEST || words.contains(&PDH)).then_some(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_told_apart_by_the_names_of_their_columns() {
        for (text, expected) in [
            (
                "device       r/s     w/s     kr/s     kw/s  ms/r  ms/w  ms/o  ms/t qlen  %b  ",
                "FreeBSD",
            ),
            (
                "device     r/s   w/s    kr/s    kw/s qlen svc_t  %b  ",
                "FreeBSD",
            ),
            (
                "    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device",
                "Solaris",
            ),
            (
                "device    r/s    w/s   kr/s   kw/s wait actv  svc_t  %w  %b ",
                "Solaris",
            ),
            (
                "Disks:        % tm_act     Kbps      tps    Kb_read   Kb_wrtn",
                "AIX",
            ),
            (
                "hdisk0         xfer:  %tm_act      bps      tps      bread      bwrtn",
                "AIX",
            ),
            ("  device    bps     sps    msps ", "HP-UX"),
            (
                " tin tout  KB/t  t/s  MB/s   KB/t  t/s  MB/s  us ni sy sp in id",
                "macOS or a BSD",
            ),
            (
                " L(q)  ops/s    r/s   kBps   ms/r    w/s   kBps   ms/w   %busy Name",
                "gstat",
            ),
            (
                "pool        alloc   free   read  write   read  write",
                "zpool iostat",
            ),
            (
                "00:00:00   device        %busy   avque   r+w/s  blks/s  avwait  avserv",
                "sar -d of Solaris or AIX",
            ),
            (
                "wait_type  waiting_tasks_count  wait_time_ms",
                "wait statistics of SQL Server",
            ),
            (
                "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 5.12 s, 210 MB/s",
                "dd",
            ),
            (
                "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\db4\\Memory\\Available MBytes\"",
                "Performance Monitor",
            ),
            ("----total-usage---- -dsk/total- -net/total-", "dstat"),
            (
                "pool            sync_read    sync_write    async_read    async_write      scrub",
                "zpool iostat",
            ),
            (
                "#<----CPU[HYPER]-----><----------Disks-----------> KBRead  Reads KBWrit Writes",
                "collectl",
            ),
            (
                "    TID  PRIO  USER     DISK READ DISK WRITE>  COMMAND",
                "iotop",
            ),
            (
                "vol-0aa11bb22 VolumeReadOps",
                "CloudWatch, whose figures are not read; `iostat -xt",
            ),
            (
                "00:00:00          tps      rtps      wtps      dtps   bread/s   bwrtn/s",
                "sar -b",
            ),
            (
                "DSK |          sdc | busy     41% | read    312 | write  90 | avio 2.10 ms |",
                "atop",
            ),
            (
                " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa",
                "vmstat",
            ),
            ("           ops/s       rpc bklog", "nfsiostat"),
            (
                "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)",
                "straddle trace",
            ),
            (
                " Reads Queued:           7,       28KiB\t Writes Queued:           2,        8KiB",
                "blkparse",
            ),
        ] {
            let what = of(text).unwrap_or_default();
            assert!(what.contains(expected), "{text}: {what}");
        }
        for text in [
            "",
            "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz",
            "the pool has free space to read",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
