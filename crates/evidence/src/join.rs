//! From figures to layers.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use straddle_stack::activity::{Activity, Role};
use straddle_stack::{Layer, LayerId, LayerKind, Stack};

use crate::errorlog::role_of;
use crate::gathered::{Gathered, Known};
use crate::subject::{Subject, SubjectKind};

impl Gathered {
    /// Puts what was measured on the layers of `stack` that it is about. What is about none of them gets a layer by itself.
    /// The layers, in the order in which they were spoken of. Nothing is read into it afterwards.
    pub fn join(&mut self, stack: &mut Stack) -> Vec<LayerId> {
        let mut joined = Vec::new();
        let roles = self.roles();
        for (known, roles) in self.subjects_mut().iter_mut().zip(roles) {
            // What is joined already stays where it is.
            if known.series.is_empty() {
                continue;
            }
            let (kind, name) = layer_of(&known.subject);
            let found = stack.iter().find(|(_, layer)| {
                fits(kind, layer.kind) && layer.activity.is_none() && is_called(layer, &name)
            });
            let found = found.map(|(id, _)| id);
            let id = found.unwrap_or_else(|| stack.push(Layer::new(kind, name)));
            let series = std::mem::take(&mut known.series);
            let activity = Arc::new(Activity { roles, series });
            known.joined = Some(Arc::clone(&activity));
            stack.layer_mut(id).activity = Some(activity);
            joined.push(id);
        }
        joined
    }

    /// What databases keep on each subject.
    fn roles(&self) -> Vec<Vec<Role>> {
        let on_volumes = self.roles_of_volumes();
        let roles = self.subjects().iter().map(|known| {
            let roles: BTreeSet<Role> = match known.subject.kind {
                SubjectKind::Volume => on_volumes
                    .get(&*known.subject.name)
                    .cloned()
                    .unwrap_or_default(),
                _ => of_file(known).into_iter().collect(),
            };
            roles.into_iter().collect()
        });
        roles.collect()
    }

    /// What databases keep on each volume, by the files on it.
    fn roles_of_volumes(&self) -> HashMap<&str, BTreeSet<Role>> {
        let mut roles: HashMap<&str, BTreeSet<Role>> = HashMap::new();
        let is_file = |known: &&Known| known.subject.kind == SubjectKind::File;
        for file in self.subjects().iter().filter(is_file) {
            if let (Some(volume), Some(role)) = (self.volume_of(&file.subject.name), of_file(file))
            {
                roles.entry(volume).or_default().insert(role);
            }
        }
        roles
    }

    /// The database that a file was said to be of.
    #[must_use]
    pub fn database_of(&self, path: &str) -> Option<&str> {
        let mut files = self.subjects().iter();
        let file = files
            .find(|known| known.subject.kind == SubjectKind::File && *known.subject.name == *path);
        file?.database.as_deref()
    }

    /// The volume among those that were spoken of on which a path lies.
    #[must_use]
    pub fn volume_of(&self, path: &str) -> Option<&Arc<str>> {
        let volumes = self.subjects().iter().map(|known| &known.subject);
        let volumes = volumes.filter(|subject| subject.kind == SubjectKind::Volume);
        let begins = |name: &str| {
            let head = path.get(..name.len());
            let rest = path.get(name.len()..).unwrap_or_default();
            head.is_some_and(|head| head.eq_ignore_ascii_case(name))
                && rest.starts_with(['\\', '/'])
        };
        volumes
            .map(|subject| &subject.name)
            .filter(|name| begins(name.trim_end_matches(['\\', '/'])))
            .max_by_key(|name| name.len())
    }
}

fn of_file(known: &Known) -> Option<Role> {
    let by_name = || role_of(&known.subject.name, known.database.as_deref());
    let is_file = known.subject.kind == SubjectKind::File;
    known.role.or_else(|| is_file.then(by_name).flatten())
}

