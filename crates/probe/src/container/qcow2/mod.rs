//! qcow2, the native format of QEMU, versions 2 and 3.
//!
//! ```text
//! big-endian
//! 0x00  "QFI\xfb"                        0x04  u32 version
//! 0x08  u64 backing file name: offset    0x10  u32 its length
//! 0x14  u32 cluster bits, 9 to 21        0x18  u64 disk size
//! 0x20  u32 encryption: 1 AES, 2 LUKS    0x24  u32 entries of the L1 table
//! 0x28  u64 L1 table offset              0x30  u64 refcount table   0x38  u32 its clusters
//! 0x3c  u32 snapshots                    0x40  u64 snapshot table
//! version 3 (version 2 ends here):
//! 0x48  u64 incompatible features: 0 dirty, 1 corrupt, 2 external data file, 3 compression type, 4 extended L2
//! 0x50  u64 compatible features: 0 lazy refcounts
//! 0x58  u64 autoclear features: 0 bitmaps, 1 raw external data
//! 0x60  u32 refcount order               0x64  u32 header length
//! 0x68  u8  compression type: 0 deflate, 1 zstd
//! then header extensions: u32 type, u32 length, data padded to 8 bytes; type 0 ends them
//! ```
//!
//! The tables are described in `table.rs`. Every cluster lies at a multiple of its size in the file, so the phase of a
//! disk against a grid of up to a cluster is that of the file itself.
//!
//! Of an encrypted image the map is given like that of any other: encryption keeps offsets. What its clusters hold is not
//! what the guest wrote, which [`Key::Encryption`] and an anomaly say.
//!
//! Source: QEMU `docs/interop/qcow2.txt`; limits as in `block/qcow2.c` (facts only).

mod table;
#[cfg(test)]
mod tests;
mod unpack;
mod used;

use std::sync::Arc;
use straddle_geometry::{Bytes, Extent, Unit};
use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, GridRole, Key};
use zerocopy::big_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use self::table::Table;
use self::unpack::Compression;
use super::table::TableFile;
use super::{Container, Content, Disk, Format, Opening, OpensAs, Reference, Role};
use crate::record::{Place, Recorder, place, printable};
use crate::{Magic, Window};

pub(crate) static FORMAT: Format = Format {
    name: "qcow2",
    reads: "versions 2 and 3; any cluster size; extended L2 entries; external data file, raw or not; backing files; zero and compressed clusters (deflate, zstd)",
    refuses: "what is inside an encrypted image (its map is read); unknown incompatible features; backing files that are no file (json:, nbd://)",
    magics: &[Magic {
        offset: 0,
        bytes: b"QFI\xfb",
    }],
    tail: &[],
    open,
};

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Header {
    magic: [u8; 4],
    version: U32,
    backing_offset: U64,
    backing_len: U32,
    cluster_bits: U32,
    size: U64,
    encryption: U32,
    l1_entries: U32,
    l1_offset: U64,
    refcount_offset: U64,
    refcount_clusters: U32,
    snapshots: U32,
    snapshots_offset: U64,
    incompatible: U64,
    compatible: U64,
    autoclear: U64,
    refcount_order: U32,
    header_len: U32,
    compression: u8,
    padding: [u8; 7],
}

const V2_LEN: u32 = 72;
const V3_LEN: u32 = 104;

const DIRTY: u64 = 1 << 0;
const CORRUPT: u64 = 1 << 1;
const DATA_FILE: u64 = 1 << 2;
const COMPRESSION_TYPE: u64 = 1 << 3;
const EXTENDED_L2: u64 = 1 << 4;
const KNOWN: u64 = DIRTY | CORRUPT | DATA_FILE | COMPRESSION_TYPE | EXTENDED_L2;
const LAZY_REFCOUNTS: u64 = 1 << 0;
const BITMAPS: u64 = 1 << 0;
const RAW_DATA_FILE: u64 = 1 << 1;

const BACKING_FORMAT: u32 = 0xe279_2aca;
const FEATURE_NAMES: u32 = 0x6803_f857;
const DATA_FILE_NAME: u32 = 0x4441_5441;

