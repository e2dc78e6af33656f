//! Where the parts of segments lie: on a physical volume or on a logical one, inside of it, and not on each other.

use straddle_geometry::Bytes;
use straddle_stack::{Anomaly, AnomalyKind};

use super::group::{Lower, SECTOR};
use super::nodes::{Builder, State};
use super::piece::Piece;
use super::superblock::{self, Known};
use crate::volume::Below;

/// Volumes that are named in one anomaly, and anomalies of one kind.
const MAX_NAMED: usize = 16;

/// Part of a segment: extents of something below, from `first` on.
#[derive(Clone, Debug)]
pub(super) struct Area {
    /// `None` when nothing is called so.
    pub(super) lower: Option<Lower>,
    pub(super) name: String,
    pub(super) first: u64,
}

/// Extents of a physical volume that a logical one lies on.
pub(super) struct Claim {
    physical: usize,
    first: u64,
    end: u64,
    of: usize,
}

impl Builder<'_> {
    /// Where `extents` of an area lie: what it is below, and the address there. `None` when it lies nowhere, which `piece`
    /// then says.
    pub(super) fn place(
        &mut self,
        piece: &mut Piece,
        of: usize,
        area: &Area,
        extents: u64,
    ) -> Option<(Below, Bytes)> {
        let mut odd = |kind, detail: String| {
            let source = piece.evidence.clone();
            piece.anomalies.push(Anomaly::at(kind, detail, source));
        };
        let from = self.group.length(area.first);
        let end = area.first.checked_add(extents);
        let (Some(from), Some(end), Some(len)) = (from, end, self.group.length(extents)) else {
            odd(
                AnomalyKind::Damaged,
                format!(
                    "{extents} extents of {} from extent {} on: no device is so large",
                    area.name, area.first
                ),
            );
            return None;
        };
        match area.lower {
            None => {
                odd(
                    AnomalyKind::Damaged,
                    format!(
                        "it lies on `{}`, and nothing in the volume group is called so",
                        area.name
                    ),
                );
                None
            }
            Some(Lower::Physical(index)) => {
                let physical = self.group.physical.get(index)?;
                let start = Bytes::new(SECTOR).checked_mul(physical.start);
                let Some(start) = start.and_then(|start| start.checked_add(from)) else {
                    odd(
                        AnomalyKind::Damaged,
                        format!(
                            "extent {} of {} lies beyond any device",
                            area.first, area.name
                        ),
                    );
                    return None;
                };
                let part = self.given.get(index).copied().flatten();
                let size = part.and_then(|part| Some(self.parts.get(part)?.window.size()));
                let is_beyond =
                    size.is_some_and(|size| start.checked_add(len).is_none_or(|end| end > size));
                if end > physical.count || is_beyond {
                    odd(
                        AnomalyKind::Overlap,
                        format!(
                            "extents {} to {end} of {}, which has {} of them and {} bytes",
                            area.first,
                            area.name,
                            physical.count,
                            size.map_or("an unknown number of".to_owned(), |size| size
                                .grouped()
                                .to_string())
                        ),
                    );
                }
                self.claims.push(Claim {
                    physical: index,
                    first: area.first,
                    end,
                    of,
                });
                let below = match part {
                    Some(part) => Below::Part(part),
                    None if physical.id.is_empty() => Below::Missing(area.name.clone()),
                    None => Below::Missing(physical.id.clone()),
                };
                Some((below, start))
            }
            Some(Lower::Logical(index)) => {
                let Some(node) = self.built(index) else {
                    let (kind, why) = match self.states.get(index) {
                        Some(State::Open) => (AnomalyKind::Chain, "which itself lies on it"),
                        _ => (AnomalyKind::LimitReached, "which is one volume too many"),
                    };
                    odd(kind, format!("it lies on {}, {why}", area.name));
                    return None;
                };
                let size = self
                    .nodes
                    .get(node)
                    .and_then(|node| node.layer.size.as_ref());
                let reach = from.checked_add(len);
                if let Some(size) = size
                    && reach.is_none_or(|reach| reach > size.value)
                {
                    odd(
                        AnomalyKind::Overlap,
                        format!(
                            "extents {} to {end} of {}, which has {} bytes",
                            area.first,
                            area.name,
                            size.value.grouped()
                        ),
                    );
                }
                Some((Below::Node(node), from))
            }
        }
    }

    /// What the first sector of a metadata image says.
    pub(super) fn superblock(&self, image: usize) -> Option<Known> {
        let segment = self.group.only(image, "striped")?;
        let tree = &self.group.tree;
        let list = tree.get(segment.section, "stripes")?;
        let mut elements = tree.children(list);
        let name = tree.string(elements.next()?)?;
        let first = tree.value(elements.next()?)?;
        let Some(Lower::Physical(index)) = self.group.find(&name) else {
            return None;
        };
        let start = self.group.physical.get(index)?.start.checked_mul(SECTOR)?;
        let at = start.checked_add(self.group.length(first)?.get())?;
        let part = self.parts.get((*self.given.get(index)?)?)?;
        superblock::read(&part.window, at).ok().flatten()
    }

    /// Two volumes on the same extents.
    pub(super) fn overlaps(&mut self) {
        let mut claims = std::mem::take(&mut self.claims);
        claims.sort_by_key(|claim| (claim.physical, claim.first, claim.end));
        let mut found = 0;
        let mut furthest: Option<&Claim> = None;
        for claim in &claims {
            let before = furthest
                .filter(|before| before.physical == claim.physical && before.end > claim.first);
            if let Some(before) = before
                && found < MAX_NAMED
                && let Some(node) = self.built(claim.of)
                && let Some(node) = self.nodes.get_mut(node)
                && let Some(other) = self.group.logical.get(before.of)
            {
                found += 1;
                let physical = self.group.physical.get(claim.physical);
                let entry = physical.map_or(self.group.section, |physical| physical.section);
                let detail = format!(
                    "extent {} of {} belongs to {} too",
                    claim.first,
                    self.group.tree.name(entry),
                    other.name
                );
                node.layer
                    .anomalies
                    .push(Anomaly::new(AnomalyKind::Overlap, detail));
            }
            if furthest
                .is_none_or(|before| before.physical != claim.physical || before.end < claim.end)
            {
                furthest = Some(claim);
            }
        }
    }
}
