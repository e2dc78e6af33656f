use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use straddle_io::{OpenError, Target};

use super::allowed::allowed;
use super::answer::{NoAnswer, Question, REFUSED};
use super::entry::{Entry, Record};
use super::{archive, tree};
use crate::SourceError;
use crate::metadata::{self, Device, Pieces, Recorder};

/// Longest file that is looked at; `mountinfo` of a machine with thousands of containers is about 1 MiB.
const MAX_BYTES: usize = 4 << 20;
/// As much of an input as tells what it is.
const HEAD: u64 = 8 << 10;
/// Most names taken from one directory.
const MAX_NAMES: usize = 1 << 16;
/// Most symbolic links followed on the way to one file, as in the kernel.
const MAX_LINKS: usize = 40;

/// Where a host's facts come from: the live system, a directory that holds its files, or an archive.
///
/// Paths are those of the host, absolute. Symbolic links are followed inside the root only: `..` at the top stays
/// there, and an absolute target starts at the root again. Facts that are not files (the device-mapper tables, the
/// extents of a file) are asked as questions; the live system asks its kernel and writes the answer as text, a
/// captured root has that text in a file below `.straddle/`, and whoever reads it cannot tell the difference.
#[derive(Debug)]
pub struct Root {
    name: String,
    files: Files,
    serials: bool,
    known: RefCell<HashMap<String, Option<Node>>>,
    record: RefCell<Option<Record>>,
    /// The devices that were opened since what is read of them is recorded.
    recorders: RefCell<Option<Recorders>>,
}

/// By name: what has been read of a device, or why it was not opened.
type Recorders = Vec<(String, Result<Arc<Recorder>, String>)>;

/// A device that cannot be read.
#[derive(Debug)]
pub(crate) enum NoDevice {
    /// On this machine.
    Os(OpenError),
    /// What the capture has of it is damaged.
    Damaged(String),
}

#[derive(Debug)]
enum Files {
    Live,
    Directory(PathBuf),
    Memory(BTreeMap<String, Entry>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Directory,
    File,
    Link(String),
}

impl Root {
    /// The machine that this runs on: system calls and read-only opens of its devices are allowed.
    #[must_use]
    pub fn live() -> Root {
        Root::of("this host".into(), Files::Live)
    }

    /// `/` is the live system; another directory holds the files of a host; a file is an archive made by
    /// [`capture`](crate::capture()), or the text form of one (`.tree`).
    ///
    /// # Errors
    /// [`SourceError::Root`] when it cannot be read, [`SourceError::NotACapture`] when it is something else.
    pub fn open(path: &Path) -> Result<Root, SourceError> {
        let name = path.display().to_string();
        let error = |source| SourceError::Root {
            path: name.clone(),
            source,
        };
        if path == Path::new("/") {
            return Ok(Root::live());
        }
        let metadata = std::fs::metadata(path).map_err(error)?;
        if metadata.is_dir() {
            return Ok(Root::of(name, Files::Directory(path.to_owned())));
        }
        // Target refuses FIFOs and the like without waiting for them.
        let target = Target::open(path).map_err(|e| error(io::Error::other(e)))?;
        Root::from_reader(&name, &mut target.file())
    }

    /// A captured host from whatever gives an archive of it, packed or not, or its text form.
    ///
    /// # Errors
    /// [`SourceError::NotACapture`] when it is none, or too large; [`SourceError::Root`] when it cannot be read.
    pub fn from_reader(name: &str, input: &mut dyn Read) -> Result<Root, SourceError> {
        let error = |source| SourceError::Root {
            path: name.to_owned(),
            source,
        };
        let mut head = Vec::new();
        (&mut *input)
            .take(HEAD)
            .read_to_end(&mut head)
            .map_err(error)?;
        let is_text = tree::looks_like(&head);
        let mut whole = head.as_slice().chain(input);
        let entries = if is_text {
            let mut text = String::new();
            whole
                .take(archive::MAX_TOTAL)
                .read_to_string(&mut text)
                .map_err(error)?;
            tree::parse(&text)
        } else {
            archive::read(&mut whole)
        };
        match entries {
            Ok(entries) => Ok(Root::of(name.to_owned(), Files::Memory(entries))),
            Err(detail) => Err(SourceError::NotACapture {
                path: name.to_owned(),
                detail,
            }),
        }
    }

    /// True for the beginning of the text form of a captured host.
    #[must_use]
    pub fn is_tree(head: &[u8]) -> bool {
        tree::looks_like(head)
    }

    /// A captured host from the text form: one line `path = contents`, `path -> target` or `path/` each.
    ///
    /// # Errors
    /// [`SourceError::NotACapture`] with the line that is none of these.
    pub fn from_tree(name: &str, text: &str) -> Result<Root, SourceError> {
        match tree::parse(text) {
            Ok(entries) => Ok(Root::of(name.into(), Files::Memory(entries))),
            Err(detail) => Err(SourceError::NotACapture {
                path: name.into(),
                detail,
            }),
        }
    }

