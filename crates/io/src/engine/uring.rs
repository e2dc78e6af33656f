//! The engine on `io_uring`: a ring of its own for each worker.
//!
//! Kernel 5.11 at least (waiting with a timeout came then). What later kernels know is used where they know it: one issuer
//! whose completions are worked off when it asks for them (6.1), or at least without interrupting it (5.19). The file and
//! the buffers are registered, so that the kernel looks them up and pins them once; where it refuses, mostly because of
//! `RLIMIT_MEMLOCK` on older kernels, each request names them.
//!
//! Soundness. The kernel reads and writes buffers after the call that handed a request over has returned. So: buffers are
//! raw memory that this engine owns; a reference to one is given out only while its slot is free, and ends (it borrows the
//! engine) before a request can be started in it; a slot is free again only when its completion has been read. A dropped
//! engine cancels what it can and waits for the rest before memory is freed; should waiting itself fail, memory, ring and
//! file are leaked, never freed. An engine that is leaked leaks its memory too. The engine stays in the thread that made
//! it, which the kernel insists on for rings with one issuer.

use io_uring::{CompletionQueue, IoUring, opcode, squeue, types};
use rustix::thread::CapabilitySet;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use straddle_geometry::{Access, Bytes};

use super::buffer::Buffers;
use super::request::{RWF_ATOMIC, RWF_DSYNC};
use super::slots::Slots;
use super::{Durability, Ended, Engine, Request, Setup, Wait};

/// `IORING_ENTER_GETEVENTS`: work off completions that were put off, also when none is waited for.
const GETEVENTS: u32 = 1;
/// `ETIME`: the time was up before a request ended.
const ETIME: i32 = 62;
/// `EINVAL`: the kernel does not know a flag of the setup.
const EINVAL: i32 = 22;

/// Bytes of buffers that engines of this process have registered. What is registered counts towards
/// `RLIMIT_MEMLOCK`, and so do rings: buffers of the first workers must leave room for the rings of the last.
static PINNED: AtomicU64 = AtomicU64::new(0);

/// Bytes of buffers that may be registered: half of the limit, or all there is for those to whom it does not apply.
fn pinnable() -> u64 {
    let may = rustix::thread::capabilities(None);
    if may.is_ok_and(|may| may.effective.contains(CapabilitySet::IPC_LOCK)) {
        return u64::MAX;
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    limit.unwrap_or(u64::MAX) / 2
}

/// Requests through a ring of the kernel's, many a system call.
pub struct Uring {
    ring: ManuallyDrop<IoUring>,
    buffers: ManuallyDrop<Buffers>,
    /// Open for as long as requests are under way.
    file: ManuallyDrop<File>,
    slots: Slots,
    /// Started, not yet in the submission queue.
    started: Vec<Request>,
    /// In the submission queue or with the kernel.
    under_way: usize,
    fixed_file: bool,
    fixed_buffers: bool,
    write_flags: i32,
    /// What is counted of it in [`PINNED`].
    pinned: u64,
    /// Neither `Send` nor `Sync`: a ring with one issuer belongs to the thread that made it.
    here: PhantomData<*const ()>,
}

impl std::fmt::Debug for Uring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Uring")
            .field("slots", &self.slots.count())
            .field("under_way", &self.under_way)
            .field("fixed_file", &self.fixed_file)
            .field("fixed_buffers", &self.fixed_buffers)
            .finish_non_exhaustive()
    }
}

