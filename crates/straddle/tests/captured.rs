//! Captured text: every file below `tests/captured`, and every folder that ends in `.server`, has its expected facts
//! beside it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use straddle::rules::{Context, Options, check};
use straddle::sources::Settings;
use straddle::sources::captured::{self, Capture, TOOLS};
use straddle::stack::{Fact, Layer, Source, Stack};

fn root() -> PathBuf {
    straddle_testkit::repository().join("tests/captured")
}

/// The cases: the files that one machine's stack is made of.
fn cases(folder: &Path, found: &mut Vec<(PathBuf, Vec<PathBuf>)>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder of captures")
        .map(|entry| entry.expect("readable").path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.to_string_lossy().into_owned();
        if name.ends_with(".server") {
            let mut files: Vec<PathBuf> = std::fs::read_dir(&path)
                .expect("a folder of captures")
                .map(|entry| entry.expect("readable").path())
                .collect();
            files.sort();
            found.push((path, files));
        } else if path.is_dir() {
            cases(&path, found);
        } else if !name.contains(".snap") && !name.ends_with(".md") {
            found.push((path.clone(), vec![path]));
        }
    }
}

fn captures(files: &[PathBuf]) -> Vec<Capture> {
    let read = |(number, path): (usize, &PathBuf)| {
        let bytes = std::fs::read(path).expect("readable");
        let name = path.file_name().expect("a file").to_string_lossy();
        let number = u32::try_from(number).expect("few");
        captured::read(&name, &bytes, false, number)
    };
    files.iter().enumerate().map(read).collect()
}

fn stack_of(captures: Vec<Capture>) -> Stack {
    let settings = Settings {
        io: Options::default().io,
        ..Settings::default()
    };
    captured::stack(captures, &settings)
}

fn source(source: &Source) -> String {
    match source {
        Source::Captured { file, line, .. } => format!("{file}:{line}"),
        Source::Derived { from } => format!("derived: {from}"),
        Source::Assumption { .. } => "assumed".to_owned(),
        other => format!("{other:?}"),
    }
}

fn fact(fact: &Fact<impl std::fmt::Display>) -> String {
    let doubt = match fact.trust {
        straddle::stack::Trust::Doubtful => ", doubtful",
        _ => "",
    };
    format!("{}  [{}{doubt}]", fact.value, source(&fact.source))
}

/// All facts of a stack with their places, then a line for each finding.
fn facts(tools: &[&str], stack: &Stack) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "tools: {}", tools.join(", "));
    for (id, layer) in stack.iter() {
        let _ = writeln!(out, "\n{}", headline(stack, layer));
        if let Some(size) = &layer.size {
            let bytes = size.clone().map(|bytes| bytes.grouped().to_string());
            let _ = writeln!(out, "  size: {}", fact(&bytes));
        }
        for below in &layer.below {
            let start = stack.start_in(id, *below);
            let start = start.map_or("?".to_owned(), |start| start.grouped().to_string());
            let _ = writeln!(out, "  on {} at {start}", stack.layer(*below).name);
        }
        if let Some(placement) = &layer.placement {
            let _ = writeln!(out, "  placed by [{}]", source(&placement.source));
        }
        for grid in &layer.grids {
            let said = grid.grid.clone().map(|grid| match grid.phase().get() {
                0 => grid.unit().to_string(),
                phase => format!("{} + {phase}", grid.unit()),
            });
            let _ = writeln!(out, "  {}: {}", grid.role.name(), fact(&said));
        }
        for attribute in &layer.attributes {
            let _ = writeln!(
                out,
                "  {}: {}",
                attribute.key.name(),
                fact(&attribute.value)
            );
        }
        for anomaly in &layer.anomalies {
            let at = anomaly.source.as_ref().map_or_else(String::new, source);
            let against = anomaly
                .against
                .as_ref()
                .map_or_else(String::new, |other| format!(" against {}", source(other)));
            let _ = writeln!(
                out,
                "  ! {}: {}  [{at}{against}]",
                anomaly.kind.name(),
                anomaly.detail
            );
        }
    }
    let options = Options::default();
    let findings = check(&Context::new(stack, &options));
    if !findings.is_empty() {
        out.push('\n');
    }
    for finding in findings {
        let _ = writeln!(
            out,
            "{}[{}] {}",
            finding.severity.name(),
            finding.code,
            finding.title
        );
    }
    out
}

fn headline(stack: &Stack, layer: &Layer) -> String {
    let _ = stack;
    let format = layer.format.as_deref().unwrap_or("");
    format!("{} {}: {format}", layer.kind.name(), layer.name)
        .trim_end_matches([' ', ':'])
        .to_owned()
}

#[test]
fn every_capture_says_what_is_expected() {
    let mut all = Vec::new();
    cases(&root(), &mut all);
    let mut tools_seen: Vec<&str> = Vec::new();
    for (path, files) in &all {
        let captures = captures(files);
        let mut tools: Vec<&str> = captures.iter().flat_map(|c| c.tools.clone()).collect();
        tools.dedup();
        tools_seen.extend(&tools);
        let text = facts(&tools, &stack_of(captures));
        let name = path.file_name().expect("a name").to_string_lossy();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(path.parent().expect("a folder"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(&*name, text));
    }
    let fuzz = straddle_testkit::repository().join("fuzz");
    let targets = std::fs::read_to_string(fuzz.join("Cargo.toml")).expect("readable");
    let entries = std::fs::read_dir(fuzz.join("fuzz_targets")).expect("fuzz targets");
    for entry in entries {
        let name = entry.expect("a file").file_name();
        let name = name.to_string_lossy();
        let tool = name
            .strip_prefix("captured-")
            .and_then(|rest| rest.strip_suffix(".rs"));
        assert!(
            tool.is_none_or(|name| TOOLS.iter().any(|tool| tool.name == name)),
            "{name} fuzzes no tool of the registry"
        );
    }
    for tool in TOOLS {
        let target = format!("captured-{}", tool.name);
        let file = fuzz.join(format!("fuzz_targets/{target}.rs"));
        assert!(
            file.exists() && targets.contains(&format!("name = \"{target}\"")),
            "there is no fuzz target {target}"
        );
        assert!(
            tools_seen.contains(&tool.name),
            "no capture below tests/captured has output of {}",
            tool.name
        );
    }
}

/// What mail, copying and full disks do to text: cut anywhere, lines lost, characters changed. Nothing panics. Of twelve changes of a file
/// three are made for every commit, one of each kind, and all with `STRADDLE_SOAK=1`.
#[test]
fn damaged_captures_are_read_without_harm() {
    let mut all = Vec::new();
    cases(&root(), &mut all);
    for (turn, (path, files)) in all.iter().enumerate() {
        for file in files {
            let bytes = std::fs::read(file).expect("readable");
            for n in 0..12_usize {
                if !straddle_testkit::is_soak() && n / 3 != turn % 4 {
                    continue;
                }
                let mut damaged = bytes.clone();
                match n % 3 {
                    0 => damaged.truncate(bytes.len() * n / 12),
                    1 => {
                        let at = bytes.len() * n / 12;
                        let end = (at + 40).min(damaged.len());
                        damaged.drain(at.min(end)..end);
                    }
                    _ => {
                        let mut at = n;
                        while at < damaged.len() {
                            damaged[at] = damaged[at].wrapping_add(u8::try_from(n).expect("small"));
                            at += 97 + n * 13;
                        }
                    }
                }
                let capture = captured::read(&path.to_string_lossy(), &damaged, false, 0);
                let stack = stack_of(vec![capture]);
                let _ = check(&Context::new(&stack, &Options::default()));
            }
        }
    }
}
