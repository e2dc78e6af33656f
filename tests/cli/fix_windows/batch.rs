//! The grammar of `.cmd` files, as far as scripts of straddle use it.

use std::collections::BTreeSet;

/// Commands that may stand at the beginning of a line, and the tools among them, after which the error level must be looked at.
const COMMANDS: [&str; 14] = [
    "@echo", "rem", "setlocal", "set", "if", "for", "goto", "shift", "echo", "exit", "pause", "md",
    "ver", "find",
];
const TOOLS: [&str; 5] = ["diskpart", "diskpar", "format", "find", "md"];

/// What is wrong with a script; empty when nothing is.
pub(crate) fn faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.replace("\r\n", "").contains(['\r', '\n']) {
        faults.push("a line does not end in CR LF".to_owned());
    }
    if !text.is_ascii() {
        faults.push("not ASCII".to_owned());
    }
    let lines: Vec<&str> = text.lines().collect();
    if lines.first() != Some(&"@echo off") {
        faults.push("it does not begin with @echo off".to_owned());
    }
    if !lines.contains(&"setlocal EnableExtensions DisableDelayedExpansion") {
        faults.push("delayed expansion is not off".to_owned());
    }
    let labels: BTreeSet<&str> = lines
        .iter()
        .filter_map(|line| line.strip_prefix(':'))
        .collect();
    let count = lines.iter().filter(|line| line.starts_with(':')).count();
    if count != labels.len() {
        faults.push("a label stands twice".to_owned());
    }
    let mut set = BTreeSet::new();
    for line in &lines {
        for part in line.split("set ").skip(1) {
            let name = part.trim_start_matches("/a ").trim_start_matches('"');
            let name: String = name
                .chars()
                .take_while(char::is_ascii_alphanumeric)
                .collect();
            set.insert(name);
        }
    }
    for (index, line) in lines.iter().enumerate() {
        let number = index + 1;
        let mut fault = |what: String| faults.push(format!("line {number}: {what}: {line}"));
        if line.is_empty() || line.starts_with(':') {
            continue;
        }
        let rest = line.strip_prefix("rem");
        if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with(' ')) {
            if rest.contains(['&', '|', '<', '>', '^']) || odd_percent(rest, &set, false) {
                fault("a remark that means something".to_owned());
            }
            continue;
        }
        if line.matches('"').count() % 2 != 0 {
            fault("quotes do not balance".to_owned());
        }
        if odd_percent(line, &set, line.contains("for /f ")) {
            fault("a percent sign that is no variable".to_owned());
        }
        if balance(line) != 0 {
            fault("parentheses do not balance".to_owned());
        }
        let (command, _) = run_by(line);
        if !COMMANDS.contains(&command) && !TOOLS.contains(&command) {
            fault(format!("{command:?} is no command"));
        }
        for target in line.split("goto ").skip(1) {
            let label = target.split_whitespace().next().unwrap_or_default();
            if !labels.contains(label) {
                fault(format!("there is no label {label}"));
            }
        }
        if TOOLS.contains(&command) || line.contains("| find") {
            let next = lines.get(number).copied().unwrap_or_default();
            if !next.starts_with("if errorlevel 1 goto ")
                && !next.starts_with("if not errorlevel 1 ")
            {
                fault("the error level is not looked at in the next line".to_owned());
            }
        }
        if line.starts_with("if errorlevel") || line.starts_with("if not errorlevel") {
            let before = index.checked_sub(1).and_then(|at| lines.get(at));
            if before.is_none_or(|before| before.starts_with("set ")) {
                // In a .cmd file `set` puts the error level back to 0.
                fault("set stands between a command and its error level".to_owned());
            }
        }
        if outside_quotes(line).contains('^')
            || outside_quotes(line).contains('&')
            || line.contains('!') && !line.contains('"')
        {
            fault("a sign with a meaning outside quotes".to_owned());
        }
    }
    faults
}

/// The command of a line, behind a redirection and what it hangs on.
fn run_by(line: &str) -> (&str, &str) {
    let mut rest = line;
    for redirection in [">> ", "> "] {
        if let Some(after) = rest.strip_prefix(redirection) {
            rest = after.split_once("\" ").map_or("", |(_, after)| after);
        }
    }
    rest.split_once(' ').unwrap_or((rest, ""))
}

fn outside_quotes(line: &str) -> String {
    line.split('"').step_by(2).collect()
}

fn balance(line: &str) -> i32 {
    let text = outside_quotes(line);
    // Only a block needs them to balance: text that is echoed may have one.
    if line.starts_with("echo ") || line.contains(" echo ") {
        return 0;
    }
    let sign = |c| match c {
        '(' => 1,
        ')' => -1,
        _ => 0,
    };
    text.chars().map(sign).sum()
}

/// True when a percent sign is neither doubled nor part of a variable that the script sets, of an argument, or of a `for`.
fn odd_percent(line: &str, set: &BTreeSet<String>, is_for: bool) -> bool {
    let mut rest = line;
    while let Some((_, after)) = rest.split_once('%') {
        if let Some(doubled) = after.strip_prefix('%') {
            let is_loop = doubled.starts_with(['a', 'b', 'c']);
            rest = if is_for && is_loop {
                doubled.get(1..).unwrap_or_default()
            } else {
                doubled
            };
            continue;
        }
        let argument = ["~1", "~nx0"]
            .iter()
            .find_map(|name| after.strip_prefix(*name));
        if let Some(behind) = argument {
            rest = behind;
            continue;
        }
        let Some((name, behind)) = after.split_once('%') else {
            return true;
        };
        let bare = name.split(':').next().unwrap_or_default();
        if !set.contains(bare) && !["TEMP", "RANDOM", "SystemDrive"].contains(&bare) {
            return true;
        }
        rest = behind;
    }
    false
}

/// The lines that a script writes into a file by `echo`, unquoted once as `cmd` does.
pub(crate) fn echoed(text: &str, file: &str) -> Vec<String> {
    let marks = [
        format!("> \"%work%\\{file}\" echo "),
        format!(">> \"%work%\\{file}\" echo "),
    ];
    text.lines()
        .filter_map(|line| {
            let line = line.strip_prefix("if not defined old ").unwrap_or(line);
            marks
                .iter()
                .find_map(|mark| line.strip_prefix(mark.as_str()))
        })
        .map(|line| line.replace("%disk%", "1").replace("%%", "%"))
        .collect()
}
