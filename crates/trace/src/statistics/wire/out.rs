//! How each thing is written.

use flate2::Crc;
use straddle_geometry::Access;

use super::FAULTS;
use crate::lines::{Counts, Fault};
use crate::statistics::course::Part;
use crate::statistics::key::Key;

/// Bytes that are written.
pub(super) struct Out(pub(super) Vec<u8>);

impl Out {
    pub(super) fn seal(mut self) -> Vec<u8> {
        let mut crc = Crc::new();
        crc.update(&self.0);
        self.0.extend(crc.sum().to_le_bytes());
        self.0
    }

    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.0.push(number.to_le_bytes()[0]);
    }

    pub(super) fn len(&mut self, len: usize) {
        self.number(len as u64);
    }

    pub(super) fn flag(&mut self, flag: bool) {
        self.number(flag.into());
    }

    pub(super) fn text(&mut self, text: &str) {
        self.len(text.len());
        self.0.extend(text.as_bytes());
    }

    pub(super) fn part(&mut self, part: &Part) {
        self.number(part.file.into());
        self.number(part.from);
        self.number(part.to - part.from);
        self.flag(part.is_open);
        let Counts {
            requests,
            other,
            bad,
        } = part.counts;
        for count in [requests, other, bad, part.elsewhere, part.split] {
            self.number(count);
        }
        self.flag(part.times.is_some());
        if let Some(times) = &part.times {
            for number in times.numbers() {
                self.number(number);
            }
        }
        self.len(part.faults.len());
        for (fault, count) in &part.faults {
            self.fault(*fault);
            self.number(*count);
        }
        self.len(part.bad.len());
        for bad in &part.bad {
            self.number(bad.line);
            self.number(bad.at);
            self.fault(bad.fault);
            self.text(&bad.text);
        }
        self.len(part.courses.len());
        for (device, course) in &part.courses {
            let (start, access, end) = course.ends();
            self.number((*device).into());
            self.number(start);
            self.flag(access == Access::Write);
            self.number(end);
            for count in course.sequential {
                self.number(count);
            }
        }
    }

    pub(super) fn fault(&mut self, fault: Fault) {
        match FAULTS.iter().position(|known| *known == fault) {
            Some(at) => self.len(at + 1),
            None => self.number(0),
        }
        if let Fault::Columns { expected, found } = fault {
            self.len(expected);
            self.len(found);
        }
    }

    /// A count, and how its key differs from the one before.
    pub(super) fn entry(&mut self, before: &mut [u64; 2], key: Key, count: u64) {
        let [who, shape] = key.words();
        self.number(count);
        self.number(who - before[0]);
        let base = if who == before[0] { before[1] } else { 0 };
        self.number(shape - base);
        *before = [who, shape];
    }
}
