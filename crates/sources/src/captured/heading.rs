//! Lines that stand above outputs: prompts with what was typed, names of hosts.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::hostname::{is_name, is_numbered};
use super::text::Line;
use super::tool::Command;

/// What stands above outputs.
pub(super) enum Heading<'t> {
    Command(Command<'t>),
    Host(&'t str),
    /// A title that names a machine, as people and programs write it.
    Machine(&'t str),
}

/// A prompt with what was typed behind it, a line of the collection scripts (`### host: db1`, `### command: lsblk -JO`), or the name of
/// a machine above what it says.
pub(super) fn heading<'t>(line: &Line<'t>) -> Option<Heading<'t>> {
    prompt(line).or_else(|| machine(line.text.trim()).map(Heading::Machine))
}

fn prompt<'t>(line: &Line<'t>) -> Option<Heading<'t>> {
    // Every prompt has one of these, and few other lines have.
    // `❯` and `➜` begin with this byte.
    let signs = |byte: u8| matches!(byte, b'>' | b'#' | b'$' | b']' | b'%' | 0xe2);
    if !line.text.bytes().any(signs) {
        return None;
    }
    let text = line.text.trim();
    if let Some(rest) = text.strip_prefix("### ") {
        if let Some(host) = rest.strip_prefix("host: ") {
            return Some(Heading::Host(host.trim()));
        }
        let typed = rest.strip_prefix("command: ")?;
        return Some(Heading::Command(command(line, typed)));
    }
    let typed = text
        .strip_prefix("DISKPART>")
        .or_else(|| windows_prompt(text))
        .or_else(|| unix_prompt(text))
        .or_else(|| esxi_prompt(text))
        .or_else(|| bare_prompt(text))?;
    Some(Heading::Command(command(line, typed)))
}

fn command<'t>(line: &Line<'t>, typed: &'t str) -> Command<'t> {
    // What it goes through behind a pipe says nothing of what it is about.
    let ends = |word: &&str| !matches!(*word, "|" | "||" | "&&" | ";" | ">" | ">>" | "2>&1" | "2>");
    let words = typed
        .split_whitespace()
        .take_while(ends)
        .map(|word| word.trim_matches('"'));
    Command {
        line: *line,
        words: words.collect(),
    }
}

/// `C:\Windows>…`, `PS C:\>…`, `[db1]: PS C:\>…`.
fn windows_prompt(text: &str) -> Option<&str> {
    let path = remote(text).map_or(text, |(_, path)| path);
    let path = path.strip_prefix("PS ").unwrap_or(path);
    let drive = path.as_bytes();
    if !(drive.len() > 3 && drive[0].is_ascii_alphabetic() && drive[1] == b':' && drive[2] == b'\\')
    {
        return None;
    }
    let at = path.find('>')?;
    Some(&path[at + 1..])
}

/// `root@db1:~# …`, `[root@db1 ~]$ …`.
fn unix_prompt(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('[').unwrap_or(text);
    let user = inner.split_once('@')?.0;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    if user.is_empty() || user.len() > 32 || !user.bytes().all(plain) {
        return None;
    }
    let at = text.find(['#', '$'])?;
    let prompt = &text[..at];
    let ends = text[at + 1..].starts_with(' ') || at + 1 == text.len();
    (ends && prompt.len() < 160 && !prompt.contains(" : ")).then(|| &text[at + 1..])
}

/// `~ # …`, `/vmfs/volumes # …`, `[root@esx1:~] …`.
fn esxi_prompt(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix("[root@") {
        let (place, typed) = rest.split_once("] ")?;
        // Some show the host alone.
        let (host, folder) = place.split_once(':').unwrap_or((place, ""));
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        return (host.bytes().all(plain) && !folder.contains(' ')).then_some(typed);
    }
    let (folder, typed) = text.split_once(" # ")?;
    (folder == "~" || folder.starts_with('/') && !folder.contains(' ')).then_some(typed)
}

/// `# mdadm --detail /dev/md0`, `$ sudo lvs`, `➜  ~ lsblk`, `db1% sudo fdisk -l`: a sign before a program that is known here,
/// whatever stands in front. Comments begin with the same sign.
fn bare_prompt(text: &str) -> Option<&str> {
    let signs = ['#', '$', '%', '>', '❯', '➜'];
    let mut from = 0;
    while let Some(at) = text[from..].find(signs) {
        let at = from + at;
        let sign = text[at..].chars().next()?.len_utf8();
        from = at + sign;
        if at > LONGEST_PROMPT {
            return None;
        }
        let typed = text[from..].trim_start();
        // The shell's folder stands behind its arrow.
        let behind_folder = typed.split_once(' ').map(|(_, rest)| rest.trim_start());
        let arrow = sign > 1;
        if is_known(typed) {
            return Some(typed);
        }
        if let Some(rest) = behind_folder.filter(|rest| arrow && is_known(rest)) {
            return Some(rest);
        }
    }
    None
}

