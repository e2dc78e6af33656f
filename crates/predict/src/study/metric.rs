//! What cells of published tables say, and the same of a simulated case.

use straddle_workload::interval::Interval;

use crate::experiment::Case;

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// Requests each second.
    Iops,
    /// Bytes each second; the unit is so many of them.
    Throughput(&'static str, f64),
    /// Mean latency; the unit is so many seconds.
    Latency(&'static str, f64),
    /// Time for so many requests, one after the other ended; the unit is so many seconds.
    Elapsed(&'static str, f64, f64),
    /// Something counted, for each request.
    Counted(Counted),
    /// One of those of this cell, divided by the same of another.
    Ratio(Ratio),
}

/// What is counted for each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Operations of members.
    MemberOperations,
    /// Reads of members.
    MemberReads,
    /// Writes of members.
    MemberWrites,
    /// Bytes of members for each byte of a request.
    MemberBytes,
    /// Stripe units that a command touches.
    Pieces,
    /// Share of commands that touch more than one stripe unit.
    Straddling,
}

/// What is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ratio {
    /// Requests each second.
    Iops,
    /// Bytes each second.
    Throughput,
    /// Mean latency.
    Latency,
    /// Time for the same number of requests.
    Elapsed,
}

/// Every name, for messages.
pub(super) const NAMES: &str = "iops, MBps, MiBps, latency_us, latency_ms, elapsed_ms or elapsed_s with operations = N, \
    member_ios_per_io, member_reads_per_io, member_writes_per_io, member_bytes_per_byte, pieces_per_io, straddling_share; \
    with against: iops_ratio, throughput_ratio, latency_ratio, elapsed_ratio";

impl Metric {
    /// Requests each second over those of another cell.
    pub(crate) const IOPS_RATIO: Metric = Metric::Ratio(Ratio::Iops);

    /// The metric of that name; `operations` is for those that time so many.
    pub(super) fn parse(name: &str, operations: Option<f64>) -> Option<Metric> {
        Some(match name {
            "iops" => Metric::Iops,
            "MBps" => Metric::Throughput("MBps", 1e6),
            "MiBps" => Metric::Throughput("MiBps", 1_048_576.0),
            "latency_us" => Metric::Latency("latency_us", 1e-6),
            "latency_ms" => Metric::Latency("latency_ms", 1e-3),
            "elapsed_ms" => Metric::Elapsed("elapsed_ms", 1e-3, operations?),
            "elapsed_s" => Metric::Elapsed("elapsed_s", 1.0, operations?),
            "member_ios_per_io" => Metric::Counted(Counted::MemberOperations),
            "member_reads_per_io" => Metric::Counted(Counted::MemberReads),
            "member_writes_per_io" => Metric::Counted(Counted::MemberWrites),
            "member_bytes_per_byte" => Metric::Counted(Counted::MemberBytes),
            "pieces_per_io" => Metric::Counted(Counted::Pieces),
            "straddling_share" => Metric::Counted(Counted::Straddling),
            "iops_ratio" => Metric::Ratio(Ratio::Iops),
            "throughput_ratio" => Metric::Ratio(Ratio::Throughput),
            "latency_ratio" => Metric::Ratio(Ratio::Latency),
            "elapsed_ratio" => Metric::Ratio(Ratio::Elapsed),
            _ => return None,
        })
    }

