//! Standard input: text, a capture, an archive or an image, whichever comes out of the pipe.

use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::boxed::{Boxed, Open, wrapping};
use super::checker::Checker;
use super::sight::{Origin, Sight};
use super::{CheckError, Kind, Report, text};
use crate::geometry::Bytes;
use crate::read_by;
use crate::rules::Why;
use crate::sources::captured;
use crate::sources::linux::Root;

/// What it is called in the results.
pub(super) const NAME: &str = "standard input";
/// As much of it is kept, so that it can be looked at again: all of any capture and text.
const KEPT: usize = 64 << 20;

impl Checker {
    /// What comes on standard input.
    pub(super) fn input(&self, each: &mut dyn FnMut(Report)) {
        let mut bytes = Vec::new();
        let most = u64::try_from(KEPT).unwrap_or(u64::MAX);
        if let Err(error) = io::stdin().lock().take(most).read_to_end(&mut bytes) {
            return each(self.report(NAME.to_owned(), Path::new(NAME), Err(error.into())));
        }
        let is_text = captured::looks_like_text(&bytes[..text::HEAD.min(bytes.len())]);
        let is_tree = self.may_be(Kind::Capture) && Root::is_tree(&bytes);
        if (is_text && !is_tree) || bytes.is_empty() || self.is_taken_as(Kind::Text) {
            let lacking = captured::lacking(&bytes);
            let other = read_by::other(&bytes);
            let captures = text::known(NAME, bytes, 0);
            if captures.is_empty() {
                let name = NAME.to_owned();
                let nothing = match lacking {
                    Some(lacking) => CheckError::Lacking { name, lacking },
                    None => CheckError::NothingKnown {
                        name,
                        why: other.unwrap_or(Why::NoOutput),
                    },
                };
                return each(self.report(NAME.to_owned(), Path::new(NAME), Err(nothing)));
            }
            return self.machines(captures).into_iter().for_each(each);
        }
        let is_whole = bytes.len() < KEPT;
        let is_packed = is_tree || wrapping(&bytes).is_some();
        let size = is_whole.then(|| Bytes::new(u64::try_from(bytes.len()).unwrap_or(u64::MAX)));
        let open = opener(bytes, is_whole);
        let boxed = Boxed {
            name: NAME.to_owned(),
            open,
            lies: None,
            size,
            origin: Origin::Named,
        };
        match is_packed {
            true => self.unpack(boxed, 0, each),
            false => {
                let found = self.streamed_image(boxed);
                let found = found.and_then(|found| match found {
                    Sight::Nothing => Err(CheckError::NothingKnown {
                        name: NAME.to_owned(),
                        why: Why::Unrecognised,
                    }),
                    found => Ok(found),
                });
                each(self.report(NAME.to_owned(), Path::new(NAME), found));
            }
        }
    }
}

/// Begins to read what was kept, as often as wanted; what comes after that goes to the first who gets so far.
fn opener(kept: Vec<u8>, is_whole: bool) -> Open {
    let kept: Arc<[u8]> = kept.into();
    let (begun, owner) = (AtomicUsize::new(0), Arc::new(OnceLock::new()));
    Arc::new(move || {
        let kept = Cursor::new(Arc::clone(&kept));
        Ok(match is_whole {
            true => Box::new(kept),
            false => Box::new(Rest {
                number: begun.fetch_add(1, Ordering::Relaxed),
                owner: Arc::clone(&owner),
                kept,
            }),
        })
    })
}

/// What was kept, then what still comes.
struct Rest {
    number: usize,
    /// Who reads what still comes.
    owner: Arc<OnceLock<usize>>,
    kept: Cursor<Arc<[u8]>>,
}

impl Read for Rest {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.kept.read(buf)?;
        if read > 0 || buf.is_empty() {
            return Ok(read);
        }
        if *self.owner.get_or_init(|| self.number) != self.number {
            return Err(io::Error::other(
                "what comes through a pipe can be read once only; give a file",
            ));
        }
        io::stdin().lock().read(buf)
    }
}
