//! `zdb -C`, `zdb -l` and `zpool status`: pools of ZFS and what they lie on.
//!
//! Every top-level vdev has addresses of its own, so a pool is a filesystem on each of them. What a vdev takes for a
//! sector, 2^ashift bytes, is what it allocates in: the allocation unit. A RAID-Z deals sectors to all its disks in turn
//! (`vdev_raidz_map_alloc`), wherever parity then goes, so 2^ashift is its stripe unit too; it has no full stripe that a
//! small write would have to be completed to.
//!
//! Places: every disk begins with two labels and a boot region, 4 MiB together (`VDEV_LABEL_START_SIZE`).

use straddle_geometry::{Bytes, Unit};
use straddle_stack::{AnomalyKind, Fact, GridRole, Interval, Key, LayerKind, Value};

use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Placing, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "zfs",
    platform: "linux",
    commands: &[
        "zdb -C",
        "zdb -l DEVICE",
        "zpool status -P",
        "zfs get volblocksize,recordsize",
    ],
    readers: &[
        Reader::Text {
            anchors: &[
                Anchor::Start("version: "),
                // The tree without what stands above it.
                Anchor::Loose("vdev_tree:"),
                Anchor::Loose("children[0]:"),
                // What `grep` leaves of it.
                Anchor::Loose("type: 'root'"),
                Anchor::Loose("ashift: "),
                Anchor::Loose("path: "),
            ],
            begins: |lines| {
                let keys = ["pool_guid", "txg", "vdev_tree", "children[0]"];
                let is_key = |line: &Line<'_>| {
                    pair(line).is_some_and(|(key, _)| keys.contains(&key)) || is_pool(line)
                };
                lines.iter().take(LOOK_AHEAD).any(is_key) || grepped(lines) || alone(&lines[0])
            },
            read: configuration,
        },
        Reader::Text {
            anchors: &[Anchor::Start("pool: ")],
            begins: |lines| {
                lines
                    .iter()
                    .take(LOOK_AHEAD)
                    .any(|line| line.text.trim_start().starts_with("state: "))
            },
            read: status,
        },
        Reader::Text {
            anchors: &[Anchor::Start("NAME ")],
            begins: super::zfs_get::begins,
            read: super::zfs_get::read,
        },
    ],
};

const LOOK_AHEAD: usize = 4;
/// What a vdev is of which only the ashift was printed.
const NAMELESS: &str = "nameless";
/// Deepest vdev tree: the pool, its vdevs, replacing and spare vdevs in them, disks.
const MAX_DEPTH: usize = 8;
/// Most vdevs of one output.
const MAX_VDEVS: usize = 1 << 12;
/// Where allocatable space begins on a disk.
const LABELS: Bytes = Bytes::mib(4);

