use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// What a figure of a [`Quantity`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Operations each second.
    PerSecond,
    /// Bytes each second.
    BytesPerSecond,
    /// Bytes.
    Bytes,
    /// Things.
    Count,
    /// Parts of a whole, which is 1.
    Fraction,
    /// Millions of bytes each second, as a tool printed them.
    Printed,
}

macro_rules! quantities {
    ($( $(#[doc = $doc:literal])+ $name:ident = $text:literal, $unit:ident; )+) => {
        /// What was measured. Names are those of the JSON; each has one unit, whatever the tool printed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Quantity {
            $( $(#[doc = $doc])+ $name ),+
        }

        impl Quantity {
            /// All there are.
            pub const ALL: &'static [Quantity] = &[ $( Quantity::$name ),+ ];

            /// Name in kebab case.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $( Quantity::$name => $text ),+ }
            }

            /// Its unit.
            #[must_use]
            pub const fn unit(self) -> Unit {
                match self { $( Quantity::$name => Unit::$unit ),+ }
            }
        }
    };
}

quantities! {
    /// Time from a read's issue to its end.
    ReadLatency = "read-latency", Seconds;
    /// Time from a write's issue to its end.
    WriteLatency = "write-latency", Seconds;
    /// Time of reads and writes together.
    TransferLatency = "transfer-latency", Seconds;
    /// Time of a flush: of a cache, or by `fsync`.
    FlushLatency = "flush-latency", Seconds;
    /// Time of a discard.
    DiscardLatency = "discard-latency", Seconds;
    /// Time in the device and its driver, as a hypervisor sees it (DAVG).
    DeviceLatency = "device-latency", Seconds;
    /// Time in the hypervisor's kernel (KAVG).
    KernelLatency = "kernel-latency", Seconds;
    /// Time as a guest sees it (GAVG).
    GuestLatency = "guest-latency", Seconds;
    /// Time in the hypervisor's queue (QAVG).
    QueueLatency = "queue-latency", Seconds;
    /// Reads each second.
    ReadRate = "read-rate", PerSecond;
    /// Writes each second.
    WriteRate = "write-rate", PerSecond;
    /// Reads and writes each second.
    TransferRate = "transfer-rate", PerSecond;
    /// Flushes each second.
    FlushRate = "flush-rate", PerSecond;
    /// Discards each second.
    DiscardRate = "discard-rate", PerSecond;
    /// Requests that the system cut in two each second.
    SplitRate = "split-rate", PerSecond;
    /// Bytes read each second.
    ReadThroughput = "read-throughput", BytesPerSecond;
    /// Bytes written each second.
    WriteThroughput = "write-throughput", BytesPerSecond;
    /// Bytes read and written each second.
    TransferThroughput = "transfer-throughput", BytesPerSecond;
    /// Length of a read.
    ReadSize = "read-size", Bytes;
    /// Length of a write.
    WriteSize = "write-size", Bytes;
    /// Length of a request.
    TransferSize = "transfer-size", Bytes;
    /// Requests that wait or are served.
    QueueLength = "queue-length", Count;
    /// The same at one instant of an interval: what came and went between two samples is not in it.
    SampledQueueLength = "sampled-queue-length", Count;
    /// Reads among them.
    ReadQueueLength = "read-queue-length", Count;
    /// Writes among them.
    WriteQueueLength = "write-queue-length", Count;
    /// Part of the time in which at least one request was under way.
    Utilization = "utilization", Fraction;
    /// Reads, counted from some beginning.
    Reads = "reads", Count;
    /// Writes, counted from some beginning.
    Writes = "writes", Count;
    /// Flushes, counted from some beginning.
    Flushes = "flushes", Count;
    /// Bytes read, counted from some beginning.
    ReadBytes = "read-bytes", Bytes;
    /// Bytes written, counted from some beginning.
    WrittenBytes = "written-bytes", Bytes;
    /// The times of all reads added up: no latency.
    ReadTime = "read-time", Seconds;
    /// The times of all writes added up: no latency.
    WriteTime = "write-time", Seconds;
    /// The times of all flushes added up: no latency.
    FlushTime = "flush-time", Seconds;
    /// Time in which at least one request was under way.
    BusyTime = "busy-time", Seconds;
    /// The times of all requests added up, those under way too.
    QueueTime = "queue-time", Seconds;
    /// Requests that a check found to have waited 15 seconds or longer. One request is counted at every check.
    Stalled = "stalled", Count;
    /// Log writes that SQL Server made synchronous, because they did not lie on sectors.
    MisalignedLogIo = "misaligned-log-io", Count;
    /// Physical sector of the disk that a database file was made for.
    FormattedSector = "formatted-sector", Bytes;
    /// Physical sector of the volume that a database file lies on, as SQL Server says when it is another one.
    VolumeSector = "volume-sector", Bytes;
    /// Time that a checkpoint was spread over, for its writes.
    CheckpointWrite = "checkpoint-write", Seconds;
    /// Time that a checkpoint waited for the disk.
    CheckpointSync = "checkpoint-sync", Seconds;
    /// Time from a checkpoint's begin to its end.
    CheckpointTotal = "checkpoint-total", Seconds;
    /// The longest wait for one file of a checkpoint.
    CheckpointLongestSync = "checkpoint-longest-sync", Seconds;
    /// The mean wait for a file of a checkpoint.
    CheckpointAverageSync = "checkpoint-average-sync", Seconds;
    /// Buffers that a checkpoint wrote.
    CheckpointBuffers = "checkpoint-buffers", Count;
    /// Pages of 8 KiB that a backup read.
    BackupPages = "backup-pages", Count;
    /// Time that a backup took.
    BackupTime = "backup-time", Seconds;
    /// Rate of a backup as its message says.
    BackupReported = "backup-reported", Printed;
    /// Pages of 8 KiB that a restore wrote.
    RestorePages = "restore-pages", Count;
    /// Time that a restore took.
    RestoreTime = "restore-time", Seconds;
    /// Rate of a restore as its message says.
    RestoreReported = "restore-reported", Printed;
    /// Size of a file.
    FileSize = "file-size", Bytes;
    /// What a file grows by.
    FileGrowth = "file-growth", Bytes;
    /// What a file grows by, as a part of its size.
    FileGrowthPercent = "file-growth-percent", Fraction;
}

impl Quantity {
    /// How often was done what each figure of a latency or a size is a mean of.
    #[must_use]
    pub const fn rate(self) -> Option<Quantity> {
        Some(match self {
            Quantity::ReadLatency | Quantity::ReadSize => Quantity::ReadRate,
            Quantity::WriteLatency | Quantity::WriteSize => Quantity::WriteRate,
            Quantity::FlushLatency => Quantity::FlushRate,
            Quantity::DiscardLatency => Quantity::DiscardRate,
            Quantity::TransferLatency
            | Quantity::TransferSize
            | Quantity::DeviceLatency
            | Quantity::KernelLatency
            | Quantity::GuestLatency
            | Quantity::QueueLatency => Quantity::TransferRate,
            _ => return None,
        })
    }

    /// True for what only grows, from some beginning on.
    #[must_use]
    pub const fn is_counter(self) -> bool {
        matches!(
            self,
            Quantity::Reads
                | Quantity::Writes
                | Quantity::Flushes
                | Quantity::ReadBytes
                | Quantity::WrittenBytes
                | Quantity::ReadTime
                | Quantity::WriteTime
                | Quantity::FlushTime
                | Quantity::BusyTime
                | Quantity::QueueTime
        )
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = Self::ALL.iter().map(|quantity| quantity.name()).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

/// What of a quantity each figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Statistic {
    /// The mean, or the only figure that there is.
    Mean,
    /// What so many thousandths of a percent of all requests do not exceed: 99,900 is the 99.9th percentile.
    Percentile(u32),
    /// The largest.
    Max,
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Mean => f.pad("mean"),
            Statistic::Max => f.pad("max"),
            Statistic::Percentile(n) if n % 1000 == 0 => f.pad(&format!("p{}", n / 1000)),
            Statistic::Percentile(n) => {
                let digits = format!("{:03}", n % 1000);
                f.pad(&format!("p{}.{}", n / 1000, digits.trim_end_matches('0')))
            }
        }
    }
}

/// A text that is no statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoStatistic;

impl Statistic {
    /// The percentile that digits name, with a point among them: `99.95`.
    ///
    /// # Errors
    /// When they are none.
    pub fn percentile(text: &str) -> Result<Statistic, NoStatistic> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(part) || whole.is_empty() {
            return Err(NoStatistic);
        }
        let part = part.bytes().chain(std::iter::repeat(b'0')).take(3);
        let mut thousandths = 0_u32;
        for byte in whole.bytes().chain(part) {
            let tens = thousandths.checked_mul(10).ok_or(NoStatistic)?;
            thousandths = tens
                .checked_add(u32::from(byte - b'0'))
                .ok_or(NoStatistic)?;
        }
        (thousandths <= 100_000)
            .then_some(Statistic::Percentile(thousandths))
            .ok_or(NoStatistic)
    }
}

