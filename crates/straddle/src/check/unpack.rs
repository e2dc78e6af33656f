//! What lies in an archive or a packed file, looked at where it lies.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::boxed::{Boxed, Open, Wrapping, capture, head, taken, wrapping};
use super::checker::Checker;
use super::manifest::Manifest;
use super::parts::Parts;
use super::sight::{Found, Origin, Sight, is_disk_image};
use super::{CheckError, Kind, Report, text};
use crate::geometry::Bytes;
use crate::io::{Forward, Packing, ReadAt};
use crate::sources;
use crate::sources::archive::{self, Member, Told};
use crate::sources::captured::{self, Capture};
use crate::sources::linux::Root;

/// Archives in archives are gone into so deep.
const MAX_DEPTH: usize = 4;
/// Most text of one archive that is compared with each other.
const MAX_TEXT: usize = 4 * captured::MAX_BYTES;

impl Checker {
    /// What lies in something packed, or in an archive: a report for each.
    pub(super) fn unpack(&self, boxed: Boxed, depth: usize, each: &mut dyn FnMut(Report)) {
        let name = boxed.name.clone();
        if let Err(error) = self.unpack_into(boxed, depth, each) {
            each(self.report(name.clone(), Path::new(&name), Err(error)));
        }
    }

    fn unpack_into(
        &self,
        boxed: Boxed,
        depth: usize,
        each: &mut dyn FnMut(Report),
    ) -> Result<(), CheckError> {
        let unreadable = |source| boxed.unreadable(source);
        if depth >= MAX_DEPTH {
            let error = io::Error::other("archives are packed into each other too deep");
            return Err(unreadable(error));
        }
        let outer = head(&mut (boxed.open)().map_err(unreadable)?).map_err(unreadable)?;
        if Root::is_tree(&outer) {
            let mut stream = (boxed.open)().map_err(unreadable)?;
            return self.captured_host(&boxed.name, &mut stream, each);
        }
        let Some(packing) = Packing::of(&outer) else {
            return self.archive(&boxed, depth, each);
        };
        let open = Arc::clone(&boxed.open);
        let unpacked: Open = Arc::new(move || Ok(Box::new(packing.unpack(open()?))));
        let damaged = |error: io::Error| {
            unreadable(io::Error::other(format!("damaged or cut short: {error}")))
        };
        let inner = head(&mut unpacked().map_err(unreadable)?).map_err(damaged)?;
        let inside = Boxed {
            name: boxed.name.clone(),
            open: unpacked,
            lies: None,
            size: None,
            origin: boxed.origin,
        };
        if archive::is_tar(&inner) {
            return self.archive(&inside, depth, each);
        }
        if wrapping(&inner).is_some() {
            return self.unpack_into(inside, depth + 1, each);
        }
        if !captured::looks_like_text(&inner[..text::HEAD.min(inner.len())]) {
            return self.packed_image(&boxed, inside, packing, each);
        }
        let mut stream = (inside.open)().map_err(unreadable)?;
        if Root::is_tree(&inner) {
            return self.captured_host(&boxed.name, &mut stream, each);
        }
        let mut bytes = Vec::new();
        let most = u64::try_from(captured::MAX_BYTES + 1).unwrap_or(u64::MAX);
        let mut stream = stream.take(most);
        stream.read_to_end(&mut bytes).map_err(unreadable)?;
        let captures = text::known(&boxed.name, bytes, 0);
        let name = boxed.name;
        if boxed.origin == Origin::Listed && text::is_mention(&captures) {
            each(self.report(name.clone(), Path::new(&name), Ok(Sight::Mention)));
        } else if captures.is_empty() {
            each(self.unknown_text(name));
        } else {
            self.machines(captures).into_iter().for_each(each);
        }
        Ok(())
    }

    /// A disk image that is packed: as much of it as its tables and superblocks need.
    fn packed_image(
        &self,
        boxed: &Boxed,
        inside: Boxed,
        packing: Packing,
        each: &mut dyn FnMut(Report),
    ) -> Result<(), CheckError> {
        let open = inside.open;
        let forward = Arc::new(Forward::new(Box::new(move || open()), None));
        forward.set_size(length(&forward, boxed, packing));
        let unpack = format!("{} {}", Boxed::unpacked_with(packing), boxed.name);
        let words = format!("an image packed with {}", packing.name());
        let found = self.image_in(&boxed.name, forward.clone(), &unpack, words);
        let name = boxed.name.clone();
        let is_known = matches!(found, Ok(Sight::Taken(..)));
        if is_known || !forward.is_damaged() {
            each(self.report(name.clone(), Path::new(&name), found));
        }
        match forward.failure() {
            Some(failure) if forward.is_damaged() => Err(CheckError::Unpacked {
                source: io::Error::other(format!(
                    "damaged or cut short: {failure}, after {} bytes were unpacked",
                    forward.reached().grouped()
                )),
                name,
            }),
            _ => Ok(()),
        }
    }

