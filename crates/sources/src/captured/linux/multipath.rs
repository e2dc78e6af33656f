//! `multipath -ll`: disks that are reached several ways, with the name that each way has.
//!
//! ```text
//! mpatha (360002ac0000000000000001f0001b2c3) dm-2 VENDOR,MODEL
//! size=1.0T features='1 queue_if_no_path' hwhandler='1 alua' wp=rw
//! `-+- policy='service-time 0' prio=50 status=active
//!   |- 1:0:0:1 sdb 8:16 active ready running
//!   `- 2:0:0:1 sdc 8:32 active ready running
//! ```
//!
//! Versions before 0.4.9 wrote `[size=1.0T][features=…]`, `\_ round-robin 0 [prio=…]` and `\_ 1:0:0:1 sdb 8:16 [active][ready]`.
//!
//! Source: multipath-tools `libmultipath/print.h`.

use straddle_stack::{Interval, Key, LayerKind};

use super::device;
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "multipath",
    platform: "linux",
    commands: &["multipath -ll"],
    readers: &[Reader::Text {
        anchors: &[Anchor::Within(" dm-")],
        begins: |lines| map(lines[0].text).is_some() && lines.iter().take(3).any(is_of_map),
        read,
    }],
};

/// The most paths of one disk that are taken in.
const MAX_PATHS: usize = 16;

/// The first line of a disk.
struct Map<'t> {
    name: &'t str,
    wwid: Option<&'t str>,
    number: u32,
    product: Option<&'t str>,
}

/// `mpatha (360002ac0…) dm-2 VENDOR,MODEL`; without an alias, the name is the identifier. Before it, `create: ` and the like may stand.
fn map(text: &str) -> Option<Map<'_>> {
    let text = ["create: ", "reload: ", "unchanged: "]
        .iter()
        .find_map(|word| text.strip_prefix(word))
        .unwrap_or(text);
    // A product's name may have blanks.
    let (called, rest) = text.split_once(" dm-")?;
    let (number, product) = rest.split_once(' ').unwrap_or((rest, ""));
    let number = number.parse().ok()?;
    let (name, wwid) = match called.split_once(" (") {
        Some((name, wwid)) => (name.trim(), Some(wwid.strip_suffix(')')?)),
        None => (called.trim(), None),
    };
    let is_name = |text: &str| {
        let mut bytes = text.bytes();
        bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'#' | b':'))
    };
    // Without an alias, the name is an identifier; that of NVMe has words in front.
    let is_identified = wwid.is_some()
        || is_wwid(name)
        || ["eui.", "uuid.", "nvme."]
            .iter()
            .any(|word| name.starts_with(word));
    (is_identified && !name.is_empty() && is_name(name)).then_some(Map {
        name,
        wwid: wwid.or_else(|| is_wwid(name).then_some(name)),
        number,
        product: Some(product.trim()).filter(|product| !product.is_empty()),
    })
}

