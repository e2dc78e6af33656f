//! Files that a virtual disk refers to: parents, extents, data files.

use std::path::Path;
use std::sync::Arc;
use straddle_geometry::Map;
use straddle_io::{Found, OpenError, ReadAt, Reader, Target};
use straddle_probe::container::{Container, OpensAs, Reference, Role, recognise};
use straddle_stack::{Anomaly, AnomalyKind, Layer, LayerId, LayerKind};

use super::reach::Place;
use super::{Contents, Guests, LONGEST_CHAIN, MAX_FILES};

/// Most files of a folder that are opened in search of a parent that is known by its identity only.
const MAX_NEIGHBOURS: usize = 256;

/// A file that could not be had: a layer that stands for it, and why.
pub(super) struct Lost {
    pub(super) layer: LayerId,
    pub(super) anomaly: Anomaly,
}

impl Guests<'_> {
    /// The disk that `reference`, found in `from`, leads to. `chain` holds the files that lead here.
    pub(super) fn refer(
        &mut self,
        from: &Contents,
        reference: &Reference,
        chain: &mut Vec<Place>,
    ) -> Result<Contents, Lost> {
        self.follow(from, reference, chain).map_err(|(kind, why)| {
            let named = reference.names.first();
            let name = named.map_or_else(|| reference.role.name().to_owned(), Clone::clone);
            let mut layer = Layer::new(LayerKind::File, name);
            layer.map = Map::Segments(Vec::new());
            Lost {
                layer: self.stack().push(layer),
                anomaly: Anomaly::at(
                    kind,
                    format!("its {} is not followed: {why}", reference.role.name()),
                    reference.source.clone(),
                ),
            }
        })
    }

    fn follow(
        &mut self,
        from: &Contents,
        reference: &Reference,
        chain: &mut Vec<Place>,
    ) -> Result<Contents, (AnomalyKind, String)> {
        let missing = |why: String| (AnomalyKind::Unreadable, why);
        let Some(here) = &from.file else {
            return self.follow_beside(from, reference, chain);
        };
        let target = match reference.names.as_slice() {
            [] => self.by_identity(here.path(), reference, chain),
            names => self.by_name(here.path(), names, chain),
        };
        let target = target.map_err(missing)?;
        let place = Place::of(&target);
        let is_same = |before: &Place| before.real.is_some() && before.real == place.real;
        if chain.iter().any(is_same) {
            return Err((
                AnomalyKind::Chain,
                format!("{} leads back to itself", place.path.display()),
            ));
        }
        self.count(chain)?;
        let layer = self.ground.file(&target).map_err(missing)?;
        let file = Contents {
            layer,
            bytes: target.clone(),
            file: Some(target),
        };
        self.open_as(file, reference, chain)
    }

    /// Counts one more file, unless there were too many.
    fn count(&mut self, chain: &[Place]) -> Result<(), (AnomalyKind, String)> {
        if chain.len() >= LONGEST_CHAIN || self.opened >= MAX_FILES {
            return Err((
                AnomalyKind::LimitReached,
                format!("more than {LONGEST_CHAIN} files behind each other, or {MAX_FILES} in all"),
            ));
        }
        self.opened += 1;
        Ok(())
    }

    /// The same among the members of an archive: what has the name that is wanted in the folder of the one that names it.
    fn follow_beside(
        &mut self,
        from: &Contents,
        reference: &Reference,
        chain: &mut Vec<Place>,
    ) -> Result<Contents, (AnomalyKind, String)> {
        let here = self.stack().layer(from.layer).name.to_string();
        let folder = here.rfind('/').map_or("", |slash| &here[..=slash]);
        let names = reference.names.iter();
        let wanted: Vec<String> = names
            .filter_map(|name| Some(format!("{folder}{}", name.rsplit(['/', '\\']).next()?)))
            .collect();
        let beside = self.beside.clone();
        let found = beside
            .iter()
            .find(|other| wanted.contains(&self.stack().layer(other.layer).name.to_string()));
        let Some(found) = found else {
            let why = "the file that names it lies inside another disk".to_owned();
            return Err((AnomalyKind::Unreadable, why));
        };
        let name = self.stack().layer(found.layer).name.to_string();
        if chain.iter().any(|before| before.path == Path::new(&name)) {
            return Err((AnomalyKind::Chain, format!("{name} leads back to itself")));
        }
        self.count(chain)?;
        self.referred.insert(found.layer);
        self.open_as(found.clone(), reference, chain)
    }

    /// Where a file is that leads to others.
    pub(super) fn place_of(&mut self, file: &Contents) -> Option<Place> {
        if let Some(target) = &file.file {
            return Some(Place::of(target));
        }
        let is_beside = self.beside.iter().any(|other| other.layer == file.layer);
        is_beside.then(|| Place::beside(&self.stack().layer(file.layer).name))
    }

    /// The disk in a file that was found.
    fn open_as(
        &mut self,
        file: Contents,
        reference: &Reference,
        chain: &mut Vec<Place>,
    ) -> Result<Contents, (AnomalyKind, String)> {
        if reference.opens_as == OpensAs::Raw {
            return Ok(file);
        }
        let shown = match &file.file {
            Some(target) => target.path().display().to_string(),
            None => self.stack().layer(file.layer).name.to_string(),
        };
        let reader = Reader::new(&*file.bytes);
        let recognised = recognise(&reader, &file.bytes)
            .map_err(|error| (AnomalyKind::Unreadable, format!("{shown}: {error}")))?;
        let (format, container) = match (recognised, reference.opens_as) {
            (Some((format, _)), OpensAs::Format(wanted)) if format.name != wanted => {
                return Err((
                    AnomalyKind::Damaged,
                    format!("{shown} is {}; expected {wanted}", format.name),
                ));
            }
            (Some(found), _) => found,
            (None, OpensAs::Format(wanted)) => {
                return Err((
                    AnomalyKind::Damaged,
                    format!("{shown} is not recognised; expected {wanted}"),
                ));
            }
            (None, _) => return Ok(file),
        };
        if let Some(detail) = stranger(&container, reference) {
            self.odd(
                file.layer,
                AnomalyKind::CopiesDiffer,
                format!("{shown} {detail}"),
            );
        }
        self.container(&file, format, container, chain).ok_or((
            AnomalyKind::Unreadable,
            format!("{shown} holds no disk that can be read"),
        ))
    }

    /// The first of `names` that exists and may be followed. Names from another machine, or absolute ones, are also sought
    /// beside the file that records them: virtual disks are moved together.
    fn by_name(
        &self,
        here: &Path,
        names: &[String],
        chain: &[Place],
    ) -> Result<Arc<Target>, String> {
        let folder = here.parent().unwrap_or(Path::new("/"));
        let beside = names
            .iter()
            .filter_map(|name| Some(folder.join(Path::new(name).file_name()?)));
        let as_named = names.iter().map(|name| folder.join(name));
        let (mut absent, mut refused) = (None, None);
        for path in as_named.chain(beside) {
            if let Err(OpenError::Os { source, .. }) = Found::look(&path) {
                absent.get_or_insert(format!("{}: {source}", path.display()));
                continue;
            }
            match self.outside.open(&path, chain) {
                Ok(target) => return Ok(target),
                Err(why) => {
                    refused.get_or_insert(why);
                }
            }
        }
        let why = refused.or(absent);
        Err(why.unwrap_or_else(|| "no file is named".to_owned()))
    }

    /// A file beside `here`, or one folder further up, that has the identity that is wanted: VirtualBox keeps the place of a
    /// parent in a register of its own and writes only its UUID into the child.
    fn by_identity(
        &self,
        here: &Path,
        reference: &Reference,
        chain: &[Place],
    ) -> Result<Arc<Target>, String> {
        let wanted = reference.expects.as_deref().unwrap_or("");
        let folders = here.ancestors().skip(1).take(2);
        let entries = folders
            .filter_map(|folder| std::fs::read_dir(folder).ok())
            .flat_map(|entries| entries.flatten().take(MAX_NEIGHBOURS));
        for entry in entries {
            let path = entry.path();
            if path.extension() != here.extension() || path == here {
                continue;
            }
            let Ok(target) = self.outside.open(&path, chain) else {
                continue;
            };
            let file: Arc<dyn ReadAt> = target.clone();
            let reader = Reader::new(&*file);
            if let Ok(Some((_, container))) = recognise(&reader, &file)
                && let Some(disk) = container.disk
                && disk.identities.iter().any(|identity| identity == wanted)
            {
                return Ok(target);
            }
        }
        let what = match reference.role {
            Role::Parent => "parent",
            Role::Part => "file",
        };
        Err(format!(
            "the file names its {what} only by its identity {wanted}, and no file beside it or in the folder above has that"
        ))
    }
}

/// What is wrong when a file is not the one that was meant.
fn stranger(container: &Container, reference: &Reference) -> Option<String> {
    let wanted = reference.expects.as_ref()?;
    let have = &container.disk.as_ref()?.identities;
    if have.contains(wanted) {
        return None;
    }
    Some(format!(
        "is not the {} that was recorded, or was changed since: its identity is {}; expected {wanted}",
        reference.role.name(),
        have.first().map_or("unknown", String::as_str)
    ))
}
