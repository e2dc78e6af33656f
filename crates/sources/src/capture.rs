//! Captures: what a check of this host reads, written down by reading it.

use std::collections::BTreeMap;
use std::io::Write;

use crate::linux::allowed::allowed;
use crate::linux::dm::maker;
use crate::linux::entry::{Entry, Record, with_directories};
use crate::linux::pseudonyms::Pseudonyms;
use crate::linux::{Root, archive, tree};
use crate::{Settings, SourceError, metadata};

/// What a capture holds beyond the host itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureOptions {
    /// Files whose extents are captured too, so that [`file`](crate::file) can be asked about them.
    pub files: Vec<String>,
    /// Tables and superblocks of the devices: what a check reads of them, with the identifiers that are in them. A plan for the host
    /// needs them.
    pub metadata: bool,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureReport {
    /// Number of files of the host in the archive.
    pub files: usize,
    /// Number of identifiers that were replaced by pseudonyms.
    pub replaced: usize,
    /// Number of devices of which tables and superblocks are in it.
    pub devices: usize,
    /// Files asked for about which nothing is known, and why.
    pub unknown: Vec<(String, String)>,
}

/// Writes what [`host`](crate::host) and [`file`](crate::file) read below `root`, as a gzipped tar.
///
/// The list of files is not kept anywhere: a check is run and everything that it reads is recorded, so the archive
/// cannot lack what a check needs; of each file only what its reader uses. Identifiers do not travel: serial numbers are not read unless the root allows it,
/// mounts that are not on block devices are left out, device-mapper UUIDs are cut to the prefix that says who made
/// them, and a WWID, a UUID, the name of an iSCSI or NVMe target, or a name that udev made of a serial number that appears
/// anywhere else (in a device's name, a mount point) is replaced by a pseudonym.
/// Mount points, paths of files behind loop devices, model names and logical volumes' names are kept: findings are
/// about them. Bytes of the devices themselves are captured where [`CaptureOptions::metadata`] asks for them: the blocks that a check
/// reads, as they are.
///
/// # Errors
/// As [`host`](crate::host), and [`SourceError::Write`].
pub fn capture(
    root: &Root,
    options: &CaptureOptions,
    out: &mut dyn Write,
) -> Result<CaptureReport, SourceError> {
    let (entries, report) = recorded(root, options)?;
    archive::write(&entries, out).map_err(SourceError::Write)?;
    Ok(report)
}

/// The same in the text form that [`Root::from_tree`] reads.
///
/// # Errors
/// As [`host`](crate::host).
pub fn capture_tree(root: &Root, options: &CaptureOptions) -> Result<String, SourceError> {
    Ok(tree::write(&recorded(root, options)?.0))
}

fn recorded(root: &Root, options: &CaptureOptions) -> Result<(Record, CaptureReport), SourceError> {
    root.start_recording(options.metadata);
    let settings = Settings::default();
    let checked = crate::host(root, &settings);
    let mut unknown = Vec::new();
    for path in &options.files {
        if let Err(error) = crate::file(root, path, &Settings::default()) {
            unknown.push((path.clone(), error.to_string()));
        }
    }
    let (record, closed) = root.stop_recording();
    let closed = closed.into_iter();
    unknown.extend(closed.map(|(name, why)| (format!("what is on {name}"), why)));
    checked?;
    let (entries, replaced) = without_identifiers(record);
    let devices = entries.keys().filter(|path| metadata::is_at(path)).count();
    let files = entries
        .values()
        .filter(|entry| matches!(entry, Entry::File(_)))
        .count()
        - devices;
    let report = CaptureReport {
        files,
        replaced,
        devices,
        unknown,
    };
    Ok((with_directories(entries), report))
}

/// Leaves what readers use, and replaces identifiers; gives the number of different ones.
fn without_identifiers(record: Record) -> (Record, usize) {
    let mut names = Pseudonyms::default();
    let mut record = record;
    for (path, entry) in &mut record {
        let Entry::File(bytes) = entry else { continue };
        if is_kept(path) {
            continue;
        }
        let text = String::from_utf8_lossy(bytes).into_owned();
        if path.ends_with("/dm/uuid") {
            names.add_secret(maker(&text).1);
        }
        *bytes = allowed(path, &text).into_bytes();
    }
    let mut out = BTreeMap::new();
    for (path, entry) in record {
        let entry = match entry {
            Entry::Directory => Entry::Directory,
            Entry::Link(target) => Entry::Link(names.replace(&target)),
            Entry::File(bytes) if is_kept(&path) => Entry::File(bytes),
            Entry::File(bytes) => {
                Entry::File(names.replace(&String::from_utf8_lossy(&bytes)).into_bytes())
            }
        };
        out.insert(names.replace(&path), entry);
    }
    (out, names.count())
}

/// What Windows answered is kept as it is: serial numbers are taken out of it before it is recorded. So are bytes of devices, which were
/// asked for.
fn is_kept(path: &str) -> bool {
    metadata::is_at(path) || path.starts_with(crate::windows::FOLDER.trim_start_matches('/'))
}
