//! fio's keys that are not translated: those that change nothing here, those that would change the experiment, and words that are
//! none of fio's but near one.

/// What becomes of a key that is not translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is accepted: what is measured does not depend on it. The words say how it is here; none where there is nothing to say.
    Without(&'static str),
    /// The same, but only with one of these values.
    OnlyAs(&'static [&'static str], &'static str, &'static str),
    /// It would be another experiment: why it is not done, and what to write.
    Refused(&'static str, &'static str),
}

use Fate::{OnlyAs, Refused, Without};

const SEEDED: &str = "the order of requests comes from --seed, and is the same for all offsets";
const LOGS: &str =
    "no log is written; --format runs prints a line for each run, --json each tenth of a second";
const SHOWN: &str = "results have their own form; --format fio prints fio's";
const OFF: &[&str] = &["0", "none"];
const ONE: &[&str] = &["1"];
const ZERO: &[&str] = &["0"];
const VERIFY: &str = "nothing is verified";
const CONTENT: &str = "what is written cannot be compressed, so that storage has to write it";
const PINNED: (&str, &str) = (
    "threads are not bound to processors by a job file",
    "leave it out, and start straddle under taskset or numactl",
);
const SCHEDULED: (&str, &str) = (
    "priorities are not set by a job file",
    "leave it out, and start straddle under nice or ionice",
);
const ZONES: (&str, &str) = (
    "parts of the target are not gone through one after the other",
    "leave it out, or write a job for each part",
);
const FILES: (&str, &str) = (
    "an experiment has one file",
    "name one file with filename, or leave it out",
);
const LATENCY_SEARCH: (&str, &str) = (
    "the depth is not searched for",
    "leave it out; several depths are measured by `straddle bench DIR --iodepth 1,4,16`",
);
const BATCH: (&str, &str) = (
    "requests are not collected into batches: each starts when one has ended",
    "leave it out",
);
const RATE: (&str, &str) = (
    "a run does not end because a rate is not reached",
    "leave it out; results say what was reached",
);
const PAUSES: (&str, &str) = (
    "each request has its own pause",
    "leave it out; thinktime alone is done",
);
const DURABLE: (&str, &str) = (
    "a flush after so many writes is a request of its own, which is not made",
    "give sync=dsync, with which each write is durable when it ends",
);
const REPLAY: (&str, &str) = (
    "a recording is not replayed by a job file",
    "give `straddle bench DIR --replay FILE`",
);
const TRIM: (&str, &str) = (
    "nothing is trimmed",
    "leave it out; read and write are measured",
);
const GROUPS: (&str, &str) = (
    "who else runs on the machine is not decided here",
    "leave it out, and start straddle in the control group",
);

/// Keys that are translated.
pub(super) const READ: &str = "name rw readwrite rwmixread rwmixwrite bs blocksize ba blockalign bsrange blocksize_range bssplit size \
    filesize filename directory iodepth numjobs runtime timeout time_based ramp_time direct buffered ioengine \
    rate_iops rate thinktime sync randseed stonewall wait_for_previous include";

