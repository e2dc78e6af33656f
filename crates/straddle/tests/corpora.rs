//! Replays the fuzzers' corpora through everything that `check` does to an image: containers opened, tables surveyed, all
//! rules, text and JSON.

use std::sync::Arc;
use std::time::{Duration, Instant};
use straddle::io::ReadAt;
use straddle::report::{Asked, Checked, text};
use straddle::rules::Options;
use straddle::sources::{self, Settings};
use straddle::stack::LayerKind;

/// For a debug build on a busy machine.
const MAX_LEN: Duration = Duration::from_secs(60);

#[test]
fn every_seed_of_a_container_is_checked_within_bounds() {
    let corpora = straddle_testkit::repository().join("fuzz/corpus");
    let (mut containers, mut guests) = (0, 0);
    for target in [
        "check",
        "qcow2",
        "vhd",
        "vhdx",
        "vmdk",
        "vdi",
        "qed",
        "parallels",
    ] {
        let folder = corpora.join(target);
        let entries = std::fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("a seed").path();
            let bytes =
                straddle_testkit::sparse::unpacked(&std::fs::read(&path).expect("readable"));
            let bytes: Arc<dyn ReadAt> = Arc::new(bytes);
            let started = Instant::now();
            let options = Options::default();
            let settings = Settings {
                io: options.io.clone(),
                ..Settings::default()
            };
            let stack = sources::bytes("seed", bytes, &settings).expect("asks for no file");
            let kinds = |kind| stack.layers().iter().filter(|l| l.kind == kind).count();
            containers += kinds(LayerKind::Container).min(1);
            guests += kinds(LayerKind::Partition).min(1);
            let checked = Checked::new("seed", stack, &options, Asked::default());
            let report = text::report(&checked, None);
            let json = serde_json::to_string(&checked.document()).expect("a document");
            assert!(!report.is_empty() && !json.is_empty());
            assert!(
                started.elapsed() < MAX_LEN,
                "{}: took {:?}",
                path.display(),
                started.elapsed()
            );
        }
    }
    assert!(containers > 100, "only {containers} seeds are containers");
    assert!(guests > 3, "only {guests} seeds have guests");
}
