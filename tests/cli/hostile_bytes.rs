//! No byte of what comes from outside reaches stdout or stderr as it is, where a terminal would obey it, or a spreadsheet take
//! it for a formula: names of files, labels, names in headers, captured text, profiles, studies, job files, parameters.
//!
//! Styles are forced on, as on a terminal. Those of the report are removed by name before anything is looked for, and the
//! style in what is hostile is another one: one that came through whole would be seen.

use crate::support::{repository, scratch, tool};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use straddle_testkit::is_soak;

/// Every control character but NUL, which no name can hold, the bidirectional and invisible ones, a style, and a line that
/// is not there; at most 255 bytes long, as a name. It begins like a formula.
fn hostile() -> String {
    let mut text = "=1+1\u{1b}[45mX\u{1b}]0;title\u{7}\u{9b}2J\r\nFORGED: yes\n\t".to_owned();
    text.extend('\u{1}'..='\u{1f}');
    text.extend('\u{7f}'..='\u{9f}');
    text.push_str("\u{ad}\u{61c}\u{200b}\u{200e}\u{2028}\u{2029}\u{202e}\u{2066}\u{feff}\u{e0041}");
    text
}

/// The same without line breaks, for what is read line by line.
fn hostile_line() -> String {
    hostile().replace(
        [
            '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
        ],
        "",
    )
}

fn is_unprintable(c: char) -> bool {
    c.is_control()
        || "\u{ad}\u{61c}\u{200b}\u{200e}\u{2028}\u{2029}\u{202e}\u{2066}\u{feff}\u{e0041}"
            .contains(c)
}

