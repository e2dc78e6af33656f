//! What scripts for Windows need of a plan: how a disk is told from others there, and what becomes of its partitions.

use straddle_geometry::Bytes;
use straddle_stack::{GridRole, Key, Layer, LayerKind, Value};

use super::{Job, Order, Refusal, safe};
use crate::change::Change;
use crate::change::partitions::{Entry, Partitions};

/// A disk whose partitions are re-created.
pub(super) struct Disk<'a> {
    /// Its number; an image has none.
    pub(super) number: Option<u64>,
    /// The least and the most that its size can be.
    pub(super) size: (u64, u64),
    /// Signature of an MBR.
    pub(super) signature: Option<u32>,
    /// GUID of a GPT, in capitals without braces.
    pub(super) guid: Option<&'a str>,
    /// Its model.
    pub(super) model: Option<&'a str>,
    /// Its serial number.
    pub(super) serial: Option<&'a str>,
    /// What is planned.
    pub(super) plan: &'a Partitions,
    /// Its partitions, by their start.
    pub(super) parts: Vec<Part<'a>>,
}

/// One partition.
pub(super) struct Part<'a> {
    /// What is planned.
    pub(super) entry: &'a Entry,
    /// Whether its number is the one that Windows' own tools know it by.
    pub(super) is_number_sure: bool,
    /// Whether its length is known to the byte.
    pub(super) is_length_sure: bool,
    /// The filesystem that it is given, in lower case; empty for one that stays as it is.
    pub(super) filesystem: &'static str,
    /// Allocation unit that the filesystem is given; `None` for its default.
    pub(super) unit: Option<Bytes>,
    /// Volume label.
    pub(super) label: &'a str,
    /// Where it is found.
    pub(super) home: Home<'a>,
}

/// Where Windows shows a volume.
#[derive(Clone, Copy)]
pub(super) enum Home<'a> {
    /// `E:`.
    Letter(char),
    /// An empty folder of another volume.
    Folder(&'a str),
    /// Nothing says.
    Unknown,
}

/// Filesystems that are re-created, by their name here and there.
const FILESYSTEMS: [(&str, &str); 3] = [("ntfs", "ntfs"), ("refs", "refs"), ("exfat", "exfat")];
/// Types of partitions whose volumes this can make again: of an MBR, and the basic data of a GPT.
const DATA: [&str; 4] = ["07", "27", "17", "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7"];
/// Size of what old interfaces count disks in: a cylinder of 255 tracks of 63 sectors.
pub(super) const CYLINDER: u64 = 255 * 63 * 512;

impl<'a> Disk<'a> {
    /// The disk of a step.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] when what is known would not tell it from others, or not do to make its volumes again.
    pub(super) fn of(job: &Job<'a>, change: &'a Change) -> Result<Disk<'a>, Refusal> {
        let plan = super::partitions_of(change)?;
        let layer = job.stack.layer(plan.device);
        let name = &layer.name;
        let unknown = |text: String| Err(Refusal::Unknown(text));
        let Some(size) = size(layer) else {
            return unknown(format!(
                "the size of {name} is not known; capture wmic diskdrive, Get-Disk or diskpar -i as well"
            ));
        };
        let id = layer.text(Key::TableId);
        let parts: Result<Vec<Part<'a>>, Refusal> = plan
            .entries
            .iter()
            .map(|entry| Part::of(job, entry))
            .collect();
        for (_, part) in job
            .stack
            .above(plan.device)
            .map(|id| (id, job.stack.layer(id)))
        {
            if part.kind == LayerKind::Partition && part.attribute(Key::HoldsPartitions).is_some() {
                return unknown(format!(
                    "{} holds logical drives, which no script makes again: move to primary partitions, or to a GPT, by hand",
                    part.name
                ));
            }
        }
        Ok(Disk {
            number: name.strip_prefix("disk ").and_then(|n| n.parse().ok()),
            size,
            signature: id
                .filter(|id| id.len() == 8)
                .and_then(|id| u32::from_str_radix(id, 16).ok()),
            guid: id.filter(|id| id.len() == 36),
            model: layer.text(Key::Model),
            serial: layer.text(Key::Serial),
            plan,
            parts: parts?,
        })
    }

    /// Partitions that are re-created.
    pub(super) fn changing(&self) -> impl DoubleEndedIterator<Item = &Part<'a>> {
        self.parts.iter().filter(|part| part.entry.changes())
    }

    /// What is not known without which no disk is told from others.
    pub(super) fn needs_identity(&self, what: &str) -> Result<(), Refusal> {
        let is_known = self.signature.is_some() || self.guid.is_some() || self.serial.is_some();
        if is_known {
            return Ok(());
        }
        Err(Refusal::Unknown(format!(
            "neither signature, GUID nor serial number of the disk are known; no script is written that could not refuse the wrong one: {what}"
        )))
    }

    /// True for the last partition, when nothing of note is behind it.
    pub(super) fn fills(&self, part: &Part<'_>) -> bool {
        let last = self.parts.last().map(|last| last.entry.layer);
        let end = part.entry.from.end().get();
        last == Some(part.entry.layer)
            && (!part.is_length_sure || self.size.0.saturating_sub(end) < 2 * CYLINDER)
    }
}