/// The machine in `[db1]: PS C:\>`, and what follows it.
fn remote(text: &str) -> Option<(&str, &str)> {
    let (machine, rest) = text.strip_prefix('[')?.split_once("]: ")?;
    (rest.starts_with("PS ") && is_name(machine)).then_some((machine, rest))
}

/// The machine whose prompt a line is: `root@db1:~# …`, `[root@esx1:~] …`, `[db1]: PS C:\> …`.
pub(super) fn machine_of_prompt(text: &str) -> Option<&str> {
    let text = text.trim();
    if let Some((machine, _)) = remote(text) {
        return Some(machine);
    }
    unix_prompt(text).or_else(|| esxi_prompt(text))?;
    let (_, behind) = text.split_once('@')?;
    let end = behind.find([':', ' ', ']', '#', '$'])?;
    Some(&behind[..end]).filter(|name| is_name(name))
}

/// The machine that a command asks from afar: `wmic /node:db1 …`, `winrs -r:db1 …`, `Get-Disk -CimSession db1`, `psexec \\db1 …`.
pub(super) fn asked<'t>(command: &Command<'t>) -> Option<&'t str> {
    let mut words = command.words.iter().copied();
    let program = command.program();
    while let Some(word) = words.next() {
        let lower = word.to_ascii_lowercase();
        let behind = ["/node:", "-r:", "-remote:", "/r:"]
            .iter()
            .find(|sign| lower.starts_with(**sign));
        let name = match lower.as_str() {
            "-computername" | "-cimsession" | "-cn" | "-session" => words.next()?,
            _ if program.starts_with("psexec") && lower.starts_with("\\\\") => &word[2..],
            _ => match behind {
                Some(sign) => &word[sign.len()..],
                None => continue,
            },
        };
        let name = name.trim_matches(['"', '\'']);
        return is_name(name).then_some(name);
    }
    None
}

/// Most characters of a title.
const LONGEST_TITLE: usize = 100;

/// The machine that a title names: `===== FS01 =====`, `Server: sql2`, `\\sql3:`, `db3 | CHANGED | rc=0 >>`, `ok: [db4] => {`.
fn machine(text: &str) -> Option<&str> {
    // Its result may begin in the same line.
    let text = text.find("=> {").map_or(text, |at| &text[..at + 2]);
    if text.len() > LONGEST_TITLE {
        return None;
    }
    let first = text.bytes().next()?;
    // What psexec prints above the output of each.
    if let Some(name) = text
        .strip_prefix("\\\\")
        .and_then(|name| name.strip_suffix(':'))
    {
        return is_name(name).then_some(name);
    }
    if first.is_ascii_alphanumeric() {
        let ansible = || of_ansible(text).filter(|name| is_name(name));
        return named(text).or_else(ansible);
    }
    decorated(text)
}

/// A name in a line of its own between signs.
fn decorated(text: &str) -> Option<&str> {
    const SIGNS: [char; 10] = ['=', '*', '#', '-', '_', '~', '<', '>', '[', ']'];
    let inner = text.trim_matches(SIGNS);
    let (before, behind) = text.split_once(inner).filter(|_| !inner.is_empty())?;
    if before.len() < 2 || behind.len() < 2 {
        return None;
    }
    let inner = inner.trim();
    named(inner).or_else(|| is_numbered(inner).then_some(inner))
}

/// `Server: sql1`, `Computer=WEB2`, `Machine B:`.
fn named(text: &str) -> Option<&str> {
    const WORDS: [&str; 9] = [
        "host",
        "hostname",
        "host name",
        "server",
        "servername",
        "server name",
        "computer",
        "machine",
        "node",
    ];
    let is_word = |word: &str| WORDS.iter().any(|known| known.eq_ignore_ascii_case(word));
    let (word, name) = text.split_once([':', '='])?;
    let name = name.trim();
    if name.is_empty() {
        let (word, short) = word.rsplit_once(' ')?;
        let counted = short.len() <= 2
            && short
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        return (counted && !short.is_empty() && is_word(word)).then_some(short);
    }
    (is_word(word) && is_name(name)).then_some(name)
}

