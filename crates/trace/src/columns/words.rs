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
