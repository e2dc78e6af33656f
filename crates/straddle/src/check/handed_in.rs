//! Bytes that somebody else handed in: looked at by themselves. No file of this machine is opened for them, whatever they name.

use std::io;
use std::sync::Arc;

use super::sight::is_disk_image;
use super::{CheckError, Outcome, Report, machines, text};
use crate::geometry::Bytes;
use crate::io::ReadAt;
use crate::read_by;
use crate::report::{Asked, Checked};
use crate::rules::{self, Why};
use crate::sources::{self, Settings, captured};

/// Checks what tools printed, or an image or its beginning: of an image of `size` bytes the first ones are enough for its tables.
///
/// A virtual disk is looked at without its parent and without files that it names, text as what it says.
#[must_use]
pub fn handed_in(name: &str, bytes: Vec<u8>, size: Option<u64>) -> Vec<Report> {
    let settings = Settings {
        io: rules::Options::default().io,
        ..Settings::default()
    };
    let checked = |name: String, stack| {
        let options = rules::Options::default();
        let checked = Checked::new(name.clone(), stack, &options, Asked::default());
        Report {
            target: name,
            outcome: Ok(Outcome::Checked(checked)),
        }
    };
    let only = |outcome: Result<Outcome, CheckError>| {
        vec![Report {
            target: name.to_owned(),
            outcome,
        }]
    };
    let head = bytes.get(..text::HEAD).unwrap_or(&bytes);
    if captured::looks_like_text(head) {
        let is_refused = captured::is_refused(head);
        let lacking = captured::lacking(&bytes);
        let other = read_by::other(head);
        let captures = text::known(name, bytes, 0);
        if captures.is_empty() {
            if let Some(lacking) = lacking {
                let name = name.to_owned();
                return only(Err(CheckError::Lacking { name, lacking }));
            }
            let why = if is_refused {
                Why::Refused
            } else {
                other.unwrap_or(Why::NoOutput)
            };
            return only(Ok(Outcome::Unrecognised(why)));
        }
        let servers = captured::of_one(captures).into_iter();
        let each = servers.map(|server| {
            let name = machines::names(&server.captures);
            checked(name, captured::stack(server.captures, &settings))
        });
        return each.collect();
    }
    let size = size
        .map_or_else(|| bytes.size(), Bytes::new)
        .max(bytes.size());
    let beginning = Arc::new(Beginning { bytes, size });
    match sources::bytes(name, beginning, &settings) {
        Ok(stack) if is_disk_image(&stack) => vec![checked(name.to_owned(), stack)],
        Ok(_) => only(Ok(Outcome::Unrecognised(Why::Unrecognised))),
        Err(error) => only(Err(error.into())),
    }
}

/// The first bytes of something longer.
struct Beginning {
    bytes: Vec<u8>,
    size: Bytes,
}

impl ReadAt for Beginning {
    fn size(&self) -> Bytes {
        self.size
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read_at(offset, buf)?;
        if read == 0 && offset < self.size && !buf.is_empty() {
            let had = self.bytes.size();
            return Err(io::Error::other(format!(
                "only the first {had} were handed in"
            )));
        }
        Ok(read)
    }
}
