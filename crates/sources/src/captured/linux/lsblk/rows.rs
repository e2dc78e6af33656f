//! Rows of lsblk, whatever shape they were printed in.

use std::borrow::Cow;
use straddle_geometry::Bytes;
use straddle_stack::disk_of;

use crate::captured::json::Json;
use crate::captured::number::{self, Prefix, Rounding};
use crate::captured::text::Line;

/// Most rows that are looked at, and the deepest nesting.
const MAX_ROWS: usize = 1 << 13;
const MAX_DEPTH: usize = 32;

/// What a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Disk,
    Loop,
    Multipath,
    Partition,
    Volume,
    Encryption,
    Array,
}

impl Kind {
    /// True for what device-mapper makes.
    pub(super) fn is_mapped(self) -> bool {
        matches!(self, Kind::Multipath | Kind::Volume | Kind::Encryption)
    }
}

/// A device.
#[derive(Clone, Debug)]
pub(super) struct Row<'t> {
    /// Index of the row that it stands below.
    pub(super) parent: Option<usize>,
    /// The line that it begins in.
    pub(super) line: Line<'t>,
    /// Columns by their names in lower case; those without a value are left out.
    pub(super) cells: Vec<Cell<'t>>,
}

#[derive(Clone, Debug)]
pub(super) struct Cell<'t> {
    pub(super) column: Cow<'t, str>,
    pub(super) text: Cow<'t, str>,
    pub(super) line: Line<'t>,
}

