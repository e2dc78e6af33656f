//! Job files in the shapes in which people write them, each with what it comes to: cells, or every obstacle at once.

use super::tests::parse;
use super::{Cell, Size};

/// What a file comes to.
enum Comes {
    /// Its cells (name, order, percent reads, lengths with weights, workers, outstanding), and parts of remarks.
    To(&'static [&'static str], &'static [&'static str]),
    /// All that is in the way: the beginning of each obstacle, with its line, and a part of what to write instead.
    Not(&'static [(&'static str, &'static str)]),
}
use Comes::{Not, To};

/// What every file here begins with that is not about `[global]` itself.
const HEAD: &str = "[global]\nruntime=5\ntime_based\nfilename=x\nsize=64m\nioengine=io_uring\n";

const FILES: [(&str, &str, Comes); 58] = [
    (
        "a database that reads, as in many guides",
        "[global]\nioengine=libaio\ndirect=1\nrandrepeat=0\ngroup_reporting\ngtod_reduce=1\n\n[db-read]\nfilename=/data/fio.dat\nsize=4G\nrw=randread\nbs=8k\niodepth=64\nruntime=60\ntime_based=1\n",
        To(
            &["db-read random 100% 8192 1x64"],
            &[
                "randrepeat: the order of requests comes from --seed",
                "group_reporting: results have their own form",
                "gtod_reduce: latencies are measured all the same",
                "ioengine=libaio: io_uring makes the same requests",
            ],
        ),
    ),
    (
        "four corners, one after the other",
        "[global]\nsize=1g\ndirect=1\nioengine=libaio\niodepth=32\nruntime=30\ntime_based\nstonewall\nfilename=t.dat\n[seq-read]\nrw=read\nbs=1m\n[seq-write]\nrw=write\nbs=1m\n[rand-read]\nrw=randread\nbs=4k\n[rand-write]\nrw=randwrite\nbs=4k\n",
        To(
            &[
                "seq-read sequential 100% 1048576 1x32",
                "seq-write sequential 0% 1048576 1x32",
                "rand-read random 100% 4096 1x32",
                "rand-write random 0% 4096 1x32",
            ],
            &[],
        ),
    ),
    (
        "sections without stonewall",
        "[global]\nruntime=5\ntime_based\nfilename=x\nsize=1m\n[a]\nrw=read\n[b]\nrw=write\n[c]\nrw=randread\n",
        Not(&[
            ("line 8: [b]", "add `stonewall` to it"),
            ("line 10: [c]", "add `stonewall` to it"),
        ]),
    ),
    (
        "everything wrong at once",
        "[global]\nruntime=5\nfilename=x\nsize=1m\nzonemode=strided\nverify=crc32c\n[a]\niodeth=4\nbs=64KiB\nrw=trim\n",
        Not(&[
            ("line 5: zonemode=strided", "write a job for each part"),
            ("line 6: verify=crc32c", "give --verify beside --job"),
            ("line 8: iodeth=4", "iodepth?"),
            ("line 9: bs=64KiB", "write k, m or g"),
            ("line 10: rw=trim", "give read, write"),
        ]),
    ),
    (
        "a line of [global] is told once, however many jobs there are",
        "[global]\nruntime=5\nfilename=x\nsize=1m\nprio=3\n[a]\n[b]\nstonewall\n[c]\nstonewall\n",
        Not(&[("line 5: prio=3", "nice or ionice")]),
    ),
    (
        "an include",
        "[global]\ninclude common.fio\nruntime=5\ntime_based\nfilename=x\n[a]\nrw=randread\nbs=8k\n",
        To(&["a random 100% 8192 1x1"], &[]),
    ),
    (
        "an include with a section",
        "[global]\ninclude sections.fio\n[a]\nsize=1m\nfilename=x\n",
        Not(&[("line 2 of sections.fio: [b]", "into the job file itself")]),
    ),
    (
        "an include that is not there, and one that is wrong",
        "[global]\ninclude nowhere.fio\ninclude wrong.fio\n[a]\nsize=1m\nruntime=1\nfilename=x\n",
        Not(&[
            (
                "line 2: include nowhere.fio: it does not exist",
                "copy its lines",
            ),
            ("line 2 of wrong.fio: iodeth=4", "iodepth?"),
        ]),
    ),
    (
        "a file that includes itself",
        "[global]\ninclude loop.fio\n[a]\nsize=1m\nruntime=1\n",
        Not(&[(
            "line 1 of loop.fio: include loop.fio: files include each other more than 16 deep",
            "copy its lines",
        )]),
    ),
    (
        "variables",
        "[global]\nruntime=5\ntime_based\nfilename=x\nsize=${SIZE}\n[a]\nrw=randread\nbs=${BS}\nnumjobs=$ncpus\n",
        To(&["a random 100% 8192 4x1"], &[]),
    ),
    (
        "a variable that is not set",
        "[a]\nruntime=5\nsize=1m\nfilename=${DEVICE}\nbs=$blocksize\n",
        Not(&[
            (
                "line 4: filename=${DEVICE}: the environment has no DEVICE",
                "set it: DEVICE=… straddle bench",
            ),
            ("line 5: bs=$blocksize", "write ${NAME}"),
        ]),
    ),
    (
        "a page",
        "[a]\nruntime=5\ntime_based\nsize=1m\nfilename=x\nbs=$pagesize\n",
        To(&["a sequential 100% 4096 1x1"], &[]),
    ),
    (
        "all of a device",
        "[randread]\nfilename=/dev/nvme0n1\nsize=100%\nrw=randread\nbs=4k\ndirect=1\nioengine=io_uring\niodepth=128\nruntime=30\ntime_based\n",
        To(&["randread random 100% 4096 1x128"], &[]),
    ),
    (
        "a part of it",
        "[a]\nfilename=/dev/sdb\nsize=25%\nrw=randread\nruntime=30\ntime_based\n",
        To(&["a random 100% 4096 1x1"], &[]),
    ),
    (
        "more than all",
        "[a]\nfilename=/dev/sdb\nsize=120%\nruntime=3\n",
        Not(&[("line 3: size=120%", "give one")]),
    ),
    (
        "a range of lengths",
        "bsrange=4k-16k\nrw=randread",
        To(&["a random 100% 4096/1+8192/1+12288/1+16384/1 1x1"], &[]),
    ),
    (
        "the same by its long name",
        "blocksize_range=512-1k\nrw=randwrite",
        To(&["a random 0% 512/1+1024/1 1x1"], &[]),
    ),
    (
        "a range that fio rounds",
        "bsrange=4k-10k",
        Not(&[("line 8: bsrange=4k-10k", "give such a range, or bssplit")]),
    ),
    (
        "a range upside down",
        "bsrange=64k-4k",
        Not(&[("line 8: bsrange=64k-4k", "give the smaller one first")]),
    ),
    (
        "a range for each direction",
        "bsrange=4k-8k,16k-32k\nrw=randrw",
        Not(&[("line 8: bsrange", "give one range")]),
    ),
    (
        "a length for each direction, of which one is of no use",
        "bs=4k,64k\nrw=randread",
        To(&["a random 100% 4096 1x1"], &[]),
    ),
    (
        "the same for writes",
        "bs=4k,64k\nrw=write",
        To(&["a sequential 0% 65536 1x1"], &[]),
    ),
    (
        "a length left out",
        "bs=16k,,\nrw=randrw",
        To(&["a random 50% 16384 1x1"], &[]),
    ),
    (
        "a mix of two lengths",
        "bs=4k,64k\nrw=randrw",
        Not(&[("line 7: [a]: bs=4096,65536 and a mix", "a job for each")]),
    ),
    (
        "a list of depths",
        "iodepth=1,2,4",
        Not(&[("line 8: iodepth=1,2,4", "give one")]),
    ),
    (
        "a split",
        "bssplit=4k/60:8k/30:64k/10\nrw=randrw\nrwmixread=70",
        To(&["a random 70% 4096/60+8192/30+65536/10 1x1"], &[]),
    ),
    (
        "places on another lattice",
        "rw=randread\nbs=8k\nblockalign=4k",
        To(&["a random on every 4 KiB 100% 8192 1x1"], &[]),
    ),
    (
        "places on their own",
        "rw=randread\nbs=8k\nba=8k",
        To(&["a random 100% 8192 1x1"], &[]),
    ),
    (
        "a lattice for what comes in order",
        "rw=read\nbs=8k\nba=4k",
        Not(&[("line 7: [a]: blockalign=4096", "give a random rw")]),
    ),
    (
        "a rate in bytes",
        "rw=randread\nbs=8k\nrate=8m",
        To(
            &["a random 100% 8192 1x1 1024/s"],
            &["1024 requests are due each second"],
        ),
    ),
    (
        "a rate in bytes for two lengths",
        "bssplit=4k/50:8k/50\nrate=8m",
        Not(&[("line 7: [a]: rate: with several sizes", "give rate_iops")]),
    ),
    (
        "a rate for each direction",
        "rate_iops=500,500\nrw=randrw",
        To(&["a random 50% 4096 1x1 500/s"], &[]),
    ),
    (
        "different rates",
        "rate_iops=500,100\nrw=randrw",
        Not(&[("line 8: rate_iops=500,100", "give one figure")]),
    ),
    (
        "no rate",
        "rate=0",
        Not(&[("line 8: rate=0", "leave it out")]),
    ),
    (
        "keys that change nothing",
        "randrepeat=1\nallrandrepeat=0\nlockmem=1g\nverify=0\nloops=1\nthread\ninvalidate=1\nexitall\nnorandommap\nrefill_buffers\nfallocate=none\nend_fsync=1\nfsync=0\nnrfiles=1\nwrite_bw_log=bw\nlog_avg_msec=1000\nstartdelay=5\npercentile_list=50:99:99.9\nrandom_generator=tausworthe64\nkb_base=1024\nthinktime_blocks=1\nunlink=1\ndo_verify=0\nmem=malloc\nclocksource=cpu\noverwrite=1\ndescription=a job\nio_size=10g\ncreate_on_open=1\nfile_service_type=roundrobin\nrandom_distribution=random\npercentage_random=100\nzero_buffers=0",
        To(
            &["a sequential 100% 4096 1x1"],
            &[
                "randrepeat, allrandrepeat, random_generator: the order of requests comes from --seed",
                "lockmem: no memory is locked",
                "verify=0, loops=1, fsync=0",
                "write_bw_log, log_avg_msec: no log is written; --format runs",
                "startdelay: a job begins when the one before it has ended",
                "unlink: a test file is removed at the end",
            ],
        ),
    ),
    (
        "keys that would change the experiment",
        "loops=5\nnumber_ios=1000\nnrfiles=4\nzero_buffers\nrandom_distribution=zipf:1.2\npercentage_random=50\nfsync=32\nsync=1\nmax_latency=10ms\nlatency_target=2ms\nioscheduler=none\ncpus_allowed=0-3\nnuma_cpu_nodes=0\nexec_prerun=sync\nsteadystate=iops:1%\nread_iolog=trace.log\nhipri\natomic=1\niodepth_batch=8\nbuffer_compress_percentage=50\noffset_increment=1g\noffset=32256\ncgroup=x\nflow=8",
        Not(&[
            ("line 8: loops=5", "give runtime"),
            ("line 9: number_ios=1000", "give runtime=60"),
            ("line 10: nrfiles=4", "name one file"),
            (
                "line 11: zero_buffers: storage that compresses",
                "leave it out",
            ),
            ("line 12: random_distribution=zipf:1.2", "--replay FILE"),
            (
                "line 13: percentage_random=50",
                "give rw=randread or rw=read",
            ),
            ("line 14: fsync=32", "give sync=dsync"),
            ("line 15: sync=1", "give sync=dsync"),
            ("line 16: max_latency=10ms", "leave it out"),
            ("line 17: latency_target=2ms", "--iodepth 1,4,16"),
            (
                "line 18: ioscheduler=none",
                "/sys/block/NAME/queue/scheduler",
            ),
            ("line 19: cpus_allowed=0-3", "taskset or numactl"),
            ("line 20: numa_cpu_nodes=0", "taskset or numactl"),
            ("line 21: exec_prerun=sync", "run it yourself"),
            ("line 22: steadystate=iops:1%", "the report warns"),
            ("line 23: read_iolog=trace.log", "--replay FILE"),
            ("line 24: hipri", "give --polled beside --job"),
            ("line 25: atomic=1", "give --atomic beside --job"),
            ("line 26: iodepth_batch=8", "leave it out"),
            ("line 27: buffer_compress_percentage=50", "leave it out"),
            ("line 28: offset_increment=1g", "leave it out"),
            ("line 29: offset=32256", "give --offsets"),
            ("line 30: cgroup=x", "start straddle in the control group"),
            ("line 31: flow=8", "docs/compatibility.md"),
        ]),
    ),
    (
        "near misses",
        "numjob=2\nblocksise=4k\nRW=read\nrun_time=10\nioengin=psync\nstonewal\ngroup_report\ndirct=1",
        Not(&[
            ("line 8: numjob=2: fio has no such key", "numjobs?"),
            ("line 9: blocksise=4k", "blocksize?"),
            ("line 10: RW=read", "rw?"),
            ("line 11: run_time=10", "runtime?"),
            ("line 12: ioengin=psync", "ioengine?"),
            ("line 13: stonewal", "stonewall?"),
            ("line 14: group_report", "leave it out"),
            ("line 15: dirct=1", "direct?"),
        ]),
    ),
    (
        "blanks that fio trips over",
        "bs = 4k\nrw= randread",
        Not(&[
            ("line 8: bs= 4k", "write bs=4k"),
            ("line 9: rw= randread", "write rw=randread"),
        ]),
    ),
    (
        "engines that ask the same",
        "ioengine=pvsync2\niodepth=8",
        To(
            &["a sequential 100% 4096 1x1"],
            &[
                "psync makes the same requests",
                "iodepth=8 has no effect on psync",
            ],
        ),
    ),
    (
        "engines that do not",
        "ioengine=mmap",
        Not(&[("line 8: ioengine=mmap: memory-mapped", "give io_uring")]),
    ),
    (
        "threads of a library",
        "ioengine=posixaio",
        Not(&[("line 8: ioengine=posixaio", "give libaio or io_uring")]),
    ),
    (
        "a cluster",
        "ioengine=rbd\npool=rbd",
        Not(&[
            ("line 8: ioengine=rbd", "give io_uring"),
            ("line 9: pool=rbd", "leave it out"),
        ]),
    ),
    (
        "no runtime",
        "[a]\nsize=1m\nfilename=x\nrw=randread\n",
        To(
            &["a random 100% 4096 1x1"],
            &["each run is measured for --runtime"],
        ),
    ),
    (
        "not by time",
        "[a]\nsize=1m\nfilename=x\nruntime=5\n",
        To(
            &["a sequential 100% 4096 1x1"],
            &["all of runtime is measured"],
        ),
    ),
    (
        "the page cache, the other way round",
        "buffered=0\nrw=randwrite",
        To(&["a random 0% 4096 1x1"], &[]),
    ),
    (
        "several files",
        "filename=a:b",
        Not(&[("line 8: filename=a:b", "name one file")]),
    ),
    (
        "several directories",
        "directory=/a:/b",
        Not(&[("line 8: directory=/a:/b", "name one directory")]),
    ),
    (
        "clones in order",
        "numjobs=4",
        Not(&[("line 7: [a]: numjobs=4 and a sequential rw", "a random rw")]),
    ),
    (
        "clones without a file",
        "[a]\nruntime=5\nsize=1m\nnumjobs=4\nrw=randread\n",
        Not(&[("line 1: [a]: numjobs=4 without filename", "give filename")]),
    ),
    (
        "a pause at depth",
        "iodepth=8\nthinktime=100",
        Not(&[(
            "line 7: [a]: thinktime with an iodepth above 1",
            "give iodepth=1",
        )]),
    ),
    (
        "a section that does not end",
        "[a\nruntime=5\n",
        Not(&[
            ("line 1: [a", "write [NAME]"),
            ("line 2: runtime=5", "put it behind [global]"),
            ("the job file: it has 0 jobs", "write 1 to 256 sections"),
        ]),
    ),
    (
        "nothing",
        "",
        Not(&[("the job file: it has 0 jobs", "write 1 to 256 sections")]),
    ),
    (
        "only [global]",
        "[global]\nbs=4k\n",
        Not(&[("the job file: it has 0 jobs", "write 1 to 256 sections")]),
    ),
    (
        "lines before a section",
        "include common.fio\nbs=4k\n[a]\nsize=1m\nruntime=1\n",
        Not(&[
            ("line 1: include common.fio", "put it behind [global]"),
            ("line 2: bs=4k", "put it behind [global]"),
        ]),
    ),
    (
        "jobs on two devices",
        "[global]\nruntime=5\ntime_based\nrw=randread\nstonewall\n[a]\nfilename=/dev/sdb\n[b]\nfilename=/dev/sdc\nruntime=9\n",
        Not(&[(
            "line 8: [b]: its `filename`, `runtime` are not those of [a]",
            "write the jobs into two files",
        )]),
    ),
    (
        "a name for a section",
        "name=oltp\nrw=randrw",
        To(&["oltp random 50% 4096 1x1"], &[]),
    ),
    (
        "comments and a mark of encoding",
        "\u{feff}; made by hand\n# twice\n[a]  ; a job\nruntime=5s\ntime_based\nsize=1m # small\nfilename=x\n",
        To(&["a sequential 100% 4096 1x1"], &[]),
    ),
    (
        "lines as Windows ends them",
        "[a]\r\nruntime=5\r\ntime_based\r\nsize=1m\r\nfilename=x\r\nrw=randread\r\n",
        To(&["a random 100% 4096 1x1"], &[]),
    ),
];

