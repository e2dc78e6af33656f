//! `qemu-img` as the oracle for containers: makes images from a description, and compares what `qemu-img map` and
//! `qemu-img convert` say of them with what this workspace says, byte for byte.
//!
//! A test does three things:
//!
//! 1. It makes a file: [`Spec::create`] (format, options, size, backing file) and then [`Spec::actions`], usually from
//!    [`Rng::actions`], which gives the same ones for the same seed. Files that other tools made work as well.
//! 2. It opens it with [`Chain::open`], giving the paths of the chain, the child first. Names of parents in the files are
//!    not followed (some formats have none); data files and extents are, relative to the folder of the file that names them.
//! 3. It calls [`Chain::must_agree`] with what [`map`] says of the child, and, for small disks, [`Chain::must_read_as`]
//!    with what [`convert`] makes of it: the first tests `BlockTable::stream`, the second `locate` and `unpack`.
//!
//! Where `qemu-img map` prints no offset (VHDX, compressed clusters), [`Chain::must_agree`] compares only whether there is
//! data; [`Chain::must_read_as`] then still proves the offsets by what lies there.
//!
//! Nothing is skipped when a tool is missing: the test fails and names the tool and its package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use straddle_geometry::{Bytes, Extent, Gap, Listed, Listing, Place};
use straddle_io::{ReadAt, Reader, Target};
use straddle_probe::container::{self, Content, Disk, OpensAs, Role};

/// Runs `program` of the Debian package `package` and gives what it prints.
///
/// # Panics
/// When it is missing or fails.
pub fn tool<I>(program: &str, package: &str, args: I) -> String
where
    I: IntoIterator,
    I::Item: AsRef<std::ffi::OsStr>,
{
    let mut command = Command::new(program);
    command.args(args);
    let mut run = || {
        command.output().unwrap_or_else(|error| {
            panic!("{program}: {error}; this test needs the Debian package {package}")
        })
    };
    let mut output = run();
    // qemu-img measures how fast it can derive a key, and gives up when the processor time of its thread has not moved as it
    // must. On some virtual machines that is so two times in five, also on idle ones: another try may do.
    for _ in 0..24 {
        let unlucky = String::from_utf8_lossy(&output.stderr).contains("accurate CPU usage");
        if output.status.success() || !unlucky {
            break;
        }
        output = run();
    }
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs qemu-img.
pub fn qemu_img<I>(args: I) -> String
where
    I: IntoIterator,
    I::Item: AsRef<std::ffi::OsStr>,
{
    tool("qemu-img", "qemu-utils", args)
}

/// A path as an argument.
pub fn arg(path: &Path) -> &str {
    path.to_str().expect("a name in UTF-8")
}

/// What is done to an image after it was made; in the guest's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Writes bytes of this value.
    Write(u64, u64, u8),
    /// Writes them compressed; the range must be whole clusters.
    Compressed(u64, u64, u8),
    /// Writes zeroes, the efficient way.
    Zeroes(u64, u64),
    /// The same, and allows to free what lay there.
    ZeroesUnmap(u64, u64),
    /// Discards.
    Discard(u64, u64),
}

impl Action {
    /// The command of qemu-io.
    fn command(self) -> String {
        match self {
            Action::Write(at, len, value) => format!("write -q -P {value} {at} {len}"),
            Action::Compressed(at, len, value) => format!("write -q -c -P {value} {at} {len}"),
            Action::Zeroes(at, len) => format!("write -q -z {at} {len}"),
            Action::ZeroesUnmap(at, len) => format!("write -q -z -u {at} {len}"),
            Action::Discard(at, len) => format!("discard -q {at} {len}"),
        }
    }
}

/// How an image is made.
#[derive(Clone, Debug)]
pub struct Spec<'a> {
    /// As `qemu-img create -f` takes it.
    pub format: &'a str,
    /// As `-o` takes them, each `name=value`.
    pub options: Vec<String>,
    /// Size of the disk; `None`: that of the backing file.
    pub size: Option<u64>,
    /// Backing file, as it is to be recorded, and its format.
    pub backing: Option<(&'a str, &'a str)>,
}

