//! What the fuzz targets share: each runs one prober, one file finder, the whole inspection, or a reader of other tools'
//! words, over the bytes it is given.

use std::sync::Arc;
use straddle_geometry::{Bytes, Extent, Gap, Listed, Listing, Place};
use straddle_io::{ReadAt, Reader};
use straddle_probe::container::{Content, recognise};
use straddle_probe::{Limits, Window, inspect, registry};
use straddle_report::{Asked, Checked};
use straddle_rules::{Context, Options, check};
use straddle_sources::Settings;
use straddle_stack::{Layer, LayerKind, Stack};

use straddle_testkit::{files, sparse, volume};

#[doc(hidden)]
pub use libfuzzer_sys;
pub use straddle_testkit::{collected, compat, journal, predict, realign, table, windows};

/// What one target may cost: the same as in the replay of the corpora, `crates/probe/tests/corpora.rs`.
const BUDGET: Bytes = Bytes::mib(2);

/// Reads `data` as a log, and as the end of a log that is too long to be held, for all formats together.
pub fn evidence(data: &[u8]) {
    logs(straddle_evidence::FORMATS, data);
}

/// Reads `data` as the output of one tool, as [`evidence`] does.
pub fn fuzz_reader(name: &str, data: &[u8]) {
    use straddle_evidence::FORMATS;
    let at = FORMATS.iter().position(|format| format.name == name);
    let Some(formats) = at.and_then(|at| FORMATS.get(at..=at)) else {
        panic!("no format is called {name}");
    };
    logs(formats, data);
}

fn logs(formats: &'static [&'static straddle_evidence::Format], data: &[u8]) {
    use straddle_evidence::read_with;
    let mut gathered = straddle_evidence::Gathered::new();
    let _ = read_with(formats, "log", &mut &data[..], &mut gathered);
    let long = [&b"\n".repeat((1 << 20) + 1)[..], data].concat();
    let _ = read_with(formats, "long", &mut &long[..], &mut gathered);
    let mut stack = Stack::new();
    gathered.join(&mut stack);
    let options = Options::default();
    let _ = check(&Context::new(&stack, &options));
}

/// Reads `data` as a trace of whatever recorder it is.
pub fn traces(data: &[u8]) {
    read_trace(straddle_trace::Options::default(), data);
}

/// Reads `data` as counts that were sent: as they are, and as what is between version and checksum.
pub fn statistics(data: &[u8]) {
    use straddle_trace::{Statistics, sealed};
    let _ = Statistics::from_bytes(data);
    let Ok(mut read) = Statistics::from_bytes(&sealed(data)) else {
        return;
    };
    let bytes = read.to_bytes().expect("in memory");
    let mut again = Statistics::from_bytes(&bytes).expect("what was read can be written");
    assert_eq!(bytes, again.to_bytes().expect("in memory"));
    let _ = again.join(read);
}

/// Reads `data` as a trace of one recorder; a table also with the columns that its first line names.
pub fn fuzz_trace(name: &str, data: &[u8]) {
    use straddle_trace::{FORMATS, Options, TABLES};
    if TABLES.iter().any(|format| format.name == name) {
        return tables(data);
    }
    assert!(
        FORMATS.iter().any(|format| format.name == name),
        "no recorder is called {name}"
    );
    let options = Options {
        format: Some(name.to_owned()),
        ..Options::default()
    };
    read_trace(options, data);
    let end = data.iter().position(|byte| *byte == b'\n');
    if let Some((map, table)) = end.filter(|_| name == "csv").map(|end| data.split_at(end))
        && let Ok(columns) = String::from_utf8_lossy(map).parse()
    {
        let options = Options {
            columns: Some(columns),
            ..Options::default()
        };
        read_trace(options, table);
    }
}

