//! Questions that people bring to logs and counters: each is answered in words, with the figures of a capture that poses it, or said to be open with
//! what would answer it.

use crate::support::{scratch, straddle};
use std::fs;

/// The answer that the report gives to a question, and what would answer what stays open, from files of these texts.
fn answer(texts: &[&str], question: &str) -> String {
    let here = scratch();
    let names: Vec<String> = (0..texts.len()).map(|at| format!("{at}.txt")).collect();
    for (name, text) in names.iter().zip(texts) {
        fs::write(here.path().join(name), text).expect("room");
    }
    let mut args = vec!["evidence"];
    args.extend(names.iter().map(String::as_str));
    let run = straddle(here.path(), &args);
    let (_, asked) = (run.stdout)
        .split_once(&format!("  {question}\n"))
        .unwrap_or_else(|| panic!("{question}\n{}", run.transcript()));
    // Answers are indented further than questions.
    let lines = asked.lines().take_while(|line| line.starts_with("    "));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    words.join(" ")
}

fn has(texts: &[&str], question: &str, expected: &[&str]) {
    let said = answer(texts, question);
    for part in expected {
        assert!(said.contains(part), "{question}\n{part}\n{said}");
    }
}

/// A message 833 at a minute of a day.
fn stall(minute: u32, count: u32, file: &str, database: &str) -> String {
    format!(
        "2024-03-14 02:{minute:02}:11.11 spid9s      SQL Server has encountered {count} occurrence(s) of I/O requests taking longer than 15 seconds to \
         complete on file [{file}] in database [{database}] (7).  The OS file handle is 0x0000000000000C40.  The offset of the latest long I/O is: \
         0x0000007f310000\n"
    )
}

/// Counters of Performance Monitor, a row each 15 s from 02:10 on.
fn counters(paths: &[&str], rows: &[&[&str]]) -> String {
    let names: String = paths
        .iter()
        .map(|path| format!(",\"\\\\S\\{path}\""))
        .collect();
    let mut text = format!("\"(PDH-CSV 4.0) (UTC)(0)\"{names}\n");
    for (at, row) in rows.iter().enumerate() {
        let cells: String = row.iter().map(|cell| format!(",\"{cell}\"")).collect();
        text.push_str(&format!(
            "\"03/14/2024 02:{}:{:02}.000\"{cells}\n",
            10 + at / 4,
            at % 4 * 15
        ));
    }
    text
}

const NAMES: &str =
    "database_name,physical_name,num_of_reads,io_stall_read_ms,num_of_writes,io_stall_write_ms\n";

#[test]
fn which_file_stalls_on_which_volume_and_how_often() {
    let log = stall(10, 9, r"G:\Data\hr.mdf", "hr")
        + &stall(15, 4, r"G:\Data\hr.mdf", "hr")
        + &stall(15, 2, r"L:\Log\hr.ldf", "hr");
    has(
        &[&log],
        "Which file stalls, on which volume, and how often?",
        &[
            r"G:\Data\hr.mdf on volume G: (by its letter): 2 lines, 13 occurrences; L:\Log\hr.ldf on volume L: (by its letter): 1 line, 2 occurrences",
            "would answer it: the mount points of the server",
        ],
    );
    has(
        &[&log],
        "Is the count the number of slow requests?",
        &[
            "No. 15 occurrences in 3 lines",
            "counted at every check",
            "is 15 at most",
        ],
    );
    has(
        &[&log],
        "What do I hand to the storage team?",
        &[
            "requests to volume G: (by its letter), volume L: (by its letter) waited 15 s or longer between 2024-03-14T02:10:11.11 and \
             2024-03-14T02:15:11.11",
            "most at one check: 9 at 2024-03-14T02:10:11.11",
            "failover, snapshots, replication",
            "the offset of the two clocks",
        ],
    );
}

