//! What is printed of a move.

use straddle::fix::Cure;
use straddle::realign::Intent;
use straddle::report::realign::{Document, Ended, Shown, State, text};

use super::seen::Seen;
use crate::args::realign::Realign;
use crate::exit::CLEAN;
use crate::output;

pub(super) fn document(shown: Shown<'_>, state: State) -> anyhow::Result<u8> {
    let document = Document::new(shown, state);
    output::print(&straddle::report::json::pretty(&document)?)?;
    Ok(CLEAN)
}

/// What was done, compared with what the target is found to be now.
pub(super) fn done(
    args: &Realign,
    seen: &Seen,
    intent: &Intent,
    found: &[Cure],
    new: &[Cure],
    ended: &Ended,
) -> anyhow::Result<u8> {
    let shown = Shown {
        target: &seen.name,
        intent,
        found,
        new,
    };
    if args.json {
        return document(shown, State::Done);
    }
    output::print(&text::done(shown, ended, output::width()))?;
    Ok(CLEAN)
}