impl FromStr for Statistic {
    type Err = NoStatistic;

    fn from_str(text: &str) -> Result<Statistic, NoStatistic> {
        match text {
            "mean" => return Ok(Statistic::Mean),
            "max" => return Ok(Statistic::Max),
            _ => {}
        }
        Statistic::percentile(text.strip_prefix('p').ok_or(NoStatistic)?)
    }
}

impl Serialize for Statistic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Statistic {
    fn schema_name() -> Cow<'static, str> {
        "Statistic".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(mean|max|p[0-9]+([.][0-9]+)?)$" })
    }
}

/// What a figure is about.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Span {
    /// A stretch of time, a second or a minute: what went on then.
    Interval,
    /// All since a server or a system was started.
    SinceStart,
    /// One thing that happened.
    Event,
    /// A whole run of a benchmark.
    Run,
    /// How something is set.
    State,
}

impl Span {
    /// Name in kebab case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Span::Interval => "interval",
            Span::SinceStart => "since-start",
            Span::Event => "event",
            Span::Run => "run",
            Span::State => "state",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_written_as_people_write_them() {
        for text in [
            "p50", "p99", "p99.9", "p99.99", "p99.995", "p100", "max", "mean",
        ] {
            let statistic: Statistic = text.parse().expect("a statistic");
            assert_eq!(statistic.to_string(), text);
        }
        assert_eq!("p99.9".parse(), Ok(Statistic::Percentile(99_900)));
        for text in ["", "p", "p101", "q5", "p9x", "p99,9"] {
            assert_eq!(text.parse::<Statistic>(), Err(NoStatistic), "{text}");
        }
    }

    #[test]
    fn names_are_different() {
        let names: std::collections::BTreeSet<_> = Quantity::ALL.iter().map(|q| q.name()).collect();
        assert_eq!(names.len(), Quantity::ALL.len());
    }
}
