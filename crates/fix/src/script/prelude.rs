//! What scripts in shell begin with: options, and functions, of which each script has those that it uses.

use std::fmt::Write;

/// Those pieces of `known`, divided by empty lines, that `text` uses, or that one of them uses: functions by their name, others by
/// the variable that they begin with.
pub(super) fn used<'a>(known: impl Iterator<Item = &'a &'a str>, text: &str) -> String {
    let pieces: Vec<&str> = known
        .flat_map(|functions| functions.split("\n\n"))
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
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
    taken.map(|(piece, _)| format!("{}\n\n", piece)).collect()
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

/// An option of a script.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// How it is given: `--onto`.
    pub(super) flag: &'static str,
    /// What follows it: `DEVICE`; nothing for one that is given or not.
    pub(super) value: Option<&'static str>,
    /// What it is called in the script: empty, or 0 and 1.
    pub(super) variable: &'static str,
}

/// The option for a script after which files must be brought back.
pub(super) static BACKED_UP: Choice = Choice {
    flag: "--contents-are-backed-up",
    value: None,
    variable: "backed_up",
};

/// Lines that read the options: `--yes`, these, and a folder where the script `keeps` something.
pub(super) fn options(choices: &[&Choice], keeps: bool) -> String {
    let mut usage = String::from("usage: $0 [--yes]");
    let mut presets = String::from("yes=0\n");
    let mut cases = String::from("    --yes) yes=1 ;;\n");
    for choice in choices {
        let Choice {
            flag,
            value,
            variable,
        } = choice;
        match value {
            None => {
                let _ = write!(usage, " [{flag}]");
                let _ = writeln!(presets, "{variable}=0");
                let _ = writeln!(cases, "    {flag}) {variable}=1 ;;");
            }
            Some(value) => {
                let _ = write!(usage, " [{flag} {value}]");
                let _ = writeln!(presets, "{variable}=");
                let _ = write!(
                    cases,
                    "    {flag})\n        [ $# -gt 1 ] || usage\n        {variable}=$2\n        shift\n        ;;\n"
                );
            }
        }
    }
    let mut none = "*";
    if keeps {
        usage += " [FOLDER]";
        presets += "# Where logs, and copies of what is made again, are kept: not on a disk that is changed.\nfolder=.\n";
        none = "-*";
    }
    let _ = writeln!(cases, "    {none}) usage ;;");
    if keeps {
        cases += "    *) folder=$1 ;;\n";
    }
    let absolute = match keeps {
        true => "case $folder in\n/*) ;;\n.) folder=$PWD ;;\n*) folder=$PWD/$folder ;;\nesac\n",
        false => "",
    };
    let usage = format!("usage() {{\n    echo \"{usage}\" >&2\n    exit 2\n}}\n\n");
    format!(
        "{usage}{presets}while [ $# -gt 0 ]; do\n    case $1 in\n{cases}    esac\n    shift\ndone\n{absolute}\n"
    )
}

/// Functions that every script has.
pub(super) const COMMON: &str = r#"say() { printf '%s\n' "$*"; }

begun=
said=no
die() {
    said=yes
    printf 'refused, %s was written: %s\n' "${begun:-nothing}" "$*" >&2
    exit 2
}

# fail WORDS: when something was written already
fail() {
    said=yes
    printf 'stopped in the middle: %s\n' "$*" >&2
    exit 1
}

# What is being written, and what leads back from there; and what is true when nothing is.
doing=
way_back=
state='nothing was written'

# at_end FUNCTION: it runs when the script ends, however it does; the last first
at_end() { endings="$1 $endings"; }
endings=
ended() {
    status=$?
    for each in $endings; do "$each"; done
    if [ "$status" != 0 ] && [ -n "$doing" ]; then
        printf 'stopped while %s; %s\n' "$doing" "$way_back" >&2
    elif [ "$status" != 0 ] && [ "$said" = no ]; then
        printf 'ended with an error; %s\n' "$state" >&2
    fi
}
trap ended EXIT
trap 'exit 1' HUP INT TERM

"#;

