//! A move in place: begun, gone on with, undone.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use straddle::fix::compared;
use straddle::geometry::{Bytes, Extent};
use straddle::io::ReadAt;
use straddle::realign::container::{self, Access};
use straddle::realign::{
    Check, Disk, FileStore, Intent, Job, Move, MoveError, Options, Store, View, journal as pages,
};

use straddle::report::realign::Ended;

use super::consent::is_device;
use super::journal;
use super::outcome::done;
use super::progress::Console;
use super::seen::{Seen, options, stack_of};
use crate::args::realign::{Realign, When};
use crate::commands::typed;
use crate::exit::CLEAN;
use crate::output;

/// How finely holes are looked for: no container allocates in smaller blocks but VMDK and qcow2, as a rule of this size.
const STEP: Bytes = Bytes::kib(64);
/// Longest name of a target that its journal records.
const MAX_NAME: usize = 512;

/// Does what is intended.
pub(super) fn begin(args: &Realign, seen: &Seen, intent: &Intent) -> anyhow::Result<u8> {
    if let Err(why) = seen.in_place() {
        bail!(
            "{why}: `{} -o NEW` writes a new file from it",
            super::command(args)
        );
    }
    let target = &args.target;
    // From here on a signal is asked for, and ends nothing in the middle.
    let mut console = Console::new()?;
    let path = journal::place(args)?;
    let begun = Options {
        label: label(target),
        ..Options::default()
    };
    let job = &intent.job;
    let grow = args.grow.map_or(Bytes::ZERO, |grow| grow.bytes());
    let size = seen.guest().size().checked_add(grow).context("too long")?;
    let len = pages::len(job, &begun.sizes, &begun.label, size)?;
    journal::check(&path, target, len)?;
    let Access::InPlace(mut guest) = writable(target)? else {
        bail!("{} was changed since it was looked at", target.display());
    };
    if grow > Bytes::ZERO {
        guest.grow(grow)?;
    }
    guest.prepare(&written(&*guest, job, size))?;
    let store = FileStore::create(&path, len)
        .with_context(|| format!("cannot make the journal {}", path.display()))?;
    let moved = Move::create(Disk(guest), store, token(), job, &begun);
    let moved = moved.map(|mut moved| {
        let ended = moved.forward(check(args), |progress| console.watch(progress));
        (moved, ended)
    });
    console.end();
    let ended = match moved {
        // What holds a device is closed before anybody looks at it again.
        Ok((held, ended)) => {
            drop(held);
            ended
        }
        Err(error) => {
            // Nothing was moved, and a journal that says nothing would be in the way of the next one.
            let _ = std::fs::remove_file(&path);
            return Err(error.into());
        }
    };
    ended.map_err(|error| stopped(args, &path, error))?;
    forget(args, &path)?;
    reread(target);
    let (_, after) = stack_of(args, target)?;
    let (found, new) = compared(&seen.stack, &after, &options(args));
    done(args, seen, intent, &found, &new, &Ended::Moved)
}

/// Goes on with a move that was stopped, or undoes it.
pub(super) fn again(args: &Realign) -> anyhow::Result<u8> {
    let target = &args.target;
    let path = journal::place(args)?;
    let shown = path.display();
    if !path.exists() {
        bail!(
            "{shown} is not there: expected the journal of a move of {}. If it is elsewhere, name it with --journal; without one nothing was moved",
            target.display()
        );
    }
    let guest = match writable(target)? {
        Access::InPlace(guest) => guest,
        Access::Refused { format, why } => bail!("{} ({format}): {why}", target.display()),
    };
    let store =
        FileStore::open(&path).with_context(|| format!("cannot open the journal {shown}"))?;
    let mut console = Console::new()?;
    let mut moved =
        Move::open(Disk(guest), store).with_context(|| format!("{shown}, nothing was written"))?;
    let named = String::from_utf8_lossy(moved.label()).into_owned();
    // What the target is now, a journal of a move that is over does not say.
    if moved.is_restored() || moved.is_done() && !args.rollback {
        let over = if moved.is_restored() {
            "undone"
        } else {
            "done"
        };
        bail!(
            "the move of {named} was {over}, by this journal: nothing is to go on with. Delete {shown}, or, where it was done and nothing has used the \
             target since, undo it with --rollback"
        );
    }
    let ended = match args.rollback {
        true => moved.back(check(args), |progress| console.watch(progress)),
        false => moved.forward(check(args), |progress| console.watch(progress)),
    };
    console.end();
    ended.map_err(|error| stopped(args, &path, error))?;
    drop(moved);
    forget(args, &path)?;
    reread(target);
    if label(target) != named.as_bytes() {
        output::remark(&format!("note: the move was begun as one of {named}"));
    }
    let (name, after) = stack_of(args, target)?;
    let what = match args.rollback {
        true => "everything is at its old place again, and every byte was read back",
        false => "everything is at its new place, and every byte was read back",
    };
    output::print(&format!(
        "{name}  {what}\nlook at it: straddle check {}\n",
        typed::words(std::slice::from_ref(target), &args.geometry, &args.io).join(" ")
    ))?;
    drop(after);
    Ok(CLEAN)
}

