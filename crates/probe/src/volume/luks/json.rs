//! The metadata of LUKS2: JSON, of which the segments, the requirements and some counts are read.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::marker::PhantomData;
use straddle_stack::{AnomalyKind, Fact};

use super::Piece;
use crate::record::{Place, Recorder};

/// Deeper than any metadata that cryptsetup writes, which have six levels.
const MAX_DEPTH: usize = 32;
/// More segments than any volume has: during a re-encryption there are up to seven.
const MAX_SEGMENTS: usize = 256;
/// More key slots than a header may have (32).
const MAX_SLOTS: usize = 256;

/// Objects by name, the first so many of them.
struct Few<T, const MAX: usize> {
    kept: Vec<(String, T)>,
    left_out: bool,
}

impl<T, const MAX: usize> Default for Few<T, MAX> {
    fn default() -> Self {
        Few {
            kept: Vec::new(),
            left_out: false,
        }
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Few<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reading<T, const MAX: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Reading<T, MAX> {
            type Value = Few<T, MAX>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut few = Few::default();
                loop {
                    if few.kept.len() < MAX {
                        match map.next_entry()? {
                            Some(entry) => few.kept.push(entry),
                            None => return Ok(few),
                        }
                    } else if map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                        few.left_out = true;
                    } else {
                        return Ok(few);
                    }
                }
            }
        }
        from.deserialize_map(Reading(PhantomData))
    }
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, default)]
    segments: Few<Segment<'a>, MAX_SEGMENTS>,
    #[serde(borrow, default)]
    keyslots: Few<Slot<'a>, MAX_SLOTS>,
    #[serde(borrow, default)]
    config: Config<'a>,
}

#[derive(Deserialize)]
struct Segment<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    offset: Option<&'a RawValue>,
    #[serde(borrow)]
    size: Option<&'a RawValue>,
    #[serde(borrow)]
    encryption: Option<&'a RawValue>,
    #[serde(borrow)]
    sector_size: Option<&'a RawValue>,
    #[serde(borrow)]
    integrity: Option<Integrity<'a>>,
    #[serde(borrow)]
    flags: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Integrity<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Slot<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    mode: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Config<'a> {
    #[serde(borrow)]
    keyslots_size: Option<&'a RawValue>,
    #[serde(borrow, default)]
    requirements: Requirements<'a>,
}

#[derive(Default, Deserialize)]
struct Requirements<'a> {
    #[serde(borrow)]
    mandatory: Option<&'a RawValue>,
}

/// What the JSON says, each value with its place in the text.
pub(super) struct Metadata<'a> {
    text: &'a str,
    document: Document<'a>,
}

/// Reads the metadata.
///
/// # Errors
/// In words, when they are no JSON of the form that the format has.
pub(super) fn read(text: &[u8]) -> Result<Metadata<'_>, String> {
    let text = std::str::from_utf8(text).map_err(|error| format!("no text: {error}"))?;
    if depth(text) > MAX_DEPTH {
        return Err(format!("more than {MAX_DEPTH} levels, where six are usual"));
    }
    let document = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(Metadata { text, document })
}

