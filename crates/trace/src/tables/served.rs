//! A file that is lent, for decoders that want to own what they read: they ask, and whoever has the file answers.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use straddle_io::ReadAt;

/// Bytes that somebody wants.
struct Ask {
    at: u64,
    len: usize,
    answer: SyncSender<io::Result<Bytes>>,
}

/// Where to ask for bytes of a file.
#[derive(Clone)]
pub(crate) struct Served {
    asks: Sender<Ask>,
    size: u64,
}

/// Runs `work` in a thread of its own, and answers what it asks of `source`.
pub(super) fn with<T: Send>(source: &dyn ReadAt, work: impl FnOnce(Served) -> T + Send) -> T {
    let (sender, receiver) = channel();
    let served = Served {
        asks: sender,
        size: source.size().get(),
    };
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || work(served));
        serve(source, &receiver);
        worker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Answers until nobody can ask any more.
fn serve(source: &dyn ReadAt, asks: &Receiver<Ask>) {
    for ask in asks {
        // Who does not wait any more needs no answer.
        let _ = ask.answer.send(read(source, ask.at, ask.len));
    }
}

fn read(source: &dyn ReadAt, at: u64, len: usize) -> io::Result<Bytes> {
    let mut bytes = Vec::new();
    while bytes.len() < len {
        let next = straddle_geometry::Bytes::new(at + bytes.len() as u64);
        if source.append_at(next, len - bytes.len(), &mut bytes)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Bytes::from(bytes))
}

impl Served {
    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    /// So many bytes from there on. What is beyond the end is never asked for, so that no length in a file sizes anything.
    pub(super) fn bytes(&self, at: u64, len: u64) -> io::Result<Bytes> {
        let is_inside = at.checked_add(len).is_some_and(|end| end <= self.size);
        let len = usize::try_from(len).ok().filter(|_| is_inside);
        let len = len.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "it names bytes beyond its end",
            )
        })?;
        let gone = || io::Error::other("nobody reads the file any more");
        let (answer, answers) = sync_channel(1);
        let ask = Ask { at, len, answer };
        self.asks.send(ask).map_err(|_| gone())?;
        answers.recv().map_err(|_| gone())?
    }
}

impl Length for Served {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for Served {
    type T = From;

    fn get_read(&self, start: u64) -> Result<From, ParquetError> {
        Ok(From {
            served: self.clone(),
            at: start,
            ahead: Bytes::new(),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let bytes = self.bytes(start, length as u64);
        bytes.map_err(|error| ParquetError::External(Box::new(error)))
    }
}

/// A file from a place on: headers of pages are read so, which are a few dozen bytes.
pub(crate) struct From {
    served: Served,
    at: u64,
    ahead: Bytes,
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        const AHEAD: u64 = 512;
        if self.ahead.is_empty() {
            let left = self.served.size.saturating_sub(self.at);
            let wanted = (buffer.len() as u64).max(AHEAD).min(left);
            if wanted == 0 {
                return Ok(0);
            }
            self.ahead = self.served.bytes(self.at, wanted)?;
            self.at += wanted;
        }
        let len = buffer.len().min(self.ahead.len());
        buffer[..len].copy_from_slice(&self.ahead.split_to(len));
        Ok(len)
    }
}
