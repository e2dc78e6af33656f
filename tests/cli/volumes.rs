//! Images that belong together, on the command line: which of them become one target, and what it is called.

use crate::support::{repository, straddle};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Writes the members that a seed of the md corpus holds to `a.img`, `b.img` and so on; gives their names.
fn members(seed: &str, folder: &Path) -> Vec<String> {
    let seed = fs::read(repository().join("fuzz/corpus/md").join(seed)).expect("a seed");
    let members = straddle_testkit::sparse::members(&seed);
    let named = ('a'..).zip(members).map(|(letter, member)| {
        let name = format!("{letter}.img");
        fs::write(folder.join(&name), member).expect("writable");
        name
    });
    named.collect()
}

/// The names of the targets of `check --json`.
fn targets(folder: &Path, args: &[&str]) -> Vec<String> {
    let mut all = vec!["check", "--json", "--fail-on", "never"];
    all.extend(args);
    let run = straddle(folder, &all);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let document: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let targets = document["targets"].as_array().expect("targets");
    let name = |target: &Value| target["target"].as_str().expect("a name").to_owned();
    targets.iter().map(name).collect()
}

#[test]
fn members_are_one_target_in_whatever_way_they_are_named() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let names = members("raid5", folder.path());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let whole = names.join(" + ");
    assert_eq!(targets(folder.path(), &names), [whole.as_str()]);
    let backwards: Vec<&str> = names.iter().rev().copied().collect();
    assert_eq!(targets(folder.path(), &backwards), [backwards.join(" + ")]);
    let mut as_image = vec!["--as", "image"];
    as_image.extend(&names);
    assert_eq!(targets(folder.path(), &as_image), [whole.as_str()]);
    // The same file again, by a link too, is no further member.
    std::os::unix::fs::symlink(names[0], folder.path().join("link.img")).expect("a link");
    let mut twice = names.clone();
    twice.extend([names[0], "link.img"]);
    assert_eq!(targets(folder.path(), &twice), [whole.as_str()]);
    // What belongs to nothing stays by itself, in its place.
    fs::write(folder.path().join("other.bin"), [1; 4096]).expect("writable");
    let mut with_other = vec!["--as", "image", names[0], "other.bin"];
    with_other.extend(&names[1..]);
    assert_eq!(
        targets(folder.path(), &with_other),
        [whole.as_str(), "other.bin"]
    );
}

#[test]
fn a_folder_and_a_single_member() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let names = members("raid5", folder.path());
    let listed = names.iter().map(|name| format!("./{name}"));
    let whole = listed.collect::<Vec<_>>().join(" + ");
    assert_eq!(targets(folder.path(), &["."]), [whole]);
    let run = straddle(folder.path(), &["check", "--fail-on", "never", &names[0]]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert!(run.stdout.contains("  not given\n"), "{}", run.stdout);
    assert!(run.stdout.contains("level raid5"), "{}", run.stdout);
}

#[test]
fn a_member_that_is_not_there_fails_and_the_others_are_told() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let names = members("raid5", folder.path());
    let mut args = vec!["check", "gone.img"];
    args.extend(names.iter().map(String::as_str));
    let run = straddle(folder.path(), &args);
    assert_eq!(run.code, Some(2), "{}", run.transcript());
    assert!(run.stdout.contains(&names.join(" + ")), "{}", run.stdout);
    args.push("-q");
    let quiet = straddle(folder.path(), &args);
    assert_eq!((quiet.code, quiet.stdout.as_str()), (Some(2), ""));
}