    /// As studies write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Metric::Iops => "iops",
            Metric::Throughput(name, _) | Metric::Latency(name, _) | Metric::Elapsed(name, ..) => {
                name
            }
            Metric::Counted(Counted::MemberOperations) => "member_ios_per_io",
            Metric::Counted(Counted::MemberReads) => "member_reads_per_io",
            Metric::Counted(Counted::MemberWrites) => "member_writes_per_io",
            Metric::Counted(Counted::MemberBytes) => "member_bytes_per_byte",
            Metric::Counted(Counted::Pieces) => "pieces_per_io",
            Metric::Counted(Counted::Straddling) => "straddling_share",
            Metric::Ratio(Ratio::Iops) => "iops_ratio",
            Metric::Ratio(Ratio::Throughput) => "throughput_ratio",
            Metric::Ratio(Ratio::Latency) => "latency_ratio",
            Metric::Ratio(Ratio::Elapsed) => "elapsed_ratio",
        }
    }

    /// The same for people: `requests each second`, `ms`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Metric::Iops => "requests/s",
            Metric::Throughput("MBps", _) => "MB/s",
            Metric::Throughput(..) => "MiB/s",
            Metric::Latency("latency_us", _) => "µs mean",
            Metric::Latency(..) => "ms mean",
            Metric::Elapsed("elapsed_ms", ..) => "ms in all",
            Metric::Elapsed(..) => "s in all",
            Metric::Counted(Counted::MemberOperations) => "member operations/request",
            Metric::Counted(Counted::MemberReads) => "member reads/request",
            Metric::Counted(Counted::MemberWrites) => "member writes/request",
            Metric::Counted(Counted::MemberBytes) => "member bytes/byte",
            Metric::Counted(Counted::Pieces) => "pieces/request",
            Metric::Counted(Counted::Straddling) => "share that straddles",
            Metric::Ratio(Ratio::Iops) => "× requests/s",
            Metric::Ratio(Ratio::Throughput) => "× bytes/s",
            Metric::Ratio(Ratio::Latency) => "× latency",
            Metric::Ratio(Ratio::Elapsed) => "× time",
        }
    }

    /// True for those of two cells.
    #[must_use]
    pub const fn is_ratio(self) -> bool {
        matches!(self, Metric::Ratio(_))
    }

    /// What a case comes to in this metric, with a 95% interval where it has one; `other` is the case that a ratio is
    /// against.
    pub(super) fn of(self, case: &Case, other: Option<&Case>) -> (f64, Option<Interval>) {
        match self {
            Metric::Iops => with(case.rate, |rate| rate),
            Metric::Throughput(_, unit) => {
                let bytes = case.bytes_per_second / case.rate.mean / unit;
                with(case.rate, |rate| rate * bytes)
            }
            Metric::Latency(_, unit) => with(case.latency, |latency| latency / unit),
            Metric::Elapsed(_, unit, operations) => {
                with(case.rate, |rate| operations / rate / unit)
            }
            Metric::Counted(counted) => (counted.of(case), None),
            Metric::Ratio(ratio) => other.map_or((f64::NAN, None), |other| ratio.of(case, other)),
        }
    }
}

/// An interval in another unit. Ends may change places.
fn with(interval: Interval, unit: impl Fn(f64) -> f64) -> (f64, Option<Interval>) {
    let (one, two) = (unit(interval.low), unit(interval.high));
    let mean = unit(interval.mean);
    let changed = Interval {
        mean,
        low: one.min(two),
        high: one.max(two),
    };
    (mean, Some(changed))
}

impl Counted {
    #[expect(clippy::cast_precision_loss, reason = "a ratio needs no 64 bits")]
    fn of(self, case: &Case) -> f64 {
        let counts = &case.counts;
        let requests = case.requests as f64;
        match self {
            Counted::MemberOperations => {
                (counts.member_reads + counts.member_writes) as f64 / requests
            }
            Counted::MemberReads => counts.member_reads as f64 / requests,
            Counted::MemberWrites => counts.member_writes as f64 / requests,
            Counted::MemberBytes => {
                let bytes = case.bytes_per_second / case.rate.mean * requests;
                counts.member_bytes as f64 / bytes
            }
            Counted::Pieces => counts.units as f64 / counts.commands as f64,
            Counted::Straddling => counts.straddling as f64 / counts.commands as f64,
        }
    }
}

impl Ratio {
    /// Both cases are of one comparison, so what each is against its baseline can be divided: geometric means of ratios
    /// allow that. The interval is known where the other is the baseline.
    fn of(self, case: &Case, other: &Case) -> (f64, Option<Interval>) {
        let one = |interval: Option<Interval>| interval.map_or(1.0, |interval| interval.mean);
        let divide = |of: fn(&Case) -> Option<Interval>| {
            let interval = of(case).filter(|_| of(other).is_none());
            (one(of(case)) / one(of(other)), interval)
        };
        match self {
            Ratio::Iops => divide(|case| case.gain),
            Ratio::Latency => divide(|case| case.latency_ratio),
            Ratio::Elapsed => {
                let (gain, interval) = divide(|case| case.gain);
                let turned = interval.and_then(|interval| with(interval, |gain| 1.0 / gain).1);
                (1.0 / gain, turned)
            }
            Ratio::Throughput => {
                let (gain, interval) = divide(|case| case.gain);
                let bytes = |case: &Case| case.bytes_per_second / case.rate.mean;
                let longer = bytes(case) / bytes(other);
                let scaled = interval.and_then(|interval| with(interval, |gain| gain * longer).1);
                (gain * longer, scaled)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        let names = NAMES
            .split([',', ';', ':'])
            .flat_map(|part| part.split(" or "));
        let mut known = 0;
        for name in names {
            let name = name.trim();
            let name = name.split(' ').next().unwrap_or("");
            if let Some(metric) = Metric::parse(name, Some(10.0)) {
                assert_eq!(metric.name(), name);
                known += 1;
            }
        }
        assert_eq!(known, 17);
        assert_eq!(
            Metric::parse("elapsed_s", None),
            None,
            "of how many operations?"
        );
    }
}
