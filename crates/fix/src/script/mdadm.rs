//! `mdadm`, which makes an array again; its contents are copied away and back.

use std::fmt::Write;
use std::path::Path;
use straddle_geometry::Bytes;

use super::words::quoted;
use super::{Language, Refusal, Tool, Writer, shell};
use crate::Step;
use crate::change::Change;
use crate::change::array::Array;

pub(super) static TOOL: Tool = Tool {
    name: "mdadm",
    title: "mdadm 4 or later, which makes the array again with the same members",
    language: Language::Shell,
    does: |change| matches!(change, Change::Array(_)),
    script: |order| shell::script(order, step),
};

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let Change::Array(array) = &step.change else {
        return Ok(String::new());
    };
    let path = writer.job.path(array.array)?;
    let device = quoted(&path)?;
    let n = step.number;
    let members: Vec<String> = array
        .members
        .iter()
        .map(|member| writer.disk(member.layer))
        .collect();
    writer.check(&checks(array, &device, n, &members)?);
    let mut out = format!(
        "work=$(mktemp -d \"$folder/straddle-fix.XXXXXX\")\n\
         mdadm --detail \"$array{n}\" > \"$work/array.before\"\n\
         mdadm --examine {all} > \"$work/members.before\"\n\
         say \"what the array was, and its contents meanwhile: $work\"\n\
         keep \"$array{n}\" 0 {size} \"$work/contents\"\n\
         bitmap=$(cat \"$md{n}/bitmap/location\" 2> /dev/null || echo none)\n\
         case $bitmap in +* | -*) bitmap=internal ;; *) bitmap=none ;; esac\n\
         doing=\"making $array{n} again\"\n\
         way_back=\"the contents of $array{n} are in $work/contents; $work/array.before and members.before say how it was made\"\n\
         mdadm --stop \"$array{n}\"\n",
        all = members.join(" "),
        size = array.size.get(),
    );
    out += "# The metadata are written again; the places of the data are what changes.\n";
    create(&mut out, array, n, &members)?;
    let _ = write!(
        out,
        "[ \"$(blockdev --getsize64 \"$array{n}\")\" -ge {size} ] || {{ echo \"$array{n} became shorter\" >&2; exit 1; }}\n\
         put \"$work/contents\" \"$array{n}\" 0 {size}\n\
         blockdev --rereadpt \"$array{n}\" 2> /dev/null || true\n",
        size = array.size.get()
    );
    if array.level != "raid0" {
        let _ = write!(
            out,
            "say \"waiting until the members of $array{n} are synchronised (/proc/mdstat)\"\n\
             mdadm --wait \"$array{n}\" || true\n"
        );
    }
    out += "doing=\nsay \"$work can be deleted when the contents were looked at\"\n";
    Ok(out)
}

/// The array is the one that the plan was made for, whole, and at rest.
fn checks(array: &Array, device: &str, n: usize, members: &[String]) -> Result<String, Refusal> {
    let mut out = format!(
        "\narray{n}={device}\n\
         need mdadm mdadm\n\
         [ -b \"$array{n}\" ] || die \"$array{n} does not run: mdadm --assemble it, or work on the machine that has its disks\"\n\
         size_is \"$array{n}\" {size}\n\
         mdadm --detail --export \"$array{n}\" | grep -q -x -F {uuid} || die \"$array{n} is another array\"\n\
         not_in_use \"$array{n}\"\n\
         md{n}=$(readlink -f \"$array{n}\")\n\
         md{n}=/sys/class/block/${{md{n}##*/}}/md\n",
        size = array.size.get(),
        uuid = quoted(Path::new(&format!("MD_UUID={}", array.uuid)))?,
    );
    let level = quoted(Path::new(&array.level))?;
    let _ = write!(
        out,
        "[ \"$(cat \"$md{n}/level\")\" = {level} ] || die \"$array{n} has another level than the plan says\"\n\
         [ \"$(find \"$md{n}/\" -name 'dev-*' | wc -l)\" = {count} ] || die \"$array{n} has more or fewer members than {count}; spares must be removed first\"\n",
        count = members.len(),
    );
    if array.level != "raid0" {
        let _ = write!(
            out,
            "[ \"$(cat \"$md{n}/degraded\")\" = 0 ] || die \"$array{n} is degraded: replace the missing member first\"\n\
             [ \"$(cat \"$md{n}/sync_action\")\" = idle ] || die \"$array{n} is being synchronised or reshaped: wait for it\"\n\
             case $(cat \"$md{n}/consistency_policy\" 2> /dev/null || echo resync) in\n\
             resync | bitmap | none | unknown) ;;\n\
             *) die \"$array{n} has a journal or a partial parity log, which would be lost\" ;;\n\
             esac\n",
        );
    }
    for (slot, member) in members.iter().enumerate() {
        let _ = writeln!(out, "slot_is \"$md{n}\" {slot} {member}");
    }
    let _ = writeln!(out, "room_for {}", array.size.get());
    Ok(out)
}

fn create(out: &mut String, array: &Array, n: usize, members: &[String]) -> Result<(), Refusal> {
    let kib = |bytes: Bytes| bytes.get() / 1024;
    let level = array.level.strip_prefix("raid").unwrap_or(&array.level);
    let _ = write!(
        out,
        "mdadm --create \"$array{n}\" --run --quiet --level={level} --raid-devices={} --metadata={} \\\n    --uuid={}",
        members.len(),
        array.version,
        quoted(Path::new(&array.uuid))?,
    );
    if let Some(layout) = array
        .layout
        .as_deref()
        .and_then(|l| layout(&array.level, l))
    {
        let _ = write!(out, " --layout={}", quoted(Path::new(&layout))?);
    }
    if let Some(unit) = array.unit_to.filter(|_| array.level != "raid1") {
        let _ = write!(out, " --chunk={}", kib(unit.bytes()));
    }
    if let Some(component) = array.component {
        let _ = write!(out, " --size={}", kib(component));
    }
    if array.level != "raid0" {
        *out += " --bitmap=\"$bitmap\"";
    }
    if array.version != "0.90"
        && let Some(label) = &array.label
    {
        let (host, name) = match label.split_once(':') {
            Some((host, name)) => (host, name),
            None => ("any", label.as_str()),
        };
        let _ = write!(
            out,
            " \\\n    --homehost={} --name={}",
            quoted(Path::new(host))?,
            quoted(Path::new(name))?
        );
    }
    let moved = !matches!(array.version.as_str(), "0.90" | "1.0");
    match array.same_offset() {
        Some(offset) if moved => {
            let _ = write!(out, " --data-offset={}K", kib(offset));
        }
        None if moved => *out += " --data-offset=variable",
        _ => {}
    }
    *out += " \\\n   ";
    for (disk, member) in members.iter().zip(&array.members) {
        // mdadm looks for a colon in names.
        let _ = write!(out, " \"$(readlink -f {disk})\"");
        if moved && array.same_offset().is_none() {
            let _ = write!(out, ":{}K", kib(member.to));
        }
    }
    *out += "\n";
    Ok(())
}

/// As mdadm takes it: `near=2` is `n2`.
fn layout(level: &str, layout: &str) -> Option<String> {
    let short = |name: &str, letter: char| {
        let copies = layout.strip_prefix(name)?;
        Some(format!("{letter}{copies}"))
    };
    match level {
        "raid10" => short("near=", 'n')
            .or_else(|| short("far=", 'f'))
            .or_else(|| short("offset=", 'o')),
        "raid5" | "raid6" => Some(layout.to_owned()),
        _ => None,
    }
}
