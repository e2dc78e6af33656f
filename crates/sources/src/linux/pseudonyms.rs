//! Identifiers of hardware and volumes, wherever they stand in a capture, and the pseudonyms in their place.

use std::collections::{BTreeSet, HashMap};

/// How the names begin that udev gives to links below `/dev/disk/by-id`, and that people give to mount points after them: the
/// rest is a model and a serial number.
const BY_ID: [&str; 17] = [
    "ata-",
    "scsi-",
    "nvme-",
    "usb-",
    "wwn-",
    "virtio-",
    "mmc-",
    "md-uuid-",
    "md-name-",
    "dm-uuid-",
    "lvm-pv-uuid-",
    "cciss-",
    "ieee1394-",
    "memstick-",
    "raid-",
    "ip-",
    "fc-",
];
/// Folders whose names are identifiers, each of them.
const FOLDERS: [&str; 5] = [
    "/by-id/",
    "/by-path/",
    "/by-uuid/",
    "/by-partuuid/",
    "/by-diskseq/",
];
/// Names of iSCSI and NVMe over fabrics, and of T10.
const NAMES: [&str; 3] = ["iqn.", "nqn.", "t10."];

/// The same pseudonym for the same identifier.
#[derive(Default)]
pub(crate) struct Pseudonyms {
    secrets: BTreeSet<String>,
    known: HashMap<String, usize>,
}

impl Pseudonyms {
    /// Short words would be found everywhere and identify nothing.
    const MIN_LEN: usize = 12;

    /// Something that is an identifier, though it does not look like one.
    pub(crate) fn add_secret(&mut self, secret: &str) {
        if secret.len() >= Self::MIN_LEN {
            self.secrets.insert(secret.to_owned());
        }
    }

    /// Number of identifiers that were replaced.
    pub(crate) fn count(&self) -> usize {
        self.known.len()
    }

    fn pseudonym(&mut self, secret: &str) -> String {
        let next = self.known.len() + 1;
        let number = *self
            .known
            .entry(secret.to_ascii_lowercase())
            .or_insert(next);
        // As long as a UUID, so that it is taken for one where one is expected.
        format!("00000000-0000-0000-0000-{number:012}")
    }

    pub(crate) fn replace(&mut self, text: &str) -> String {
        let mut out = text.to_owned();
        for secret in self.secrets.clone() {
            if out.contains(&secret) {
                let pseudonym = self.pseudonym(&secret);
                out = out.replace(&secret, &pseudonym);
            }
        }
        let read = Read::of(&out);
        let mut done = String::with_capacity(out.len());
        let (mut at, mut copied) = (0, 0);
        while let Some((start, len)) = find_identifier(&read.bytes, at) {
            at = start + len;
            let found = String::from_utf8_lossy(&read.bytes[start..at]).into_owned();
            if found.starts_with("00000000-0000-0000-0000-") {
                continue;
            }
            done.push_str(&out[copied..read.places[start]]);
            done.push_str(&self.pseudonym(&found));
            copied = read.places[at];
        }
        done.push_str(&out[copied..]);
        done
    }
}

/// A text as somebody reads it: `\040` of mount tables, `\x2d` of systemd and udev, `%2D` of links are the characters that they
/// stand for.
struct Read {
    bytes: Vec<u8>,
    /// Where each byte is in the text; one more, for the end.
    places: Vec<usize>,
}

impl Read {
    fn of(text: &str) -> Read {
        let raw = text.as_bytes();
        let (mut bytes, mut places) = (
            Vec::with_capacity(raw.len()),
            Vec::with_capacity(raw.len() + 1),
        );
        let mut at = 0;
        while let Some(first) = raw.get(at) {
            let escape = |mark: &str, digits: usize, radix| {
                let rest = raw
                    .get(at..)?
                    .strip_prefix(mark.as_bytes())?
                    .get(..digits)?;
                let code = u8::from_str_radix(std::str::from_utf8(rest).ok()?, radix).ok()?;
                // Only ASCII: a part of a longer character would be cut.
                code.is_ascii_graphic()
                    .then_some((code, mark.len() + digits))
            };
            let (byte, len) = escape("\\134x", 2, 16)
                .or_else(|| escape("\\x", 2, 16))
                .or_else(|| escape("\\", 3, 8))
                .or_else(|| escape("%", 2, 16))
                .unwrap_or((*first, 1));
            bytes.push(byte);
            places.push(at);
            at += len;
        }
        places.push(raw.len());
        Read { bytes, places }
    }
}

/// The next identifier in `bytes` from `from` on: where, and how long. A UUID (8-4-4-4-12 hexadecimal digits), a WWID (16 or more of
/// them, perhaps after `3`, `eui.`, `naa.` or `0x`), the name of an iSCSI or NVMe target, a name that udev made of a model and a
/// serial number.
fn find_identifier(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    let word = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let mut at = from;
    while at < bytes.len() {
        // Only at the beginning of a word.
        if at > 0 && word(at - 1) {
            at += 1;
            continue;
        }
        if let Some(len) = named(bytes, at) {
            return Some((at, len));
        }
        // A WWID behind `0x` begins with the digit, which is no part of it.
        let digits = if bytes[at..].starts_with(b"0x") {
            at + 2
        } else {
            at
        };
        let run = bytes[digits..]
            .iter()
            .take_while(|byte| byte.is_ascii_hexdigit())
            .count();
        if run == 0 {
            at += 1;
            continue;
        }
        let uuid = (0..36).all(|i| match i {
            8 | 13 | 18 | 23 => bytes.get(digits + i) == Some(&b'-'),
            _ => hex(digits + i),
        });
        if uuid && !word(digits + 36) {
            return Some((digits, 36));
        }
        // A plain number of that length is no identifier: extents and sizes are decimal.
        let letters = bytes[digits..digits + run]
            .iter()
            .any(u8::is_ascii_alphabetic);
        if run >= 16 && !word(digits + run) && (letters || run >= 24 || digits > at) {
            return Some((digits, run));
        }
        at = digits + run;
    }
    None
}

