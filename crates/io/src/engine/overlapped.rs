//! The engine on overlapped requests: many under way at once in one thread, each with a completion routine.
//!
//! Completion routines (`ReadFileEx`) in place of a completion port: the threads of a run share one file object, since a second one that
//! writes could only be had by letting everybody write ([`crate::owned`]); a file object belongs to one port at most; and out of a shared
//! port each thread would take the completions of others. Routines come to the thread that made the request, when it waits for them.
//! With one thread they cost what a port does, so that there is one way for both.
//!
//! Soundness. The system reads and writes buffers, and writes to the [`OVERLAPPED`], after the call that handed a request over has
//! returned. So: both are raw memory that this engine owns and reaches by raw pointers only; a reference to a buffer is given out only
//! while its slot is free, and ends (it borrows the engine) before a request can be started in it; a slot is free again only when its
//! routine has run. A dropped engine cancels what it can and waits for the rest before memory is freed. An engine that is leaked leaks
//! its memory too. The engine stays in the thread that made it, to which alone the routines come, and they run only inside a wait.

use std::cell::UnsafeCell;
use std::fs::File;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::time::{Duration, Instant};
use straddle_geometry::{Access, Bytes};

use windows_sys::Win32::Foundation::{ERROR_HANDLE_EOF, GetLastError};
use windows_sys::Win32::Storage::FileSystem::{ReadFileEx, WriteFileEx};
use windows_sys::Win32::System::IO::{CancelIoEx, OVERLAPPED};
use windows_sys::Win32::System::Threading::{
    CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, CreateWaitableTimerExW, INFINITE, SetWaitableTimer,
    SleepEx, TIMER_ALL_ACCESS, WaitForSingleObjectEx,
};

use super::buffer::Buffers;
use super::slots::Slots;
use super::{Ended, Engine, Request, Setup, Wait};
use crate::windows::positioned::overlapped;

/// Overlapped requests, each with a completion routine.
#[derive(Debug)]
pub struct Overlapped {
    file: File,
    buffers: Buffers,
    slots: Slots,
    flights: Vec<UnsafeCell<Flight>>,
    /// Handed over, and not yet told of.
    under_way: u32,
    /// Slots whose requests are over: put there by the routines, and by calls that fail at once. Out of a box, and back when it is
    /// dropped; a pointer that no other thread may have, for routines come to the thread that made a request.
    over: *mut Vec<u32>,
    /// What is waited for besides, if the time is limited.
    timer: OwnedHandle,
}

/// What the system keeps of a request, and what its routine says of it. The first must stay the first: the routine is told where it is.
#[repr(C)]
struct Flight {
    overlapped: OVERLAPPED,
    slot: u32,
    /// 0, or the error.
    error: u32,
    moved: u32,
    under_way: bool,
    over: *mut Vec<u32>,
}

impl std::fmt::Debug for Flight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flight")
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}

/// Notes what became of a request.
#[allow(unsafe_code)]
unsafe extern "system" fn routine(error: u32, moved: u32, overlapped: *mut OVERLAPPED) {
    let flight = overlapped.cast::<Flight>();
    // SAFETY: the pointer is the one that the request was made with, to the first field of a `Flight` that its engine keeps until no request
    // is under way; so does it keep the vector. This runs inside a wait of the engine's own thread, where no reference to either exists.
    unsafe {
        (*flight).error = error;
        (*flight).moved = moved;
        (*flight).under_way = false;
        let over = (*flight).over;
        (*over).push((*flight).slot);
    }
}

impl Overlapped {
    /// An engine; its file must have been opened as overlapped.
    ///
    /// # Errors
    /// When there is not enough memory for the buffers, no timer is to be had, or when forced unit access, atomic writes or polling are
    /// asked for, which this system does not know.
    pub fn new(setup: Setup) -> io::Result<Overlapped> {
        super::pread::refuse_unknown(&setup)?;
        let slots = Slots::new(&setup);
        let (buffers, timer) = (
            Buffers::new(setup.slots, setup.largest, setup.memory_alignment)?,
            timer()?,
        );
        // Routines push to it, and must find room. From here on nothing fails, so that it has its owner.
        let over = Box::into_raw(Box::new(Vec::with_capacity(setup.slots as usize)));
        let flight = |slot| {
            UnsafeCell::new(Flight {
                overlapped: OVERLAPPED::default(),
                slot,
                error: 0,
                moved: 0,
                under_way: false,
                over,
            })
        };
        Ok(Overlapped {
            buffers,
            flights: (0..setup.slots).map(flight).collect(),
            over,
            slots,
            under_way: 0,
            timer,
            file: setup.file,
        })
    }

