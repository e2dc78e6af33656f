//! `ssacli` of HPE and its older names `hpssacli` and `hpacucli`: controllers, arrays, logical and physical drives.
//!
//! Sizes of logical drives are binary, those of physical drives decimal. Old versions call the strip `Stripe Size`.

use straddle_stack::{Anomaly, AnomalyKind, GridRole, Key};

use super::level::Level;
use super::volume::{Volume, disk, field, rounded_size, sector, set_sector};
use crate::captured::number;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Notes, Reader, Section, Tool};
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "ssacli",
    platform: "raid",
    commands: &[
        "ssacli ctrl all show config detail",
        "ssacli ctrl slot=N ld all show detail",
        "hpssacli ctrl all show config detail",
        "hpacucli ctrl all show config",
    ],
    readers: &[Reader::Text {
        anchors: &[
            Anchor::Within(" in Slot "),
            Anchor::Loose("Logical Drive:"),
            Anchor::Loose("Logical drive number:"),
            Anchor::Loose("Array"),
            Anchor::Loose("array"),
            Anchor::Loose("logicaldrive "),
        ],
        begins,
        read,
    }],
};

fn begins(lines: &[Line<'_>]) -> bool {
    let text = lines[0].text.trim();
    if let Some((model, slot)) = text.split_once(" in Slot ") {
        let known = ["Smart", "HP", "MSA", "MicroSemi", "Adaptec"];
        return known.iter().any(|word| model.starts_with(word)) && number::leading(slot).is_some();
    }
    if text.starts_with("logicaldrive ") {
        return text.contains(" (") && text.contains("RAID");
    }
    if is_array(&text.to_ascii_lowercase()) {
        let near = &lines[..lines.len().min(16)];
        let volume = |line: &Line<'_>| {
            let lower = line.text.trim().to_ascii_lowercase();
            lower.starts_with("logical drive") || lower.starts_with("logicaldrive")
        };
        return near.iter().any(volume);
    }
    let near = &lines[..lines.len().min(8)];
    near.iter()
        .any(|line| line.text.contains("Fault Tolerance:"))
}

/// What keys belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Under {
    Controller,
    Array,
    Volume,
    Drive,
}

struct Controller<'t> {
    slot: u64,
    under: Under,
    /// Volumes of the array that is being read; their members are known at its end.
    volumes: Vec<Volume<'t>>,
    /// Caching of each of those, and the line that says so.
    caching: Vec<Option<(bool, Line<'t>)>>,
    members: Vec<Name>,
    first_member: Option<Line<'t>>,
    drive: Option<Drive>,
    /// Data disks are only those of arrays.
    unassigned: bool,
    /// Share of the cache that is for writes, in percent.
    write_share: Option<u64>,
    without_battery: bool,
    /// The last line, when the output may have been cut off there.
    open_end: Option<Line<'t>>,
}

struct Drive {
    thing: Thing,
    data: bool,
}

fn read(section: &Section<'_>, notes: &mut Notes<'_>) {
    let typed = section.context.command.as_ref();
    let slot = typed.and_then(|command| number::leading(command.word("slot=")?.get(5..)?));
    let mut controller = Controller {
        slot: slot.unwrap_or(0),
        under: Under::Controller,
        volumes: Vec::new(),
        caching: Vec::new(),
        members: Vec::new(),
        first_member: None,
        drive: None,
        unassigned: false,
        write_share: None,
        without_battery: false,
        open_end: None,
    };
    for line in section.lines {
        controller.line(line, notes);
    }
    // What ends in the properties of a drive may lack others.
    controller.open_end = (controller.under == Under::Drive)
        .then(|| section.lines.iter().rev().find(|line| !line.is_blank()))
        .flatten()
        .copied();
    controller.close_array(notes);
}

impl<'t> Controller<'t> {
    fn line(&mut self, line: &Line<'t>, notes: &mut Notes<'_>) {
        let text = line.text.trim();
        if let Some((_, slot)) = text.split_once(" in Slot ")
            && let Some(slot) = number::leading(slot)
        {
            self.close_array(notes);
            self.slot = slot;
            self.under = Under::Controller;
            return;
        }
        let lower = text.to_ascii_lowercase();
        if is_array(&lower) {
            self.close_array(notes);
            (self.under, self.unassigned) = (Under::Array, false);
            return;
        }
        if lower.starts_with("unassigned") {
            self.close_array(notes);
            (self.under, self.unassigned) = (Under::Array, true);
            return;
        }
        if let Some(rest) = text.strip_prefix("logicaldrive ") {
            self.short_volume(rest, line, notes);
            return;
        }
        if let Some(rest) = text.strip_prefix("physicaldrive ") {
            self.physical(rest, line, notes);
            return;
        }
        let Some((key, value)) = field(line) else {
            return;
        };
        // Old versions say `Logical drive number`.
        if matches!(
            &*key.to_ascii_lowercase(),
            "logical drive" | "logical drive number"
        ) && let Some(number) = number::leading(value)
        {
            self.begin(number, notes);
            return;
        }
        match self.under {
            Under::Controller => self.controller_line(key, value),
            Under::Volume => self.volume_line(key, value, line, notes),
            Under::Drive => self.drive_line(key, value, line, notes),
            Under::Array => {}
        }
    }