impl<'a> Spec<'a> {
    /// An image of `size` bytes.
    pub fn new(format: &'a str, size: u64) -> Spec<'a> {
        Spec {
            format,
            options: Vec::new(),
            size: Some(size),
            backing: None,
        }
    }

    /// The same with one more option.
    pub fn with(mut self, option: impl Into<String>) -> Spec<'a> {
        self.options.push(option.into());
        self
    }

    /// The same with a backing file.
    pub fn on(mut self, name: &'a str, format: &'a str) -> Spec<'a> {
        self.backing = Some((name, format));
        self
    }

    /// Makes the image at `path`.
    pub fn create(&self, path: &Path) {
        let mut args = vec!["create".to_owned(), "-q".into(), "-f".into()];
        args.push(self.format.into());
        for option in &self.options {
            args.extend(["-o".into(), option.clone()]);
        }
        if let Some((name, format)) = self.backing {
            args.extend(["-b".into(), name.into(), "-F".into(), format.into()]);
        }
        args.push(arg(path).into());
        args.extend(self.size.map(|size| size.to_string()));
        qemu_img(args);
    }

    /// Does `actions` to the image at `path`, in one run of qemu-io.
    pub fn actions(&self, path: &Path, actions: &[Action]) {
        if actions.is_empty() {
            return;
        }
        let mut args = vec!["-f".to_owned(), self.format.into()];
        // Without this, qemu-io answers a discard with success and does nothing.
        args.extend(["-d".into(), "unmap".into()]);
        for action in actions {
            args.extend(["-c".into(), action.command()]);
        }
        args.push(arg(path).into());
        let said = tool("qemu-io", "qemu-utils", args);
        assert!(!said.contains("failed"), "{actions:?}: {said}");
    }
}

/// Numbers that look random and are the same for the same seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    /// The next one.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One below `n`, which is not 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A value of a byte that is not 0, so that it shows in a guest.
    pub fn value(&mut self) -> u8 {
        u8::try_from(1 + self.below(255)).expect("below 256")
    }

    /// A range of the disk, not empty, of multiples of `grain`, at most `most` grains long.
    pub fn range(&mut self, size: u64, grain: u64, most: u64) -> (u64, u64) {
        let grains = (size / grain).max(1);
        let at = self.below(grains);
        let len = 1 + self.below(most.min(grains - at).max(1));
        (at * grain, (len * grain).min(size - at * grain))
    }

    /// `count` writes, one in `odd` of them zeroes or a discard instead (0: none); see [`Rng::range`].
    pub fn actions(
        &mut self,
        count: usize,
        size: u64,
        grain: u64,
        most: u64,
        odd: u64,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        for _ in 0..count {
            let (at, len) = self.range(size, grain, most);
            actions.push(if odd == 0 || self.below(odd) != 0 {
                Action::Write(at, len, self.value())
            } else {
                match self.below(3) {
                    0 => Action::Zeroes(at, len),
                    1 => Action::ZeroesUnmap(at, len),
                    _ => Action::Discard(at, len),
                }
            });
        }
        actions
    }
}

/// One entry of `qemu-img map --output=json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it starts in the guest.
    pub start: u64,
    /// How long it is.
    pub length: u64,
    /// Which file of the chain: 0 is the one that was asked about.
    pub depth: u64,
    /// Some file of the chain says something about it.
    pub present: bool,
    /// It reads as zeroes.
    pub zero: bool,
    /// There is something on disk.
    pub data: bool,
    /// Where in the file.
    pub offset: Option<u64>,
    /// It is compressed; QEMU says this since 8.2.
    pub compressed: Option<bool>,
}

/// What `qemu-img map` says of an image.
pub fn map(format: &str, path: &Path) -> Vec<Entry> {
    parsed(&qemu_img(["map", "--output=json", "-f", format, arg(path)]))
}