    /// A captured host from an archive in memory.
    ///
    /// # Errors
    /// [`SourceError::NotACapture`] when it is none, or too large.
    pub fn from_archive(name: &str, bytes: &[u8]) -> Result<Root, SourceError> {
        match archive::read(&mut &*bytes) {
            Ok(entries) => Ok(Root::of(name.into(), Files::Memory(entries))),
            Err(detail) => Err(SourceError::NotACapture {
                path: name.into(),
                detail,
            }),
        }
    }

    fn of(name: String, files: Files) -> Root {
        Root {
            name,
            files,
            serials: false,
            known: RefCell::default(),
            record: RefCell::default(),
            recorders: RefCell::default(),
        }
    }

    /// The same root, with leave to read serial numbers. Without it those files are not even opened.
    #[must_use]
    pub fn with_serials(mut self, allowed: bool) -> Root {
        self.serials = allowed;
        self
    }

    /// The path that was given; `this host` for the live system.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True for the machine that this runs on.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(self.files, Files::Live)
    }

    /// Where filesystems are mounted.
    #[must_use]
    pub fn mount_points(&self) -> Vec<String> {
        let text = self.text(super::filesystems::MOUNTINFO).unwrap_or_default();
        let mounts = super::mounts::parse(&text).into_iter();
        mounts.map(|mount| mount.point).collect()
    }

    pub(crate) fn serials(&self) -> bool {
        self.serials
    }

    /// Reads everything from now on into a record; what is read of devices too, where `metadata` says so.
    pub(crate) fn start_recording(&self, metadata: bool) {
        self.known.borrow_mut().clear();
        *self.record.borrow_mut() = Some(Record::new());
        *self.recorders.borrow_mut() = metadata.then(Vec::new);
    }

    pub(crate) fn is_recording(&self) -> bool {
        self.record.borrow().is_some()
    }

    /// What was read; and the devices that were not opened, with the reason.
    pub(crate) fn stop_recording(&self) -> (Record, Vec<(String, String)>) {
        let mut record = self.record.borrow_mut().take().unwrap_or_default();
        let mut closed = Vec::new();
        let recorders = self.recorders.borrow_mut().take();
        if recorders.is_none() {
            record.retain(|path, _| path != metadata::FOLDER && !metadata::is_at(path));
        }
        for (name, recorder) in recorders.into_iter().flatten() {
            match recorder {
                Ok(recorder) => {
                    let text = recorder.text().into_bytes();
                    record.insert(metadata::path(&name), Entry::File(text));
                }
                Err(why) => closed.push((name, why)),
            }
        }
        (record, closed)
    }

    /// The bytes of a device, which this machine has at `at`. `None` in a captured host that has none of it.
    ///
    /// # Errors
    /// [`NoDevice`].
    pub(crate) fn device(&self, name: &str, at: &Path) -> Result<Option<Device>, NoDevice> {
        if !self.is_live() {
            let place = metadata::path(name);
            let Some(bytes) = self.whole(&place, metadata::LONGEST) else {
                return Ok(None);
            };
            let pieces = Pieces::parse(&String::from_utf8_lossy(&bytes))
                .map_err(|why| NoDevice::Damaged(format!("{place}: {why}")))?;
            return Ok(Some(Device {
                bytes: Arc::new(pieces),
                file: None,
            }));
        }
        let target = Target::open(at);
        let mut recorders = self.recorders.borrow_mut();
        let Some(recorders) = recorders.as_mut() else {
            return target.map(Device::from).map(Some).map_err(NoDevice::Os);
        };
        let target = match target {
            Ok(target) => Arc::new(target),
            Err(error) => {
                recorders.push((name.to_owned(), Err(error.to_string())));
                return Err(NoDevice::Os(error));
            }
        };
        let recorder = Arc::new(Recorder::new(target.clone()));
        recorders.push((name.to_owned(), Ok(recorder.clone())));
        Ok(Some(Device {
            bytes: recorder,
            file: Some(target),
        }))
    }

    /// Whether anything of devices is there to be read.
    pub(crate) fn has_devices(&self) -> bool {
        self.is_live() || self.has_directory(metadata::FOLDER)
    }

