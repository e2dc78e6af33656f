//! `diskpart`: its lists and details, from a session or from a script, in any language of Windows. Figures in lists are
//! rounded, and not by all versions alike; `detail partition` has the offset in bytes since Windows Vista.

mod detail;
mod row;
mod table;

use straddle_stack::{AnomalyKind, LayerKind};

use crate::captured::number::Rounding;
use crate::captured::text::Line;
use crate::captured::tool::{Anchor, Command, Focus, Notes, Reader, Section, Tool};
use crate::captured::windows;
use crate::inventory::{Name, Space, Thing};

pub(crate) static TOOL: Tool = Tool {
    name: "diskpart",
    platform: "windows",
    commands: &[
        "list disk",
        "list partition",
        "list volume",
        "detail disk",
        "detail partition",
        "detail volume",
    ],
    readers: &[
        Reader::Typed { read: typed },
        Reader::Text {
            anchors: &[Anchor::Start("---")],
            begins: |lines| table::begins(lines),
            read: table::read,
        },
        Reader::Text {
            anchors: &[Anchor::Within("###")],
            begins: |lines| table::begins_without_dashes(lines),
            read: table::read_without_dashes,
        },
        Reader::Text {
            anchors: &[Anchor::LooseShaped(table::is_bare_row)],
            begins: |_| true,
            read: table::read_bare_rows,
        },
        Reader::Text {
            anchors: &[Anchor::LooseShaped(detail::is_loose)],
            begins: |lines| detail::is_headless(lines),
            read: detail::headless,
        },
        Reader::Text {
            anchors: &[Anchor::Start("Microsoft DiskPart")],
            begins: |lines| major(&lines[0]).is_some(),
            read: banner,
        },
        // Labels are translated; the shape of the lines is not.
        Reader::Text {
            anchors: &[Anchor::Shaped(|line| {
                line.ends_with(|c: char| c.is_ascii_digit())
            })],
            begins: |lines| detail::is_partition(lines),
            read: detail::partition,
        },
        Reader::Text {
            // Neither `Key=value` nor `Label : value`.
            anchors: &[Anchor::Without("=:")],
            begins: |lines| detail::is_disk(lines),
            read: detail::disk,
        },
        Reader::Text {
            // Neither `Key=value` nor `Label : value`.
            anchors: &[Anchor::Without("=:")],
            begins: |lines| selected(&lines[0]).is_some(),
            read: select,
        },
    ],
};

/// What wrote the banner of a version before 6.
const OLD_WINDOWS: &str = "Windows before Vista";

/// What a command or a sentence selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selected {
    Disk(u64),
    Partition(u64),
}

/// `select disk 1`, `sel par=2`, and commands after which what was listed is history.
fn typed(command: &Command<'_>, notes: &mut Notes<'_>) {
    if !command.line.text.contains("DISKPART>") {
        return;
    }
    let words: Vec<String> = command
        .words
        .iter()
        .flat_map(|word| word.split('='))
        .map(str::to_ascii_lowercase)
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let changes = |verb: &str| {
        ["del", "cle", "con", "ext", "shr", "inac", "rec"]
            .iter()
            .any(|stem| verb.starts_with(stem))
    };
    notes.focus.table = None;
    match words.as_slice() {
        [verb, object, number, ..] if verb.starts_with("sel") => {
            let Ok(number) = number.parse() else { return };
            if object.starts_with("dis") {
                note(Selected::Disk(number), &command.line, notes);
            } else if object.starts_with("par") {
                note(Selected::Partition(number), &command.line, notes);
            }
        }
        ["exit", ..] => notes.focus = Focus::default(),
        [verb, ..] if changes(verb) => forget(notes, verb.starts_with("cle")),
        _ => {}
    }
}

fn note(selected: Selected, line: &Line<'_>, notes: &mut Notes<'_>) {
    match selected {
        Selected::Disk(number) => {
            notes.focus.disk = Some((number, line.number));
            notes.focus.partition = None;
        }
        Selected::Partition(number) => notes.focus.partition = Some(number),
    }
}

/// Forgets what was said of the selected partition, or of all those of the selected disk, and of the volumes: a list
/// that comes later in the session shows what became of them.
fn forget(notes: &mut Notes<'_>, all: bool) {
    let Some((disk, _)) = notes.focus.disk else {
        return;
    };
    // A session that was typed does not come near; a forged one is not gone over for each of its commands.
    if notes.inventory.things().len() > 2048 {
        return;
    }
    let on = notes.twins.name(Name::windows_disk(disk));
    let one = notes.focus.partition;
    let name = format!("{disk}/{}", one.unwrap_or(0));
    let name = notes.twins.name(Name::new(Space::WindowsPartition, name));
    let gone = |thing: &Thing| match thing.kind {
        LayerKind::Device => all && thing.names.contains(&on),
        LayerKind::Partition => {
            let number = all || one.is_none() || thing.names.contains(&name);
            thing.on.is_empty() || (thing.on.contains(&on) && number)
        }
        _ => true,
    };
    notes.inventory.retain(|thing| !gone(thing));
}

/// Words for a partition, in the languages of Windows.
const PARTITION: [&str; 15] = [
    "partition",
    "partici",
    "partizion",
    "partiç",
    "раздел",
    "パーティション",
    "分区",
    "파티션",
    "partycj",
    "磁碟分割",
    "分割區",
    "partitie",
    "oddíl",
    "bölüm",
    "osio",
];
/// Words for a disk.
const DISK: [&str; 10] = [
    "disk",
    "datenträger",
    "disque",
    "disco",
    "диск",
    "ディスク",
    "磁盘",
    "磁碟",
    "디스크",
    "schijf",
];

