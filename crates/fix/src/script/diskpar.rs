//! `diskpar` of the Windows 2000 Resource Kit, for Windows 2000 and for 2003 before its diskpart had `align=`.

use std::fmt::Write;

use super::diskpart::format_com;
use super::fragment::filled;
use super::windows::{CYLINDER, Disk, Home};
use super::{Language, Refusal, Tool, batch};
use crate::change::Change;

pub(super) static TOOL: Tool = Tool {
    name: "diskpar",
    title: "diskpar of the Windows 2000 Resource Kit, which makes the one partition of an empty disk",
    language: Language::Batch,
    does: |change| matches!(change, Change::Partitions(_)),
    script: |order| batch::script(order, parts),
};

/// Lines that check, and lines that write.
fn parts(disk: &Disk<'_>) -> Result<(String, String), Refusal> {
    let unknown = |text: &str| Err(Refusal::Unknown(text.to_owned()));
    if disk.plan.table != "mbr" {
        return unknown("diskpar knows no GPT");
    }
    let [part] = disk.parts.as_slice() else {
        return unknown(
            "diskpar makes one partition on an empty disk, and this disk has several; diskpart makes them",
        );
    };
    let to = part.entry.to;
    let sector = u64::from(disk.plan.sector.get());
    let (start, megabytes) = (to.start().get() / sector, to.len().get() >> 20);

    let mut check = String::from(
        "set \"why=diskpar is not there, or does not know it\"\n\
         diskpar -i %disk% > \"%work%\\before.txt\"\nif errorlevel 1 goto refuse\n",
    );
    let (least, most) = disk.size;
    let size = (most - most % CYLINDER).max(least - least % CYLINDER);
    for (field, what, value) in [
        ("DiskSize", "size", size),
        (
            "StatringOffset",
            "partition's start",
            part.entry.from.start().get(),
        ),
        (
            "PartitionLength",
            "partition's length",
            part.entry.from.len().get(),
        ),
    ] {
        if field == "PartitionLength" && !part.is_length_sure {
            continue;
        }
        // Corrected copies of the tool spell it otherwise.
        let mut fields = vec![field];
        if field == "StatringOffset" {
            fields.push("StartingOffset");
        }
        let _ = writeln!(check, "set \"right=0\"");
        for field in fields {
            check += &line("before", field, Some(value), "set /a right+=1");
        }
        let _ = writeln!(
            check,
            "set \"why=its {what} is not that of the plan: it is another disk, or it was changed\"\nif not %right%==1 goto refuse"
        );
    }
    check += "set \"seen=0\"\n";
    check += &line("before", "PartitionNumber", None, "set /a seen+=1");
    check += "set \"why=it does not have the one partition of the plan\"\nif not %seen%==1 goto refuse\n";
    if let Home::Letter(letter) = part.home {
        let _ = writeln!(
            check,
            "set \"why=Windows runs from it\"\nif /i \"%SystemDrive%\"==\"{letter}:\" goto refuse"
        );
    }

    let mut write = String::from(
        "rem diskpar makes a partition only on a disk without any.\n\
         echo Delete the partition of disk %disk% in Disk Management now, then press a key; or stop here with Ctrl+C.\n\
         pause\n\
         set \"why=diskpar does not know it any more\"\n\
         diskpar -i %disk% > \"%work%\\empty.txt\"\nif errorlevel 1 goto failed\n\
         set \"right=0\"\n",
    );
    write += &line("empty", "DiskSize", Some(size), "set /a right+=1");
    write +=
        "set \"why=its size is not that of the plan any more\"\nif not %right%==1 goto failed\n";
    write += "set \"seen=0\"\n";
    write += &line("empty", "PartitionNumber", None, "set /a seen+=1");
    write += "set \"why=it still has a partition, so diskpar was not run\"\nif not %seen%==0 goto failed\n";
    write += &filled(
        include_str!("fragments/diskpar.cmd"),
        &[
            ("start", &start.to_string()),
            ("megabytes", &megabytes.to_string()),
        ],
    );
    for field in ["StatringOffset", "StartingOffset"] {
        write += &line("after", field, Some(to.start().get()), "set /a right+=1");
    }
    let _ = writeln!(
        write,
        "set \"why=the partition does not begin at {} bytes as planned\"\nif not %right%==1 goto failed",
        to.start().get()
    );
    let home = match part.home {
        Home::Letter(letter) => format!("the letter {letter}:"),
        Home::Folder(_) => "its folder".to_owned(),
        Home::Unknown => "a letter".to_owned(),
    };
    let _ = writeln!(
        write,
        "echo Give the new partition {home} in Disk Management without formatting it, then press a key.\npause"
    );
    if matches!(part.home, Home::Unknown) {
        write += "echo Then format it there.\n";
    } else {
        let _ = writeln!(
            write,
            "rem format asks before it does.\nset \"why=the partition is there, and was not formatted\"\n{}\nif errorlevel 1 goto failed",
            format_com(part)?
        );
    }
    Ok((check, write))
}

/// A line that does something when `diskpar -i` said `FIELD = VALUE`.
fn line(file: &str, field: &str, value: Option<u64>, then: &str) -> String {
    let test = match value {
        Some(value) => format!(" if \"%%b\"==\"{value}\""),
        None => String::new(),
    };
    format!(
        "for /f \"usebackq tokens=1,3\" %%a in (\"%work%\\{file}.txt\") do if \"%%a\"==\"{field}\"{test} {then}\n"
    )
}
