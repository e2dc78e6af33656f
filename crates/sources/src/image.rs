use std::path::Path;
use std::sync::Arc;
use straddle_geometry::{Bytes, SectorSize};
use straddle_io::{ReadAt, Reader, Target, TargetKind};
use straddle_probe::{Limits, inspect};
use straddle_stack::{Anomaly, AnomalyKind, Fact, Layer, LayerId, LayerKind, Stack};

use crate::guest::{Contents, Ground, Guests};
pub(crate) use crate::sectors::{assume_sectors, logical_sector_of};
use crate::{Settings, SourceError};

/// An image file, raw or a virtual disk, or one readable block device, as a stack of its own: nothing around it is looked
/// at but the files that a virtual disk refers to.
///
/// What an image cannot say is assumed and marked so: a physical sector of 4,096 bytes; a logical sector of 512 bytes
/// unless its partition table was written for another.
///
/// # Errors
/// [`SourceError::GuestFile`] when a file that [`Settings::guest_files`] asks for is nowhere in it.
pub fn image(target: &Arc<Target>, settings: &Settings) -> Result<Stack, SourceError> {
    let (bytes, file, layer) = opened(target);
    inspect_image(bytes, file, layer, settings)
}

/// As [`image`], when it is no virtual disk. `None` when it is one.
///
/// # Errors
/// As [`image`].
pub fn raw_image(target: &Arc<Target>, settings: &Settings) -> Result<Option<Stack>, SourceError> {
    let (bytes, file, layer) = opened(target);
    inspect_as(bytes, file, layer, settings, true)
}

/// Several images as one stack: members of arrays and volume groups among them are put together. The order does not matter.
///
/// # Errors
/// As [`image`].
pub fn images(targets: &[Arc<Target>], settings: &Settings) -> Result<Stack, SourceError> {
    let opened = targets.iter().map(opened);
    let opened: Vec<Opened> = opened.collect();
    let whole = look_into(opened, settings, false)?;
    Ok(whole.unwrap_or_default())
}

/// As [`images`], of what is no file: bytes in memory, or whatever else can be read, with what each is called.
///
/// # Errors
/// As [`image`].
pub fn all_bytes(
    named: Vec<(String, Arc<dyn ReadAt>)>,
    settings: &Settings,
) -> Result<Stack, SourceError> {
    let opened = named
        .into_iter()
        .map(|(name, bytes)| (Arc::clone(&bytes), None, layer_of_bytes(&name, &*bytes)));
    let whole = look_into(opened.collect(), settings, false)?;
    Ok(whole.unwrap_or_default())
}

/// A disk as its guest sees it.
pub struct GuestImage {
    /// Its bytes, with those of its parents, and unpacked where they are compressed.
    pub bytes: Arc<dyn ReadAt>,
    /// The format of the file; `None` for a raw image, whose bytes are the disk.
    pub format: Option<String>,
    /// What the guest takes for a sector.
    pub sector: Option<SectorSize>,
    /// What was found that casts doubt on the bytes: a parent that is missing or another one, tables that are damaged. Empty as a
    /// rule.
    pub doubts: Vec<String>,
}

/// Opens the disk that a guest sees in an image file: of a virtual disk, whatever it refers to, and of a raw image the image. Nothing is
/// looked for in it.
///
/// # Errors
/// [`SourceError::File`] where it is a virtual disk that cannot be read: damaged, encrypted, without its parent.
pub fn guest_disk(target: &Arc<Target>, settings: &Settings) -> Result<GuestImage, SourceError> {
    let (bytes, file, layer) = opened(target);
    let mut ground = ByItself::default();
    let layer = ground.stack.push(layer);
    let contents = Contents { layer, bytes, file };
    let mut guests = Guests::new(&mut ground, None).with_outside(&settings.outside);
    let guest = guests.open(contents).map_err(|detail| SourceError::File {
        path: target.path().display().to_string(),
        detail,
    })?;
    let stack = &ground.stack;
    let format = &stack.layer(guest.layer).format;
    let doubts = stack.layers().iter().flat_map(|layer| &layer.anomalies);
    Ok(GuestImage {
        bytes: guest.bytes,
        format: format.as_deref().map(str::to_owned),
        sector: logical_sector_of(stack.layer(guest.layer)),
        doubts: doubts.map(|anomaly| anomaly.detail.clone()).collect(),
    })
}

