//! What lies in a file: a disk image, or a virtual disk with everything inside it, to any depth within bounds.

mod blank;
mod concatenated;
mod disk;
mod files;
mod mapped;
mod reach;
mod references;
mod volumes;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use straddle_geometry::{Blocks, Bytes, Extent, Grid, Map, SectorSize, Segment, Unit};
use straddle_io::{ReadAt, ReadError, ReadErrorKind, Reader, Target};
use straddle_probe::container::{
    Container, Content, Disk, ExtentOf, Format, OpensAs, Role, recognise, recognise_in,
};
use straddle_probe::{Limits, Window, inspect};
use straddle_stack::{
    Anomaly, AnomalyKind, Fact, GridRole, Key, Layer, LayerId, LayerKind, Stack, Value,
};

use crate::SourceError;
use crate::sectors::logical_sector_of;
use concatenated::{Concatenated, Lies, Piece};
use disk::GuestDisk;
use files::Wanted;
use mapped::Mapped;
pub use reach::Outside;
use reach::Place;
use volumes::Found;

/// Deepest nesting of virtual disks in virtual disks, parents not counted.
const MAX_DEPTH: usize = 8;
/// Longest chain of parents.
const LONGEST_CHAIN: usize = 64;
/// Most files that one target may open.
const MAX_FILES: usize = 4096;
const ASSUMED_GUEST_SECTOR: &str =
    "what hypervisors show to a guest unless the file says otherwise";

/// What a stack of guests stands on: an image by itself, or a host.
pub(crate) trait Ground {
    /// The stack that is being built.
    fn stack(&mut self) -> &mut Stack;

    /// The layer of a file that was opened, with whatever is known below it.
    fn file(&mut self, target: &Target) -> Result<LayerId, String>;
}

/// A file, or a part of one, whose contents are to be looked at.
#[derive(Clone)]
pub(crate) struct Contents {
    /// Its layer.
    pub(crate) layer: LayerId,
    /// Its bytes.
    pub(crate) bytes: Arc<dyn ReadAt>,
    /// What is open, when it is a file of this machine.
    pub(crate) file: Option<Arc<Target>>,
}

/// Looks into files.
pub(crate) struct Guests<'a> {
    ground: &'a mut dyn Ground,
    /// Logical sector of the outermost file or device, where it is known.
    sector: Option<SectorSize>,
    opened: usize,
    outside: Outside,
    wanted: Vec<Wanted>,
    /// Members of arrays and the like that are not yet assembled.
    members: Vec<Found>,
    /// What lies side by side and is no file of this machine: the members of an archive.
    beside: Vec<Contents>,
    /// Those of them that another one refers to.
    referred: BTreeSet<LayerId>,
}

impl<'a> Guests<'a> {
    pub(crate) fn new(ground: &'a mut dyn Ground, sector: Option<SectorSize>) -> Guests<'a> {
        Guests {
            ground,
            sector,
            opened: 0,
            outside: Outside::default(),
            wanted: Vec::new(),
            members: Vec::new(),
            beside: Vec::new(),
            referred: BTreeSet::new(),
        }
    }

    /// To be followed too: the files with these paths inside filesystems that are found.
    pub(crate) fn with_files(mut self, paths: &[String]) -> Guests<'a> {
        self.wanted = paths.iter().map(|path| Wanted::new(path)).collect();
        self
    }

