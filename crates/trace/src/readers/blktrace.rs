use std::io::{self, Read};

use straddle_geometry::Access;

use crate::columns::{SECTOR, sound};
use crate::format::{Detected, Format, Head, Stream};
use crate::lines::Fault;
use crate::record::{Event, Record};
use crate::sink::Sink;

/// What blktrace writes, a file for each processor.
///
/// A record is a head, and as many bytes behind it as the head says. The head, in the byte order of the machine that recorded:
///
/// | bytes | version 7 | version 8 |
/// |---|---|---|
/// | 4 | `eat` in the upper three bytes, version in the lowest | the same |
/// | 4 | number of the event | the same |
/// | 8 | time (ns) | the same |
/// | 8 | first sector | the same |
/// | 4 | bytes | the same |
/// | | action (4), process (4) | process (4), action (8) |
/// | 4 | device: minor in the lower 20 bits | the same |
/// | 4 | CPU | the same |
/// | 2 | error | the same |
/// | 2 | bytes behind the head | the same, and 12 bytes of nothing |
pub(crate) static BLKTRACE: Format = Format {
    name: "blktrace",
    of: "blktrace (Linux), and blkparse -d",
    says: "binary records of versions 7 and 8, of either byte order: time (ns), sector (512 bytes), bytes, action, device. Queued, issued and \
           completed are read; messages, commands that are passed through, flushes, discards and requests of 0 bytes are left out",
    detect,
};

/// The upper three bytes of what a record begins with.
const MAGIC: u32 = 0x6561_7400;

/// What is in the upper half of an action.
mod category {
    pub(super) const READ: u64 = 1;
    pub(super) const WRITE: u64 = 1 << 1;
    pub(super) const PASSED_THROUGH: u64 = 1 << 9;
    pub(super) const NOTE: u64 = 1 << 10;
    pub(super) const DISCARD: u64 = 1 << 13;
    /// Of drivers, with data of their own.
    pub(super) const DRIVER: u64 = 1 << 14;
    /// Of zones, in version 8.
    pub(super) const ZONES: u64 = u64::MAX << 16;
}

/// What is in the lower half.
mod action {
    pub(super) const QUEUE: u64 = 1;
    pub(super) const ISSUE: u64 = 7;
    pub(super) const COMPLETE: u64 = 8;
    /// The identity of a control group comes first in what is behind the head.
    pub(super) const GROUP: u64 = 1 << 8;
}

fn detect(head: &Head<'_>) -> Option<Detected> {
    let begin = *head.bytes.first_chunk::<4>()?;
    if let Some(order) = Order::of(begin) {
        return Some(match order.u32(begin) & 0xff {
            7 | 8 => Detected::Stream(Box::new(Blktrace::new(order, begin))),
            _ => Detected::Refused(
                "records of blktrace of a version that is not known here (7 and 8 are): print them with `blkparse -i NAME`, and give that text",
            ),
        });
    }
    // The end of a file: its first record is cut. Two that follow each other are no accident.
    (0..head.bytes.len()).find_map(|at| {
        let bytes = &head.bytes[at..];
        let begin = *bytes.first_chunk::<4>()?;
        let order = Order::of(begin).filter(|order| matches!(order.u32(begin) & 0xff, 7 | 8))?;
        let reader = Blktrace::new(order, begin);
        let next = Fields::of(order, reader.head, bytes)?.behind(reader.head);
        bytes
            .get(next..)?
            .starts_with(&begin)
            .then(|| Detected::Stream(Box::new(reader)))
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

impl Order {
    /// Of a record that begins with these bytes.
    fn of(begin: [u8; 4]) -> Option<Order> {
        [Order::Little, Order::Big]
            .into_iter()
            .find(|order| order.u32(begin) & !0xff == MAGIC)
    }

    const fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        }
    }

    const fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Order::Little => u64::from_le_bytes(bytes),
            Order::Big => u64::from_be_bytes(bytes),
        }
    }

    const fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Order::Little => u16::from_le_bytes(bytes),
            Order::Big => u16::from_be_bytes(bytes),
        }
    }
}

struct Blktrace {
    order: Order,
    /// What each record of this file begins with.
    magic: [u8; 4],
    /// Bytes of a head.
    head: usize,
}

/// The longest record, and the magic of the next one.
const LONGEST: usize = 64 + u16::MAX as usize + 4;

impl Stream for Blktrace {
    fn read(&mut self, input: &mut dyn Read, sink: &mut Sink<'_>) -> io::Result<()> {
        let mut window = Window::new(input);
        while !sink.is_done() {
            window.fill(LONGEST);
            let bytes = window.bytes();
            if bytes.is_empty() {
                break;
            }
            if !bytes.starts_with(&self.magic) {
                self.garbage(&mut window, sink);
                continue;
            }
            let (at, len) = (window.at, bytes.len());
            let Some(head) = Fields::of(self.order, self.head, bytes) else {
                sink.fault(at, Fault::Cut, bytes);
                window.pass(len);
                break;
            };
            // Where no record follows, what is said of the bytes between may be wrong itself: the next one is looked for behind the head.
            let next = head.behind(self.head);
            let is_next = bytes.get(next..next + 4) == Some(&self.magic) || next == len;
            let wrong = match is_next {
                true => None,
                false => {
                    let between = &bytes[self.head..next.min(len)];
                    memchr::memmem::find(between, &self.magic)
                }
            };
            if next > len && wrong.is_none() {
                sink.fault(at, Fault::Cut, &bytes[..self.head]);
                window.pass(len);
                break;
            }
            match head.request() {
                Some(Ok(request)) => {
                    let mut name = [0; 24];
                    sink.take(&Record {
                        device: name_of(head.device, &mut name),
                        ..request
                    });
                }
                Some(Err(fault)) => sink.fault(at, fault, &bytes[..self.head]),
                None => sink.other(),
            }
            match wrong {
                None => window.pass(next),
                Some(found) => {
                    let begin = self.head;
                    let shown = &bytes[begin..begin + found.min(48)];
                    sink.fault(at + begin, Fault::Garbage, shown);
                    window.pass(begin + found);
                }
            }
        }
        window.failed.map_or(Ok(()), Err)
    }
}

