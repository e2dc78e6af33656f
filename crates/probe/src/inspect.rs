mod ends;
mod filesystem;
mod places;
mod table;

use std::borrow::Cow;
use straddle_geometry::{Map, SectorSize};
use straddle_io::{ReadError, ReadErrorKind, Reader};
use straddle_stack::{
    Anomaly, AnomalyKind, Attribute, Fact, Key, Layer, LayerId, LayerKind, Stack, Value,
};

use crate::registry::{DATABASE_FILES, FALLBACKS, FILESYSTEMS, NESTED_TABLES, TABLES, VOLUMES};
use crate::volume::{Beside, Member, VolumeFormat};
use crate::{Child, Class, Detected, Magic, Nesting, Prober, Window};

use ends::HEAD;
pub(crate) use ends::prefetch_tail;
pub(crate) use filesystem::{has_the_magic_of_a_filesystem, holds_a_filesystem};
pub(crate) use table::{holds_anything, is_divided};

/// How far an inspection goes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most layers that one stack may grow to.
    pub layers: usize,
    /// Deepest nesting of tables in tables.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            layers: 4096,
            depth: 8,
        }
    }
}

/// What one inspection carries with it.
struct Walk {
    limits: Limits,
    members: Vec<Member>,
}

/// Looks at the whole of a target and puts what it finds on top of `base`, which stands for the target.
///
/// `sector` is the target's logical sector size where it is known (a device, or told by the user).
///
/// Gives the members of arrays, volume groups and the like that it came upon: what is on them is known when they are
/// assembled.
pub fn inspect(
    stack: &mut Stack,
    base: LayerId,
    reader: &Reader<'_>,
    sector: Option<SectorSize>,
    limits: Limits,
) -> Vec<Member> {
    let window = Window::whole(reader, sector);
    let mut walk = Walk {
        limits,
        members: Vec::new(),
    };
    window.prefetch(0, HEAD);
    prefetch_tail(&window);
    let mut tables = try_all(stack, base, &window, TABLES);
    if stopped(stack, base) {
        return walk.members;
    }
    let divided = tables.iter().any(|(_, found)| !found.children.is_empty());
    match add_member(stack, base, &window, divided, &mut walk.members) {
        Some(Beside::Nothing | Beside::NoTable) => return walk.members,
        Some(Beside::Table { stand_ins }) => {
            if let Some((table, mut detected)) = tables.into_iter().next() {
                hold_nothing(&mut detected.children, stand_ins);
                add_table(stack, base, &window, table, detected, &mut walk, 0);
            }
            return walk.members;
        }
        None => {}
    }
    let volumes = if stopped(stack, base) {
        Vec::new()
    } else {
        try_all(stack, base, &window, FILESYSTEMS)
    };
    // A disk given to one BSD as a whole has a disklabel and at most the stub of an MBR. Beside a filesystem that fills
    // the disk it is a left-over: several tools keep the sector it lies in.
    if !divided && volumes.is_empty() && !stopped(stack, base) {
        let whole = try_all(stack, base, &window, NESTED_TABLES);
        if !whole.is_empty() {
            tables = whole;
        }
    }
    match tables.into_iter().next() {
        Some((table, detected)) if divides(&window, table, &detected.children, &volumes) => {
            for (volume, _) in &volumes {
                ambiguous(stack, base, table.name, volume.name);
            }
            add_table(stack, base, &window, table, detected, &mut walk, 0);
        }
        table if !volumes.is_empty() => {
            // An empty table beside a filesystem is the filesystem's own boot sector, but for a GPT that it protects.
            if let (Some((table, found)), Some((volume, _))) = (table, volumes.first()) {
                if !found.children.is_empty() {
                    ambiguous(stack, base, volume.name, table.name);
                }
                stack.layer_mut(base).anomalies.extend(found.anomalies);
            }
            add_volume(stack, base, volumes);
        }
        _ if stopped(stack, base) => {}
        _ => {
            let files = try_all(stack, base, &window, DATABASE_FILES);
            if files.is_empty() {
                add_fallback(stack, base, &window);
            } else {
                add_database_pages(stack, base, files);
            }
        }
    }
    walk.members
}

