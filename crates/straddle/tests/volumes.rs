//! Members of arrays, volume groups and payloads, damaged and left over: every seed of every volume format through everything
//! that `check` does, within bounds, and nothing on a member that is a former owner's.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use straddle::geometry::Bytes;
use straddle::io::{ReadAt, Reader};
use straddle::probe::{Limits, Window, inspect, registry};
use straddle::report::{Asked, Checked};
use straddle::rules::Options;
use straddle::sources::{self, Settings};
use straddle::stack::{Layer, LayerKind, Stack};
use straddle_testkit::sparse::members;

/// For one seed in a debug build on a busy machine.
const MAX_LEN: Duration = Duration::from_secs(60);
/// How often each seed is damaged, and in a soak.
const ROUNDS: (usize, usize) = (1, 60);
/// More layers than any target may grow to.
const MAX_LAYERS: usize = 1 << 15;

fn corpus(format: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = straddle_testkit::repository()
        .join("fuzz/corpus")
        .join(format);
    // `crates/probe/tests/corpora.rs` demands that there is one.
    let entries = std::fs::read_dir(&folder).into_iter().flatten();
    let mut seeds: Vec<(PathBuf, Vec<u8>)> = entries
        .map(|entry| {
            let path = entry.expect("readable").path();
            let bytes = std::fs::read(&path).expect("readable");
            (path, bytes)
        })
        .collect();
    seeds.sort();
    seeds
}

/// Everything that `check` does with images that were named together. Gives the layers.
fn checked(members: Vec<Vec<u8>>) -> Stack {
    let options = Options::default();
    let settings = Settings {
        io: options.io.clone(),
        ..Settings::default()
    };
    let named = members.into_iter().enumerate().map(|(index, bytes)| {
        let bytes: Arc<dyn ReadAt> = Arc::new(bytes);
        (format!("member-{index}"), bytes)
    });
    let stack = sources::all_bytes(named.collect(), &settings).expect("asks for no file");
    assert!(stack.layers().len() < MAX_LAYERS, "too many layers");
    let checked = Checked::new("members", stack, &options, Asked::default());
    assert!(!straddle::report::text::report(&checked, None).is_empty());
    let _ = checked.document();
    checked.stack
}

#[test]
fn every_seed_of_every_volume_format_is_checked_within_bounds() {
    for format in registry::VOLUMES {
        for (path, seed) in corpus(format.name) {
            let started = Instant::now();
            checked(members(&seed));
            let spent = started.elapsed();
            assert!(spent < MAX_LEN, "{}: {spent:?}", path.display());
        }
    }
}

/// xorshift: the same damage in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(n).expect("64 bits")).expect("64 bits")
    }
}

#[test]
fn damaged_members_do_no_harm() {
    let mut random = Random(0x5eed_1234_abcd_0001);
    let seeds: Vec<Vec<Vec<u8>>> = registry::VOLUMES
        .iter()
        .flat_map(|format| corpus(format.name))
        .map(|(_, seed)| members(&seed))
        .filter(|members| members.iter().any(|member| !member.is_empty()))
        .collect();
    // Metadata, not the empty space between them.
    let told: Vec<Vec<(usize, usize)>> = seeds
        .iter()
        .map(|members| {
            let places = members.iter().enumerate().flat_map(|(index, member)| {
                let bytes = member.iter().enumerate();
                bytes
                    .filter(|(_, byte)| **byte != 0)
                    .map(move |(at, _)| (index, at))
            });
            places.take(1 << 16).collect()
        })
        .collect();
    let rounds = if straddle_testkit::is_soak() {
        ROUNDS.1
    } else {
        ROUNDS.0
    };
    let mut tried = 0;
    for _ in 0..rounds {
        for (members, told) in seeds.iter().zip(&told) {
            if told.is_empty() {
                continue;
            }
            let mut damaged = members.clone();
            for _ in 0..=random.below(3) {
                let (index, at) = told[random.below(told.len())];
                // Beside a byte that is set there are others of its field.
                let at = (at + random.below(8)).min(damaged[index].len() - 1);
                damaged[index][at] = [
                    0,
                    1,
                    0x7f,
                    0x80,
                    0xff,
                    0x30 + u8::try_from(at % 10).expect("small"),
                ][random.below(6)];
            }
            if random.below(4) == 0 {
                let index = random.below(damaged.len());
                let len = random.below(damaged[index].len().max(1));
                damaged[index].truncate(len);
            }
            let one = Instant::now();
            checked(damaged);
            assert!(one.elapsed() < MAX_LEN, "{:?}", one.elapsed());
            tried += 1;
        }
    }
    assert!(tried >= seeds.len().min(50), "{tried} tried");
}

