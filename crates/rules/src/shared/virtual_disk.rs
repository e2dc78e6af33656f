//! What rules about virtual disks share.

use straddle_geometry::{Blocks, Map};
use straddle_stack::{GridRole, LayerId, LayerKind, SeenGrid, Stack};

use crate::Context;

/// The file that the disk lies in, as it is called on the command line or on the host.
pub(crate) fn file_name(stack: &Stack, disk: LayerId) -> &str {
    let layer = stack.layer(disk);
    let file = layer.below.first().map(|file| stack.layer(*file));
    match file.map(|file| file.name.as_str()) {
        Some(name) if !name.is_empty() => name,
        _ => &layer.name,
    }
}

/// The disk or file that holds what is absent in `disk`: a target of its map behind its own file.
pub(crate) fn parent(stack: &Stack, disk: LayerId) -> Option<LayerId> {
    let layer = stack.layer(disk);
    let Map::Blocks(Blocks(table)) = &layer.map else {
        return None;
    };
    layer.below.get(table.parent()?).copied()
}

/// True when another virtual disk takes from this one what it does not hold itself: nothing writes here then.
pub(crate) fn is_parent(stack: &Stack, disk: LayerId) -> bool {
    stack
        .above(disk)
        .any(|above| parent(stack, above) == Some(disk))
}

/// The grids with this role of what lies below a disk's files: not those that its parents show to a guest.
pub(crate) fn host_grids<'c, 's>(
    context: &'c Context<'s>,
    disk: LayerId,
    role: GridRole,
) -> impl Iterator<Item = &'c SeenGrid<'s>> {
    let mut chain = vec![disk];
    let mut next = 0;
    while let Some(here) = chain.get(next).copied() {
        let others = context.stack.layer(here).below.iter().skip(1);
        let disks = others
            .filter(|other| context.stack.layer(**other).kind == LayerKind::Container)
            .filter(|other| !chain.contains(other));
        let disks: Vec<LayerId> = disks.copied().collect();
        chain.extend(disks);
        next += 1;
    }
    context
        .below(disk, role)
        .filter(move |grid| !chain.contains(&grid.layer))
}

/// A name for a new file beside `file`: without its extension, with `end`.
pub(crate) fn renamed(file: &str, end: &str) -> String {
    let folder = file.rfind('/').map_or(0, |at| at + 1);
    let dot = file[folder..].rfind('.').filter(|at| *at > 0);
    let stem = dot.map_or(file, |at| &file[..folder + at]);
    format!("{stem}{end}")
}

#[cfg(test)]
mod tests {
    use super::renamed;

    #[test]
    fn new_names_lose_the_extension_only() {
        assert_eq!(renamed("/srv/v1.0/a.vhd", "-4M.vhd"), "/srv/v1.0/a-4M.vhd");
        assert_eq!(renamed("/srv/v1.0/a", ".raw"), "/srv/v1.0/a.raw");
        assert_eq!(renamed(".a", ".raw"), ".a.raw");
    }
}
