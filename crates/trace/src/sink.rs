//! What a thread gathers of the blocks it reads.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::lines::Fault;
use crate::names::{LocalNames, SharedNames};
use crate::record::Record;
use crate::statistics::{Bins, Key, MAX_WINDOW, Part, Pending};
use crate::translate::Translate;

/// As much of a bad line is kept.
const KEPT_TEXT: usize = 80;

/// Sees every request in turn, and says whether there is use for more.
pub(crate) type Visit<'v> = &'v mut (dyn FnMut(&Record<'_>) -> ControlFlow<()> + Send);

/// What one thread has gathered. A reader hands it every line.
pub(crate) struct Sink<'v> {
    names: LocalNames,
    /// One for each period.
    bins: Vec<(u64, Bins)>,
    window: Option<u64>,
    translate: Option<Arc<dyn Translate>>,
    part: Pending,
    visit: Option<Visit<'v>>,
    done: bool,
}

impl<'v> Sink<'v> {
    pub(crate) fn new(
        shared: SharedNames,
        bins: Vec<(u64, Bins)>,
        window: Option<u64>,
        translate: Option<Arc<dyn Translate>>,
    ) -> Sink<'v> {
        Sink {
            names: LocalNames::new(shared),
            bins,
            window,
            translate,
            part: Pending::default(),
            visit: None,
            done: false,
        }
    }

    /// Shows requests instead of counting them.
    pub(crate) fn showing(visit: Visit<'v>) -> Sink<'v> {
        let mut sink = Sink::new(SharedNames::default(), Vec::new(), None, None);
        sink.names.close();
        sink.visit = Some(visit);
        sink
    }

    /// Nobody wants more requests.
    pub(crate) const fn is_done(&self) -> bool {
        self.done
    }

    /// Begins a block of a file: what is gathered until [`Sink::end`] belongs to it.
    ///
    /// The part of the file begins at byte `from`, and the first line in it at byte `begin`.
    pub(crate) fn begin(&mut self, file: u32, from: u64, begin: u64) {
        self.part = Pending::new(file, from, begin);
    }

    /// Ends the block before byte `to` of the file; `is_open` when its last line has no end.
    pub(crate) fn end(&mut self, to: u64, is_open: bool) -> Part {
        std::mem::take(&mut self.part).end(to, is_open, self.names.end())
    }

    pub(crate) fn into_bins(self) -> Vec<(u64, Bins)> {
        self.bins
    }

    /// A request.
    #[inline(always)]
    pub(crate) fn take(&mut self, record: &Record<'_>) {
        self.part.counts.requests += 1;
        let mut window = 0_u64;
        if let Some(time) = record.time {
            self.part.time(time);
            if let Some(width) = self.window {
                window = (time / width).min(MAX_WINDOW);
            }
        }
        match self.translate.is_some() {
            false => self.count(record, window),
            true => self.count_pieces(record, window),
        }
    }

    #[inline(always)]
    fn count(&mut self, record: &Record<'_>, window: u64) {
        let Some(device) = self.names.follow(record) else {
            return self.shown(record);
        };
        for (period, bins) in &mut self.bins {
            // A power of two costs a mask only.
            let place = match period.is_power_of_two() {
                true => record.start & (*period - 1),
                false => record.start % *period,
            };
            bins.add(Key::new(device, window, record.access, place, record.len));
        }
    }

    /// What lies in several pieces is as many requests.
    #[inline(never)]
    fn count_pieces(&mut self, record: &Record<'_>, window: u64) {
        let Some(translate) = self.translate.clone() else {
            return;
        };
        let mut pieces = 0_u64;
        let mut piece = |device: &[u8], start, len| {
            pieces += 1;
            let piece = Record {
                device,
                start,
                len,
                ..*record
            };
            self.count(&piece, window);
        };
        if !translate.translate(record.device, record.start, record.len, &mut piece) {
            return self.count(record, window);
        }
        match pieces {
            0 => self.part.elsewhere += 1,
            pieces => self.part.split += pieces - 1,
        }
    }

    /// A request whose device has no number: nothing is counted, or there are too many of them.
    #[cold]
    fn shown(&mut self, record: &Record<'_>) {
        let Some(visit) = &mut self.visit else {
            self.part.counts.requests -= 1;
            return self.fault(0, Fault::Devices, record.device);
        };
        if !self.done {
            self.done = visit(record).is_break();
        }
    }

    /// A line of the recorder that is no request.
    pub(crate) fn other(&mut self) {
        self.part.counts.other += 1;
    }

    /// A line that begins at byte `at` of the block, and is no request.
    #[cold]
    pub(crate) fn fault(&mut self, at: usize, fault: Fault, line: &[u8]) {
        if fault.is_harmless() {
            return self.other();
        }
        let text = String::from_utf8_lossy(&line[..line.len().min(KEPT_TEXT)]);
        let text: String = text
            .chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .collect();
        self.part.fault(at, fault, text);
    }
}