/// Functions that scripts for Linux have besides.
pub(super) const PRELUDE: &str = r#"need() { command -v "$1" > /dev/null 2>&1 || die "$1 is not installed (Debian package $2)"; }

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

# number FILE BYTE LENGTH: an unsigned number there, lowest byte first
number() { od -An -v --endian=little -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' \n'; }

# as_plain FILE: sets `named` to a name of it in which no tool finds anything but a name: those of e2fsprogs read what follows a `?`
as_plain() {
    named=$1
    case $1 in
    *[!A-Za-z0-9/._-]*)
        if [ -z "$names" ]; then names=$(TMPDIR=/tmp mktemp -d) || die 'cannot make a folder in /tmp'; fi
        count_of_names=$((count_of_names + 1))
        named=$names/$count_of_names
        ln -s "$(readlink -f "$1")" "$named"
        ;;
    esac
}
names=
count_of_names=0
forget_names() { if [ -n "$names" ]; then rm -rf "$names"; fi; }
at_end forget_names

# tag NAME FILE: sets `tagged` to what blkid says of it, as it stands there
tag() {
    tagged=$(blkid -p -o value -s "$1" "$2" 2> /dev/null || :; echo .)
    tagged=${tagged%.}
    tagged=${tagged%"$line_break"}
}
line_break='
'

# serial_is DEVICE SERIAL
serial_is() {
    sys=/sys/dev/block/$(number_of "$1")
    have=
    for file in "$sys/serial" "$sys/device/serial"; do
        if [ -r "$file" ]; then have=$(cat "$file"); fi
    done
    [ "$(printf '%s' "$have" | tr -d ' ')" = "$(printf '%s' "$2" | tr -d ' ')" ] || die "$1 has the serial number $have, the plan was made for $2: it is another disk"
}

# contents_may_go WHAT: it is not empty, or nobody knows whether it is.
contents_may_go() {
    [ "$backed_up" = 1 ] || die "$1 may hold files, which would be lost; with a backup that was test-restored, add --contents-are-backed-up"
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
    [ "$free" -gt $(($1 / 1024)) ] || die "$folder has room for $free KiB, and $1 bytes are copied away meanwhile: give another folder"
}

# keep DEVICE OFFSET BYTES FILE: copies them away, and reads both again
keep() {
    say "copying $3 bytes from byte $2 to $4"
    dd if="$1" of="$4" bs=1M iflag=skip_bytes,count_bytes,fullblock skip="$2" count="$3" conv=sparse,fsync status=none || die "byte $2 of $1 could not be copied to $4"
    cmp -s -i "$2:0" -n "$3" "$1" "$4" || die "$4 is not what is at byte $2 of $1"
}

# put FILE DEVICE OFFSET BYTES: copies them back, and reads both again
put() {
    say "copying $1 to byte $3"
    [ "$(stat -c %s "$1")" = "$4" ]
    dd if="$1" of="$2" bs=1M oflag=seek_bytes seek="$3" conv=notrunc,fsync status=none
    if [ -b "$2" ]; then blockdev --flushbufs "$2"; fi
    cmp -i "0:$3" -n "$4" "$1" "$2"
}

# as_raw SOURCE FILE: a virtual disk as the bytes that its guest sees
as_raw() {
    say "copying the virtual disk to $2, as raw bytes"
    qemu-img convert --image-opts -O raw "$1" "$2" || die 'it could not be read, or there is no room for it: give another folder'
}

# as_new FILE FORMAT OPTIONS NEW: raw bytes as a virtual disk
as_new() {
    say "writing $4"
    if ! qemu-img convert -f raw -O "$2" ${3:+-o "$3"} "$1" "$4"; then
        rm -f "$4"
        fail "$4 could not be written; the changed disk is $1, as raw bytes"
    fi
    new_disk=$(printf '%s' "$4" | sed 's/,/,,/g')
    raw_disk=$(printf '%s' "$1" | sed 's/,/,,/g')
    qemu-img compare --image-opts "driver=raw,file.driver=file,file.filename=$raw_disk" "driver=$2,file.driver=file,file.filename=$new_disk" ||
        fail "$4 differs from $1, which is the changed disk as raw bytes: do not use $4"
}

"#;