/// A target's bytes, itself where it is a file, and its layer.
type Opened = (Arc<dyn ReadAt>, Option<Arc<Target>>, Layer);

fn opened(target: &Arc<Target>) -> Opened {
    let call = match target.kind() {
        TargetKind::File => "fstat",
        TargetKind::Device => "lseek",
    };
    let mut layer = layer_of(target.path(), target.size(), call);
    if target.kind() == TargetKind::Device {
        ask_device(target, &mut layer);
    }
    let file = (target.kind() == TargetKind::File).then(|| Arc::clone(target));
    let bytes: Arc<dyn ReadAt> = target.clone();
    (bytes, file, layer)
}

/// An image that is no file: bytes in memory, or whatever else can be read. Files that a virtual disk refers to are not
/// looked for.
///
/// # Errors
/// As [`image`].
pub fn bytes(
    name: &str,
    bytes: Arc<dyn ReadAt>,
    settings: &Settings,
) -> Result<Stack, SourceError> {
    let layer = layer_of_bytes(name, &*bytes);
    inspect_image(bytes, None, layer, settings)
}

/// Says of an image that could be read in part only what was not seen.
pub fn left_out(stack: &mut Stack, detail: impl Into<String>) {
    let base = stack.iter().map(|(id, _)| id).next();
    if let Some(base) = base {
        let anomaly = Anomaly::new(AnomalyKind::Missing, detail);
        stack.layer_mut(base).anomalies.push(anomaly);
    }
}

/// Where the disk ends of which `bytes` are the beginning, by its own tables: the backup of a GPT lies in its last sector; without one
/// it ends with its last partition, or with its filesystem, at the earliest.
#[must_use]
pub fn claimed_end(bytes: &dyn ReadAt) -> Option<Bytes> {
    for sector in [512_u64, 4096] {
        let mut header = [0; 40];
        let read = bytes.read_at(Bytes::new(sector), &mut header);
        if matches!(read, Ok(40)) && header.starts_with(b"EFI PART") {
            let backup = header[32..40].try_into().map(u64::from_le_bytes).ok()?;
            return backup.checked_add(1)?.checked_mul(sector).map(Bytes::new);
        }
    }
    let mut stack = Stack::new();
    let base = stack.push(Layer::new(LayerKind::Device, "disk"));
    let reader = Reader::new(bytes);
    inspect(&mut stack, base, &reader, None, Limits::default());
    let ends = stack.above(base).filter_map(|id| {
        let layer = stack.layer(id);
        let placed = layer.placement.as_ref().map(|fact| fact.value.end());
        placed.or_else(|| layer.size.as_ref().map(|fact| fact.value))
    });
    ends.max()
}

fn layer_of_bytes(name: &str, bytes: &dyn ReadAt) -> Layer {
    let mut layer = Layer::new(LayerKind::Device, name);
    layer.size = Some(Fact::derived(bytes.size(), "number of bytes given"));
    layer
}

fn layer_of(path: &Path, size: Bytes, call: &'static str) -> Layer {
    let mut layer = Layer::new(LayerKind::Device, path.display().to_string());
    layer.size = Some(Fact::answered(size, call, size.get().to_string()));
    layer
}

