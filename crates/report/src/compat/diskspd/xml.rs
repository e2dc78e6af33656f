//! diskspd's results in XML (`-Rxml`): the system, the profile that was run, and what each thread measured on each target.
//!
//! Source: `XmlResultParser.cpp` of diskspd 2.1 and 2.2 and the scripts that read it; elements have its names and order.

use super::{Processor, Run, sum};
use crate::escape::xml as escaped;
use crate::utc::Utc;
use std::fmt::{Display, Write as _};
use straddle_bench::compat::diskspd::{Buffer, Command, Order};
use straddle_geometry::Bytes;
use straddle_workload::histogram::Latencies;

/// The document.
#[must_use]
pub(super) fn document(run: &Run<'_>) -> String {
    let mut out = Out {
        text: String::new(),
        depth: 0,
    };
    out.within("Results", |out| {
        system(out, run);
        profile(out, run);
        out.within("TimeSpan", |out| time_span(out, run));
    });
    out.text
}

/// Elements, two blanks deeper each.
struct Out {
    text: String,
    depth: usize,
}

impl Out {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:1$}{line}", "", 2 * self.depth);
    }

    fn within(&mut self, name: &str, fill: impl FnOnce(&mut Out)) {
        self.line(&format!("<{name}>"));
        self.depth += 1;
        fill(self);
        self.depth -= 1;
        self.line(&format!("</{name}>"));
    }

    fn leaf(&mut self, name: &str, value: impl Display) {
        let value = escaped(&value.to_string());
        self.line(&format!("<{name}>{value}</{name}>"));
    }

    fn milliseconds(&mut self, name: &str, time: std::time::Duration) {
        self.leaf(name, format!("{:.3}", time.as_secs_f64() * 1000.0));
    }
}

fn system(out: &mut Out, run: &Run<'_>) {
    out.within("System", |out| {
        out.leaf("ComputerName", run.host);
        out.within("Tool", |out| {
            out.leaf(
                "Version",
                format!("straddle {} in place of diskspd", run.version),
            );
        });
        out.leaf("RunTime", format!("{} UTC", Utc::new(run.began).slashed()));
    });
}

fn profile(out: &mut Out, run: &Run<'_>) {
    let command = run.command;
    out.within("Profile", |out| {
        out.leaf("Progress", 0);
        out.leaf("ResultFormat", "xml");
        out.leaf("Verbose", command.verbose);
        out.within("TimeSpans", |out| {
            out.within("TimeSpan", |out| {
                out.leaf("CompletionRoutines", false);
                out.leaf("MeasureLatency", command.latency);
                out.leaf("CalculateIopsStdDev", false);
                out.leaf("DisableAffinity", command.affinity_disabled);
                out.leaf("Duration", command.runs.as_secs());
                out.leaf("Warmup", command.warm_up.as_secs());
                out.leaf("Cooldown", 0);
                out.leaf("ThreadCount", 0);
                out.leaf("RequestCount", 0);
                out.leaf("IoBucketDuration", 1000);
                out.leaf("RandSeed", run.seed);
                out.within("Targets", |out| {
                    for path in &command.targets {
                        out.within("Target", |out| target(out, command, path));
                    }
                });
            });
        });
    });
}

fn target(out: &mut Out, command: &Command, path: &str) {
    out.leaf("Path", path);
    out.leaf("BlockSize", command.block.get());
    out.leaf("BaseFileOffset", command.base.get());
    for name in [
        "SequentialScan",
        "RandomAccess",
        "TemporaryFile",
        "UseLargePages",
    ] {
        out.leaf(name, false);
    }
    if command.direct {
        out.leaf("DisableOSCache", true);
    }
    if command.write_through {
        out.leaf("WriteThrough", true);
    }
    out.within("WriteBufferContent", |out| match command.buffer {
        Buffer::Unsaid => out.leaf("Pattern", "sequential"),
        Buffer::RandomEachTime => out.leaf("Pattern", "random"),
        Buffer::Random(size) => {
            out.leaf("Pattern", "random");
            out.within("RandomDataSource", |out| {
                out.leaf("SizeInBytes", size.get())
            });
        }
    });
    out.leaf("ParallelAsyncIO", false);
    if let Some(size) = command.create {
        out.leaf("FileSize", size.get());
    }
    match command.order {
        Order::Random => out.leaf("Random", command.block.get()),
        Order::Sequential | Order::Interlocked => {
            out.leaf("StrideSize", command.stride.get());
            out.leaf("InterlockedSequential", command.order == Order::Interlocked);
        }
    }
    out.leaf("ThreadStride", command.thread_stride.get());
    let most = [
        command.limit,
        command
            .length
            .and_then(|length| command.base.checked_add(length)),
    ];
    let most = most.into_iter().flatten().min();
    out.leaf("MaxFileSize", most.map_or(0, Bytes::get));
    out.leaf("RequestCount", command.outstanding);
    out.leaf("WriteRatio", command.writes.get());
    out.leaf("Throughput", 0);
    out.leaf("ThreadsPerFile", command.threads);
    out.leaf("IOPriority", 3);
    out.leaf("Weight", 1);
}