/// Reads a file of tables from any place and, where it can be, from a pipe. What is before damage may differ: a file's end says where its rows are.
fn tables(data: &[u8]) {
    use straddle_trace::{Input, Options, Source, scan};
    let options = Options {
        threads: 1,
        ..Options::default()
    };
    let pipe = Box::new(std::io::Cursor::new(data.to_vec()));
    for source in [Source::At(&data, None), Source::Stream(pipe)] {
        let name = "fuzz".to_owned();
        let _ = scan(vec![Input { name, source }], &options);
    }
}

/// Reads a trace in one block, in many, and from a pipe, which must come to the same.
fn read_trace(options: straddle_trace::Options, data: &[u8]) {
    use std::ops::ControlFlow;
    use straddle_trace::{Input, Options, Source, records};
    let read = |source: Source<'_>, block: u64| {
        let options = Options {
            threads: 1,
            block,
            ..options.clone()
        };
        let mut requests = Vec::new();
        let mut visit = |record: &straddle_trace::Record<'_>| {
            requests.push((
                record.device_name(),
                record.event,
                (record.access, record.start, record.len, record.time),
            ));
            ControlFlow::Continue(())
        };
        let input = Input {
            name: "fuzz".to_owned(),
            source,
        };
        let found = records(input, &options, &mut visit).map_err(|error| error.to_string());
        (found, requests)
    };
    let whole = read(Source::At(&data, None), options.block);
    assert_eq!(read(Source::At(&data, None), 61), whole);
    let pipe = Box::new(std::io::Cursor::new(data.to_vec()));
    assert_eq!(read(Source::Stream(pipe), 1021), whole);
}

/// Runs the probers of one format over `data` as the whole of a target.
pub fn fuzz_prober(name: &str, data: &[u8]) {
    let data = &*sparse::unpacked(data);
    for prober in registry::by_name(name) {
        let reader = Reader::with_budget(&data, BUDGET);
        let _ = prober.run(&Window::whole(&reader, None));
    }
}

/// Opens `data` as a container, if it is one of the format called `name`, and walks over its table: what is said about
/// the addresses must be in order, and the same when a single one is asked.
pub fn fuzz_container(name: &str, data: &[u8]) {
    let data = &*sparse::unpacked(data);
    let file: Arc<dyn ReadAt> = Arc::new(data.to_vec());
    let reader = Reader::with_budget(&*file, BUDGET);
    let Ok(Some((format, container))) = recognise(&reader, &file) else {
        return;
    };
    let Some(disk) = container.disk.filter(|_| format.name == name) else {
        return;
    };
    let Content::Blocks(table) = disk.content else {
        return;
    };
    let Ok(listing) = Listing::of(&*table, Extent::whole(disk.size.value), 4096) else {
        return;
    };
    let mut at = Bytes::ZERO;
    for part in listing.parts() {
        assert_eq!(part.upper().start(), at, "out of order");
        let place = table.locate(at).expect("streamed, so readable");
        let same = match (part, &place) {
            (Listed::Piece(piece), Place::At { target, offset, .. }) => {
                (piece.target, piece.lower) == (*target, *offset)
            }
            (Listed::Gap(_, gap), Place::Absent { .. }) => *gap == Gap::Absent,
            (Listed::Gap(_, gap), Place::Zero { .. }) => *gap == Gap::Zero,
            (Listed::Gap(_, gap), Place::Packed { .. }) => *gap == Gap::Packed,
            _ => false,
        };
        assert!(same, "{part:?} but {place:?}");
        if let Place::Packed { upper, lower, .. } = place {
            // A cluster is at most 2 MiB, a grain far less; more is refused by whoever reads the guest.
            let len = usize::try_from(upper.len().get()).unwrap_or(0).min(2 << 20);
            let from = usize::try_from(lower.start().get()).unwrap_or(usize::MAX);
            let packed = data.get(from..).unwrap_or(&[]);
            let want = usize::try_from(lower.len().get()).unwrap_or(usize::MAX);
            let _ = table.unpack(&packed[..packed.len().min(want)], &mut vec![0; len]);
        }
        at = part.upper().end();
    }
    assert!(listing.left_out() || at == disk.size.value, "ends early");
}

