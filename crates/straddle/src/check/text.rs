//! Captured text: files in which the output of tools is found.

use std::io;
use std::path::{Path, PathBuf};

use crate::geometry::Bytes;
use crate::io::{OpenError, ReadAt, Target, TargetKind};
use crate::read_by;
use crate::rules::Why;
use crate::sources::captured::{self, Capture, Lacking, Server};
use crate::sources::inventory::MAX_THINGS;
use crate::sources::linux::Root;

/// As much of a file as tells whether it can be text.
pub(super) const HEAD: usize = 512;
/// Most text of one folder that is compared with each other; what is more is looked at file by file.
const MAX_TOGETHER: usize = 4 * captured::MAX_BYTES;

/// True for a file that begins as text does. One that cannot be read is not known to be text; whoever takes it up as
/// something else will say why it cannot be read.
pub(super) fn can_be(path: &Path) -> bool {
    Target::open(path).is_ok_and(|target| is_text(&target))
}

/// Why nothing is known of a text, or of what else the file is.
pub(super) fn why(path: &Path) -> Why {
    let Ok(target) = Target::open(path) else {
        return Why::Unrecognised;
    };
    let head = target.head().unwrap_or_default();
    match is_text(&target) {
        false => Why::Unrecognised,
        true if captured::is_refused(&head[..HEAD.min(head.len())]) => Why::Refused,
        true => Why::NoOutput,
    }
}

/// The captures that a file is, one for each machine; none when it is something else.
pub(super) fn captures(path: &Path, number: u32) -> Vec<Capture> {
    Target::open(path).map_or_else(|_| Vec::new(), |target| of_target(&target, number))
}

/// The captures that a file, already open, is.
pub(crate) fn of_target(target: &Target, number: u32) -> Vec<Capture> {
    if target.kind() != TargetKind::File || !is_text(target) {
        return Vec::new();
    }
    match read(target, captured::MAX_BYTES + 1) {
        Ok(bytes) => known(&target.path().display().to_string(), bytes, number),
        Err(_) => Vec::new(),
    }
}

pub(super) fn known(name: &str, mut bytes: Vec<u8>, number: u32) -> Vec<Capture> {
    let cut = bytes.len() > captured::MAX_BYTES;
    bytes.truncate(captured::MAX_BYTES);
    let mut captures = captured::machines(name, &bytes, cut, number);
    captures.retain(|capture| !capture.tools.is_empty());
    captures
}

/// That a text in which nothing was found is for another verb.
pub(super) fn of_another_verb(target: &Target) -> Option<Why> {
    let head = target
        .head()
        .ok()
        .filter(|_| target.kind() == TargetKind::File)?;
    read_by::other(head)
}

/// What `evidence` and `trace` say of a file that they were given and do not read, when another verb does.
pub(crate) fn for_another_verb(target: &Target) -> Option<&'static str> {
    let of_check = || !of_target(target, 0).is_empty();
    match of_another_verb(target) {
        Some(why) => Some(why.words()),
        None => {
            of_check().then_some("it is what a tool says of storage, which `straddle check` reads")
        }
    }
}

/// The tool that printed a text in which nothing was found, where it is known and says of nothing where it begins.
pub(super) fn lacking(target: &Target) -> Option<&'static Lacking> {
    if target.kind() != TargetKind::File || !is_text(target) {
        return None;
    }
    captured::lacking(&read(target, captured::MAX_BYTES).ok()?)
}

/// True where a text only mentions what tools print. One that was named is read all the same.
pub(super) fn is_mention(captures: &[Capture]) -> bool {
    !captures.is_empty() && captures.iter().all(Capture::is_mention)
}

/// The first `len` bytes of a target, or as many as there are.
fn read(target: &Target, len: usize) -> io::Result<Vec<u8>> {
    let size = usize::try_from(target.size().get()).unwrap_or(usize::MAX);
    let mut bytes = vec![0; len.min(size)];
    let mut had = 0;
    while had < bytes.len() {
        let at = Bytes::new(u64::try_from(had).unwrap_or(u64::MAX));
        match target.read_at(at, &mut bytes[had..])? {
            0 => break,
            n => had += n,
        }
    }
    bytes.truncate(had);
    Ok(bytes)
}

/// What the files of a folder are: captures, by machine, and others.
pub(super) struct Sorted {
    pub(super) servers: Vec<Server>,
    /// Text in which the output of no known tool is found, such as that of a command that failed, and empty files.
    pub(super) unknown: Vec<PathBuf>,
    /// Text that mentions what tools print, far down.
    pub(super) mentions: Vec<PathBuf>,
    /// Files that were too many to be held together, opened: each is looked at by itself.
    pub(super) rest: Vec<(PathBuf, Target)>,
    /// What else there is, opened already.
    pub(super) others: Vec<(PathBuf, Result<Target, OpenError>)>,
}

/// Reads the files of a folder, as many as may be held together.
pub(super) fn sorted(paths: &[PathBuf]) -> Sorted {
    let (mut captures, mut unknown, mut others) = (Vec::new(), Vec::new(), Vec::new());
    let mut mentions = Vec::new();
    let (mut rest, mut things, mut bytes) = (Vec::new(), 0, 0);
    for (number, path) in (0_u32..).zip(paths) {
        let target = match Target::open_listed(path) {
            Ok(target) if target.kind() == TargetKind::File => target,
            other => {
                others.push((path.clone(), other));
                continue;
            }
        };
        let size = usize::try_from(target.size().get()).unwrap_or(usize::MAX);
        bytes += size.min(captured::MAX_BYTES);
        if things >= MAX_THINGS || bytes > MAX_TOGETHER {
            rest.push((path.clone(), target));
            continue;
        }
        let found = of_target(&target, number);
        match found.is_empty() {
            false if is_mention(&found) => mentions.push(path.clone()),
            false => {
                let count = |capture: &Capture| capture.inventory.things().len();
                things += found.iter().map(count).sum::<usize>();
                captures.extend(found);
            }
            true if size == 0 || is_text(&target) => unknown.push(path.clone()),
            true => others.push((path.clone(), Ok(target))),
        }
    }
    let servers = if captures.is_empty() {
        Vec::new()
    } else {
        captured::in_folder(captures)
    };
    // Without any capture, text may be anything: a database file, a file to follow.
    if servers.is_empty() {
        let texts = unknown.drain(..).map(|path| {
            let target = Target::open_listed(&path);
            (path, target)
        });
        others.extend(texts);
    }
    Sorted {
        servers,
        unknown,
        mentions,
        rest,
        others,
    }
}

/// True for what begins as text does, and is not the text form of a captured host.
pub(super) fn is_text(target: &Target) -> bool {
    let is_text = |head: &[u8]| captured::looks_like_text(&head[..HEAD.min(head.len())]);
    target
        .head()
        .is_ok_and(|head| is_text(head) && !Root::is_tree(head))
}
