//! Where a differencing VHD says its parent is: in a name and in up to eight locators.

use straddle_geometry::Bytes;
use straddle_io::ReadError;
use straddle_stack::{AnomalyKind, Key};
use zerocopy::big_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Header;
use crate::Window;
use crate::container::names::{Names, utf16_be, utf16_le};
use crate::container::{OpensAs, Reference, Role};
use crate::record::{Place, Recorder, place, uuid};

/// Longest path that is read: Windows allows 32,767 characters.
const MAX_LEN: u64 = 64 << 10;

/// One locator. Space is in sectors by the specification and in bytes in practice; it is not needed.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct Locator {
    platform: [u8; 4],
    space: U32,
    len: U32,
    reserved: U32,
    offset: U64,
}

/// Platforms in the order in which their paths are tried: what is relative survives a move of both files.
const PLATFORMS: [&[u8; 4]; 5] = [b"W2ru", b"Wi2r", b"W2ku", b"Wi2k", b"MacX"];

/// What the header of a differencing disk says about the parent.
pub(super) fn reference(
    window: &Window<'_>,
    record: &mut Recorder<'_>,
    header: &Header,
) -> Result<Reference, ReadError> {
    let mut names = Names::default();
    for platform in PLATFORMS {
        for (index, locator) in header.locators.iter().enumerate() {
            if locator.platform != *platform {
                continue;
            }
            let offset = core::mem::offset_of!(Header, locators) + index * size_of::<Locator>();
            let field = Place::new(offset + 8, 16);
            let (at, len) = (locator.offset.get(), u64::from(locator.len.get()));
            let inside = at
                .checked_add(len)
                .is_some_and(|end| end <= window.size().get());
            if !inside || len > MAX_LEN {
                let detail = format!(
                    "the parent locator {} of {} bytes at byte {} is {}; it is left out",
                    String::from_utf8_lossy(platform),
                    Bytes::new(len).grouped(),
                    Bytes::new(at).grouped(),
                    if inside {
                        "longer than any path"
                    } else {
                        "beyond the end of the file"
                    }
                );
                record.odd(AnomalyKind::Damaged, detail, field);
                continue;
            }
            let mut raw = vec![0; usize::try_from(len).unwrap_or(0)];
            window.fill(at, &mut raw)?;
            let text = match &locator.platform {
                b"W2ru" | b"W2ku" => utf16_le(&raw),
                _ => String::from_utf8_lossy(&raw).into_owned(),
            };
            names.add(&text);
        }
    }
    let name = utf16_be(&header.parent_name);
    names.add(&name);
    if let Some(first) = [name.as_str()].into_iter().find(|n| !n.is_empty()) {
        record.name(Key::Parent, first.as_bytes(), place!(Header.parent_name));
    }
    let changed = u64::from(header.parent_changed.get());
    record.count(Key::ParentChanged, changed, place!(Header.parent_changed));
    Ok(Reference {
        role: Role::Parent,
        names: names.finish(),
        opens_as: OpensAs::Format("vhd"),
        expects: Some(uuid(header.parent_uuid)),
        source: record.source(place!(Header.parent_uuid)),
    })
}