/// What `qemu-img map --output=json` printed.
pub fn parsed(said: &str) -> Vec<Entry> {
    let rows: serde_json::Value = serde_json::from_str(said).expect("JSON");
    let rows = rows.as_array().expect("a list");
    rows.iter()
        .map(|row| {
            let number = |name: &str| row[name].as_u64();
            let flag = |name: &str| row[name].as_bool();
            Entry {
                start: number("start").expect("start"),
                length: number("length").expect("length"),
                depth: number("depth").expect("depth"),
                present: flag("present").expect("present, since QEMU 6.1"),
                zero: flag("zero").expect("zero"),
                data: flag("data").expect("data"),
                offset: number("offset"),
                compressed: flag("compressed"),
            }
        })
        .collect()
}

/// The guest's bytes, by `qemu-img convert -O raw`; `scratch` is a file that it may overwrite.
pub fn convert(format: &str, path: &Path, scratch: &Path) -> Vec<u8> {
    qemu_img([
        "convert",
        "-q",
        "-f",
        format,
        "-O",
        "raw",
        arg(path),
        arg(scratch),
    ]);
    let bytes = fs::read(scratch).expect("the raw image");
    fs::remove_file(scratch).expect("removed");
    bytes
}

/// Where a part of a guest was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// In a file of the chain.
    At {
        /// Which file of the chain: 0 is the child.
        depth: u64,
        /// The offset in it, or in its data file or extent.
        offset: u64,
        /// The file may have holes that QEMU calls zeroes: one that is not laid out by a block table.
        holes: bool,
    },
    /// In a file of the chain, compressed.
    Packed {
        /// Which file of the chain.
        depth: u64,
    },
    /// Recorded as zeroes.
    Zero {
        /// Which file of the chain.
        depth: u64,
    },
    /// In no file of the chain.
    Nothing {
        /// QEMU's driver knows parents, so it can tell this from recorded zeroes.
        told: bool,
    },
    /// Beyond the end of a parent that is smaller than its child.
    Beyond,
}

impl Found {
    /// The same, `by` bytes further.
    fn skip(self, by: u64) -> Found {
        match self {
            Found::At {
                depth,
                offset,
                holes,
            } => Found::At {
                depth,
                offset: offset + by,
                holes,
            },
            other => other,
        }
    }

    /// True when `entry` says the same, `by` bytes after its start.
    fn agrees(self, entry: &Entry, by: u64) -> bool {
        let zeroes = entry.zero && !entry.data;
        match self {
            Found::At {
                depth,
                offset,
                holes,
            } => {
                entry.present
                    && entry.depth == depth
                    && (entry.data || (holes && zeroes))
                    && entry.compressed != Some(true)
                    && entry.offset.is_none_or(|o| o + by == offset)
            }
            Found::Packed { depth } => {
                entry.present
                    && entry.depth == depth
                    && entry.data
                    && entry.offset.is_none()
                    && entry.compressed != Some(false)
            }
            Found::Zero { depth } => entry.present && entry.depth == depth && zeroes,
            Found::Nothing { told } => zeroes && !(told && entry.present),
            // QEMU says that the child, or the short parent, holds the zeroes that it makes up.
            Found::Beyond => zeroes,
        }
    }
}

/// A part of a guest, as this workspace finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where it starts in the guest.
    pub start: u64,
    /// How long it is.
    pub len: u64,
    /// Where it is.
    pub found: Found,
}

/// An open file: raw, or a container with the files that it needs.
struct Node {
    depth: u64,
    told: bool,
    file: Arc<dyn ReadAt>,
    disk: Option<Disk>,
    /// For each reference of the disk: the file. `None` for a parent that was not given.
    targets: Vec<Option<Node>>,
}

/// A container with its parents.
pub struct Chain(Node);