/// Every key of fio 3.33 that is not read by [`super::settings`], but for the rarest: those of one fate together.
const FATES: [(Fate, &str); 81] = [
    (Without(""), "description"),
    (
        Without(SHOWN),
        "group_reporting new_group unified_rw_reporting stats percentile_list clat_percentiles \
         lat_percentiles slat_percentiles significant_figures disk_util block_error_percentiles unit_base",
    ),
    (
        Without(LOGS),
        "per_job_logs write_bw_log write_lat_log write_iops_log write_hist_log write_iolog bwavgtime \
         iopsavgtime log_avg_msec log_entries log_hist_msec log_hist_coarseness log_max_value log_offset \
         log_prio log_compression log_compression_cpus log_store_compressed log_unix_epoch \
         log_alternate_epoch log_alternate_epoch_clock_id",
    ),
    (
        Without("latencies are measured all the same"),
        "gtod_reduce disable_lat disable_clat disable_slat",
    ),
    (Without("the clock is read by each thread"), "gtod_cpu"),
    (Without("the clock is the system's"), "clocksource"),
    (
        Without("rates are measured all the same"),
        "disable_bw_measurement disable_bw",
    ),
    (
        OnlyAs(
            &["1024"],
            "sizes are read with powers of 1024, fio's default",
            "write sizes in powers of 1024",
        ),
        "kb_base",
    ),
    (Without(SEEDED), "randrepeat allrandrepeat random_generator"),
    (Without("no memory is locked"), "lockmem"),
    (
        Without("each request has its own aligned buffer"),
        "mem iomem iomem_align mem_align hugepage-size",
    ),
    (
        Without(
            "direct requests leave the page cache out, and a new file is written before it is read",
        ),
        "invalidate",
    ),
    (
        Without("a new file is filled before the first run"),
        "fallocate overwrite create_serialize create_fsync create_on_open",
    ),
    (
        OnlyAs(ZERO, "a new file has the length of size", "give size"),
        "fill_device fill_fs",
    ),
    (Without("the kernel is given no hints"), "fadvise_hint"),
    (
        OnlyAs(
            ZERO,
            "runs are what an experiment is made of",
            "leave it out",
        ),
        "create_only",
    ),
    (
        OnlyAs(
            ONE,
            "a new file is made where none is",
            "name a file that is there as TARGET",
        ),
        "allow_file_create",
    ),
    (
        OnlyAs(
            ZERO,
            "a device that is in use is never written to",
            "leave it out",
        ),
        "allow_mounted_write",
    ),
    (
        OnlyAs(
            ZERO,
            "files are not read into the page cache first",
            "leave it out",
        ),
        "pre_read",
    ),
    (
        Without("a test file is removed at the end; --keep keeps it"),
        "unlink unlink_each_loop",
    ),
    (
        Without("what follows the measured part is not measured"),
        "end_fsync fsync_on_close",
    ),
    (Without("jobs run one after the other"), "exitall exit_what"),
    (
        Without("the first request that fails ends the experiment"),
        "exitall_on_error",
    ),
    (Without("requests are made by threads"), "thread"),
    (
        Without("every block is equally likely at any time"),
        "norandommap softrandommap",
    ),
    (Without(CONTENT), "refill_buffers scramble_buffers"),
    (
        Without("a job begins when the one before it has ended"),
        "startdelay",
    ),
    (
        OnlyAs(
            ONE,
            "the time decides how often a job is repeated",
            "give runtime, and leave it out",
        ),
        "loops",
    ),
    (
        Without("all of runtime is measured, however many bytes that is"),
        "io_size",
    ),
    (
        Refused(
            "a job ends by time, not by a number of requests",
            "give runtime=60 and time_based",
        ),
        "number_ios",
    ),
    (OnlyAs(ONE, FILES.0, FILES.1), "nrfiles openfiles"),
    (
        Without("there is one file"),
        "file_service_type unique_filename",
    ),
    (Refused(FILES.0, FILES.1), "filename_format opendir"),
    (
        OnlyAs(OFF, "files are not locked for each request", "leave it out"),
        "lockfile",
    ),
    (
        OnlyAs(
            ZERO,
            "a file does not grow while it is measured",
            "give size",
        ),
        "file_append",
    ),
    (
        OnlyAs(
            ZERO,
            "places are multiples of the request size from the offset on, which is what --offsets compares",
            "leave it out",
        ),
        "bs_unaligned blocksize_unaligned",
    ),
    (
        OnlyAs(
            ZERO,
            "sizes do not depend on the order",
            "write a job for each",
        ),
        "bs_is_seq_rand",
    ),
    (
        Refused(
            "requests do not come in groups at one place",
            "leave it out",
        ),
        "rw_sequencer",
    ),
    (
        OnlyAs(
            ZERO,
            "workers of a job share one part of the file",
            "leave it out",
        ),
        "offset_increment",
    ),
    (
        OnlyAs(
            ZERO,
            "--offsets decides where requests lie",
            "leave it out, and give --offsets",
        ),
        "offset offset_align",
    ),
    (
        OnlyAs(
            &["random"],
            "all places are equally likely",
            "leave it out, or replay a recording: `straddle bench DIR --replay FILE`",
        ),
        "random_distribution",
    ),
    (
        OnlyAs(
            &["100"],
            "a share of random requests is not made",
            "give rw=randread or rw=read",
        ),
        "percentage_random",
    ),
    (
        OnlyAs(&["0", "1"], BATCH.0, BATCH.1),
        "iodepth_batch iodepth_batch_submit iodepth_batch_complete iodepth_batch_complete_min",
    ),
    (
        Without("each request starts when one has ended"),
        "iodepth_batch_complete_max",
    ),
    (Refused(BATCH.0, BATCH.1), "iodepth_low"),
    (
        OnlyAs(
            ZERO,
            "requests are not held back for others at the same place",
            "leave it out",
        ),
        "serialize_overlap",
    ),
    (
        OnlyAs(
            &["inline"],
            "requests are made by the thread that counts them",
            "leave it out",
        ),
        "io_submit_mode",
    ),
    (
        Without("the requests are the same"),
        "fixedbufs registerfiles nonvectored userspace_reap",
    ),
    (
        Without("the requests are the same; the kernel is asked by calls"),
        "sqthread_poll sqthread_poll_cpu",
    ),
    (
        OnlyAs(ZERO, SCHEDULED.0, SCHEDULED.1),
        "cmdprio_percentage nice",
    ),
    (
        OnlyAs(
            ZERO,
            "polling is an option of the command line",
            "leave it out, and give --polled beside --job",
        ),
        "hipri hipri_percentage",
    ),
    (
        OnlyAs(
            ZERO,
            "atomic writes are an option of the command line",
            "leave it out, and give --atomic beside --job",
        ),
        "atomic",
    ),
    (
        OnlyAs(OFF, "the kernel is given no hints", "leave it out"),
        "write_hint",
    ),
    (Refused(DURABLE.0, DURABLE.1), "sync_file_range"),
    (
        OnlyAs(ZERO, DURABLE.0, DURABLE.1),
        "fsync fdatasync write_barrier barrier",
    ),
    (
        OnlyAs(
            OFF,
            "verification is an option of the command line",
            "leave it out, and give --verify beside --job",
        ),
        "verify",
    ),
    (
        OnlyAs(
            ZERO,
            "verification is an option of the command line",
            "leave it out, and give --verify beside --job",
        ),
        "do_verify verify_only",
    ),
    (
        Without(VERIFY),
        "verify_interval verify_offset verify_pattern verify_fatal verify_dump verify_async \
         verify_async_cpus verify_backlog verify_backlog_batch verify_state_load verify_state_save \
         experimental_verify",
    ),
    (
        OnlyAs(ZERO, TRIM.0, TRIM.1),
        "trim_percentage trim_verify_zero trim_backlog",
    ),
    (Refused(REPLAY.0, REPLAY.1), "read_iolog"),
    (
        Refused(
            REPLAY.0,
            "give `straddle bench DIR --replay FILE`, which is as fast as possible; --timed keeps the recorded times",
        ),
        "replay_no_stall",
    ),
    (
        Refused(
            REPLAY.0,
            "give `straddle bench DIR --replay FILE --device NAME`",
        ),
        "replay_redirect",
    ),
    (
        Refused(
            REPLAY.0,
            "give `straddle bench DIR --replay FILE --replay-fit scale`",
        ),
        "replay_scale",
    ),
    (
        Refused(
            REPLAY.0,
            "give `straddle bench DIR --replay FILE --replay-speed 2`",
        ),
        "replay_time_scale",
    ),
    (
        Refused(
            "no command is run before or after",
            "leave it out, and run it yourself",
        ),
        "exec_prerun exec_postrun",
    ),
    (
        Refused(
            "the scheduler of a device is not changed",
            "leave it out, and write it to /sys/block/NAME/queue/scheduler yourself",
        ),
        "ioscheduler",
    ),
    (OnlyAs(OFF, ZONES.0, ZONES.1), "zonemode"),
    (Refused(ZONES.0, ZONES.1), "zonesize zonerange zoneskip"),
    (Refused(SCHEDULED.0, SCHEDULED.1), "prio prioclass"),
    (
        Refused(PINNED.0, PINNED.1),
        "cpumask cpus_allowed numa_cpu_nodes numa_mem_policy",
    ),
    (
        Without("threads are not bound to processors"),
        "cpus_allowed_policy",
    ),
    (
        OnlyAs(ZERO, PAUSES.0, PAUSES.1),
        "thinktime_spin thinktime_iotime",
    ),
    (OnlyAs(ONE, PAUSES.0, PAUSES.1), "thinktime_blocks"),
    (OnlyAs(ZERO, RATE.0, RATE.1), "rate_min rate_iops_min"),
    (
        OnlyAs(
            &["linear"],
            "requests are due at fixed distances",
            "leave it out",
        ),
        "rate_process",
    ),
    (
        Refused(LATENCY_SEARCH.0, LATENCY_SEARCH.1),
        "latency_target",
    ),
    (
        OnlyAs(
            ZERO,
            "a slow request ends nothing",
            "leave it out; results have the slowest",
        ),
        "max_latency",
    ),
    (
        OnlyAs(
            ZERO,
            "storage that compresses or leaves zeros out would deliver figures of nothing",
            "leave it out",
        ),
        "zero_buffers",
    ),
    (
        OnlyAs(ZERO, CONTENT, "leave it out"),
        "buffer_compress_percentage dedupe_percentage",
    ),
    (
        Refused(
            "a steady state is looked for by the report, not by the job",
            "leave it out; the report warns where the rate was not steady",
        ),
        "steadystate",
    ),
    (Refused(GROUPS.0, GROUPS.1), "cgroup"),
];