    /// What an image may lead to besides what its owner may read.
    pub(crate) fn with_outside(mut self, outside: &Outside) -> Guests<'a> {
        self.outside = outside.clone();
        self
    }

    fn stack(&mut self) -> &mut Stack {
        self.ground.stack()
    }

    /// Puts what is in `contents` on top of its layer.
    ///
    /// # Errors
    /// [`SourceError::GuestFile`] when a file that was asked for is nowhere.
    pub(crate) fn look_into(&mut self, contents: &Contents) -> Result<(), SourceError> {
        self.look_into_all(std::slice::from_ref(contents))
    }

    /// The same for several that may belong together: members of one array, whatever order they come in; and the parts of a virtual
    /// disk, behind the one that names them.
    ///
    /// # Errors
    /// As [`Guests::look_into`].
    pub(crate) fn look_into_all(&mut self, all: &[Contents]) -> Result<(), SourceError> {
        let beside = all.iter().filter(|contents| contents.file.is_none());
        self.beside = beside.cloned().collect();
        for contents in all {
            if !self.referred.contains(&contents.layer) {
                self.inspect(contents, 0);
            }
        }
        self.assemble();
        all.first().map_or(Ok(()), |first| self.all_found(first))
    }

    fn all_found(&mut self, contents: &Contents) -> Result<(), SourceError> {
        let target = self.stack().layer(contents.layer).name.clone();
        let missing = self.wanted.iter().find(|wanted| !wanted.found);
        missing.map_or(Ok(()), |wanted| Err(wanted.error(target)))
    }

    /// The same, unless it is a virtual disk; then false. What has been read to tell is not read again.
    pub(crate) fn look_into_raw(&mut self, contents: &Contents) -> Result<bool, SourceError> {
        let reader = Reader::new(&*contents.bytes);
        let found = recognise(&reader, &contents.bytes);
        if matches!(found, Ok(Some(_))) {
            return Ok(false);
        }
        self.inspect_found(contents, &reader, found, 0);
        self.assemble();
        self.all_found(contents).map(|()| true)
    }

    /// The disk that a guest sees in a file: that of a virtual disk, with what it refers to, or the file itself where it is none.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn open(&mut self, contents: Contents) -> Result<Contents, String> {
        let reader = Reader::new(&*contents.bytes);
        let found = recognise(&reader, &contents.bytes).map_err(|error| error.to_string())?;
        let Some((format, container)) = found else {
            drop(reader);
            return Ok(contents);
        };
        match self.container(&contents, format, container, &mut Vec::new()) {
            Some(guest) => {
                self.assume_guest_sector(guest.layer);
                Ok(guest)
            }
            None => {
                let last = self.stack().layers().last();
                let why = last.and_then(|layer| layer.anomalies.first());
                let why = why.map_or("it holds no disk that can be read", |why| &why.detail);
                Err(format!("{}: {why}", format.name))
            }
        }
    }

    fn inspect(&mut self, contents: &Contents, depth: usize) {
        let reader = Reader::new(&*contents.bytes);
        let found = recognise(&reader, &contents.bytes);
        self.inspect_found(contents, &reader, found, depth);
    }

    fn inspect_found(
        &mut self,
        contents: &Contents,
        reader: &Reader<'_>,
        found: Result<Option<(&'static Format, Container)>, ReadError>,
        depth: usize,
    ) {
        match found {
            Ok(Some((format, container))) if depth < MAX_DEPTH => {
                let opened = self.container(contents, format, container, &mut Vec::new());
                if let Some(guest) = opened {
                    self.inspect(&guest, depth + 1);
                    self.assume_guest_sector(guest.layer);
                }
            }
            Ok(Some((format, _))) => {
                let detail = format!(
                    "{} in {MAX_DEPTH} virtual disks one inside the other: not looked into",
                    format.name
                );
                self.odd(contents.layer, AnomalyKind::LimitReached, detail);
            }
            Ok(None) => self.inspect_disk(contents, reader, depth),
            Err(error) => {
                // A footer that cannot be read says nothing about the partition table at the other end.
                self.inspect_disk(contents, reader, depth);
                let base = self.stack().layer(contents.layer);
                let said = |anomaly: &Anomaly| anomaly.kind == AnomalyKind::Unreadable;
                // What lies on a member that was not given was named there.
                let is_known = error.kind == ReadErrorKind::NotGiven;
                if !is_known && !base.anomalies.iter().any(said) {
                    let detail = format!("while looking for a virtual disk: {error}");
                    self.odd(contents.layer, AnomalyKind::Unreadable, detail);
                }
            }
        }
    }

    /// A disk whose bytes are what a guest sees.
    fn inspect_disk(&mut self, contents: &Contents, reader: &Reader<'_>, depth: usize) {
        let base = contents.layer;
        let outermost = self.sector.filter(|_| depth == 0);
        let stack = self.stack();
        let sector = outermost.or_else(|| logical_sector_of(stack.layer(base)));
        let before = stack.layers().len();
        let members = inspect(stack, base, reader, sector, Limits::default());
        if members.is_empty() && stack.layers().len() == before {
            note_blank(stack.layer_mut(base), &*contents.bytes);
        }
        self.found(members, &contents.bytes, depth);
        self.follow_files(contents, reader, before, depth);
        let stack = self.stack();
        // A virtual disk may fill a partition or a logical volume.
        let parts: Vec<(LayerId, Extent)> = (before..stack.layers().len())
            .filter_map(|index| {
                let (id, layer) = stack.iter().nth(index)?;
                let is_bare = layer.kind == LayerKind::Partition
                    && layer.attribute(Key::HoldsPartitions).is_none()
                    && layer.attribute(Key::Holds).is_none()
                    && stack.above(id).next().is_none();
                let start = stack.start_in(id, base).filter(|_| is_bare)?;
                Some((id, Extent::new(start, layer.size.as_ref()?.value)?))
            })
            .collect();
        for (layer, extent) in parts {
            let whole: Arc<dyn ReadAt> = Arc::new(Mapped::linear(&contents.bytes, extent));
            // What was read to look for filesystems is not read again.
            let Some(window) = Window::whole(reader, None).part(extent) else {
                continue;
            };
            if matches!(recognise_in(window, &whole), Ok(Some(_))) {
                let part = Contents {
                    layer,
                    bytes: Arc::clone(&whole),
                    file: None,
                };
                self.inspect(&part, depth);
            }
        }
    }

    /// Puts a container and what it refers to on the stack; the virtual disk, where there is one that can be read.
    fn container(
        &mut self,
        file: &Contents,
        format: &'static Format,
        container: Container,
        chain: &mut Vec<Place>,
    ) -> Option<Contents> {
        let Container { detected, disk } = container;
        let name = detected.variant.unwrap_or(format.name);
        let mut layer = Layer::new(LayerKind::Container, name);
        layer.format = Some(Cow::Borrowed(name));
        layer.attributes = detected.attributes;
        layer.grids = detected.grids;
        layer.anomalies = detected.anomalies;
        layer.size = detected.size;
        layer.below = vec![file.layer];
        let Some(disk) = disk else {
            layer.map = Map::Segments(Vec::new());
            self.stack().push(layer);
            return None;
        };
        let depth = chain.len();
        chain.extend(self.place_of(file));
        let mut targets: Vec<Option<Arc<dyn ReadAt>>> = vec![Some(Arc::clone(&file.bytes))];
        // Where each reference is among the targets: parts that name one flat file share it, and those beyond a limit
        // share what stands for all of them.
        let mut places = vec![0];
        let mut flat: HashMap<&[String], usize> = HashMap::new();
        let mut beyond = None;
        let in_parts = matches!(disk.content, Content::Extents(_));
        for reference in &disk.references {
            let may_share = in_parts && reference.role == Role::Part;
            let is_flat = may_share && reference.opens_as == OpensAs::Raw;
            let known = flat.get(reference.names.as_slice()).filter(|_| is_flat);
            if let Some(place) = known.copied().or(beyond).filter(|_| may_share) {
                places.push(place);
                continue;
            }
            let place = targets.len();
            places.push(place);
            match self.refer(file, reference, chain) {
                Ok(found) => {
                    layer.below.push(found.layer);
                    targets.push(Some(found.bytes));
                    if is_flat {
                        flat.insert(&reference.names, place);
                    }
                }
                Err(missing) => {
                    if missing.anomaly.kind == AnomalyKind::LimitReached {
                        beyond = Some(place);
                    }
                    layer.below.push(missing.layer);
                    layer.anomalies.push(missing.anomaly);
                    targets.push(None);
                }
            }
        }
        let mut disk = disk;
        if let Content::Extents(extents) = &mut disk.content {
            for (target, _) in extents.iter_mut().filter_map(|extent| extent.lies.as_mut()) {
                *target = places.get(*target).copied().unwrap_or(*target);
            }
        }
        chain.truncate(depth);
        self.join_under_parent(&layer, &places, &mut disk);
        let readable = place(&mut layer, &disk);
        // What is encrypted has its places, but says nothing about partitions.
        let encrypted = layer.attribute(Key::Encryption).is_some();
        let id = self.stack().push(layer);
        if !readable || encrypted {
            return None;
        }
        let is_whole = targets.iter().all(Option::is_some);
        let bytes: Arc<dyn ReadAt> = Arc::new(GuestDisk::new(disk, targets));
        // Without its parent a disk often lacks its first sector: the parent was named, and every prober would fail alike.
        if !is_whole && bytes.read_at(Bytes::ZERO, &mut [0; 512]).is_err() {
            return None;
        }
        Some(Contents {
            layer: id,
            bytes,
            file: None,
        })
    }

    /// Gives a disk of several parts that has a parent one table for all: what its parts lack lies in the parent. Reference
    /// n is at `places[n + 1]` among the targets.
    fn join_under_parent(&mut self, layer: &Layer, places: &[usize], disk: &mut Disk) {
        let parent = disk
            .references
            .iter()
            .position(|reference| reference.role == Role::Parent);
        let (Some(parent), Content::Extents(extents)) = (parent, &disk.content) else {
            return;
        };
        let mut at = Bytes::ZERO;
        let mut block = None;
        let mut pieces = Vec::new();
        for extent in extents {
            let Some(upper) = Extent::new(at, extent.len) else {
                return;
            };
            let lies = match extent.lies {
                None => Lies::Zeroes,
                Some((target, start)) => {
                    let below = layer.below.get(target).copied();
                    match below.map(|below| &self.stack().layer(below).map) {
                        Some(Map::Blocks(Blocks(table))) if start == Bytes::ZERO => {
                            block = Some(table.block());
                            let table = Arc::clone(table);
                            Lies::Sparse { target, table }
                        }
                        _ => Lies::Flat { target, start },
                    }
                }
            };
            pieces.push(Piece { upper, lies });
            at = upper.end();
        }
        disk.content = Content::Blocks(Arc::new(Concatenated {
            pieces,
            size: at,
            block: block.unwrap_or(Unit::B4096),
            parent: places.get(parent + 1).copied().unwrap_or(parent + 1),
        }));
    }

    fn assume_guest_sector(&mut self, id: LayerId) {
        let layer = self.stack().layer_mut(id);
        if layer.grid(GridRole::LogicalSector).is_some() {
            return;
        }
        let sector = Fact::assumed(Grid::new(SectorSize::B512.unit()), ASSUMED_GUEST_SECTOR);
        layer.add_grid(GridRole::LogicalSector, sector);
    }

    fn odd(&mut self, layer: LayerId, kind: AnomalyKind, detail: String) {
        let layer = self.stack().layer_mut(layer);
        layer.anomalies.push(Anomaly::new(kind, detail));
    }
}