    /// The text of a file without the white space around it; `None` when it is missing, empty or not a file.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let bytes = self.bytes(path)?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let place = self.resolve(path)?;
        if self.node(&place) != Some(Node::File) {
            return None;
        }
        let bytes = self.contents(&place)?;
        self.note(&place, || Entry::File(bytes.clone()));
        Some(bytes)
    }

    /// The names in a directory that `wanted` accepts, sorted.
    pub(crate) fn names(&self, path: &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let Some(place) = self.resolve(path) else {
            return Vec::new();
        };
        let mut names: Vec<String> = match &self.files {
            Files::Memory(entries) => {
                let prefix = if place.is_empty() {
                    String::new()
                } else {
                    format!("{place}/")
                };
                let below = entries
                    .range(prefix.clone()..)
                    .map_while(|(path, _)| path.strip_prefix(&prefix));
                below
                    .filter(|rest| !rest.is_empty() && !rest.contains('/') && wanted(rest))
                    .take(MAX_NAMES)
                    .map(str::to_owned)
                    .collect()
            }
            Files::Live | Files::Directory(_) => {
                let Ok(entries) = std::fs::read_dir(self.on_disk(&place)) else {
                    return Vec::new();
                };
                let names = entries
                    .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                    .filter(|name| wanted(name));
                names.take(MAX_NAMES).collect()
            }
        };
        names.sort();
        // A name that another run is to find must be in the record, even when nothing in it is read.
        for name in &names {
            let entry = join(&place, name);
            match self.node(&entry) {
                Some(Node::Link(target)) => self.note(&entry, || Entry::Link(target)),
                Some(Node::Directory) => self.note(&entry, || Entry::Directory),
                Some(Node::File) | None => {}
            }
        }
        names
    }

    /// True when the directory exists.
    pub(crate) fn has_directory(&self, path: &str) -> bool {
        let Some(place) = self.resolve(path) else {
            return false;
        };
        let found = self.node(&place) == Some(Node::Directory);
        if found {
            self.note(&place, || Entry::Directory);
        }
        found
    }

    /// Where `path` leads after all symbolic links, absolute.
    pub(crate) fn canonical(&self, path: &str) -> Option<String> {
        self.resolve(path).map(|place| format!("/{place}"))
    }

    /// What the kernel answers to a question that no file does.
    pub(crate) fn answer(&self, question: &Question) -> Result<String, NoAnswer> {
        let path = question.path();
        let text = match &self.files {
            Files::Live => match question.ask() {
                Ok(text) => text,
                Err(error) => {
                    let text = format!("{REFUSED}{}", error.why());
                    self.note(path.trim_start_matches('/'), || {
                        Entry::File(text.into_bytes())
                    });
                    return Err(error);
                }
            },
            Files::Directory(_) | Files::Memory(_) => {
                let text = self.text(&path).ok_or_else(NoAnswer::not_captured)?;
                match text.strip_prefix(REFUSED) {
                    Some(why) => return Err(NoAnswer::new(why)),
                    None => {
                        let text = allowed(path.trim_start_matches('/'), &text);
                        return Ok(text.trim().to_owned());
                    }
                }
            }
        };
        self.note(path.trim_start_matches('/'), || {
            Entry::File(text.clone().into_bytes())
        });
        Ok(text.trim().to_owned())
    }

    /// All bytes of a file, of at most `max`, whatever they are; for answers that no other way of reading takes.
    pub(crate) fn whole(&self, path: &str, max: usize) -> Option<Vec<u8>> {
        let place = self.resolve(path)?;
        if self.node(&place) != Some(Node::File) {
            return None;
        }
        let bytes = match &self.files {
            Files::Memory(_) => self.contents(&place)?,
            Files::Live | Files::Directory(_) => {
                let file = straddle_io::regular(&self.on_disk(&place)).ok()?;
                let mut bytes = Vec::new();
                let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
                file.take(limit).read_to_end(&mut bytes).ok()?;
                bytes
            }
        };
        let bytes = Some(bytes).filter(|bytes| bytes.len() <= max)?;
        self.note(&place, || Entry::File(bytes.clone()));
        Some(bytes)
    }

    /// Records an answer of this machine, where there is a record.
    #[cfg(windows)]
    pub(crate) fn keep(&self, path: &str, bytes: impl FnOnce() -> Vec<u8>) {
        self.note(path.trim_start_matches('/'), || Entry::File(bytes()));
    }

    fn contents(&self, place: &str) -> Option<Vec<u8>> {
        if let Files::Memory(entries) = &self.files {
            return match entries.get(place) {
                Some(Entry::File(bytes)) => Some(bytes.clone()),
                _ => None,
            };
        }
        let file = straddle_io::regular(&self.on_disk(place)).ok()?;
        let mut bytes = Vec::new();
        let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX);
        file.take(limit).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    fn on_disk(&self, place: &str) -> PathBuf {
        match &self.files {
            Files::Directory(top) => top.join(place),
            Files::Live | Files::Memory(_) => Path::new("/").join(place),
        }
    }

    /// What lies at a path whose directories are no links. Remembered: one sysfs directory is asked about for each file.
    fn node(&self, place: &str) -> Option<Node> {
        if let Some(known) = self.known.borrow().get(place) {
            return known.clone();
        }
        let found = match &self.files {
            Files::Memory(entries) => entries.get(place).map(|entry| match entry {
                Entry::Directory => Node::Directory,
                Entry::File(_) => Node::File,
                Entry::Link(target) => Node::Link(target.clone()),
            }),
            // This link differs from process to process; in a capture it would only be noise.
            Files::Live if place == "proc/self" => Some(Node::Directory),
            Files::Live | Files::Directory(_) => self.node_on_disk(place),
        };
        self.known
            .borrow_mut()
            .insert(place.to_owned(), found.clone());
        found
    }

    fn node_on_disk(&self, place: &str) -> Option<Node> {
        let path = self.on_disk(place);
        let kind = std::fs::symlink_metadata(&path).ok()?.file_type();
        if kind.is_symlink() {
            let target = std::fs::read_link(&path).ok()?;
            Some(Node::Link(target.to_str()?.to_owned()))
        } else if kind.is_dir() {
            Some(Node::Directory)
        } else {
            // A FIFO or a device in a directory that poses as a host is not opened.
            kind.is_file().then_some(Node::File)
        }
    }

    /// Follows symbolic links inside the root; gives the path without a leading slash.
    fn resolve(&self, path: &str) -> Option<String> {
        let mut todo: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        let mut place = String::new();
        let mut links = 0;
        while let Some(part) = todo.pop() {
            match part.as_str() {
                "" | "." => continue,
                ".." => {
                    place.truncate(place.rfind('/').unwrap_or(0));
                    continue;
                }
                _ => {}
            }
            let next = join(&place, &part);
            match self.node(&next)? {
                Node::Link(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return None;
                    }
                    self.note(&next, || Entry::Link(target.clone()));
                    if target.starts_with('/') {
                        place.clear();
                    }
                    todo.extend(target.split('/').rev().map(str::to_owned));
                }
                Node::Directory | Node::File => place = next,
            }
        }
        Some(place)
    }

    fn note(&self, place: &str, entry: impl FnOnce() -> Entry) {
        if let Some(record) = self.record.borrow_mut().as_mut() {
            record.entry(place.to_owned()).or_insert_with(entry);
        }
    }
}