/// Rarer keys of fio, for which there is nothing special to say.
const RARE: &str = "wait_for ignore_error continue_on_error error_dump profile cgroup_nodelete cgroup_weight uid gid flow \
    flow_id flow_sleep steadystate_duration steadystate_ramp_time buffer_pattern buffer_compress_chunk \
    dedupe_mode dedupe_working_set_percentage dedupe_global merge_blktrace_file merge_blktrace_scalars \
    merge_blktrace_iters read_iolog_chunked replay_align replay_skip zonecapacity read_beyond_wp \
    max_open_zones job_max_open_zones ignore_zone_limits zone_reset_threshold zone_reset_frequency \
    thinktime_blocks_type rate_cycle rate_ignore_thinktime latency_window latency_percentile latency_run \
    trim_backlog_batch hostname";

/// What becomes of a key; `None` for one that is not in the table.
pub(super) fn fate(key: &str) -> Option<Fate> {
    let found = FATES.iter().find(|(_, keys)| is_in(key, keys));
    found.map(|(fate, _)| *fate)
}

pub(super) fn is_rare(key: &str) -> bool {
    is_in(key, RARE)
}

fn is_in(key: &str, keys: &str) -> bool {
    keys.split_whitespace().any(|this| this == key)
}

fn all() -> impl Iterator<Item = &'static str> {
    let fates = FATES.iter().flat_map(|(_, keys)| keys.split_whitespace());
    let read = READ.split_whitespace();
    read.chain(fates).chain(RARE.split_whitespace())
}