/// The styles that the report itself uses.
const OWN: &[&str] = &[
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[4m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[34m",
    "\u{1b}[36m",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Csv,
}

struct Said {
    stdout: String,
    stderr: String,
}

fn run(here: &Path, args: &[&str]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_straddle"))
        .env("STRADDLE_HISTORY", "none")
        .args(args)
        .current_dir(here)
        .env("CLICOLOR_FORCE", "1")
        .env("COLUMNS", "100")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .expect("straddle runs");
    assert!(
        output.status.code().is_some_and(|code| code <= 2),
        "{args:?}"
    );
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    Said {
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Asserts that nothing hostile is in what a run says, and that something of it was said: else it proves nothing.
#[track_caller]
fn clean(here: &Path, args: &[&str], form: Form) -> Said {
    let said = run(here, args);
    let mut quoted = false;
    for (stream, text) in [("stdout", &said.stdout), ("stderr", &said.stderr)] {
        let mut plain = text.clone();
        for own in OWN {
            plain = plain.replace(own, "");
        }
        if let Some(at) = plain.find(|c| is_unprintable(c) && c != '\n' && c != '\t') {
            let from = plain[..at].rfind('\n').unwrap_or(0);
            let to = plain[at..].find('\n').map_or(plain.len(), |end| at + end);
            panic!(
                "{stream} of {args:?} holds {:?} in {:?}",
                plain[at..].chars().next(),
                &plain[from..to]
            );
        }
        for line in plain.lines() {
            assert!(
                !line.trim_start().starts_with("FORGED"),
                "{stream} of {args:?}: {plain}"
            );
        }
        quoted |= plain.contains("FORGED");
    }
    assert!(
        quoted,
        "{args:?} says nothing of it: {}{}",
        said.stdout, said.stderr
    );
    match form {
        Form::Text => {}
        Form::Json => {
            let _: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
        }
        Form::Csv => {
            for cell in cells(&said.stdout) {
                let is_formula = cell.trim_start().starts_with(['=', '+', '-', '@']);
                assert!(
                    !is_formula || cell.parse::<f64>().is_ok(),
                    "{args:?}: {cell}"
                );
            }
        }
    }
    said
}

/// The cells of CSV, by its grammar.
fn cells(text: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let (mut in_quotes, mut before) = (false, ' ');
    for c in text.chars() {
        match c {
            '"' => {
                if !in_quotes && before == '"' {
                    cells.last_mut().expect("one").push('"');
                }
                in_quotes = !in_quotes;
            }
            ',' | '\n' if !in_quotes => cells.push(String::new()),
            c => cells.last_mut().expect("one").push(c),
        }
        before = c;
    }
    cells
}

/// A disk with one partition, at sector 63.
fn disk() -> Vec<u8> {
    let mut bytes = vec![0; 1 << 20];
    bytes[450] = 7;
    bytes[454] = 63;
    bytes[458..462].copy_from_slice(&1000_u32.to_le_bytes());
    bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
    bytes
}

const FORMS: [(&[&str], Form); 3] = [
    (&[], Form::Text),
    (&["--json"], Form::Json),
    (&["--format", "csv"], Form::Csv),
];

#[test]
fn names_of_files() {
    let here = scratch();
    let here = here.path();
    let name = hostile();
    fs::write(here.join(&name), disk()).expect("any name");
    fs::write(here.join(format!("{name}2")), disk()).expect("any name");
    for (format, form) in FORMS {
        for rest in [&[][..], &["--summary"], &["--details"]] {
            for targets in [&[name.as_str()][..], &["."]] {
                let args = [&["check", "--stripe-unit", "64K"], format, rest, targets].concat();
                let is_said = !(form == Form::Json && rest == ["--summary"] && targets.len() > 1);
                if is_said {
                    let said = clean(here, &args, form);
                    if form == Form::Json && rest.is_empty() && targets == [name.as_str()] {
                        let read: serde_json::Value =
                            serde_json::from_str(&said.stdout).expect("JSON");
                        assert_eq!(read["targets"][0]["target"], name);
                    }
                }
            }
        }
    }
    let nothing = format!("{name}-absent");
    let (mut runs, mut quoted) = (0, 0);
    for args in [
        &["check", &nothing][..],
        &["check", "--sysroot", &nothing],
        &["check", "--sysroot", &name],
        &["check", "--as", "text", &name],
        &["check", &name, "--of", &name],
        &["check", &name, "--guest-file", &name],
        &["check", &name, "--io", &name],
        &["check", &name, "--format", &name],
        &["check", &name, "--as", &name],
        &["check", &format!("--FORGED{}", &name[1..])],
        &[&name],
        &["explain", &name],
        &["schema", &name],
        &["completions", &name],
        &["fix", &name],
        &["fix", &name, "--json"],
        &["fix", &name, "--script", &name],
        &["fix", &name, "--script", "sfdisk"],
        &["fix", &name, "--verify", &nothing],
        &["fix", &name, "--verify", &name],
        &["fix", &name, "--only", &name],
        &["fix", &name, "--profile", &nothing],
        &["bench", "--dry-run", &nothing],
        &["bench", "--dry-run", &name],
        &["bench", "--dry-run", ".", "--offsets", &name],
        &["bench", "--job", &nothing],
        &["bench", "--resume", &nothing],
        &["predict", "--stack", &name],
        &["predict", "--stack", &nothing],
        &["predict", "--stack", &name, "--profile", &name],
        &["predict", "--profile", "eva8100", "--set", &name],
        &[
            "predict",
            "--profile",
            "eva8100",
            "--set",
            &format!("disk.{name}=1"),
        ],
        &["predict", "--profile", "eva8100", "--compare", &name],
        &["predict", "--profile", "eva8100", "--offsets", &name],
        &[
            "predict",
            "--stack",
            &name,
            "--partition",
            &name,
            "--profile",
            "eva8100",
        ],
        &["profile", "show", &name],
        &["profile", "show", &format!("./{name}.toml")],
        &["study", &name],
        &["study", &format!("./{name}.toml")],
        &["capture", "--output", &format!("{nothing}/x")],
        &["sqlio", "-kR", "-s1", "-o1", &name],
        &["sqlio", &format!("-k{name}"), "x"],
        &["sqlio", &format!("-F{nothing}")],
        &["diskspd", &nothing],
        &["diskspd", "-d1", "-W0", &name],
        &["diskspd", &format!("-b{name}"), "x"],
    ] {
        let said = clean_if_said(here, args);
        assert!(
            !said
                .lines()
                .any(|line| line.trim_start().starts_with("FORGED")),
            "{said}"
        );
        runs += 1;
        quoted += usize::from(said.contains("FORGED"));
    }
    // Nearly all say what was wrong.
    assert!(quoted > 40, "{quoted} of {runs}");
}

#[test]
fn labels_and_names_in_headers() {
    let here = scratch();
    let here = here.path();
    let name = hostile();
    let shell = |package: &str, program: &str, args: &[&str]| {
        tool(package, Command::new(program).args(args).current_dir(here))
    };
    shell(
        "qemu-utils",
        "qemu-img",
        &[
            "create",
            "-q",
            "-f",
            "qcow2",
            "-u",
            "-b",
            &format!("./{name}"),
            "-F",
            "raw",
            "over.qcow2",
            "1M",
        ],
    );
    let extent = hostile_line();
    fs::write(
        here.join("flat.vmdk"),
        format!(
            "# Disk DescriptorFile\nversion=1\nCID=fffffffe\nparentCID=ffffffff\ncreateType=\"monolithicFlat\"\n\
             RW 2048 FLAT \"{extent}\" 0\n"
        ),
    )
    .expect("a scratch file");
    // UTF-16 in a GPT, bytes in a superblock.
    shell("coreutils", "truncate", &["-s", "4M", "gpt.img"]);
    let table = "printf 'label: gpt\\nstart=63,name=\"FORGED-FORGED\"\\n' | sfdisk -q gpt.img";
    shell("fdisk", "sh", &["-c", table]);
    replace(
        &here.join("gpt.img"),
        &utf16("FORGED-FORGED"),
        &utf16("\u{1b}[45m\u{202e}FORGED"),
    );
    shell("coreutils", "truncate", &["-s", "4M", "ext.img"]);
    shell(
        "e2fsprogs",
        "mkfs.ext4",
        &[
            "-q",
            "-O",
            "^metadata_csum,^metadata_csum_seed",
            "-L",
            "FORGED-FORGED",
            "ext.img",
        ],
    );
    replace(
        &here.join("ext.img"),
        b"FORGED-FORGED",
        b"\x1b[45m\xc2\x9bFORGED",
    );
    for (file, is_named) in [
        ("over.qcow2", true),
        ("flat.vmdk", true),
        ("gpt.img", false),
        ("ext.img", false),
    ] {
        for (format, form) in FORMS {
            let args = [&["check", "--as", "image", file], format].concat();
            // A line of CSV has a partition's name, and no label.
            match is_named && form != Form::Csv {
                true => drop(clean(here, &args, form)),
                false => drop(clean_if_said(here, &args)),
            }
        }
    }
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Replaces bytes wherever they are, by as many.
fn replace(path: &Path, from: &[u8], to: &[u8]) {
    let mut bytes = fs::read(path).expect("a scratch file");
    let mut found = 0;
    for at in 0..bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
            found += 1;
        }
    }
    assert!(found > 0);
    fs::write(path, bytes).expect("a scratch file");
}

/// As [`clean`], of what may well not be said.
#[track_caller]
fn clean_if_said(here: &Path, args: &[&str]) -> String {
    let said = run(here, args);
    let mut all = said.stdout + &said.stderr;
    for own in OWN {
        all = all.replace(own, "");
    }
    let bad = all.find(|c| is_unprintable(c) && c != '\n' && c != '\t');
    assert_eq!(
        bad.map(|at| &all[at..(at + 40).min(all.len())]),
        None,
        "{args:?}"
    );
    all
}

/// Captures of the corpus with something hostile in each of their lines: every other one as text and every eighth as JSON and as CSV, or
/// with `STRADDLE_SOAK=1` all.
#[test]
fn captured_text() {
    let here = scratch();
    let here = here.path();
    let few = scratch();
    let few = few.path();
    let mut files = Vec::new();
    files_below(&repository().join("tests/captured"), &mut files);
    let hostile = "\u{1b}[45m\u{9b}2J\u{202e}\u{8}FORGED";
    let mut number = 0;
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        // Behind the last word of a line, and in the middle of its longest one.
        for inside in [false, true] {
            let mut out = String::new();
            for line in text.lines() {
                let end = line
                    .trim_end_matches([',', '"', ' ', '}', ']', ';', '|'])
                    .len();
                let longest = line.split(' ').max_by_key(|word| word.len()).unwrap_or("");
                let middle = longest
                    .char_indices()
                    .nth(longest.chars().count() / 2)
                    .map_or(0, |(at, _)| at);
                let word = line.find(longest).unwrap_or(0) + middle;
                let at = if inside { word } else { end };
                out.push_str(&line[..at]);
                // JSON takes no control characters as they are.
                match text.trim_start().starts_with(['{', '[']) {
                    true => out.push_str("\\u001b[45m\\u009b\\u202e\\u0008FORGED"),
                    false => out.push_str(hostile),
                }
                out.push_str(&line[at..]);
                out.push('\n');
            }
            let name = format!("{number:04}.txt");
            // Both places, as there are two of each capture: of half of the captures for every commit.
            if is_soak() || number / 2 % 8 == 0 {
                fs::write(few.join(&name), &out).expect("a scratch file");
            }
            if is_soak() || number / 2 % 2 == 0 {
                fs::write(here.join(name), out).expect("a scratch file");
            }
            number += 1;
        }
    }
    assert!(number > 200, "{number}");
    let details = ["check", "--as", "text", "--details", "."];
    let said = clean_if_said(here, &details);
    assert!(
        said.matches("FORGED").count() > 100,
        "{}",
        said.matches("FORGED").count()
    );
    clean_if_said(few, &["check", "--as", "text", "--json", "."]);
    clean_if_said(few, &["check", "--as", "text", "--format", "csv", "."]);
}

fn files_below(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files_below(&path, files);
        } else {
            files.push(path);
        }
    }
    files.sort();
}