/// QEMU refuses longer L1 tables; 32 MiB are 2 EiB with clusters of 2 MiB.
const MAX_L1: u64 = 32 << 20;
/// QEMU refuses longer names.
const MAX_NAME: u32 = 1023;
/// QEMU writes five at most.
const MAX_EXTENSIONS: usize = 64;
/// There are 64 features of each of three kinds.
const MAX_FEATURE_NAMES: u64 = 192;

/// What the header extensions say: where the data of each lies in the file.
#[derive(Default)]
struct Extensions {
    backing_format: Option<Place>,
    data_file: Option<Place>,
    feature_names: Option<Place>,
    /// What is wrong with them, and where.
    damage: Option<(String, Place)>,
}

fn open(opening: &Opening<'_>) -> Result<Option<Container>, ReadError> {
    let window = &opening.window;
    let mut header = Header::new_zeroed();
    window.fill(0, &mut header.as_mut_bytes()[..V2_LEN as usize])?;
    let version = header.version.get();
    let mut record = Recorder::new(window, 0);
    record.text(Key::Version, version.to_string(), place!(Header.version));
    if !(2..=3).contains(&version) {
        let detail = format!(
            "qcow version {version}, which is not followed; expected 2 or 3. qemu-img convert -O qcow2 makes one"
        );
        record.odd(AnomalyKind::Unreadable, detail, place!(Header.version));
        return Ok(Some(Container::unusable(record.finish())));
    }
    if version == 3 {
        window.fill(0, &mut header.as_mut_bytes()[..V3_LEN as usize])?;
        if header.header_len.get() > V3_LEN {
            window.fill(
                V3_LEN.into(),
                core::slice::from_mut(&mut header.compression),
            )?;
        }
    } else {
        header.header_len = U32::new(V2_LEN);
    }
    let cluster_bits = header.cluster_bits.get();
    if !(9..=21).contains(&cluster_bits) {
        let detail =
            format!("clusters of 2^{cluster_bits} bytes; expected 2^9 (512 bytes) to 2^21 (2 MiB)");
        record.odd(AnomalyKind::Damaged, detail, place!(Header.cluster_bits));
        return Ok(Some(Container::unusable(record.finish())));
    }
    let cluster = 1_u64 << cluster_bits;
    if header.header_len.get() < V2_LEN.max(if version == 3 { V3_LEN } else { 0 })
        || u64::from(header.header_len.get()) > cluster
    {
        let detail = format!(
            "a header of {} bytes; expected {V3_LEN} to {}, a cluster",
            header.header_len,
            Bytes::new(cluster).grouped()
        );
        record.odd(AnomalyKind::Damaged, detail, place!(Header.header_len));
        return Ok(Some(Container::unusable(record.finish())));
    }
    let extensions = Extensions::read(window, &header, cluster)?;
    let usable = features(window, &mut record, &header, &extensions)?;
    record.grid(
        GridRole::ContainerBlock,
        cluster,
        0,
        place!(Header.cluster_bits),
    );
    let references = references(window, &mut record, &header, &extensions)?;
    if let Some((detail, place)) = extensions.damage {
        record.odd(AnomalyKind::Damaged, detail, place);
    }
    if header.snapshots.get() > 0 {
        let count = header.snapshots.get().into();
        record.count(Key::Snapshots, count, place!(Header.snapshots));
    }
    let extended = header.incompatible.get() & EXTENDED_L2 != 0;
    if extended && cluster_bits < 14 {
        let detail = format!(
            "clusters of {} bytes with subclusters; expected 16 KiB or more",
            Bytes::new(cluster).grouped()
        );
        record.odd(AnomalyKind::Damaged, detail, place!(Header.cluster_bits));
        return Ok(Some(Container::unusable(record.finish())));
    }
    let l1_len = u64::from(header.l1_entries.get()) * 8;
    if l1_len > MAX_L1 {
        let detail = format!(
            "an L1 table of {} entries; expected at most {}",
            Bytes::new(header.l1_entries.get().into()).grouped(),
            Bytes::new(MAX_L1 / 8).grouped()
        );
        record.odd(AnomalyKind::Damaged, detail, place!(Header.l1_entries));
        return Ok(Some(Container::unusable(record.finish())));
    }
    let (Some(block), true) = (Unit::new(cluster), usable) else {
        return Ok(Some(Container::unusable(record.finish())));
    };
    let has_data_file = header.incompatible.get() & DATA_FILE != 0;
    let target_of = |role| {
        references
            .iter()
            .position(|r: &Reference| r.role == role)
            .map(|at| at + 1)
    };
    let table = Table {
        l1: TableFile::new(&opening.file),
        l2: TableFile::new(&opening.file),
        file_size: window.size().get(),
        l1_start: header.l1_offset.get(),
        l1_entries: header.l1_entries.get().into(),
        block,
        cluster_bits,
        size: Bytes::new(header.size.get()),
        version,
        extended,
        data_file: has_data_file,
        target: if has_data_file {
            target_of(Role::Part).unwrap_or(0)
        } else {
            0
        },
        parent: target_of(Role::Parent),
        compression: Compression::of(header.compression),
    };
    let l1_end = header.l1_offset.get().checked_add(l1_len);
    if l1_end.is_none_or(|end| end > window.size().get()) {
        let detail = format!(
            "the L1 table of {} bytes at byte {} reaches beyond the end of the file at byte {}",
            Bytes::new(l1_len).grouped(),
            Bytes::new(header.l1_offset.get()).grouped(),
            window.size().grouped()
        );
        record.odd(AnomalyKind::Damaged, detail, place!(Header.l1_offset));
    } else if header.l1_offset.get() % cluster != 0 {
        let detail = format!(
            "the L1 table lies at byte {}; expected a multiple of {}",
            Bytes::new(header.l1_offset.get()).grouped(),
            Bytes::new(cluster).grouped()
        );
        record.odd(AnomalyKind::Damaged, detail, place!(Header.l1_offset));
    }
    if table.l1_needed() > table.l1_entries {
        let detail = format!(
            "an L1 table of {} entries for a disk of {} bytes: {} would be needed",
            Bytes::new(table.l1_entries).grouped(),
            table.size.grouped(),
            Bytes::new(table.l1_needed()).grouped()
        );
        record.odd(AnomalyKind::Damaged, detail, place!(Header.l1_entries));
    }
    if extended {
        let detail = place!(Header.incompatible);
        record.bytes(Key::SubclusterSize, cluster / 32, detail);
    }
    let disk = Disk {
        size: record.fact(table.size, place!(Header.size)),
        content: Content::Blocks(Arc::new(table)),
        references,
        identities: Vec::new(),
    };
    Ok(Some(Container {
        detected: record.finish(),
        disk: Some(disk),
    }))
}

