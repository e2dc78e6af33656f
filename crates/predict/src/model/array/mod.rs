//! How an array spreads requests over its members.
//!
//! A [`Layout`] turns a command into pieces, one file for each family of levels: [`striped`] (RAID 0, concatenation),
//! [`mirrored`] (RAID 1, 10, 01), [`parity`] (RAID 4, 5, 6, 50, 60). Everything is arithmetic on addresses: nothing is
//! remembered from one command to the next but whose turn it is to be read.

mod divisor;
mod keys;
mod mirrored;
mod parity;
mod split;
mod striped;
mod unit;

pub(crate) use keys::MODEL;
pub(crate) use split::{Piece, Split};

use super::device::Operation;
use crate::kernel::Time;
use crate::profile::{Profile, Refusal, Section};
use divisor::Divisor;
use keys::count;
use mirrored::{Balance, Copies, Mirrored};
use parity::Parity;
use striped::Striped;
use unit::Unit;

/// Whether an adapter works parity out and mirrors: what `array.by` says, or where it is empty, whether a section of an adapter is there.
pub(crate) fn is_adapter(by: &str, has: impl Fn(&'static str) -> bool) -> bool {
    match by {
        "" => has("controller") || has("cache"),
        by => by == "adapter",
    }
}

/// The addresses of an array.
#[derive(Debug)]
pub(crate) struct Layout {
    members: u32,
    unit: Unit,
    capacity: u64,
    /// Bytes of data in one row of stripe units.
    row: u64,
    family: Family,
}

#[derive(Debug)]
enum Family {
    Striped(Striped),
    Mirrored(Mirrored),
    Parity(Parity),
}

impl Layout {
    /// As the profile says; without a section of its own, a single member. `member` is the capacity of one.
    pub(crate) fn build(profile: &Profile, member: u64) -> Result<Layout, Refusal> {
        let Some(section) = profile.section(MODEL.section) else {
            return Ok(Layout {
                members: 1,
                unit: Unit {
                    bytes: Divisor::new(member),
                    data_offset: 0,
                    is_merged: true,
                },
                capacity: member,
                row: member,
                family: Family::Striped(Striped {
                    members: Divisor::new(1),
                }),
            });
        };
        let level = section.word(&keys::LEVEL);
        let members = count(section, &keys::MEMBERS);
        let data_offset = section.whole(&keys::DATA_OFFSET);
        let room = member.saturating_sub(data_offset);
        if room == 0 {
            return Err(section.refuse(
                &keys::DATA_OFFSET,
                format!("less than the member's {member} bytes"),
            ));
        }
        let unit = match level {
            "single" | "linear" | "raid1" => room,
            _ if section.figure(&keys::STRIPE_UNIT).is_none() => {
                return Err(section.refuse(&keys::STRIPE_UNIT, keys::STRIPE_UNIT.kind));
            }
            _ => section.whole(&keys::STRIPE_UNIT),
        };
        if section.figure(&keys::STRIPE_UNIT).is_some()
            && !section.whole(&keys::STRIPE_UNIT).is_multiple_of(512)
        {
            return Err(section.refuse(&keys::STRIPE_UNIT, "a multiple of 512 bytes, a sector"));
        }
        if unit > room {
            return Err(section.refuse(
                &keys::STRIPE_UNIT,
                format!("at most the member's {room} bytes"),
            ));
        }
        let failed = section
            .optional(&keys::FAILED)
            .map(|_| count(section, &keys::FAILED));
        if failed.is_some_and(|failed| failed >= members) {
            return Err(section.refuse(
                &keys::FAILED,
                format!("below the number of members, {members}"),
            ));
        }
        let rows = room / unit;
        let (family, units, row) = match level {
            "single" | "linear" | "raid0" => {
                if level == "single" && members != 1 {
                    return Err(section.refuse(&keys::MEMBERS, "1 in single"));
                }
                if failed.is_some() {
                    return Err(section.refuse(
                        &keys::FAILED,
                        format!("absent: {level} cannot do without a member"),
                    ));
                }
                let members = Divisor::new(u64::from(members));
                let units = rows.saturating_mul(members.get());
                let row = members.get();
                (Family::Striped(Striped { members }), units, row)
            }
            "raid1" | "raid10" | "raid01" | "vraid1" => {
                let mirrored = mirrored(section, level, members, rows, failed)?;
                let units = mirrored.units(rows);
                let row = mirrored.row();
                (Family::Mirrored(mirrored), units, row)
            }
            _ => {
                let has = |name| profile.section(name).is_some();
                let is_md = !is_adapter(section.word(&keys::BY), has);
                let parity = Parity::build(section, level, members, unit, failed, is_md)?;
                let units = parity.units(rows);
                let row = parity.row();
                (Family::Parity(parity), units, row)
            }
        };
        let capacity = units.saturating_mul(unit);
        if capacity == 0 || capacity >= 1 << 62 {
            let expected = "members large enough for one row and an array below 4 EiB";
            return Err(section.refuse(&keys::MEMBERS, expected));
        }
        Ok(Layout {
            members,
            unit: Unit {
                bytes: Divisor::new(unit),
                data_offset,
                is_merged: section.word(&keys::MERGE) != "none",
            },
            capacity,
            row: row.saturating_mul(unit),
            family,
        })
    }

    /// How many members there are.
    pub(crate) fn members(&self) -> u32 {
        self.members
    }

    /// Bytes that fit.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes of data in one row of stripe units: what a cache collects, so that a row is written whole.
    pub(crate) fn row(&self) -> u64 {
        self.row
    }

    /// Stripe units that an operation touches.
    #[inline]
    pub(crate) fn units(&self, operation: Operation) -> u32 {
        let (first, within) = self.unit.bytes.of(operation.start);
        if within + operation.len <= self.unit.bytes.get() {
            return 1;
        }
        let (last, _) = self.unit.bytes.of(operation.end() - 1);
        u32::try_from(last - first + 1).unwrap_or(u32::MAX)
    }

    /// Time that the thread that works parity out spends on an operation; none where nothing is said of it.
    #[inline]
    pub(crate) fn thread_time(&self, operation: Operation) -> Time {
        match &self.family {
            Family::Parity(parity) if !operation.is_read() => parity.thread_time(operation),
            _ => Time::ZERO,
        }
    }

    /// Whether a thread works parity out that may be the limit.
    pub(crate) fn has_thread(&self) -> bool {
        matches!(&self.family, Family::Parity(parity) if parity.has_thread())
    }

    /// What members do for an operation; `queued` says how many operations a member had to do before it.
    #[inline]
    pub(crate) fn split(&self, operation: Operation, queued: impl Fn(u32) -> u32, out: &mut Split) {
        out.clear();
        match &self.family {
            Family::Striped(striped) => striped.split(&self.unit, operation, out),
            Family::Mirrored(mirrored) => mirrored.split(&self.unit, operation, queued, out),
            Family::Parity(parity) => parity.split(&self.unit, operation, out),
        }
    }
}

fn mirrored(
    section: &Section,
    level: &str,
    members: u32,
    rows: u64,
    failed: Option<u32>,
) -> Result<Mirrored, Refusal> {
    let copies = match (level, section.optional(&keys::COPIES)) {
        ("raid1", _) => members,
        (_, Some(_)) => count(section, &keys::COPIES),
        _ => 2,
    };
    if members < 2 || copies > members {
        return Err(section.refuse(
            &keys::MEMBERS,
            format!("at least {} for the copies", copies.max(2)),
        ));
    }
    if level == "raid01" && !members.is_multiple_of(copies) {
        return Err(section.refuse(&keys::MEMBERS, format!("a multiple of the {copies} copies")));
    }
    let at = match (level, section.word(&keys::LAYOUT)) {
        ("raid01", _) => Copies::Stripes,
        ("raid1" | "vraid1", _) | (_, "" | "near") => Copies::Near,
        (_, "far") => Copies::Far(rows / u64::from(copies)),
        (_, "offset") => Copies::Offset,
        _ => return Err(section.refuse(&keys::LAYOUT, "near, far or offset in raid10")),
    };
    let balance = match (section.word(&keys::BALANCE), at) {
        ("first", _) | ("", Copies::Far(_)) => Balance::First,
        ("alternate", _) => Balance::Alternate,
        _ => Balance::Shortest,
    };
    Ok(Mirrored::new(members, copies, at, balance, failed))
}

#[cfg(test)]
mod tests;