#[test]
fn words_of_profiles_studies_and_job_files() {
    let here = scratch();
    let here = here.path();
    let name = hostile();
    // TOML has no control characters as they are, but names them.
    let toml: String = name
        .chars()
        .map(|c| format!("\\U{:08x}", u32::from(c)))
        .collect();
    let put = |file: &str, text: String| fs::write(here.join(file), text).expect("a scratch file");
    let wrong = [
        format!("title = \"{toml}\"\n[{}]\n", quoted(&toml)),
        format!("title = \"t\"\n[disk]\n{} = 1\n", quoted(&toml)),
        format!("title = \"t\"\n[disk]\nformat = {{ value = \"{toml}\", assumed = \"a\" }}\n"),
        format!("device = \"{toml}\"\n"),
        format!("title = \"t\"\nFORGED {name}\n"),
    ];
    let mut quoted_back = 0;
    for text in wrong {
        put("p.toml", text);
        for args in [
            ["profile", "show", "./p.toml"],
            ["predict", "--profile", "./p.toml"],
        ] {
            quoted_back += usize::from(clean_if_said(here, &args).contains("FORGED"));
        }
    }
    assert!(quoted_back >= 8, "{quoted_back}");
    let ssd = repository().join("profiles").join("ssd-2010-slc.toml");
    let base = fs::read_dir(repository().join("profiles")).expect("profiles");
    let base = base
        .map(|entry| entry.expect("readable").path())
        .min()
        .expect("one");
    let text = fs::read_to_string(if ssd.exists() { ssd } else { base }).expect("a profile");
    let (_, rest) = text.split_once('\n').expect("lines");
    put("good.toml", format!("title = \"{toml}\"\n{rest}"));
    clean(here, &["profile", "show", "./good.toml"], Form::Text);
    clean(
        here,
        &["profile", "show", "./good.toml", "--json"],
        Form::Json,
    );
    for text in [
        format!("title = \"{toml}\"\n"),
        format!(
            "title = \"t\"\nsource = \"s\"\nconfiguration = \"c\"\nprofile = \"{toml}\"\nidentifies = \"i\"\nwithin = 1\n[workload]\n{} = 1\n",
            quoted(&toml)
        ),
        format!("{} = 1\n", quoted(&toml)),
    ] {
        put("s.toml", text);
        clean_if_said(here, &["study", "./s.toml"]);
    }
    let line = hostile_line();
    for text in [
        format!("[{line}]\nrw={line}\n"),
        format!("[job]\n{line}=1\n"),
        format!("[job]\nbs={line}\n"),
        format!("[job]\nrw=randread\nfilename={line}\nioengine={line}\nsize=1M\nruntime=1\n"),
        format!("{line}\n"),
    ] {
        put("job.fio", text);
        let said = clean_if_said(here, &["bench", "--dry-run", "--job", "job.fio"]);
        // Long words are cut short.
        assert!(said.contains("\\u{1b}"), "{said}");
    }
    for text in [
        format!("{line} 1 0x0 1\n"),
        format!("x.dat {line} 0x0 1\n"),
        format!("x.dat 1 {line} 1\n"),
    ] {
        put("param.txt", text);
        clean_if_said(here, &["sqlio", "-kR", "-s1", "-Fparam.txt"]);
    }
    // Plans to be verified.
    fs::write(here.join("disk.img"), disk()).expect("a scratch file");
    let mut plan: serde_json::Value =
        serde_json::from_str(&run(here, &["fix", "disk.img", "--json"]).stdout).expect("JSON");
    fill(&mut plan, &name);
    put("plan.json", plan.to_string());
    clean_if_said(here, &["fix", "disk.img", "--verify", "plan.json"]);
    put(
        "schema.json",
        format!("{{\"schema\":{}}}", serde_json::json!(name)),
    );
    clean_if_said(here, &["fix", "disk.img", "--verify", "schema.json"]);
}

