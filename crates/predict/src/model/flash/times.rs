//! How long things take.

use super::geometry::{Geometry, Part};
use super::keys;
use crate::kernel::Time;
use crate::profile::Section;

/// A data rate: time per byte, in 2⁻²⁰ ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate(u64);

impl Rate {
    fn new(bytes_per_second: f64) -> Rate {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "rates are at least 10⁵ bytes each second"
        )]
        Rate(libm::round(1e9 / bytes_per_second * 1_048_576.0) as u64)
    }

    #[inline]
    pub(super) fn time(self, bytes: u64) -> Time {
        let long = (u128::from(bytes) * u128::from(self.0)) >> 20;
        Time::nanoseconds(u64::try_from(long).unwrap_or(u64::MAX))
    }
}

/// Times of one device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) read: Time,
    pub(super) program: Time,
    pub(super) erase: Time,
    channel: Rate,
    page_command: Time,
    command: Time,
    command_write: Time,
    unit: Time,
    /// To fetch a page of the map.
    map: Time,
    pub(super) link: Option<Rate>,
}

impl Times {
    pub(super) fn build(section: &Section, geometry: &Geometry) -> Times {
        let command = section.time(&keys::COMMAND);
        let channel = Rate::new(section.number(&keys::CHANNEL).max(1.0));
        let read = section.time(&keys::READ);
        let page_command = section.time(&keys::PAGE_COMMAND);
        Times {
            read,
            program: section.time(&keys::PROGRAM),
            erase: section.time(&keys::ERASE),
            channel,
            page_command,
            command,
            command_write: section
                .optional(&keys::COMMAND_WRITE)
                .map_or(command, Time::seconds),
            unit: section.time(&keys::UNIT_TIME),
            map: read + page_command + channel.time(geometry.codeword),
            link: section.optional(&keys::LINK).map(Rate::new),
        }
    }

    /// Of a command that touches so many units and needs so many pages of the map.
    #[inline]
    pub(super) fn command(&self, is_read: bool, units: u64, maps: u64) -> Time {
        let base = if is_read {
            self.command
        } else {
            self.command_write
        };
        base + times(self.unit, units - 1) + times(self.map, maps)
    }

    /// Of what is read of a row, on its channel.
    #[inline]
    pub(super) fn part(&self, part: Part) -> Time {
        times(self.page_command, part.pages) + self.channel.time(part.bytes)
    }

    /// Of bytes that are programmed into a row, on its channel.
    #[inline]
    pub(super) fn row(&self, geometry: &Geometry, bytes: u64) -> Time {
        times(self.page_command, bytes.div_ceil(geometry.page)) + self.channel.time(bytes)
    }

    /// The `share` of a transfer that each copy's read has.
    pub(super) fn share(time: Time, reads: f64) -> Time {
        Time::seconds(time.to_seconds() / reads.max(1e-3))
    }
}

#[inline]
fn times(time: Time, count: u64) -> Time {
    Time::nanoseconds(time.get().saturating_mul(count))
}
