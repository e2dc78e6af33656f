//! The Storage module of Windows PowerShell, of Windows 8 and Server 2012 and later.

use std::fmt::Write;

use super::power::{Frame, Parts, quoted};
use super::windows::{Disk, Home, Part};
use super::{Job, Language, Refusal, Tool, indented, power};
use crate::Step;
use crate::change::Change;
use crate::change::partitions::RESERVED;

pub(super) static TOOL: Tool = Tool {
    name: "powershell",
    title: "the Storage module of Windows PowerShell (Windows 8, Server 2012 or later), which makes partitions again",
    language: Language::PowerShell,
    does: |change| matches!(change, Change::Partitions(_)),
    script: |order| power::script(order, &FRAME),
};

static FRAME: Frame = Frame {
    module: "Storage",
    warning: "# It deletes partitions, then re-creates and formats them: what is on them is gone, and must be copied back.\n\
              # Run it with -WhatIf to see what it would do; it asks before each step unless -Confirm:$false says otherwise.\n",
    needs_backup: true,
    parts,
};

fn parts(job: &Job<'_>, step: &Step, index: usize) -> Result<Parts, Refusal> {
    let disk = Disk::of(job, &step.change)?;
    disk.needs_identity("capture Get-Disk | Format-List * as well")?;
    let number = disk.number.map_or("$Number".to_owned(), |n| n.to_string());
    let variable = match index {
        0 => "$disk".to_owned(),
        n => format!("$disk{}", n + 1),
    };
    Ok(Parts {
        asks_number: disk.number.is_none(),
        takes_empty: is_all_made(&disk),
        checks: checks(&disk, &number, &variable)?,
        writes: writes(&disk, &number, &variable)?,
    })
}

/// True when a script makes all that is on the disk, so that it can also make it on an empty one: another disk in its place, or the
/// same array re-created by its controller. `Initialize-Disk` makes the reserved partition of a GPT.
fn is_all_made(disk: &Disk<'_>) -> bool {
    let reserved = |part: &Part<'_>| {
        part.entry
            .kind
            .as_deref()
            .is_some_and(|kind| kind.eq_ignore_ascii_case(RESERVED))
    };
    disk.changing().next().is_some()
        && (disk.parts.iter()).all(|part| part.entry.changes() || reserved(part))
}