/// A key of TOML.
fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// Puts `text` behind every string but the schema and codes of rules.
fn fill(value: &mut serde_json::Value, text: &str) {
    match value {
        serde_json::Value::String(string)
            if !string.starts_with("STR") && !string.starts_with("straddle.") =>
        {
            string.push_str(text);
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(|value| fill(value, text)),
        serde_json::Value::Object(fields) => {
            fields.values_mut().for_each(|value| fill(value, text))
        }
        _ => {}
    }
}

#[test]
fn a_benchmark_and_a_capture_with_a_hostile_name() {
    let here = scratch();
    let here = here.path();
    let name = hostile();
    fs::create_dir(here.join(&name)).expect("any name");
    let quick = [
        "--size",
        "2M",
        "--runtime",
        "20ms",
        "--warm-up",
        "0s",
        "--blocks",
        "2-2",
        "--offsets",
        "unaligned,64K",
    ];
    for (format, form) in [
        ("text", Form::Text),
        ("json", Form::Json),
        ("csv", Form::Csv),
        ("runs", Form::Csv),
        ("svg", Form::Text),
        ("fio", Form::Json),
    ] {
        let args = [&["bench", name.as_str(), "--format", format], &quick[..]].concat();
        let said = clean_if_said(here, &args);
        if form == Form::Csv {
            for cell in cells(&said) {
                assert!(!cell.trim_start().starts_with('='), "{cell}");
            }
        }
    }
    let archive = format!("{name}.tar.gz");
    clean(here, &["capture", "--output", &archive], Form::Text);
    let permissions = fs::metadata(here.join(&archive))
        .expect("made")
        .permissions();
    let mode = std::os::unix::fs::PermissionsExt::mode(&permissions);
    assert_eq!(mode & 0o7777, 0o600);
    clean(here, &["check", "--sysroot", &archive], Form::Text);
    clean(
        here,
        &["check", "--sysroot", &archive, "--json"],
        Form::Json,
    );
}
