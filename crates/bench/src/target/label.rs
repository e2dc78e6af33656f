//! The block behind the bytes that are measured: it says whose they are. No request reaches it.
//!
//! It is text in the last 4,096 bytes of a test file, or in the last whole 4,096 bytes of a device, followed by zeros:
//!
//! ```text
//! straddle test data
//! token 3f2a90c1d4e5b6a7988796a5b4c3d2e1
//! size 1073741824
//! for 9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab
//! state run
//! ```
//!
//! `token` is random ([`straddle_io::owned::Token`]). `size` is the number of bytes before it, so that a block that was copied
//! to another place says so. `for` is the SHA-256 of the journal's header, so that an edited journal does not match; a
//! file that stays for later runs has `later runs` there. `state` is `run` as long as somebody may be writing, `sealed` and
//! the time that the file was given when a run was done with it, and on a device `blank` and the byte that it was full of.

use std::fs::File;
use std::io;
use straddle_geometry::Bytes;
use straddle_io::owned::{Mark, Token};

/// Bytes of a label; requests deal in whole pages, and so does the room for it.
pub(super) const LABEL: Bytes = Bytes::kib(4);
const GREETING: &str = "straddle test data";
const LATER_RUNS: &str = "later runs";

/// Whose a target is: what a journal says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The journal's token.
    pub token: Token,
    /// SHA-256 of its header, in hexadecimal digits.
    pub sum: String,
}

/// What a label says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) token: Token,
    /// Bytes before it.
    pub(super) size: Bytes,
    /// The journal that it belongs to; none for a file that stays for later runs.
    pub(super) sum: Option<String>,
    pub(super) state: State,
}

/// What may have happened to the bytes before a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A run may be writing to them, or was ended while it did.
    Run,
    /// Nothing was written since the file was given this time, in seconds since 1970.
    Sealed(u64),
    /// A run may be writing to a device that was blank before, full of this byte where formats keep their marks.
    Blank(u8),
}

impl Label {
    /// The label of a run's own data.
    pub(super) fn of(owner: &Owner, size: Bytes, state: State) -> Label {
        Label {
            token: owner.token.clone(),
            size,
            sum: Some(owner.sum.clone()),
            state,
        }
    }

    /// Its bytes, and where they lie.
    pub(super) fn mark(&self) -> Mark {
        let state = match self.state {
            State::Run => "run".to_owned(),
            State::Sealed(at) => format!("sealed {at}"),
            State::Blank(byte) => format!("blank {byte:02x}"),
        };
        let text = format!(
            "{GREETING}\ntoken {}\nsize {}\nfor {}\nstate {state}\n",
            self.token,
            self.size.get(),
            self.sum.as_deref().unwrap_or(LATER_RUNS),
        );
        let mut bytes = text.into_bytes();
        bytes.resize(usize::try_from(LABEL.get()).unwrap_or(0), 0);
        Mark {
            at: self.size.get(),
            bytes,
        }
    }

    /// The label behind `size` bytes of a file or device; `None` when there is none that says so.
    pub(super) fn read(mut file: &File, size: Bytes) -> io::Result<Option<Label>> {
        use std::io::{Read, Seek, SeekFrom};
        let mut block = Vec::new();
        file.seek(SeekFrom::Start(size.get()))?;
        file.take(LABEL.get()).read_to_end(&mut block)?;
        Ok(Label::parse(&block).filter(|label| label.size == size))
    }

    /// The label at the end of a file that is `len` bytes long.
    pub(super) fn at_end(file: &File, len: u64) -> io::Result<Option<Label>> {
        match Bytes::new(len).checked_sub(LABEL) {
            Some(size) => Label::read(file, size),
            None => Ok(None),
        }
    }

    fn parse(block: &[u8]) -> Option<Label> {
        let end = block.iter().position(|byte| *byte == 0)?;
        let (text, rest) = block.split_at(end);
        if block.len() as u64 != LABEL.get() || rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?.strip_suffix('\n')?;
        let mut lines = text.split('\n');
        let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        (value("straddle")? == "test data").then_some(())?;
        let token = value("token")?.parse().ok()?;
        let size = Bytes::new(value("size")?.parse().ok()?);
        let sum = value("for")?;
        let state = match value("state")?.split_once(' ') {
            None => State::Run,
            Some(("sealed", at)) => State::Sealed(at.parse().ok()?),
            Some(("blank", byte)) => State::Blank(u8::from_str_radix(byte, 16).ok()?),
            Some(_) => return None,
        };
        let label = Label {
            token,
            size,
            sum: (sum != LATER_RUNS).then(|| sum.to_owned()),
            state,
        };
        // Only what is written that way is ours.
        (label.mark().bytes == block).then_some(label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Vec<Label> {
        let token = || Token::random().expect("random bits");
        let owner = Owner {
            token: token(),
            sum: "ab".repeat(32),
        };
        let later = Label {
            token: token(),
            size: Bytes::new(100),
            sum: None,
            state: State::Sealed(1_700_000_000),
        };
        vec![
            later,
            Label::of(&owner, Bytes::mib(1), State::Run),
            Label::of(&owner, Bytes::mib(1), State::Blank(0xff)),
        ]
    }

    #[test]
    fn labels_read_back() {
        for label in labels() {
            let mark = label.mark();
            assert_eq!(mark.at, label.size.get());
            assert_eq!(Label::parse(&mark.bytes), Some(label));
        }
    }

    #[test]
    fn a_block_that_differs_in_one_byte_is_no_label_of_the_same() {
        for label in labels() {
            let bytes = label.mark().bytes;
            for at in 0..bytes.len() {
                let mut other = bytes.clone();
                other[at] ^= 1;
                assert_ne!(Label::parse(&other).as_ref(), Some(&label), "byte {at}");
            }
            assert_eq!(Label::parse(&bytes[..4095]), None);
        }
    }

    #[test]
    fn a_label_that_was_copied_elsewhere_is_none() {
        let file = tempfile::tempfile().expect("a file");
        let [label, ..] = &labels()[..] else {
            unreachable!()
        };
        let mut bytes = vec![7; 100];
        bytes.extend(label.mark().bytes);
        std::io::Write::write_all(&mut &file, &bytes).expect("writes");
        let found = |len| Label::at_end(&file, len).expect("reads");
        assert_eq!(found(100 + 4096).as_ref(), Some(label));
        std::io::Write::write_all(&mut &file, &bytes).expect("writes");
        assert_eq!(found(2 * (100 + 4096)), None);
        assert_eq!(found(10), None);
    }
}