impl Chain {
    /// Opens `paths`, the child first, each file the parent of the one before. A path that holds no container is raw, as is
    /// one in which `format` says so: `("raw", path)`; otherwise `format` must be what is recognised.
    ///
    /// # Panics
    /// When a file is not what it should be.
    pub fn open(paths: &[(&str, &Path)]) -> Chain {
        Chain(Node::open(paths, 0))
    }

    /// The disk of the child.
    pub fn disk(&self) -> &Disk {
        self.0.disk.as_ref().expect("a container")
    }

    /// Size of the guest's disk.
    pub fn size(&self) -> u64 {
        self.0.size()
    }

    /// All parts of the guest, in order.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        self.0.parts(0, self.size(), &mut parts);
        parts
    }

    /// Compares with what QEMU says. `what` names the image when they differ.
    ///
    /// # Panics
    /// At the first byte where they differ.
    pub fn must_agree(&self, what: &str, said: &[Entry]) {
        let parts = self.parts();
        let (mut ours, mut theirs) = (0, 0);
        let mut at = 0;
        while let (Some(part), Some(entry)) = (parts.get(ours), said.get(theirs)) {
            assert!(
                part.found
                    .skip(at - part.start)
                    .agrees(entry, at - entry.start),
                "{what}: byte {at}: {part:?}, but qemu-img: {entry:?}\nwhole: {said:?}"
            );
            let (end, entry_end) = (part.start + part.len, entry.start + entry.length);
            at = end.min(entry_end);
            ours += usize::from(at == end);
            theirs += usize::from(at == entry_end);
        }
        assert_eq!(at, self.size(), "{what}: qemu-img: {said:?}");
        assert!(
            ours == parts.len() && theirs == said.len(),
            "{what}: ends differ"
        );
    }

    /// Compares what is read where [`BlockTable::locate`](straddle_geometry::BlockTable::locate) points with the guest's bytes.
    ///
    /// # Panics
    /// At the first byte that differs.
    pub fn must_read_as(&self, what: &str, guest: &[u8]) {
        assert_eq!(guest.len() as u64, self.size(), "{what}: size");
        let mut have = vec![0xee; guest.len()];
        self.0.read(0, &mut have);
        if have != guest {
            let at = have.iter().zip(guest).position(|(a, b)| a != b);
            let at = at.expect("a difference");
            panic!("{what}: byte {at}: {}, but {}", have[at], guest[at]);
        }
    }
}

impl Node {
    fn open(paths: &[(&str, &Path)], depth: u64) -> Node {
        let ((format, path), parents) = paths.split_first().expect("a path");
        let what = path.display();
        let file: Arc<dyn ReadAt> = Arc::new(Target::open(path).expect("opens"));
        let mut node = Node {
            depth,
            told: matches!(*format, "qcow2" | "vmdk"),
            file,
            disk: None,
            targets: Vec::new(),
        };
        if *format == "raw" {
            return node;
        }
        let (found, container) = container::recognise(&Reader::new(&*node.file), &node.file)
            .expect("readable")
            .unwrap_or_else(|| panic!("{what}: not recognised; expected {format}"));
        assert_eq!(found.name, *format, "{what}");
        let anomalies = &container.detected.anomalies;
        let disk = container
            .disk
            .unwrap_or_else(|| panic!("{what}: {anomalies:?}"));
        for reference in &disk.references {
            node.targets.push(match reference.role {
                Role::Parent if parents.is_empty() => None,
                Role::Parent => Some(Node::open(parents, depth + 1)),
                Role::Part => {
                    let name = reference.names.first().expect("a name");
                    let folder = path.parent().unwrap_or(Path::new(""));
                    let part: PathBuf = folder.join(name);
                    let format = match reference.opens_as {
                        OpensAs::Raw => "raw",
                        OpensAs::Format(name) => name,
                        OpensAs::Any => panic!("{what}: {name} may be anything"),
                    };
                    Some(Node::open(&[(format, &part)], depth))
                }
            });
        }
        node.disk = Some(disk);
        node
    }

