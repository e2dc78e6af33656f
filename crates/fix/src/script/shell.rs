//! Scripts in POSIX shell: quoting, the guards, and the frame around what tools do.

use std::fmt::Write;
use std::path::Path;
use straddle_stack::LayerId;

use super::{Guard, Job, Language, Refusal, Tool, Writer, esxi, safe};
use crate::How;

/// A word of shell in quotes.
///
/// # Errors
/// [`Refusal::UnsafeName`] for line breaks and the like.
pub(crate) fn quoted(word: &Path) -> Result<String, Refusal> {
    let text = safe(word)?;
    // A word that begins with a dash would be taken for an option.
    let text = match text.strip_prefix('-') {
        Some(_) => format!("./{text}"),
        None => text.to_owned(),
    };
    if !text.contains(['$', '`']) {
        return Ok(format!("'{}'", text.replace('\'', "'\\''")));
    }
    // In single quotes these look like a mistake, to shellcheck too.
    let mut out = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    Ok(out)
}

/// Text for a comment: one line.
pub(crate) fn comment(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

pub(super) fn script(job: &Job<'_>, tool: &'static Tool) -> Result<String, Refusal> {
    let mut out = String::from("#!/bin/sh\n");
    let steps = || job.plan.steps.iter();
    let mine = || steps().filter(|step| (tool.does)(&step.change));
    line(
        &mut out,
        &format!(
            "# {}: what `straddle fix` plans for it, by {}.",
            comment(job.target),
            tool.title
        ),
    );
    out += "#\n# It writes to the devices named below. Have a backup that was test-restored, and nothing mounted.\n";
    out += match tool.language {
        Language::Esxi => "# Run it with --yes; without, it only says whether it would.\n",
        _ => {
            "# Run it with --yes; without, it only says whether it would. A folder behind --yes takes logs and copies.\n"
        }
    };
    let refills = tool.language == Language::Shell
        && mine().any(|step| matches!(step.how, How::Refill { .. }));
    if refills {
        out += "# It makes filesystems or volumes again: what is in them is gone, and comes back from your backup. It refuses those\n\
                # that are not empty, unless --contents-are-backed-up is given too.\n";
    }
    for step in steps() {
        let by = if (tool.does)(&step.change) {
            "here".to_owned()
        } else {
            match super::for_change(&step.change) {
                Some(other) => format!("not here: straddle fix --script {}", other.name),
                None => "by hand".to_owned(),
            }
        };
        line(
            &mut out,
            &format!("#\n# Step {} ({by}): {}", step.number, comment(&step.title)),
        );
        for text in step.arithmetic.iter().chain(&step.notes) {
            line(&mut out, &format!("#   {}", comment(text)));
        }
    }
    out += "set -eu\n\n";
    let (options, prelude, guard): (_, _, Guards) = match tool.language {
        Language::Esxi => (esxi::OPTIONS, esxi::PRELUDE, esxi::guard),
        _ if refills => (REFILLING, PRELUDE, guard),
        _ => (OPTIONS, PRELUDE, guard),
    };
    out += options;
    out += COMMON;
    let mut writer = Writer::new(job);
    let mut guards = String::new();
    let mut body = String::new();
    let mut before: Option<usize> = None;
    for step in mine() {
        if let Some(before) = before.replace(step.number) {
            line(&mut body, &format!("begun='nothing after step {before}'"));
        }
        for layer in step.change.written() {
            let carrier = match step.change.is_reached() {
                true => job.carrier(layer)?.0,
                false => layer,
            };
            let known = writer.guarded.iter().position(|other| *other == carrier);
            if known.is_none() {
                writer.guarded.push(carrier);
            }
            if known.is_none() || carrier != layer {
                let holder = step.change.holder();
                let number = known.map_or(writer.guarded.len(), |at| at + 1);
                guards += &guard(job, (layer, carrier), number, holder)?;
            }
        }
        line(
            &mut body,
            &format!(
                "\nsay {}",
                quoted(Path::new(&comment(&format!(
                    "step {}: {}",
                    step.number, step.title
                ))))?
            ),
        );
        body += &(tool.step)(&writer, step)?;
    }
    guards += &writer.checks.into_inner();
    // With more options, the folder is not always the second word.
    let prelude = match refills {
        true => prelude.replace("folder=${2-.}", "folder=$chosen"),
        false => prelude.to_owned(),
    };
    out += &used(&prelude, &format!("{guards}{body}"));
    out += &guards;
    out += "\nif [ \"$yes\" != 1 ]; then\n    say 'everything is as the plan expects; run it again with --yes'\n    exit 0\nfi\n";
    out += &body;
    out += "\nsay 'done; whether it helped: straddle fix TARGET --verify PLAN.json'\n";
    Ok(out)
}

fn line(out: &mut String, text: &str) {
    let _ = writeln!(out, "{text}");
}

/// Those pieces of `prelude`, divided by empty lines, that `text` uses, or that one of them uses: functions by their name, others by
/// the variable that they begin with.
fn used(prelude: &str, text: &str) -> String {
    let pieces: Vec<&str> = prelude
        .split("\n\n")
        .filter(|piece| !piece.trim().is_empty())
        .collect();
    let mut taken = vec![false; pieces.len()];
    let mut all = text.to_owned();
    loop {
        let next = pieces.iter().zip(&taken).position(|(piece, taken)| {
            let mut lines = piece.lines().filter(|line| !line.starts_with('#'));
            let code = lines.next().unwrap_or_default();
            !taken
                && match code.split_once(['(', '=']) {
                    // What a tool has under the same name is its own.
                    Some((name, rest)) if rest.starts_with(')') => {
                        is_called(&all, name) && !text.contains(&format!("\n{name}() {{"))
                    }
                    Some((name, _)) => {
                        all.contains(&format!("${name}")) || all.contains(&format!("{name}="))
                    }
                    None => false,
                }
        });
        let Some(next) = next else { break };
        taken[next] = true;
        all += pieces[next];
    }
    let taken = pieces.iter().zip(&taken).filter(|(_, taken)| **taken);
    taken
        .map(|(piece, _)| format!("{}\n\n", piece.trim_end()))
        .collect()
}

/// True when a line of `text` calls the function `name`.
fn is_called(text: &str, name: &str) -> bool {
    let before = ["", "!", "&&", "||", "{", "(", "then", "do", ";", "if"];
    let lines = text.lines().map(str::trim_start);
    lines.filter(|line| !line.starts_with('#')).any(|line| {
        line.match_indices(name).any(|(at, _)| {
            let (head, tail) = line.split_at(at);
            let tail = tail.get(name.len()..).unwrap_or_default();
            let ends = tail
                .chars()
                .next()
                .is_none_or(|c| c == ' ' || c == ')' || c == ';');
            let head = head.trim_end();
            let is_command = before.iter().any(|word| {
                head.strip_suffix(word).is_some_and(|rest| {
                    !word.is_empty() && !rest.ends_with(|c: char| c.is_ascii_alphanumeric())
                        || rest.is_empty()
                })
            });
            ends && is_command
        })
    })
}

/// Writes the lines that refuse to go on with another device.
type Guards = fn(&Job<'_>, (LayerId, LayerId), usize, Option<&str>) -> Result<String, Refusal>;

/// The options of scripts for Linux.
const OPTIONS: &str = r#"yes=0
case ${1-} in
--yes) yes=1 ;;
'') ;;
*)
    echo "usage: $0 [--yes [FOLDER]]" >&2
    exit 2
    ;;
