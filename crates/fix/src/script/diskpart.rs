//! `diskpart` of Windows Server 2003 SP1 and later, which deletes partitions and makes them again.

use std::fmt::Write;
use straddle_geometry::{Bytes, gcd};

use super::batch::quoted;
use super::windows::{CYLINDER, Disk, Home, Part};
use super::{Language, Refusal, Tool, batch};
use crate::change::Change;

pub(super) static TOOL: Tool = Tool {
    name: "diskpart",
    title: "diskpart of Windows Server 2003 SP1 or later, which makes partitions again",
    language: Language::Batch,
    does: |change| matches!(change, Change::Partitions(_)),
    script: |order| batch::script(order, parts),
};

/// What diskpart counts sizes in.
const MIB: u64 = 1 << 20;

/// Lines that check, and lines that write.
fn parts(disk: &Disk<'_>) -> Result<(String, String), Refusal> {
    disk.needs_identity("capture diskpart's detail disk or wmic diskdrive as well")?;
    let all = disk.parts.iter().all(|part| part.entry.changes());
    if let Some(part) = disk.changing().find(|part| !part.is_number_sure && !all) {
        return Err(Refusal::Unknown(format!(
            "WMI counts partitions otherwise than diskpart; capture diskpart's list partition, to know which one begins at {} B",
            part.entry.from.start().grouped()
        )));
    }
    let creates = creates(disk)?;
    Ok((checks(disk, &creates)?, writes(disk, &creates)?))
}

fn checks(disk: &Disk<'_>, creates: &[Create<'_, '_>]) -> Result<String, Refusal> {
    let mut out = String::new();
    let mut line = |text: &str| {
        let _ = writeln!(out, "{text}");
    };
    line("rem WMI tells sizes in whole cylinders, newer versions to the byte.");
    line("set \"right=\"");
    let (least, most) = disk.size;
    let mut sizes = vec![most - most % CYLINDER];
    if least == most && !sizes.contains(&most) {
        sizes.push(most);
    }
    for size in &sizes {
        line(&wmic(
            "diskdrive where \"Index=%disk%\"",
            "Size",
            &size.to_string(),
            "set \"right=1\"",
        ));
    }
    line("set \"why=its size is not that of the plan: it is another disk\"");
    line("if not defined right goto refuse");
    if let (None, None, Some(serial)) = (disk.signature, disk.guid, disk.serial) {
        line("set \"right=\"");
        let serial = quoted(serial)?;
        for end in ["", "."] {
            let bare = format!("{}{end}", serial.trim_matches('"'));
            line(&wmic(
                "diskdrive where \"Index=%disk%\"",
                "SerialNumber",
                &bare,
                "set \"right=1\"",
            ));
        }
        line("set \"why=its serial number is not that of the plan: it is another disk\"");
        line("if not defined right goto refuse");
    }
    line("> \"%work%\\look.txt\" echo select disk %disk%");
    line(">> \"%work%\\look.txt\" echo detail disk");
    line("set \"why=diskpart does not know it\"");
    line("diskpart /s \"%work%\\look.txt\" > \"%work%\\disk.txt\"");
    line("if errorlevel 1 goto refuse");
    let id = disk.signature.map(|signature| format!("{signature:08X}"));
    let id = id.or_else(|| disk.guid.map(|guid| format!("{{{guid}}}")));
    for (text, what) in [(id.as_deref(), "disk ID"), (disk.model, "model")] {
        if let Some(text) = text {
            line(&format!(
                "set \"why=its {what} is not that of the plan: it is another disk\""
            ));
            line(&format!(
                "find {} \"%work%\\disk.txt\" > nul",
                quoted(text)?
            ));
            line("if errorlevel 1 goto refuse");
        }
    }
    line("rem Every partition must be where the plan found it, and no other.");
    line("set \"right=0\"");
    line("set \"seen=0\"");
    for part in &disk.parts {
        let start = part.entry.from.start().get().to_string();
        line(&wmic(
            "partition where \"DiskIndex=%disk%\"",
            "StartingOffset",
            &start,
            "set /a right+=1",
        ));
    }
    line(
        "for /f \"tokens=2 delims==\" %%a in ('wmic partition where \"DiskIndex=%disk%\" get StartingOffset /value') do set /a seen+=1",
    );
    line("set \"why=its partitions do not begin where they did when the plan was made\"");
    let seen = if disk.parts.iter().any(|part| is_reserved(part)) {
        // WMI does not list the reserved partition of a GPT.
        line("rem WMI may or may not list the reserved partition.");
        let few = disk.parts.iter().filter(|part| !is_reserved(part)).count();
        format!("if %right% lss {few} goto refuse\nif %seen% gtr %right% goto refuse")
    } else {
        let all = disk.parts.len();
        format!("if not %right%==%seen% goto refuse\nif not %right%=={all} goto refuse")
    };
    line(&seen);
    for part in disk.changing() {
        if let Home::Letter(letter) = part.home {
            line("set \"why=Windows runs from it\"");
            line(&format!(
                "if /i \"%SystemDrive%\"==\"{letter}:\" goto refuse"
            ));
        }
    }
    line("rem Windows Server 2003 has no format in diskpart, and none of its offset=.");
    line("set \"old=\"");
    line("ver | find \" 5.2.\" > nul");
    line("if not errorlevel 1 set \"old=1\"");
    let unfit = creates
        .iter()
        .any(|create| create.place.starts_with("offset="));
    let homeless = disk
        .changing()
        .any(|part| matches!(part.home, Home::Unknown));
    if unfit || homeless {
        line(
            "set \"why=diskpart of this version cannot do it: it needs offset=, and the letters of all volumes\"",
        );
        line("if defined old goto refuse");
    }
    Ok(out)
}