/// `Disk 1 is now the selected disk.`, in any language: one number, a word for what it counts, a word for choosing.
fn selected(line: &Line<'_>) -> Option<Selected> {
    const CHOSEN: [&str; 16] = [
        "select",
        "gewählt",
        "sélectionn",
        "selecc",
        "selez",
        "selec",
        "выбран",
        "選択",
        "选",
        "所選",
        "선택",
        "geselect",
        "wybran",
        "vald",
        "valgt",
        "vybrán",
    ];
    let text = line.text.trim();
    if text.len() > 160 || !(text.ends_with('.') || text.ends_with('。')) || text.contains(':') {
        return None;
    }
    let mut numbers = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|n| !n.is_empty());
    let number = numbers.next()?.parse().ok()?;
    if numbers.next().is_some() {
        return None;
    }
    let lower = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if !has(&CHOSEN) || lower.contains("volume") {
        return None;
    }
    if has(&PARTITION) {
        Some(Selected::Partition(number))
    } else {
        has(&DISK).then_some(Selected::Disk(number))
    }
}

/// Most lines of the banner.
const BANNER: usize = 8;

/// `SQL09` of `On computer: SQL09`, in any language.
fn computer<'t>(line: &Line<'t>) -> Option<&'t str> {
    let (_, name) = line.text.rsplit_once([':', '：'])?;
    let name = name.trim();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
}

/// 6 of `Microsoft DiskPart version 6.1.7601`.
fn major(line: &Line<'_>) -> Option<u64> {
    let at = line.text.find(|c: char| c.is_ascii_digit())?;
    let (major, _) = line.text[at..].split_once('.')?;
    major.parse().ok()
}

fn banner(section: &Section<'_>, notes: &mut Notes<'_>) {
    let major = section.lines.first().and_then(major);
    let below_rights = |pair: &[Line<'_>]| pair[0].text.contains("(C)");
    let mut pairs = section.lines.windows(2).take(BANNER);
    if let Some(computer) = pairs
        .find(|pair| below_rights(pair))
        .and_then(|pair| computer(&pair[1]))
    {
        notes.speaks(computer);
    }
    notes.focus = Focus {
        windows_xp: major.map(|major| major < 6),
        ..Focus::default()
    };
}

/// Windows XP and 2003 show 31.5 KB as 32 KB and a disk of 232.9 GB as 233 GB; later versions cut off the rest, and show
/// 31 KB and 232 GB. Whether the older ones round up or to the nearest is not known.
fn rounding(notes: &Notes<'_>) -> Rounding {
    match notes.focus.windows_xp {
        Some(true) => Rounding::UpOrNearest,
        Some(false) => Rounding::Down,
        None => Rounding::Any,
    }
}

fn select(section: &Section<'_>, notes: &mut Notes<'_>) {
    if let Some(line) = section.lines.first()
        && let Some(selected) = selected(line)
    {
        note(selected, line, notes);
    }
    // What follows without its heading is no beginning of an output inside this tool's own.
    let rows = |line: &Line<'_>| table::is_bare_row(line.text);
    if let Some(at) = section.lines.iter().position(rows) {
        let rest = Section {
            lines: &section.lines[at..],
            before: &section.lines[..at],
            context: section.context.clone(),
        };
        table::read_bare_rows(&rest, notes);
    }
}

/// The disk that a list or detail is about, if that can be known.
fn disk_of(section: &Section<'_>, notes: &Notes<'_>) -> Option<u64> {
    let focus = notes.focus.disk.map(|(disk, _)| disk);
    focus.or_else(|| windows::disk_of_file(&section.context))
}

/// As [`disk_of`], or a disk that nothing names: the same for details as for the list above them. `list` says that this is one.
fn disk_or_unknown(
    section: &Section<'_>,
    line: &Line<'_>,
    list: bool,
    notes: &mut Notes<'_>,
) -> Name {
    if let Some(disk) = disk_of(section, notes) {
        return Name::windows_disk(disk);
    }
    let first = match notes.focus.unknown {
        Some((first, listed)) if !(list && listed) => first,
        _ => {
            let detail = "nothing says on which disk these partitions lie; include `select disk` and `detail disk` in the capture";
            notes.remark(AnomalyKind::Missing, detail, line);
            line.number
        }
    };
    let listed = notes.focus.unknown.is_some_and(|(_, listed)| listed);
    notes.focus.unknown = Some((first, list || listed));
    let first = Line {
        number: first,
        ..*line
    };
    windows::unknown_disk(&first, notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Selected> {
        selected(&Line { number: 1, text })
    }

    #[test]
    fn what_is_selected_is_understood_in_many_languages() {
        for text in [
            "Disk 1 is now the selected disk.",
            "Datenträger 1 ist jetzt der gewählte Datenträger.",
            "Le disque 1 est maintenant le disque sélectionné.",
            "El disco 1 es ahora el disco seleccionado.",
            "Il disco attualmente selezionato è il disco 1.",
            "O disco 1 é o disco selecionado agora.",
            "Выбран диск 1.",
            "ディスク 1 が選択されました。",
            "磁盘 1 现在是所选磁盘。",
        ] {
            assert_eq!(of(text), Some(Selected::Disk(1)), "{text}");
        }
        for text in [
            "Partition 2 is now the selected partition.",
            "Partition 2 ist jetzt die gewählte Partition.",
            "La partition 2 est maintenant la partition sélectionnée.",
            "Выбран раздел 2.",
            "分区 2 现在是所选分区。",
        ] {
            assert_eq!(of(text), Some(Selected::Partition(2)), "{text}");
        }
        for text in [
            "Volume 2 is the selected volume.",
            "There is no disk selected to list partitions.",
            "Select a disk and try again.",
            "DiskPart selected 1 of 2 disks.",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
