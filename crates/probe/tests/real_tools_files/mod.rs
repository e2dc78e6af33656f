//! Files found inside filesystems made by the real tools: the bytes at the places that are named must be the file's, and
//! the places must be those that an independent tool names.
//!
//! Of directories with thousands of names one in seven is looked for, all in a soak. Needs ntfs-3g, wimtools, e2fsprogs and xfsprogs from Debian.

mod ext;
mod ntfs;
mod xfs;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use straddle_geometry::Bytes;
use straddle_io::{Reader, Target};
use straddle_probe::{FindError, FoundFile, Window, find_file};
use straddle_stack::{AnomalyKind, Source};
use straddle_testkit::is_soak;

/// A tool and the Debian package that has it.
type Tool = (&'static str, &'static str);

/// Runs a tool to its end and returns what it printed.
fn run((name, package): Tool, args: &[&str]) -> Vec<u8> {
    let output = Command::new(name)
        .args(args)
        .env("LC_ALL", "C.UTF-8")
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .output()
        .unwrap_or_else(|error| {
            panic!("cannot run {name}: {error}; it is in the Debian package {package}")
        });
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} {args:?}: {text}");
    output.stdout
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A scratch directory with an image in it.
struct Scratch {
    dir: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Scratch {
        let dir = tempfile::tempdir().expect("a temporary directory");
        Scratch { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// An empty image.
    fn image(&self, size: u64) -> String {
        let path = self.path("image");
        let file = File::create_new(&path).expect("the directory is writable");
        file.set_len(size).expect("sparse files can be that long");
        self.name(&path)
    }

    /// Writes a file outside the image.
    fn file(&self, name: &str, content: &[u8]) -> String {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("inside")).expect("writable");
        fs::write(&path, content).expect("writable");
        self.name(&path)
    }

    fn name(&self, path: &Path) -> String {
        path.to_str().expect("a plain path").to_owned()
    }
}

/// Bytes that are not the same in any two places.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| next()).collect();
    bytes.truncate(len);
    bytes
}

fn find(image: &str, format: &str, path: &str) -> Result<FoundFile, FindError> {
    let target = Target::open(Path::new(image)).expect("it is a file");
    let reader = Reader::new(&target);
    find_file(&Window::whole(&reader, None), format, path)
}

/// A run of a file, in bytes: where in the file, where in the image, how long.
type Run = (u64, u64, u64);

/// Joins runs that continue each other and cuts them at the file's end, as the finder does.
fn joined(runs: Vec<Run>, size: u64) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::new();
    for (upper, lower, len) in runs {
        let len = len.min(size.saturating_sub(upper));
        match out.last_mut() {
            _ if len == 0 => {}
            Some(last) if last.0 + last.2 == upper && last.1 + last.2 == lower => last.2 += len,
            _ => out.push((upper, lower, len)),
        }
    }
    out
}

fn runs(found: &FoundFile) -> Vec<Run> {
    let run = |s: &straddle_geometry::Segment| {
        (s.upper.start().get(), s.lower.get(), s.upper.len().get())
    };
    found.segments.iter().map(run).collect()
}

fn has(found: &FoundFile, kind: AnomalyKind) -> bool {
    found.anomalies.iter().any(|anomaly| anomaly.kind == kind)
}

/// The file as it is read from its places in the image: holes and what was never written are zeroes.
fn assembled(image: &str, found: &FoundFile) -> Vec<u8> {
    let file = File::open(image).expect("it is there");
    let mut bytes = vec![0; usize::try_from(found.size.value.get()).expect("small")];
    let mut put = |upper: u64, lower: u64, len: u64| {
        let start = usize::try_from(upper).expect("small");
        let end = start + usize::try_from(len).expect("small");
        file.read_exact_at(&mut bytes[start..end], lower)
            .expect("inside the image");
    };
    for (upper, lower, len) in runs(found) {
        put(upper, lower, len);
    }
    if let (true, Some(place)) = (has(found, AnomalyKind::Inline), &found.placement) {
        put(0, place.value.start().get(), place.value.len().get());
    }
    for part in &found.unwritten {
        let range = part.start().get()..part.end().get();
        bytes[range.start as usize..range.end as usize].fill(0);
    }
    bytes
}

/// Everything that must hold for a file that was found: its content, and that its facts show what they rest on.
fn check(image: &str, found: &FoundFile, content: &[u8]) {
    let path = &found.path;
    assert_eq!(found.size.value, Bytes::new(content.len() as u64), "{path}");
    let mut assembled = assembled(image, found);
    if let (true, Some(place)) = (has(found, AnomalyKind::Inline), &found.placement) {
        // In NTFS, a check number stands in their place.
        for (n, (byte, want)) in assembled.iter_mut().zip(content).enumerate() {
            if (place.value.start().get() + n as u64) % 512 >= 510 {
                *byte = *want;
            }
        }
    }
    let in_place = found.placement.as_ref().map_or(0, |p| p.value.len().get());
    if has(found, AnomalyKind::Inline) && in_place < content.len() as u64 {
        // In ext, what does not fit among the block numbers is an attribute.
        let in_place = usize::try_from(in_place).expect("small");
        assembled[in_place..].copy_from_slice(&content[in_place..]);
    }
    assert!(assembled == content, "{path}: other bytes");
    let field = |source: &Source| match source {
        Source::Image(bytes) => (bytes.offset().get(), bytes.field().to_vec()),
        other => panic!("{path}: {other:?}"),
    };
    let (at, size) = field(&found.size.source);
    let little = |bytes: &[u8]| bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b));
    let big = |bytes: &[u8]| bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b));
    let len = content.len() as u64;
    let low = len & 0xffff_ffff;
    let under_check_number = at % 512 + size.len() as u64 > 510;
    assert!(
        under_check_number
            || [little(&size), big(&size)]
                .iter()
                .any(|n| *n == len || *n == low),
        "{path}: the evidence of its length is {size:x?}"
    );
    if let Some(place) = &found.placement {
        let (at, bytes) = field(&place.source);
        assert!(at > 0 && !bytes.is_empty(), "{path}: no evidence");
    }
}
