//! Rows that are written in part.
//!
//! Parity covers one granule of each unit. Counted along a unit, a row falls into at most five *zones* in each of which the
//! same columns are written, in whole granules or in part of one. For each zone on its own,
//! - *read-modify-write* reads what is written and the parities, and
//! - *reconstruct-write* reads the columns that are not written in whole;
//!
//! then the columns that are written and the parities are written. What either reads or writes in neighbouring zones of one
//! member is one operation.

use straddle_geometry::Access;

use super::{Method, Parity, Row, Span, Unit};
use crate::model::array::split::Split;

/// What has to be read of a zone before it can be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reads {
    /// Columns that are written, and parities: read-modify-write.
    Touched,
    /// Columns that are not written in whole: reconstruct-write.
    Rest,
    /// Columns written in part, as there is no parity to keep.
    #[default]
    Partial,
    /// All that is left, as what is written in part has failed.
    All,
}

/// Granules of a row in which the same columns are written.
#[derive(Clone, Copy, Debug, Default)]
struct Zone {
    begin: u64,
    end: u64,
    /// Columns written, both ends included.
    first: u64,
    last: u64,
    /// Whether the first and the last of them are written in part only.
    is_first_partial: bool,
    is_last_partial: bool,
    reads: Reads,
}

impl Zone {
    fn is_touched(&self, column: u64) -> bool {
        self.first <= column && column <= self.last
    }

    fn is_partial(&self, column: u64) -> bool {
        (self.is_first_partial && column == self.first)
            || (self.is_last_partial && column == self.last)
    }

    fn is_whole(&self, column: u64) -> bool {
        self.is_touched(column) && !self.is_partial(column)
    }

    /// Between two boundaries; `None` where nothing is written.
    fn between(begin: u64, end: u64, span: Span) -> Option<Zone> {
        let starts_before = end > span.begin;
        let ends_behind = begin < span.end;
        let is_single = span.first == span.last;
        let (has_first, has_last) = if is_single {
            (starts_before && ends_behind, starts_before && ends_behind)
        } else {
            (starts_before, ends_behind)
        };
        let zone = Zone {
            begin,
            end,
            first: span.first + u64::from(!has_first),
            last: (span.last + u64::from(has_last)).checked_sub(1)?,
            is_first_partial: has_first && (begin < span.begin || (is_single && end > span.end)),
            is_last_partial: !is_single && has_last && end > span.end,
            reads: Reads::default(),
        };
        (begin < end && zone.first <= zone.last).then_some(zone)
    }
}

impl Parity {
    #[inline]
    pub(super) fn write_part(&self, unit: &Unit, at: &Row, span: Span, out: &mut Split) {
        let lost = self.lost(at);
        if self.is_one_modified && lost.is_none() && span.first == span.last {
            self.modify_one(unit, at, span, out);
            return;
        }
        let mut zones = [Zone::default(); 5];
        let mut count = 0;
        let (begin, end) = (
            self.round(span.begin, span.begin),
            self.round(span.end, span.end),
        );
        let whole = if span.first == span.last {
            (begin.0, end.1)
        } else {
            (0, unit.bytes.get())
        };
        let mut edges = [whole.0, begin.0, begin.1, end.0, end.1, whole.1];
        edges.sort_unstable();
        for pair in edges.windows(2) {
            let &[begin, end] = pair else { continue };
            if let (Some(mut zone), Some(place)) =
                (Zone::between(begin, end, span), zones.get_mut(count))
            {
                zone.reads = self.choose(zone, lost);
                *place = zone;
                count += 1;
            }
        }
        let zones = zones.get(..count).unwrap_or_default();
        let from = out.pieces.len();
        self.push_zones(unit, at, Access::Read, zones, lost, out);
        let then = out.pieces.len();
        self.push_zones(unit, at, Access::Write, zones, lost, out);
        out.group_of_two(from, then);
    }

    /// A small write, the most frequent: one column and the parities, in whole granules.
    #[inline]
    fn modify_one(&self, unit: &Unit, at: &Row, span: Span, out: &mut Split) {
        let range = self.round(span.begin, span.end);
        let from = out.pieces.len();
        let parities = self.places.data()..self.places.width();
        for role in std::iter::once(span.first).chain(parities) {
            let (member, operation) = self.piece(unit, at, role, Access::Read, range);
            out.push(member, operation);
        }
        out.written_back(from);
    }

    /// What has to be read of a zone.
    fn choose(&self, zone: Zone, lost: Option<u64>) -> Reads {
        let data = self.places.data();
        let parities =
            self.places.width() - data - u64::from(lost.is_some_and(|lost| lost >= data));
        if parities == 0 {
            return Reads::Partial;
        }
        let touched = zone.last - zone.first + 1;
        let partial = u64::from(zone.is_first_partial) + u64::from(zone.is_last_partial);
        let lost = lost.filter(|lost| *lost < data);
        let can_modify = !lost.is_some_and(|lost| zone.is_touched(lost));
        let can_reconstruct = lost.is_none_or(|lost| zone.is_whole(lost));
        match (can_modify, can_reconstruct) {
            (false, false) => Reads::All,
            (true, false) => Reads::Touched,
            (false, true) => Reads::Rest,
            (true, true) => match self.method {
                Method::ReadModifyWrite if partial + data > touched => Reads::Touched,
                Method::Cheapest
                    if touched + parities < data - touched + partial + u64::from(!self.is_md) =>
                {
                    Reads::Touched
                }
                _ => Reads::Rest,
            },
        }
    }

    /// What is read or written, for each member the zones that meet as one operation.
    #[inline]
    fn push_zones(
        &self,
        unit: &Unit,
        at: &Row,
        access: Access,
        zones: &[Zone],
        lost: Option<u64>,
        out: &mut Split,
    ) {
        let data = self.places.data();
        let is_needed = |role: u64, zone: &Zone| match (access, zone.reads) {
            (Access::Write, _) => role >= data || zone.is_touched(role),
            (_, Reads::Touched) => role >= data || zone.is_touched(role),
            (_, Reads::Rest) => role < data && !zone.is_whole(role),
            (_, Reads::Partial) => zone.is_partial(role),
            (_, Reads::All) => role <= data,
        };
        let from = out.pieces.len();
        for role in (0..self.places.width()).filter(|role| Some(*role) != lost) {
            let mut range: Option<(u64, u64)> = None;
            for zone in zones.iter().filter(|zone| is_needed(role, zone)) {
                range = match range {
                    Some((begin, end)) if end == zone.begin => Some((begin, zone.end)),
                    before => {
                        if let Some(range) = before {
                            self.push(unit, at, role, access, range, from, out);
                        }
                        Some((zone.begin, zone.end))
                    }
                };
            }
            if let Some(range) = range {
                self.push(unit, at, role, access, range, from, out);
            }
        }
    }
}