/// How deeply objects and arrays are nested.
fn depth(text: &str) -> usize {
    let (mut deepest, mut here) = (0, 0_usize);
    let (mut quoted, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                here += 1;
                deepest = deepest.max(here);
            }
            b'}' | b']' if !quoted => here = here.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// A string.
fn text(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str::<String>(raw?.get())
        .ok()
        .map(|text| crate::record::printable(text.as_bytes()))
}

/// A number, as a string (which is how numbers of 64 bits are written) or as one.
fn number(raw: Option<&RawValue>) -> Option<u64> {
    let raw = raw?.get();
    raw.trim_matches('"').parse().ok()
}

/// Strings.
fn texts(raw: Option<&RawValue>) -> Vec<String> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

impl Metadata<'_> {
    /// Where a value stands in the text.
    fn place(&self, raw: Option<&RawValue>) -> Place {
        let Some(raw) = raw.map(RawValue::get) else {
            return Place::new(0, 1);
        };
        let at = (raw.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        Place::new(at, raw.len())
    }

    /// The segments that are in force, in their order.
    pub(super) fn pieces(&self, say: &mut Recorder<'_>) -> Vec<Piece> {
        let segments = &self.document.segments;
        let mut in_force: Vec<(u64, &Segment<'_>)> = Vec::new();
        for (name, segment) in &segments.kept {
            // What it was before, and what it is to be.
            let backup = |flag: &String| flag.starts_with("backup-");
            if !texts(segment.flags).iter().any(backup) {
                in_force.push((name.parse().unwrap_or(u64::MAX), segment));
            }
        }
        in_force.sort_by_key(|(number, _)| *number);
        if segments.left_out {
            let detail = format!(
                "more than {MAX_SEGMENTS} segments in a LUKS2 header; where its data lie is not followed"
            );
            say.odd(AnomalyKind::LimitReached, detail, Place::new(0, 1));
            return Vec::new();
        }
        let pieces: Option<Vec<Piece>> = in_force
            .iter()
            .map(|(_, segment)| self.piece(segment, say))
            .collect();
        pieces
            .filter(|pieces| !pieces.is_empty())
            .unwrap_or_else(|| {
                if in_force.is_empty() {
                    let detail = "a LUKS2 header has no data segment";
                    say.odd(AnomalyKind::Damaged, detail, Place::new(0, 1));
                }
                Vec::new()
            })
    }

    fn piece(&self, segment: &Segment<'_>, say: &mut Recorder<'_>) -> Option<Piece> {
        let Some(offset) = number(segment.offset) else {
            let detail = "a segment of a LUKS2 header does not say where it begins";
            say.odd(AnomalyKind::Damaged, detail, self.place(segment.kind));
            return None;
        };
        let dynamic = text(segment.size).is_some_and(|size| size == "dynamic");
        let len = number(segment.size);
        if len.is_none() && !dynamic {
            let detail =
                "the length of a segment of a LUKS2 header is neither a number nor `dynamic`";
            say.odd(AnomalyKind::Damaged, detail, self.place(segment.size));
            return None;
        }
        let kind = text(segment.kind).unwrap_or_default();
        let encrypts = matches!(kind.as_str(), "crypt" | "hw-opal-crypt");
        let fact = |raw: Option<&RawValue>| Some(say.fact(text(raw)?, self.place(raw)));
        let sector = number(segment.sector_size).filter(|_| encrypts);
        if sector.is_some_and(|n| !matches!(n, 512 | 1024 | 2048 | 4096)) {
            let detail =
                "an encryption sector of a LUKS2 header is not 512, 1024, 2048 or 4096 bytes";
            say.odd(
                AnomalyKind::Damaged,
                detail,
                self.place(segment.sector_size),
            );
            return None;
        }
        let integrity = segment.integrity.as_ref().map(|integrity| integrity.kind);
        Some(Piece {
            offset: say.fact(offset, self.place(segment.offset)),
            len: len.map(|len| say.fact(len, self.place(segment.size))),
            cipher: fact(segment.encryption).filter(|_| encrypts),
            sector: sector.map(|n| say.fact(n, self.place(segment.sector_size))),
            integrity: integrity.and_then(fact),
            by_the_drive: kind.starts_with("hw-opal"),
        })
    }

    /// What was begun and not finished, as its key slot says: `encrypt`, `reencrypt` or `decrypt`.
    pub(super) fn unfinished(&self, say: &Recorder<'_>) -> Option<Fact<String>> {
        let mandatory = self.document.config.requirements.mandatory;
        let wanted = |word: &String| word.contains("reencrypt");
        texts(mandatory).iter().find(|word| wanted(word))?;
        let slots = &self.document.keyslots.kept;
        let mode = slots
            .iter()
            .find(|(_, slot)| text(slot.kind).as_deref() == Some("reencrypt"))
            .and_then(|(_, slot)| text(slot.mode));
        Some(say.fact(
            mode.unwrap_or_else(|| "reencrypt".to_owned()),
            self.place(mandatory),
        ))
    }

    pub(super) fn first_cipher(&self) -> Option<(String, Place)> {
        let mut segments = self.document.segments.kept.iter();
        segments.find_map(|(_, segment)| {
            Some((text(segment.encryption)?, self.place(segment.encryption)))
        })
    }

    pub(super) fn first_integrity(&self) -> Option<(String, Place)> {
        let mut segments = self.document.segments.kept.iter();
        segments.find_map(|(_, segment)| {
            let kind = segment.integrity.as_ref()?.kind;
            Some((text(kind)?, self.place(kind)))
        })
    }

    /// How many key slots hold a key, and where the first stands.
    pub(super) fn key_slots(&self) -> (u64, Place) {
        let slots = || {
            let kept = self.document.keyslots.kept.iter();
            kept.filter(|(_, slot)| text(slot.kind).as_deref() == Some("luks2"))
        };
        let first = slots().next().and_then(|(_, slot)| slot.kind);
        (
            u64::try_from(slots().count()).unwrap_or(0),
            self.place(first),
        )
    }

    /// What the area of the key slots takes.
    pub(super) fn key_area(&self) -> Option<(u64, Place)> {
        let raw = self.document.config.keyslots_size;
        Some((number(raw)?, self.place(raw)))
    }
}
