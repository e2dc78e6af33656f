//! Devices by name: numbers for all threads, and what each thread knows of them.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use crate::record::{Event, Record, shown};
use crate::slots::Slots;
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

/// A hundred thousand devices are nothing unusual, so a name is kept once.
#[derive(Debug, Default)]
struct Numbered {
    devices: Vec<Device>,
    /// Numbers of devices.
    slots: Slots,
    /// Names are anybody's, so nobody knows beforehand which of them meet.
    state: RandomState,
}

impl Numbered {
    fn number(&mut self, device: Device) -> Option<u32> {
        let (devices, state) = (&self.devices, &self.state);
        let digest = |device: &Device| usize::try_from(state.hash_one(device) >> 32).unwrap_or(0);
        let of = digest(&device);
        let known = self
            .slots
            .find(of, |number| devices.get(number as usize) == Some(&device));
        if known.is_some() || devices.len() >= MAX_DEVICES {
            return known;
        }
        let number = u32::try_from(devices.len()).ok()?;
        self.slots
            .add(number, of, |number| digest(&devices[number as usize]));
        self.devices.push(device);
        Some(number)
    }
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
        numbered.number(device)
    }

    /// All devices, by number. Nobody has a number from it afterwards.
    pub(crate) fn into_devices(self) -> Vec<Device> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).devices
    }
}

/// How a name was written. A device may be written in several ways.
#[derive(Debug)]
struct Spelling {
    key: Short,
    /// Where the name of one that is longer than [`SHORT`] begins among all such names.
    at: u32,
    /// The number of its device.
    device: u32,
}

/// A small table of its own for each thread, so that none waits for another.
pub(crate) struct LocalNames {
    shared: SharedNames,
    spellings: Vec<Spelling>,
    /// Names that are longer than [`SHORT`], one after another.
    long: Vec<u8>,
    /// Places in `spellings`.
    slots: Slots,
    /// The spelling that was last seen of each digest: that it is another one each time costs nothing, unlike a search.
    recent: Vec<u32>,
    /// Where in `courses` a device is, by its number.
    places: Vec<u32>,
    /// What devices did in this block.
    courses: Vec<(u32, Course)>,
    /// Nobody asks for numbers, so none are given.
    closed: bool,
}

/// So many spellings are found without a search.
const RECENT: usize = 1 << 10;

/// A device without a course in this block.
const FREE: u32 = u32::MAX;

impl LocalNames {
    pub(crate) fn new(shared: SharedNames) -> LocalNames {
        LocalNames {
            shared,
            spellings: Vec::new(),
            long: Vec::new(),
            slots: Slots::default(),
            recent: vec![FREE; RECENT],
            places: Vec::new(),
            courses: Vec::new(),
            closed: false,
        }
    }

    /// Gives no more numbers.
    pub(crate) const fn close(&mut self) {
        self.closed = true;
    }

    /// Notes a request, and gives the number of its device. `None` when there are too many devices.
    #[inline(always)]
    pub(crate) fn follow(&mut self, record: &Record<'_>) -> Option<u32> {
        let key = Short::of(record.device, record.event);
        let recent = key.digest() % RECENT;
        let spelling = self.spellings.get(self.recent[recent] as usize);
        let number = match spelling {
            Some(spelling) if spelling.is(key, record.device, &self.long) => spelling.device,
            _ => {
                let found = self.find(key, record.device, record.event)?;
                self.recent[recent] = u32::try_from(found).ok()?;
                self.spellings.get(found)?.device
            }
        };
        let place = self.places.get_mut(number as usize)?;
        match self.courses.get_mut(*place as usize) {
            Some((_, course)) => course.add(record),
            None => {
                *place = u32::try_from(self.courses.len()).ok()?;
                self.courses.push((number, Course::new(record)));
            }
        }
        Some(number)
    }

    #[inline(never)]
    fn find(&mut self, key: Short, name: &[u8], event: Event) -> Option<usize> {
        if self.closed {
            return None;
        }
        if name.len() > MAX_NAME {
            let name = &name[..MAX_NAME];
            return self.find(Short::of(name, event), name, event);
        }
        let is_it = |at: u32| {
            let spelling = self.spellings.get(at as usize);
            spelling.is_some_and(|spelling| spelling.is(key, name, &self.long))
        };
        match self.slots.find(key.digest(), is_it) {
            Some(at) => Some(at as usize),
            None => self.enter(key, name, event),
        }
    }

