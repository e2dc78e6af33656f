//! Outputs of tools whose figures are not read: who brings one learns which it is, and that nothing of it was taken.

/// What is in one line of such an output, and what it is of.
struct Other {
    words: &'static [&'static str],
    what: &'static str,
}

/// Of several with the same words the first is meant.
const OTHERS: &[Other] = &[
    Other {
        words: &["kr/s", "ms/r"],
        what: "of iostat of FreeBSD, which is not read",
    },
    Other {
        words: &["kr/s", "qlen", "svc_t"],
        what: "of iostat of FreeBSD, which is not read",
    },
    Other {
        words: &["kr/s", "actv"],
        what: "of iostat of Solaris, which is not read",
    },
    Other {
        words: &["tm_act", "tps"],
        what: "of iostat of AIX, which is not read",
    },
    Other {
        words: &["bps", "sps", "msps"],
        what: "of iostat of HP-UX, which is not read",
    },
    Other {
        words: &["KB/t", "MB/s"],
        what: "of iostat of macOS or a BSD, which is not read",
    },
    Other {
        words: &["L(q)", "ops/s", "%busy"],
        what: "of gstat, which is not read",
    },
    Other {
        words: &["alloc", "pool", "free", "read", "write"],
        what: "of zpool iostat, which is not read",
    },
    Other {
        words: &["avque", "avwait", "avserv"],
        what: "of sar -d of Solaris or AIX, which is not read",
    },
    Other {
        words: &["DISKREAD,", "Disk Read"],
        what: "of nmon, which is not read",
    },
    Other {
        words: &["kB_rd/s", "kB_wr/s"],
        what: "of pidstat, which is not read",
    },
    Other {
        words: &["Total DISK READ"],
        what: "of iotop, which is not read",
    },
    Other {
        words: &["wait_type", "waiting_tasks_count"],
        what: "of wait statistics of SQL Server, which are not read",
    },
    Other {
        words: &["PAGEIOLATCH_"],
        what: "of wait statistics of SQL Server, which are not read",
    },
    Other {
        words: &["db file sequential read"],
        what: "of wait events of Oracle, which are not read",
    },
    Other {
        words: &["CrystalDiskMark", "hiyohiyo"],
        what: "of CrystalDiskMark, which is not read",
    },
    Other {
        words: &["ATTO Disk Benchmark"],
        what: "of ATTO Disk Benchmark, which is not read",
    },
    Other {
        words: &["Compare file sync methods using"],
        what: "of pg_test_fsync, which is not read",
    },
    Other {
        words: &["Iozone: Performance Test of File I/O"],
        what: "of IOzone, which is not read",
    },
    Other {
        words: &[" ioping statistics "],
        what: "of ioping, which is not read",
    },
    Other {
        words: &["Timing buffered disk reads:"],
        what: "of hdparm, which is not read",
    },
    Other {
        words: &["copied, ", " bytes ", "B/s"],
        what: "of dd, which is not read",
    },
];

/// The first words, which a line is looked through for.
pub(crate) fn marks() -> impl Iterator<Item = &'static str> {
    OTHERS
        .iter()
        .filter_map(|other| other.words.first().copied())
}

/// What a line is of that is not read.
pub(crate) fn of(text: &str) -> Option<&'static str> {
    /// Longer lines are no names of columns.
    const LONGEST: usize = 1 << 12;
    let has_all = |other: &&Other| other.words.iter().all(|word| text.contains(word));
    let found = OTHERS.iter().find(has_all)?;
    (text.len() <= LONGEST).then_some(found.what)
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
