//! Two machines in one text: a thread in which two people show their `/dev/sda`, a list of what many servers said. A disk that is
//! described again under one name, with another identity and another length, is another disk, and so is what follows about it.
//! Where the text names the machines, what each of them says is kept apart whatever it says.

use std::collections::HashMap;
use straddle_geometry::Bytes;
use straddle_stack::{Anomaly, AnomalyKind, Interval, LayerKind};

use crate::inventory::{Name, Space, Thing};

/// Most names that are told apart so. A thread has few machines.
const MAX: usize = 8;
/// Most disks that are remembered.
const MAX_DISKS: usize = 256;

/// Disks by their names so far, and which of one name it is by now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Twins {
    disks: HashMap<String, (String, Bytes)>,
    number: HashMap<String, usize>,
    /// The machine that was named first.
    pub(crate) first: Option<String>,
    /// The one that speaks now, when it is another.
    machine: Option<String>,
}

/// Longest name of a machine.
const MAX_LEN: usize = 64;

impl Twins {
    /// What follows is said by the machine of this name. True when another one spoke before. `silent` says that none has told
    /// anything yet.
    pub(crate) fn speaks(&mut self, machine: &str, silent: bool) -> bool {
        let short = machine.trim().split('.').next().unwrap_or_default();
        let name: String = short.chars().take(MAX_LEN).collect();
        if name.is_empty() {
            return false;
        }
        let lower = name.to_lowercase();
        let now = match &self.first {
            _ if silent => {
                self.first = Some(lower);
                None
            }
            None => {
                self.first = Some(lower);
                None
            }
            Some(first) if *first == lower => None,
            Some(_) => Some(lower),
        };
        let changed = now != self.machine;
        self.machine = now;
        changed
    }

    /// The name that is kept for what is called this by the machine that speaks now.
    pub(crate) fn name(&self, name: Name) -> Name {
        match &self.machine {
            Some(machine) => name.of_machine(machine),
            None => name,
        }
    }

    /// Calls a thing by names that no other machine's thing has.
    pub(crate) fn tell_apart(&mut self, thing: &mut Thing) {
        if let Some(machine) = &self.machine {
            thing.of_machine(machine);
            return;
        }
        if self.is_another(thing)
            && let Some(size) = &thing.size
        {
            let detail = format!(
                "{} was described before in this text, with another identity and another length: another machine's disk, or one that \
                 was replaced; what follows is kept apart",
                thing.title
            );
            let anomaly = Anomaly::at(AnomalyKind::Stale, detail, size.source.clone());
            thing.remarks.push(anomaly);
        }
        if self.number.is_empty() {
            return;
        }
        let title = self.renamed(&thing.title);
        thing.title = title.unwrap_or_else(|| std::mem::take(&mut thing.title));
        for name in thing.names.iter_mut().chain(&mut thing.on) {
            if name.space == Space::Device
                && let Some(text) = self.renamed(&name.text)
            {
                *name = Name::new(Space::Device, text);
            }
        }
    }

    /// True for a disk that bears the name of another one.
    fn is_another(&mut self, thing: &Thing) -> bool {
        let of = |space| thing.names.iter().find(|name| name.space == space);
        let (LayerKind::Device, Some(name), Some(id), Some(size)) = (
            thing.kind,
            of(Space::Device),
            of(Space::TableId),
            thing
                .size
                .as_ref()
                .and_then(|size| Interval::known(&size.value)),
        ) else {
            return false;
        };
        let said = (id.text.to_string(), size);
        let another = match self.disks.get(name.text.as_ref()) {
            Some((other, length)) if *other != said.0 && *length != size => true,
            Some(_) => return false,
            None if self.disks.len() >= MAX_DISKS => return false,
            None => false,
        };
        if another {
            if self.number.len() >= MAX && !self.number.contains_key(name.text.as_ref()) {
                return false;
            }
            *self.number.entry(name.text.to_string()).or_insert(1) += 1;
        }
        self.disks.insert(name.text.to_string(), said);
        another
    }

    /// `sda1 (2)`, when the disk is the second of its name.
    fn renamed(&self, text: &str) -> Option<String> {
        let (_, number) = self.number.iter().find(|(disk, _)| {
            text.strip_prefix(disk.as_str()).is_some_and(|rest| {
                let rest = rest.strip_prefix('p').unwrap_or(rest);
                rest.bytes().all(|b| b.is_ascii_digit())
            })
        })?;
        Some(format!("{text} ({number})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straddle_stack::Fact;

    fn disk(id: &str, mib: u64) -> Thing {
        let name = Name::new(Space::Device, "/dev/sda");
        let mut thing = Thing::new(LayerKind::Device, "sda", name)
            .named(Name::new(Space::TableId, id.to_owned()));
        thing.size = Some(Fact::derived(Interval::exact(Bytes::mib(mib)), "said"));
        thing
    }

    #[test]
    fn machines_that_are_named_are_kept_apart() {
        let mut twins = Twins::default();
        let mut told = |host: &str| {
            let changed = twins.speaks(host, false);
            let mut thing = disk("1a", 10);
            twins.tell_apart(&mut thing);
            (changed, thing.title, thing.names)
        };
        let own = disk("1a", 10).names;
        assert_eq!(told("DB1.example.org"), (false, "sda".into(), own.clone()));
        let (changed, title, names) = told("db2");
        assert_eq!((changed, title.as_str()), (true, "sda of db2"));
        assert_eq!(names[0].and_machine(), ("sda", Some("db2")));
        // What it carries in itself tells no machine.
        assert_eq!(names[1], own[1]);
        assert_eq!(told("db1"), (true, "sda".into(), own));
    }

    #[test]
    fn the_second_disk_of_a_name_is_another_one() {
        let mut twins = Twins::default();
        let partition = || {
            Thing::new(
                LayerKind::Partition,
                "sda1",
                Name::new(Space::Device, "/dev/sda1"),
            )
        };
        let mut title = |mut thing: Thing| {
            twins.tell_apart(&mut thing);
            thing.title
        };
        assert_eq!(title(disk("1a", 10)), "sda");
        assert_eq!(title(partition()), "sda1");
        // The same again, and a table that was re-created.
        assert_eq!(title(disk("1a", 10)), "sda");
        assert_eq!(title(disk("2b", 10)), "sda");
        assert_eq!(title(disk("3c", 20)), "sda (2)");
        assert_eq!(title(partition()), "sda1 (2)");
        assert_eq!(title(disk("4d", 30)), "sda (3)");
    }
}