impl Uring {
    /// A ring with as many entries as `setup` has slots.
    ///
    /// # Errors
    /// When the kernel has no `io_uring`, or forbids it; the message says which. When there is not enough memory.
    pub fn new(setup: Setup) -> io::Result<Uring> {
        let ring = ring(setup.slots.max(1), setup.polled)?;
        let buffers = Buffers::new(setup.slots, setup.largest, setup.memory_alignment)?;
        let fixed_file = ring
            .submitter()
            .register_files(&[setup.file.as_raw_fd()])
            .is_ok();
        let mut write_flags = 0;
        if setup.durability == Durability::ForcedUnitAccess {
            write_flags |= RWF_DSYNC;
        }
        if setup.atomic {
            write_flags |= RWF_ATOMIC;
        }
        let mut engine = Uring {
            slots: Slots::new(&setup),
            ring: ManuallyDrop::new(ring),
            buffers: ManuallyDrop::new(buffers),
            file: ManuallyDrop::new(setup.file),
            started: Vec::new(),
            under_way: 0,
            fixed_file,
            fixed_buffers: false,
            write_flags: i32::try_from(write_flags).unwrap_or(0),
            pinned: 0,
            here: PhantomData,
        };
        engine.fixed_buffers = engine.register_buffers();
        Ok(engine)
    }

    /// Whether a ring can be made here; the error says why not.
    pub(super) fn probe() -> io::Result<()> {
        ring(1, false).map(drop)
    }

    /// Whether the kernel holds the file and the buffers, so that requests need not name them: for reports.
    #[must_use]
    pub fn registered(&self) -> (bool, bool) {
        (self.fixed_file, self.fixed_buffers)
    }

    /// Hands the buffers to the kernel, an entry a slot, all of them or none.
    fn register_buffers(&mut self) -> bool {
        let bytes = self.buffers.bytes();
        let before = PINNED.fetch_add(bytes, Ordering::Relaxed);
        let registered = before.saturating_add(bytes) <= pinnable() && self.register_all();
        if registered {
            self.pinned = bytes;
        } else {
            PINNED.fetch_sub(bytes, Ordering::Relaxed);
        }
        registered
    }

    fn register_all(&self) -> bool {
        let places = (0..self.slots.count()).map_while(|slot| self.buffers.place(slot));
        let vectors: Vec<libc::iovec> = places
            .map(|(start, len)| libc::iovec {
                iov_base: start.as_ptr().cast(),
                iov_len: len,
            })
            .collect();
        // SAFETY: the vectors are memory of `self.buffers`, which is freed only after the ring is gone (see `drop`).
        #[allow(unsafe_code)]
        let registered = unsafe { self.ring.submitter().register_buffers(&vectors) };
        registered.is_ok()
    }

    fn entry(&self, request: &Request) -> Option<squeue::Entry> {
        let (start, _) = self.buffers.place(request.slot)?;
        let start = start.as_ptr();
        // `Slots::take` has let no length through that is above the buffers', which are below 2³².
        let len = u32::try_from(request.len.get()).ok()?;
        let index = u16::try_from(request.slot).ok();
        let offset = request.offset.get();
        let write_flags = self.write_flags;
        macro_rules! entry {
            ($opcode:ident, $fd:expr $(, $index:expr)?; $flags:expr) => {
                opcode::$opcode::new($fd, start, len $(, $index)?)
                    .offset(offset)
                    .rw_flags($flags)
                    .build()
            };
        }
        let fixed = types::Fixed(0);
        let named = types::Fd(self.file.as_raw_fd());
        let index = index.filter(|_| self.fixed_buffers);
        let entry = match (request.access, self.fixed_file, index) {
            (Access::Read, true, Some(index)) => entry!(ReadFixed, fixed, index; 0),
            (Access::Read, false, Some(index)) => entry!(ReadFixed, named, index; 0),
            (Access::Read, true, None) => entry!(Read, fixed; 0),
            (Access::Read, false, None) => entry!(Read, named; 0),
            (Access::Write, true, Some(index)) => entry!(WriteFixed, fixed, index; write_flags),
            (Access::Write, false, Some(index)) => entry!(WriteFixed, named, index; write_flags),
            (Access::Write, true, None) => entry!(Write, fixed; write_flags),
            (Access::Write, false, None) => entry!(Write, named; write_flags),
        };
        Some(entry.user_data(u64::from(request.slot)))
    }