    fn begin(&mut self, number: u64, notes: &mut Notes<'_>) {
        self.close_drive(notes);
        if self.volumes.len() >= MAX_VOLUMES {
            self.close_array(notes);
        }
        self.under = Under::Volume;
        let name = format!("c{}/ld{number}", self.slot);
        let title = format!("slot {} logical drive {number}", self.slot);
        self.volumes.push(Volume::new(name, title));
        self.caching.push(None);
    }

    /// `1 (279.4 GB, RAID 5, OK)`
    fn short_volume(&mut self, rest: &str, line: &Line<'t>, notes: &mut Notes<'_>) {
        let Some(number) = number::leading(rest) else {
            return;
        };
        self.begin(number, notes);
        let Some(volume) = self.volumes.last_mut() else {
            return;
        };
        let inner = rest.split_once('(').map_or("", |(_, inner)| inner);
        for (index, part) in inner.trim_end_matches(')').split(',').enumerate() {
            let part = part.trim();
            match index {
                0 => {
                    if let Some(size) = rounded_size(part) {
                        volume.size(notes.said(line, size));
                    }
                }
                1 => volume.level = Level::parse(part).map(|level| (level, *line)),
                2 => volume.text(Key::State, state(part), line, notes),
                _ => {}
            }
        }
        // What follows are members, one to a line.
        self.under = Under::Array;
    }

    /// `1I:1:1` above its properties, or `1I:1:1 (port 1I:box 1:bay 1, SAS HDD, 900 GB, OK)` in a list.
    fn physical(&mut self, rest: &str, line: &Line<'t>, notes: &mut Notes<'_>) {
        self.close_drive(notes);
        let place = rest.split_whitespace().next().unwrap_or_default();
        let name = Name::new(Space::RaidDisk, format!("c{}/{place}", self.slot));
        match rest.split_once('(') {
            Some((_, inner)) => {
                let spare = inner.contains("spare");
                if !self.unassigned && !spare {
                    self.member(name, line);
                }
                // The lines below a list of a mirror are the volume's again.
            }
            None => {
                let mut thing = disk(name.text.to_string());
                thing.names = vec![name];
                self.under = Under::Drive;
                self.drive = Some(Drive {
                    thing,
                    data: !self.unassigned,
                });
                self.first_member = self.first_member.or(Some(*line));
            }
        }
    }

    fn member(&mut self, name: Name, line: &Line<'t>) {
        if self.members.len() < MAX_MEMBERS && !self.members.contains(&name) {
            self.members.push(name);
            self.first_member = self.first_member.or(Some(*line));
        }
    }

    fn close_drive(&mut self, notes: &mut Notes<'_>) {
        let Some(drive) = self.drive.take() else {
            return;
        };
        if drive.data
            && let (Some(name), Some(line)) = (drive.thing.names.first(), self.first_member)
        {
            self.member(name.clone(), &line);
            notes.add(drive.thing);
        }
    }

    fn close_array(&mut self, notes: &mut Notes<'_>) {
        self.close_drive(notes);
        let members = std::mem::take(&mut self.members);
        let first = self.first_member.take();
        let caching = std::mem::take(&mut self.caching);
        let volumes = std::mem::take(&mut self.volumes);
        for (mut volume, caching) in volumes.into_iter().zip(caching) {
            if let Some(line) = first.filter(|_| !members.is_empty()) {
                let count = u64::try_from(members.len()).unwrap_or(u64::MAX);
                volume.thing.on.clone_from(&members);
                match self.open_end.filter(|_| volume.lacks_members(count)) {
                    None => volume.drives = Some((count, line)),
                    Some(last) => {
                        let detail = format!("ends after {count} drives of an array that has more");
                        let remark =
                            Anomaly::at(AnomalyKind::Truncated, detail, notes.source(&last));
                        volume.thing.remarks.push(remark);
                    }
                }
            }
            let words = match (caching, self.write_share) {
                (Some((false, line)), _) | (Some((true, line)), Some(0)) => {
                    Some(("write-through", line))
                }
                (Some((true, line)), Some(_)) if self.without_battery => {
                    Some(("write-back, also without a good battery", line))
                }
                (Some((true, line)), Some(_)) => Some(("write-back", line)),
                // Whether the cache is for writes at all, the controller's lines say.
                _ => None,
            };
            if let Some((words, line)) = words {
                volume.text(Key::WriteCache, words, &line, notes);
            }
            volume.finish(notes);
        }
    }