/// A file as it stands, or behind [`HEAD`] and `[a]`, which is line 7.
fn whole(text: &str) -> String {
    let is_whole = text.is_empty() || text.contains('[') || text.starts_with("include");
    match is_whole {
        true => text.to_owned(),
        false => format!("{HEAD}[a]\n{text}\n"),
    }
}

fn said(cell: &Cell) -> String {
    let workload = &cell.workload;
    let sizes: Vec<String> = match workload.sizes.as_slice() {
        [(size, _)] => vec![size.get().to_string()],
        sizes => sizes
            .iter()
            .map(|(s, n)| format!("{}/{n}", s.get()))
            .collect(),
    };
    let rate = workload
        .rate
        .map_or_else(String::new, |rate| format!(" {rate}/s"));
    format!(
        "{} {} {}% {} {}x{}{rate}",
        cell.name,
        workload.pattern,
        workload.reads.get(),
        sizes.join("+"),
        workload.workers,
        workload.outstanding
    )
}

/// Those that are taken and need nothing but a Linux with fio.
pub(super) fn taken() -> Vec<(&'static str, String)> {
    let taken = FILES.iter().filter(|(_, _, comes)| matches!(comes, To(..)));
    let taken = taken.map(|(name, text, _)| (*name, whole(text)));
    // fio does not know a mark of encoding.
    taken
        .filter(|(_, text)| !text.starts_with('\u{feff}'))
        .collect()
}

#[test]
fn files_come_to_cells_or_to_all_their_obstacles() {
    let mut wrong = String::new();
    for (name, text, comes) in &FILES {
        let found = parse(&whole(text));
        let is_right = match (comes, &found) {
            (To(cells, remarks), Ok(job)) => {
                let said: Vec<String> = job.cells.iter().map(said).collect();
                said == *cells
                    && remarks
                        .iter()
                        .all(|part| job.remarks.iter().any(|remark| remark.contains(part)))
            }
            (Not(expected), Err(found)) => {
                expected.len() == found.0.len()
                    && expected
                        .iter()
                        .zip(&found.0)
                        .all(|((begins, instead), found)| {
                            found.to_string().starts_with(begins) && found.instead.contains(instead)
                        })
            }
            _ => false,
        };
        if !is_right {
            wrong.push_str(&format!("{name}:\n{found:#?}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn shares_of_a_target_are_kept_as_such() {
    for (size, share) in [("100%", 100), ("25%", 25)] {
        let job = parse(&format!("[a]\nruntime=1\nsize={size}\nfilename=x\n")).expect(size);
        assert!(matches!(job.size, Some(Size::Share(found)) if found.get() == share));
    }
}