impl Blktrace {
    fn new(order: Order, magic: [u8; 4]) -> Blktrace {
        Blktrace {
            order,
            magic,
            head: if order.u32(magic) & 0xff == 7 { 48 } else { 64 },
        }
    }

    /// Passes over bytes that are no record, up to the next one. They are one fault, however many.
    fn garbage(&self, window: &mut Window<'_>, sink: &mut Sink<'_>) {
        let begin = window.at;
        let shown = window.bytes()[..window.bytes().len().min(48)].to_vec();
        loop {
            let bytes = window.bytes();
            if let Some(next) = memchr::memmem::find(bytes, &self.magic) {
                window.pass(next);
                break;
            }
            let kept = bytes.len().min(3);
            if window.ended {
                window.pass(bytes.len());
                break;
            }
            window.pass(bytes.len() - kept);
            window.fill(LONGEST);
        }
        sink.fault(begin, Fault::Garbage, &shown);
    }
}

/// What matters of a head.
struct Fields {
    time: u64,
    sector: u64,
    bytes: u32,
    /// Category above, action below.
    category: u64,
    action: u64,
    device: u32,
    /// Bytes behind the head.
    more: u16,
}

impl Fields {
    fn of(order: Order, head: usize, bytes: &[u8]) -> Option<Fields> {
        let bytes = bytes.get(..head)?;
        let u32_at = |at: usize| Some(order.u32(*bytes.get(at..)?.first_chunk()?));
        let u64_at = |at: usize| Some(order.u64(*bytes.get(at..)?.first_chunk()?));
        let (what, device, more) = match head {
            48 => (u64::from(u32_at(28)?), 36, 46),
            _ => (u64_at(32)?, 40, 50),
        };
        Some(Fields {
            time: u64_at(8)?,
            sector: u64_at(16)?,
            bytes: u32_at(24)?,
            category: what >> 16,
            action: (what & 0xffff) & !action::GROUP,
            device: u32_at(device)?,
            more: order.u16(*bytes.get(more..)?.first_chunk()?),
        })
    }

    /// Where the next record begins, from the beginning of this one.
    fn behind(&self, head: usize) -> usize {
        head + usize::from(self.more)
    }

    /// `None` for what moves no data of its own.
    fn request(&self) -> Option<Result<Record<'static>, Fault>> {
        const NONE: u64 = category::PASSED_THROUGH
            | category::NOTE
            | category::DISCARD
            | category::DRIVER
            | category::ZONES;
        if self.category & NONE != 0 || self.bytes == 0 {
            return None;
        }
        let event = match self.action {
            action::QUEUE => Event::Queued,
            action::ISSUE => Event::Issued,
            action::COMPLETE => Event::Completed,
            _ => return None,
        };
        let access = match self.category & (category::READ | category::WRITE) {
            category::READ => Access::Read,
            category::WRITE => Access::Write,
            // What writes nothing and reads nothing, such as zeros that a device writes by itself.
            0 => return None,
            _ => return Some(Err(Fault::Direction)),
        };
        let len = u64::from(self.bytes);
        let Some(start) = self.sector.checked_mul(SECTOR) else {
            return Some(Err(Fault::Start));
        };
        Some(sound(start, len).map(|()| Record {
            device: b"",
            event,
            access,
            start,
            len,
            time: Some(self.time),
        }))
    }
}

/// Major and minor, as everything else prints them.
fn name_of(device: u32, name: &mut [u8; 24]) -> &[u8] {
    use std::io::Write;
    let mut rest = &mut name[..];
    let room = rest.len();
    // Nothing of 32 bits is longer than that.
    let _ = write!(rest, "{},{}", device >> 20, device & 0xf_ffff);
    let len = room - rest.len();
    &name[..len]
}

/// Some bytes of a stream, from `at` on.
struct Window<'a> {
    input: &'a mut dyn Read,
    buffer: Vec<u8>,
    from: usize,
    at: usize,
    ended: bool,
    failed: Option<io::Error>,
}

impl<'a> Window<'a> {
    fn new(input: &'a mut dyn Read) -> Window<'a> {
        Window {
            input,
            buffer: Vec::new(),
            from: 0,
            at: 0,
            ended: false,
            failed: None,
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[self.from..]
    }

    /// Goes on by so many bytes, of which all are there.
    fn pass(&mut self, len: usize) {
        let len = len.min(self.bytes().len());
        self.from += len;
        self.at += len;
    }

    /// Sees to it that so many bytes are there, or all that come.
    fn fill(&mut self, len: usize) {
        const STEP: usize = 256 << 10;
        if self.bytes().len() >= len || self.ended {
            return;
        }
        self.buffer.drain(..self.from);
        self.from = 0;
        while self.buffer.len() < len && !self.ended {
            let had = self.buffer.len();
            self.buffer.resize(had + STEP, 0);
            let read = match self.input.read(&mut self.buffer[had..]) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    self.buffer.truncate(had);
                    continue;
                }
                Err(error) => {
                    self.failed = Some(error);
                    0
                }
            };
            self.buffer.truncate(had + read);
            self.ended = read == 0;
        }
    }
}
