//! Files to statistics, by several threads.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use straddle_io::{Packing, ReadAt};

use crate::column_map::ColumnMap;
use crate::error::TraceError;
use crate::format::{BOM, Detected, Format, Head, Reader, Stream};
use crate::input::{
    BLOCK, Counted, Cutter, FromStart, Input, PEEK, Source, Wide, block, peeked, read_at,
};
use crate::names::SharedNames;
use crate::record::Record;
use crate::registry::FORMATS;
use crate::sink::Sink;
use crate::statistics::{Bins, FileRead, FileSummary, MEMORY, PERIOD, Part, Runs, Statistics};
use crate::tables::Kind;
use crate::translate::Translate;

/// How traces are read.
#[derive(Clone)]
pub struct Options {
    /// How many threads read.
    pub threads: usize,
    /// Requests are counted apart by stretches of so many nanoseconds.
    pub window: Option<u64>,
    /// Units beside the powers of two up to 1 MiB, in bytes: each gets a distribution of its own.
    pub periods: Vec<u64>,
    /// Bytes that counts may take; what needs more goes to files without a name.
    pub memory: usize,
    /// The name of the format of all files, where it is known.
    pub format: Option<String>,
    /// Where requests lie in what is judged.
    pub translate: Option<Arc<dyn Translate>>,
    /// Which column of a table is what: all files are such tables.
    pub columns: Option<ColumnMap>,
    /// How many bytes are read at once. Nothing that is counted depends on it, which tests show with small ones.
    #[doc(hidden)]
    pub block: u64,
}

impl Options {
    /// Periods beside [`PERIOD`].
    pub(crate) fn other_periods(&self) -> Vec<u64> {
        let periods = self.periods.iter().copied();
        let mut periods: Vec<u64> = periods
            .filter(|period| !PERIOD.is_multiple_of(*period))
            .collect();
        periods.sort_unstable();
        periods.dedup();
        periods
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            window: None,
            periods: Vec::new(),
            memory: MEMORY,
            format: None,
            translate: None,
            columns: None,
            block: BLOCK,
        }
    }
}

/// How much of a file is looked at to tell what it is.
const HEAD: usize = 64 << 10;

/// Reads traces, and counts their requests. Files of which nothing came are told beside it; one that could not be read to its
/// end says so in its [`FileRead`].
///
/// # Errors
/// [`TraceError::Spill`].
pub fn scan(
    inputs: Vec<Input<'_>>,
    options: &Options,
) -> Result<(Statistics, Vec<TraceError>), TraceError> {
    let mut scanner = Scanner::new(options);
    let mut failures = Vec::new();
    for input in inputs {
        failures.extend(scanner.read(input).err());
    }
    Ok((scanner.finish()?, failures))
}

/// Reads traces one after the other, so that only one has to be open.
pub struct Scanner<'o> {
    scan: Scan<'o>,
    names: SharedNames,
}