/// Records what the feature bits and the fields they bring say. False when the image cannot be followed.
fn features(
    window: &Window<'_>,
    record: &mut Recorder<'_>,
    header: &Header,
    extensions: &Extensions,
) -> Result<bool, ReadError> {
    let at = place!(Header.incompatible);
    let incompatible = header.incompatible.get();
    if incompatible & DIRTY != 0 {
        let detail = "marked dirty: its reference counts may be stale. qemu-img check -r leaks repairs that; the map does not depend on them";
        record.odd(AnomalyKind::Damaged, detail, at);
    }
    if incompatible & CORRUPT != 0 {
        let detail = "marked corrupt: QEMU found clusters with two owners and writes to it no more. qemu-img check says which";
        record.odd(AnomalyKind::Damaged, detail, at);
    }
    let unknown = incompatible & !KNOWN;
    if unknown != 0 {
        let names = feature_names(window, extensions, unknown)?;
        let detail = format!(
            "needs features that are not known here: {names}. qemu-img convert -O qcow2 of the QEMU that made it leaves them out"
        );
        record.odd(AnomalyKind::Unreadable, detail, at);
    }
    if header.version.get() == 3 {
        let lazy = header.compatible.get() & LAZY_REFCOUNTS != 0;
        record.flag(Key::LazyRefcounts, lazy, place!(Header.compatible));
        let name = Compression::of(header.compression).name();
        let place = if header.header_len.get() > V3_LEN {
            place!(Header.compression)
        } else {
            at
        };
        record.text(Key::ClusterCompression, name, place);
        if Compression::of(header.compression).is_unknown() {
            let detail = format!(
                "compression type {}; expected 0 (deflate) or 1 (zstd). Its compressed clusters cannot be read",
                header.compression
            );
            record.odd(AnomalyKind::Unreadable, detail, place);
        } else if (header.compression != 0) != (incompatible & COMPRESSION_TYPE != 0) {
            let detail = format!(
                "compression type {} and the feature bit for it {}",
                header.compression,
                if header.compression == 0 {
                    "set"
                } else {
                    "not set"
                }
            );
            record.odd(AnomalyKind::Damaged, detail, place);
        }
        if header.autoclear.get() & BITMAPS != 0 {
            record.flag(Key::DirtyBitmaps, true, place!(Header.autoclear));
        }
    } else {
        record.text(Key::ClusterCompression, "deflate", place!(Header.version));
    }
    let encryption = match header.encryption.get() {
        0 => return Ok(unknown == 0),
        1 => "AES-CBC of qcow2".to_owned(),
        2 => "LUKS".to_owned(),
        other => format!("method {other}"),
    };
    let detail = format!(
        "encrypted ({encryption}): where its clusters lie is known, what the guest has in them is not. Inspect the guest through qemu-nbd with its secret"
    );
    record.text(Key::Encryption, encryption, place!(Header.encryption));
    record.odd(AnomalyKind::Missing, detail, place!(Header.encryption));
    Ok(unknown == 0)
}

