//! Where a partition lies, from whatever says so.

use anyhow::Context as _;
use std::io::Read;
use std::path::Path;
use straddle::geometry::Bytes;
use straddle::predict::outline::{MAX_LEN, Outline, Place};
use straddle::predict::profile::{Refusal, registry};
use straddle::sources::Overrides;
use straddle::workload::offset::Offset;

use crate::commands::{profile, stacks};
use crate::output::{self, Lines};

/// What every document of `check` has near its beginning.
const MARK: &str = "\"straddle.check/";
/// As much of a file as tells whether it is such a document.
const HEAD: usize = 512;

/// The outline of a target of `check`'s, or of a document that it printed.
pub(super) fn outline(path: &Path, follow_outside: bool) -> anyhow::Result<Outline> {
    let name = path.display().to_string();
    if path.as_os_str() == "-" {
        let mut text = String::new();
        let most = std::io::stdin().lock().take(MAX_LEN);
        { most }
            .read_to_string(&mut text)
            .context("standard input")?;
        return Ok(Outline::read("standard input", &text)?);
    }
    if is_document(path) {
        let text = profile::read(path, MAX_LEN)?;
        return Ok(Outline::read(&name, &text)?);
    }
    let mut places = Vec::new();
    let mut failed: Option<Refusal> = None;
    for known in stacks(&[path.to_owned()], Overrides::default(), follow_outside)? {
        match Outline::of(&known.name, &known.stack) {
            Ok(outline) => places.extend(outline.places),
            Err(refusal) => failed = Some(refusal),
        }
    }
    match failed {
        _ if !places.is_empty() => Ok(Outline { places }),
        Some(refusal) => Err(refusal.into()),
        None => Err(Refusal::new(
            name,
            "nothing that is recognised",
            "a disk image, a device, a capture, captured text, or a document of `straddle check --format json`",
        )
        .into()),
    }
}

fn is_document(path: &Path) -> bool {
    let Ok(target) = straddle::io::Target::open(path) else {
        return false;
    };
    let mut head = Vec::new();
    let read = target.file().take(HEAD as u64).read_to_end(&mut head);
    read.is_ok() && String::from_utf8_lossy(&head).contains(MARK)
}

/// The place of a partition as an offset. On a model that is smaller than what lies before it, one that stands alike on all
/// grids: the same within a GiB.
pub(super) fn current(place: &Place, capacity: Bytes) -> Offset {
    let mut bytes = place.offset.value;
    if bytes.get() >= capacity.get() / 2 {
        let within = Bytes::new(bytes.get() % (1 << 30));
        output::remark(&format!(
            "{} starts at {}, past half of the model's capacity; simulated at {}, which is aligned the same way",
            place.path(),
            bytes,
            within
        ));
        bytes = within;
    }
    Offset {
        name: "current".to_owned(),
        bytes,
    }
}

/// What the stack suggests, and what to find out first.
fn proposed(place: &Place, stack: &Path) -> Vec<String> {
    let proposal = place.propose();
    let title =
        registry::load(proposal.profile).map_or_else(|_| String::new(), |profile| profile.title);
    let stack = stack.display().to_string();
    let mut lines = vec![
        format!(
            "no --profile says which array or device to simulate. The stack suggests {} ({title}), because {}:",
            proposal.profile, proposal.because
        ),
        format!(
            "  straddle predict --stack {stack} --profile {}",
            proposal.profile
        ),
    ];
    if !proposal.asks.is_empty() {
        lines.push(
            "what decides, and the stack does not say; give it with --set SECTION.KEY=VALUE:"
                .to_owned(),
        );
        for (path, how) in proposal.asks {
            lines.push(format!("  {path}: find it out by {how}"));
        }
    }
    lines.push(
        "an array whose disks are known is composed: --disk NAME --raid LEVEL --disks N; straddle profile list has every profile"
            .to_owned(),
    );
    lines
}

/// The message when no profile was named.
pub(super) fn without_profile(place: Option<&Place>, stack: Option<&Path>) -> Lines {
    if let (Some(place), Some(stack)) = (place, stack) {
        return Lines(proposed(place, stack));
    }
    let mut lines = vec![
        "which array or device is simulated is not known; name a profile with --profile, or compose an array with --disk, --raid and \
         --disks. Of profiles there are:"
            .to_owned(),
    ];
    let names = registry::PROFILES.iter().map(|(name, _)| *name);
    for profile in names.filter_map(|name| registry::load(name).ok()) {
        lines.push(format!("  {:<20} {}", profile.name, profile.title));
    }
    Lines(lines)
}
