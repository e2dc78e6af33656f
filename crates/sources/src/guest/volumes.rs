//! Arrays, volume groups and payloads: members that were found are put together, and what is on them is looked into.

use std::collections::BTreeMap;
use std::sync::Arc;
use straddle_geometry::Bytes;
use straddle_io::{ReadAt, Reader};
use straddle_probe::Window;
use straddle_probe::volume::{Assembly, Below, Holds, Member, Node, Part};
use straddle_stack::{Anomaly, AnomalyKind, GridRole, Key, Layer, LayerId, LayerKind, NOT_GIVEN};

use super::mapped::Mapped;
use super::{Contents, Guests, MAX_DEPTH};
use crate::raid::{carry_through, nowhere};

/// Most layers that one target may grow to by assembling.
const MAX_LAYERS: usize = 1 << 14;
/// What reading the metadata of all members of one set may cost.
const BUDGET: Bytes = Bytes::mib(64);

/// A layer that others may rest on, and its bytes where they can be read.
type Lower = (LayerId, Option<Arc<dyn ReadAt>>);

/// A member that waits for the others of its set.
pub(crate) struct Found {
    pub(crate) member: Member,
    /// The bytes in which it was found; the member is a part of them.
    pub(crate) bytes: Arc<dyn ReadAt>,
    /// How many virtual disks and volumes it lies in.
    pub(crate) depth: usize,
}