fn is_wwid(text: &str) -> bool {
    text.len() >= 17 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// True for the line below the first one.
fn is_of_map(line: &Line<'_>) -> bool {
    let text = line.text.trim_start_matches('[');
    text.starts_with("size=") || path(line.text).is_some()
}

/// The name of a path: `sdb` of `|- 1:0:0:1 sdb 8:16 active ready running`.
fn path(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches([' ', '|', '`', '-', '\\', '_']);
    let mut words = rest.split_whitespace();
    let place = words.next()?;
    let digits = |text: &str, separators: usize| {
        text.matches(':').count() == separators
            && text
                .bytes()
                .all(|b| b.is_ascii_digit() || matches!(b, b':' | b'#'))
    };
    let (name, numbers) = (words.next()?, words.next()?);
    let is_path = (digits(place, 3) || digits(place, 0)) && rest.len() < text.len();
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric());
    (is_path && is_name && digits(numbers, 1)).then_some(name)
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let mut open: Option<(Thing, Line<'_>, usize)> = None;
    for line in section.lines {
        if let Some(map) = map(line.text) {
            add(open.take(), notes);
            open = Some((disk(&map, line, notes), *line, 0));
            continue;
        }
        let Some((mut thing, first, paths)) = open.take() else {
            continue;
        };
        let text = line.text.trim_start_matches('[');
        if let Some(size) = text.strip_prefix("size=") {
            let end = size.find([' ', ']']).unwrap_or(size.len());
            thing.size = size_of(&size[..end]).map(|size| notes.said(line, size));
        }
        let path = path(line.text).filter(|_| paths < MAX_PATHS);
        if let Some(path) = path {
            thing = thing.named(device::name(path));
        }
        open = Some((thing, first, paths + usize::from(path.is_some())));
    }
    add(open, notes);
}

/// A disk without a path is one that is gone.
fn add(open: Option<(Thing, Line<'_>, usize)>, notes: &mut Notes<'_>) {
    if let Some((thing, _, 1..)) = open {
        notes.add(thing);
    }
}

fn disk(map: &Map<'_>, line: &Line<'_>, notes: &Notes<'_>) -> Thing {
    let path = format!("/dev/mapper/{}", map.name);
    let mut thing = Thing::new(LayerKind::Device, device::title(&path), device::name(&path))
        .named(device::name(&format!("dm-{}", map.number)));
    // The first digit says which kind of identifier it is.
    if let Some(wwid) = map
        .wwid
        .filter(|wwid| is_wwid(wwid))
        .and_then(|wwid| wwid.get(1..))
    {
        thing = thing.named(Name::new(
            Space::Wwn,
            format!("0x{}", wwid.to_ascii_lowercase()),
        ));
    }
    if let Some(product) = map.product {
        let model = product.split_once(',').map_or(product, |(_, model)| model);
        thing.set_text(Key::Model, notes.said(line, model.trim().to_owned()));
    }
    thing
}

/// `1.5T`, or `200G`: rounded to the nearest, to one decimal below ten (`snprint_size` of libmultipath).
fn size_of(text: &str) -> Option<Interval> {
    number::shown(text, Prefix::Binary, Rounding::Nearest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_geometry::Bytes;

    #[test]
    fn sizes_are_rounded_to_the_nearest() {
        let holds = |text, bytes| {
            size_of(text).is_some_and(|size| {
                size.from() <= Bytes::new(bytes) && Bytes::new(bytes) <= size.to()
            })
        };
        // 99.6 and 100.4 GiB are both `100G`; 100.6 GiB is `101G`.
        assert!(holds("100G", 102_000 << 20) && holds("100G", 102_800 << 20));
        assert!(!holds("100G", 103_000 << 20) && !holds("100G", 101_800 << 20));
        assert!(holds("1.5T", 3 << 39) && !holds("1.5T", 1 << 40));
        assert!(holds("10.0G", 10_200 << 20) && size_of("-").is_none());
    }

    #[test]
    fn lines_of_disks_and_paths_are_told() {
        let of = |text| map(text).map(|map| (map.name, map.wwid, map.number, map.product));
        let wwid = "360002ac0000000000000001f0001b2c3";
        assert_eq!(
            of("mpatha (360002ac0000000000000001f0001b2c3) dm-2 3PARdata,VV"),
            Some(("mpatha", Some(wwid), 2, Some("3PARdata,VV")))
        );
        assert_eq!(
            of("360002ac0000000000000001f0001b2c3 dm-11 ACME , BOX 9"),
            Some((wwid, Some(wwid), 11, Some("ACME , BOX 9")))
        );
        for text in [
            "mpatha: 0 10 linear dm-2 0",
            "see dm-2",
            "a (b) dm-x C,D",
            " (360002ac0000000000000001f0001b2c3) dm-2 C,D",
        ] {
            assert!(of(text).is_none(), "{text}");
        }
        for (text, name) in [
            ("  |- 1:0:0:1 sdb 8:16 active ready running", Some("sdb")),
            ("\\_ 1:0:0:1 sdc 8:32 [active][ready]", Some("sdc")),
            ("  `- #:#:#:# -   #:#  active undef unknown", None),
            ("1:0:0:1 sdb 8:16", None),
            ("`-+- policy='service-time 0' prio=50 status=active", None),
        ] {
            assert_eq!(path(text), name, "{text}");
        }
    }
}