/// A vdev as one output describes it, with its children by their index.
#[derive(Default)]
struct Vdev<'t> {
    kind: String,
    name: Option<String>,
    line: Option<Line<'t>>,
    id: u64,
    parity: Option<u64>,
    ashift: Option<(u64, Line<'t>)>,
    size: Option<(u64, Line<'t>)>,
    path: Option<(String, Line<'t>)>,
    is_log: bool,
    children: Vec<usize>,
}

fn pair<'t>(line: &Line<'t>) -> Option<(&'t str, &'t str)> {
    let (key, value) = line.text.trim().split_once(':')?;
    Some((key.trim(), value.trim().trim_matches('\'')))
}

/// True for the name of a pool, which zdb puts between quotes: names and paths without them stand in every workflow.
fn is_pool(line: &Line<'_>) -> bool {
    let value = line.text.trim().strip_prefix("name: ");
    value.is_some_and(|value| value.starts_with('\'') && value.ends_with('\''))
}

fn indent(line: &Line<'_>) -> usize {
    line.text.len() - line.text.trim_start().len()
}

/// True for an `ashift` and, further in or beside it, the paths of the disks that it holds for.
fn grepped(lines: &[Line<'_>]) -> bool {
    let near = || {
        lines
            .iter()
            .take(2 * LOOK_AHEAD)
            .take_while(|line| !line.is_blank())
    };
    let depth = |key: &str| {
        near().find_map(|line| pair(line).filter(|(k, _)| *k == key).map(|_| indent(line)))
    };
    matches!((depth("ashift"), depth("path")), (Some(shift), Some(path)) if shift <= path)
}

/// True for `ashift: 12`, which `grep ashift` leaves of each vdev: what a sector of ZFS can be (`ASHIFT_MIN`, `ASHIFT_MAX`).
fn alone(line: &Line<'_>) -> bool {
    let shift = pair(line).filter(|(key, _)| *key == "ashift");
    shift.is_some_and(|(_, value)| value.parse::<u32>().is_ok_and(|n| (9..=16).contains(&n)))
}

/// Where no line opens a vdev, the blanks before the keys tell which of them belong together.
fn open_by_indent<'t>(
    (depth, key): (usize, &str),
    vdevs: &mut Vec<Vdev<'t>>,
    open: &mut Vec<(usize, usize)>,
) {
    while open.last().is_some_and(|(other, _)| *other > depth) {
        open.pop();
    }
    let repeated = open.last().is_some_and(|(other, index)| {
        let vdev = &vdevs[*index];
        let has = match key {
            "type" => !vdev.kind.is_empty(),
            "path" => vdev.path.is_some(),
            "ashift" => vdev.ashift.is_some(),
            _ => false,
        };
        *other == depth && has
    });
    if repeated {
        open.pop();
    }
    let deeper = open.last().is_none_or(|(other, _)| *other < depth);
    if deeper && vdevs.len() < MAX_VDEVS && open.len() < MAX_DEPTH {
        let index = vdevs.len();
        vdevs.push(Vdev::default());
        // What stands beside the first one has the same pool above it.
        let parent = open.last().map_or(0, |(_, parent)| *parent);
        if index > 0 && parent < index {
            vdevs[parent].children.push(index);
        }
        open.push((depth, index));
    }
}

/// A configuration as zdb prints it: `key: value`, deeper ones further in.
fn configuration(section: &Section<'_>, notes: &mut Notes<'_>) {
    let mut pool = None;
    let mut vdevs: Vec<Vdev<'_>> = Vec::new();
    // Those that the present line is in, each with the indentation of the line that begins it.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let opens = |line: &Line<'_>| {
        pair(line).is_some_and(|(key, _)| key == "vdev_tree" || key.starts_with("children["))
    };
    let flat = !section.lines.iter().any(opens);
    let has_root = section
        .lines
        .iter()
        .any(|line| pair(line) == Some(("type", "root")));
    if flat && !has_root {
        vdevs.push(Vdev {
            kind: "root".to_owned(),
            ..Vdev::default()
        });
    }
    for line in section.lines {
        let Some((key, value)) = pair(line) else {
            continue;
        };
        if flat
            && matches!(
                key,
                "type" | "ashift" | "path" | "asize" | "nparity" | "id" | "is_log"
            )
        {
            open_by_indent((indent(line), key), &mut vdevs, &mut open);
        }
        while !flat && open.last().is_some_and(|(depth, _)| indent(line) <= *depth) {
            open.pop();
        }
        if value.is_empty() && (key == "vdev_tree" || key.starts_with("children[")) {
            if vdevs.len() >= MAX_VDEVS || open.len() >= MAX_DEPTH {
                return;
            }
            let index = vdevs.len();
            vdevs.push(Vdev::default());
            if let Some((_, parent)) = open.last() {
                vdevs[*parent].children.push(index);
            }
            open.push((indent(line), index));
            continue;
        }
        let Some((_, current)) = open.last() else {
            if key == "name" {
                pool = Some((value.to_owned(), *line));
            }
            continue;
        };
        let vdev = &mut vdevs[*current];
        let number = || value.parse::<u64>().ok();
        match key {
            "type" => vdev.kind = value.to_owned(),
            "id" => vdev.id = number().unwrap_or(0),
            "nparity" => vdev.parity = number(),
            "ashift" => vdev.ashift = number().map(|n| (n, *line)),
            "asize" => vdev.size = number().map(|n| (n, *line)),
            "path" => vdev.path = Some((value.to_owned(), *line)),
            "is_log" => vdev.is_log = value == "1",
            _ => {}
        }
        vdev.line.get_or_insert(*line);
    }
    for vdev in vdevs.iter_mut().filter(|vdev| flat && vdev.kind.is_empty()) {
        if vdev.children.is_empty() {
            let kind = if vdev.path.is_some() {
                "disk"
            } else {
                NAMELESS
            };
            kind.clone_into(&mut vdev.kind);
        }
    }
    // The cache has the name in a line of its own above; where it is lost, the command may have it.
    let named = || {
        let line = section.before.last()?;
        let name = line.text.strip_suffix(':')?;
        (!name.contains(char::is_whitespace) && !name.is_empty()).then(|| (name.to_owned(), *line))
    };
    let typed = || {
        let command = section
            .context
            .command
            .as_ref()
            .filter(|command| command.program() == "zdb" && command.words.len() > 1)?;
        let name = command
            .last()
            .filter(|word| !word.starts_with(['-', '/']))?;
        Some((name.to_owned(), command.line))
    };
    let lost = || Some(("?".to_owned(), *section.lines.first()?));
    let Some((pool, line)) = pool.or_else(named).or_else(typed).or_else(lost) else {
        return;
    };
    note(&pool, &line, &vdevs, notes);
}