    #[cold]
    fn enter(&mut self, key: Short, name: &[u8], event: Event) -> Option<usize> {
        let number = self.shared.number(Device {
            name: shown(name),
            event,
        })?;
        if self.places.len() <= number as usize {
            self.places.resize(number as usize + 1, FREE);
        }
        // Spellings without end would be memory without end.
        if self.spellings.len() >= 2 * MAX_DEVICES {
            return None;
        }
        let at = u32::try_from(self.long.len()).ok()?;
        if name.len() > SHORT {
            self.long.extend_from_slice(name);
        }
        let place = u32::try_from(self.spellings.len()).ok()?;
        self.slots.add(place, key.digest(), |place| {
            self.spellings[place as usize].key.digest()
        });
        self.spellings.push(Spelling {
            key,
            at,
            device: number,
        });
        Some(place as usize)
    }

    /// What the devices of a block did, by number.
    pub(crate) fn end(&mut self) -> Vec<(u32, Course)> {
        let mut courses = std::mem::take(&mut self.courses);
        for (number, _) in &courses {
            if let Some(place) = self.places.get_mut(*number as usize) {
                *place = FREE;
            }
        }
        courses.shrink_to_fit();
        courses.sort_unstable_by_key(|(number, _)| *number);
        courses
    }
}

/// The first and the last eight bytes of a name, its length and the step: all there is to say of a name of up to sixteen bytes, so
/// that names are compared in a few instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Short {
    first: u64,
    last: u64,
    len: u32,
    event: Event,
}

/// Names up to this length are known by their [`Short`].
const SHORT: usize = 16;

impl Short {
    #[inline]
    fn of(name: &[u8], event: Event) -> Short {
        let word = |bytes: Option<&[u8]>| {
            let eight = bytes.and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
            eight.map_or(0, u64::from_le_bytes)
        };
        let half = |bytes: Option<&[u8]>| {
            let four = bytes.and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
            four.map_or(0, |four| u64::from(u32::from_le_bytes(four)))
        };
        let len = name.len();
        let (first, last) = match name {
            [] => (0, 0),
            [one] => (u64::from(*one), 0),
            [one, two] => (u64::from(*one), u64::from(*two)),
            [one, two, three] => (u64::from(*one) | u64::from(*two) << 8, u64::from(*three)),
            _ if len < 8 => (half(name.get(..4)), half(name.get(len - 4..))),
            _ => (word(name.get(..8)), word(name.get(len - 8..))),
        };
        Short {
            first,
            last,
            len: u32::try_from(len).unwrap_or(u32::MAX),
            event,
        }
    }

    #[inline]
    fn digest(self) -> usize {
        let a = self.first ^ 0xa076_1d64_78bd_642f;
        let b = self.last
            ^ u64::from(self.len) << 56
            ^ (self.event as u64) << 48
            ^ 0xe703_7ed1_a0b4_28db;
        let product = u128::from(a) * u128::from(b);
        // Both halves, and of those the upper bits, are the better ones.
        usize::try_from(((product >> 64) as u64 ^ product as u64) >> 32).unwrap_or(0)
    }
}

impl Spelling {
    #[inline]
    fn is(&self, key: Short, name: &[u8], long: &[u8]) -> bool {
        let at = self.at as usize;
        self.key == key && (name.len() <= SHORT || long.get(at..at + name.len()) == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn short_names_are_told_apart(a in proptest::collection::vec(any::<u8>(), 0..=SHORT), b in proptest::collection::vec(0_u8..2, 0..=SHORT)) {
            for other in [&a, &b, &a[..a.len() / 2].to_vec()] {
                let same = Short::of(&a, Event::Issued) == Short::of(other, Event::Issued);
                prop_assert_eq!(same, a == *other);
            }
            prop_assert_ne!(Short::of(&a, Event::Issued), Short::of(&a, Event::Queued));
        }
    }

    #[test]
    fn a_device_has_one_number_however_it_is_written() {
        let mut names = LocalNames::new(SharedNames::default());
        let long = "the volume of the accounting department";
        let mut number = |name: &str| {
            names.follow(&Record {
                device: name.as_bytes(),
                event: Event::Recorded,
                access: straddle_geometry::Access::Read,
                start: 0,
                len: 512,
                time: None,
            })
        };
        let all = [
            "sda",
            " sda ",
            "sdb",
            long,
            "the volume of the accounting depot",
        ];
        let numbers: Vec<Option<u32>> = all.iter().map(|name| number(name)).collect();
        assert_eq!(numbers, [Some(0), Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(number(long), Some(2));
    }
}