/// Gives a container's layer its size, its map and its place; false when what it holds cannot be read.
fn place(layer: &mut Layer, disk: &Disk) -> bool {
    let size = disk.size.value;
    layer.size = Some(disk.size.clone());
    match &disk.content {
        Content::Linear(place) => {
            layer.map = Map::Linear {
                start: place.value.start(),
            };
            layer.placement = Some(place.clone());
        }
        Content::Blocks(table) => layer.map = Map::Blocks(Blocks(Arc::clone(table))),
        Content::Extents(extents) => {
            layer.set(
                Key::Extents,
                disk.size
                    .clone()
                    .map(|_| Value::Count(u64::try_from(extents.len()).unwrap_or(u64::MAX))),
            );
            match segments(extents) {
                Some(map) => layer.map = map,
                None => {
                    layer.map = Map::Segments(Vec::new());
                    let detail = "its extents together are longer than 2⁶⁴ bytes";
                    layer
                        .anomalies
                        .push(Anomaly::new(AnomalyKind::Damaged, detail));
                    return false;
                }
            }
        }
    }
    size > Bytes::ZERO
}

/// Extents one after another.
fn segments(extents: &[ExtentOf]) -> Option<Map> {
    let mut at = Bytes::ZERO;
    let mut pieces = Vec::new();
    for extent in extents {
        let upper = Extent::new(at, extent.len)?;
        pieces.extend(extent.lies.map(|(target, lower)| Segment {
            upper,
            target,
            lower,
        }));
        at = upper.end();
    }
    Map::segments(pieces)
}

/// Notes on the layer of a disk on which nothing was found that nothing is there, where that can be proven.
fn note_blank(layer: &mut Layer, bytes: &dyn ReadAt) {
    if !layer.anomalies.is_empty() || layer.attribute(Key::Holds).is_some() {
        return;
    }
    // Behind the sector of an empty MBR; a GPT that is whole says for itself that it is empty.
    let (start, because) = match layer.text(Key::PartitionTable) {
        None => (Bytes::ZERO, "every byte"),
        Some("mbr") => (
            Bytes::new(512),
            "its MBR has no entry, and every byte behind it",
        ),
        Some("gpt") => {
            let text = Value::Text("its GPT has no entry".into());
            layer.set(Key::Blank, Fact::derived(text, "both copies of the table"));
            return;
        }
        Some(_) => return,
    };
    if let Some(byte) = blank::filled_with(bytes, start) {
        let text = format!("{because} is 0x{byte:02X}");
        let fact = Fact::derived(
            Value::Text(text.into()),
            "the whole disk was read, but for its holes",
        );
        layer.set(Key::Blank, fact);
    }
}