/// What kind of layer it is, and what it is called.
fn layer_of(subject: &Subject) -> (LayerKind, String) {
    let name = &*subject.name;
    match subject.kind {
        // Windows numbers its disks; before the number may be the host.
        SubjectKind::Disk if is_number(name) => (LayerKind::Device, format!("disk {name}")),
        SubjectKind::Disk => match name.rsplit_once(' ') {
            Some((host, number)) if is_number(number) => {
                (LayerKind::Device, format!("{host} disk {number}"))
            }
            _ => (LayerKind::Device, name.to_owned()),
        },
        SubjectKind::Volume => (LayerKind::Filesystem, name.to_owned()),
        SubjectKind::File => (LayerKind::File, name.to_owned()),
        SubjectKind::Server if name == "-" => (LayerKind::Service, "server".to_owned()),
        SubjectKind::Job if name == "-" => (LayerKind::Service, "benchmark".to_owned()),
        SubjectKind::Database if name == "-" => (LayerKind::Service, "a database".to_owned()),
        kind => (LayerKind::Service, format!("{} {name}", kind.name())),
    }
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Kernels count for every block device: disks, partitions, arrays, volumes.
fn fits(wanted: LayerKind, kind: LayerKind) -> bool {
    let is_block_device = matches!(
        kind,
        LayerKind::Device
            | LayerKind::Array
            | LayerKind::Volume
            | LayerKind::Encryption
            | LayerKind::Partition
    );
    wanted == kind || wanted == LayerKind::Device && is_block_device
}

fn is_called(layer: &Layer, name: &str) -> bool {
    let mounted = layer.text(straddle_stack::Key::MountPoint) == Some(name);
    let alike = |other: &str| other.trim_start_matches("/dev/").eq_ignore_ascii_case(name);
    mounted || alike(&layer.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_stack::activity::{Quantity, Span};

    fn gathered(text: &str) -> Gathered {
        let mut gathered = Gathered::new();
        crate::read("log", &mut text.as_bytes(), &mut gathered).expect("read");
        gathered
    }

    const STALL: &str = "2024-03-05 10:11:12.34 spid7s      SQL Server has encountered 3 occurrence(s) of I/O requests taking longer \
                         than 15 seconds to complete on file [E:\\data\\sales.mdf] in database [sales] (5).\n";

    #[test]
    fn figures_are_facts_of_the_layer_of_that_name() {
        let perfmon = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\S\\LogicalDisk(E:)\\Avg. Disk sec/Read\",\"\\\\S\\LogicalDisk(F:)\\Avg. Disk sec/Read\"\n\
                       \"03/05/2024 10:11:12.000\",\"0.025\",\"0.001\"\n";
        let mut gathered = gathered(&format!("{STALL}{perfmon}"));
        let mut stack = Stack::new();
        let disk = stack.push(Layer::new(LayerKind::Device, "disk 0"));
        let volume = stack.push(Layer::new(LayerKind::Filesystem, "E:"));
        let joined = gathered.join(&mut stack);
        assert_eq!(joined.len(), 3);
        // It is there once, and can be asked for in both places.
        let series = gathered.series().map(|(_, series)| series.as_ptr());
        let of_layers = joined.iter().map(|id| {
            let activity = stack.layer(*id).activity.as_ref();
            activity.expect("measured").series.as_ptr()
        });
        assert!(series.eq(of_layers));
        let mut other = Stack::new();
        assert_eq!(gathered.join(&mut other), [], "it has a place");
        assert_eq!(
            gathered
                .series()
                .filter(|(_, series)| series.is_empty())
                .count(),
            0
        );
        assert!(stack.layer(disk).activity.is_none());
        let activity = stack.layer(volume).activity.as_ref().expect("measured");
        let reads = activity
            .mean(Quantity::ReadLatency, Span::Interval)
            .expect("reads");
        assert_eq!((reads.count, reads.mean.get()), (1, 0.025));
        // The file on it says what it is for.
        assert_eq!(activity.roles, [Role::Data]);
        let other = stack
            .iter()
            .find(|(_, layer)| layer.name == "F:")
            .expect("by itself")
            .1;
        assert_eq!(other.activity.as_ref().expect("measured").roles, []);
    }

    #[test]
    fn what_several_servers_have_the_same_name_for_is_told_apart() {
        let mut gathered = Gathered::new();
        for (server, latency) in [("SQLA", "0.001"), ("SQLB", "0.050")] {
            let text = format!(
                "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\{server}\\LogicalDisk(E:)\\Avg. Disk sec/Read\",\"\\\\{server}\\PhysicalDisk(1 E:)\\Avg. Disk sec/Read\"\n\
                 \"03/05/2024 10:11:12.000\",\"{latency}\",\"{latency}\"\n"
            );
            crate::read(server, &mut text.as_bytes(), &mut gathered).expect("read");
        }
        let mut stack = Stack::new();
        gathered.join(&mut stack);
        let names: Vec<&str> = stack.iter().map(|(_, layer)| layer.name.as_str()).collect();
        assert_eq!(names, ["E:", "disk 1", "SQLB E:", "SQLB disk 1"]);
    }
}
