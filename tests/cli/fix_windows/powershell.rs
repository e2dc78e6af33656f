//! What PSScriptAnalyzer would say of a script, as far as scripts of straddle go: its syntax, by the grammar that editors use;
//! commands of a list only, none by an alias; documented parameters only, none by its position; approved verbs.

use tree_sitter::{Node, Parser};

/// The commands, and their parameters. One with a `*` takes no value.
const COMMANDS: &[(&str, &[&str])] = &[
    ("Add-PartitionAccessPath", &["InputObject", "AccessPath"]),
    ("Assert-Same", &["What", "Have", "Want"]),
    (
        "Convert-VHD",
        &["Path", "DestinationPath", "VHDType", "Confirm"],
    ),
    ("ForEach-Object", &["Process"]),
    (
        "Format-Volume",
        &[
            "Partition",
            "FileSystem",
            "AllocationUnitSize",
            "NewFileSystemLabel",
            "Confirm",
        ],
    ),
    ("Get-Disk", &["Number"]),
    ("Get-Partition", &["DiskNumber"]),
    ("Get-VHD", &["Path"]),
    ("Initialize-Disk", &["Number", "PartitionStyle"]),
    ("New-Object", &["TypeName", "ArgumentList"]),
    (
        "New-Partition",
        &[
            "DiskNumber",
            "Offset",
            "Size",
            "UseMaximumSize*",
            "DriveLetter",
            "AssignDriveLetter*",
        ],
    ),
    ("Remove-Partition", &["InputObject", "Confirm"]),
    ("Remove-PartitionAccessPath", &["InputObject", "AccessPath"]),
    ("Resolve-Path", &["LiteralPath"]),
    ("Set-Partition", &["InputObject", "NoDefaultDriveLetter"]),
    ("Set-StrictMode", &["Version"]),
    ("Sort-Object", &["Property"]),
    ("Test-Path", &["LiteralPath"]),
    ("Where-Object", &["FilterScript"]),
    ("Write-Output", &["InputObject"]),
];
/// Verbs of `Get-Verb` that functions here may have.
const VERBS: [&str; 4] = ["Assert", "Get", "Set", "Test"];

/// What is wrong with a script; empty when nothing is.
pub(crate) fn faults(source: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if !source.is_ascii() {
        faults.push("not ASCII, which Windows PowerShell reads in any code page".to_owned());
    }
    for (needed, what) in [
        ("#Requires -Version 3.0", "no #Requires"),
        (
            "[CmdletBinding(SupportsShouldProcess = $true, ConfirmImpact = 'High')]",
            "no SupportsShouldProcess",
        ),
        ("Set-StrictMode -Version 2.0", "no Set-StrictMode"),
        ("$ErrorActionPreference = 'Stop'", "errors do not stop it"),
        ("$PSCmdlet.ShouldProcess(", "ShouldProcess is not asked"),
    ] {
        if !source.contains(needed) {
            faults.push(what.to_owned());
        }
    }
    let mut parser = Parser::new();
    let language = tree_sitter_powershell::LANGUAGE.into();
    parser
        .set_language(&language)
        .expect("a grammar of this version");
    let tree = parser.parse(source, None).expect("a tree");
    let mut open = vec![tree.root_node()];
    while let Some(node) = open.pop() {
        let line = node.start_position().row + 1;
        let text = source.get(node.byte_range()).unwrap_or_default();
        if node.is_error() || node.is_missing() {
            faults.push(format!("line {line}: no PowerShell: {text}"));
        }
        match node.kind() {
            "command" => faults
                .extend(command(node, source).map(|why| format!("line {line}: {why}: {text}"))),
            "function_name"
                if !VERBS
                    .iter()
                    .any(|verb| text.starts_with(&format!("{verb}-"))) =>
            {
                faults.push(format!("line {line}: {text} has no approved verb"));
            }
            _ => {}
        }
        let mut cursor = node.walk();
        open.extend(node.children(&mut cursor));
    }
    // What writes stands behind all checks.
    let writes = [
        "Remove-Partition",
        "New-Partition",
        "Format-Volume",
        "Convert-VHD -",
    ]
    .iter();
    let first = writes.filter_map(|name| source.find(name)).min();
    let asked = source
        .find("$PSCmdlet.ShouldProcess(")
        .unwrap_or(usize::MAX);
    if first.is_some_and(|first| {
        first < asked
            || source
                .rfind("Assert-Same -What")
                .is_none_or(|last| last > first)
    }) {
        faults.push("it writes before it has checked and asked".to_owned());
    }
    faults
}

fn command(node: Node<'_>, source: &str) -> Option<String> {
    let text = |node: Node<'_>| source.get(node.byte_range()).unwrap_or_default();
    let name = node
        .child_by_field_name("command_name")
        .map(text)
        .unwrap_or_default();
    let Some((_, parameters)) = COMMANDS.iter().find(|(known, _)| *known == name) else {
        return Some(format!(
            "{name:?} is no command that it may call, or an alias"
        ));
    };
    let mut expects = false;
    let elements = node.child_by_field_name("command_elements")?;
    let mut cursor = elements.walk();
    for element in elements.children(&mut cursor) {
        let word = text(element);
        if element.kind() == "command_argument_sep" || word.trim().is_empty() {
            continue;
        }
        if element.kind() == "command_parameter" {
            let bare = word.trim_start_matches('-').trim_end_matches(':');
            let switch = format!("{bare}*");
            if expects {
                return Some(format!("a parameter before {word} has no value"));
            }
            if !parameters
                .iter()
                .any(|known| *known == bare || *known == switch)
            {
                return Some(format!("{name} has no {word}"));
            }
            expects = !parameters.contains(&switch.as_str());
        } else if expects {
            expects = false;
        } else {
            return Some(format!("{word} is given by its position"));
        }
    }
    expects.then(|| "the last parameter has no value".to_owned())
}