fn check(args: &Realign) -> Check {
    match args.verify {
        When::End => Check::AtTheEnd,
        When::Each => Check::Each,
    }
}

/// The disk of the target, held by nobody else.
fn writable(target: &Path) -> anyhow::Result<Access> {
    let open = |path: &Path| {
        FileStore::open(path).map(|store| Arc::new(store.extended()) as Arc<dyn Store>)
    };
    container::open(target, &open).with_context(|| format!("cannot open {}", target.display()))
}

/// Everything that is written: edits, and where data come to lie. Holes stay holes.
fn written(disk: &dyn ReadAt, job: &Job, size: Bytes) -> Vec<Extent> {
    let view = View::new(disk, job, size);
    let mut ranges: Vec<Extent> = job
        .edits()
        .iter()
        .filter_map(straddle::realign::Edit::place)
        .collect();
    for part in job.parts() {
        let Some(place) = part.destination() else {
            continue;
        };
        let mut at = place.start();
        while at < place.end() {
            let data = view.data_from(at).max(at);
            let end = data
                .checked_add(STEP)
                .unwrap_or(place.end())
                .min(place.end());
            if let Some(len) = end.checked_sub(data).filter(|len| *len > Bytes::ZERO) {
                ranges.extend(Extent::new(data, len));
            }
            at = end.max(data);
        }
    }
    ranges
}

/// Which target a journal belongs to, for people.
fn label(target: &Path) -> Vec<u8> {
    let real = std::fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    let mut name = real.display().to_string();
    while name.len() > MAX_NAME {
        name.remove(0);
    }
    name.into_bytes()
}

/// What no other move has.
fn token() -> [u8; 16] {
    let random = || RandomState::new().build_hasher().finish().to_le_bytes();
    let mut token = [0; 16];
    token[..8].copy_from_slice(&random());
    token[8..].copy_from_slice(&random());
    token
}

/// What is said of a move that did not come to its end.
fn stopped(args: &Realign, path: &Path, error: MoveError) -> anyhow::Error {
    let target = typed::word(&args.target.display().to_string());
    let mut words = format!("straddle realign {target}");
    if let Some(journal) = &args.journal {
        words += &format!(" --journal {}", typed::word(&journal.display().to_string()));
    }
    anyhow::Error::new(error).context(format!(
        "the move is not at its end; nothing is lost as long as {} is kept and nothing else writes to the target. Go on: {words} --resume. \
         Undo: {words} --rollback",
        path.display()
    ))
}

/// The kernel has the table of a device in memory, and would go on using the old one.
fn reread(target: &Path) {
    if !is_device(target) {
        return;
    }
    if let Err(error) = straddle::io::linux::reread_partitions(target) {
        output::remark(&format!(
            "the kernel did not read the new table ({error}): `partprobe {0}` or `blockdev --rereadpt {0}` before anything of it is used",
            typed::word(&target.display().to_string())
        ));
    }
}

/// A journal that is over is removed, unless it is to be kept.
fn forget(args: &Realign, path: &Path) -> anyhow::Result<()> {
    if args.keep_journal {
        output::remark(&format!(
            "the journal {} is kept: --rollback undoes the move as long as nothing uses the target; delete it afterwards",
            path.display()
        ));
        return Ok(());
    }
    std::fs::remove_file(path).with_context(|| {
        format!(
            "all is done, but the journal {} cannot be removed; delete it",
            path.display()
        )
    })
}