fn join(place: &str, name: &str) -> String {
    if place.is_empty() {
        name.to_owned()
    } else {
        format!("{place}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(text: &str) -> Root {
        Root::from_tree("test", text).expect("a tree")
    }

    #[test]
    fn links_stay_inside_the_root() {
        let root = root(
            "a/b -> ../../../c\nc = see\nx -> /a/b\nloop -> loop\nd/e = 1\nd/f = 2\nd/g/h = 3\n",
        );
        assert_eq!(root.text("/a/b").as_deref(), Some("see"));
        assert_eq!(root.text("/x").as_deref(), Some("see"));
        assert_eq!(root.canonical("/x").as_deref(), Some("/c"));
        assert_eq!(root.text("/loop"), None);
        assert_eq!(root.text("/a/missing"), None);
        assert_eq!(root.text("/d"), None);
        assert_eq!(root.names("/d", |name| name != "f"), ["e", "g"]);
        assert_eq!(root.names("/c", |_| true), [""; 0]);
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_is_read_like_a_tree_and_cannot_be_left() {
        let dir = tempfile::tempdir().expect("temporary directory");
        std::fs::create_dir(dir.path().join("sub")).expect("directory");
        std::fs::write(dir.path().join("sub/file"), "  text\n").expect("file");
        std::os::unix::fs::symlink("/etc/hostname", dir.path().join("out")).expect("link");
        std::os::unix::fs::symlink("/sub/file", dir.path().join("in")).expect("link");
        let root = Root::open(dir.path()).expect("opens");
        assert_eq!(root.text("/sub/file").as_deref(), Some("text"));
        assert_eq!(root.text("/in").as_deref(), Some("text"));
        assert_eq!(root.text("/out"), None);
        assert_eq!(root.names("/", |_| true), ["in", "out", "sub"]);
    }

    #[test]
    fn what_was_read_is_recorded_and_nothing_else() {
        let root = root("a -> d\nd/e = 1\nd/secret = 2\nd/sub/x = 3\n");
        root.start_recording(false);
        assert_eq!(root.text("/a/e").as_deref(), Some("1"));
        root.names("/d", |name| name == "sub");
        let record = root.stop_recording();
        let want = [
            ("a", Entry::Link("d".into())),
            ("d/e", Entry::File(b"1".into())),
            ("d/sub", Entry::Directory),
        ];
        let want: Record = want
            .into_iter()
            .map(|(path, entry)| (path.to_owned(), entry))
            .collect();
        assert_eq!(record.0, want);
    }
}