fn time_span(out: &mut Out, run: &Run<'_>) {
    let took = run.rows.iter().map(|row| row.sample.took).max();
    let threads = run.rows.iter().map(|row| row.thread + 1).max();
    out.leaf(
        "TestTimeSeconds",
        format!("{:.2}", took.unwrap_or_default().as_secs_f64()),
    );
    out.leaf("ThreadCount", threads.unwrap_or(0));
    out.leaf("RequestCount", 0);
    out.leaf("ProcCount", run.processors.len());
    processors(out, &run.processors);
    if run.command.latency {
        latency(out, run);
    }
    for row in &run.rows {
        out.within("Thread", |out| {
            out.leaf("Id", row.thread);
            out.within("Target", |out| {
                let (reads, writes) = (&row.sample.reads, &row.sample.writes);
                let both = sum(reads, writes);
                out.leaf("Path", row.path);
                out.leaf("BytesCount", both.bytes.get());
                out.leaf("FileSize", row.size.get());
                out.leaf("IOCount", both.requests);
                out.leaf("ReadBytes", reads.bytes.get());
                out.leaf("ReadCount", reads.requests);
                out.leaf("WriteBytes", writes.bytes.get());
                out.leaf("WriteCount", writes.requests);
                if run.command.latency {
                    of_latencies(
                        out,
                        [
                            ("AverageReadLatencyMilliseconds", "ReadLatencyStdev"),
                            ("AverageWriteLatencyMilliseconds", "WriteLatencyStdev"),
                            ("AverageLatencyMilliseconds", "LatencyStdev"),
                        ],
                        [&reads.latencies, &writes.latencies, &both.latencies],
                    );
                }
            });
        });
    }
}

fn processors(out: &mut Out, processors: &[Processor]) {
    let figures = |out: &mut Out, shares: [f64; 4]| {
        let names = [
            "UsagePercent",
            "UserPercent",
            "KernelPercent",
            "IdlePercent",
        ];
        for (name, share) in names.into_iter().zip(shares) {
            out.leaf(name, format!("{share:.2}"));
        }
    };
    out.within("CpuUtilization", |out| {
        let mut sums = [0.0; 4];
        for (number, processor) in processors.iter().enumerate() {
            let shares = processor.shares();
            out.within("CPU", |out| {
                out.leaf("Group", 0);
                out.leaf("Id", number);
                figures(out, shares);
            });
            for (sum, share) in sums.iter_mut().zip(shares) {
                *sum += share;
            }
        }
        let number = f64::from(u32::try_from(processors.len()).unwrap_or(u32::MAX).max(1));
        out.within("Average", |out| figures(out, sums.map(|sum| sum / number)));
    });
}

/// Mean and deviation of reads, writes and both, each where there were any.
fn of_latencies(out: &mut Out, names: [(&str, &str); 3], all: [&Latencies; 3]) {
    for ((mean, deviation), latencies) in names.into_iter().zip(all) {
        if latencies.count() > 0 {
            out.milliseconds(mean, latencies.mean());
            out.milliseconds(deviation, latencies.deviation());
        }
    }
}

fn latency(out: &mut Out, run: &Run<'_>) {
    let (mut reads, mut writes) = (Latencies::new(), Latencies::new());
    for row in &run.rows {
        reads.merge(&row.sample.reads.latencies);
        writes.merge(&row.sample.writes.latencies);
    }
    let mut both = reads.clone();
    both.merge(&writes);
    let all = [&reads, &writes, &both];
    out.within("Latency", |out| {
        of_latencies(
            out,
            [
                ("AverageReadMilliseconds", "ReadLatencyStdev"),
                ("AverageWriteMilliseconds", "WriteLatencyStdev"),
                ("AverageTotalMilliseconds", "LatencyStdev"),
            ],
            all,
        );
        let mut bucket = |name: String, of: &dyn Fn(&Latencies) -> std::time::Duration| {
            out.within("Bucket", |out| {
                out.leaf("Percentile", name);
                let names = ["ReadMilliseconds", "WriteMilliseconds", "TotalMilliseconds"];
                for (name, latencies) in names.into_iter().zip(all) {
                    if latencies.count() > 0 {
                        out.milliseconds(name, of(latencies));
                    }
                }
            });
        };
        bucket("0".to_owned(), &Latencies::least);
        for percent in 1..=99_u32 {
            let share = f64::from(percent);
            bucket(percent.to_string(), &|latencies| {
                latencies.percentile(share)
            });
        }
        for nines in [
            "99.9",
            "99.99",
            "99.999",
            "99.9999",
            "99.99999",
            "99.999999",
            "99.9999999",
        ] {
            let share: f64 = nines.parse().unwrap_or(100.0);
            bucket(nines.to_owned(), &|latencies| latencies.percentile(share));
        }
        bucket("100".to_owned(), &Latencies::most);
    });
}
