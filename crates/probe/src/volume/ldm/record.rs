//! One record of the database (VBLK): fields of variable length, one after another.
//!
//! ```text
//! 0   u16  status
//! 2   u8   flags: which optional fields are there
//! 3   u8   kind (low four bits) and revision
//! 4   u32  length of what follows
//! 8   fields; a number is a count of bytes and the bytes, high one first; a text is a count and its characters
//! ```

use crate::record::printable;

/// Bytes before the fields.
const HEAD: usize = 8;

/// A value, and the bytes of the disk that it was read from.
#[derive(Clone, Debug)]
pub(super) struct Field<T> {
    pub(super) value: T,
    pub(super) at: u64,
    pub(super) len: usize,
}

/// A record put together from its pieces.
pub(super) struct Record {
    /// Its bytes.
    data: Vec<u8>,
    /// Where each piece lies in the window.
    pieces: Vec<u64>,
    /// Bytes of each piece.
    per_piece: usize,
}

impl Record {
    pub(super) fn new(data: Vec<u8>, pieces: Vec<u64>, per_piece: usize) -> Record {
        Record {
            data,
            pieces,
            per_piece: per_piece.max(1),
        }
    }

    /// Where byte `offset` of the record lies in the window.
    fn at(&self, offset: usize) -> u64 {
        let piece = self.pieces.get(offset / self.per_piece).copied();
        let within = u64::try_from(offset % self.per_piece).unwrap_or(0);
        piece.unwrap_or(0).saturating_add(within)
    }

    /// Where the record itself lies.
    pub(super) fn start(&self) -> u64 {
        self.at(0)
    }
}

/// Walks over the fields of a record; every step is `None` past its end.
struct Cursor<'a> {
    record: &'a Record,
    next: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, len: usize) -> Option<Field<&'a [u8]>> {
        let end = self.next.checked_add(len).filter(|end| *end <= self.end)?;
        let value = self.record.data.get(self.next..end)?;
        let field = Field {
            value,
            at: self.record.at(self.next),
            len,
        };
        self.next = end;
        Some(field)
    }

    fn skip(&mut self, len: usize) -> Option<()> {
        self.take(len).map(|_| ())
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.value.first().copied()
    }

    fn variable(&mut self) -> Option<Field<&'a [u8]>> {
        let len = self.byte()?;
        self.take(usize::from(len))
    }

    fn number(&mut self) -> Option<Field<u64>> {
        let field = self.variable().filter(|field| field.len <= 8)?;
        Some(Field {
            value: field.value.iter().fold(0, |n, b| n << 8 | u64::from(*b)),
            at: field.at,
            len: field.len,
        })
    }

    fn fixed(&mut self) -> Option<Field<u64>> {
        let field = self.take(8)?;
        Some(Field {
            value: u64::from_be_bytes(field.value.try_into().ok()?),
            at: field.at,
            len: field.len,
        })
    }

    fn text(&mut self) -> Option<Field<String>> {
        let field = self.variable()?;
        Some(Field {
            value: printable(field.value),
            at: field.at,
            len: field.len,
        })
    }
}

/// What a record describes.
pub(super) enum Object {
    Volume(Volume),
    Component(Component),
    Partition(Partition),
    Disk(Disk),
    /// The group itself: its name and GUID stand in the headers too.
    Group,
    /// A record that is not in use.
    Blank,
}

/// What a person knows as a drive.
pub(super) struct Volume {
    pub(super) id: u64,
    pub(super) name: Field<String>,
    pub(super) state: Field<String>,
    /// Number of its components.
    pub(super) children: u64,
    /// Sectors.
    pub(super) size: Field<u64>,
    /// As the type byte of an MBR has it.
    pub(super) kind: Field<u8>,
    /// The drive letter that it had last.
    pub(super) hint: Option<Field<String>>,
}

/// What is inside of a volume: one copy of its data.
pub(super) struct Component {
    pub(super) id: u64,
    pub(super) state: Field<String>,
    pub(super) shape: Field<u8>,
    /// Number of its partitions.
    pub(super) children: u64,
    /// The volume that it belongs to.
    pub(super) parent: u64,
    /// Stripe unit in sectors, and number of columns.
    pub(super) stripes: Option<(Field<u64>, Field<u64>)>,
}

/// A piece of one disk.
pub(super) struct Partition {
    pub(super) name: Field<String>,
    /// The component that it belongs to.
    pub(super) parent: u64,
    /// The disk that it lies on.
    pub(super) disk: u64,
    /// Sectors from the beginning of the disk's data area.
    pub(super) start: Field<u64>,
    /// Sectors from the beginning of its component, or of its column there.
    pub(super) offset: u64,
    /// Sectors.
    pub(super) size: Field<u64>,
    /// Which column of its component.
    pub(super) column: u64,
}

/// A member of the group.
pub(super) struct Disk {
    pub(super) id: u64,
    pub(super) name: String,
    /// As text, in small letters.
    pub(super) guid: String,
}

