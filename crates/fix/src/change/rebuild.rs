//! The stripe unit of an array that only its controller can change: everything on it is lost, so that it is for the next rebuild.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Grid, both_ways};
use straddle_rules::{RepairKind, division};
use straddle_stack::{Fact, GridRole, LayerId, Stack};

use super::kind::{Kind, Proposal};
use crate::{How, Situation};

pub(super) static KIND: Kind<Rebuild> = Kind {
    name: "rebuild",
    title: "the stripe unit of an array that only its controller can change",
    repair: RepairKind::Rebuild,
    propose,
};

/// A stripe unit for the next array.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Rebuild {
    /// The array.
    pub layer: LayerId,
    /// Its stripe unit now.
    pub from: Bytes,
    /// What it should be.
    pub to: Bytes,
}

fn propose(situation: &Situation<'_>, id: LayerId) -> Option<Proposal<Rebuild>> {
    let layer = situation.stack.layer(id);
    let stripe = layer.grid(GridRole::StripeUnit)?.value.unit();
    // md and LVM have their own way.
    if !layer.below.is_empty() || stripe.get().is_power_of_two() && stripe.get() >= 4096 {
        return None;
    }
    // 64 KiB is a multiple of every sector and every usual allocation unit; what is larger now stays about as large.
    let to = (1_u64 << (63 - stripe.get().leading_zeros())).max(65_536);
    let to = Bytes::new(to);
    let unit = straddle_geometry::Unit::B4096;
    Some(Proposal {
        title: format!("make the array of {} again with a stripe unit of {}", layer.name, to.rounded()),
        how: How::ByHand,
        arithmetic: vec![
            format!("stripe unit: {} to {}", both_ways(stripe.bytes()), both_ways(to)),
            format!("on sectors of 4 KiB: {}", division(to, Grid::new(unit))),
        ],
        notes: vec![
            "only the controller can do it (storcli /c0 add vd … Strip=64; ssacli … create type=ld … stripsize=64; arcconf create … stripesize 64): \
             everything on the array is lost and comes back from a backup"
                .to_owned(),
        ],
        blockers: vec!["it is set when an array is made, with commands of its controller".to_owned()],
        change: Rebuild {
            layer: id,
            from: stripe.bytes(),
            to,
        },
    })
}

impl Rebuild {
    pub(super) fn apply(&self, stack: &mut Stack) {
        let Ok(unit) = straddle_geometry::Unit::try_from(self.to) else {
            return;
        };
        let layer = stack.layer_mut(self.layer);
        layer.grids.retain(|grid| grid.role != GridRole::StripeUnit);
        layer.add_grid(
            GridRole::StripeUnit,
            Fact::derived(Grid::new(unit), "planned"),
        );
    }
}
