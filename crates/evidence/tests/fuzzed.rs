//! Every format is fuzzed for itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use straddle_evidence::FORMATS;

#[test]
fn every_format_has_its_fuzz_target_and_every_target_its_format() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let listed = fs::read_to_string(fuzz.join("Cargo.toml")).expect("readable");
    let mut targets = BTreeSet::new();
    for entry in fs::read_dir(fuzz.join("fuzz_targets")).expect("fuzz targets") {
        let path = entry.expect("a file").path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let Some(format) = name.strip_prefix("evidence-") else {
            continue;
        };
        let text = fs::read_to_string(&path).expect("readable");
        let call = format!("straddle_fuzz::reader!(\"{format}\");");
        assert!(text.contains(&call), "{name} does not call {call}");
        assert!(
            listed.contains(&format!("name = \"{name}\"")),
            "fuzz/Cargo.toml has no {name}; `cargo xtask docs` writes it"
        );
        targets.insert(format.to_owned());
    }
    let formats: BTreeSet<String> = FORMATS.iter().map(|f| f.name.to_owned()).collect();
    assert_eq!(formats, targets);
}