/// The reserved partition of a GPT.
fn is_reserved(part: &Part<'_>) -> bool {
    part.entry.kind.as_deref() == Some("E3C9E316-0B5C-4DB8-817D-F92DF00215AE")
}

/// A line that does something when WMI says of a property that it is `value`. Its lines end in two carriage returns, of which
/// the inner `for` takes one off.
fn wmic(query: &str, property: &str, value: &str, then: &str) -> String {
    format!(
        "for /f \"tokens=1* delims==\" %%a in ('wmic {query} get {property} /value') do for /f \"delims=\" %%c in (\"%%b\") do if \"%%c\"==\"{value}\" {then}"
    )
}

/// A partition that is made, and what diskpart is told of its place.
struct Create<'p, 'a> {
    part: &'p Part<'a>,
    place: String,
}

/// `align=` where the first free multiple is what is planned, which all versions know; else `offset=`.
fn creates<'p, 'a>(disk: &'p Disk<'a>) -> Result<Vec<Create<'p, 'a>>, Refusal> {
    let mut align = 0;
    for part in disk.changing() {
        align = gcd(align, part.entry.to.start().get());
    }
    let mut free = disk.plan.sector.get() as u64 * 63;
    let mut out = Vec::new();
    for part in &disk.parts {
        let to = part.entry.to;
        if !part.entry.changes() {
            free = free.max(to.end().get());
            continue;
        }
        let start = to.start().get();
        if !start.is_multiple_of(1024) {
            return Err(Refusal::Unknown(format!(
                "diskpart counts in KiB, and a partition is to begin at {} B",
                to.start().grouped()
            )));
        }
        let whole = to.len().get().div_ceil(MIB);
        let next = disk.parts.iter().map(|part| part.entry.to.start().get());
        let next = next.filter(|next| *next > start).min().unwrap_or(u64::MAX);
        let megabytes = if start.saturating_add(whole.saturating_mul(MIB)) <= next {
            whole
        } else {
            to.len().get() / MIB
        };
        let size = if disk.fills(part) {
            String::new()
        } else if part.is_length_sure {
            format!(" size={megabytes}")
        } else {
            return Err(Refusal::Unknown(
                "the length of a partition is known only rounded, and another follows it; capture wmic partition as well".to_owned(),
            ));
        };
        let mut units = [MIB, align].into_iter();
        let unit = units.find(|unit| {
            let is_whole = *unit > 0 && unit.is_multiple_of(1024);
            is_whole && free.checked_next_multiple_of(*unit) == Some(start)
        });
        let place = match unit {
            Some(unit) => format!("align={}{size}", unit / 1024),
            None => format!("offset={}{size}", start / 1024),
        };
        free = start.saturating_add(megabytes.saturating_mul(MIB));
        out.push(Create { part, place });
    }
    Ok(out)
}