/// Shapes of a component.
pub(super) const STRIPED: u8 = 1;
pub(super) const SPANNED: u8 = 2;
pub(super) const RAID: u8 = 3;

impl Record {
    /// What the record describes; `None` when it cannot be read as what it says it is.
    pub(super) fn object(&self) -> Option<Object> {
        let head = self.data.get(..HEAD)?;
        let (flags, kind) = (*head.get(2)?, *head.get(3)?);
        let len = u32::from_be_bytes(head.get(4..8)?.try_into().ok()?);
        let end = usize::try_from(len).ok()?.checked_add(HEAD)?;
        let cursor = Cursor {
            record: self,
            next: HEAD,
            end: end.min(self.data.len()),
        };
        Some(match kind {
            0x51 => Object::Volume(volume(cursor, flags)?),
            0x32 => Object::Component(component(cursor, flags)?),
            0x33 => Object::Partition(partition(cursor, flags)?),
            0x34 | 0x44 => Object::Disk(disk(cursor, kind >> 4)?),
            0x35 | 0x45 => Object::Group,
            // Whatever its revision: the lower bits say that it is in no use.
            kind if kind & 0x0f == 0 => Object::Blank,
            _ => return None,
        })
    }

    /// Kind and revision, for messages.
    pub(super) fn kind(&self) -> u8 {
        self.data.get(3).copied().unwrap_or(0)
    }
}

fn volume(mut cursor: Cursor<'_>, flags: u8) -> Option<Volume> {
    let id = cursor.number()?.value;
    let name = cursor.text()?;
    // "gen" or "raid5": the components say it too. Then a text that stops the drive letter from being given.
    cursor.variable()?;
    cursor.variable()?;
    let state = cursor.take(14)?;
    let state = Field {
        value: printable(state.value),
        at: state.at,
        len: state.len,
    };
    // Kind, an unknown, number of the volume, zeroes, flags.
    cursor.skip(1 + 1 + 1 + 3 + 1)?;
    let children = cursor.number()?.value;
    // The transaction that wrote it, and an identifier.
    cursor.skip(16)?;
    let size = cursor.number()?;
    cursor.skip(4)?;
    let kind = cursor.take(1)?;
    let kind = Field {
        value: *kind.value.first()?,
        at: kind.at,
        len: kind.len,
    };
    // GUID.
    cursor.skip(16)?;
    // Two identifiers and a second size, whose meaning is not published.
    for flag in [0x08, 0x20, 0x80] {
        if flags & flag != 0 {
            cursor.variable()?;
        }
    }
    let hint = if flags & 0x02 == 0 {
        None
    } else {
        Some(cursor.text()?)
    };
    Some(Volume {
        id,
        name,
        state,
        children,
        size,
        kind,
        hint,
    })
}

fn component(mut cursor: Cursor<'_>, flags: u8) -> Option<Component> {
    let id = cursor.number()?.value;
    cursor.variable()?;
    let state = cursor.text()?;
    let shape = cursor.take(1)?;
    let shape = Field {
        value: *shape.value.first()?,
        at: shape.at,
        len: shape.len,
    };
    cursor.skip(4)?;
    let children = cursor.number()?.value;
    // The transaction that wrote it, and zeroes.
    cursor.skip(16)?;
    let parent = cursor.number()?.value;
    cursor.skip(1)?;
    let stripes = if flags & 0x10 == 0 {
        None
    } else {
        Some((cursor.number()?, cursor.number()?))
    };
    Some(Component {
        id,
        state,
        shape,
        children,
        parent,
        stripes,
    })
}

fn partition(mut cursor: Cursor<'_>, flags: u8) -> Option<Partition> {
    cursor.number()?;
    let name = cursor.text()?;
    // Zeroes, and the transaction that wrote it.
    cursor.skip(12)?;
    let start = cursor.fixed()?;
    let offset = cursor.fixed()?.value;
    let size = cursor.number()?;
    let parent = cursor.number()?.value;
    let disk = cursor.number()?.value;
    let column = if flags & 0x08 == 0 {
        0
    } else {
        cursor.number()?.value
    };
    Some(Partition {
        name,
        parent,
        disk,
        start,
        offset,
        size,
        column,
    })
}

fn disk(mut cursor: Cursor<'_>, revision: u8) -> Option<Disk> {
    let id = cursor.number()?.value;
    let name = cursor.text()?.value;
    let guid = if revision == 3 {
        cursor.text()?.value.to_lowercase()
    } else {
        let raw = cursor.take(16)?.value;
        let hex: String = raw.iter().map(|byte| format!("{byte:02x}")).collect();
        let groups = [0..8, 8..12, 12..16, 16..20, 20..32];
        let groups: Option<Vec<&str>> = groups.into_iter().map(|range| hex.get(range)).collect();
        groups?.join("-")
    };
    Some(Disk { id, name, guid })
}