/// `block size: 512B configured, 4096B native` behind a disk: what the pool takes for its sector, and what the disk says.
fn block_size(text: &str) -> Option<(u64, u64)> {
    let (_, rest) = text.split_once("block size: ")?;
    let (configured, rest) = rest.split_once("B configured, ")?;
    let native = rest.split_once("B native")?.0;
    let (configured, native) = (
        configured.trim().parse::<u64>().ok()?,
        native.trim().parse().ok()?,
    );
    configured.is_power_of_two().then_some((configured, native))
}

/// The tree under `NAME STATE READ WRITE CKSUM`: two blanks for each level. A whole disk is called by the disk's name
/// though ZFS made a partition on it, so nothing here says where data lies.
fn status(section: &Section<'_>, notes: &mut Notes<'_>) {
    let mut pool = None;
    let mut vdevs = vec![Vdev {
        kind: "root".to_owned(),
        ..Vdev::default()
    }];
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut in_tree = false;
    for line in section.lines {
        let text = line.text.trim();
        if let Some(name) = text.strip_prefix("pool: ") {
            pool = Some((name.trim().to_owned(), *line));
        } else if text.starts_with("NAME ") && text.contains("STATE") {
            in_tree = true;
        } else if text.starts_with("errors:") || (in_tree && text.is_empty()) {
            in_tree = false;
        } else if in_tree {
            let name = text.split_whitespace().next().unwrap_or("");
            while open.last().is_some_and(|(depth, _)| indent(line) <= *depth) {
                open.pop();
            }
            let is_pool = pool.as_ref().is_some_and(|(pool, _)| pool == name);
            if is_pool && open.is_empty() {
                open.push((indent(line), 0));
                continue;
            }
            // `logs`, `cache`, `spares` stand beside the pool.
            let Some((_, parent)) = open.last().copied() else {
                continue;
            };
            if vdevs.len() >= MAX_VDEVS || open.len() >= MAX_DEPTH {
                return;
            }
            let kind = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
            let group = ["mirror", "raidz", "draid", "replacing", "spare"].contains(&kind)
                || name.starts_with("raidz")
                || name.starts_with("draid");
            let index = vdevs.len();
            let sizes = block_size(line.text);
            let ashift =
                sizes.map(|(configured, _)| (u64::from(configured.trailing_zeros()), *line));
            if let Some((_, native)) = sizes {
                let device = Name::new(Space::Device, name.to_owned());
                let mut thing = Thing::new(LayerKind::Device, name.to_owned(), device);
                super::device::grid(&mut thing, GridRole::PhysicalSector, native, 0, line, notes);
                notes.add(thing);
            }
            // What one disk says of its vdev holds for the vdev.
            if let Some(above) = vdevs.get_mut(parent).filter(|above| above.kind != "root") {
                above.ashift = above.ashift.or(ashift);
            }
            vdevs.push(Vdev {
                ashift,
                kind: if group { kind } else { "disk" }.to_owned(),
                name: Some(name.to_owned()),
                line: Some(*line),
                path: (!group).then(|| (name.to_owned(), *line)),
                ..Vdev::default()
            });
            vdevs[parent].children.push(index);
            open.push((indent(line), index));
        }
    }
    let Some((pool, line)) = pool else { return };
    note(&pool, &line, &vdevs, notes);
}

/// Notes a pool. A label has only the vdev that its disk is part of, a pool's configuration all below a root.
fn note(pool: &str, line: &Line<'_>, vdevs: &[Vdev<'_>], notes: &mut Notes<'_>) {
    let Some(first) = vdevs.first() else { return };
    // A tree whose first lines are lost has children and no type.
    let tops: Vec<usize> = match first.kind.as_str() {
        "root" => first.children.clone(),
        "" if !first.children.is_empty() => first.children.clone(),
        _ => vec![0],
    };
    let data = |index: &&usize| !vdevs[**index].is_log && vdevs[**index].kind != "hole";
    let single = first.kind == "root" && tops.iter().filter(data).count() == 1;
    for index in tops.iter().filter(data) {
        top(pool, line, single, vdevs, &vdevs[*index], notes);
    }
}

/// The disk below a vdev: of one that is being replaced the new one, of a spare that has stepped in the first.
fn leaf<'v, 't>(vdevs: &'v [Vdev<'t>], vdev: &'v Vdev<'t>) -> Option<&'v (String, Line<'t>)> {
    let mut vdev = vdev;
    for _ in 0..MAX_DEPTH {
        if vdev.path.is_some() {
            return vdev.path.as_ref();
        }
        let child = match vdev.kind.as_str() {
            "replacing" => vdev.children.last()?,
            _ => vdev.children.first()?,
        };
        vdev = vdevs.get(*child)?;
    }
    None
}

