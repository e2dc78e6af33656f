//! A new file in which the partitions are where they should be; the target is only read.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use straddle::fix::compared;
use straddle::geometry::{Bytes, SectorSize};
use straddle::io::{ReadAt, Target};
use straddle::realign::image::{self, Format, Options, Progress};
use straddle::realign::{Ids, Intent, Used, View, contents};
use straddle::report::realign::Ended;
use straddle::stack::GridRole;

use super::outcome::done;
use super::progress::Console;
use super::seen::{Seen, options, stack_of};
use crate::args::realign::Realign;
use crate::output;

/// What is compared at once.
const PIECE: usize = 1 << 20;

pub(super) fn run(args: &Realign, seen: &Seen, intent: &Intent, new: &Path) -> anyhow::Result<u8> {
    let format = match &args.format {
        Some(name) => Format::named(name)?,
        None => Format::of(new).with_context(|| {
            format!(
                "the name {} says nothing of its format: give --format",
                new.display()
            )
        })?,
    };
    for doubt in seen.doubts() {
        output::remark(&format!("note: {doubt}"));
    }
    let grow = args.grow.map_or(Bytes::ZERO, |grow| grow.bytes());
    let guest = seen.guest();
    let size = guest.size().checked_add(grow).context("too long")?;
    let mut used = Used::new(guest);
    if args.used_only {
        leave_out(&mut used, seen, intent)?;
    }
    let view = View::new(&used, &intent.job, size);
    let sector = seen.stack.layer(seen.disk).grid(GridRole::LogicalSector);
    let sector = sector.and_then(|grid| u32::try_from(grid.value.unit().get()).ok());
    let sector = sector
        .and_then(SectorSize::new)
        .unwrap_or(intent.partitions.sector);
    let mut console = Console::new()?;
    let mut progress = |done: Bytes| {
        let _ = console.copied(done.get(), size.get());
    };
    let options_of_image = Options {
        sector,
        ids: Ids::random(),
        progress: Progress(&mut progress),
    };
    let written = image::write(format, &view, new, options_of_image);
    let compared_all = written
        .map_err(anyhow::Error::from)
        .and_then(|()| is_same(&view, new, &mut console));
    console.end();
    compared_all?;
    let (_, after) = stack_of(args, new)?;
    let (found, only_new) = compared(&seen.stack, &after, &options(args));
    let ended = Ended::Copied {
        new: new.display().to_string(),
        format: format.name,
    };
    done(args, seen, intent, &found, &only_new, &ended)
}

/// Leaves out what is free in the partitions, each of which must have been left in order.
fn leave_out(
    used: &mut Used<'_, dyn ReadAt + '_>,
    seen: &Seen,
    intent: &Intent,
) -> anyhow::Result<()> {
    for entry in &intent.partitions.entries {
        let format = entry.filesystem.as_deref();
        contents::check(seen.guest(), entry.number, entry.from, format)?;
        let is_known = match format {
            Some(format) => used.leave_out(entry.from, format).with_context(|| {
                format!("what is free in partition {} cannot be read", entry.number)
            })?,
            None => false,
        };
        if !is_known {
            output::remark(&format!(
                "note: all of partition {} is copied: {} says nothing here of what is free",
                entry.number,
                format.unwrap_or("what is in it")
            ));
        }
    }
    output::remark(&format!(
        "note: {} that are free are left out",
        used.left_out().rounded()
    ));
    Ok(())
}

/// Reads the new file and compares it with what it was made of.
fn is_same(view: &dyn ReadAt, new: &Path, console: &mut Console) -> anyhow::Result<()> {
    let target = Arc::new(Target::open(new)?);
    let made =
        straddle::sources::guest_disk(&target, &straddle::sources::Settings::default())?.bytes;
    let size = view.size();
    if made.size() < size {
        bail!(
            "{} holds a disk of {} bytes; expected {}",
            new.display(),
            made.size().grouped(),
            size.grouped()
        );
    }
    let (mut wanted, mut found) = (vec![0; PIECE], vec![0; PIECE]);
    let mut at = Bytes::ZERO;
    while at < size {
        // What is a hole in both is zero in both.
        let skipped = view.data_from(at).min(made.data_from(at)).max(at);
        if skipped > at {
            at = skipped;
            continue;
        }
        let rest = size.checked_sub(at).unwrap_or_default().get();
        let len = usize::try_from(rest).unwrap_or(PIECE).min(PIECE);
        fill(view, at, &mut wanted[..len])?;
        fill(&*made, at, &mut found[..len])?;
        if wanted[..len] != found[..len] {
            bail!(
                "{} is not what it should be at byte {} of its disk: delete it, and look at the device that it is on",
                new.display(),
                at.grouped()
            );
        }
        at = at.checked_add(Bytes::new(len as u64)).unwrap_or(size);
        if console.copied(at.get(), size.get()) == ControlFlow::Break(()) {
            bail!(
                "stopped: {} is complete, and was not compared to its end",
                new.display()
            );
        }
    }
    Ok(())
}

fn fill(from: &dyn ReadAt, at: Bytes, buf: &mut [u8]) -> anyhow::Result<()> {
    let mut had = 0;
    while had < buf.len() {
        let here = at.checked_add(Bytes::new(had as u64)).context("too far")?;
        match from.read_at(here, &mut buf[had..]) {
            Ok(0) => bail!(
                "byte {} cannot be read: the disk ends before",
                here.grouped()
            ),
            Ok(read) => had += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(error).context(format!("byte {} cannot be read", here.grouped()));
            }
        }
    }
    Ok(())
}