impl<'o> Scanner<'o> {
    /// Nothing is counted yet.
    #[must_use]
    pub fn new(options: &'o Options) -> Scanner<'o> {
        let threads = options.threads.max(1);
        let names = SharedNames::default();
        let periods = options.other_periods();
        let memory = options.memory / threads / (periods.len() + 1);
        let sinks = (0..threads).map(|_| {
            let all = [PERIOD].iter().chain(&periods);
            let bins = all.map(|period| (*period, Bins::new(memory))).collect();
            Sink::new(
                names.clone(),
                bins,
                options.window,
                options.translate.clone(),
            )
        });
        let scan = Scan {
            statistics: Statistics::new(&periods, options.window, options.memory),
            sinks: sinks.collect(),
            options,
        };
        Scanner { scan, names }
    }

    /// Counts the requests of one trace.
    ///
    /// # Errors
    /// When nothing came of it; every [`TraceError`] but [`TraceError::Spill`].
    pub fn read(&mut self, input: Input<'_>) -> Result<(), TraceError> {
        let name = input.name.clone();
        // Its parts could not be told from those that are there.
        if self
            .scan
            .statistics
            .files
            .iter()
            .any(|file| file.name == name)
        {
            return Err(TraceError::Twice { name });
        }
        self.scan.input(input).map_err(|failure| failure.of(name))
    }

    /// What was counted.
    ///
    /// # Errors
    /// [`TraceError::Spill`].
    pub fn finish(self) -> Result<Statistics, TraceError> {
        let Scan {
            mut statistics,
            sinks,
            options,
        } = self.scan;
        for (period, bins) in sinks.into_iter().flat_map(Sink::into_bins) {
            let runs: Runs = bins.into_runs().map_err(TraceError::Spill)?;
            let all = statistics.periods.entry(period).or_default();
            all.join(runs, options.memory).map_err(TraceError::Spill)?;
        }
        statistics.devices = self.names.into_devices();
        Ok(statistics)
    }
}

/// Shows every request of a trace to `visit`, in the order of the file, until it breaks off. What else there was is what comes back.
///
/// No more than a block of the file is in memory, however long it is.
///
/// # Errors
/// Every [`TraceError`] but [`TraceError::Spill`].
pub fn records(
    input: Input<'_>,
    options: &Options,
    visit: &mut (dyn FnMut(&Record<'_>) -> ControlFlow<()> + Send),
) -> Result<(FileRead, FileSummary), TraceError> {
    let name = input.name.clone();
    let mut scan = Scan {
        statistics: Statistics::new(&[], None, 0),
        sinks: vec![Sink::showing(visit)],
        options,
    };
    scan.input(input).map_err(|failure| failure.of(name))?;
    let summary = scan.statistics.file(0);
    Ok((scan.statistics.files.swap_remove(0), summary))
}

enum Failure {
    Read(io::Error),
    Known(TraceError),
}

impl Failure {
    fn of(self, name: String) -> TraceError {
        match self {
            Failure::Read(error) => TraceError::Read { name, error },
            Failure::Known(error) => error,
        }
    }
}

#[cfg(feature = "parquet")]
impl Failure {
    fn unreadable(name: &str, why: crate::tables::Unreadable) -> Failure {
        use crate::tables::Unreadable;
        match why {
            Unreadable::Read(error) => Failure::Read(error),
            Unreadable::Columns(error) => Failure::Known(TraceError::Columns {
                name: name.to_owned(),
                error,
            }),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Read(error)
    }
}

struct Scan<'v> {
    statistics: Statistics,
    sinks: Vec<Sink<'v>>,
    options: &'v Options,
}

impl Scan<'_> {
    fn input(&mut self, input: Input<'_>) -> Result<(), Failure> {
        let Input { name, source } = input;
        match source {
            Source::At(source, range) => {
                let mut head = Vec::new();
                read_at(source, 0, HEAD, &mut head)?;
                if Packing::of(&head).is_some() || Wide::of(&head).is_some() {
                    let stream = FromStart { source, at: 0 };
                    return self.stream(name, Box::new(stream));
                }
                #[cfg(not(feature = "parquet"))]
                table(&name, &head, self.options)?;
                #[cfg(feature = "parquet")]
                if let Some(kind) = table(&name, &head, self.options)? {
                    return self.table(name, kind, source, range);
                }
                let whole = head.len() < HEAD;
                let (format, detected) = detect(&name, &head, whole, self.options)?;
                let file = self.file(name, format, None);
                let end = source.size().get();
                let (from, to) = range.map_or((0, end), |(from, to)| (from.min(end), to.min(end)));
                let to = to.max(from);
                match detected {
                    Detected::Lines(reader) => self.shared(file, &*reader, source, from, to),
                    Detected::Stream(mut stream) => {
                        let mut input = FromStart { source, at: 0 };
                        self.alone(file, &mut *stream, &mut input);
                    }
                    Detected::Refused(_) => {}
                }
                Ok(())
            }
            Source::Stream(stream) => self.stream(name, stream),
        }
    }

    /// What can only be read on, packed or not.
    fn stream(&mut self, name: String, stream: Box<dyn Read + Send + '_>) -> Result<(), Failure> {
        let (head, mut stream) = peeked(stream, Packing::HEAD)?;
        let packing = Packing::of(&head);
        if let Some(packing) = packing {
            stream = Box::new(packing.unpack(stream));
        }
        let (head, mut stream) = peeked(stream, PEEK)?;
        let wide = Wide::of(&head);
        if let Some(wide) = wide {
            stream = wide.decode(stream);
        }
        let (head, stream) = peeked(stream, HEAD)?;
        #[cfg(not(feature = "parquet"))]
        table(&name, &head, self.options)?;
        #[cfg(feature = "parquet")]
        if let Some(kind) = table(&name, &head, self.options)? {
            return self.table_stream(name, kind, packing.map(Packing::name), &head, stream);
        }
        let whole = head.len() < HEAD;
        let (format, detected) = detect(&name, &head, whole, self.options)?;
        let packing = packing.map(Packing::name).or(wide.map(Wide::name));
        let file = self.file(name, format, packing);
        match detected {
            Detected::Lines(reader) => self.handed_out(file, &*reader, stream),
            Detected::Stream(mut reader) => {
                let mut input = stream;
                self.alone(file, &mut *reader, &mut input);
            }
            Detected::Refused(_) => {}
        }
        Ok(())
    }

    /// A file of tables, each of whose groups of rows can be read by itself.
    #[cfg(feature = "parquet")]
    fn table(
        &mut self,
        name: String,
        kind: Kind,
        source: &dyn ReadAt,
        range: Option<(u64, u64)>,
    ) -> Result<(), Failure> {
        use crate::tables::{ArrowFile, Groups, ParquetFile, counted};
        let (map, stem) = (self.options.columns.as_ref(), stem(&name));
        let unreadable = |why| Failure::unreadable(&name, why);
        let groups: Box<dyn Groups> = match kind {
            Kind::Parquet => Box::new(ParquetFile::open(source, map, stem).map_err(unreadable)?),
            Kind::ArrowFile => Box::new(ArrowFile::open(source, map, stem).map_err(unreadable)?),
            _ => {
                let stream = Box::new(FromStart { source, at: 0 });
                let (head, stream) = peeked(stream, HEAD)?;
                return self.table_stream(name, kind, None, &head, stream);
            }
        };
        let file = self.file(name, kind.format(), None);
        let (sinks, statistics) = (&mut self.sinks, &mut self.statistics);
        if let Some(error) = counted(&*groups, file, source, range, sinks, statistics) {
            self.stopped(file, &error);
        }
        Ok(())
    }

    /// One that can only be read on.
    #[cfg(feature = "parquet")]
    fn table_stream(
        &mut self,
        name: String,
        kind: Kind,
        packing: Option<&'static str>,
        head: &[u8],
        stream: Box<dyn Read + Send + '_>,
    ) -> Result<(), Failure> {
        use crate::tables::{ArrowStream, FROM_ITS_END};
        if kind == Kind::Parquet {
            let why = FROM_ITS_END;
            return Err(Failure::Known(TraceError::Refused { name, why }));
        }
        let (head, mut stream) = peeked(stream, ArrowStream::wanted(head))?;
        let map = self.options.columns.as_ref();
        let reader = ArrowStream::open(&head, map, stem(&name));
        let mut reader = reader.map_err(|why| Failure::unreadable(&name, why))?;
        let file = self.file(name, kind.format(), packing);
        self.alone(file, &mut reader, &mut stream);
        Ok(())
    }

    fn file(
        &mut self,
        name: String,
        format: &'static Format,
        packing: Option<&'static str>,
    ) -> u32 {
        let files = &mut self.statistics.files;
        let number = u32::try_from(files.len()).unwrap_or(u32::MAX);
        files.push(FileRead {
            name,
            format: format.name,
            packing,
            stopped: None,
        });
        number
    }

    fn stopped(&mut self, file: u32, error: &io::Error) {
        if let Some(file) = self.statistics.files.get_mut(file as usize) {
            file.stopped.get_or_insert_with(|| error.to_string());
        }
    }

    /// Each thread takes the next block.
    fn shared(&mut self, file: u32, reader: &dyn Reader, source: &dyn ReadAt, from: u64, to: u64) {
        let next = AtomicU64::new(from);
        let done: Mutex<(&mut Statistics, Option<io::Error>)> =
            Mutex::new((&mut self.statistics, None));
        let step = self.options.block.max(1);
        let work = |sink: &mut Sink<'_>| {
            let mut buffer = Vec::new();
            while !sink.is_done() {
                let from = next.fetch_add(step, Ordering::Relaxed);
                if from >= to {
                    break;
                }
                let end = (from + step).min(to);
                let read = block(source, from, end, &mut buffer);
                let part = match &read {
                    Ok((begin, at)) => {
                        read_block(reader, file, from, end, *at, &buffer[*begin..], sink)
                    }
                    Err(_) => continue_behind(file, from, end, sink),
                };
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                done.0.add(part);
                if let Err(error) = read {
                    done.1.get_or_insert(error);
                    // Nothing behind it is of use: how the requests follow each other is not known.
                    next.store(to, Ordering::Relaxed);
                }
            }
        };
        let blocks = (to - from).div_ceil(step);
        on_each(&mut self.sinks, blocks, work);
        let error = done.into_inner().unwrap_or_else(PoisonError::into_inner).1;
        if let Some(error) = error {
            self.stopped(file, &error);
        }
    }

    /// One thread reads, the others get blocks from it.
    fn handed_out(&mut self, file: u32, reader: &dyn Reader, input: impl Read) {
        let (sender, receiver) = sync_channel(2);
        let receiver = Mutex::new(receiver);
        let done = Mutex::new(&mut self.statistics);
        let mut cutter = Cutter::new(input, self.options.block.max(1));
        let over = AtomicBool::new(false);
        let error = std::thread::scope(|scope| {
            for sink in &mut self.sinks {
                let (receiver, done): (&Mutex<Receiver<crate::input::Lines>>, _) =
                    (&receiver, &done);
                let over = &over;
                scope.spawn(move || {
                    loop {
                        let lines = receiver
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .recv();
                        let Ok(lines) = lines else { break };
                        if sink.is_done() {
                            over.store(true, Ordering::Relaxed);
                            continue;
                        }
                        let part = read_block(
                            reader,
                            file,
                            lines.from,
                            lines.to,
                            lines.begin,
                            &lines.bytes,
                            sink,
                        );
                        done.lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .add(part);
                    }
                });
            }
            let error = loop {
                match cutter.next() {
                    _ if over.load(Ordering::Relaxed) => break None,
                    Ok(Some(lines)) => {
                        if sender.send(lines).is_err() {
                            break None;
                        }
                    }
                    Ok(None) => break None,
                    Err(error) => break Some(error),
                }
            };
            drop(sender);
            error
        });
        if let Some(error) = error {
            self.stopped(file, &error);
        }
    }

    /// What has to be read in order.
    fn alone(&mut self, file: u32, stream: &mut dyn Stream, input: &mut dyn Read) {
        let mut counted = Counted { input, bytes: 0 };
        let Some(sink) = self.sinks.first_mut() else {
            return;
        };
        sink.begin(file, 0, 0);
        let done = stream.read(&mut counted, sink);
        let part = sink.end(counted.bytes, false);
        self.statistics.add(part);
        if let Err(error) = done {
            self.stopped(file, &error);
        }
    }
}

/// Runs `work` with each sink, in threads if there is more than one block to be read.
fn on_each(sinks: &mut [Sink<'_>], blocks: u64, work: impl Fn(&mut Sink<'_>) + Sync) {
    let (Some((first, others)), work) = (sinks.split_first_mut(), &work) else {
        return;
    };
    std::thread::scope(|scope| {
        for (sink, _) in others.iter_mut().zip(1..blocks) {
            scope.spawn(move || work(sink));
        }
        work(first);
    });
}

fn read_block(
    reader: &dyn Reader,
    file: u32,
    from: u64,
    to: u64,
    begin: u64,
    bytes: &[u8],
    sink: &mut Sink<'_>,
) -> Part {
    let (mut begin, mut text) = (begin, bytes);
    if begin == 0
        && let Some(behind) = bytes.strip_prefix(BOM)
    {
        (begin, text) = (BOM.len() as u64, behind);
    }
    sink.begin(file, from, begin);
    reader.read(text, sink);
    let is_open = bytes.last().is_some_and(|last| *last != b'\n');
    sink.end(to, is_open)
}

/// Of a block that could not be read nothing is known.
fn continue_behind(file: u32, from: u64, to: u64, sink: &mut Sink<'_>) -> Part {
    sink.begin(file, from, from);
    sink.end(to, false)
}

/// What a file of tables is, if it is one that can be read. A recorder that the user names is believed.
fn table(name: &str, head: &[u8], options: &Options) -> Result<Option<Kind>, Failure> {
    let kind = Kind::of(head).filter(|_| options.format.is_none());
    match kind.and_then(Kind::refused) {
        None => Ok(kind),
        Some(why) => Err(Failure::Known(TraceError::Refused {
            name: name.to_owned(),
            why,
        })),
    }
}

/// The name of a file without its folder and ending.
fn stem(name: &str) -> &str {
    let stem = std::path::Path::new(name).file_stem();
    stem.and_then(|stem| stem.to_str()).unwrap_or(name)
}

/// The recorder whose file begins so, where there is one from which requests are had.
#[must_use]
pub fn recognise(head: &[u8]) -> Option<&'static Format> {
    Some(detect("", head, false, &Options::default()).ok()?.0)
}

