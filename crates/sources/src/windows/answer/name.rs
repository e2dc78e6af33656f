//! UTF-16 texts: paths of volumes and devices.

use std::fmt::Write;

use super::{BadAnswer, Problem};

/// The texts of an answer that is a list of them, each ended by a zero, the list by an empty one. `structure` is what to call it in
/// an error: the call that gave it.
///
/// # Errors
/// When the list has no end: then it may be longer than what was written.
pub fn names(structure: &'static str, bytes: &[u8]) -> Result<Vec<String>, BadAnswer> {
    let mut names = Vec::new();
    let mut at = 0;
    loop {
        let rest = bytes.get(at..).unwrap_or(&[]);
        let Some((name, len)) = text(rest) else {
            return Err(BadAnswer {
                structure,
                field: "text",
                at,
                problem: Problem::Unterminated,
            });
        };
        if name.is_empty() {
            return Ok(names);
        }
        names.push(name);
        at += len;
    }
}

/// The UTF-16 text at the start of `bytes`, and how many bytes it takes with its zero; `None` when it has none.
pub(super) fn text(bytes: &[u8]) -> Option<(String, usize)> {
    let units = bytes.chunks_exact(2);
    let len = units.clone().position(|unit| unit == [0, 0])?;
    Some((units_text(&bytes[..len * 2]), len * 2 + 2))
}

/// `bytes` as UTF-16. Windows takes any 16-bit numbers for a name: half of a pair is written as its number, so that two names stay two.
pub(super) fn units_text(bytes: &[u8]) -> String {
    let units = bytes.chunks_exact(2).map(|unit| match unit {
        [low, high] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    });
    let mut out = String::new();
    for unit in char::decode_utf16(units) {
        match unit {
            Ok(char) => out.push(char),
            Err(half) => {
                let _ = write!(out, "\\u{{{:x}}}", half.unpaired_surrogate());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn a_list_ends_at_an_empty_text_and_what_follows_is_not_read() {
        let names = |text| names("list", &wide(text));
        assert_eq!(
            names("C:\\\0D:\\data\\\0\0E:\\\0\0"),
            Ok(vec!["C:\\".into(), "D:\\data\\".into()])
        );
        // A volume without a path.
        assert_eq!(names("\0"), Ok(vec![]));
    }

    #[test]
    fn a_list_without_an_end_is_an_error_that_says_where() {
        let all = wide("C:\\\0D:\\\0\0");
        for end in 0..all.len() {
            let error = names("list", &all[..end]).expect_err("cut");
            let at = [0, 8, 16].into_iter().filter(|at| *at <= end).max();
            assert_eq!((Some(error.at), error.problem), (at, Problem::Unterminated));
        }
        assert!(names("list", &all).is_ok());
    }

    #[test]
    fn half_of_a_pair_stays_another_name() {
        let high = [0x3d, 0xd8, b'a', 0, 0, 0];
        let low = [0x4a, 0xdc, b'a', 0, 0, 0];
        assert_eq!(text(&high), Some(("\\u{d83d}a".to_owned(), 6)));
        assert_ne!(text(&high), text(&low));
    }
}
