//! A virtual disk is converted: into a format whose blocks lie on round places, without the chain of parents below it.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Grid, Map, Unit};
use straddle_rules::{RepairKind, codes};
use straddle_stack::{Fact, GridRole, Key, LayerId, LayerKind, Stack};

use super::kind::{Kind, Proposal};
use crate::{How, Situation};

pub(super) static KIND: Kind<Image> = Kind {
    name: "image",
    title: "the format of a virtual disk",
    repair: RepairKind::Image,
    propose,
};

/// A conversion.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Image {
    /// The virtual disk.
    pub disk: LayerId,
    /// The file that it lies in.
    pub file: LayerId,
    /// Its format now: `vhd`.
    pub from: String,
    /// Its format then.
    pub to: Format,
    /// Its size, as its guest sees it.
    pub size: Option<Bytes>,
}

/// What a virtual disk is converted into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// VHDX: blocks at multiples of 1 MiB by definition.
    Vhdx,
    /// qcow2 with clusters of 64 KiB.
    Qcow2,
    /// VMDK in two files, one of which has the data from its first byte on.
    FlatVmdk,
}

impl Format {
    /// What takes the place of a format: what the same programs read.
    fn instead_of(format: &str) -> Option<Format> {
        match format {
            "vhd" | "vhdx" => Some(Format::Vhdx),
            "vmdk" => Some(Format::FlatVmdk),
            "qcow2" | "qcow" | "qed" | "vdi" | "parallels" => Some(Format::Qcow2),
            _ => None,
        }
    }

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Vhdx => "vhdx",
            Format::Qcow2 => "qcow2",
            Format::FlatVmdk => "vmdk",
        }
    }

    /// Where the data begin in the file, and what is allocated at once.
    fn shape(self) -> (Bytes, Option<Unit>) {
        match self {
            Format::Vhdx => (Bytes::mib(1), Some(Unit::MIB)),
            Format::Qcow2 => (Bytes::mib(1), Unit::new(64 << 10)),
            Format::FlatVmdk => (Bytes::ZERO, None),
        }
    }
}

fn propose(situation: &Situation<'_>, disk: LayerId) -> Option<Proposal<Image>> {
    let layer = situation.stack.layer(disk);
    if layer.kind != LayerKind::Container {
        return None;
    }
    let here = situation.calls_for(disk, KIND.repair);
    let above = situation
        .children(disk)
        .any(|(id, _)| situation.found(id, codes::GUEST_ALIGNED_HOST_OFF));
    if !here && !above {
        return None;
    }
    let from = layer.format.as_deref()?.to_owned();
    let to = Format::instead_of(&from)?;
    let file = *layer.below.first()?;
    let size = layer.size.as_ref().map(|size| size.value);
    let mut notes = vec![
        "shut the guest down first; saved states and snapshots refer to the old file, which is kept until you delete it"
            .to_owned(),
        "name the new file in the guest's configuration".to_owned(),
    ];
    if from == "vdi" {
        notes.push(
            "VirtualBox does not run guests from qcow2; there, `VBoxManage clonemedium` makes a new VDI whose data begin at 1 MiB"
                .to_owned(),
        );
    }
    let (start, _) = to.shape();
    Some(Proposal {
        title: format!("convert {from} to {}", words(to)),
        how: How::Copy {
            bytes: size.unwrap_or(Bytes::ZERO),
        },
        arithmetic: vec![match to {
            Format::FlatVmdk => "data from byte 0 of a file of its own".to_owned(),
            _ => format!(
                "blocks at multiples of their size behind byte {}",
                start.grouped()
            ),
        }],
        notes,
        blockers: Vec::new(),
        change: Image {
            disk,
            file,
            from,
            to,
            size,
        },
    })
}

fn words(format: Format) -> &'static str {
    match format {
        Format::Vhdx => "VHDX, whose blocks lie on multiples of 1 MiB",
        Format::Qcow2 => "qcow2 with clusters of 64 KiB",
        Format::FlatVmdk => "a flat VMDK, whose data begin a file of their own",
    }
}

impl Image {
    pub(super) fn apply(&self, stack: &mut Stack) {
        let (start, block) = self.to.shape();
        let layer = stack.layer_mut(self.disk);
        layer.format = Some(self.to.name().into());
        layer.below = vec![self.file];
        layer.map = Map::Linear { start };
        layer.survey = None;
        layer.anomalies.clear();
        layer.attributes.retain(|a| a.key == Key::PartitionTable);
        layer
            .grids
            .retain(|grid| grid.role != GridRole::ContainerBlock);
        if let Some(block) = block {
            let block = Fact::derived(Grid::new(block), "planned");
            layer.add_grid(GridRole::ContainerBlock, block);
        }
    }
}