/// True when the disk is divided as `table` says, whatever filesystems `volumes` it seems to hold as a whole.
///
/// A filesystem that begins with the sector of an MBR (FAT, NTFS) has code where the table would be, and anything may pass
/// for a table of Atari's. That gives partitions, but not such that hold something; elsewhere, it is enough that they lie on
/// the disk.
fn divides(
    window: &Window<'_>,
    table: &Prober,
    children: &[Child],
    volumes: &[(&'static Prober, Detected)],
) -> bool {
    let in_its_sector = |volume: &Prober| volume.magics.iter().any(|magic| magic.offset < 512);
    let shared = match table.name {
        "mbr" => volumes.iter().any(|(volume, _)| in_its_sector(volume)),
        // It has no magic.
        name => name == "atari",
    };
    let is_real = |child: &Child| {
        let part = window.part(child.placement.value);
        part.is_some_and(|part| !shared || holds_a_filesystem(&part))
    };
    volumes.is_empty() || children.iter().any(is_real)
}

/// Partitions of these types hold others, in a way that no table describes: they are treated like extended ones.
fn hold_nothing(children: &mut [Child], types: &[&str]) {
    for child in children {
        let kind = child
            .attributes
            .iter()
            .find(|attribute| attribute.key == Key::PartitionType)
            .map(|attribute| &attribute.value);
        let Some(kind) = kind else { continue };
        let is_one = |known: &&str| matches!(&kind.value, Value::Text(kind) if kind == known);
        if types.iter().any(is_one) {
            let holds = Fact {
                value: Value::Flag(true),
                ..kind.clone()
            };
            child.nesting = Nesting::Container;
            child.attributes.push(Attribute {
                key: Key::HoldsPartitions,
                value: holds,
            });
        }
    }
}

/// Looks for the metadata of an array, a volume manager or an encryption, and says on the device's layer what they say.
/// What else may be there is the answer; `None` when there are none.
fn add_member(
    stack: &mut Stack,
    base: LayerId,
    window: &Window<'_>,
    divided: bool,
    members: &mut Vec<Member>,
) -> Option<Beside> {
    let possible = |format: &&&VolumeFormat| !(divided && matches!(format.beside, Beside::NoTable));
    for format in VOLUMES.iter().filter(possible) {
        match format.run(window) {
            Ok(None) => {}
            Ok(Some(recognised)) => {
                let layer = stack.layer_mut(base);
                let shown = format
                    .magics
                    .iter()
                    .find(|magic| matches!(window.matches(magic.offset, magic.bytes), Ok(true)));
                let title = Value::Text(Cow::Borrowed(format.title));
                layer.set(
                    Key::Holds,
                    match shown {
                        Some(magic) => window.fact(title, magic.offset, magic.bytes.len()),
                        None => Fact::derived(title, "recognised by its metadata"),
                    },
                );
                if !recognised.set.is_empty() && recognised.of != Some(1) {
                    let set = format!("{} {}", format.name, recognised.set);
                    let set = Fact::derived(Value::Text(set.into()), "named by its metadata");
                    layer.set(Key::MemberOf, set);
                }
                layer.attributes.extend(recognised.detected.attributes);
                layer.grids.extend(recognised.detected.grids);
                layer.anomalies.extend(recognised.detected.anomalies);
                members.push(Member {
                    layer: base,
                    extent: window.extent(),
                    format,
                    set: recognised.set,
                    member: recognised.member,
                    of: recognised.of,
                });
                return Some(format.beside);
            }
            // Part of an array whose other members are somewhere else: what can be read may still tell.
            Err(error) if error.kind == ReadErrorKind::NotGiven => {}
            Err(error) => {
                let fatal = !matches!(error.kind, ReadErrorKind::PastEnd { .. });
                unreadable(stack, base, format.name, &error);
                // Bad blocks: more reads would only hurt a dying disk. What the table says is still of use.
                if fatal {
                    return None;
                }
            }
        }
    }
    None
}

fn volume_at(stack: &mut Stack, base: LayerId, window: &Window<'_>, walk: &mut Walk, depth: usize) {
    window.prefetch(0, HEAD);
    prefetch_tail(window);
    if add_member(stack, base, window, false, &mut walk.members).is_some() || stopped(stack, base) {
        return;
    }
    let nested = if depth < walk.limits.depth {
        try_all(stack, base, window, NESTED_TABLES)
    } else {
        Vec::new()
    };
    let volumes = if stopped(stack, base) {
        Vec::new()
    } else {
        try_all(stack, base, window, FILESYSTEMS)
    };
    let for_slices = is_for_slices(stack.layer(base), volumes.is_empty());
    match nested.into_iter().next() {
        // The superblock is that of a slice which starts where the partition does.
        Some((table, detected)) if for_slices => {
            add_table(stack, base, window, table, detected, walk, depth);
            return;
        }
        Some((table, detected)) => left_over(stack, base, window, table, &detected),
        None => {}
    }
    if volumes.is_empty() {
        add_fallback(stack, base, window);
    }
    add_volume(stack, base, volumes);
}

/// Says of a label in a partition whose type has no slices that it is what a former owner left: mke2fs, for one, keeps it.
fn left_over(
    stack: &mut Stack,
    base: LayerId,
    window: &Window<'_>,
    table: &Prober,
    detected: &Detected,
) {
    let kind = stack.layer(base).text(Key::PartitionType).unwrap_or("");
    let detail = format!(
        "a {} label of {} partitions in a partition of type {kind}, which has none: left by a former owner, and not used",
        table.name,
        detected.children.len()
    );
    let source = table_name(window, table, detected).source;
    let anomaly = Anomaly::at(AnomalyKind::Ambiguous, detail, source);
    stack.layer_mut(base).anomalies.push(anomaly);
}

/// Looks for a copy of a superblock, and puts the filesystem it describes on `base`.
fn add_fallback(stack: &mut Stack, base: LayerId, window: &Window<'_>) {
    // Where the usual places were not given, a copy says nothing about what stands there.
    let usual = window.matches(HEAD - 1, &[0]);
    if matches!(usual, Err(error) if error.kind == ReadErrorKind::NotGiven) {
        return;
    }
    for prober in FALLBACKS {
        if stopped(stack, base) {
            return;
        }
        let found = try_all(stack, base, window, std::slice::from_ref(prober));
        if !found.is_empty() {
            add_volume(stack, base, found);
            return;
        }
    }
}

/// True when the partition's type says that it is divided into slices: FreeBSD, OpenBSD, NetBSD, Solaris. Type 82 is
/// Solaris's old type, but far more often Linux swap: it is believed of a partition that holds nothing else. What has no
/// type may hold anything.
fn is_for_slices(partition: &Layer, holds_nothing_else: bool) -> bool {
    let types = [
        "a5",
        "a6",
        "a9",
        "bf",
        "516E7CB4-6ECF-11D6-8FF8-00022D09712B",
        "824CC7A0-36A8-11E3-890A-952519AD3F61",
    ];
    match partition.text(Key::PartitionType) {
        Some("82") | None => holds_nothing_else,
        Some(kind) => types.contains(&kind),
    }
}

/// Runs probers in order; those superseded by an earlier match are left out.
fn try_all(
    stack: &mut Stack,
    base: LayerId,
    window: &Window<'_>,
    probers: &'static [&'static Prober],
) -> Vec<(&'static Prober, Detected)> {
    let mut found = Vec::new();
    for prober in probers {
        match prober.run(window) {
            Ok(None) => {}
            Ok(Some(detected)) => {
                found.push((*prober, detected));
                // A table that is recognised explains everything a later table prober could see.
                if matches!(prober.class, Class::Table | Class::NestedTable) {
                    break;
                }
            }
            // Part of an array whose other members are somewhere else: what can be read may still tell.
            Err(error) if error.kind == ReadErrorKind::NotGiven => {}
            Err(error) => {
                let fatal = !matches!(error.kind, ReadErrorKind::PastEnd { .. });
                unreadable(stack, base, prober.name, &error);
                if fatal {
                    break;
                }
            }
        }
    }
    found
}

fn unreadable(stack: &mut Stack, base: LayerId, format: &str, error: &ReadError) {
    let detail = format!("while looking for {format}: {error}");
    stack
        .layer_mut(base)
        .anomalies
        .push(Anomaly::new(AnomalyKind::Unreadable, detail));
}

/// True when a device error ended the search: more reads would only hurt a dying disk.
fn stopped(stack: &Stack, base: LayerId) -> bool {
    stack
        .layer(base)
        .anomalies
        .iter()
        .any(|anomaly| anomaly.kind == AnomalyKind::Unreadable)
}

fn ambiguous(stack: &mut Stack, base: LayerId, used: &str, also: &str) {
    let detail = format!("both {used} and {also} match; it is read as {used}");
    stack
        .layer_mut(base)
        .anomalies
        .push(Anomaly::new(AnomalyKind::Ambiguous, detail));
}

fn add_table(
    stack: &mut Stack,
    base: LayerId,
    window: &Window<'_>,
    table: &Prober,
    detected: Detected,
    walk: &mut Walk,
    depth: usize,
) {
    places::check(stack, base, window.size(), &detected.children);
    // Nested tables hold no tables: looking for one would find the same label again in a slice that starts with it.
    let depth = match table.class {
        Class::NestedTable => walk.limits.depth,
        _ => depth.saturating_add(1),
    };
    let layer = stack.layer_mut(base);
    layer.set(Key::PartitionTable, table_name(window, table, &detected));
    layer.attributes.extend(detected.attributes);
    layer.grids.extend(detected.grids);
    layer.anomalies.extend(detected.anomalies);
    for child in detected.children {
        if stack.layers().len() >= walk.limits.layers {
            let detail = format!(
                "more than {} layers; the rest of the {} table is not looked at",
                walk.limits.layers, table.name
            );
            stack
                .layer_mut(base)
                .anomalies
                .push(Anomaly::new(AnomalyKind::LimitReached, detail));
            return;
        }
        add_child(stack, base, window, child, walk, depth);
    }
}

/// The table's name, with its signature as provenance: the magic it was found by, or the header that gave its sector
/// size away.
fn table_name(window: &Window<'_>, table: &Prober, detected: &Detected) -> Fact<Value> {
    let value = Value::Text(Cow::Borrowed(table.name));
    let header = detected
        .attributes
        .iter()
        .find(|a| a.key == Key::TableSectorSize);
    let shows = |magic: &&Magic| matches!(window.matches(magic.offset, magic.bytes), Ok(true));
    match (table.magics.iter().find(shows), header) {
        (Some(magic), _) => window.fact(value, magic.offset, magic.bytes.len()),
        (None, Some(header)) => Fact {
            value,
            ..header.value.clone()
        },
        (None, None) => Fact::derived(value, "recognised by its structure"),
    }
}

fn add_child(
    stack: &mut Stack,
    base: LayerId,
    window: &Window<'_>,
    child: Child,
    walk: &mut Walk,
    depth: usize,
) {
    let extent = child.placement.value;
    let container = child.nesting == Nesting::Container;
    let mut layer = Layer::new(child.kind, child.name);
    layer.below = vec![base];
    layer.map = Map::Linear {
        start: extent.start(),
    };
    layer.size = Some(Fact {
        value: extent.len(),
        source: child.len,
        trust: child.placement.trust,
    });
    layer.placement = Some(child.placement);
    layer.attributes = child.attributes;
    layer.anomalies = child.anomalies;
    let id = stack.push(layer);
    if container {
        return;
    }
    if let Some(part) = window.part(extent) {
        volume_at(stack, id, &part, walk, depth);
    }
}

fn add_volume(stack: &mut Stack, base: LayerId, volumes: Vec<(&'static Prober, Detected)>) {
    let mut volumes = volumes.into_iter();
    let Some((prober, detected)) = volumes.next() else {
        return;
    };
    for (other, _) in volumes {
        ambiguous(stack, base, prober.name, other.name);
    }
    push_upper(stack, base, LayerKind::Filesystem, prober.name, detected);
}

fn add_database_pages(stack: &mut Stack, base: LayerId, files: Vec<(&'static Prober, Detected)>) {
    if let Some((prober, detected)) = files.into_iter().next() {
        push_upper(stack, base, LayerKind::DatabasePage, prober.name, detected);
    }
}

/// Puts a layer on `base` that fills it from its first byte.
fn push_upper(
    stack: &mut Stack,
    base: LayerId,
    kind: LayerKind,
    format: &'static str,
    detected: Detected,
) {
    let format = detected.variant.unwrap_or(format);
    let mut layer = Layer::new(kind, format);
    layer.format = Some(Cow::Borrowed(format));
    layer.below = vec![base];
    layer.size = detected.size.or_else(|| stack.layer(base).size.clone());
    layer.attributes = detected.attributes;
    layer.grids = detected.grids;
    layer.anomalies = detected.anomalies;
    stack.push(layer);
}

#[cfg(test)]
mod tests;