/// Whose a file is that begins with `head`.
fn detect(
    name: &str,
    head: &[u8],
    whole: bool,
    options: &Options,
) -> Result<(&'static Format, Detected), Failure> {
    if head.is_empty() {
        let name = name.to_owned();
        return Err(Failure::Known(TraceError::Empty { name }));
    }
    let head = Head {
        bytes: head.strip_prefix(BOM).unwrap_or(head),
        whole,
        stem: stem(name),
    };
    if let Some(columns) = &options.columns {
        let detected = crate::readers::csv::with(columns, &head);
        return detected
            .map(|detected| (&crate::readers::csv::CSV, detected))
            .map_err(|error| {
                let name = name.to_owned();
                Failure::Known(TraceError::Columns { name, error })
            });
    }
    let format = options.format.as_deref();
    let found = FORMATS
        .iter()
        .filter(|known| format.is_none_or(|format| known.name == format))
        .find_map(|format| Some((*format, (format.detect)(&head)?)));
    match found {
        Some((_, Detected::Refused(why))) => Err(Failure::Known(TraceError::Refused {
            name: name.to_owned(),
            why,
        })),
        Some(found) => Ok(found),
        None => {
            let line = head
                .bytes
                .split(|byte| *byte == b'\n')
                .next()
                .unwrap_or_default();
            let text = String::from_utf8_lossy(&line[..line.len().min(60)]);
            Err(Failure::Known(TraceError::Unknown {
                name: name.to_owned(),
                first: format!("`{}`", text.trim().escape_debug()),
            }))
        }
    }
}