/// The length of an identifier at `at` that is known by how it begins.
fn named(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    let begins = |names: &[&str]| {
        let found = names.iter().find(|name| rest.starts_with(name.as_bytes()));
        found.map(|name| name.len())
    };
    let until = |ends: fn(u8) -> bool| {
        rest.iter()
            .position(|byte| ends(*byte))
            .unwrap_or(rest.len())
    };
    let is_over = |byte: u8| matches!(byte, b'/' | b' ' | b',' | b'\n' | b'\t' | b'"' | b'\\');
    let behind_folder = FOLDERS
        .iter()
        .any(|folder| bytes[..at].ends_with(folder.as_bytes()));
    if behind_folder {
        return Some(until(is_over)).filter(|len| *len > 0);
    }
    if begins(&NAMES).is_some() {
        return Some(until(is_over));
    }
    // A name with one of these beginnings and digits behind it.
    let kept = begins(&BY_ID)?;
    let len = until(is_over);
    let name = rest.get(kept..len)?;
    let is_serial = name.len() >= 6 && name.iter().any(u8::is_ascii_digit);
    let starts_a_name =
        at == 0 || matches!(bytes[at - 1], b'/' | b' ' | b'\n' | b',' | b'=' | b'-');
    (is_serial && starts_a_name).then_some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_found_and_numbers_are_not() {
        let find = |text: &str| {
            let found = find_identifier(text.as_bytes(), 0);
            found.map(|(at, len)| text[at..at + len].to_owned())
        };
        for (text, want) in [
            (
                "/dev/mapper/luks-1B4e28ba-2fa1-11d2-883f-0016d3cca427",
                Some("1B4e28ba-2fa1-11d2-883f-0016d3cca427"),
            ),
            ("eui.0025385b71b0a1c2 x", Some("0025385b71b0a1c2")),
            ("naa.6001405abcdef012", Some("6001405abcdef012")),
            ("0x5000c500a1b2c3d4", Some("5000c500a1b2c3d4")),
            ("0x5000550011223344", Some("5000550011223344")),
            (
                "3600508b400105e210000900000490000",
                Some("3600508b400105e210000900000490000"),
            ),
            (
                "/mnt/iqn.2003-01.org.linux-iscsi.host:sn.1234/x",
                Some("iqn.2003-01.org.linux-iscsi.host:sn.1234"),
            ),
            (
                "/srv/10.0.0.1:3260-iqn.2003-01.org:a-lun-0",
                Some("iqn.2003-01.org:a-lun-0"),
            ),
            (
                "/dev/disk/by-id/ata-WDC_WD40EFRX-68N_WD-WCC7K0-part1",
                Some("ata-WDC_WD40EFRX-68N_WD-WCC7K0-part1"),
            ),
            (
                "/mnt/nvme-Samsung_970_S4EWNX0N1",
                Some("nvme-Samsung_970_S4EWNX0N1"),
            ),
            ("/dev/disk/by-id/short", Some("short")),
            ("0 18446744073709551615 4096 0x0", None),
            ("/sys/devices/pci0000:00/0000:00:02.0/virtio1", None),
            ("/mnt/raid-data", None),
            ("abc", None),
        ] {
            assert_eq!(find(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn the_same_identifier_has_the_same_pseudonym() {
        let mut names = Pseudonyms::default();
        names.add_secret("WDserial99-zzzz");
        let a = names.replace("x WDserial99-zzzz 1b4e28ba-2fa1-11d2-883f-0016d3cca427");
        let b = names.replace("1B4E28BA-2FA1-11D2-883F-0016D3CCA427");
        assert_eq!(
            a,
            "x 00000000-0000-0000-0000-000000000001 00000000-0000-0000-0000-000000000002"
        );
        assert_eq!(b, "00000000-0000-0000-0000-000000000002");
        assert_eq!(names.count(), 2);
    }

    #[test]
    fn escapes_hide_nothing() {
        let mut names = Pseudonyms::default();
        for text in [
            r"/run/1b4e28ba\x2d2fa1\x2d11d2\x2d883f\x2d0016d3cca427 x",
            r"/run/1b4e28ba\134x2d2fa1-11d2-883f-0016d3cca427 x",
            r"/run/1b4e28ba\0552fa1-11d2-883f-0016d3cca427 x",
            "/run/1b4e28ba%2D2fa1-11d2-883f-0016d3cca427 x",
        ] {
            assert_eq!(
                names.replace(text),
                "/run/00000000-0000-0000-0000-000000000001 x"
            );
        }
        assert_eq!(names.replace(r"/a\040b é %C3%A9"), r"/a\040b é %C3%A9");
    }
}