    /// Hands a request over; what is refused at once has ended.
    #[allow(unsafe_code)]
    fn hand_over(&mut self, request: Request) {
        let (Some(flight), Some((buffer, _))) = (
            self.flights.get(request.slot as usize),
            self.buffers.place(request.slot),
        ) else {
            return;
        };
        let flight = flight.get();
        // Lengths are below 2³², as those of buffers are.
        let len = u32::try_from(request.len.get()).unwrap_or(u32::MAX);
        let overlapped = overlapped(request.offset.get());
        // SAFETY: nothing is under way in this slot (`Slots::take` said so), so that nobody else uses the flight or the buffer, which has at
        // least `len` bytes. Both stay where they are until the routine has run: see the module's documentation. The pointer that the
        // system gets is to the whole flight.
        let done = unsafe {
            (*flight).overlapped = overlapped;
            (*flight).under_way = true;
            let (handle, buffer, flight) =
                (self.file.as_raw_handle(), buffer.as_ptr(), flight.cast());
            match request.access {
                Access::Read => ReadFileEx(handle, buffer, len, flight, Some(routine)),
                Access::Write => WriteFileEx(handle, buffer, len, flight, Some(routine)),
            }
        };
        self.under_way += 1;
        if done == 0 {
            // SAFETY: the request was refused, and no routine comes for it.
            unsafe { routine(GetLastError(), 0, flight.cast()) };
        }
    }

    /// Tells what has ended; how many.
    #[allow(unsafe_code)]
    fn collect(&mut self, ended: &mut Vec<Ended>) -> usize {
        // SAFETY: routines run inside waits only, and this is none; no other reference to the vector exists.
        let over = unsafe { &mut *self.over };
        let count = over.len();
        for slot in over.drain(..) {
            self.under_way -= 1;
            self.slots.give_back(slot);
            // SAFETY: its routine has run, so that the system has let go of the flight.
            let flight = self
                .flights
                .get(slot as usize)
                .map(|flight| unsafe { &*flight.get() });
            let moved = match flight {
                Some(Flight {
                    error: 0, moved, ..
                }) => Ok(Bytes::new(u64::from(*moved))),
                // Short at the end of the file, as on other systems.
                Some(Flight {
                    error: ERROR_HANDLE_EOF,
                    ..
                }) => Ok(Bytes::ZERO),
                Some(flight) => Err(io::Error::from_raw_os_error(flight.error.cast_signed())),
                None => continue,
            };
            ended.push(Ended { slot, moved });
        }
        count
    }

    /// Lets routines run, for so long at most, or until some have. With no time, those that have come already.
    #[allow(unsafe_code)]
    fn wait(&self, time: Option<Duration>) -> io::Result<()> {
        match time {
            None => {
                // SAFETY: the call takes integers; the routines that it runs are those of engines of this thread.
                unsafe { SleepEx(INFINITE, 1) };
            }
            Some(Duration::ZERO) => {
                // SAFETY: as above.
                unsafe { SleepEx(0, 1) };
            }
            Some(time) => {
                // In units of 100 ns, and negative: from now on.
                let ticks = i64::try_from(time.as_nanos().div_ceil(100)).unwrap_or(i64::MAX);
                let due = -ticks;
                let timer = self.timer.as_raw_handle();
                // SAFETY: the timer is open as long as this engine is; the time lives during the call; there is no routine of the timer's.
                let set = unsafe {
                    SetWaitableTimer(timer, &raw const due, 0, None, std::ptr::null(), 0)
                };
                if set == 0 {
                    return Err(io::Error::last_os_error());
                }
                // SAFETY: as above.
                unsafe { WaitForSingleObjectEx(timer, INFINITE, 1) };
            }
        }
        Ok(())
    }
}

/// A timer that ends a wait when it should, and not up to 16 ms later, where the system has such (Windows 10, version 1803).
#[allow(unsafe_code)]
fn timer() -> io::Result<OwnedHandle> {
    for flags in [CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, 0] {
        // SAFETY: it has no name and no attributes; the rest are integers.
        let handle = unsafe {
            CreateWaitableTimerExW(std::ptr::null(), std::ptr::null(), flags, TIMER_ALL_ACCESS)
        };
        if !handle.is_null() {
            // SAFETY: the handle was just made, and nobody else has it.
            return Ok(unsafe { OwnedHandle::from_raw_handle(handle) });
        }
    }
    Err(io::Error::last_os_error())
}

impl Engine for Overlapped {
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
            self.hand_over(request);
        }
    }

    fn finish(&mut self, wait: Wait, ended: &mut Vec<Ended>) -> io::Result<()> {
        let was_refused = self.slots.refused(ended);
        self.wait(Some(Duration::ZERO))?;
        let begin = Instant::now();
        while self.collect(ended) == 0 && self.under_way > 0 && !was_refused {
            match wait {
                Wait::No => break,
                Wait::One => self.wait(None)?,
                Wait::For(time) => match time.checked_sub(begin.elapsed()) {
                    Some(rest) if !rest.is_zero() => self.wait(Some(rest))?,
                    _ => break,
                },
            }
        }
        Ok(())
    }
}

impl Drop for Overlapped {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        for flight in &self.flights {
            // SAFETY: routines run inside waits only, so that this is not written to meanwhile.
            if unsafe { (*flight.get()).under_way } {
                // What cannot be cancelled is waited for. The requests of other engines on this file are left alone.
                // SAFETY: the handle is open as long as `self` is; the system only compares the address.
                unsafe { CancelIoEx(self.file.as_raw_handle(), flight.get().cast()) };
            }
        }
        let mut ended = Vec::new();
        loop {
            self.collect(&mut ended);
            if self.under_way == 0 {
                break;
            }
            // SAFETY: as in `wait`.
            unsafe { SleepEx(INFINITE, 1) };
        }
        // SAFETY: it came out of a box in `new`; no routine comes any more that would reach it.
        drop(unsafe { Box::from_raw(self.over) });
    }
}