esac

"#;

/// The same for a script after which files must be brought back.
const REFILLING: &str = r#"yes=0
backed_up=0
chosen=.
for word in "$@"; do
    case $word in
    --yes) yes=1 ;;
    --contents-are-backed-up) backed_up=1 ;;
    -*)
        echo "usage: $0 [--yes] [--contents-are-backed-up] [FOLDER]" >&2
        exit 2
        ;;
    *) chosen=$word ;;
    esac
done

# contents_may_go WHAT: it is not empty, or nobody knows whether it is.
contents_may_go() {
    [ "$backed_up" = 1 ] || die "$1 may hold files, which would be lost; with a backup that was test-restored, add --contents-are-backed-up"
}

"#;

/// Functions that every script has.
const COMMON: &str = r#"say() { printf '%s\n' "$*"; }

begun=
die() {
    printf 'refused, %s was written: %s\n' "${begun:-nothing}" "$*" >&2
    exit 2
}

# fail WORDS: when something was written already
fail() {
    printf 'stopped in the middle: %s\n' "$*" >&2
    exit 1
}

"#;

/// Functions that every script for Linux has besides.
const PRELUDE: &str = r#"# Where logs, and copies of what is made again, are kept: not on a disk that is changed.
folder=${2-.}

need() { command -v "$1" > /dev/null 2>&1 || die "$1 is not installed (Debian package $2)"; }

# size_is DEVICE BYTES
size_is() {
    [ -e "$1" ] || die "$1 does not exist"
    if [ -b "$1" ]; then size=$(blockdev --getsize64 "$1"); else size=$(stat -L -c %s "$1"); fi
    [ "$size" = "$2" ] || die "$1 has $size bytes, the plan was made for $2: it is another disk"
}

