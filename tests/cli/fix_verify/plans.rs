//! Plans that cannot be verified, and targets that are text.

use serde_json::{Value, json};
use std::fs;
use std::process::Command;

use super::{fix, repaired, sh, straddle};
use crate::support::copy_capture;

/// What is done to a plan, and what is said of it.
type Edit = (fn(&mut Value), &'static str);

#[test]
fn a_plan_that_cannot_be_verified_is_no_promise_kept() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    repaired(folder);
    let whole = fs::read_to_string(folder.join("plan.json")).expect("readable");
    let edits: &[Edit] = &[
        (
            |plan| plan["schema"] = json!("straddle.fix/1"),
            "has the schema",
        ),
        (|plan| plan["schema"] = json!("other/1"), "has the schema"),
        (|plan| plan["cured"] = json!([]), "promises nothing"),
        (
            |plan| plan["cured"][0]["code"] = json!("STR999"),
            "no finding",
        ),
        (
            |plan| plan["cured"][0]["code"] = json!("hello"),
            "no finding",
        ),
        (
            |plan| plan["cured"][0]["layer"] = json!("nowhere"),
            "was changed",
        ),
        (
            |plan| drop(plan["cured"].as_array_mut().expect("promises").pop()),
            "was changed",
        ),
        (
            |plan| plan["survival"]["layers"] = json!([]),
            "nothing of what must be there",
        ),
        (
            |plan| plan["survival"]["samples"] = json!([]),
            "was changed",
        ),
        (
            |plan| plan["survival"]["layers"][1]["start"] = json!(0),
            "was changed",
        ),
        (
            |plan| plan["survival"]["layers"][1]["below"] = json!([1]),
            "contradicts itself",
        ),
        (
            |plan| plan["survival"]["samples"][0]["layer"] = json!(99),
            "contradicts itself",
        ),
        (
            |plan| plan["survival"]["samples"][0]["length"] = json!(1_u64 << 60),
            "contradicts itself",
        ),
        (|plan| plan["sum"] = json!(""), "was changed"),
        (
            |plan| drop(plan.as_object_mut().expect("an object").remove("survival")),
            "is not a plan",
        ),
        (
            |plan| drop(plan.as_object_mut().expect("an object").remove("cured")),
            "is not a plan",
        ),
        (|plan| *plan = json!([1, 2]), "is not a plan"),
    ];
    for (index, (edit, said)) in edits.iter().enumerate() {
        let mut plan: Value = serde_json::from_str(&whole).expect("JSON");
        edit(&mut plan);
        fs::write(folder.join("other.json"), plan.to_string()).expect("writable");
        let run = fix(folder, &["good.img", "--verify", "other.json"]);
        assert_eq!(run.code, Some(2), "{index}: {}", run.transcript());
        assert!(run.stderr.contains(said), "{index}: {}", run.transcript());
    }
    // Printed by another program, it is the same plan.
    let plan: Value = serde_json::from_str(&whole).expect("JSON");
    fs::write(folder.join("other.json"), plan.to_string()).expect("writable");
    let run = fix(folder, &["good.img", "--verify", "other.json"]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    // Nothing is waited for, and nothing without end is read.
    sh(folder, "mkfifo pipe; mkdir folder; truncate -s 1T giant");
    for name in ["pipe", "folder", "giant", "/dev/zero", "/dev/null", "none"] {
        let run = fix(folder, &["good.img", "--verify", name]);
        assert_eq!(run.code, Some(2), "{name}: {}", run.transcript());
    }
}

/// Text holds no contents: what the plan has of them is not counted as kept, and a plan from text says what nobody looked at.
#[test]
fn text_is_believed_as_far_as_it_goes() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    repaired(folder);
    let dump = |from: &str, to: &str| {
        let mut command = Command::new("fdisk");
        command
            .args(["-l", from])
            .env("LC_ALL", "C")
            .current_dir(folder);
        let dump = command
            .output()
            .expect("fdisk, of the Debian package of that name");
        let dump = String::from_utf8(dump.stdout).expect("UTF-8");
        let text = dump.replace(from, "/dev/sdz");
        fs::write(folder.join(to), text).expect("writable");
    };
    dump("new.img", "before.txt");
    dump("good.img", "after.txt");
    let run = fix(folder, &["after.txt", "--verify", "plan.json"]);
    assert_eq!(run.code, Some(1), "{}", run.transcript());
    assert!(run.stdout.contains("0 of "), "{}", run.transcript());

    let plan = fix(folder, &["before.txt", "--json"]);
    assert_eq!(plan.code, Some(0), "{}", plan.transcript());
    fs::write(folder.join("text.json"), &plan.stdout).expect("writable");
    let document: Value = serde_json::from_str(&plan.stdout).expect("JSON");
    assert_eq!(document["survival"]["samples"], json!([]));
    let run = fix(folder, &["after.txt", "--verify", "text.json"]);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    assert!(
        run.stdout.contains("nobody can tell"),
        "{}",
        run.transcript()
    );
    let run = fix(folder, &["before.txt", "--verify", "text.json"]);
    assert_eq!(run.code, Some(1), "{}", run.transcript());
}

/// A capture of a server, whose plan has a promise: the same capture does not keep it.
#[test]
fn a_capture_before_the_repair() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let target = copy_capture("linux/rounded.server", folder);
    let plan = straddle(folder, &["fix", &target, "--json"]);
    assert_eq!(plan.code, Some(0), "{}", plan.transcript());
    fs::write(folder.join("plan.json"), plan.stdout).expect("writable");
    let run = straddle(folder, &["fix", &target, "--verify", "plan.json"]);
    assert_eq!(run.code, Some(1), "{}", run.transcript());
}