/// The names of incompatible features by their bits, as the image gives them.
fn feature_names(
    window: &Window<'_>,
    extensions: &Extensions,
    bits: u64,
) -> Result<String, ReadError> {
    let mut names = Vec::new();
    let mut named = 0_u64;
    if let Some(place) = extensions.feature_names {
        let base = u64::try_from(place.offset).unwrap_or(u64::MAX);
        let count = u64::try_from(place.len / 48).unwrap_or(0);
        for index in 0..count.min(MAX_FEATURE_NAMES) {
            let entry: [u8; 48] = window.get(base.saturating_add(index * 48))?;
            let bit = 1_u64.checked_shl(entry[1].into()).unwrap_or(0);
            if entry[0] == 0 && bits & bit & !named != 0 {
                named |= bit;
                names.push(format!("{} (bit {})", printable(&entry[2..]), entry[1]));
            }
        }
    }
    for bit in 0..64 {
        if (bits & !named) >> bit & 1 != 0 {
            names.push(format!("bit {bit}, which it does not name"));
        }
    }
    Ok(names.join(", "))
}

/// The other files that the image needs: its data file, then its parent.
fn references(
    window: &Window<'_>,
    record: &mut Recorder<'_>,
    header: &Header,
    extensions: &Extensions,
) -> Result<Vec<Reference>, ReadError> {
    let mut references = Vec::new();
    if header.incompatible.get() & DATA_FILE != 0 {
        let raw = header.autoclear.get() & RAW_DATA_FILE != 0;
        record.flag(Key::RawDataFile, raw, place!(Header.autoclear));
        let place = extensions.data_file;
        let name = match place {
            Some(place) => text(window, place)?,
            None => String::new(),
        };
        let place = place.unwrap_or(place!(Header.incompatible));
        if name.is_empty() {
            let detail = "its data lies in another file, which it does not name; QEMU takes the name from its option data-file";
            record.odd(AnomalyKind::Missing, detail, place);
        } else {
            record.text(Key::DataFile, printable(name.as_bytes()), place);
        }
        references.push(Reference {
            role: Role::Part,
            names: followed(record, Role::Part, &name, place),
            opens_as: OpensAs::Raw,
            expects: None,
            source: record.source(place),
        });
    }
    let len = header.backing_len.get();
    if header.backing_offset.get() == 0 || len == 0 {
        return Ok(references);
    }
    let offset = usize::try_from(header.backing_offset.get()).unwrap_or(usize::MAX);
    let mut place = Place::new(offset, len as usize);
    let field = Extent::new(
        Bytes::new(header.backing_offset.get()),
        Bytes::new(len.into()),
    );
    let mut name = String::new();
    if len > MAX_NAME {
        place = place!(Header.backing_len);
        let detail = format!("a backing file name of {len} bytes; expected at most {MAX_NAME}");
        record.odd(AnomalyKind::Damaged, detail, place);
    } else if field.is_none_or(|field| field.end() > window.size()) {
        place = place!(Header.backing_offset);
        let detail = format!(
            "the name of the backing file lies at byte {}, beyond the end of the file at byte {}",
            Bytes::new(header.backing_offset.get()).grouped(),
            window.size().grouped()
        );
        record.odd(AnomalyKind::Damaged, detail, place);
    } else {
        name = text(window, place)?;
        record.text(Key::Parent, printable(name.as_bytes()), place);
    }
    let mut opens_as = OpensAs::Any;
    if let Some(place) = extensions.backing_format {
        let format = text(window, place)?;
        record.text(Key::ParentFormat, printable(format.as_bytes()), place);
        opens_as = match format.as_str() {
            "raw" | "file" | "host_device" => OpensAs::Raw,
            "qcow2" => OpensAs::Format("qcow2"),
            "qcow" => OpensAs::Format("qcow"),
            "qed" => OpensAs::Format("qed"),
            "vmdk" => OpensAs::Format("vmdk"),
            "vdi" => OpensAs::Format("vdi"),
            "vpc" => OpensAs::Format("vhd"),
            "vhdx" => OpensAs::Format("vhdx"),
            "parallels" => OpensAs::Format("parallels"),
            _ => OpensAs::Any,
        };
    }
    references.push(Reference {
        role: Role::Parent,
        names: followed(record, Role::Parent, &name, place),
        opens_as,
        expects: None,
        source: record.source(place),
    });
    Ok(references)
}