impl<'t> Row<'t> {
    pub(super) fn get(&self, column: &str) -> Option<&Cell<'t>> {
        let mut cells = self.cells.iter();
        cells.find(|cell| cell.column == column && !cell.text.trim().is_empty())
    }

    pub(super) fn text(&self, column: &str) -> Option<&str> {
        self.get(column).map(|cell| cell.text.trim())
    }

    pub(super) fn number(&self, column: &str) -> Option<(u64, Line<'t>)> {
        let cell = self.get(column)?;
        Some((number::whole(&cell.text)?, cell.line))
    }

    /// A number of bytes, also when it was rounded to a unit that it is a multiple of: `4K`.
    pub(super) fn bytes(&self, column: &str) -> Option<(u64, Line<'t>)> {
        let cell = self.get(column)?;
        if let Some(bytes) = number::whole(&cell.text) {
            return Some((bytes, cell.line));
        }
        if cell.text.contains(['.', ',']) {
            return None;
        }
        let shown = number::shown(&cell.text, Prefix::Binary, Rounding::Nearest)?;
        // Limits are powers of two; the middle is the figure itself.
        let middle = (shown.from().get() + shown.to().get()).div_ceil(2);
        Some((Bytes::new(middle).get(), cell.line))
    }

    /// The number that device-mapper gives a device: N of `dm-N`, in `MAJ:MIN`.
    pub(super) fn mapped(&self) -> Option<u32> {
        let (_, minor) = self.given_out()?.split_once(':')?;
        minor.parse().ok()
    }

    /// `MAJ:MIN` of a device whose driver has no major number of its own: it is given out as it is loaded, from those that Linux keeps for
    /// that; `devices.txt`. NVMe and other partitions have one that is shared by all drivers.
    pub(super) fn given_out(&self) -> Option<&str> {
        let numbers = self
            .text("maj:min")
            .or_else(|| self.text("maj_min"))?
            .trim();
        let (major, minor) = numbers.split_once(':')?;
        let major: u32 = major.parse().ok()?;
        let is_given_out = matches!(major, 234..=254 | 259 | 384..=511);
        let is_number = minor.parse::<u32>().is_ok();
        (is_given_out && is_number).then_some(numbers)
    }

    /// The name without `/dev/` and folders.
    pub(super) fn name(&self) -> Option<String> {
        let name = self.text("name").or_else(|| self.text("kname"))?;
        let name = name.strip_prefix("/dev/").unwrap_or(name);
        Some(name.strip_prefix("mapper/").unwrap_or(name).to_owned())
    }

    /// The path of the device: as printed, or as devices of its kind are called.
    pub(super) fn path(&self, parent: Option<&Row<'_>>) -> Option<String> {
        if let Some(path) = self.text("path") {
            return Some(path.to_owned());
        }
        let name = self.text("name").or_else(|| self.text("kname"))?;
        if name.starts_with('/') {
            return Some(name.to_owned());
        }
        let kernel = self
            .text("kname")
            .is_some_and(|kname| kname.trim_start_matches("/dev/") == name);
        // A partition of what is mapped is mapped, too.
        let is_on_mapped = || {
            let above = parent.and_then(Row::kind);
            above.is_some_and(Kind::is_mapped)
        };
        let mapped = match self.kind_below(parent) {
            Some(Kind::Partition) => is_on_mapped(),
            kind => kind.is_some_and(Kind::is_mapped),
        };
        Some(if mapped && !kernel && !name.starts_with("dm-") {
            format!("/dev/mapper/{name}")
        } else {
            format!("/dev/{name}")
        })
    }

    /// What the column `TYPE` says.
    pub(super) fn kind(&self) -> Option<Kind> {
        Some(match self.text("type")? {
            "disk" => Kind::Disk,
            "loop" => Kind::Loop,
            "mpath" => Kind::Multipath,
            "part" => Kind::Partition,
            "lvm" | "dm" => Kind::Volume,
            "crypt" => Kind::Encryption,
            // A partition of an array is of type `md` too.
            "md" if self.name().as_deref().and_then(disk_of).is_some() => Kind::Partition,
            kind if kind.starts_with("raid") || matches!(kind, "linear" | "md") => Kind::Array,
            _ => return None,
        })
    }

    /// The same; without that column, what the name tells.
    pub(super) fn kind_below(&self, parent: Option<&Row<'_>>) -> Option<Kind> {
        if self.get("type").is_some() {
            return self.kind();
        }
        let name = self.name()?;
        // What holds something else than a filesystem says what lies on it.
        let member = parent.and_then(|parent| parent.text("fstype"));
        match member {
            Some("LVM2_member") => return Some(Kind::Volume),
            Some("crypto_LUKS") => return Some(Kind::Encryption),
            Some("linux_raid_member") => return Some(Kind::Array),
            Some("mpath_member") => return Some(Kind::Multipath),
            _ => {}
        }
        let Some(parent) = parent.and_then(Row::name) else {
            // A list has no tree: names tell.
            if disk_of(&name).is_some() {
                return Some(Kind::Partition);
            }
            let disk = ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "dasd"];
            return disk
                .iter()
                .any(|prefix| name.starts_with(prefix))
                .then_some(Kind::Disk);
        };
        let rest = name.strip_prefix(parent.as_str())?;
        let digits = rest.strip_prefix('p').unwrap_or(rest);
        let partition = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        partition.then_some(Kind::Partition)
    }
}

/// True for `KEY="value" KEY="value"`, one of the keys a name and another one of lsblk's own.
pub(super) fn is_pairs(text: &str) -> bool {
    let Some(at) = text
        .find("=\"")
        .filter(|_| text.starts_with(|c: char| c.is_ascii_uppercase()))
    else {
        return false;
    };
    let key = |key: &str| {
        key.bytes()
            .all(|b| b.is_ascii_uppercase() || b"-_:%".contains(&b))
    };
    if !key(&text[..at]) {
        return false;
    }
    let has = |key: &str| {
        let mut from = text;
        while let Some(at) = from.find(key) {
            let starts = at == 0 || from[..at].ends_with(' ');
            if starts && from[at + key.len()..].starts_with("=\"") {
                return true;
            }
            from = &from[at + key.len()..];
        }
        false
    };
    ["NAME", "KNAME", "PATH"].iter().any(|name| has(name))
        && [
            "TYPE",
            "START",
            "SIZE",
            "FSTYPE",
            "PHY-SEC",
            "PHY_SEC",
            "MAJ:MIN",
            "MAJ_MIN",
            "PKNAME",
            "MOUNTPOINT",
            "LOG-SEC",
            "LOG_SEC",
        ]
        .iter()
        .any(|name| has(name))
}