    /// Puts what was started into the submission queue.
    fn queue(&mut self, ended: &mut Vec<Ended>) {
        let mut started = std::mem::take(&mut self.started);
        let mut left = 0;
        let len = started.len();
        for at in 0..len {
            let Some(request) = started.get(at).copied() else {
                break;
            };
            let Some(entry) = self.entry(&request) else {
                self.slots.give_back(request.slot);
                ended.push(Ended {
                    slot: request.slot,
                    moved: Err(io::ErrorKind::InvalidInput.into()),
                });
                continue;
            };
            // SAFETY: the entry points to the buffer of a slot that is taken, so nobody else has a reference to it or gets
            // one before its completion was read; the buffer and the file outlive the request (see `drop`).
            #[allow(unsafe_code)]
            let pushed = unsafe { self.ring.submission().push(&entry) };
            if pushed.is_ok() {
                self.under_way += 1;
            } else {
                // The queue has an entry for each slot, so it is full only when the kernel took nothing for a while.
                if let Some(place) = started.get_mut(left) {
                    *place = request;
                    left += 1;
                }
            }
        }
        started.truncate(left);
        self.started = started;
    }

    /// Appends what has ended; true when there was any.
    fn reap(&mut self, ended: &mut Vec<Ended>) -> bool {
        let queue: CompletionQueue<'_> = self.ring.completion();
        let mut any = false;
        for completion in queue {
            let Ok(slot) = u32::try_from(completion.user_data()) else {
                continue;
            };
            let moved = match u64::try_from(completion.result()) {
                Ok(moved) => Ok(Bytes::new(moved)),
                Err(_) => Err(io::Error::from_raw_os_error(-completion.result())),
            };
            self.slots.give_back(slot);
            self.under_way -= 1;
            ended.push(Ended { slot, moved });
            any = true;
        }
        any
    }