    /// An image that comes through a pipe.
    pub(super) fn streamed_image(&self, boxed: Boxed) -> Found {
        let (open, size) = (boxed.open, boxed.size);
        let forward = Arc::new(Forward::new(Box::new(move || open()), size));
        if size.is_none() {
            let ends = sources::claimed_end(&*forward).unwrap_or(Forward::FARTHEST);
            forward.set_size(ends.max(forward.reached()));
        }
        let words = "an image that came through a pipe".to_owned();
        self.image_in(&boxed.name, forward, "give the file itself", words)
    }

    /// An image that is read from its beginning on.
    fn image_in(&self, name: &str, forward: Arc<Forward>, unpack: &str, words: String) -> Found {
        let mut found = self.image_at(name, forward.clone(), words)?;
        if let (Sight::Taken(stack, _), Some(error), false) =
            (&mut found, forward.failure(), forward.is_damaged())
        {
            sources::left_out(stack, format!("{error}; to see the rest: {unpack}"));
        }
        Ok(found)
    }

    /// An image that can be read at any place.
    fn image_at(&self, name: &str, bytes: Arc<dyn ReadAt>, words: String) -> Found {
        let stack = sources::bytes(name, bytes, &self.settings)?;
        Ok(match is_disk_image(&stack) {
            true => Sight::Taken(stack, taken(Kind::Archive, words, None)),
            false => Sight::Nothing,
        })
    }

    /// The members of a tar archive, or the host that it is.
    fn archive(
        &self,
        boxed: &Boxed,
        depth: usize,
        each: &mut dyn FnMut(Report),
    ) -> Result<(), CheckError> {
        let unreadable = |source| boxed.unreadable(source);
        let stream = || (boxed.open)().map_err(unreadable);
        if self.is_taken_as(Kind::Capture) {
            return self.captured_host(&boxed.name, &mut stream()?, each);
        }
        if !self.is_taken_as(Kind::Archive) {
            match boxed.told().map_err(unreadable)? {
                Told::Capture if self.may_be(Kind::Capture) => {
                    return self.captured_host(&boxed.name, &mut stream()?, each);
                }
                Told::Support(gathering, went) if self.may_be(Kind::Support) => {
                    return self.collected_archive(boxed, *gathering, went, each);
                }
                Told::Again(gathering) if self.may_be(Kind::Support) => {
                    return self.collected_again(boxed, *gathering, each);
                }
                _ => {}
            }
        }
        let mut seen = Seen::default();
        let went = {
            let mut member = |member: Member<'_>| {
                self.member(boxed, member, depth, &mut seen, each);
                Ok(ControlFlow::Continue(()))
            };
            boxed.members(&mut member)
        };
        let manifest = seen.manifest.take();
        self.parts_in(boxed, std::mem::take(&mut seen.parts), each);
        self.texts_in(boxed, seen, each);
        went.map_err(unreadable)?;
        for (member, why) in manifest
            .map_or(Ok(Vec::new()), |it| it.wrong(boxed))
            .map_err(unreadable)?
        {
            let name = format!("{}/{member}", boxed.name);
            let error = CheckError::Unpacked {
                name: name.clone(),
                source: io::Error::other(why),
            };
            each(self.report(name.clone(), Path::new(&name), Err(error)));
        }
        Ok(())
    }

    /// A host that was captured.
    pub(super) fn captured_host(
        &self,
        name: &str,
        stream: &mut dyn Read,
        each: &mut dyn FnMut(Report),
    ) -> Result<(), CheckError> {
        let root = Root::from_reader(name, stream)?;
        let stack = sources::host(&root, &self.settings)?;
        let found = Ok(Sight::Taken(stack, capture(name)));
        each(self.report(name.to_owned(), Path::new(name), found));
        Ok(())
    }

    /// One member of an archive.
    fn member(
        &self,
        boxed: &Boxed,
        member: Member<'_>,
        depth: usize,
        seen: &mut Seen,
        each: &mut dyn FnMut(Report),
    ) {
        let name = format!("{}/{}", boxed.name, member.path);
        let path = PathBuf::from(&name);
        seen.files += 1;
        let begins = match head(member.bytes) {
            Ok(begins) => begins,
            Err(source) => {
                let error = CheckError::Unpacked {
                    name: name.clone(),
                    source,
                };
                return each(self.report(name, &path, Err(error)));
            }
        };
        if member.path.to_ascii_lowercase().ends_with(".mf") && Manifest::is_one(&begins) {
            seen.manifest = Manifest::read(member.path, begins, member.bytes).ok();
            return;
        }
        if begins.is_empty() || belongs_to_an_appliance(member.path, &begins) {
            return;
        }
        if let (Some(whole), Some(at)) = (&boxed.lies, member.at) {
            let there = whole.size().get().saturating_sub(at.get());
            if there < member.size.get() {
                let source = io::Error::other(format!(
                    "the archive is cut short: it has {} of the {} bytes of this member",
                    Bytes::new(there).grouped(),
                    member.size.grouped()
                ));
                let name = name.clone();
                let error = CheckError::Unpacked {
                    name: name.clone(),
                    source,
                };
                each(self.report(name, &path, Err(error)));
            }
        }
        if let Some(wrapping) = wrapping(&begins) {
            let Wrapping::Read = wrapping else {
                return each(self.report(name, &path, Ok(Sight::Nothing)));
            };
            let Some(inner) = boxed.member(&name, &member) else {
                return each(self.report(name, &path, Ok(Sight::Nothing)));
            };
            return self.unpack(inner, depth + 1, each);
        }
        if Root::is_tree(&begins) {
            let mut whole = begins.chain(member.bytes);
            if let Err(error) = self.captured_host(&name, &mut whole, each) {
                each(self.report(name, &path, Err(error)));
            }
            return;
        }
        if captured::looks_like_text(&begins[..text::HEAD.min(begins.len())]) {
            return seen.text(name, begins, member.bytes);
        }
        let words = "an image in an archive".to_owned();
        let inner = boxed.member(&name, &member);
        let found = match &inner {
            Some(Boxed {
                lies: Some(bytes), ..
            }) => self.image_at(&name, Arc::clone(bytes), words),
            inner => {
                let forward = match inner {
                    Some(Boxed { open, .. }) => {
                        let open = Arc::clone(open);
                        Forward::new(Box::new(move || open()), Some(member.size))
                    }
                    None => {
                        Forward::filled(&mut begins.as_slice().chain(member.bytes), member.size)
                    }
                };
                let unpack = format!("tar xf {} {}", boxed.name, member.path);
                self.image_in(&name, Arc::new(forward), &unpack, words)
            }
        };
        let kept = seen
            .parts
            .keep(&name, member.path, member.size, inner, found);
        if let Some(found) = kept {
            each(self.report(name, &path, found));
        }
    }

    /// The texts of an archive, by the machine that they are about.
    fn texts_in(&self, boxed: &Boxed, seen: Seen, each: &mut dyn FnMut(Report)) {
        if !seen.captures.is_empty() {
            for server in captured::in_folder(seen.captures) {
                each(self.server_in(&boxed.name, server));
            }
        }
        for name in seen.unknown {
            each(self.unknown_text(name));
        }
        for name in seen.mentions {
            each(self.report(name.clone(), Path::new(&name), Ok(Sight::Mention)));
        }
    }
}