/// Takes `data` for the members of one set, puts them together if they are of the volume format called `name`, and looks at
/// what comes of it.
pub fn fuzz_volume(name: &str, data: &[u8]) {
    let formats = registry::VOLUMES.iter();
    if let Some(format) = formats.into_iter().find(|format| format.name == name) {
        volume::assembled(format, data, BUDGET);
    }
}

/// Looks for files in the image that `data` describes.
pub fn fuzz_files(format: &str, data: &[u8]) {
    files::find_all(format, data, BUDGET);
}

/// Everything that `check` does to an image: opens virtual disks and what is inside them, surveys their tables, applies
/// all rules, and writes both reports.
pub fn fuzz_check(data: &[u8]) {
    let bytes: Arc<dyn ReadAt> = Arc::new(sparse::unpacked(data));
    let options = Options::default();
    let settings = Settings {
        io: options.io.clone(),
        guest_files: vec!["/a".to_owned()],
        ..Settings::default()
    };
    // Once with a file that is hardly ever there, which is an error, and once without.
    let _ = straddle_sources::bytes("fuzz", Arc::clone(&bytes), &settings);
    let settings = Settings {
        guest_files: Vec::new(),
        ..settings
    };
    let Ok(stack) = straddle_sources::bytes("fuzz", bytes, &settings) else {
        return;
    };
    let at = Bytes::new(u64::from(data.first().copied().unwrap_or(0)) << 9);
    let asked = Asked {
        extents: Extent::new(at, Bytes::kib(8)).into_iter().collect(),
        of: None,
    };
    let checked = Checked::new("fuzz", stack, &options, asked);
    let _ = straddle_report::text::report(&checked, None);
    let _ = checked.document();
}

/// Inspects `data` as the whole of a target.
pub fn fuzz_inspect(data: &[u8]) {
    let data = &*sparse::unpacked(data);
    let reader = Reader::with_budget(&data, BUDGET);
    let mut stack = Stack::new();
    let base = stack.push(Layer::new(LayerKind::Device, "fuzz"));
    inspect(&mut stack, base, &reader, None, Limits::default());
}

/// The whole of a target file for one prober.
#[macro_export]
macro_rules! prober {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::fuzz_prober($name, data));
    };
}

/// The whole of a target file for one container format.
#[macro_export]
macro_rules! container {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::fuzz_container($name, data));
    };
}

/// The whole of a target file for one volume format.
#[macro_export]
macro_rules! volume {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::fuzz_volume($name, data));
    };
}

/// Looks for files in an image of one format.
#[macro_export]
macro_rules! files {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::fuzz_files($name, data));
    };
}

/// Reads `data` as the output of one tool, and takes what it says through the joining, the rules and the report.
pub fn fuzz_captured(name: &str, data: &[u8]) {
    use straddle_sources::captured::{TOOLS, read_with, stack};
    let at = TOOLS.iter().position(|tool| tool.name == name);
    let Some(tools) = at.and_then(|at| TOOLS.get(at..=at)) else {
        panic!("no tool is called {name}");
    };
    let capture = read_with(tools, "capture.txt", data, false, 0);
    let options = Options::default();
    let settings = Settings {
        io: options.io.clone(),
        ..Settings::default()
    };
    let stack = stack(vec![capture], &settings);
    let _ = check(&Context::new(&stack, &options));
}

/// The output of one tool, in a log.
#[macro_export]
macro_rules! reader {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::fuzz_reader($name, data));
    };
}

/// A trace of one recorder.
#[macro_export]
macro_rules! trace {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::fuzz_trace($name, data));
    };
}

/// The output of one tool, in captured text.
#[macro_export]
macro_rules! captured {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::fuzz_captured($name, data));
    };
}
