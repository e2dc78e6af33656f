//! Virtual disks in scripts: how qemu-img opens one, what is written in its place, and how what lies in one is changed: as raw
//! bytes, of which a new file is made. The old file is only read.

use std::path::{Path, PathBuf};
use straddle_geometry::Map;
use straddle_stack::{GridRole, LayerId, LayerKind, Stack};

use super::guard::Guard;
use super::guarded::{Guarded, marked};
use super::words::{quoted, variable};
use super::{Job, Refusal, safe};
use crate::change::Change;
use crate::change::image::Format;

/// A file that takes the place of another.
pub(super) struct New {
    /// Its format, by the name of qemu-img.
    pub(super) format: &'static str,
    /// Options of that format; may be empty.
    pub(super) options: String,
    /// Its path.
    pub(super) path: PathBuf,
}

impl New {
    /// What a disk is converted into.
    pub(super) fn converted(to: Format, old: &Path) -> New {
        let (format, options) = match to {
            Format::Vhdx => ("vhdx", "subformat=dynamic"),
            Format::Qcow2 => ("qcow2", "cluster_size=65536"),
            Format::FlatVmdk => ("vmdk", "subformat=monolithicFlat"),
        };
        New {
            format,
            options: options.to_owned(),
            path: beside(old, to.name()),
        }
    }

    /// A file of the same format, with blocks of the same size.
    fn like(stack: &Stack, disk: LayerId, old: &Path) -> Option<New> {
        let layer = stack.layer(disk);
        let is_flat = matches!(layer.map, Map::Linear { .. });
        let block = layer.grid(GridRole::ContainerBlock);
        let block = block.map(|grid| grid.value.unit().get());
        let sized = |name: &str| block.map_or(String::new(), |block| format!("{name}={block}"));
        let choose = |flat, sparse| if is_flat { flat } else { sparse };
        let (format, options) = match layer.format.as_deref()? {
            // Without it, the size would be rounded to what cylinders, heads and sectors can say.
            "vhd" => (
                "vpc",
                format!("subformat={},force_size=on", choose("fixed", "dynamic")),
            ),
            "vhdx" => (
                "vhdx",
                [
                    format!("subformat={}", choose("fixed", "dynamic")),
                    sized("block_size"),
                ]
                .join(","),
            ),
            "vdi" => ("vdi", format!("static={}", choose("on", "off"))),
            "vmdk" => (
                "vmdk",
                format!("subformat={}", choose("monolithicFlat", "monolithicSparse")),
            ),
            "qcow2" => ("qcow2", sized("cluster_size")),
            _ => return None,
        };
        let extension = old.extension().and_then(|end| end.to_str());
        Some(New {
            format,
            options: options.trim_matches(',').to_owned(),
            path: beside(old, extension.unwrap_or(format)),
        })
    }
}

/// The old name with another extension; where that is the old name, with `.aligned` before it.
fn beside(old: &Path, extension: &str) -> PathBuf {
    let new = old.with_extension(extension);
    let extension = match new == old {
        true => format!("aligned.{extension}"),
        false => extension.to_owned(),
    };
    // A name has 255 bytes at most.
    let stem = old.file_stem().map(|stem| stem.to_string_lossy());
    let mut stem = stem.unwrap_or_default().into_owned();
    while stem.len() + 1 + extension.len() > 255 && stem.pop().is_some() {}
    old.with_file_name(format!("{stem}.{extension}"))
}

/// What `--image-opts` opens a disk by, in quotes.
///
/// # Errors
/// [`Refusal::UnsafeName`].
pub(super) fn source(format: &str, file: &Path) -> Result<String, Refusal> {
    // Fields are divided by commas; one that is meant is written twice.
    let file = safe(file)?.replace(',', ",,");
    let driver = match format {
        // Its size is what its footer says, as Windows takes it, and not what its geometry comes to.
        "vhd" => "vpc,force_size_calc=current_size",
        other => other,
    };
    quoted(Path::new(&format!(
        "driver={driver},file.driver=file,file.filename={file}"
    )))
}

/// The path of the file that a virtual disk lies in, when a script can change what is in it.
pub(super) fn file(job: &Job<'_>, disk: LayerId) -> Option<PathBuf> {
    let layer = job.stack.layer(disk);
    let file = *layer.below.first()?;
    let path = job.path(file).ok()?;
    let is_known =
        layer.kind == LayerKind::Container && New::like(job.stack, disk, &path).is_some();
    is_known.then_some(path)
}

/// The lines around a script that changes what lies in a virtual disk: what refuses another file, then those that make the variable
/// of the device a file of raw bytes, and those that write the new disk at the end.
pub(super) fn guard(
    job: &Job<'_>,
    (layer, disk): (LayerId, LayerId),
    number: usize,
    is_known: bool,
) -> Result<Guarded, Refusal> {
    let raw = variable("disk", number);
    let inside = marked(&Guard::within(job.stack, layer, disk), &raw);
    if is_known {
        return Ok(Guarded {
            opened: inside,
            ..Guarded::default()
        });
    }
    let container = job.stack.layer(disk);
    let format = container.format.as_deref().unwrap_or_default();
    let (Some(path), Some(below)) = (file(job, disk), container.below.first()) else {
        return Err(Refusal::Unknown(format!(
            "{} has no path that a script could open",
            container.name
        )));
    };
    let converted = job.plan.steps.iter().find_map(|step| match &step.change {
        Change::Image(image) if image.disk == disk => Some(New::converted(image.to, &path)),
        _ => None,
    });
    let Some(new) = converted.or_else(|| New::like(job.stack, disk, &path)) else {
        return Err(Refusal::Unknown(format!("qemu-img writes no {format}")));
    };
    let [old_name, new_name, source_name, folder, drop] =
        ["old", "new", "source", "unpacked", "drop_raw"].map(|name| variable(name, number));
    let mut before = format!("\n{old_name}={}\n", quoted(&path)?);
    before += &marked(&Guard::of(job.stack, *below), &old_name);
    before += &format!(
        "not_in_use \"${old_name}\"\n\
         need qemu-img qemu-utils\n\
         {new_name}={}\n\
         [ ! -e \"${new_name}\" ] || die \"${new_name} is there already; move it away, or delete it\"\n\
         {source_name}={}\n",
        quoted(&new.path)?,
        source(format, &path)?
    );
    if format == "qcow2" {
        before += &format!(
            "snapshots=$(qemu-img snapshot --image-opts -l \"${source_name}\") || die \"${old_name} cannot be read, or its guest runs\"\n\
             [ -z \"$snapshots\" ] || die \"${old_name} has snapshots in it, which the new file would not have: delete them first\"\n"
        );
    }
    let options = quoted(Path::new(&new.options))?;
    Ok(Guarded {
        before,
        opened: format!(
            "\n{folder}=$(mktemp -d \"$folder/straddle-fix.XXXXXX\") || die \"cannot make a folder in $folder\"\n\
             {drop}() {{ if [ \"$status\" = 2 ]; then rm -rf \"${folder}\"; fi; }}\n\
             at_end {drop}\n\
             {raw}=${folder}/disk.raw\n\
             as_raw \"${source_name}\" \"${raw}\"\n{inside}"
        ),
        closed: format!(
            "\nas_new \"${raw}\" {} {options} \"${new_name}\"\n\
             rm \"${raw}\"\nrmdir \"${folder}\" 2> /dev/null || :\n\
             say \"${new_name} is the changed disk; name it in the guest's configuration, and delete ${old_name} when the guest has started from it\"\n",
            new.format
        ),
    })
}