#[test]
fn fifteen_seconds_are_the_storage_or_the_clock() {
    const QUESTION: &str = "Are 15 seconds the storage, or the clock?";
    let log = stall(10, 9, r"G:\Data\hr.mdf", "hr") + &stall(11, 4, r"G:\Data\hr.mdf", "hr");
    let path = [r"LogicalDisk(G:)\Avg. Disk sec/Read"];
    let slow = counters(&path, &[&["0.012"], &["16.4"], &["0.020"]]);
    has(
        &[&log, &slow],
        QUESTION,
        &["The storage: over the same time the longest mean of an interval is 16.4 s on G:"],
    );
    let quick = counters(&path, &[&["0.012"], &["0.031"], &["0.020"]]);
    has(
        &[&log, &quick],
        QUESTION,
        &[
            "no more than 31.0 ms (G:)",
            "power saving and drifting processors",
            "Avg. Disk sec/Transfer",
        ],
    );
    has(
        &[&log],
        QUESTION,
        &[
            "Open: nothing here measures the disks between 2024-03-14T02:10:11.11 and 2024-03-14T02:11:11.11",
            "whether power saving is on",
        ],
    );
    // Lines without their times.
    let bare: String = log
        .lines()
        .map(|line| format!("{}\n", &line[35..]))
        .collect();
    has(
        &[&bare],
        QUESTION,
        &["Open: the lines do not say when", "ERRORLOG itself"],
    );
    has(
        &[&bare],
        "What do I hand to the storage team?",
        &["waited 15 s or longer at times that the lines do not say; most at one check: 9"],
    );
}

#[test]
fn counters_and_file_statistics_are_of_different_times() {
    let perfmon = counters(
        &[r"LogicalDisk(E:)\Avg. Disk sec/Read"],
        &[&["0.016"], &["0.018"], &["0.017"]],
    );
    let files = format!("{NAMES}crm,E:\\crm.mdf,1000,260000,10,20\n");
    has(
        &[&perfmon, &files],
        "Why do Performance Monitor and the file statistics disagree?",
        &[
            "17.0 ms on E: is a mean of 3 intervals, 260 ms of E:\\crm.mdf a mean since SQL Server started",
            "two readings of the file statistics",
        ],
    );
    // Also where writes are what was slow.
    let writes = format!("{NAMES}crm,E:\\crm.mdf,0,0,1000,260000\n");
    has(
        &[&perfmon, &writes],
        "Why do Performance Monitor and the file statistics disagree?",
        &["260 ms of E:\\crm.mdf a mean since"],
    );
}

#[test]
fn sums_are_no_latencies_and_one_reading_is_an_average() {
    let one = format!("{NAMES}crm,E:\\crm.mdf,1000,260000,10,20\n");
    has(
        &[&one],
        "Is a sum shown as a latency?",
        &["E:\\crm.mdf 260 s ÷ 1,000 requests = 260 ms each"],
    );
    const NOW: &str = "Is it slow now, or on average since the start?";
    has(
        &[&one],
        NOW,
        &[
            "Open: there is one reading",
            "a second reading of the same some minutes later",
        ],
    );
    let two = format!("{one}\n\n{NAMES}crm,E:\\crm.mdf,1500,262000,10,20\n");
    has(
        &[&two],
        NOW,
        &["E:\\crm.mdf read latency: 4.00 ms between the readings, 175 ms since the start"],
    );
}

/// A mean of all requests of a drive, not of the means of its files.
#[test]
fn drives_come_before_databases() {
    let files = format!(
        "{NAMES}crm,E:\\crm.mdf,1000,10000,0,0\nerp,E:\\erp.mdf,3000,90000,1000,20000\nweb,F:\\web.mdf,10,1000,90,100\n"
    );
    has(
        &[&files],
        "Which volume is slowest, and which database on it?",
        &[
            "By file, since the start, F:\\web.mdf with a read latency of 100 ms",
            "By drive, from the files on it, since the start: volume E: (by its letter) 24.0 ms over 5,000 requests, volume F: (by its letter) \
             11.0 ms over 100 requests; on the first, database erp 27.5 ms over 4,000 requests",
            "counters by volume over the same time",
        ],
    );
}

#[test]
fn large_requests_are_told_from_small_ones_as_far_as_counters_can() {
    let perfmon = counters(
        &[
            r"LogicalDisk(E:)\Avg. Disk Bytes/Read",
            r"LogicalDisk(E:)\Avg. Disk sec/Read",
        ],
        &[&["8192", "0.004"], &["524288", "0.031"]],
    );
    has(
        &[&perfmon],
        "Is the latency in large or in small requests?",
        &[
            "The mean read size of E: is 260 KiB, at most 512 KiB at 2024-03-14T02:10:15",
            "a trace (blktrace, ETW)",
        ],
    );
}

#[test]
fn the_message_does_not_say_which_replica_has_which_sectors() {
    let log = "2024-03-14 02:10:11.11 spid9s      There have been 256 misaligned log IOs which required falling back to synchronous IO.  The current \
               IO is on file L:\\Log\\hr.ldf.\n";
    has(
        &[log],
        "Which replica has which sector size?",
        &[
            "writes L:\\Log\\hr.ldf on larger physical sectors",
            "the message does not say",
            "fsutil fsinfo sectorinfo X:",
        ],
    );
}