impl Guests<'_> {
    /// Notes members that an inspection of `bytes` came upon.
    pub(crate) fn found(&mut self, members: Vec<Member>, bytes: &Arc<dyn ReadAt>, depth: usize) {
        self.members.extend(members.into_iter().map(|member| Found {
            member,
            bytes: Arc::clone(bytes),
            depth,
        }));
    }

    /// Puts together what was found, and what is found on that, until nothing is left. Sets that are whole come first: the
    /// missing member of another may lie on one of them.
    pub(crate) fn assemble(&mut self) {
        while let Some(set) = self.next_set() {
            self.assemble_set(&set);
        }
    }

    /// The members of the set that is to be assembled next; they are no longer waiting.
    fn next_set(&mut self) -> Option<Vec<Found>> {
        let mut sets: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for Found { member, .. } in &self.members {
            let names = sets.entry((member.format.name, &member.set)).or_default();
            if member.member.is_empty() || !names.contains(&member.member.as_str()) {
                names.push(&member.member);
            }
        }
        let is_whole = |found: &&Found| {
            let member = &found.member;
            if member.set.is_empty() {
                return true;
            }
            let have = sets.get(&(member.format.name, member.set.as_str()));
            let have = have.map_or(0, |names| u64::try_from(names.len()).unwrap_or(u64::MAX));
            member.of.is_some_and(|of| have >= of)
        };
        let next = self.members.iter().position(|found| is_whole(&found));
        let next = next.unwrap_or(0);
        if self.members.get(next)?.member.set.is_empty() {
            return Some(vec![self.members.remove(next)]);
        }
        let next = self.members.get(next)?;
        let (format, set) = (next.member.format.name, next.member.set.clone());
        let waiting = std::mem::take(&mut self.members);
        let (set, rest) = waiting
            .into_iter()
            .partition(|found| found.member.format.name == format && found.member.set == set);
        self.members = rest;
        Some(set)
    }

    fn assemble_set(&mut self, set: &[Found]) {
        let mut parts: Vec<&Found> = Vec::new();
        for found in set {
            let twin = parts.iter().find(|part| {
                !found.member.member.is_empty() && part.member.member == found.member.member
            });
            match twin.map(|twin| twin.member.layer) {
                None => parts.push(found),
                Some(twin) => {
                    let name = self.stack().layer(twin).name.clone();
                    let detail = format!(
                        "{} and this call themselves the same member of one set; this one is left out",
                        name
                    );
                    self.odd(found.member.layer, AnomalyKind::SameIdentity, detail);
                }
            }
        }
        let Some(first) = parts.first() else { return };
        let names: Vec<(String, Option<String>)> = parts
            .iter()
            .map(|part| {
                let layer = self.stack().layer(part.member.layer);
                let serial = layer.text(Key::Serial).map(str::to_owned);
                (layer.name.clone(), serial)
            })
            .collect();
        let sector = self.sector;
        let readers: Vec<Reader<'_>> = parts
            .iter()
            .map(|part| Reader::with_budget(&*part.bytes, BUDGET))
            .collect();
        let windows = parts.iter().zip(&readers).zip(&names);
        let windows: Vec<Part<'_>> = windows
            .filter_map(|((part, reader), (name, serial))| {
                let window = Window::whole(reader, sector).part(part.member.extent)?;
                Some(Part {
                    window,
                    name,
                    serial: serial.as_deref(),
                })
            })
            .collect();
        match (first.member.format.assemble)(&windows) {
            Ok(assembly) => self.add_assembly(&parts, assembly),
            Err(error) => {
                let detail = format!("while assembling {}: {error}", first.member.format.name);
                for part in &parts {
                    self.odd(part.member.layer, AnomalyKind::Unreadable, detail.clone());
                }
            }
        }
    }

    fn add_assembly(&mut self, parts: &[&Found], assembly: Assembly) {
        let depth = parts.iter().map(|part| part.depth).max().unwrap_or(0) + 1;
        let part_bytes: Vec<Arc<dyn ReadAt>> = parts
            .iter()
            .map(|part| -> Arc<dyn ReadAt> {
                Arc::new(Mapped::linear(&part.bytes, part.member.extent))
            })
            .collect();
        let mut nodes: Vec<Lower> = Vec::new();
        let mut missing: BTreeMap<String, LayerId> = BTreeMap::new();
        let mut to_look_into = Vec::new();
        for node in assembly.nodes {
            if self.stack().layers().len() >= MAX_LAYERS {
                if let Some(part) = parts.first() {
                    let detail =
                        format!("more than {MAX_LAYERS} layers; the rest is not looked at");
                    self.odd(part.member.layer, AnomalyKind::LimitReached, detail);
                }
                return;
            }
            let Node {
                mut layer,
                below,
                holds,
            } = node;
            let mut targets: Vec<Option<Arc<dyn ReadAt>>> = Vec::new();
            for lower in below {
                let lower = match lower {
                    Below::Part(index) => parts
                        .get(index)
                        .map(|part| (part.member.layer, part_bytes.get(index).cloned())),
                    Below::Node(index) => nodes.get(index).cloned(),
                    Below::Missing(name) => Some((self.absent(name, &mut missing), None)),
                };
                let Some((id, bytes)) = lower else { continue };
                layer.below.push(id);
                targets.push(bytes);
            }
            let is_whole = targets.iter().all(Option::is_some);
            let size = layer.size.as_ref().map(|size| size.value);
            let map = layer.map.clone();
            // What a pool deals out in any order has no map, but sectors below show through its chunks.
            if layer.map == nowhere()
                && let Some(chunk) = layer.grid(GridRole::ThinChunk)
            {
                let (unit, below) = (chunk.value.unit(), layer.below.clone());
                let starts = vec![Bytes::ZERO; below.len()];
                carry_through(self.stack(), &mut layer, unit, starts, &below);
            }
            let id = self.stack().push(layer);
            let bytes =
                size.map(|size| -> Arc<dyn ReadAt> { Arc::new(Mapped::new(map, size, targets)) });
            nodes.push((id, bytes.clone()));
            if let (Holds::Volume, Some(bytes)) = (holds, bytes)
                // What lies on a missing member was named; every prober would fail alike.
                && (is_whole || bytes.read_at(Bytes::ZERO, &mut [0; 512]).is_ok())
            {
                to_look_into.push(Contents {
                    layer: id,
                    bytes,
                    file: None,
                });
            }
        }
        for contents in to_look_into {
            if depth > MAX_DEPTH {
                let detail =
                    format!("{MAX_DEPTH} volumes and disks one on the other: not looked into");
                self.odd(contents.layer, AnomalyKind::LimitReached, detail);
                continue;
            }
            self.inspect(&contents, depth);
        }
    }

    /// What stands for a member that was not given.
    fn absent(&mut self, name: String, missing: &mut BTreeMap<String, LayerId>) -> LayerId {
        *missing.entry(name).or_insert_with_key(|name| {
            let mut layer = Layer::new(LayerKind::Device, name.clone());
            layer
                .anomalies
                .push(Anomaly::new(AnomalyKind::Missing, NOT_GIVEN));
            self.stack().push(layer)
        })
    }
}
