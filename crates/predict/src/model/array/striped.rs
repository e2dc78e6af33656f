//! RAID 0: units on one member after the other. Concatenation is the same with units as large as members.

use super::divisor::Divisor;
use super::split::Split;
use super::unit::Unit;
use crate::model::device::Operation;

/// A stripe without redundancy.
#[derive(Debug)]
pub(super) struct Striped {
    pub(super) members: Divisor,
}

impl Striped {
    #[inline]
    pub(super) fn split(&self, unit: &Unit, operation: Operation, out: &mut Split) {
        let members = self.members.get();
        let (mut number, mut within) = unit.bytes.of(operation.start);
        let (mut row, mut member) = self.members.of(number);
        let mut left = operation.len;
        let first = number;
        while left > 0 {
            let len = (unit.bytes.get() - within).min(left);
            let piece = Operation {
                access: operation.access,
                start: unit.data_offset + row * unit.bytes.get() + within,
                len,
            };
            // A member's units follow each other, so the last piece of this member is one row back.
            let again = usize::try_from((number - first) % members).unwrap_or(0);
            match out.pieces.get_mut(again) {
                Some(before) if unit.is_merged && number - first >= members => {
                    before.operation.len += len;
                }
                _ => out.push(u32::try_from(member).unwrap_or(0), piece),
            }
            left -= len;
            within = 0;
            number += 1;
            member += 1;
            if member == members {
                member = 0;
                row += 1;
            }
        }
        out.group(0);
    }
}