#[test]
fn busy_is_not_full() {
    const QUESTION: &str = "Does 100% utilization mean that it is full?";
    let iostat = |queue: &str| {
        format!(
            "Device,r/s,w/s,await,aqu-sz,%util\nnvme0n1,900.0,100.0,0.23,{queue},100.0\nnvme0n1,900.0,100.0,0.23,{queue},100.0\n"
        )
    };
    has(
        &[&iostat("0.23")],
        QUESTION,
        &[
            "No. nvme0n1 was busy 100% of the busiest interval, with a mean queue of 0.23",
            "The two contradict each other: a mean queue of 0.23 is a disk that was busy 23% of the time at most",
            "the rate and the latency at a higher load",
        ],
    );
    let said = answer(&[&iostat("7.50")], QUESTION);
    assert!(
        said.contains("a mean queue of 7.50") && !said.contains("contradict"),
        "{said}"
    );
}

#[test]
fn of_a_checkpoint_syncing_is_the_disk() {
    const QUESTION: &str =
        "What in a checkpoint is writing, what is syncing, and which is the disk?";
    let line = |host: &str, sync: &str| {
        format!(
            "Nov 28 10:00:01 {host} postgres[812]: [3-1] LOG:  checkpoint complete: wrote 4211 buffers (25.7%); 0 WAL file(s) added, 1 removed, 3 recycled; \
             write=26.110 s, sync={sync} s, total=28.420 s; sync files=88, longest=0.912 s, average=0.022 s; distance=49152 kB, estimate=61010 kB\n"
        )
    };
    has(
        &[&line("db1", "1.870")],
        QUESTION,
        &[
            "Writing took 26.1 s on average and is spread on purpose; syncing took 1.87 s on average, 1.87 s at most, and is the disk",
            "one file is 912 ms",
        ],
    );
    // Two hosts in one log of syslog are two servers.
    has(
        &[&(line("db1", "0.100") + &line("db2", "4.000"))],
        QUESTION,
        &[
            "Of the slowest of several servers, server db2: Writing took 26.1 s",
            "syncing took 4.00 s on average, 4.00 s at most",
        ],
    );
}

#[test]
fn a_99th_percentile_of_fsync_is_compared_with_what_etcd_asks_for() {
    const QUESTION: &str = "Is this 99th percentile of fsync too slow for etcd?";
    let fio = |p99: &str| {
        format!(
            "etcd: (g=0): rw=write, bs=(R) 2300B-2300B, (W) 2300B-2300B, (T) 2300B-2300B, ioengine=sync, iodepth=1\nfio-3.33\n\n\
             etcd: (groupid=0, jobs=1): err= 0: pid=71: Thu Mar 14 02:10:11 2024\n  write: IOPS=210, BW=472KiB/s (483kB/s)(22.0MiB/47728msec); 0 zone resets\n\
             \x20   clat (usec): min=3, max=310, avg=11.20, stdev= 9.10\n  fsync/fdatasync/sync_file_range:\n    \
             sync (usec): min=1210, max=41000, avg=4710.00, stdev=2100.00\n    sync percentiles (usec):\n     | 50.00th=[ 4100], 99.00th=[{p99}], 99.90th=[30000]\n"
        )
    };
    has(
        &[&fio("13500")],
        QUESTION,
        &["13.5 ms. It is above the 10 ms that etcd's FAQ asks for, and within the 20 ms"],
    );
    has(
        &[&fio("15000")],
        QUESTION,
        &["15.0 ms. It is above the 10 ms", "elections become likely"],
    );
    has(
        &[&fio("9900")],
        QUESTION,
        &["9.90 ms. No: it is within the 10 ms"],
    );
    has(
        &[&fio("21000")],
        QUESTION,
        &["21.0 ms. Yes: it is above the 10 ms of etcd's FAQ and the 20 ms"],
    );
}

#[test]
fn a_backup_is_as_fast_as_the_slower_of_reading_and_writing() {
    const QUESTION: &str = "How fast should this backup be, and what does a backup to NUL tell?";
    let log = "Processed 131072 pages for database 'hr', file 'hr' on file 1.\nBACKUP DATABASE successfully processed 131072 pages in 10.000 seconds (102.400 MB/sec).\n";
    has(
        &[log],
        QUESTION,
        &[
            "database hr reached 107 million bytes a second",
            "A backup to NUL writes nothing: its rate is that of reading alone",
            "TO DISK = 'NUL' WITH COPY_ONLY",
        ],
    );
}