fn writes(disk: &Disk<'_>, creates: &[Create<'_, '_>]) -> Result<String, Refusal> {
    let mut out = String::new();
    let echo = |out: &mut String, text: &str| {
        let _ = writeln!(out, ">> \"%work%\\write.txt\" echo {text}");
    };
    out += "> \"%work%\\write.txt\" echo select disk %disk%\n";
    for part in disk.changing().rev() {
        echo(&mut out, &format!("select partition {}", part.entry.number));
        if let Home::Folder(folder) = part.home {
            // A folder that still names a volume that is gone takes no other.
            echo(&mut out, &format!("remove mount={}", quoted(folder)?));
        }
        echo(&mut out, "delete partition");
    }
    let last = creates.last().map(|create| create.part.entry.layer);
    for Create { part, place } in creates {
        echo(&mut out, &format!("create partition primary {place}"));
        match part.home {
            Home::Letter(letter) => echo(&mut out, &format!("assign letter={letter}")),
            Home::Folder(folder) => {
                if disk.plan.table == "gpt" {
                    // No letter besides.
                    echo(&mut out, "gpt attributes=0x8000000000000000");
                }
                echo(&mut out, &format!("assign mount={}", quoted(folder)?));
            }
            Home::Unknown => echo(&mut out, "assign"),
        }
        let mut format = format!("format fs={}", part.filesystem);
        if let Some(unit) = part.unit {
            let _ = write!(format, " unit={}", kilo(unit));
        }
        if !part.label.is_empty() {
            let _ = write!(format, " label={}", quoted(part.label)?);
        }
        format += " quick";
        if last == Some(part.entry.layer) {
            // Another partition is not made while a volume is formatted.
            format += " nowait";
        }
        let _ = writeln!(
            out,
            "if not defined old >> \"%work%\\write.txt\" echo {format}"
        );
    }
    out += "set \"why=diskpart said no; what it was to do is in %work%\\write.txt\"\n\
            diskpart /s \"%work%\\write.txt\"\nif errorlevel 1 goto failed\n";
    out += "if not defined old goto formatted\n";
    for Create { part, .. } in creates {
        let _ = writeln!(
            out,
            "set \"why=the partition is there, and was not formatted\""
        );
        let _ = writeln!(out, "{}\nif errorlevel 1 goto failed", format_com(part)?);
    }
    out += ":formatted\n";
    Ok(out)
}

/// The line that formats a volume the old way. It asks before it does.
pub(super) fn format_com(part: &Part<'_>) -> Result<String, Refusal> {
    let volume = match part.home {
        Home::Letter(letter) => format!("{letter}:"),
        Home::Folder(folder) => quoted(folder)?,
        Home::Unknown => {
            return Ok("rem a volume without a letter is formatted in Disk Management".to_owned());
        }
    };
    let mut line = format!("format {volume} /FS:{}", part.filesystem.to_uppercase());
    if let Some(unit) = part.unit {
        let _ = write!(line, " /A:{}", kilo(unit));
    }
    line += " /Q";
    if !part.label.is_empty() {
        let _ = write!(line, " /V:{}", quoted(part.label)?);
    }
    Ok(line)
}

/// `64K`, `512`.
fn kilo(bytes: Bytes) -> String {
    match bytes.get() {
        n if n >= 16 << 10 && n.is_multiple_of(1024) => format!("{}K", n / 1024),
        n => n.to_string(),
    }
}