/// The host of a result of Ansible.
fn of_ansible(text: &str) -> Option<&str> {
    if let Some((name, rest)) = text.split_once(" | ") {
        let states = ["SUCCESS", "CHANGED", "FAILED", "UNREACHABLE"];
        return states
            .iter()
            .any(|state| rest.starts_with(state))
            .then_some(name);
    }
    let (state, rest) = text.split_once(": [")?;
    let known = matches!(state, "ok" | "changed" | "failed" | "fatal" | "skipping");
    let (name, rest) = rest.split_once(']')?;
    // `db2 -> localhost`: what was done for it elsewhere.
    let name = name.split(' ').next().unwrap_or(name);
    (known && rest.contains("=>")).then_some(name)
}

/// Longest part of a line before a sign that is taken for a prompt.
const LONGEST_PROMPT: usize = 60;

/// True for a command of a tool that is known here.
fn is_known(typed: &str) -> bool {
    let Some(program) = typed.split_whitespace().find(|word| *word != "sudo") else {
        return false;
    };
    let program = program.rsplit('/').next().unwrap_or(program);
    PROGRAMS.contains(program)
}

/// The programs that the tools are started with.
static PROGRAMS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let commands = super::TOOLS.iter().flat_map(|tool| tool.commands);
    let programs = commands.map(|command| command.split_whitespace().next());
    programs.flatten().collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Option<Vec<&str>> {
        let line = Line {
            number: 1,
            text: line,
        };
        match heading(&line)? {
            Heading::Command(command) => Some(command.words),
            Heading::Host(_) | Heading::Machine(_) => None,
        }
    }

    #[test]
    fn prompts_of_all_systems() {
        let expected = ["partedUtil", "get", "/dev/x"];
        for prompt in [
            "~ # ",
            "/vmfs/volumes # ",
            "[root@esx-1:~] ",
            "[root@esx-1] ",
            "[root@db1 ~]# ",
            "root@db1:~# ",
            "C:\\>",
        ] {
            let line = format!("{prompt}partedUtil get /dev/x");
            assert_eq!(typed(&line).as_deref(), Some(&expected[..]), "{line}");
        }
        let lsblk = ["sudo", "lsblk", "-o", "NAME"];
        for prompt in ["➜  ~ ", "❯ ", "db1% ", "bash-4.2$ ", "#", "db1 /root> "] {
            let line = format!("{prompt}sudo lsblk -o NAME | grep -i block");
            assert_eq!(typed(&line).as_deref(), Some(&lsblk[..]), "{line}");
        }
        for line in ["a # b", "[root@esx 1:~] x", "no prompt"] {
            assert_eq!(typed(line), None, "{line}");
        }
    }

    #[test]
    fn commands_name_the_machines_that_they_ask() {
        let of = |text: &'static str| {
            let line = Line { number: 1, text };
            asked(&command(&line, text))
        };
        for (text, name) in [
            ("wmic /node:WEB1 partition get Name", Some("WEB1")),
            ("winrs -r:SQL2 wmic partition", Some("SQL2")),
            ("Get-Partition -CimSession db1 -DiskNumber 2", Some("db1")),
            ("psexec.exe \\\\db9 wmic partition", Some("db9")),
            ("wmic /node:@list.txt partition", None),
            ("diskpar -i 0", None),
        ] {
            assert_eq!(of(text), name, "{text}");
        }
    }

    #[test]
    fn titles_and_prompts_name_machines() {
        let of = |text: &'static str| match heading(&Line { number: 1, text })? {
            Heading::Machine(name) => Some(name),
            _ => None,
        };
        for (text, name) in [
            (r"\\sql3:", "sql3"),
            ("===== FS01 =====", "FS01"),
            ("-- Server: sql-2 --", "sql-2"),
            ("Computer: SQLPROD4", "SQLPROD4"),
            ("Server B:", "B"),
            ("db3 | CHANGED | rc=0 >>", "db3"),
            ("ok: [db4.example.org] => {", "db4.example.org"),
        ] {
            assert_eq!(of(text), Some(name), "{text}");
        }
        for text in [
            "===== sda1 =====",
            "--- Physical volume ---",
            "==> fdisk1.txt <==",
            "---- Drive 0 Geometry Infomation ----",
            "Host: scsi0 Channel: 00 Id: 00 Lun: 00",
            "Server           : SQL12",
            "=== START OF INFORMATION SECTION ===",
            "-------------  ----------------  -------  -------",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
        for (text, name) in [
            ("[web2]: PS C:\\> Get-Disk", Some("web2")),
            ("root@db1:~# lsblk", Some("db1")),
            ("[root@esx-1:~] partedUtil get x", Some("esx-1")),
            ("C:\\>wmic", None),
            ("~ # ls", None),
        ] {
            assert_eq!(machine_of_prompt(text), name, "{text}");
        }
    }
}