fn labels() -> Fact<Interval> {
    Fact::derived(
        Interval::exact(LABELS),
        "two labels and a boot region of ZFS, 4 MiB, stand before the data",
    )
}

/// A top-level vdev, and the pool's filesystem on it.
fn top(
    pool: &str,
    line: &Line<'_>,
    single: bool,
    vdevs: &[Vdev<'_>],
    vdev: &Vdev<'_>,
    notes: &mut Notes<'_>,
) {
    let sector = vdev.ashift.and_then(|(shift, line)| {
        let bytes = 1_u64.checked_shl(u32::try_from(shift).ok()?)?;
        Some(notes.said(&line, Unit::new(bytes)?))
    });
    let own_line = vdev.line.unwrap_or(*line);
    let shown = vdev.name.is_some();
    let name = match (&vdev.name, vdev.parity) {
        (Some(name), _) => name.clone(),
        (None, Some(parity)) => format!("{}{parity}-{}", vdev.kind, vdev.id),
        (None, None) => format!("{}-{}", vdev.kind, vdev.id),
    };
    let full = format!("{pool}/{name}");
    let mut on = Name::new(Space::Pool, full.clone());
    let mut direct = false;
    if vdev.children.is_empty() {
        let Some((path, _)) = leaf(vdevs, vdev) else {
            let of = match pool {
                "?" => String::new(),
                pool => format!(" of {pool}"),
            };
            // Who asked for its ashift alone has cut nothing off.
            let (kind, detail) = match vdev.kind.as_str() {
                NAMELESS => (
                    AnomalyKind::Missing,
                    format!("nothing says what the vdev{of} lies on"),
                ),
                _ => (
                    AnomalyKind::Truncated,
                    format!("a vdev{of} has lost its path: what it lies on is not known"),
                ),
            };
            notes.remark(kind, detail, &own_line);
            // Its line tells it from others whose number is lost too.
            let name = Name::new(Space::Pool, format!("{pool}/line-{}", own_line.number));
            let title = match pool {
                "?" => "pool of ZFS",
                pool => pool,
            };
            let mut thing = Thing::new(LayerKind::Filesystem, title, name);
            thing.format = Some(notes.said(&own_line, "zfs".into()));
            if let Some(sector) = sector {
                thing.grid(GridRole::AllocationUnit, sector);
                notes.add(thing);
            }
            return;
        };
        on = Name::new(Space::Device, path.clone());
        direct = true;
    } else {
        let mut thing = Thing::new(LayerKind::Array, full.clone(), on.clone());
        let level = name.split('-').next().unwrap_or("").to_owned();
        thing.format = Some(notes.said(&own_line, level.clone().into()));
        thing.set_text(Key::Level, notes.said(&own_line, level.clone()));
        let leaves = vdev
            .children
            .iter()
            .filter_map(|child| leaf(vdevs, &vdevs[*child]));
        thing.on = leaves
            .map(|(path, _)| Name::new(Space::Device, path.clone()))
            .collect();
        let count = u64::try_from(vdev.children.len()).unwrap_or(u64::MAX);
        thing.set(Key::Members, notes.said(&own_line, Value::Count(count)));
        thing.placing = Placing::Unknown;
        if shown {
            // Where data lies on these is not said.
        } else if vdev.kind == "mirror" {
            thing.placing = Placing::Linear;
            thing.start = Some(labels());
        } else if vdev.kind == "raidz"
            && let (Some(unit), Some(parity)) = (&sector, vdev.parity)
        {
            thing.grid(GridRole::StripeUnit, unit.clone());
            if let Some(data) = count.checked_sub(parity) {
                let from = format!("{count} − {parity} parity of {count} members");
                thing.set(Key::DataMembers, Fact::derived(Value::Count(data), from));
            }
            thing.placing = Placing::Striped {
                unit: unit.value,
                starts: vec![LABELS; thing.on.len()],
            };
        }
        if let Some((size, line)) = vdev.size {
            thing.size = Some(notes.said(&line, Interval::exact(Bytes::new(size))));
        }
        notes.add(thing);
    }
    let title = if single {
        pool.to_owned()
    } else {
        full.clone()
    };
    let mut thing = Thing::new(LayerKind::Filesystem, title, Name::new(Space::Pool, full)).on(on);
    thing.format = Some(notes.said(line, "zfs".into()));
    if let Some(sector) = sector {
        thing.grid(GridRole::AllocationUnit, sector);
    }
    if direct {
        thing.start = (!shown).then(labels);
        if shown {
            thing.placing = Placing::Unknown;
        }
    }
    notes.add(thing);
}
