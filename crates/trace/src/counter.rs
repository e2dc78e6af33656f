//! Requests that are in no file: whoever has them hands them over one by one.

use straddle_geometry::Access;

use crate::columns::Words;
use crate::error::TraceError;
use crate::lines::Fault;
use crate::names::SharedNames;
use crate::record::{MAX_LEN, ROWS, Record};
use crate::scan::Options;
use crate::sink::Sink;
use crate::statistics::{Bins, FileRead, PERIOD, Statistics};

/// Counts requests that are handed over one by one, in the order in which they were made.
///
/// ```
/// use straddle_geometry::Access;
/// use straddle_trace::{Counter, Event, Options, Record};
///
/// let mut counter = Counter::new("batches", &Options::default());
/// counter.take(&Record { device: b"sda", event: Event::Recorded, access: Access::Read, start: 32_256, len: 8192, time: None });
/// let statistics = counter.finish()?;
/// assert_eq!(statistics.counts().requests, 1);
/// # Ok::<(), straddle_trace::TraceError>(())
/// ```
pub struct Counter {
    sink: Sink<'static>,
    names: SharedNames,
    statistics: Statistics,
    memory: usize,
    rows: u64,
}

impl Counter {
    /// Nothing yet. `name` is what stands for a file in reports; counts of one name are of one thing. Of the options, window, periods,
    /// memory and translation matter.
    #[must_use]
    pub fn new(name: &str, options: &Options) -> Counter {
        let periods = options.other_periods();
        let names = SharedNames::default();
        let memory = options.memory / (periods.len() + 1);
        let all = [PERIOD].iter().chain(&periods);
        let bins = all.map(|period| (*period, Bins::new(memory))).collect();
        let translate = options.translate.clone();
        let mut sink = Sink::new(names.clone(), bins, options.window, translate);
        sink.begin(0, 0, 0);
        let mut statistics = Statistics::new(&periods, options.window, options.memory);
        statistics.files.push(FileRead {
            name: name.to_owned(),
            format: ROWS,
            packing: None,
            stopped: None,
        });
        Counter {
            sink,
            names,
            statistics,
            memory: options.memory,
            rows: 0,
        }
    }

    /// Counts a request; one that no device takes is a bad row.
    #[inline]
    pub fn take(&mut self, record: &Record<'_>) {
        if record.len == 0 {
            return self.other();
        }
        if record.len > MAX_LEN {
            return self.bad(Fault::TooLong, "");
        }
        if record.start.checked_add(record.len).is_none() {
            return self.bad(Fault::BeyondTheEnd, "");
        }
        self.rows += 1;
        self.sink.take(record);
    }

    /// Counts a row that is no request, and need not be one: a flush, a discard.
    pub fn other(&mut self) {
        self.rows += 1;
        self.sink.other();
    }

    /// Counts a row that could not be understood, which said `text`.
    #[cold]
    pub fn bad(&mut self, fault: Fault, text: &str) {
        let at = usize::try_from(self.rows).unwrap_or(usize::MAX);
        self.rows += 1;
        self.sink.fault(at, fault, text.as_bytes());
    }

    /// All that was counted.
    ///
    /// # Errors
    /// When counts cannot be kept on disk.
    pub fn finish(mut self) -> Result<Statistics, TraceError> {
        let part = self.sink.end(self.rows, false);
        if self.rows > 0 {
            self.statistics.add(part);
        }
        for (period, bins) in self.sink.into_bins() {
            let runs = bins.into_runs().map_err(TraceError::Spill)?;
            let all = self.statistics.periods.entry(period).or_default();
            all.join(runs, self.memory).map_err(TraceError::Spill)?;
        }
        self.statistics.devices = self.names.into_devices();
        Ok(self.statistics)
    }
}

/// Whether a word such as `Read`, `W` or `DiskWrite` means a read or a write; `Some(None)` for what is known to be neither, such as a
/// flush.
#[must_use]
pub fn access(word: &[u8]) -> Option<Option<Access>> {
    Words::Letters.read(word)
}
