//! What the prober says of a file, as far as it decides whether the file may be changed.

use std::sync::Arc;

use straddle_geometry::{BlockTable, Bytes};
use straddle_io::{ReadAt, Reader};
use straddle_probe::container::{Content, Disk, OpensAs, Role, recognise};
use straddle_stack::{AnomalyKind, Key, Source};

use crate::Store;

/// What a call that was stopped may leave behind, in a format: it is made good, and is no reason to refuse.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// Two copies of a structure that differ.
    pub(super) copies: bool,
    /// A field at this byte that contradicts others.
    pub(super) field: Option<u64>,
    /// Other files are named, which are looked at by themselves.
    pub(super) parts: bool,
}

/// The disk of a file.
pub(super) struct Recognised {
    /// Its table; `None` when it is in one piece, or in several files.
    pub(super) table: Option<Arc<dyn BlockTable>>,
    pub(super) disk: Disk,
}

/// What the prober gives of `file`.
///
/// # Errors
/// Why it is not changed in place.
pub(super) fn recognised(
    file: &Arc<dyn Store>,
    format: &'static str,
    permitted: &Found,
) -> Result<Recognised, String> {
    let bytes: Arc<dyn ReadAt> = file.clone();
    let reader = Reader::new(&*bytes);
    let found = recognise(&reader, &bytes).map_err(|error| error.to_string())?;
    let (_, container) = found
        .filter(|(found, _)| found.name == format)
        .ok_or("it is not recognised any more")?;
    let detected = &container.detected;
    let text = |key| {
        let mut found = detected.attributes.iter().filter(|found| found.key == key);
        found.next().map(|found| found.value.value.to_string())
    };
    if let Some(how) = text(Key::Encryption) {
        return Err(format!(
            "it is encrypted ({how}): what a partition needs changed in it cannot be read"
        ));
    }
    if let Some(log) = text(Key::PendingLog) {
        return Err(format!(
            "its log holds changes that were not carried out ({log}): attach the disk once with the program that wrote it, or run \
             `qemu-img check -r all` on it"
        ));
    }
    if let Some(count) = text(Key::Snapshots).filter(|count| count != "0") {
        return Err(format!(
            "it has snapshots ({count}), which share blocks with the disk: delete them with `qemu-img snapshot -d`"
        ));
    }
    if text(Key::SavedState).is_some() {
        return Err("its machine was suspended, and goes on with what it knows of the disk: start it and shut it down".to_owned());
    }
    for anomaly in &detected.anomalies {
        let at = match &anomaly.source {
            Some(Source::Image(bytes)) => Some(bytes.offset().get()),
            _ => None,
        };
        let is_permitted = match anomaly.kind {
            AnomalyKind::CopiesDiffer => permitted.copies,
            AnomalyKind::Damaged => at.is_some() && at == permitted.field,
            _ => false,
        };
        if !is_permitted {
            return Err(anomaly.detail.clone());
        }
    }
    let disk = container.disk.ok_or("it cannot be read")?;
    for reference in &disk.references {
        match reference.role {
            Role::Parent => {
                let name = reference.names.first().map_or("", String::as_str);
                return Err(format!(
                    "it holds only what differs from its parent {name}: blocks that are moved would have to be copied from there"
                ));
            }
            Role::Part if permitted.parts && reference.opens_as != OpensAs::Any => {}
            Role::Part => return Err("its data lies in another file".to_owned()),
        }
    }
    if disk.size.value == Bytes::ZERO {
        return Err("a disk of 0 bytes".to_owned());
    }
    let table = match &disk.content {
        Content::Blocks(table) => Some(Arc::clone(table)),
        Content::Linear(_) | Content::Extents(_) => None,
    };
    Ok(Recognised { table, disk })
}