# bytes_are DEVICE OFFSET HEX WHAT
bytes_are() {
    have=$(od -An -v -tx1 -j "$2" -N $((${#3} / 2)) "$1" | tr -d ' \n')
    [ "$have" = "$3" ] || die "$1 has $have as its $4 (byte $2), the plan was made for $3: it is another disk, or it was changed"
}

# not_in_use DEVICE [HOLDER]: neither it nor a partition of it, except by HOLDER; `dm` stands for all of device-mapper
not_in_use() {
    real=$(readlink -f "$1")
    # In these files a blank is \040.
    shown=$(printf '%s' "$real" | sed 's/ /\\040/g')
    if cat /proc/mounts /proc/swaps 2> /dev/null | grep -q -F -e "$shown"; then
        die "$1, or a partition of it, is mounted or used for swapping"
    fi
    if [ -b "$1" ]; then
        name=${real##*/}
        for held in "/sys/class/block/$name/holders"/* "/sys/class/block/$name/$name"*/holders/*; do
            [ -e "$held" ] || continue
            holder=${held##*/}
            case $holder in dm-*) holder=dm ;; esac
            [ "$holder" = "${2-}" ] || die "$1, or a partition of it, is part of ${held##*/}: stop that first"
        done
    elif command -v losetup > /dev/null 2>&1 && [ -n "$(losetup -j "$real" 2> /dev/null)" ]; then
        die "$1 is attached to a loop device: losetup -j says which; detach it first"
    fi
}

# slot_is MD NUMBER DEVICE: the member of this number in sysfs
slot_is() {
    slot=$(readlink -f "$1/rd$2/block") || slot=
    member=$(readlink -f "$3")
    [ "${slot##*/}" = "${member##*/}" ] || die "$3 is not member $2 of the array"
}

# room_for BYTES: in the folder, for what is copied away
room_for() {
    free=$(df -P -k -- "$folder" | awk 'NR == 2 { print $4 }')
    [ "$free" -gt $(($1 / 1024)) ] || die "$folder has room for $free KiB, and $1 bytes are copied away meanwhile: give another folder behind --yes"
}

# keep DEVICE OFFSET BYTES FILE: copies them away, and reads both again
keep() {
    dd if="$1" of="$4" bs=1M iflag=skip_bytes,count_bytes skip="$2" count="$3" conv=sparse,fsync status=none
    cmp -n "$3" -i "$2":0 "$1" "$4"
}

# put FILE BYTES DEVICE OFFSET: copies them back, and reads both again
put() {
    dd if="$1" of="$3" bs=1M iflag=count_bytes count="$2" oflag=seek_bytes seek="$4" conv=notrunc,fsync status=none
    blockdev --flushbufs "$3"
    cmp -n "$2" -i 0:"$4" "$1" "$3"
}

# What to say when a command fails after something was written.
state=
trap '[ $? = 0 ] || [ -z "$state" ] || printf "stopped: %s\n" "$state" >&2' EXIT

"#;

/// The lines that refuse to go on with another device.
fn guard(
    job: &Job<'_>,
    (layer, carrier): (LayerId, LayerId),
    number: usize,
    holder: Option<&str>,
) -> Result<String, Refusal> {
    let path = job.path(carrier)?;
    let disk = variable(number);
    let guard = Guard::within(job.stack, layer, carrier);
    let mut out = format!("\n{disk}={}\n", quoted(&path)?);
    if let Some(size) = guard.size {
        line(&mut out, &format!("size_is \"${disk}\" {}", size.get()));
    }
    for mark in &guard.marks {
        let hex: String = mark
            .bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        line(
            &mut out,
            &format!(
                "bytes_are \"${disk}\" {} {hex} '{}'",
                mark.at.get(),
                mark.what
            ),
        );
    }
    if guard.marks.is_empty() && guard.serial.is_none() {
        return Err(Refusal::Unknown(format!(
            "nothing was read that tells {} from other disks; no script is written that could not refuse the wrong one",
            job.stack.layer(layer).name
        )));
    }
    let holder = match holder {
        Some(holder) => format!(" {}", quoted(Path::new(holder))?),
        None => String::new(),
    };
    line(&mut out, &format!("not_in_use \"${disk}\"{holder}"));
    Ok(out)
}

/// What a device is called in a script: `disk`, `disk2`.
pub(super) fn variable(number: usize) -> String {
    match number {
        1 => "disk".to_owned(),
        number => format!("disk{number}"),
    }
}