    /// Hands over what is queued, and waits.
    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        let submitter = self.ring.submitter();
        // Polling takes no timeout: it would go on until a request has ended. So the caller looks at the clock instead.
        let wait = match wait {
            Wait::For(_) if self.ring.params().is_setup_iopoll() => Wait::No,
            wait => wait,
        };
        let entered = match wait {
            Wait::No => {
                let queued = self.ring.submission().len();
                let queued = u32::try_from(queued).unwrap_or(u32::MAX);
                // SAFETY: no argument is passed, and the entries in the queue are those that `queue` has put there.
                #[allow(unsafe_code)]
                unsafe {
                    self.ring
                        .submitter()
                        .enter::<libc::sigset_t>(queued, 0, GETEVENTS, None)
                }
            }
            Wait::One => submitter.submit_and_wait(1),
            Wait::For(time) => {
                let time = types::Timespec::from(time);
                let arguments = types::SubmitArgs::new().timespec(&time);
                submitter.submit_with_args(1, &arguments)
            }
        };
        match entered {
            Err(error) if error.raw_os_error() == Some(ETIME) => Ok(()),
            entered => entered.map(drop),
        }
    }

    /// Waits until nothing is under way, without handing over what was only started.
    fn end_all(&mut self) -> io::Result<()> {
        self.started.clear();
        if self.under_way == 0 {
            return Ok(());
        }
        // Kernels before 6.0 do not know this; and a request that the device has is waited for in any case.
        let patience = types::Timespec::from(Duration::ZERO);
        let _ = self
            .ring
            .submitter()
            .register_sync_cancel(Some(patience), types::CancelBuilder::any());
        let mut ended = Vec::new();
        let mut failures = 0_u32;
        while self.under_way > 0 {
            let entered = self.enter(Wait::One);
            if self.reap(&mut ended) {
                failures = 0;
                continue;
            }
            if let Err(error) = entered
                && error.kind() != io::ErrorKind::Interrupted
            {
                // Out of memory for requests, perhaps for a moment only.
                failures += 1;
                if failures > 100 {
                    return Err(error);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }
}

impl Engine for Uring {
    fn slots(&self) -> u32 {
        self.slots.count()
    }

    fn buffer(&mut self, slot: u32) -> Option<&mut [u8]> {
        if self.slots.is_taken(slot) {
            return None;
        }
        self.buffers.get(slot)
    }

    fn start(&mut self, request: Request) {
        if self.slots.take(&request) {
            self.started.push(request);
        }
    }

    fn finish(&mut self, wait: Wait, ended: &mut Vec<Ended>) -> io::Result<()> {
        let mut any = self.slots.refused(ended);
        let before = ended.len();
        self.queue(ended);
        any |= ended.len() > before;
        any |= self.reap(ended);
        loop {
            if self.under_way == 0 {
                return Ok(());
            }
            let entered = self.enter(if any { Wait::No } else { wait });
            any |= self.reap(ended);
            match entered {
                Ok(()) => {}
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    // The kernel has no memory for another request, or no room for completions: what has ended makes
                    // room, and if that is nothing, what is under way will.
                    io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy
                        if any || self.with_kernel() > 0 =>
                    {
                        if !any && wait == Wait::One {
                            self.wait_only()?;
                            any |= self.reap(ended);
                        }
                    }
                    _ => return Err(error),
                },
            }
            if any || wait != Wait::One {
                return Ok(());
            }
        }
    }
}

impl Uring {
    fn with_kernel(&mut self) -> usize {
        self.under_way - self.ring.submission().len().min(self.under_way)
    }

    /// Waits for one request without handing over any.
    fn wait_only(&self) -> io::Result<()> {
        // SAFETY: no argument is passed and nothing is submitted.
        #[allow(unsafe_code)]
        let entered = unsafe {
            self.ring
                .submitter()
                .enter::<libc::sigset_t>(0, 1, GETEVENTS, None)
        };
        match entered {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        PINNED.fetch_sub(self.pinned, Ordering::Relaxed);
        if self.end_all().is_err() {
            // The kernel may still write to the buffers: they stay where they are for good.
            return;
        }
        // SAFETY: nothing is under way, so the kernel will not touch the buffers or the file again. The fields are not
        // used after this.
        #[allow(unsafe_code)]
        unsafe {
            ManuallyDrop::drop(&mut self.ring);
            ManuallyDrop::drop(&mut self.buffers);
            ManuallyDrop::drop(&mut self.file);
        }
    }
}

/// A ring, by the best way that the kernel knows.
fn ring(entries: u32, polled: bool) -> io::Result<IoUring> {
    let mut refused = None;
    for way in 0..3 {
        let mut builder = IoUring::builder();
        // A child must not see the ring.
        builder.dontfork();
        match way {
            0 => builder
                .setup_submit_all()
                .setup_single_issuer()
                .setup_defer_taskrun(),
            1 => builder.setup_submit_all().setup_coop_taskrun(),
            _ => &mut builder,
        };
        if polled {
            builder.setup_iopoll();
        }
        match builder.build(entries) {
            Ok(ring) if ring.params().is_feature_ext_arg() && ring.params().is_feature_nodrop() => {
                return Ok(ring);
            }
            Ok(_) => {
                let what = "this kernel's io_uring is too old: waiting with a timeout came with Linux 5.11; \
                            take the pread engine";
                return Err(io::Error::new(io::ErrorKind::Unsupported, what));
            }
            Err(error) if error.raw_os_error() == Some(EINVAL) => refused = Some(error),
            Err(error) => return Err(explain(&error)),
        }
    }
    Err(refused.map_or_else(
        || io::ErrorKind::Unsupported.into(),
        |error| explain(&error),
    ))
}

/// Why a ring cannot be made, in words.
fn explain(error: &io::Error) -> io::Error {
    let disabled = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
    let disabled = disabled.as_deref().map_or("", str::trim);
    let why = match error.kind() {
        io::ErrorKind::Unsupported => {
            "this kernel has no io_uring, or a seccomp filter hides it".to_owned()
        }
        io::ErrorKind::PermissionDenied if matches!(disabled, "1" | "2") => {
            format!("sysctl kernel.io_uring_disabled is {disabled}")
        }
        io::ErrorKind::PermissionDenied => {
            "io_uring is forbidden to this process, as seccomp filters of containers do".to_owned()
        }
        io::ErrorKind::OutOfMemory => {
            "no memory for a ring; RLIMIT_MEMLOCK (`ulimit -l`) may be too low".to_owned()
        }
        _ => "no ring can be made".to_owned(),
    };
    io::Error::new(
        error.kind(),
        format!("{why} ({error}); take the pread engine"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;
    use straddle_geometry::Unit;

    const BLOCK: u64 = 4096;

    fn engine(file: &File, polled: bool) -> io::Result<Uring> {
        Uring::new(Setup {
            file: file.try_clone()?,
            slots: 4,
            largest: Unit::new(BLOCK).ok_or(io::ErrorKind::InvalidInput)?,
            memory_alignment: Unit::new(BLOCK).ok_or(io::ErrorKind::InvalidInput)?,
            durability: Durability::ForcedUnitAccess,
            atomic: false,
            polled,
        })
    }

    fn one(engine: &mut Uring, access: Access, block: u64) -> io::Result<Bytes> {
        engine.start(Request {
            access,
            offset: Bytes::new(block * BLOCK),
            len: Bytes::new(BLOCK),
            slot: 3,
        });
        let mut ended = Vec::new();
        engine.finish(Wait::One, &mut ended)?;
        ended.pop().expect("one was started").moved
    }

    #[test]
    fn requests_name_what_the_kernel_did_not_register() {
        let file = tempfile::tempfile().expect("a temporary file");
        file.set_len(16 * BLOCK).expect("a sparse file");
        for (fixed_file, fixed_buffers) in
            [(true, true), (true, false), (false, true), (false, false)]
        {
            let mut engine = engine(&file, false).expect("a ring");
            if !fixed_file {
                let unregistered = engine.ring.submitter().unregister_files();
                unregistered.expect("it was registered");
                engine.fixed_file = false;
            }
            if !fixed_buffers {
                let unregistered = engine.ring.submitter().unregister_buffers();
                unregistered.expect("they were registered");
                engine.fixed_buffers = false;
            }
            let byte = 1 + u8::from(fixed_file) + 2 * u8::from(fixed_buffers);
            engine.buffer(3).expect("free").fill(byte);
            let moved = one(&mut engine, Access::Write, 5).expect("a write");
            assert_eq!(moved, Bytes::new(BLOCK));
            engine.buffer(3).expect("free").fill(0);
            let moved = one(&mut engine, Access::Read, 5).expect("a read");
            assert_eq!(moved, Bytes::new(BLOCK));
            let bytes = engine.buffer(3).expect("free");
            assert!(bytes.iter().all(|found| *found == byte));
            let mut bytes = [0; 4096];
            file.read_exact_at(&mut bytes, 5 * BLOCK).expect("inside");
            assert!(bytes.iter().all(|found| *found == byte));
        }
    }

    #[test]
    fn polling_where_nothing_can_be_polled_is_an_error_and_no_hang() {
        let file = tempfile::tempfile().expect("a temporary file");
        file.set_len(16 * BLOCK).expect("a sparse file");
        let mut engine = engine(&file, true).expect("a ring");
        let error = one(&mut engine, Access::Read, 0).expect_err("a buffered file is never polled");
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    fn what_forbids_a_ring_is_said() {
        let explained = |code| explain(&io::Error::from_raw_os_error(code));
        let none = explained(38);
        assert_eq!(none.kind(), io::ErrorKind::Unsupported);
        assert!(none.to_string().contains("no io_uring"), "{none}");
        let forbidden = explained(1);
        assert_eq!(forbidden.kind(), io::ErrorKind::PermissionDenied);
        assert!(
            forbidden.to_string().contains("take the pread engine"),
            "{forbidden}"
        );
        assert!(explained(12).to_string().contains("RLIMIT_MEMLOCK"));
    }
}
