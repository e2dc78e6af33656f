//! Devices by name: numbers for all threads, and what each thread knows of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::record::{Event, Record, shown};
use crate::statistics::{Course, MAX_DEVICES};

/// A longer name is cut.
const MAX_NAME: usize = 256;

/// A device, and which step of its requests was recorded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device {
    /// As the recorder names it.
    pub name: String,
    /// The step.
    pub event: Event,
}

/// The numbers of devices, the same for all threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedNames(Arc<Mutex<Numbered>>);

#[derive(Debug, Default)]
struct Numbered {
    devices: Vec<Device>,
    numbers: HashMap<Device, u32>,
}

impl SharedNames {
    pub(crate) fn of(devices: Vec<Device>) -> SharedNames {
        let names = SharedNames::default();
        for device in devices {
            names.number(device);
        }
        names
    }

    pub(crate) fn number(&self, device: Device) -> Option<u32> {
        let mut numbered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = numbered.numbers.get(&device) {
            return Some(*number);
        }
        let number = numbered.devices.len();
        if number >= MAX_DEVICES {
            return None;
        }
        let number = u32::try_from(number).ok()?;
        numbered.devices.push(device.clone());
        numbered.numbers.insert(device, number);
        Some(number)
    }

    /// All devices, by number.
    pub(crate) fn devices(&self) -> Vec<Device> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .devices
            .clone()
    }
}

/// How a name was written. A device may be written in several ways.
#[derive(Debug)]
struct Spelling {
    name: Box<[u8]>,
    event: Event,
    /// Its place among the devices of this thread.
    device: u32,
}

/// A device as one thread sees it.
#[derive(Debug)]
struct Local {
    /// For all threads.
    number: u32,
    /// In the block that is read.
    course: Option<Course>,
}

/// A small table of its own for each thread, so that none waits for another.
pub(crate) struct LocalNames {
    shared: SharedNames,
    spellings: Vec<Spelling>,
    /// Places in `spellings`, by a digest of the name.
    slots: Vec<u32>,
    /// The spelling of the last request.
    last: usize,
    devices: Vec<Local>,
    /// Places in `devices`, by number.
    places: HashMap<u32, u32>,
    /// Devices with a course in this block.
    touched: Vec<u32>,
    /// Nobody asks for numbers, so none are given.
    closed: bool,
}

const FREE: u32 = u32::MAX;

impl LocalNames {
    pub(crate) fn new(shared: SharedNames) -> LocalNames {
        LocalNames {
            shared,
            spellings: Vec::new(),
            slots: vec![FREE; 64],
            last: 0,
            devices: Vec::new(),
            places: HashMap::new(),
            touched: Vec::new(),
            closed: false,
        }
    }

    /// Gives no more numbers.
    pub(crate) const fn close(&mut self) {
        self.closed = true;
    }

    /// Notes a request, and gives the number of its device. `None` when there are too many devices.
    #[inline]
    pub(crate) fn follow(&mut self, record: &Record<'_>) -> Option<u32> {
        let is_last = self
            .spellings
            .get(self.last)
            .is_some_and(|last| *last.name == *record.device && last.event == record.event);
        if !is_last {
            self.last = self.find(record.device, record.event)?;
        }
        let place = self.spellings.get(self.last)?.device;
        let device = self.devices.get_mut(place as usize)?;
        match &mut device.course {
            Some(course) => course.add(record),
            none => {
                *none = Some(Course::new(record));
                self.touched.push(place);
            }
        }
        Some(device.number)
    }

    fn find(&mut self, name: &[u8], event: Event) -> Option<usize> {
        if self.closed {
            return None;
        }
        let name = &name[..name.len().min(MAX_NAME)];
        let mask = self.slots.len() - 1;
        let mut slot = digest(name, event) & mask;
        loop {
            let at = *self.slots.get(slot)?;
            if at == FREE {
                return self.enter(name, event);
            }
            let spelling = self.spellings.get(at as usize)?;
            if *spelling.name == *name && spelling.event == event {
                return Some(at as usize);
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn enter(&mut self, name: &[u8], event: Event) -> Option<usize> {
        let number = self.shared.number(Device {
            name: shown(name),
            event,
        })?;
        let next = u32::try_from(self.devices.len()).ok()?;
        let device = *self.places.entry(number).or_insert(next);
        if device == next {
            self.devices.push(Local {
                number,
                course: None,
            });
        }
        // Spellings without end would be memory without end.
        if self.spellings.len() >= 2 * MAX_DEVICES {
            return None;
        }
        self.spellings.push(Spelling {
            name: name.into(),
            event,
            device,
        });
        let mut from = self.spellings.len() - 1;
        if self.spellings.len() * 2 > self.slots.len() {
            self.slots = vec![FREE; self.slots.len() * 4];
            from = 0;
        }
        let mask = self.slots.len() - 1;
        for (at, spelling) in self.spellings.iter().enumerate().skip(from) {
            let mut slot = digest(&spelling.name, spelling.event) & mask;
            while self.slots[slot] != FREE {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = u32::try_from(at).ok()?;
        }
        Some(self.spellings.len() - 1)
    }

    /// What the devices of a block did, by number.
    pub(crate) fn end(&mut self) -> Vec<(u32, Course)> {
        let mut courses: Vec<(u32, Course)> = Vec::with_capacity(self.touched.len());
        for place in self.touched.drain(..) {
            let device = self.devices.get_mut(place as usize);
            if let Some(Local { number, course }) = device
                && let Some(course) = course.take()
            {
                courses.push((*number, course));
            }
        }
        courses.sort_unstable_by_key(|(number, _)| *number);
        courses
    }
}

#[inline]
fn digest(name: &[u8], event: Event) -> usize {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = event as u64 + 1;
    for chunk in name.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        sum = (sum.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
    }
    // The upper half is the better one.
    usize::try_from(sum >> 32).unwrap_or(0)
}
