//! Disks behind RAID controllers: what they say of their sectors holds for the volumes that are made of them.

use std::collections::BTreeMap;
use straddle_geometry::{Grid, Unit};
use straddle_stack::{Anomaly, AnomalyKind, Fact, GridFact, GridRole, LayerKind};

use super::groups::Groups;
use super::{Space, Thing};

/// Gives the sectors of member disks to their volumes. A volume whose members are not named is made of all disks of its
/// controller that are part of any. Members are then no longer things of their own: a volume is one device to all that
/// lies on it.
pub(super) fn members(groups: &mut Groups) {
    let mut volumes = Vec::new();
    let mut disks: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, thing) in groups.things.iter().enumerate() {
        let Some(thing) = thing else { continue };
        if thing.kind != LayerKind::Device {
            continue;
        }
        if let Some(controller) = controller_of(thing, Space::RaidVolume) {
            volumes.push((index, controller));
        } else if let Some(controller) = controller_of(thing, Space::RaidDisk) {
            disks.entry(controller).or_default().push(index);
        }
    }
    let mut of_all: BTreeMap<String, Said> = BTreeMap::new();
    for (volume, controller) in volumes {
        let Some(thing) = &groups.things[volume] else {
            continue;
        };
        let named: Vec<usize> = thing
            .on
            .iter()
            .filter(|name| name.space == Space::RaidDisk)
            .filter_map(|name| groups.find(name, thing.file))
            .collect();
        let all = of_all.entry(controller).or_insert_with_key(|controller| {
            let all = disks.get(controller).map(Vec::as_slice);
            sectors_of(groups, all.unwrap_or_default())
        });
        let said = match named.as_slice() {
            [] => all.clone(),
            named => sectors_of(groups, named),
        };
        if let Some(thing) = groups.things[volume].as_mut() {
            thing.on.retain(|name| name.space != Space::RaidDisk);
        }
        groups.tell(volume, said);
    }
    // Disks of a controller of which no volume is described are all that is known of it.
    for index in of_all.keys().filter_map(|controller| disks.get(controller)) {
        for disk in index {
            groups.things[*disk] = None;
        }
    }
}

/// `c0` of `c0/v1`.
fn controller_of(thing: &Thing, space: Space) -> Option<String> {
    let name = thing.names.iter().find(|name| name.space == space)?;
    Some(name.text.split('/').next()?.to_owned())
}

type Said = (Vec<GridFact>, Vec<Anomaly>);

/// What all members that say anything say alike, and a remark about what they do not.
fn sectors_of(groups: &Groups, members: &[usize]) -> Said {
    let members = members.iter().filter_map(|m| groups.things[*m].as_ref());
    let members: Vec<&Thing> = members.collect();
    let (mut grids, mut remarks) = (Vec::new(), Vec::new());
    for role in [GridRole::LogicalSector, GridRole::PhysicalSector] {
        let mut facts = members.iter().filter_map(|member| {
            let grid = member.grids.iter().find(|grid| grid.role == role)?;
            Some(grid.grid.clone().map(|grid| grid.unit()))
        });
        let Some(first): Option<Fact<Unit>> = facts.next() else {
            continue;
        };
        match facts.find(|fact| fact.value != first.value) {
            None => grids.push(GridFact {
                role,
                grid: first.map(Grid::new),
            }),
            Some(other) => {
                let detail = format!(
                    "the {} of its members is not the same: {} and {}; the volume has none for all",
                    role.name(),
                    first.value,
                    other.value
                );
                remarks.push(Anomaly::between(
                    AnomalyKind::Missing,
                    detail,
                    first.source,
                    other.source,
                ));
            }
        }
    }
    (grids, remarks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overrides;
    use crate::inventory::{Inventory, Name};
    use straddle_stack::{Source, Stack, Trust};

    fn said(unit: u64, line: u64) -> Fact<Unit> {
        Fact {
            value: Unit::new(unit).expect("not zero"),
            source: Source::Captured {
                file: "a".into(),
                line,
                text: String::new(),
            },
            trust: Trust::Reported,
        }
    }

    fn thing(space: Space, text: &'static str, physical: Option<u64>) -> Thing {
        let mut thing = Thing::new(LayerKind::Device, text, Name::new(space, text));
        if let Some(unit) = physical {
            thing.grid(GridRole::PhysicalSector, said(unit, unit));
        }
        thing
    }

    fn stack(things: Vec<Thing>) -> Stack {
        let mut inventory = Inventory::default();
        for thing in things {
            inventory.add(thing);
        }
        inventory.stack(&Overrides::default())
    }

    fn physical(stack: &Stack) -> (u64, Trust) {
        let grid = stack.layers()[0].grid(GridRole::PhysicalSector);
        let grid = grid.expect("said or assumed");
        (grid.value.unit().get(), grid.trust)
    }

    #[test]
    fn members_say_what_the_volume_hides() {
        let volume = thing(Space::RaidVolume, "c0/v0", None)
            .on(Name::new(Space::RaidDisk, "c0/e8/s0"))
            .on(Name::new(Space::RaidDisk, "c0/e8/s1"));
        let stack = stack(vec![
            volume,
            thing(Space::RaidDisk, "c0/e8/s0", Some(512)),
            thing(Space::RaidDisk, "c0/e8/s1", Some(512)),
            // Not a member.
            thing(Space::RaidDisk, "c0/e8/s2", Some(4096)),
        ]);
        assert_eq!(stack.layers().len(), 1);
        assert_eq!(physical(&stack), (512, Trust::Reported));
    }

    #[test]
    fn without_names_all_disks_of_the_controller_are_members() {
        let disks = |other| {
            vec![
                thing(Space::RaidDisk, "c0/e8/s0", Some(4096)),
                thing(Space::RaidDisk, "c0/e8/s1", Some(other)),
                thing(Space::RaidVolume, "c0/v0", None),
                thing(Space::RaidDisk, "c1/e8/s0", Some(512)),
            ]
        };
        let alike = stack(disks(4096));
        assert_eq!(physical(&alike), (4096, Trust::Reported));
        // The disk of the controller without volumes stays.
        assert_eq!(alike.layers().len(), 2);
        let mixed = stack(disks(512));
        assert_eq!(physical(&mixed).1, Trust::Assumed);
        assert_eq!(mixed.layers()[0].anomalies[0].kind, AnomalyKind::Missing);
    }

    #[test]
    fn a_volume_that_claims_512_over_disks_of_4096_has_4096() {
        let stack = stack(vec![
            thing(Space::RaidVolume, "c0/v0", Some(512)),
            thing(Space::RaidDisk, "c0/e8/s0", Some(4096)),
        ]);
        assert_eq!(physical(&stack), (4096, Trust::Reported));
        let anomalies = &stack.layers()[0].anomalies;
        assert_eq!(anomalies[0].kind, AnomalyKind::Contradiction);
    }
}