fn style(disk: &Disk<'_>) -> &'static str {
    match disk.plan.table.as_str() {
        "gpt" => "GPT",
        _ => "MBR",
    }
}

fn checks(disk: &Disk<'_>, number: &str, variable: &str) -> Result<String, Refusal> {
    let same = |what: &str, have: &str, want: &str| {
        format!("Assert-Same -What '{what}' -Have {have} -Want {want}\n")
    };
    let mut out = format!("{variable} = Get-Disk -Number {number}\n");
    out += &match disk.size {
        (least, most) if least == most => {
            same("size", &format!("{variable}.Size"), &most.to_string())
        }
        (least, most) => same(
            "size in whole cylinders",
            &format!("({variable}.Size -ge {least} -and {variable}.Size -le {most})"),
            "$true",
        ),
    };
    out += &same(
        "part in starting Windows",
        &format!("({variable}.IsBoot -or {variable}.IsSystem)"),
        "$false",
    );
    out += &same(
        "state (offline or read-only)",
        &format!("({variable}.IsOffline -or {variable}.IsReadOnly)"),
        "$false",
    );
    let identity = identity(disk, number, variable)?;
    if !is_all_made(disk) {
        return Ok(out + &identity);
    }
    let empty = [
        same(
            "partition style",
            &format!("{variable}.PartitionStyle"),
            "'RAW'",
        ),
        same(
            "number of partitions",
            &format!(
                "(@(Get-Partition | Where-Object -FilterScript {{ $_.DiskNumber -eq {number} }}).Count)"
            ),
            "0",
        ),
    ];
    let _ = write!(
        out,
        "if ($DiskIsEmpty) {{\n{}}} else {{\n{}}}\n",
        indented(&empty.concat()),
        indented(&identity)
    );
    Ok(out)
}

/// Lines that refuse another disk than that of the plan.
fn identity(disk: &Disk<'_>, number: &str, variable: &str) -> Result<String, Refusal> {
    let mut out = String::new();
    let mut same = |what: &str, have: &str, want: &str| {
        let _ = writeln!(out, "Assert-Same -What '{what}' -Have {have} -Want {want}");
    };
    let style = style(disk);
    same(
        "partition style",
        &format!("{variable}.PartitionStyle"),
        &format!("'{style}'"),
    );
    if let Some(signature) = disk.signature {
        same(
            "signature",
            &format!("{variable}.Signature"),
            &signature.to_string(),
        );
    }
    if let Some(guid) = disk.guid {
        same(
            "GUID",
            &format!("(([string] {variable}.Guid).Trim('{{}}'))"),
            &quoted(guid)?,
        );
    }
    if let Some(serial) = disk.serial {
        same(
            "serial number",
            &format!("(([string] {variable}.SerialNumber).Trim(' .'))"),
            &quoted(serial)?,
        );
    }
    let starts: Vec<String> = disk
        .parts
        .iter()
        .map(|part| part.entry.from.start().get().to_string())
        .collect();
    same(
        "list of partitions",
        &format!(
            "(@(Get-Partition -DiskNumber {number} | Sort-Object -Property Offset | ForEach-Object -Process {{ $_.Offset }}) -join ' ')"
        ),
        &format!("'{}'", starts.join(" ")),
    );
    Ok(out)
}

fn writes(disk: &Disk<'_>, number: &str, variable: &str) -> Result<String, Refusal> {
    let ends: Vec<String> = disk
        .changing()
        .map(|part| format!("{} B", part.entry.to.start().grouped()))
        .collect();
    let mut out = format!(
        "if ($PSCmdlet.ShouldProcess(\"disk $({variable}.Number) ($({variable}.FriendlyName))\", 'delete partitions, then re-create and format them at {}')) {{\n",
        ends.join(", ")
    );
    out += "    try {\n";
    let mut removed = String::new();
    for part in disk.changing().rev() {
        let _ = writeln!(
            removed,
            "        $old = Get-Partition -DiskNumber {number} | Where-Object -FilterScript {{ $_.Offset -eq {} }}",
            part.entry.from.start().get()
        );
        if let Home::Folder(folder) = part.home {
            // A folder that still names a volume that is gone takes no other.
            let _ = writeln!(
                removed,
                "        Remove-PartitionAccessPath -InputObject $old -AccessPath {}",
                quoted(folder)?
            );
        }
        removed += "        Remove-Partition -InputObject $old -Confirm:$false\n";
    }
    if is_all_made(disk) {
        let _ = write!(
            out,
            "        if ($DiskIsEmpty) {{\n            Initialize-Disk -Number {number} -PartitionStyle {}\n        }} else {{\n{}        }}\n",
            style(disk),
            indented(&removed)
        );
    } else {
        out += &removed;
    }
    for part in disk.changing() {
        made(&mut out, disk, part, number)?;
    }
    let _ = write!(
        out,
        "    }} catch {{\n        \
         throw \"disk {number} is as the last command left it, look at it in Disk Management before anything else is done: $_\"\n    }}\n}}\n"
    );
    Ok(out)
}

fn made(out: &mut String, disk: &Disk<'_>, part: &Part<'_>, number: &str) -> Result<(), Refusal> {
    let to = part.entry.to;
    let size = if disk.fills(part) {
        "-UseMaximumSize".to_owned()
    } else if part.is_length_sure {
        format!("-Size {}", to.len().get())
    } else {
        return Err(Refusal::Unknown(
            "the length of a partition is known only rounded, and another follows it; capture Get-Partition | Format-List * as well"
                .to_owned(),
        ));
    };
    let letter = match part.home {
        Home::Letter(letter) => format!(" -DriveLetter {letter}"),
        Home::Folder(_) => String::new(),
        Home::Unknown => " -AssignDriveLetter".to_owned(),
    };
    let _ = writeln!(
        out,
        "        $partition = New-Partition -DiskNumber {number} -Offset {} {size}{letter}",
        to.start().get()
    );
    let filesystem = match part.filesystem {
        "refs" => "ReFS",
        "exfat" => "exFAT",
        _ => "NTFS",
    };
    let unit = match part.unit {
        Some(unit) => format!(" -AllocationUnitSize {}", unit.get()),
        None => String::new(),
    };
    let label = match part.label {
        "" => String::new(),
        label => format!(" -NewFileSystemLabel {}", quoted(label)?),
    };
    let _ = writeln!(
        out,
        "        $null = Format-Volume -Partition $partition -FileSystem {filesystem}{unit}{label} -Confirm:$false"
    );
    if let Home::Folder(folder) = part.home {
        let _ = writeln!(
            out,
            "        Add-PartitionAccessPath -InputObject $partition -AccessPath {}\n        \
             Set-Partition -InputObject $partition -NoDefaultDriveLetter $true",
            quoted(folder)?
        );
    }
    Ok(())
}
