//! Which things are one.

use super::groups::{Groups, Joined};
use super::relation::has_name_in;
use super::{Inventory, Space, Thing, held, partitions, raid};

/// Joins what is one.
pub(super) fn joined(inventory: Inventory) -> Joined {
    let mut groups = Groups::default();
    let mut things: Vec<(usize, Thing)> = inventory.things.into_iter().enumerate().collect();
    // Numbers of partitions and letters mean something else on another disk, so disks that bear one number come first.
    things.sort_by_key(|(_, thing)| !has_name_in(thing, Space::WindowsDisk));
    for (order, thing) in things {
        groups.take(thing, order);
    }
    raid::members(&mut groups);
    partitions::join(&mut groups);
    partitions::disks_of_volumes(&mut groups);
    groups.join_contents();
    held::compare(&mut groups);
    let mut joined = groups.finish(inventory.platform, inventory.remarks);
    joined.extents = inventory.extents;
    joined
}
