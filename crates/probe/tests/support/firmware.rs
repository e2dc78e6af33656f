//! Disks with the metadata of firmware RAID, made by `tests/makers/firmware-raid.pl`, and what the probers make of them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use straddle_io::Reader;
use straddle_probe::volume::{Assembly, Node, Part, Recognised, VolumeFormat};
use straddle_probe::{Window, registry};
use straddle_stack::{Key, Value};

/// Makes the disks of a description in `directory`; gives their names and contents, in its order.
///
/// # Panics
/// When perl is missing or does not like the description.
pub fn make(directory: &Path, description: &str) -> Vec<(String, Vec<u8>)> {
    let maker = straddle_testkit::repository().join("tests/makers/firmware-raid.pl");
    let mut child = Command::new("perl")
        .arg(maker)
        .arg(directory)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| {
            panic!("perl: {error}; this test needs the Debian package perl-base")
        });
    let mut input = child.stdin.take().expect("piped");
    input.write_all(description.as_bytes()).expect("it reads");
    drop(input);
    let status = child.wait().expect("it ends");
    assert!(status.success(), "perl firmware-raid.pl: {status}");
    let disks = description
        .lines()
        .filter_map(|line| line.trim().strip_prefix("disk "))
        .filter(|line| !line.contains("missing=1"))
        .map(|line| line.split(' ').next().expect("a name").to_owned());
    disks
        .map(|name| {
            let bytes = fs::read(directory.join(format!("{name}.img"))).expect("it was made");
            (name, bytes)
        })
        .collect()
}

/// The disks of a description in a directory of their own.
///
/// # Panics
/// As [`make`].
pub fn made(description: &str) -> Vec<(String, Vec<u8>)> {
    let directory = tempfile::tempdir().expect("a directory");
    make(directory.path(), description)
}

fn format(name: &str) -> &'static VolumeFormat {
    let mut all = registry::VOLUMES.iter();
    all.find(|format| format.name == name)
        .copied()
        .expect("it is registered")
}

/// What one disk says of itself.
///
/// # Panics
/// When it cannot be read.
pub fn recognised(name: &str, disk: &[u8]) -> Option<Recognised> {
    let reader = Reader::new(&disk);
    let window = Window::whole(&reader, None);
    format(name).run(&window).expect("readable")
}

/// What the disks make together, in the order given.
///
/// # Panics
/// When they cannot be read.
pub fn assembled(name: &str, disks: &[(String, Vec<u8>)]) -> Assembly {
    let readers: Vec<Reader<'_>> = disks.iter().map(|(_, bytes)| Reader::new(bytes)).collect();
    let parts: Vec<Part<'_>> = readers
        .iter()
        .zip(disks)
        .map(|(reader, (name, _))| Part {
            window: Window::whole(reader, None),
            name,
            serial: None,
        })
        .collect();
    (format(name).assemble)(&parts).expect("readable")
}

/// The node of this name.
///
/// # Panics
/// When there is none.
pub fn node<'a>(assembly: &'a Assembly, name: &str) -> &'a Node {
    let mut all = assembly.nodes.iter();
    all.find(|node| node.layer.name == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

/// All texts under one key.
pub fn texts(node: &Node, key: Key) -> Vec<String> {
    let all = node.layer.attributes.iter().filter(|a| a.key == key);
    all.map(|attribute| match &attribute.value.value {
        Value::Text(text) => text.to_string(),
        other => other.to_string(),
    })
    .collect()
}

/// What is odd about a node, as text.
pub fn odd(node: &Node) -> String {
    let all = node.layer.anomalies.iter();
    all.map(|anomaly| format!("{}: {}\n", anomaly.kind.name(), anomaly.detail))
        .collect()
}
