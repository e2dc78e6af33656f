use straddle_geometry::Bytes;
use straddle_stack::{AnomalyKind, Attribute, Fact, GridRole, Key, Source, Value};
use uuid::Uuid;

use crate::{Detected, Window};

/// Where a field of an on-disk structure lies in it; made by [`place!`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) offset: usize,
    pub(crate) len: usize,
}

impl Place {
    pub(crate) const fn new(offset: usize, len: usize) -> Place {
        Place { offset, len }
    }
}

/// Length of the field that `_field` selects.
pub(crate) const fn field_len<T, F>(_field: fn(&T) -> &F) -> usize {
    size_of::<F>()
}

/// The [`Place`] of a field: `place!(BootSector.hidden_sectors)`. Offsets come from the structure itself, so the
/// evidence cannot point anywhere but at the bytes that were read.
macro_rules! place {
    ($structure:ident . $field:ident) => {
        $crate::record::Place::new(
            core::mem::offset_of!($structure, $field),
            $crate::record::field_len(|s: &$structure| &s.$field),
        )
    };
}
pub(crate) use place;

/// A text in a fixed field, up to its first zero, without trailing blanks. Control characters, which would reach a
/// terminal, are replaced.
pub(crate) fn printable(raw: &[u8]) -> String {
    let end = raw.iter().position(|b| *b == 0).unwrap_or(raw.len());
    String::from_utf8_lossy(raw.get(..end).unwrap_or(&[]))
        .trim_end()
        .chars()
        .map(|c| {
            if c.is_control() {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect()
}

/// An identifier as its own system prints it: the serial numbers of FAT and NTFS are numbers with their low byte first, the
/// rest are UUIDs.
fn identifier(raw: &[u8]) -> String {
    match *raw {
        [a, b, c, d] => format!("{d:02X}{c:02X}-{b:02X}{a:02X}"),
        [a, b, c, d, e, f, g, h] => {
            format!("{:016X}", u64::from_le_bytes([a, b, c, d, e, f, g, h]))
        }
        _ => Uuid::from_slice(raw).map_or_else(|_| String::new(), |uuid| uuid.to_string()),
    }
}

/// A UUID whose bytes are in the order in which it is written.
pub(crate) fn uuid(raw: [u8; 16]) -> String {
    Uuid::from_bytes(raw).to_string()
}

/// A GUID, whose first three fields are stored with their low byte first.
pub(crate) fn guid(raw: [u8; 16]) -> String {
    Uuid::from_bytes_le(raw).to_string()
}

/// Collects what one on-disk structure says; every fact names the field it came from.
pub(crate) struct Recorder<'a> {
    window: &'a Window<'a>,
    base: u64,
    found: Detected,
}

impl<'a> Recorder<'a> {
    /// For a structure at byte `base` of `window`.
    pub(crate) fn new(window: &'a Window<'a>, base: u64) -> Recorder<'a> {
        Recorder {
            window,
            base,
            found: Detected::default(),
        }
    }

    /// Goes on with what was found before, for a structure at byte `base` of `window`.
    pub(crate) fn resumed(window: &'a Window<'a>, base: u64, found: Detected) -> Recorder<'a> {
        Recorder {
            window,
            base,
            found,
        }
    }

    /// The same, for another structure at byte `base`.
    pub(crate) fn rebased(self, base: u64) -> Recorder<'a> {
        Recorder { base, ..self }
    }

    /// Records in `say` what another structure at byte `base` says.
    pub(crate) fn at_base(&mut self, base: u64, say: impl FnOnce(&mut Recorder<'a>)) {
        let own = std::mem::replace(&mut self.base, base);
        say(self);
        self.base = own;
    }

    /// Where the structure lies in the window.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Names the member of a family of formats that this is.
    pub(crate) fn variant(&mut self, name: &'static str) {
        self.found.variant = Some(name);
    }

    /// What was collected.
    pub(crate) fn finish(self) -> Detected {
        self.found
    }

    fn at(&self, place: Place) -> u64 {
        self.base
            .saturating_add(u64::try_from(place.offset).unwrap_or(u64::MAX))
    }

    /// A position or a length in bytes.
    pub(crate) fn bytes(&mut self, key: Key, n: u64, place: Place) {
        self.value(key, Value::Bytes(Bytes::new(n)), place);
    }

    /// A position or a length in bytes that is recorded only when it is not zero: zero means "not set".
    pub(crate) fn bytes_if_set(&mut self, key: Key, n: u64, place: Place) {
        if n != 0 {
            self.bytes(key, n, place);
        }
    }

    /// A number of things.
    pub(crate) fn count(&mut self, key: Key, n: u64, place: Place) {
        self.value(key, Value::Count(n), place);
    }

    /// Yes or no.
    pub(crate) fn flag(&mut self, key: Key, flag: bool, place: Place) {
        self.value(key, Value::Flag(flag), place);
    }

    /// A version or a name.
    pub(crate) fn text(&mut self, key: Key, text: impl Into<String>, place: Place) {
        self.value(key, Value::Text(text.into().into()), place);
    }

    /// A volume label; see [`Recorder::name`].
    pub(crate) fn label(&mut self, raw: &[u8], place: Place) {
        self.name(Key::Label, raw, place);
    }

    /// The identifier of a filesystem, `N` bytes (4, 8 or 16) at byte `offset` of the structure; left out when nothing is
    /// there but zeroes.
    pub(crate) fn volume_id<const N: usize>(&mut self, offset: usize) {
        let place = Place { offset, len: N };
        let raw: Option<[u8; N]> = self.window.get(self.at(place)).ok();
        let Some(raw) = raw.filter(|raw| raw.iter().any(|byte| *byte != 0)) else {
            return;
        };
        self.text(Key::VolumeId, identifier(&raw), place);
    }

    /// That a structure records another checksum of itself than its bytes give; nothing when they agree. What else it says
    /// is used.
    pub(crate) fn checksum(&mut self, what: &str, recorded: u32, computed: u32, place: Place) {
        if recorded != computed {
            let detail = format!(
                "the checksum of the {what} is {recorded:08x}; its bytes give {computed:08x}: it is read all the same"
            );
            self.odd(AnomalyKind::Damaged, detail, place);
        }
    }

    /// A name, padded with zeroes or blanks; an empty one is left out.
    pub(crate) fn name(&mut self, key: Key, raw: &[u8], place: Place) {
        let text = printable(raw);
        if !text.is_empty() {
            self.text(key, text, place);
        }
    }

    /// A field as evidence.
    pub(crate) fn source(&self, place: Place) -> Source {
        self.window.source(self.at(place), place.len)
    }

    /// `value`, with a field as its provenance.
    pub(crate) fn fact<T>(&self, value: T, place: Place) -> Fact<T> {
        self.window.fact(value, self.at(place), place.len)
    }

    fn value(&mut self, key: Key, value: Value, place: Place) {
        let at = self.at(place);
        self.found.record(self.window, key, value, at, place.len);
    }

    /// A number of bytes that several fields give together; `from` is the arithmetic.
    pub(crate) fn derived(&mut self, key: Key, n: u64, from: impl Into<String>) {
        self.found.attributes.push(Attribute {
            key,
            value: Fact::derived(Value::Bytes(Bytes::new(n)), from),
        });
    }

    /// A grid of `unit` bytes with a boundary at byte `phase` of the window.
    pub(crate) fn grid(&mut self, role: GridRole, unit: u64, phase: u64, place: Place) {
        let at = self.at(place);
        self.found
            .record_grid(self.window, role, unit, phase, at, place.len);
    }

    /// Something odd about a field.
    pub(crate) fn odd(&mut self, kind: AnomalyKind, detail: impl Into<String>, place: Place) {
        let at = self.at(place);
        self.found.odd(self.window, kind, detail, at, place.len);
    }

    /// That this is a copy, because the primary at byte `usual` was not recognised.
    pub(crate) fn copy_instead_of(&mut self, usual: u64, place: Place) {
        let detail = format!(
            "a copy of the superblock at byte {} is used; the one at byte {} was not recognised",
            Bytes::new(self.base).grouped(),
            Bytes::new(usual).grouped()
        );
        self.odd(AnomalyKind::UnusualPlace, detail, place);
    }

    /// Where the filesystem ends by its own account, and what is odd about that.
    ///
    /// Every format rounds down, some by a whole allocation group, so only a volume that is left unused by a sixteenth
    /// or more is worth a word.
    pub(crate) fn claimed_size(&mut self, n: u64, place: Place) {
        let (claimed, volume) = (Bytes::new(n), self.window.size());
        self.bytes(Key::ClaimedSize, n, place);
        let differs = |what: String| {
            format!(
                "it is made for {} bytes in a volume of {}: {what}",
                claimed.grouped(),
                volume.grouped()
            )
        };
        if let Some(missing) = claimed.checked_sub(volume).filter(|m| *m > Bytes::ZERO) {
            let detail = differs(format!("{} bytes are missing", missing.grouped()));
            self.odd(AnomalyKind::SizeDiffers, detail, place);
            return;
        }
        self.found.size = Some(self.window.fact(claimed, self.at(place), place.len));
        let unused = volume.get() - claimed.get();
        if unused >= volume.get() / 16 {
            let detail = differs(format!("{} bytes are unused", Bytes::new(unused).grouped()));
            self.odd(AnomalyKind::SizeDiffers, detail, place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_io::Reader;

    #[repr(C)]
    struct Sample {
        _first: [u8; 3],
        second: [u8; 4],
    }

    #[test]
    fn a_place_is_where_the_structure_has_the_field() {
        let place = place!(Sample.second);
        assert_eq!((place.offset, place.len), (3, 4));
    }

    #[test]
    fn labels_lose_their_padding_and_control_characters() {
        let data = vec![0; 64];
        let reader = Reader::new(&data);
        let window = Window::whole(&reader, None);
        let mut rec = Recorder::new(&window, 0);
        rec.label(b"a\x1b[2Jb  \0junk", Place::new(0, 16));
        rec.label(b"   \0", Place::new(0, 4));
        let found = rec.finish();
        let labels: Vec<String> = found
            .attributes
            .iter()
            .map(|a| a.value.value.to_string())
            .collect();
        assert_eq!(labels, ["a\u{fffd}[2Jb"]);
    }

    #[test]
    fn identifiers_read_as_their_systems_print_them() {
        assert_eq!(identifier(&[0xcd, 0xab, 0x34, 0x12]), "1234-ABCD");
        let ntfs = [0xef, 0xcd, 0xab, 0x90, 0x78, 0x56, 0x34, 0x02];
        assert_eq!(identifier(&ntfs), "0234567890ABCDEF");
        let ext: Vec<u8> = (0..16).collect();
        assert_eq!(identifier(&ext), "00010203-0405-0607-0809-0a0b0c0d0e0f");
    }

    #[test]
    fn only_a_size_that_differs_much_is_odd() {
        let data = vec![0; 1600];
        let reader = Reader::new(&data);
        let window = Window::whole(&reader, None);
        let claim = |n| {
            let mut rec = Recorder::new(&window, 32);
            rec.claimed_size(n, Place::new(1, 2));
            let found = rec.finish();
            let details: Vec<String> = found.anomalies.iter().map(|o| o.detail.clone()).collect();
            (found.size.map(|f| f.value.get()), details)
        };
        assert_eq!(claim(1600), (Some(1600), vec![]));
        assert_eq!(claim(1501), (Some(1501), vec![]));
        assert_eq!(
            claim(1500),
            (
                Some(1500),
                vec![
                    "it is made for 1,500 bytes in a volume of 1,600: 100 bytes are unused"
                        .to_owned()
                ]
            )
        );
        assert_eq!(
            claim(1601),
            (
                None,
                vec![
                    "it is made for 1,601 bytes in a volume of 1,600: 1 bytes are missing"
                        .to_owned()
                ]
            )
        );
    }

    #[test]
    fn evidence_counts_from_the_base() {
        let data: Vec<u8> = (0..64).collect();
        let reader = Reader::new(&data);
        let window = Window::whole(&reader, None);
        let mut rec = Recorder::new(&window, 32);
        rec.bytes(Key::BlockSize, 1, Place::new(3, 2));
        let found = rec.finish();
        let Source::Image(bytes) = &found.attributes[0].value.source else {
            panic!("from the image")
        };
        assert_eq!(bytes.field(), [35, 36]);
    }
}
