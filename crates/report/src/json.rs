//! The writer of every JSON form: what a terminal would obey is `\uXXXX` in its strings, and the document is the same.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use crate::escape::{self, is_unprintable};

/// Writes `value` in one line.
///
/// # Errors
/// Those of `out`, and those of the value.
pub fn write<T: Serialize + ?Sized>(value: &T, out: impl Write) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(
        out,
        Escaped(CompactFormatter),
    ))
}

/// `value` in one line.
///
/// # Errors
/// Those of the value.
pub fn line<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    let mut out = Vec::new();
    write(value, &mut out)?;
    text(out)
}

/// `value` with a line for each element, and a line break at the end.
///
/// # Errors
/// Those of the value.
pub fn pretty<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    let mut out = Vec::new();
    write_pretty(value, &mut out)?;
    text(out)
}

/// Writes the same, for documents of any length.
///
/// # Errors
/// Those of `out`, and those of the value.
pub fn write_pretty<T: Serialize + ?Sized>(
    value: &T,
    mut out: impl Write,
) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(
        &mut out,
        Escaped(PrettyFormatter::new()),
    ))?;
    out.write_all(b"\n").map_err(serde_json::Error::io)
}

fn text(bytes: Vec<u8>) -> serde_json::Result<String> {
    String::from_utf8(bytes).map_err(serde::ser::Error::custom)
}

/// A formatter whose strings are escaped further. `serde_json` itself escapes what JSON demands, C0 among it.
struct Escaped<F>(F);

macro_rules! passed_on {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        fn $name<W: ?Sized + Write>(&mut self, out: &mut W $(, $argument: $type)*) -> io::Result<()> {
            self.0.$name(out $(, $argument)*)
        }
    )*};
}

impl<F: Formatter> Formatter for Escaped<F> {
    passed_on! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(is_unprintable) {
            let (before, from) = rest.split_at(at);
            out.write_all(before.as_bytes())?;
            let mut chars = from.chars();
            if let Some(c) = chars.next() {
                out.write_all(escape::json(c).as_bytes())?;
            }
            rest = chars.as_str();
        }
        out.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}\u{7f}\u{9b}\u{202e}\u{2028}\u{e0041}\u{e9}\n\"";

    #[test]
    fn nothing_that_a_terminal_obeys_is_written_and_nothing_is_lost() {
        let value = [(HOSTILE, 1)];
        let compact = line(&value).expect("text");
        assert_eq!(
            compact,
            "[[\"a\\u001b\\u007f\\u009b\\u202e\\u2028\\udb40\\udc41\u{e9}\\n\\\"\",1]]"
        );
        let long = pretty(&value).expect("text");
        assert!(!long.contains(|c| is_unprintable(c) && c != '\n'), "{long}");
        assert_eq!(
            long.replace(char::is_whitespace, ""),
            compact.replace(' ', "")
        );
        for text in [compact, long] {
            let read: Vec<(String, u8)> = serde_json::from_str(&text).expect("JSON");
            assert_eq!(read[0].0, HOSTILE);
        }
    }
}
