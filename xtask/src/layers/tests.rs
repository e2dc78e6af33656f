//! Small crates, each with one cycle that is hard to see, and one whose cycles may stay.

use std::path::{Path, PathBuf};

use super::graph::Graph;

fn root(fixture: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/layers/fixtures");
    fixtures.join(fixture).join("lib.rs")
}

fn read(fixture: &str) -> Graph {
    Graph::read(&root(fixture)).unwrap()
}

/// The files of each cycle that is a fault, with the steps.
fn faults(graph: &Graph) -> Vec<(Vec<&str>, Vec<String>)> {
    let cycles = graph.cycles();
    let faults = cycles.iter().filter(|cycle| cycle.is_fault());
    let named = faults.map(|cycle| (graph.names(cycle), graph.steps(cycle)));
    named.collect()
}

#[track_caller]
fn found(fixture: &str, files: &[&str], back: &str) {
    let graph = read(fixture);
    let faults = faults(&graph);
    assert_eq!(faults.len(), 1, "{faults:#?}");
    assert_eq!(faults[0].0, files);
    let steps = &faults[0].1;
    assert!(steps.iter().any(|step| step == back), "{steps:#?}");
}

/// The cycle of `a/one.rs` and `b/two.rs`, by this path at this line of the second.
#[track_caller]
fn pair(fixture: &str, path: &str, line: usize) {
    let back = format!("b/two.rs → a/one.rs: {path} at line {line}");
    found(fixture, &["a/one.rs", "b/two.rs"], &back);
}

#[test]
fn by_declaration() {
    pair("plain_use", "crate::a::one::make", 1);
}

#[test]
fn by_path() {
    pair("inline_path", "crate::a::one::make", 5);
    pair("type_path", "crate::a::one::One", 3);
    pair("super_super", "super::super::a::one::make", 4);
    pair("inline_module", "first::make", 7);
    pair("in_block", "make", 6);
}

#[test]
fn by_names_of_the_crate_and_raw_ones() {
    found(
        "own_name",
        &["a/move.rs", "b/two.rs"],
        "b/two.rs → a/move.rs: whole::a::move::One at line 1",
    );
}

#[test]
fn what_is_included_is_refused() {
    let error = Graph::read(&root("included")).err().unwrap();
    assert_eq!(
        error.to_string(),
        "lib.rs at line 4: include! hides paths from this check"
    );
}

#[test]
fn in_macros() {
    pair("in_macro", "crate::a::one::LIMIT", 4);
    pair("in_macro_tokens", "crate::a::one::LIMIT", 4);
    pair("captured_in_text", "LIMIT", 6);
    pair("in_attribute", "crate::a::one::make", 5);
    pair("defined_by_macro", "crate::a::one::Key", 3);
    // The macro's file leads there, and so does whoever uses it.
    found(
        "body_of_macro",
        &["a/one.rs", "b/two.rs", "limits.rs"],
        "limits.rs → a/one.rs: $crate::a::one::make at line 3",
    );
    let graph = read("body_of_macro");
    let steps = &faults(&graph)[0].1;
    let through = "b/two.rs → a/one.rs: $crate::a::one::make at line 4";
    assert!(steps.iter().any(|step| step == through), "{steps:#?}");
}

#[test]
fn through_re_exports() {
    pair("re_export", "crate::Made", 1);
    pair("re_export_of_module", "other::make", 6);
    pair("glob_re_export", "make", 6);
}

#[test]
fn by_associated_function() {
    found(
        "associated",
        &["b/two.rs", "c/three.rs"],
        "b/two.rs → c/three.rs: One::limit at line 6",
    );
}

#[test]
fn of_parent_and_grandchild() {
    found(
        "parent_and_grandchild",
        &["a.rs", "a/deep/inner.rs"],
        "a/deep/inner.rs → a.rs: super::super::Shared at line 1",
    );
}

#[test]
fn of_five_siblings() {
    found(
        "five_siblings",
        &["a.rs", "b.rs", "c.rs", "d.rs", "e.rs"],
        "e.rs → a.rs: super::a::a at line 2",
    );
}

/// Four siblings, and a parent with its child; none by tests, variables, comments or text.
#[test]
fn what_may_stay() {
    let graph = read("clean");
    assert!(faults(&graph).is_empty(), "{:#?}", faults(&graph));
    let cycles = graph.cycles();
    let names: Vec<_> = cycles.iter().map(|cycle| graph.names(cycle)).collect();
    let four = vec!["four/a.rs", "four/b.rs", "four/c.rs", "four/d.rs"];
    assert_eq!(names[0], four);
    assert!(names.contains(&vec!["other.rs", "other/child.rs"]));
    assert_eq!(names.len(), 2, "{names:#?}");
}
