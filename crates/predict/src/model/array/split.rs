//! What members do for one command.

use straddle_geometry::Access;

use crate::model::device::Operation;

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
    /// Counts commands that read copies, so that these can take turns.
    pub(super) turn: u32,
}

impl Split {
    pub(crate) fn clear(&mut self) {
        self.pieces.clear();
        self.groups.clear();
    }

    #[inline]
    pub(super) fn push(&mut self, member: u32, operation: Operation) {
        self.pieces.push(Piece { member, operation });
    }

    /// Adds a piece, or lets one of those from number `from` on grow, where both are next to each other on one member.
    #[inline]
    pub(super) fn push_or_grow(&mut self, from: usize, member: u32, operation: Operation) {
        let candidates = self.pieces.get_mut(from..).unwrap_or_default();
        for piece in candidates.iter_mut().rev() {
            if piece.member != member || piece.operation.access != operation.access {
                continue;
            }
            if piece.operation.end() == operation.start {
                piece.operation.len += operation.len;
                return;
            }
            if operation.end() == piece.operation.start {
                piece.operation.start = operation.start;
                piece.operation.len += operation.len;
                return;
            }
        }
        self.push(member, operation);
    }

    /// All pieces from number `from` on are a group that waits for nothing.
    #[inline]
    pub(super) fn group(&mut self, from: usize) {
        let pieces = self.pieces.len() - from;
        if pieces > 0 {
            self.groups
                .push((u32::try_from(pieces).unwrap_or(u32::MAX), 0));
        }
    }

    /// Pieces from number `from` on go first, those from `then` on when they have ended.
    #[inline]
    pub(super) fn group_of_two(&mut self, from: usize, then: usize) {
        if then == from {
            self.group(from);
            return;
        }
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        self.groups
            .push((count(then - from), count(self.pieces.len() - then)));
    }

    /// Pieces from number `from` on, which read, go first; then the same places are written.
    #[inline]
    pub(super) fn written_back(&mut self, from: usize) {
        let then = self.pieces.len();
        self.pieces.extend_from_within(from..);
        for piece in self.pieces.get_mut(then..).unwrap_or_default() {
            piece.operation.access = Access::Write;
        }
        self.group_of_two(from, then);
    }
}