/// Bytes, each with the place where they start.
type Pieces = Vec<(u64, Vec<u8>)>;

/// Bytes over others, as far as they reach.
struct Overlaid {
    below: Vec<u8>,
    size: u64,
    over: Pieces,
}

impl ReadAt for Overlaid {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(offset.get())).expect("64 bits");
        let len = buf.len().min(left);
        for (index, byte) in buf[..len].iter_mut().enumerate() {
            let at = offset.get() + u64::try_from(index).expect("64 bits");
            let over = self.over.iter().find_map(|(start, bytes)| {
                bytes.get(usize::try_from(at.checked_sub(*start)?).ok()?)
            });
            let below = self.below.get(usize::try_from(at).expect("64 bits"));
            *byte = over.or(below).copied().unwrap_or(0);
        }
        Ok(len)
    }
}

/// What former owners leave: boot sectors and superblocks at the start, and copies further on.
fn left_over() -> Vec<(&'static str, Pieces)> {
    let field = |len: usize, fields: &[(usize, &[u8])]| {
        let mut bytes = vec![0; len];
        for (at, field) in fields {
            bytes[*at..at + field.len()].copy_from_slice(field);
        }
        bytes
    };
    let ext = field(
        1024,
        &[
            (4, &[0, 128, 0, 0]),
            (24, &[2, 0, 0, 0, 2, 0, 0, 0, 0, 128]),
            (56, &[0x53, 0xef]),
            (90, &[1]),
            (92, &[0x3c, 0, 0, 0, 0xc2, 2, 0, 0, 0x6b, 6]),
        ],
    );
    let fat = field(
        512,
        &[
            (0, &[0xeb, 0x58, 0x90]),
            (11, &[0, 2, 1, 32, 0, 2]),
            (21, &[0xf8]),
            (32, &[0, 0, 4, 0, 0, 8]),
            (50, &[6]),
            (510, &[0x55, 0xaa]),
        ],
    );
    vec![
        (
            "the copy of an ext superblock",
            vec![(128 << 20, ext.clone())],
        ),
        ("an ext superblock", vec![(1024, ext)]),
        ("a FAT boot sector", vec![(0, fat.clone())]),
        ("the copy of a FAT boot sector", vec![(6 * 512, fat)]),
    ]
}

/// A filesystem whose signature or copy was never wiped is not what a member holds, on a whole disk or in a partition.
#[test]
fn left_over_filesystems_are_not_on_members() {
    for format in registry::VOLUMES {
        let mut held = 0;
        for (path, seed) in corpus(format.name) {
            for member in members(&seed) {
                for (what, over) in left_over() {
                    // Metadata at the end stay at the end.
                    let grown = if format.magics.is_empty() {
                        u64::try_from(member.len()).expect("64 bits")
                    } else {
                        160 << 20
                    };
                    let image = Overlaid {
                        below: member.clone(),
                        size: grown,
                        over,
                    };
                    let reader = Reader::new(&image);
                    let recognised = format.run(&Window::whole(&reader, None));
                    if !matches!(recognised, Ok(Some(_))) {
                        continue;
                    }
                    held += 1;
                    let mut stack = Stack::new();
                    let base = stack.push(Layer::new(LayerKind::Device, "disk"));
                    let found = inspect(&mut stack, base, &reader, None, Limits::default());
                    let names: Vec<&str> = stack.layers().iter().map(|l| l.name.as_str()).collect();
                    let is_free = |layer: &Layer| layer.kind != LayerKind::Filesystem;
                    assert!(
                        !found.is_empty() && stack.iter().all(|(_, layer)| is_free(layer)),
                        "{} with {what}: {names:?}",
                        path.display()
                    );
                }
            }
        }
        let has_seeds = !corpus(format.name).is_empty();
        assert!(
            held > 0 || !has_seeds,
            "no seed of {} is recognised",
            format.name
        );
    }
}
