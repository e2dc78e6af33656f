//! The commands that findings name are those of tools whose output is read.

use straddle::rules::COMMANDS;
use straddle::sources::captured::TOOLS;

/// The program, without the ending by which the builds of a RAID controller's tool differ.
fn program(command: &str) -> String {
    let word = command.split_whitespace().next().unwrap_or_default();
    word.to_ascii_lowercase().trim_end_matches("64").to_owned()
}

#[test]
fn what_a_finding_asks_for_can_be_read() {
    let read: Vec<String> = TOOLS
        .iter()
        .flat_map(|tool| tool.commands)
        .map(|command| program(command))
        .collect();
    let unread: Vec<&str> = COMMANDS
        .iter()
        .map(|supply| supply.command)
        .filter(|command| !read.contains(&program(command)))
        .collect();
    assert!(unread.is_empty(), "{unread:#?}");
}
