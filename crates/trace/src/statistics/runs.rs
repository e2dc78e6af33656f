//! Sorted sequences of counts, in memory and on disk, read as one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use super::key::Key;

/// More runs on disk than this are made one.
const MAX_RUNS: usize = 64;
/// Bytes of a count on disk.
const ENTRY: usize = 24;
/// How much of each run is read at once.
const BUFFER: usize = 32 << 10;

/// Counts of keys in sorted runs. A key may be in several of them.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    held: Vec<Vec<(Key, u64)>>,
    spilled: Vec<File>,
}

impl Runs {
    /// Keeps a sorted run in memory.
    pub(crate) fn hold(&mut self, sorted: Vec<(Key, u64)>) {
        if !sorted.is_empty() {
            self.held.push(sorted);
        }
    }

    /// Writes a sorted run to a file that has no name and is gone when the program is.
    pub(crate) fn spill(&mut self, sorted: &[(Key, u64)]) -> io::Result<()> {
        let entries = sorted.iter().copied().map(Ok);
        self.spilled.push(written(entries)?);
        if self.spilled.len() > MAX_RUNS {
            let mut all = Runs {
                held: Vec::new(),
                spilled: std::mem::take(&mut self.spilled),
            };
            let one = written(all.merged()?)?;
            self.spilled.push(one);
        }
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn spilled(&self) -> usize {
        self.spilled.len()
    }

    /// Both together; what takes more than `memory` bytes goes to disk.
    pub(crate) fn join(&mut self, other: Runs, memory: usize) -> io::Result<()> {
        for file in other.spilled {
            self.spilled.push(file);
        }
        for held in other.held {
            self.hold(held);
        }
        let keys: usize = self.held.iter().map(Vec::len).sum();
        if keys * size_of::<(Key, u64)>() > memory {
            for held in std::mem::take(&mut self.held) {
                self.spill(&held)?;
            }
        }
        Ok(())
    }

    /// The same counts of devices with other numbers.
    pub(crate) fn renumbered(mut self, numbers: &[u32], memory: usize) -> io::Result<Runs> {
        let changed =
            |(key, count): (Key, u64)| (key.of_device(numbers[key.device() as usize]), count);
        if self.spilled.is_empty() {
            for held in &mut self.held {
                for entry in held.iter_mut() {
                    *entry = changed(*entry);
                }
                held.sort_unstable_by_key(|(key, _)| *key);
            }
            return Ok(self);
        }
        let mut out = Runs::default();
        let most = (memory / size_of::<(Key, u64)>()).max(1 << 10);
        let mut some = Vec::new();
        for entry in self.merged()? {
            some.push(changed(entry?));
            if some.len() >= most {
                some.sort_unstable_by_key(|(key, _)| *key);
                out.spill(&some)?;
                some.clear();
            }
        }
        some.sort_unstable_by_key(|(key, _)| *key);
        out.hold(some);
        Ok(out)
    }

    /// Every key once, in order, with the sum of its counts.
    pub(crate) fn merged(&mut self) -> io::Result<Merged<'_>> {
        let mut sources: Vec<Source<'_>> = self
            .held
            .iter()
            .map(|held| Source::Held(held.iter()))
            .collect();
        for file in &mut self.spilled {
            file.seek(SeekFrom::Start(0))?;
            sources.push(Source::Spilled(BufReader::with_capacity(BUFFER, file)));
        }
        let mut heads = BinaryHeap::with_capacity(sources.len());
        for (index, source) in sources.iter_mut().enumerate() {
            if let Some((key, count)) = source.next()? {
                heads.push(Reverse((key, index, count)));
            }
        }
        Ok(Merged { sources, heads })
    }
}

fn written(entries: impl Iterator<Item = io::Result<(Key, u64)>>) -> io::Result<File> {
    let mut out = BufWriter::with_capacity(BUFFER * 4, tempfile::tempfile()?);
    for entry in entries {
        let (key, count) = entry?;
        let [who, shape] = key.words();
        for word in [who, shape, count] {
            out.write_all(&word.to_le_bytes())?;
        }
    }
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

enum Source<'a> {
    Held(std::slice::Iter<'a, (Key, u64)>),
    Spilled(BufReader<&'a mut File>),
}

impl Source<'_> {
    fn next(&mut self) -> io::Result<Option<(Key, u64)>> {
        match self {
            Source::Held(held) => Ok(held.next().copied()),
            Source::Spilled(file) => {
                if file.fill_buf()?.is_empty() {
                    return Ok(None);
                }
                let mut entry = [0; ENTRY];
                file.read_exact(&mut entry)?;
                let word = |at: usize| {
                    let mut bytes = [0; 8];
                    bytes.copy_from_slice(&entry[at..at + 8]);
                    u64::from_le_bytes(bytes)
                };
                Ok(Some((Key::from_words(word(0), word(8)), word(16))))
            }
        }
    }
}

/// All runs as one.
pub(crate) struct Merged<'a> {
    sources: Vec<Source<'a>>,
    heads: BinaryHeap<Reverse<(Key, usize, u64)>>,
}

impl Merged<'_> {
    fn pop(&mut self) -> io::Result<Option<(Key, u64)>> {
        let Some(Reverse((key, index, count))) = self.heads.pop() else {
            return Ok(None);
        };
        if let Some(source) = self.sources.get_mut(index)
            && let Some((next, more)) = source.next()?
        {
            self.heads.push(Reverse((next, index, more)));
        }
        Ok(Some((key, count)))
    }
}

impl Iterator for Merged<'_> {
    type Item = io::Result<(Key, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        let (key, mut sum) = match self.pop().transpose()? {
            Ok(entry) => entry,
            Err(error) => return Some(Err(error)),
        };
        while self
            .heads
            .peek()
            .is_some_and(|Reverse((next, ..))| *next == key)
        {
            match self.pop() {
                Ok(Some((_, count))) => sum += count,
                Ok(None) => break,
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok((key, sum)))
    }
}