/// The names under which a file is to be looked for: none, with an anomaly, when `name` is no path. QEMU takes what
/// stands before the first `:` for a protocol unless a `/` comes before it.
fn followed(record: &mut Recorder<'_>, role: Role, name: &str, place: Place) -> Vec<String> {
    let path = name.strip_prefix("file:").unwrap_or(name);
    let protocol = path
        .split_once(':')
        .map(|(protocol, _)| protocol)
        // A single letter is a drive of Windows.
        .filter(|protocol| protocol.len() > 1 && !protocol.contains('/'));
    match protocol {
        Some(protocol) => {
            let detail = format!(
                "its {} is `{}`, which is not a path: {} is not followed, so what lies there is unknown",
                role.name(),
                printable(name.as_bytes()),
                printable(protocol.as_bytes())
            );
            record.odd(AnomalyKind::Missing, detail, place);
            Vec::new()
        }
        None if path.is_empty() => Vec::new(),
        None => vec![path.to_owned()],
    }
}

/// A name in the file; at most [`MAX_NAME`] bytes of it.
fn text(window: &Window<'_>, place: Place) -> Result<String, ReadError> {
    let mut bytes = vec![0; place.len.min(MAX_NAME as usize)];
    window.fill(u64::try_from(place.offset).unwrap_or(u64::MAX), &mut bytes)?;
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

impl Extensions {
    fn read(window: &Window<'_>, header: &Header, cluster: u64) -> Result<Extensions, ReadError> {
        let mut found = Extensions::default();
        // They end where the backing file's name begins, at the latest with the first cluster.
        let backing = header.backing_offset.get();
        let end = if (1..=cluster).contains(&backing) {
            backing
        } else {
            cluster
        }
        .min(window.size().get());
        let mut at = u64::from(header.header_len.get());
        for count in 0.. {
            let place = Place::new(usize::try_from(at).unwrap_or(usize::MAX), 8);
            if at + 8 > end {
                break;
            }
            if count == MAX_EXTENSIONS {
                let detail = format!("more than {MAX_EXTENSIONS} header extensions");
                found.damage = Some((detail, place));
                break;
            }
            let kind = U32::from_bytes(window.get(at)?).get();
            let len = U32::from_bytes(window.get(at + 4)?).get();
            if kind == 0 {
                break;
            }
            if u64::from(len) > end - (at + 8) {
                let detail = format!(
                    "a header extension of {} bytes at byte {}, where {} are left",
                    Bytes::new(len.into()).grouped(),
                    Bytes::new(at).grouped(),
                    Bytes::new(end - (at + 8)).grouped()
                );
                found.damage = Some((detail, place));
                break;
            }
            let data = Place::new(place.offset + 8, len as usize);
            match kind {
                BACKING_FORMAT => found.backing_format = Some(data),
                DATA_FILE_NAME => found.data_file = Some(data),
                FEATURE_NAMES => found.feature_names = Some(data),
                _ => {}
            }
            at += 8 + u64::from(len).next_multiple_of(8);
        }
        Ok(found)
    }
}