/// Group and volume of a device-mapper name: hyphens inside either are doubled.
pub(super) fn volume(name: &str) -> Option<(String, String)> {
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'-' {
            if bytes.get(at + 1) == Some(&b'-') {
                at += 2;
                continue;
            }
            let (group, volume) = (name.get(..at)?, name.get(at + 1..)?);
            return Some((group.replace("--", "-"), volume.replace("--", "-")));
        }
        at += 1;
    }
    None
}

/// The row of a JSON object and those below it.
pub(super) fn from_json<'t>(
    json: &Json<'t>,
    parent: Option<usize>,
    depth: usize,
    found: &mut Vec<Row<'t>>,
) {
    if depth > MAX_DEPTH || found.len() >= MAX_ROWS {
        return;
    }
    let Some(object) = json.object() else { return };
    let mut row = Row {
        parent,
        line: json.line(),
        // All columns that lsblk knows are some sixty.
        cells: Vec::with_capacity(64),
    };
    for (column, value) in object.members() {
        if column == "children" {
            continue;
        }
        // `mountpoints` is a list; the first that is one counts.
        let first = || value.items().iter().find_map(Json::text);
        if let Some(text) = value.text().or_else(first) {
            row.cells.push(Cell {
                column: Cow::Owned(column.to_lowercase()),
                text,
                line: value.line(),
            });
        }
    }
    let index = found.len();
    // A device with several parents is printed below each.
    found.push(row);
    for child in object
        .get("children")
        .map(|list| list.items())
        .unwrap_or_default()
    {
        from_json(&child, Some(index), depth + 1, found);
    }
}

/// `NAME="sda" SIZE="500107862016" …`.
pub(super) fn from_pairs<'t>(line: &Line<'t>) -> Option<Row<'t>> {
    let mut cells = Vec::new();
    let mut rest = line.text.trim();
    while let Some((column, behind)) = rest.split_once("=\"") {
        let end = behind.find('"')?;
        cells.push(Cell {
            // Since 2.37 the names are fit for shells: `MAJ_MIN`.
            column: Cow::Owned(column.trim().to_lowercase().replace('_', "-")),
            text: Cow::Borrowed(&behind[..end]),
            line: *line,
        });
        rest = &behind[end + 1..];
    }
    Some(Row {
        parent: None,
        line: *line,
        cells,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_told_from_other_settings() {
        assert!(is_pairs(r#"SIZE="5" START="" NAME="sdb""#));
        assert!(is_pairs(r#"NAME="sdb" PHY_SEC="4096""#));
        for text in [
            r#"NAME="Debian GNU/Linux""#,
            r#"HOSTNAME="a" START="1""#,
            r#"ID="x""#,
        ] {
            assert!(!is_pairs(text), "{text}");
        }
    }

    #[test]
    fn hyphens_inside_names_of_volumes_are_doubled() {
        let of = |name| volume(name).map(|(group, volume)| format!("{group}/{volume}"));
        assert_eq!(of("vg0-root").as_deref(), Some("vg0/root"));
        assert_eq!(of("vg--a-lv--b").as_deref(), Some("vg-a/lv-b"));
        assert_eq!(of("plain"), None);
    }

    #[test]
    fn pairs_have_the_columns_of_json() {
        let line = Line {
            number: 7,
            text: r#"NAME="sda" MAJ_MIN="8:0" PHY-SEC="4096" MODEL="A  B" SERIAL="""#,
        };
        let row = from_pairs(&line).expect("a row");
        assert_eq!(
            row.number("phy-sec").map(|(n, line)| (n, line.number)),
            Some((4096, 7))
        );
        assert_eq!(row.text("model"), Some("A  B"));
        assert!(row.get("maj-min").is_some());
        assert!(row.get("serial").is_none());
    }
}