    fn size(&self) -> u64 {
        match &self.disk {
            Some(disk) => disk.size.value.get(),
            None => self.file.size().get(),
        }
    }

    fn target(&self, target: usize) -> Option<&Node> {
        self.targets.get(target.checked_sub(1)?)?.as_ref()
    }

    /// The parent, for those parts that are in no file of this one.
    fn parent(&self) -> Option<&Node> {
        let disk = self.disk.as_ref()?;
        let at = disk
            .references
            .iter()
            .position(|r| r.role == Role::Parent)?;
        self.targets.get(at)?.as_ref()
    }

    /// What lies at `offset` of target `target`, which may itself be a container.
    fn lower(&self, start: u64, len: u64, target: usize, offset: u64, out: &mut Vec<Part>) {
        if target == 0 {
            let blocks = matches!(
                self.disk.as_ref().map(|d| &d.content),
                Some(Content::Blocks(_))
            );
            let found = Found::At {
                depth: self.depth,
                offset,
                holes: !blocks,
            };
            out.push(Part { start, len, found });
            return;
        }
        let node = self
            .target(target)
            .expect("a target that the container names");
        let mut parts = Vec::new();
        node.parts(offset, len, &mut parts);
        for part in parts {
            let start = start + (part.start - offset);
            match part.found {
                Found::Nothing { .. } => self.absent(start, part.len, out),
                _ => out.push(Part { start, ..part }),
            }
        }
    }

    fn absent(&self, start: u64, len: u64, out: &mut Vec<Part>) {
        let Some(parent) = self.parent() else {
            let found = Found::Nothing { told: self.told };
            out.push(Part { start, len, found });
            return;
        };
        let has = parent.size().saturating_sub(start).min(len);
        if has > 0 {
            parent.parts(start, has, out);
        }
        if has < len {
            out.push(Part {
                start: start + has,
                len: len - has,
                found: Found::Beyond,
            });
        }
    }

    fn parts(&self, start: u64, len: u64, out: &mut Vec<Part>) {
        let Some(disk) = &self.disk else {
            let found = Found::At {
                depth: self.depth,
                offset: start,
                holes: true,
            };
            return out.push(Part { start, len, found });
        };
        match &disk.content {
            Content::Linear(extent) => {
                self.lower(start, len, 0, extent.value.start().get() + start, out);
            }
            Content::Extents(extents) => {
                let mut at = 0;
                for extent in extents {
                    let from = start.max(at);
                    let to = (start + len).min(at + extent.len.get());
                    if from < to {
                        match extent.lies {
                            Some((target, offset)) => {
                                let offset = offset.get() + (from - at);
                                self.lower(from, to - from, target, offset, out);
                            }
                            None => out.push(Part {
                                start: from,
                                len: to - from,
                                found: Found::Zero { depth: self.depth },
                            }),
                        }
                    }
                    at += extent.len.get();
                }
            }
            Content::Blocks(table) => {
                let range = Extent::new(Bytes::new(start), Bytes::new(len)).expect("a range");
                let listing = Listing::of(&**table, range, 1 << 22).expect("a readable table");
                assert!(!listing.left_out(), "more parts than a test should have");
                for listed in listing.parts() {
                    let (from, len) = (listed.upper().start().get(), listed.upper().len().get());
                    let found = match listed {
                        Listed::Piece(piece) => {
                            self.lower(from, len, piece.target, piece.lower.get(), out);
                            continue;
                        }
                        Listed::Gap(_, Gap::Absent) => {
                            self.absent(from, len, out);
                            continue;
                        }
                        Listed::Gap(_, Gap::Zero) => Found::Zero { depth: self.depth },
                        Listed::Gap(_, Gap::Packed) => Found::Packed { depth: self.depth },
                    };
                    out.push(Part {
                        start: from,
                        len,
                        found,
                    });
                }
            }
        }
    }

