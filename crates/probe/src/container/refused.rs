//! Formats that are recognised and not followed: they are out of use, and qemu-img makes a followed one of them.
//!
//! ```text
//! QED        0x00  "QED\0"                0x30  u64 disk size, little-endian
//! Parallels  0x00  "WithoutFreeSpace" or "WithouFreSpacExt"
//!            0x1c  u32 sectors of a block 0x24  u64 sectors of the disk (u32 in the first), little-endian
//! dmg        512 bytes before the end  "koly"
//! ```
//!
//! Sources: QEMU `docs/interop/qed_spec.txt`, `docs/interop/parallels.txt` (facts only).

use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Key};

use super::{Container, Format, Opening};
use crate::Magic;
use crate::record::{Place, Recorder};

const PLAIN: &[u8] = b"WithoutFreeSpace";
const EXTENDED: &[u8] = b"WithouFreSpacExt";

pub(crate) static QED: Format = Format {
    name: "qed",
    reads: "",
    refuses: "all of it: convert it with qemu-img",
    magics: &[Magic {
        offset: 0,
        bytes: b"QED\0",
    }],
    tail: &[],
    open: qed,
};

pub(crate) static PARALLELS: Format = Format {
    name: "parallels",
    reads: "",
    refuses: "all of it: convert it with qemu-img",
    magics: &[
        Magic {
            offset: 0,
            bytes: PLAIN,
        },
        Magic {
            offset: 0,
            bytes: EXTENDED,
        },
    ],
    tail: &[],
    open: parallels,
};

pub(crate) static DMG: Format = Format {
    name: "dmg",
    reads: "",
    refuses: "all of it: convert it with qemu-img",
    magics: &[],
    tail: &[Magic {
        offset: KOLY,
        bytes: b"koly",
    }],
    open: dmg,
};

/// How far before the end the trailer of a dmg stands.
const KOLY: u64 = 512;

fn dmg(opening: &Opening<'_>) -> Result<Option<Container>, ReadError> {
    let at = opening.window.size().get().saturating_sub(KOLY);
    let at = usize::try_from(at).unwrap_or(usize::MAX);
    Ok(Some(refused(
        opening,
        "dmg",
        "dmg",
        Place::new(at, 4),
        None,
    )))
}

fn qed(opening: &Opening<'_>) -> Result<Option<Container>, ReadError> {
    Ok(Some(refused(opening, "QED", "qed", Place::new(0, 4), None)))
}

fn parallels(opening: &Opening<'_>) -> Result<Option<Container>, ReadError> {
    let extended = opening.window.matches(0, EXTENDED)?;
    let variant = if extended { "extended" } else { "plain" };
    let place = Place::new(0, 16);
    Ok(Some(refused(
        opening,
        "Parallels",
        "parallels",
        place,
        Some(variant),
    )))
}

fn refused(
    opening: &Opening<'_>,
    name: &str,
    qemu: &str,
    magic: Place,
    variant: Option<&'static str>,
) -> Container {
    let mut record = Recorder::new(&opening.window, 0);
    if let Some(variant) = variant {
        record.text(Key::Subformat, variant, magic);
    }
    let detail = format!(
        "a virtual disk in the format {name}, which is not followed. qemu-img convert -f {qemu} -O qcow2 makes one that is; where its blocks lie changes with that"
    );
    record.odd(AnomalyKind::Unreadable, detail, magic);
    Container::unusable(record.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::testing::open;
    use crate::fixture::{Asked, Volume};

    #[test]
    fn they_are_named_with_what_to_do_next() {
        let image = Volume::new(4096).with(0, b"QED\0");
        let container = open(&QED, &image);
        assert!(container.disk.is_none());
        assert_eq!(container.detected.anomalies(), [AnomalyKind::Unreadable]);
        let detail = &container.detected.anomalies[0].detail;
        assert!(
            detail.contains("qemu-img convert -f qed -O qcow2"),
            "{detail}"
        );
    }

    #[test]
    fn a_dmg_is_known_by_its_end() {
        let image = Volume::new(4096).with(4096 - 512, b"koly");
        let container = open(&DMG, &image);
        assert!(container.disk.is_none());
        let detail = &container.detected.anomalies[0].detail;
        assert!(
            detail.contains("qemu-img convert -f dmg -O qcow2"),
            "{detail}"
        );
    }

    #[test]
    fn both_variants_of_parallels_are_told_apart() {
        for (magic, want) in [(PLAIN, "plain"), (EXTENDED, "extended")] {
            let container = open(&PARALLELS, &Volume::new(4096).with(0, magic));
            assert!(container.disk.is_none());
            assert_eq!(
                container.detected.text(Key::Subformat).as_deref(),
                Some(want)
            );
        }
    }
}