/// The key of fio that was probably meant: one that differs in one letter, in two of a longer word, or in case alone.
pub(super) fn near(key: &str) -> Option<&'static str> {
    let lower = key.to_ascii_lowercase().replace('-', "_");
    let far = |name: &str| match name.len() {
        0..=3 => 1,
        4..=5 => 2,
        _ => 3,
    };
    let near = all()
        .map(|name| (distance(&lower, name), name))
        .filter(|(distance, name)| *distance < far(name));
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Letters that are changed, left out or put in between two words; two that changed places count once.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    // What is longer than any key is near none.
    if one.len().abs_diff(other.len()) > 3 {
        return usize::MAX;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, a) in one.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, b) in other.iter().enumerate() {
            let at = |list: &[usize], index: usize| list.get(index).copied().unwrap_or(usize::MAX);
            let mut least = (at(&last, column) + usize::from(a != b))
                .min(at(&last, column + 1) + 1)
                .min(at(&next, column) + 1);
            let is_swapped = row > 0
                && column > 0
                && one.get(row - 1) == Some(b)
                && other.get(column - 1) == Some(a);
            if is_swapped {
                least = least.min(at(&before, column - 1) + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_named_and_strangers_are_not() {
        for (typed, meant) in [
            ("iodeth", Some("iodepth")),
            ("iodpeth", Some("iodepth")),
            ("io_depth", Some("iodepth")),
            ("numjob", Some("numjobs")),
            ("blocksise", Some("blocksize")),
            ("RW", Some("rw")),
            ("runtme", Some("runtime")),
            ("time-based", Some("time_based")),
            ("groupreporting", Some("group_reporting")),
            ("ioegnine", Some("ioengine")),
            ("colour", None),
            ("x", None),
            ("a_key_that_is_longer_than_all_of_fio_s", None),
        ] {
            assert_eq!(near(typed), meant, "{typed}");
        }
    }

    #[test]
    fn no_key_is_named_twice() {
        let mut all: Vec<&str> = all().collect();
        let number = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), number);
    }
}
