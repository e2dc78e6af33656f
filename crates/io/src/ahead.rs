//! A stream that takes processor time, read by a thread of its own while what it gave before is worked on.

use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// How much goes from thread to thread at once: it takes a hundred times as long as handing it over, and is still in the processor's
/// cache when it is worked on.
const BLOCK: usize = 256 << 10;
/// Blocks that there are: one is filled, one is worked on, the others wait.
const BLOCKS: usize = 4;

/// Gives `with` what is in `source`, which a thread of its own reads at most 1 MiB ahead.
///
/// An error of `source` comes behind the bytes that it gave before. When `with` does not read to the end, the thread ends after the block
/// that it is at.
///
/// # Panics
/// When reading `source` does.
pub fn ahead<T>(source: impl Read + Send, with: impl FnOnce(&mut dyn Read) -> T) -> T {
    let (full, blocks) = mpsc::channel();
    let (used, empty) = mpsc::channel();
    for _ in 0..BLOCKS {
        used.send(vec![0; BLOCK])
            .expect("the other end is in this function");
    }
    thread::scope(|scope| {
        scope.spawn(move || fill_all(source, &empty, &full));
        with(&mut Ahead {
            blocks,
            used,
            block: Vec::new(),
            at: 0,
            after: Ok(()),
        })
    })
}

/// What was read, and why there is no more of it when that is a fault. The last one is shorter than a block.
type Filled = (Vec<u8>, io::Result<()>);

fn fill_all(mut source: impl Read, empty: &Receiver<Vec<u8>>, full: &Sender<Filled>) {
    while let Ok(mut block) = empty.recv() {
        let (had, done) = fill(&mut source, &mut block);
        let is_last = had < block.len();
        block.truncate(had);
        if full.send((block, done)).is_err() || is_last {
            return;
        }
    }
}

/// As much as there is, up to the length of `buffer`; and why there is no more, when that is a fault.
pub fn fill(source: &mut dyn Read, buffer: &mut [u8]) -> (usize, io::Result<()>) {
    let mut had = 0;
    while had < buffer.len() {
        match source.read(&mut buffer[had..]) {
            Ok(0) => break,
            Ok(n) => had += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (had, Err(error)),
        }
    }
    (had, Ok(()))
}

/// What the thread read.
struct Ahead {
    blocks: Receiver<Filled>,
    used: Sender<Vec<u8>>,
    block: Vec<u8>,
    /// So much of the block was given.
    at: usize,
    /// Comes behind it.
    after: io::Result<()>,
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.block.len() {
            std::mem::replace(&mut self.after, Ok(()))?;
            let used = std::mem::take(&mut self.block);
            self.at = 0;
            if !used.is_empty() {
                // Nobody fills it again when it was the last.
                let _ = self.used.send(used);
            }
            let Ok(next) = self.blocks.recv() else {
                return Ok(0);
            };
            (self.block, self.after) = next;
        }
        let had = (&self.block[self.at..]).read(buffer)?;
        self.at += had;
        Ok(had)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn byte(at: usize) -> u8 {
        u8::try_from(at * 31 % 251).expect("below 251")
    }

    /// So many bytes in pieces of so many, then a fault or the end.
    struct Pieces<'a> {
        length: usize,
        piece: usize,
        at: usize,
        fault: bool,
        /// How many were worked on.
        taken: &'a AtomicUsize,
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let ahead = self.at - self.taken.load(Ordering::SeqCst);
            // One more: that which the reader has in hand is not worked on to its end.
            assert!(ahead <= (BLOCKS + 1) * BLOCK, "{ahead} bytes ahead");
            let length = self.piece.min(self.length - self.at).min(buffer.len());
            if length == 0 && self.fault {
                return Err(io::Error::other("broken"));
            }
            for (n, to) in buffer[..length].iter_mut().enumerate() {
                *to = byte(self.at + n);
            }
            self.at += length;
            Ok(length)
        }
    }

    #[test]
    fn all_bytes_come_in_order_and_a_fault_behind_them() {
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 9 * BLOCK, 9 * BLOCK + 7] {
            for piece in [BLOCK * 2, 4099] {
                for fault in [false, true] {
                    let taken = AtomicUsize::new(0);
                    let source = Pieces {
                        length,
                        piece,
                        at: 0,
                        fault,
                        taken: &taken,
                    };
                    let (bytes, done) = ahead(source, |input| {
                        let (mut bytes, mut part) = (Vec::new(), [0; 10_007]);
                        loop {
                            match input.read(&mut part) {
                                // And nothing more, however often it is asked.
                                Ok(0) => {
                                    return (
                                        bytes,
                                        input
                                            .read(&mut part)
                                            .map(|n| assert_eq!(n, 0))
                                            .map_err(|e| e.to_string()),
                                    );
                                }
                                Ok(n) => bytes.extend_from_slice(&part[..n]),
                                Err(error) => return (bytes, Err(error.to_string())),
                            }
                            taken.store(bytes.len(), Ordering::SeqCst);
                        }
                    });
                    let wanted: Vec<u8> = (0..length).map(byte).collect();
                    assert!(bytes == wanted, "{length} in pieces of {piece}");
                    let end = if fault { Err("broken".into()) } else { Ok(()) };
                    assert_eq!(done, end, "{length} in pieces of {piece}");
                }
            }
        }
    }

    #[test]
    fn whoever_stops_early_does_not_wait_for_the_rest() {
        let first = ahead(io::repeat(7), |input| {
            let mut first = [0; 3];
            input.read_exact(&mut first).map(|()| first)
        });
        assert_eq!(first.expect("it never ends"), [7; 3]);
    }
}
