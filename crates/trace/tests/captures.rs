//! The captures in `tests/traces`, and what each must come to: `NAME.want` beside it has the format, and a line for each request, for what else there is, and
//! for each line that is bad.

use std::fmt::Write;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use straddle_geometry::Access;
use straddle_trace::{FileRead, FileSummary, Input, Options, Source, TraceError, records};

pub(crate) struct Capture {
    /// Format and file name: `blkparse/fio.txt`.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) want: String,
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn all() -> &'static [Capture] {
    static ALL: LazyLock<Vec<Capture>> = LazyLock::new(found);
    &ALL
}

fn found() -> Vec<Capture> {
    let root = repository().join("tests/traces");
    let mut captures = Vec::new();
    for folder in std::fs::read_dir(&root).expect("tests/traces") {
        let folder = folder.expect("an entry").path();
        if !folder.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(&folder).expect("a folder") {
            let file = file.expect("an entry").path();
            if file.extension().is_some_and(|end| end == "want") {
                continue;
            }
            let name = file.strip_prefix(&root).expect("below").display();
            let mut want = file.clone().into_os_string();
            want.push(".want");
            captures.push(Capture {
                name: name.to_string(),
                bytes: std::fs::read(&file).expect("a capture"),
                want: std::fs::read_to_string(&want).expect("what it must come to"),
            });
        }
    }
    captures.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(captures.len() > 50, "{}", captures.len());
    captures
}

impl Capture {
    pub(crate) fn format(&self) -> &str {
        let first = self.want.lines().next().expect("a format");
        first.strip_prefix("format ").expect("a format")
    }

    pub(crate) fn refused(&self) -> Option<&str> {
        let mut lines = self.want.lines();
        lines.find_map(|line| line.strip_prefix("refused "))
    }

    pub(crate) fn is_binary(&self) -> bool {
        matches!(self.format(), "blktrace" | "pcap") || self.bytes.contains(&0)
    }

    /// The lines of its requests.
    pub(crate) fn requests(&self) -> Vec<&str> {
        let is_request = |line: &&str| {
            ["format ", "refused ", "other ", "bad "]
                .iter()
                .all(|other| !line.starts_with(other))
        };
        self.want.lines().filter(is_request).collect()
    }
}

/// What a trace came to, in the form of `NAME.want`.
pub(crate) struct Found {
    pub(crate) requests: Vec<String>,
    pub(crate) file: FileRead,
    pub(crate) summary: FileSummary,
}

impl Found {
    pub(crate) fn text(&self) -> String {
        let mut text = format!("format {}\n", self.file.format);
        for request in &self.requests {
            let _ = writeln!(text, "{request}");
        }
        let _ = writeln!(text, "other {}", self.summary.counts.other);
        for bad in &self.summary.bad {
            let _ = writeln!(text, "bad {} {} {:?}", bad.line, bad.at, bad.fault);
        }
        assert_eq!(self.summary.counts.requests, self.requests.len() as u64);
        text
    }
}

pub(crate) fn from(source: Source<'_>, name: &str, options: &Options) -> Result<Found, TraceError> {
    let mut requests = Vec::new();
    let mut visit = |record: &straddle_trace::Record<'_>| {
        let access = match record.access {
            Access::Read => "read",
            Access::Write => "write",
        };
        requests.push(format!(
            "{} {access} {} {} {} {}",
            record.event.name(),
            record.start,
            record.len,
            record
                .time
                .map_or_else(|| "-".to_owned(), |time| time.to_string()),
            record.device_name(),
        ));
        ControlFlow::Continue(())
    };
    let input = Input {
        name: name.to_owned(),
        source,
    };
    let (file, summary) = records(input, options, &mut visit)?;
    Ok(Found {
        requests,
        file,
        summary,
    })
}

/// From something that can be read anywhere.
pub(crate) fn read(bytes: &[u8], name: &str, options: &Options) -> Result<Found, TraceError> {
    from(Source::At(&bytes, None), name, options)
}

/// From something that can only be read on.
pub(crate) fn piped(bytes: Vec<u8>, name: &str, options: &Options) -> Result<Found, TraceError> {
    let stream: Box<dyn Read + Send> = Box::new(std::io::Cursor::new(bytes));
    from(Source::Stream(stream), name, options)
}
