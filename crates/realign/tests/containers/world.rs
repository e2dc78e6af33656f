//! Files in memory that remember what was written to them, so that every state in which a loss of power can leave them is at hand.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use straddle_geometry::Bytes;
use straddle_io::ReadAt;
use straddle_realign::Store;

/// What no disk tears.
const SECTOR: usize = 512;

/// Where a file is at its end: a damaged table may lead anywhere.
const MAX_LEN: usize = 1 << 29;

/// Files by their names.
pub(crate) type Contents = BTreeMap<PathBuf, Vec<u8>>;

/// What was done to a file.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Write(PathBuf, usize, Vec<u8>),
    Flush(PathBuf),
}

/// Some files, and all that was done to them, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    now: Arc<Mutex<Contents>>,
    log: Arc<Mutex<Vec<Op>>>,
    /// The write with this number, from 0, fails, and all after it.
    fails: Option<usize>,
}

impl World {
    pub(crate) fn new(files: Contents) -> World {
        World {
            now: Arc::new(Mutex::new(files)),
            ..World::default()
        }
    }

    pub(crate) fn failing(files: Contents, at: usize) -> World {
        World {
            fails: Some(at),
            ..World::new(files)
        }
    }

    pub(crate) fn contents(&self) -> Contents {
        self.now.lock().expect("no panic while held").clone()
    }

    pub(crate) fn log(&self) -> Vec<Op> {
        self.log.lock().expect("no panic while held").clone()
    }

    /// Opens a file of these.
    pub(crate) fn open(&self, path: &Path) -> io::Result<Arc<dyn Store>> {
        let files = self.now.lock().expect("no panic while held");
        if !files.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Arc::new(Disk {
            world: self.clone(),
            path: path.to_owned(),
        }))
    }

    fn note(&self, op: Op) -> io::Result<()> {
        let mut log = self.log.lock().expect("no panic while held");
        if self.fails.is_some_and(|at| log.len() >= at) {
            return Err(io::Error::other("input/output error"));
        }
        log.push(op);
        Ok(())
    }
}

fn apply(files: &mut Contents, path: &Path, at: usize, bytes: &[u8]) {
    let file = files.get_mut(path).expect("a file of the world");
    if file.len() < at + bytes.len() {
        file.resize(at + bytes.len(), 0);
    }
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

struct Disk {
    world: World,
    path: PathBuf,
}

impl ReadAt for Disk {
    fn size(&self) -> Bytes {
        let files = self.world.now.lock().expect("no panic while held");
        Bytes::new(files[&self.path].len() as u64)
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let files = self.world.now.lock().expect("no panic while held");
        files[&self.path].as_slice().read_at(offset, buf)
    }
}

impl Store for Disk {
    fn write_at(&self, offset: Bytes, bytes: &[u8]) -> io::Result<()> {
        let at = usize::try_from(offset.get()).expect("small");
        if at > MAX_LEN {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.world
            .note(Op::Write(self.path.clone(), at, bytes.to_vec()))?;
        let mut files = self.world.now.lock().expect("no panic while held");
        apply(&mut files, &self.path, at, bytes);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.world.note(Op::Flush(self.path.clone()))
    }
}

/// The sectors of a write, each a write of its own.
fn torn(at: usize, bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let mut out = Vec::new();
    let (mut from, mut rest) = (at, bytes);
    while !rest.is_empty() {
        let len = (SECTOR - from % SECTOR).min(rest.len());
        out.push((from, rest[..len].to_vec()));
        (from, rest) = (from + len, &rest[len..]);
    }
    out
}

/// Which of what was not flushed a loss of power keeps: nothing, everything, each write alone, all but each one, up to 8 every choice,
/// and `random` ones by the sector.
fn choices(count: usize, random: usize, dice: &mut Xoshiro256PlusPlus) -> Vec<Choice> {
    let mut out = Vec::new();
    if count <= 8 && random > 32 {
        out.extend(
            (0..1_u32 << count)
                .map(|bits| Choice::Writes((0..count).map(|n| bits >> n & 1 == 1).collect())),
        );
    } else {
        out.push(Choice::Writes(vec![false; count]));
        out.push(Choice::Writes(vec![true; count]));
        for one in 0..count {
            out.push(Choice::Writes((0..count).map(|n| n == one).collect()));
            out.push(Choice::Writes((0..count).map(|n| n != one).collect()));
        }
    }
    if count > 0 {
        out.extend((0..random).map(|_| Choice::Sectors(dice.next_u64())));
    }
    out
}

enum Choice {
    Writes(Vec<bool>),
    Sectors(u64),
}

/// Calls `each` with every state that a loss of power at any instant of `log` may leave of `before`, as far as [`choices`] takes them.
/// How many there were.
pub(crate) fn states(
    before: &Contents,
    log: &[Op],
    random: usize,
    dice: &mut Xoshiro256PlusPlus,
    mut each: impl FnMut(&Contents, bool),
) -> usize {
    use rand_xoshiro::rand_core::SeedableRng;
    let mut kept = before.clone();
    let mut loose: Vec<(PathBuf, usize, Vec<u8>)> = Vec::new();
    let mut count = 0;
    let mut at_flush = |kept: &Contents, loose: &[(PathBuf, usize, Vec<u8>)], is_end: bool| {
        for choice in choices(loose.len(), random, dice) {
            let mut state = kept.clone();
            match &choice {
                Choice::Writes(which) => {
                    for ((path, at, bytes), _) in loose.iter().zip(which).filter(|(_, kept)| **kept)
                    {
                        apply(&mut state, path, *at, bytes);
                    }
                }
                Choice::Sectors(seed) => {
                    let mut dice = Xoshiro256PlusPlus::seed_from_u64(*seed);
                    for (path, at, bytes) in loose {
                        for (at, bytes) in torn(*at, bytes) {
                            if dice.next_u64() & 1 == 1 {
                                apply(&mut state, path, at, &bytes);
                            }
                        }
                    }
                }
            }
            each(&state, is_end && loose.is_empty());
            count += 1;
        }
    };
    for op in log {
        match op {
            Op::Write(path, at, bytes) => loose.push((path.clone(), *at, bytes.clone())),
            Op::Flush(flushed) => {
                at_flush(&kept, &loose, false);
                for (path, at, bytes) in loose.extract_if(.., |(path, ..)| path == flushed) {
                    apply(&mut kept, &path, at, &bytes);
                }
            }
        }
    }
    at_flush(&kept, &loose, true);
    count
}
