use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::sync::Arc;
use straddle_geometry::Bytes;

/// A value, where it came from, and how far to trust it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fact<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub source: Source,
    /// How far to trust it.
    pub trust: Trust,
}

impl<T> Fact<T> {
    /// What the medium itself records.
    #[must_use]
    pub fn recorded(value: T, bytes: ImageBytes) -> Fact<T> {
        Fact {
            value,
            source: Source::Image(bytes),
            trust: Trust::Recorded,
        }
    }

    /// What a file of the host's kernel says.
    #[must_use]
    pub fn reported(value: T, path: impl Into<String>, text: impl Into<String>) -> Fact<T> {
        Fact {
            value,
            source: Source::HostFile {
                path: path.into(),
                text: text.into(),
            },
            trust: Trust::Reported,
        }
    }

    /// What a system call answered.
    #[must_use]
    pub fn answered(value: T, call: &'static str, text: impl Into<String>) -> Fact<T> {
        Fact {
            value,
            source: Source::Call {
                call: call.into(),
                text: text.into(),
            },
            trust: Trust::Reported,
        }
    }

    /// What the user said, by a flag.
    #[must_use]
    pub fn stated(value: T, flag: &'static str, text: impl Into<String>) -> Fact<T> {
        Fact {
            value,
            source: Source::Flag {
                flag: flag.into(),
                text: text.into(),
            },
            trust: Trust::Stated,
        }
    }

    /// What is taken for granted because nothing says otherwise; `reason` says why.
    #[must_use]
    pub fn assumed(value: T, reason: impl Into<Cow<'static, str>>) -> Fact<T> {
        Fact {
            value,
            source: Source::Assumption {
                reason: reason.into(),
            },
            trust: Trust::Assumed,
        }
    }

    /// What follows from other facts; `from` is the arithmetic, written out.
    #[must_use]
    pub fn derived(value: T, from: impl Into<String>) -> Fact<T> {
        Fact {
            value,
            source: Source::Derived { from: from.into() },
            trust: Trust::Derived,
        }
    }

    /// The same provenance for another value.
    #[must_use]
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Fact<U> {
        Fact {
            value: f(self.value),
            source: self.source,
            trust: self.trust,
        }
    }

    /// The same fact, known to be a lie or too vague to use.
    #[must_use]
    pub fn doubted(self) -> Fact<T> {
        Fact {
            trust: Trust::Doubtful,
            ..self
        }
    }
}

/// How far a fact is to be trusted, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// Read from the medium that it describes.
    Recorded,
    /// Said by the kernel or by a tool, on behalf of a device.
    Reported,
    /// Said by the user.
    Stated,
    /// Follows from other facts by arithmetic.
    Derived,
    /// Taken for granted; a different answer is possible.
    Assumed,
    /// Known to be wrong often enough that nothing is built on it.
    Doubtful,
}

/// Where a fact came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Source {
    /// Bytes of an image or a device.
    Image(ImageBytes),
    /// A file of the host's kernel, such as sysfs.
    HostFile {
        /// Path of the file, as on the host.
        path: String,
        /// What it says, without the newline.
        text: String,
    },
    /// An answer of the host's kernel to a system call.
    Call {
        /// Name of the call, such as `FIEMAP`.
        call: Cow<'static, str>,
        /// The answer, as text.
        text: String,
    },
    /// A line of captured tool output.
    Captured {
        /// Name of the file.
        file: Arc<str>,
        /// Line number, from 1.
        line: u64,
        /// The line itself.
        text: String,
    },
    /// A flag on the command line.
    Flag {
        /// The flag, such as `--stripe-unit`.
        flag: Cow<'static, str>,
        /// Its argument.
        text: String,
    },
    /// Nothing says so, but it is usually true.
    Assumption {
        /// Why it is assumed.
        reason: Cow<'static, str>,
    },
    /// Other facts, by arithmetic.
    Derived {
        /// The arithmetic, written out.
        from: String,
    },
}

/// A field of an image: its place, its bytes, and the hexdump rows it lies in.
///
/// The rows are kept so that a finding can show the field in its surroundings without reading the image again; at most
/// two rows of 16 bytes, so a field is at most 16 bytes long.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ImageBytes {
    offset: Bytes,
    len: u8,
    rows_len: u8,
    rows: [u8; 32],
}

impl ImageBytes {
    /// Longest field that can be kept.
    pub const MAX_LEN: usize = 16;

    /// The field of `len` bytes (at most 16) at `offset`. `rows` are the image's bytes from the last multiple of 16 at
    /// or before `offset`; at most 32 are kept.
    #[must_use]
    pub fn new(offset: Bytes, len: usize, rows: &[u8]) -> ImageBytes {
        let mut kept = [0; 32];
        let rows_len = rows.len().min(kept.len());
        kept[..rows_len].copy_from_slice(&rows[..rows_len]);
        let len = len.min(Self::MAX_LEN);
        ImageBytes {
            offset,
            // Both are at most 32.
            len: u8::try_from(len).unwrap_or(0),
            rows_len: u8::try_from(rows_len).unwrap_or(0),
            rows: kept,
        }
    }

    /// Where the field starts, in bytes from the beginning of the image or device.
    #[must_use]
    pub const fn offset(&self) -> Bytes {
        self.offset
    }

    /// Address of the first row: the last multiple of 16 at or before the field.
    #[must_use]
    pub const fn first_row(&self) -> Bytes {
        Bytes::new(self.offset.get() & !15)
    }

    /// The bytes of the rows, 16 each; the last row may be shorter.
    #[must_use]
    pub fn rows(&self) -> &[u8] {
        &self.rows[..usize::from(self.rows_len)]
    }

    /// The bytes of the field.
    #[must_use]
    pub fn field(&self) -> &[u8] {
        let from = usize::try_from(self.offset.get() & 15).unwrap_or(0);
        self.rows()
            .get(from..from + usize::from(self.len))
            .unwrap_or(&[])
    }

    fn hex(&self) -> String {
        let digit = |n: u8| char::from_digit(u32::from(n), 16).unwrap_or('?');
        let mut out = String::with_capacity(2 * Self::MAX_LEN);
        for byte in self.field() {
            out.push(digit(byte >> 4));
            out.push(digit(byte & 15));
        }
        out
    }
}

impl std::fmt::Debug for ImageBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}: {}", self.offset.get(), self.hex())
    }
}

/// In JSON: the byte offset and the field's bytes as hexadecimal text.
impl Serialize for ImageBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut object = serializer.serialize_struct("ImageBytes", 2)?;
        object.serialize_field("offset", &self.offset)?;
        object.serialize_field("bytes", &self.hex())?;
        object.end()
    }
}

impl JsonSchema for ImageBytes {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "ImageBytes".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "offset": generator.subschema_for::<Bytes>(),
                "bytes": { "type": "string", "pattern": "^([0-9a-f]{2})*$", "description": "The field, byte by byte." },
            },
            "required": ["offset", "bytes"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_again_in_its_rows() {
        let image: Vec<u8> = (0..64).collect();
        let field = ImageBytes::new(Bytes::new(0x1e), 4, &image[0x10..0x30]);
        assert_eq!(field.field(), [0x1e, 0x1f, 0x20, 0x21]);
        assert_eq!(field.first_row(), Bytes::new(0x10));
        assert_eq!(field.hex(), "1e1f2021");
    }

    #[test]
    fn rows_cut_short_by_the_end_of_an_image_do_not_panic() {
        let field = ImageBytes::new(Bytes::new(0x1e), 4, &[1, 2, 3]);
        assert_eq!(field.field(), [0_u8; 0]);
    }
}
