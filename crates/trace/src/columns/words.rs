use straddle_geometry::Access;

/// How a column says whether a request reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// `Read`, `W`, `ws`: in words or letters, in any case.
    Letters,
    /// The same, where nothing at all is neither.
    LettersOrNothing,
    /// `0` reads, `1` writes.
    Digits,
}

impl Words {
    /// `Some(None)` for what is known to be neither, such as a flush.
    #[inline(always)]
    pub(crate) fn read(self, text: &[u8]) -> Option<Option<Access>> {
        match (self, text) {
            (Words::Letters, b"Read" | b"R" | b"r") | (Words::Digits, b"0") => {
                Some(Some(Access::Read))
            }
            (Words::Letters, b"Write" | b"W" | b"w") | (Words::Digits, b"1") => {
                Some(Some(Access::Write))
            }
            (Words::Letters, _) => letters(text.trim_ascii()),
            (Words::LettersOrNothing, _) => match text.trim_ascii() {
                [] => Some(None),
                text => Words::Letters.read(text),
            },
            (Words::Digits, _) => match text.trim_ascii() {
                b"0" => Some(Some(Access::Read)),
                b"1" => Some(Some(Access::Write)),
                _ => None,
            },
        }
    }
}

impl Words {
    /// The commonest words, without a jump that depends on which one it is: that cannot be foreseen.
    #[inline(always)]
    pub(crate) fn usual(self, bytes: [u8; 8], len: usize) -> Option<Access> {
        // The last byte has the length: what is behind a word may be zeros of the text.
        const fn word(mut text: [u8; 8]) -> u64 {
            let mut len = 0;
            while text[len] != 0 {
                len += 1;
            }
            text[7] = len as u8;
            u64::from_le_bytes(text)
        }
        let (reads, writes) = match self {
            Words::Letters | Words::LettersOrNothing => (
                [word(*b"Read\0\0\0\0"), word(*b"R\0\0\0\0\0\0\0")],
                [word(*b"Write\0\0\0"), word(*b"W\0\0\0\0\0\0\0")],
            ),
            Words::Digits => (
                [word(*b"0\0\0\0\0\0\0\0"); 2],
                [word(*b"1\0\0\0\0\0\0\0"); 2],
            ),
        };
        let others = u64::MAX
            .checked_shl(8 * u32::try_from(len).ok()?)
            .unwrap_or(0);
        let found = (u64::from_le_bytes(bytes) & !others) | ((len.min(8) as u64) << 56);
        let is = |words: [u64; 2]| (found == words[0]) | (found == words[1]);
        let writes = is(writes);
        if !(is(reads) | writes) {
            return None;
        }
        Some(if writes { Access::Write } else { Access::Read })
    }
}

/// What is rarer.
fn letters(text: &[u8]) -> Option<Option<Access>> {
    let text = text
        .strip_prefix(b"\"")
        .map_or(text, |text| text.strip_suffix(b"\"").unwrap_or(text));
    let is = |words: &[&str]| {
        words
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
    };
    if is(&[
        "r", "read", "reads", "rd", "diskread", "readfile", "ra", "rm", "rs", "ram", "rahead",
    ]) {
        Some(Some(Access::Read))
    } else if is(&[
        "w",
        "write",
        "writes",
        "wr",
        "diskwrite",
        "writefile",
        "ws",
        "wm",
        "wsm",
        "wfs",
        "fwfs",
        "wf",
        "fws",
        "wfm",
        "wfsm",
    ]) {
        Some(Some(Access::Write))
    } else if is(&[
        "f",
        "flush",
        "ff",
        "d",
        "discard",
        "ds",
        "trim",
        "unmap",
        "diskflush",
        "sync",
        "n",
        "none",
        "o",
        "other",
        "wait",
        "close",
        "open",
    ]) {
        Some(None)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever stands behind the word.
        #[test]
        fn a_usual_word_is_what_it_is_when_looked_at_closely(
            text in "Read|Write|R|W|r|w|0|1|Flush|Readx|[A-Za-z0-9]{0,9}|(Read|Write|R|W|0|1)\\x00{1,7}",
            behind in "[,A-Za-z0]{8}",
        ) {
            let bytes = format!("{text}{behind}");
            let bytes = bytes.as_bytes().first_chunk().expect("eight of them");
            for words in [Words::Letters, Words::LettersOrNothing, Words::Digits] {
                let usual = words.usual(*bytes, text.len());
                let closely = words.read(text.as_bytes());
                prop_assert!(usual.is_none() || closely == Some(usual), "{text}");
                let is_usual = match words {
                    Words::Digits => matches!(&*text, "0" | "1"),
                    _ => matches!(&*text, "Read" | "Write" | "R" | "W"),
                };
                prop_assert_eq!(usual.is_some(), is_usual, "{}", text);
            }
        }
    }
}
