//! `straddle realign`: partitions moved onto boundaries, in place with a journal or into a new file.

#[cfg(target_os = "linux")]
mod carry;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod carry;
mod consent;
mod copy;
mod journal;
mod kept;
mod outcome;
mod progress;
mod seen;

use anyhow::bail;
use straddle::fix::compared;
use straddle::report::realign::{Shown, State, text};

use super::typed;
use crate::args::realign::Realign;
use crate::exit::CLEAN;
use crate::output;
use seen::Seen;

pub(crate) fn run(args: &Realign) -> anyhow::Result<u8> {
    if args.resume || args.rollback {
        return carry::again(args);
    }
    if args.grow.is_some() && args.output.is_none() && consent::is_device(&args.target) {
        bail!("a block device cannot be made longer; --grow is for images, and for new files (-o)");
    }
    // Whoever uses it is named first: what they have written is not to be judged.
    #[cfg(target_os = "linux")]
    if consent::is_given(args)? && consent::is_device(&args.target) {
        straddle::io::linux::claim_device(&args.target, straddle::io::Opening::default())?;
    }
    let seen = Seen::of(args)?;
    if let Some(plan) = &args.plan {
        kept::is_still_so(plan, &seen)?;
    }
    let intent = match seen.intent(args)? {
        Ok(intent) => intent,
        Err(refusal) if refusal.is_nothing_to_do && !args.json => {
            output::print(&format!("{}  {refusal}\n", seen.name))?;
            return Ok(CLEAN);
        }
        Err(refusal) => return Err(refusal.into()),
    };
    if args.dry_run {
        output::print(&text::bytes(&intent))?;
        return Ok(CLEAN);
    }
    if let Some(new) = &args.output {
        return copy::run(args, &seen, &intent, new);
    }
    if consent::is_given(args)? {
        return carry::begin(args, &seen, &intent);
    }
    let (found, new) = compared(&seen.stack, &seen.after(&intent), &seen.options);
    let shown = Shown {
        target: &seen.name,
        intent: &intent,
        found: &found,
        new: &new,
    };
    if args.json {
        return outcome::document(shown, State::Proposed);
    }
    output::print(&text::proposal(shown, &next(args, &seen)?, output::width()))?;
    Ok(CLEAN)
}

/// Commands that do what is proposed.
fn next(args: &Realign, seen: &Seen) -> anyhow::Result<Vec<(String, String)>> {
    let command = command(args);
    let mut next = Vec::new();
    match seen.in_place() {
        Ok(()) => {
            let consent = consent::words(&args.target)?;
            let journal = journal::place(args)?;
            next.push(("do it".to_owned(), format!("{command} {consent}")));
            next.push((
                "its journal".to_owned(),
                format!("{} until it is done", journal.display()),
            ));
        }
        Err(why) => next.push(("not in place".to_owned(), why.to_owned())),
    }
    next.push(("see every byte".to_owned(), format!("{command} --dry-run")));
    if !consent::is_device(&args.target) {
        next.push(("into a new file".to_owned(), format!("{command} -o NEW")));
    }
    Ok(next)
}

/// What was typed, as far as it says what is moved.
fn command(args: &Realign) -> String {
    let mut words = vec!["straddle realign".to_owned()];
    words.extend(typed::words(
        std::slice::from_ref(&args.target),
        &args.geometry,
        &args.io,
    ));
    if let Some(to) = args.to {
        words.push(format!("--to {}B", to.get()));
    }
    words.extend(
        args.partitions
            .iter()
            .map(|number| format!("--partition {number}")),
    );
    if let Some(grow) = args.grow {
        words.push(format!("--grow {}", typed::size(grow)));
    }
    words.join(" ")
}