/// Adds what a block device itself answers. What is around it, such as its alignment offset, only the host's sysfs tells:
/// [`linux::file`](crate::linux::file) takes a device's path too.
#[cfg(target_os = "linux")]
fn ask_device(target: &Target, layer: &mut Layer) {
    use straddle_geometry::{Grid, Unit};
    use straddle_stack::GridRole;
    let answered = |unit: Unit, call| Fact::answered(Grid::new(unit), call, unit.get().to_string());
    if let Ok(size) = straddle_io::linux::logical_sector(target.file()) {
        let fact = answered(size.unit(), "BLKSSZGET");
        layer.add_grid(GridRole::LogicalSector, fact);
    }
    if let Ok(unit) = straddle_io::linux::physical_sector(target.file()) {
        let fact = answered(unit, "BLKPBSZGET");
        layer.add_grid(GridRole::PhysicalSector, fact);
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_device(_: &Target, _: &mut Layer) {}

/// Puts `layer`, which stands for `bytes`, at the bottom of a stack and what is found in them on top.
fn inspect_image(
    bytes: Arc<dyn ReadAt>,
    file: Option<Arc<Target>>,
    layer: Layer,
    settings: &Settings,
) -> Result<Stack, SourceError> {
    inspect_as(bytes, file, layer, settings, false).map(Option::unwrap_or_default)
}

/// The same; `None` when only a raw image is wanted, and it is none.
fn inspect_as(
    bytes: Arc<dyn ReadAt>,
    file: Option<Arc<Target>>,
    layer: Layer,
    settings: &Settings,
    only_raw: bool,
) -> Result<Option<Stack>, SourceError> {
    look_into(vec![(bytes, file, layer)], settings, only_raw)
}

/// Puts every layer at the bottom of one stack, and on top what is found in the bytes that it stands for.
fn look_into(
    opened: Vec<Opened>,
    settings: &Settings,
    only_raw: bool,
) -> Result<Option<Stack>, SourceError> {
    let overrides = &settings.overrides;
    let mut ground = ByItself::default();
    let mut all = Vec::new();
    for (bytes, file, layer) in opened {
        let layer = ground.stack.push(layer);
        all.push(Contents { layer, bytes, file });
    }
    let told = overrides.logical_sector.as_ref().map(|fact| fact.value);
    let first = all.first().map(|first| ground.stack.layer(first.layer));
    let told = told.or_else(|| logical_sector_of(first?));
    let mut guests = Guests::new(&mut ground, told)
        .with_files(&settings.guest_files)
        .with_outside(&settings.outside);
    match all.as_slice() {
        [only] if only_raw => {
            if !guests.look_into_raw(only)? {
                return Ok(None);
            }
        }
        all => guests.look_into_all(all)?,
    }
    let ByItself { mut stack, files } = ground;
    for contents in &all {
        // A virtual disk is a file on some disk; a raw image is the disk.
        let above = stack.above(contents.layer).next();
        if above.is_some_and(|id| stack.layer(id).kind == LayerKind::Container) {
            stack.layer_mut(contents.layer).kind = LayerKind::File;
        }
    }
    for base in all.iter().map(|contents| contents.layer).chain(files) {
        assume_sectors(&mut stack, base);
        overrides.apply(stack.layer_mut(base));
    }
    stack.survey(&settings.io);
    Ok(Some(stack))
}

/// Files by themselves: what they lie on is not looked at.
#[derive(Default)]
struct ByItself {
    stack: Stack,
    /// Layers of the files that were opened besides the first.
    files: Vec<LayerId>,
}

impl Ground for ByItself {
    fn stack(&mut self) -> &mut Stack {
        &mut self.stack
    }

    fn file(&mut self, target: &Target) -> Result<LayerId, String> {
        let mut layer = layer_of(target.path(), target.size(), "fstat");
        layer.kind = LayerKind::File;
        let id = self.stack.push(layer);
        self.files.push(id);
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overrides;
    use straddle_geometry::Unit;
    use straddle_stack::{GridRole, Key, Trust};

    fn stack_of(bytes: Vec<u8>, overrides: &Overrides) -> Stack {
        let settings = Settings {
            overrides: overrides.clone(),
            ..Settings::default()
        };
        let layer = Layer::new(LayerKind::Device, "disk.img");
        inspect_image(Arc::new(bytes), None, layer, &settings).expect("asks for no file")
    }

    #[test]
    fn an_image_has_the_sectors_that_everybody_assumes() {
        let stack = stack_of(vec![0; 1 << 20], &Overrides::default());
        let disk = &stack.layers()[0];
        let grid = |role| disk.grid(role).map(|g| (g.value.unit().get(), g.trust));
        assert_eq!(grid(GridRole::LogicalSector), Some((512, Trust::Assumed)));
        assert_eq!(grid(GridRole::PhysicalSector), Some((4096, Trust::Assumed)));
    }

    #[test]
    fn a_flag_wins_over_an_assumption_and_overrides_nothing() {
        let overrides = Overrides {
            physical_sector: Unit::new(512)
                .map(|unit| Fact::stated(unit, "--physical-sector", "512")),
            ..Overrides::default()
        };
        let stack = stack_of(Vec::new(), &overrides);
        let disk = &stack.layers()[0];
        assert_eq!(
            disk.grid(GridRole::PhysicalSector)
                .map(|g| (g.value.unit().get(), g.trust)),
            Some((512, Trust::Stated))
        );
        assert!(disk.attribute(Key::Overridden).is_none());
    }
}
