use std::fs::File;
use std::io;
use straddle_geometry::{Access, Bytes};

use super::buffer::Buffers;
use super::slots::Slots;
use super::{Durability, Ended, Engine, Request, Setup, Wait};

/// One system call a request (on Windows one to make it and one to wait for it), which blocks: requests are made one after the other in [`Engine::finish`], and whoever wants
/// more under way at once takes a thread for each.
#[derive(Debug)]
pub struct Pread {
    file: File,
    buffers: Buffers,
    slots: Slots,
    started: Vec<Request>,
    flags: Flags,
}

/// What the kernel is asked for beside the bytes; none of it is known to every system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flags {
    dsync: bool,
    atomic: bool,
    polled: bool,
}

/// Refuses what other systems than Linux do not know.
pub(super) fn refuse_unknown(setup: &Setup) -> io::Result<()> {
    let is_asked = setup.durability == Durability::ForcedUnitAccess || setup.atomic || setup.polled;
    if cfg!(not(target_os = "linux")) && is_asked {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "forced unit access, atomic writes and polling for each request are known on Linux only; expected neither",
        ));
    }
    Ok(())
}

impl Pread {
    /// An engine with as many buffers as asked for, of which one at a time is in use.
    ///
    /// # Errors
    /// When there is not enough memory for the buffers, or when forced unit access, atomic writes or polling are asked for
    /// and this system has no such calls.
    pub fn new(setup: Setup) -> io::Result<Pread> {
        let flags = Flags {
            dsync: setup.durability == Durability::ForcedUnitAccess,
            atomic: setup.atomic,
            polled: setup.polled,
        };
        refuse_unknown(&setup)?;
        Ok(Pread {
            buffers: Buffers::new(setup.slots, setup.largest, setup.memory_alignment)?,
            slots: Slots::new(&setup),
            file: setup.file,
            started: Vec::new(),
            flags,
        })
    }

    fn perform(&mut self, request: Request) -> io::Result<Bytes> {
        let buffer = self.buffers.get(request.slot);
        let len = usize::try_from(request.len.get()).unwrap_or(usize::MAX);
        let bytes = buffer.and_then(|buffer| buffer.get_mut(..len));
        let bytes = bytes.ok_or(io::ErrorKind::InvalidInput)?;
        loop {
            let moved = match request.access {
                Access::Read => read_at(&self.file, bytes, request.offset, self.flags),
                Access::Write => write_at(&self.file, bytes, request.offset, self.flags),
            };
            match moved {
                // A signal came before anything was moved.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                moved => return moved.map(|moved| Bytes::new(moved as u64)),
            }
        }
    }
}

impl Engine for Pread {
    fn slots(&self) -> u32 {
        self.slots.count()
    }

    fn buffer(&mut self, slot: u32) -> Option<&mut [u8]> {
        if self.slots.is_taken(slot) {
            return None;
        }
        self.buffers.get(slot)
    }

    #[inline]
    fn start(&mut self, request: Request) {
        if self.slots.take(&request) {
            self.started.push(request);
        }
    }

    fn finish(&mut self, _: Wait, ended: &mut Vec<Ended>) -> io::Result<()> {
        self.slots.refused(ended);
        let mut started = std::mem::take(&mut self.started);
        for request in started.drain(..) {
            let moved = self.perform(request);
            self.slots.give_back(request.slot);
            ended.push(Ended {
                slot: request.slot,
                moved,
            });
        }
        // The vector keeps its memory.
        self.started = started;
        Ok(())
    }
}

#[cfg(target_os = "linux")]
mod calls {
    use rustix::io::{ReadWriteFlags, preadv2, pwritev2};
    use std::fs::File;
    use std::io::{self, IoSlice, IoSliceMut};
    use std::os::unix::fs::FileExt;
    use straddle_geometry::Bytes;

    use super::Flags;

    pub(super) fn read_at(
        file: &File,
        bytes: &mut [u8],
        offset: Bytes,
        flags: Flags,
    ) -> io::Result<usize> {
        // The old calls where they do: some file systems and sandboxes know no others.
        if !flags.polled {
            return file.read_at(bytes, offset.get());
        }
        let mut bytes = [IoSliceMut::new(bytes)];
        Ok(preadv2(
            file,
            &mut bytes,
            offset.get(),
            ReadWriteFlags::HIPRI,
        )?)
    }

    pub(super) fn write_at(
        file: &File,
        bytes: &[u8],
        offset: Bytes,
        flags: Flags,
    ) -> io::Result<usize> {
        let mut asked = ReadWriteFlags::empty();
        asked.set(ReadWriteFlags::DSYNC, flags.dsync);
        asked.set(ReadWriteFlags::HIPRI, flags.polled);
        if flags.atomic {
            asked |= ReadWriteFlags::from_bits_retain(super::super::request::RWF_ATOMIC);
        }
        if asked.is_empty() {
            return file.write_at(bytes, offset.get());
        }
        Ok(pwritev2(file, &[IoSlice::new(bytes)], offset.get(), asked)?)
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
mod calls {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt;
    use straddle_geometry::Bytes;

    use super::Flags;

    pub(super) fn read_at(
        file: &File,
        bytes: &mut [u8],
        offset: Bytes,
        _: Flags,
    ) -> io::Result<usize> {
        file.read_at(bytes, offset.get())
    }

    pub(super) fn write_at(
        file: &File,
        bytes: &[u8],
        offset: Bytes,
        _: Flags,
    ) -> io::Result<usize> {
        file.write_at(bytes, offset.get())
    }
}

#[cfg(windows)]
mod calls {
    use std::fs::File;
    use std::io;
    use straddle_geometry::Bytes;

    use super::Flags;
    use crate::windows::positioned;

    pub(super) fn read_at(
        file: &File,
        bytes: &mut [u8],
        offset: Bytes,
        _: Flags,
    ) -> io::Result<usize> {
        positioned::read_at(file, bytes, offset.get())
    }

    pub(super) fn write_at(
        file: &File,
        bytes: &[u8],
        offset: Bytes,
        _: Flags,
    ) -> io::Result<usize> {
        positioned::write_at(file, bytes, offset.get())
    }
}

use calls::{read_at, write_at};