    /// Fills `buf` with the guest's bytes at `start`, asking for one address after the other; past the end with zeroes.
    fn read(&self, start: u64, buf: &mut [u8]) {
        let left = self.size().saturating_sub(start).min(buf.len() as u64);
        let (buf, rest) = buf.split_at_mut(usize::try_from(left).expect("small"));
        rest.fill(0);
        let Some(disk) = &self.disk else {
            return fill(&*self.file, start, buf);
        };
        let mut done = 0;
        while done < buf.len() {
            let at = start + done as u64;
            let rest = &mut buf[done..];
            done += match &disk.content {
                Content::Linear(extent) => {
                    fill(&*self.file, extent.value.start().get() + at, rest);
                    rest.len()
                }
                Content::Extents(extents) => {
                    let mut first = 0;
                    let extent = extents.iter().find(|extent| {
                        let inside = at < first + extent.len.get();
                        first += if inside { 0 } else { extent.len.get() };
                        inside
                    });
                    let extent = extent.expect("the extents cover the disk");
                    let len = rest.len().min((first + extent.len.get() - at) as usize);
                    match extent.lies {
                        Some((target, offset)) => {
                            let offset = offset.get() + (at - first);
                            self.read_lower(target, offset, at, &mut rest[..len]);
                        }
                        None => rest[..len].fill(0),
                    }
                    len
                }
                Content::Blocks(table) => {
                    let place = table.locate(Bytes::new(at)).expect("a readable table");
                    let run = place.run(Bytes::new(at)).get();
                    assert!(run > 0, "an answer for no byte");
                    let len = usize::try_from(run).unwrap_or(usize::MAX).min(rest.len());
                    let part = &mut rest[..len];
                    match place {
                        Place::At { target, offset, .. } => {
                            self.read_lower(target, offset.get(), at, part);
                        }
                        Place::Zero { .. } => part.fill(0),
                        Place::Absent { .. } => self.read_parent(at, part),
                        Place::Packed {
                            upper,
                            target,
                            lower,
                        } => {
                            assert_eq!(target, 0, "compressed parts lie in the container");
                            let from = lower.start().get();
                            let end = lower.end().get().min(self.file.size().get());
                            let mut packed = vec![0; usize::try_from(end - from).expect("small")];
                            fill(&*self.file, from, &mut packed);
                            let mut whole =
                                vec![0; usize::try_from(upper.len().get()).expect("small")];
                            table.unpack(&packed, &mut whole).expect("unpacks");
                            let skip = usize::try_from(at - upper.start().get()).expect("small");
                            part.copy_from_slice(&whole[skip..skip + len]);
                        }
                    }
                    len
                }
            };
        }
    }

    fn read_parent(&self, at: u64, buf: &mut [u8]) {
        match self.parent() {
            Some(parent) => parent.read(at, buf),
            None => buf.fill(0),
        }
    }

    fn read_lower(&self, target: usize, offset: u64, at: u64, buf: &mut [u8]) {
        if target == 0 {
            return fill(&*self.file, offset, buf);
        }
        let node = self
            .target(target)
            .expect("a target that the container names");
        let mut parts = Vec::new();
        node.parts(offset, buf.len() as u64, &mut parts);
        let mut done = 0;
        for part in parts {
            let len = usize::try_from(part.len).expect("small");
            let piece = &mut buf[done..done + len];
            match part.found {
                Found::Nothing { .. } => self.read_parent(at + done as u64, piece),
                _ => node.read(part.start, piece),
            }
            done += len;
        }
    }
}

/// Fills `buf`; past the end of the file with zeroes, as QEMU does.
fn fill(file: &dyn ReadAt, offset: u64, buf: &mut [u8]) {
    let mut done = 0;
    while done < buf.len() {
        let at = Bytes::new(offset + done as u64);
        match file.read_at(at, &mut buf[done..]).expect("readable") {
            0 => return buf[done..].fill(0),
            n => done += n,
        }
    }
}
