//! Volume formats: the members that a seed holds, recognised and put together.

use straddle_geometry::{Bytes, Map};
use straddle_io::Reader;
use straddle_probe::Window;
use straddle_probe::volume::{Assembly, Below, Part, VolumeFormat};

use crate::sparse::members;

/// More layers than any seed makes, however hostile: what `assemble` promises.
const MAX_NODES: usize = 8192;

/// How many members were recognised, what they make, and the most that was read of one.
///
/// # Panics
/// When the assembly breaks a promise.
pub fn assembled(
    format: &VolumeFormat,
    seed: &[u8],
    budget: Bytes,
) -> (usize, Option<Assembly>, Bytes) {
    let members = members(seed);
    let readers: Vec<Reader<'_>> = members
        .iter()
        .map(|member| Reader::with_budget(member, budget))
        .collect();
    let mut set = None;
    let mut names: Vec<String> = Vec::new();
    let mut parts = Vec::new();
    for reader in &readers {
        let window = Window::whole(reader, None);
        let Ok(Some(found)) = format.run(&window) else {
            continue;
        };
        if *set.get_or_insert(found.set.clone()) == found.set
            && (found.member.is_empty() || !names.contains(&found.member))
        {
            names.push(found.member);
            parts.push(Part {
                window,
                name: "member",
                serial: None,
            });
        }
    }
    let assembly = if parts.is_empty() {
        None
    } else {
        (format.assemble)(&parts).ok()
    };
    if let Some(assembly) = &assembly {
        is_sound(assembly, parts.len());
    }
    let most = readers.iter().map(Reader::spent).max();
    (parts.len(), assembly, most.unwrap_or(Bytes::ZERO))
}

/// What every assembly keeps to, whatever the metadata say.
fn is_sound(assembly: &Assembly, parts: usize) {
    assert!(assembly.nodes.len() <= MAX_NODES, "too many layers");
    for (index, node) in assembly.nodes.iter().enumerate() {
        for below in &node.below {
            match below {
                Below::Part(part) => assert!(*part < parts, "no such member"),
                Below::Node(lower) => assert!(*lower < index, "a layer on one that comes later"),
                Below::Missing(name) => assert!(!name.is_empty(), "a member without a name"),
            }
        }
        let targets = node.below.len();
        match &node.layer.map {
            Map::Segments(segments) => {
                for pair in segments.windows(2) {
                    assert!(pair[0].upper.end() <= pair[1].upper.start(), "overlap");
                }
                assert!(
                    segments.iter().all(|s| s.target < targets),
                    "no such target"
                );
            }
            Map::Striped(striping) => assert!(striping.starts.len() <= targets),
            Map::Raid(raid) => assert!(raid.columns() <= targets),
            Map::Linear { .. } => assert!(targets > 0, "a map to nothing"),
            Map::Blocks(_) => {}
        }
        let size = node.layer.size.as_ref().map_or(0, |size| size.value.get());
        for at in [
            0,
            size / 3,
            size / 2,
            size.saturating_sub(1),
            size,
            u64::MAX,
        ] {
            if let Some(location) = node.layer.map.locate(Bytes::new(at)) {
                assert!(location.target < targets && location.run > Bytes::ZERO);
            }
            if let Map::Raid(raid) = &node.layer.map {
                let reaches = raid.reaches(Bytes::new(at));
                assert!(reaches.iter().all(|reach| reach.column < targets));
            }
        }
    }
}
