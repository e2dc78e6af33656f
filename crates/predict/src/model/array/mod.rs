//! How an array spreads requests over its members.

use super::Model;
use super::device::Operation;
use crate::profile::{Key, Profile, Refusal};

pub(crate) const LEVEL: Key = Key::word("level", &["single", "raid0"], "How members are combined.");
pub(crate) const MEMBERS: Key = Key::count("members", 1.0, 4096.0, "Members, spares not counted.");
pub(crate) const STRIPE_UNIT: Key = Key::bytes(
    "stripe_unit",
    512.0,
    1e12,
    "Bytes on one member before the next takes over.",
)
.optional();

/// Its parameters.
pub static MODEL: Model = Model {
    section: "array",
    title: "Array",
    keys: &[&LEVEL, &MEMBERS, &STRIPE_UNIT],
};

/// An operation of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) member: u32,
    pub(crate) operation: Operation,
}

/// What an operation becomes: groups of pieces. In each group, some go first; the others start when those have ended.
#[derive(Debug, Default)]
pub(crate) struct Split {
    /// Group after group; in each, those that go first come first.
    pub(crate) pieces: Vec<Piece>,
    /// For each group, how many pieces go first, and how many then.
    pub(crate) groups: Vec<(u32, u32)>,
}

impl Split {
    pub(crate) fn clear(&mut self) {
        self.pieces.clear();
        self.groups.clear();
    }
}

/// The addresses of an array.
#[derive(Debug)]
pub(crate) struct Layout {
    members: u32,
    unit: u64,
    member_capacity: u64,
}

impl Layout {
    /// As the profile says; without a section of its own, a single member. `member` is the capacity of one.
    pub(crate) fn build(profile: &Profile, member: u64) -> Result<Layout, Refusal> {
        let Some(section) = profile.section(MODEL.section) else {
            return Ok(Layout {
                members: 1,
                unit: member.max(1),
                member_capacity: member,
            });
        };
        let members = u32::try_from(section.whole(&MEMBERS)).unwrap_or(u32::MAX);
        let unit = section
            .optional(&STRIPE_UNIT)
            .map_or(member, |_| section.whole(&STRIPE_UNIT));
        if unit > member {
            return Err(
                section.refuse(&STRIPE_UNIT, format!("at most the member's {member} bytes"))
            );
        }
        Ok(Layout {
            members,
            unit,
            member_capacity: member / unit * unit,
        })
    }

    /// How many members there are.
    pub(crate) fn members(&self) -> u32 {
        self.members
    }

    /// Bytes that fit.
    pub(crate) fn capacity(&self) -> u64 {
        self.member_capacity.saturating_mul(u64::from(self.members))
    }

    /// Stripe units that an operation touches.
    #[inline]
    pub(crate) fn units(&self, operation: Operation) -> u32 {
        let units = (operation.end() - 1) / self.unit - operation.start / self.unit + 1;
        u32::try_from(units).unwrap_or(u32::MAX)
    }

    /// What members do for an operation; `queued` says how many operations a member has to do already.
    #[inline]
    pub(crate) fn split(
        &self,
        operation: Operation,
        _queued: impl Fn(u32) -> u32,
        out: &mut Split,
    ) {
        out.clear();
        let (mut at, end) = (operation.start, operation.end());
        while at < end {
            let row = at / self.unit;
            let within = at % self.unit;
            let len = (self.unit - within).min(end - at);
            let member = row % u64::from(self.members);
            out.pieces.push(Piece {
                member: u32::try_from(member).unwrap_or(0),
                operation: Operation {
                    access: operation.access,
                    start: row / u64::from(self.members) * self.unit + within,
                    len,
                },
            });
            out.groups.push((1, 0));
            at += len;
        }
    }
}