    fn controller_line(&mut self, key: &str, value: &str) {
        match key {
            // `10% Read / 90% Write`
            "Cache Ratio" | "Accelerator Ratio" => {
                let write = value.split('/').find(|part| part.contains("Write"));
                self.write_share = write.and_then(number::leading);
            }
            "No-Battery Write Cache" => self.without_battery = value == "Enabled",
            _ => {}
        }
    }

    fn volume_line(&mut self, key: &str, value: &str, line: &Line<'t>, notes: &Notes<'_>) {
        let Some(volume) = self.volumes.last_mut() else {
            return;
        };
        match key {
            "Size" => {
                if let Some(size) = rounded_size(value) {
                    volume.size(notes.said(line, size));
                }
            }
            "Fault Tolerance" => volume.level = Level::parse(value).map(|level| (level, *line)),
            "Strip Size" | "Stripe Size" => volume.strip = volume.stripe(value, line, notes),
            "Full Stripe Size" => volume.full = volume.stripe(value, line, notes),
            "Number of Parity Groups" | "Parity Groups" => {
                volume.spans = number::leading(value).map(|groups| (groups, *line));
            }
            "Status" => volume.text(Key::State, state(value), line, notes),
            "Array Accelerator" | "Caching" => {
                let on = value.starts_with("Enabled");
                if let Some(caching) = self.caching.last_mut() {
                    *caching = Some((on, *line));
                }
            }
            "Unique Identifier" => volume.wwn(value),
            // Some versions put `Mount Points` on the same line.
            "Disk Name" => volume.system_name(value),
            "Logical Drive Label" => volume.text(Key::Label, value, line, notes),
            _ => {}
        }
    }

    fn drive_line(&mut self, key: &str, value: &str, line: &Line<'t>, notes: &Notes<'_>) {
        let Some(drive) = &mut self.drive else { return };
        let mut set = |role, text: &str| {
            if let Some(unit) = sector(text) {
                set_sector(&mut drive.thing, role, notes.said(line, unit));
            }
        };
        match key {
            "Native Block Size" => set(GridRole::LogicalSector, value),
            "Logical/Physical Block Size" => {
                if let Some((logical, physical)) = value.split_once('/') {
                    set(GridRole::LogicalSector, logical);
                    set(GridRole::PhysicalSector, physical);
                }
            }
            "Drive Type" => drive.data = value == "Data Drive",
            _ => {}
        }
    }
}

/// `array A`, `Array: B`, `array AA (SAS, Unused Space: 0 MB)`; not `Array Accelerator: Enabled`.
fn is_array(lower: &str) -> bool {
    let rest = lower.strip_prefix("array").unwrap_or_default();
    if !rest.starts_with([':', ' ']) {
        return false;
    }
    let rest = rest.trim_start_matches([':', ' ']);
    let letters = rest.split_once(" (").map_or(rest, |(letters, _)| letters);
    (1..=2).contains(&letters.len()) && letters.bytes().all(|b| b.is_ascii_lowercase())
}

/// Most members of an array: more than any has.
const MAX_MEMBERS: usize = 128;
/// Most logical drives of an array.
const MAX_VOLUMES: usize = 64;

fn state(text: &str) -> String {
    match text.split(',').next().unwrap_or_default().trim() {
        "OK" => "optimal".to_owned(),
        "Interim Recovery Mode" => "degraded".to_owned(),
        other => other.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_begins_with_its_controller() {
        let begins_with = |text| begins(&[Line { number: 1, text }]);
        assert!(begins_with(
            "Smart Array P420i in Slot 0 (Embedded)    (sn: 001)"
        ));
        assert!(begins_with(
            "HPE Smart Array P408i-a SR Gen10 in Slot 0 (Embedded)"
        ));
        assert!(begins_with("   logicaldrive 1 (68.3 GB, RAID 5, OK)"));
        let both =
            ["   Array A", "      Logical drive number: 1"].map(|text| Line { number: 1, text });
        assert!(begins(&both) && !begins(&both[..1]));
        assert!(!begins_with("Ethernet adapter in Slot 3"));
        assert!(!begins_with("Smart card in Slot A"));
    }

    #[test]
    fn arrays_have_letters() {
        for line in ["array a", "array: b", "array ac (sas, unused space: 0 mb)"] {
            assert!(is_array(line), "{line}");
        }
        for line in [
            "array accelerator: enabled",
            "array type: data",
            "arrays",
            "array",
        ] {
            assert!(!is_array(line), "{line}");
        }
    }

    #[test]
    fn states_are_those_of_other_tools() {
        assert_eq!(state("OK"), "optimal");
        assert_eq!(state("Interim Recovery Mode"), "degraded");
        assert_eq!(state("Recovering, 32% complete"), "recovering");
    }
}