/// The size of a disk: exact, or within one cylinder.
fn size(layer: &Layer) -> Option<(u64, u64)> {
    if let Some(size) = &layer.size {
        return Some((size.value.get(), size.value.get()));
    }
    match &layer.attribute(Key::SizeShown)?.value {
        Value::Between(size) => {
            let (from, to) = (size.from().get(), size.to().get());
            (to.checked_sub(from)? < CYLINDER).then_some((from, to))
        }
        _ => None,
    }
}

impl<'a> Part<'a> {
    fn of(job: &Job<'a>, entry: &'a Entry) -> Result<Part<'a>, Refusal> {
        let layer = job.stack.layer(entry.layer);
        let above = job.stack.above(entry.layer).next();
        let volume = above.map(|id| job.stack.layer(id));
        let format = volume.and_then(|volume| volume.format.as_deref());
        let known = FILESYSTEMS
            .iter()
            .find(|(name, _)| Some(*name) == format)
            .map(|(_, name)| *name);
        let is_data = entry
            .kind
            .as_deref()
            .is_none_or(|kind| DATA.contains(&kind));
        let filesystem = match (entry.changes(), known) {
            (false, _) => "",
            (true, Some(name)) if is_data => name,
            _ => {
                return Err(Refusal::Unknown(format!(
                    "what {} holds is not known, or nothing that can be re-created and filled from a backup; capture fsutil fsinfo \
                     ntfsinfo or Get-Volume as well",
                    layer.name
                )));
            }
        };
        // The plan may give it another allocation unit in a later step.
        let then = above.map(|id| job.plan.after.layer(id));
        let unit = then.and_then(|then| then.grid(GridRole::AllocationUnit));
        Ok(Part {
            entry,
            is_number_sure: !layer.name.contains('#'),
            is_length_sure: layer.size.is_some(),
            filesystem,
            unit: unit.map(|unit| unit.value.unit().bytes()),
            label: volume.and_then(|v| v.text(Key::Label)).unwrap_or_default(),
            home: home(volume),
        })
    }
}

/// A volume is called by its letter or by its folder where one is known.
fn home(volume: Option<&Layer>) -> Home<'_> {
    let Some(volume) = volume else {
        return Home::Unknown;
    };
    let name = volume.text(Key::MountPoint).unwrap_or(&volume.name);
    let mut chars = name.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some(letter), Some(':'), None) if letter.is_ascii_alphabetic() => {
            Home::Letter(letter.to_ascii_uppercase())
        }
        (Some(letter), Some(':'), Some('\\')) if letter.is_ascii_alphabetic() => {
            Home::Folder(name.trim_end_matches('\\'))
        }
        _ => Home::Unknown,
    }
}

/// Text of one line in ASCII, which is the same in every code page.
///
/// # Errors
/// [`Refusal::UnsafeName`].
pub(super) fn ascii(text: &str) -> Result<&str, Refusal> {
    safe(text.as_ref())?;
    if text.is_ascii() {
        return Ok(text);
    }
    Err(Refusal::UnsafeName {
        name: text.to_owned(),
        what: "character that is not the same in every code page",
    })
}

/// Text for a comment: one line of ASCII.
pub(super) fn comment(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\u{2192}' => '>',
            c if c.is_ascii() && !c.is_control() => c,
            _ => '?',
        })
        .collect()
}

/// Lines as Windows ends them.
pub(super) fn crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

/// The heading of every script, in lines without the signs of a comment.
pub(super) fn heading(order: &Order<'_>) -> Vec<String> {
    let Order { job, tool, .. } = *order;
    let mut lines = vec![
        format!(
            "{}: what `straddle fix` plans for it, by {}.",
            job.target, tool.title
        ),
        String::new(),
    ];
    for step in &job.plan.steps {
        let by = match ((tool.does)(&step.change), (order.other)(&step.change)) {
            (true, _) => "here".to_owned(),
            (false, Some(other)) => format!("not here: straddle fix --script {}", other.name),
            (false, None) => "by hand".to_owned(),
        };
        lines.push(format!("Step {} ({by}): {}", step.number, step.title));
        let notes = step.arithmetic.iter().chain(&step.notes);
        lines.extend(notes.map(|text| format!("  {text}")));
    }
    lines.push(String::new());
    lines.iter().map(|line| comment(line)).collect()
}