/// What an appliance has besides its disks and checksums: its description, and a signature.
fn belongs_to_an_appliance(path: &str, begins: &[u8]) -> bool {
    let end = path.rsplit_once('.').map_or("", |(_, end)| end);
    let has = |text: &str| String::from_utf8_lossy(begins).contains(text);
    match end.to_ascii_lowercase().as_str() {
        "ovf" => has("<") && has("Envelope"),
        "cert" => has("BEGIN CERTIFICATE") || has(")="),
        _ => false,
    }
}

/// The texts among the members of an archive.
#[derive(Default)]
struct Seen {
    files: u32,
    bytes: usize,
    captures: Vec<Capture>,
    /// Images that wait for others of their array.
    parts: Parts,
    /// What the disks of an appliance should come to.
    manifest: Option<Manifest>,
    /// Texts in which no output of a known tool was found.
    unknown: Vec<String>,
    /// Texts that mention what tools print, far down.
    mentions: Vec<String>,
}

impl Seen {
    fn text(&mut self, name: String, begins: Vec<u8>, rest: &mut dyn Read) {
        let mut bytes = begins;
        let most = u64::try_from(captured::MAX_BYTES + 1).unwrap_or(u64::MAX);
        let read = rest.take(most).read_to_end(&mut bytes);
        self.bytes += bytes.len();
        let captures = match read {
            Ok(_) if self.bytes <= MAX_TEXT => text::known(&name, bytes, self.files),
            _ => Vec::new(),
        };
        match captures.is_empty() {
            true => self.unknown.push(name),
            false if text::is_mention(&captures) => self.mentions.push(name),
            false => self.captures.extend(captures),
        }
    }
}

/// How long a packed image is: as long as what comes out of it, when that is little. Of more, gzip says a part: its last four bytes,
/// counted modulo 4 GiB. So the table of the image is asked where the disk ends, and the length is what fits both.
fn length(forward: &Forward, boxed: &Boxed, packing: Packing) -> Bytes {
    let last = Bytes::new(Forward::FARTHEST.get() - 1);
    // Also fails where it is damaged; whoever reads there again says so.
    let _ = forward.read_at(last, &mut [0]);
    if let Some(size) = forward.known_size() {
        return size;
    }
    if forward.is_damaged() {
        return forward.reached();
    }
    let trailer = match (&boxed.lies, boxed.size, packing) {
        (Some(bytes), Some(size), Packing::Gzip) => {
            let mut last = [0; 4];
            let at = Bytes::new(size.get().saturating_sub(4));
            let read = bytes.read_at(at, &mut last);
            matches!(read, Ok(4)).then(|| u64::from(u32::from_le_bytes(last)))
        }
        _ => None,
    };
    let ends = sources::claimed_end(forward).unwrap_or(Forward::FARTHEST);
    let ends = ends.max(Forward::FARTHEST).get();
    let Some(low) = trailer else {
        return Bytes::new(ends);
    };
    let round = 1_u64 << 32;
    let rounds = ends.saturating_sub(low).div_ceil(round);
    Bytes::new(rounds.saturating_mul(round).saturating_add(low))
}
