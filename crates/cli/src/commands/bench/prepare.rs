//! From what was asked for to a target that is ready, with a place for every request and an engine.

use anyhow::{anyhow, bail};
use std::path::Path;
use straddle::bench::journal::{Arrangement, Header, Journal, Ready, Recorded, Role};
use straddle::bench::place::{
    Devices, Ground, Placement, Region, Wanted, place, requests_of, room_for, sizes_of,
};
use straddle::bench::results::{EngineChoice, Medium};
use straddle::bench::run::{Options, RunError, Watch, trial};
use straddle::bench::target::{
    Consent, Draft, LimitsFrom, Purpose, Target, TargetError, rehearse, remove_unfilled, space,
};
use straddle::bench::validity::{Scene, Warning, WarningKind, before};
use straddle::geometry::{Bytes, Extent};
use straddle::io::engine::Kind;
use straddle::sources::linux::Root;
use straddle::sources::{Overrides, Settings, Stated};
use straddle::stack::Stack;

use super::progress::Console;

/// Everything that a session needs.
pub(super) struct Prepared {
    pub(super) target: Target,
    pub(super) placement: Placement,
    /// What is known against it before the first run.
    pub(super) warnings: Vec<Warning>,
    pub(super) stack: Option<Stack>,
    pub(super) devices: Devices,
    pub(super) engine: EngineChoice,
    pub(super) options: Options,
}

/// Length of a test file in which the plan finds a place.
pub(super) fn length(header: &Header) -> anyhow::Result<Bytes> {
    let requests = requests_of(&header.plan);
    let span = header.span.unwrap_or(Bytes::ZERO);
    let left = match header.role {
        Role::Own => space(&header.path),
        Role::Null | Role::Device | Role::ReadOnly => None,
    };
    Ok(room_for(&header.plan.offsets, &requests, span, left)?)
}

/// The target of a new experiment.
pub(super) fn begin(
    header: &Header,
    consent: Option<&Consent>,
    journal: Option<&mut Journal>,
    console: &Console,
) -> anyhow::Result<Target> {
    let direct = header.direct;
    let target = match header.role {
        Role::Null => Target::null(length(header)?)?,
        Role::ReadOnly => Target::existing(&header.path, direct)?,
        Role::Device => device(header, consent, Purpose::Begin(&header.owner()?))?,
        Role::Own => return own(header, journal, console),
    };
    target.check(&header.plan)?;
    note(journal, &target)?;
    Ok(target)
}

/// Looks at everything that would keep [`begin`] from its end, without writing anything. The target where there is one
/// already.
pub(super) fn rehearsal(
    header: &Header,
    consent: Option<&Consent>,
    journal: Option<&Path>,
) -> anyhow::Result<Option<Target>> {
    if let Some(journal) = journal {
        straddle::bench::journal::check_absent(journal)?;
    }
    let target = match header.role {
        Role::Null => return Ok(None),
        Role::Own => {
            rehearse(&header.path, length(header)?, header.direct, &header.plan)?;
            return Ok(None);
        }
        Role::ReadOnly => Target::existing(&header.path, header.direct)?,
        Role::Device => device(header, consent, Purpose::Rehearsal)?,
    };
    target.check(&header.plan)?;
    Ok(Some(target))
}

fn note(journal: Option<&mut Journal>, target: &Target) -> anyhow::Result<()> {
    if let Some(journal) = journal {
        journal.ready(Ready {
            identity: target.identity()?,
            size: target.size(),
        })?;
    }
    Ok(())
}

fn device(
    header: &Header,
    consent: Option<&Consent>,
    purpose: Purpose<'_>,
) -> anyhow::Result<Target> {
    let Some(consent) = consent else {
        return Err(straddle::bench::target::no_consent(&header.path).into());
    };
    Ok(Target::device(
        &header.path,
        consent,
        header.direct,
        purpose,
    )?)
}

/// Makes and fills a test file. What goes wrong is found out before the filling as far as that is possible.
fn own(
    header: &Header,
    journal: Option<&mut Journal>,
    console: &Console,
) -> anyhow::Result<Target> {
    let size = length(header)?;
    let owner = header.owner()?;
    let draft = Draft::new(&header.path, size, header.direct, &owner)?;
    draft.check(&header.plan)?;
    let bar = console.filling(&header.path, draft.size());
    let target = draft.fill(|bytes| bar.at(bytes), &console.stop)?;
    drop(bar);
    note(journal, &target)?;
    Ok(target)
}

/// The target of an experiment that goes on. The second value is true when nothing had been measured, and so nothing
/// binds it to where requests lay.
pub(super) fn resume(
    recorded: &Recorded,
    consent: Option<&Consent>,
    journal: &mut Journal,
    console: &Console,
) -> anyhow::Result<Target> {
    let header = &recorded.header;
    let owner = header.owner()?;
    let Some(ready) = recorded.ready else {
        if header.role == Role::Own {
            remove_unfilled(&header.path, &owner)?;
        }
        return begin(header, consent, Some(journal), console);
    };
    let target = match header.role {
        Role::Own => Target::resumed(&header.path, ready, &owner, header.direct)?,
        Role::Null => Target::null(ready.size)?,
        Role::ReadOnly => Target::existing(&header.path, header.direct)?,
        Role::Device => device(header, consent, Purpose::Resume(&owner))?,
    };
    let changed = |found: String, expected: String| TargetError::Changed {
        path: header.path.clone(),
        found,
        expected,
    };
    // What is only read has no label that could tell it from another.
    if header.role == Role::ReadOnly && target.identity()? != ready.identity {
        let found = target.identity()?.to_string();
        return Err(changed(found, ready.identity.to_string()).into());
    }
    if target.size() != ready.size {
        let bytes = |size: Bytes| format!("{} bytes", size.grouped());
        return Err(changed(bytes(target.size()), bytes(ready.size)).into());
    }
    target.check(&header.plan)?;
    Ok(target)
}

/// Gives every offset its place, and finds the engine: the recorded ones when the experiment goes on.
pub(super) fn arrange(
    header: &Header,
    target: Target,
    recorded: Option<&Arrangement>,
    watch: &Watch,
) -> anyhow::Result<Prepared> {
    let (stack, path) = if header.role == Role::Null {
        (None, header.path.clone())
    } else {
        let path = std::fs::canonicalize(target.path())?;
        (stack_of(header, &path), path)
    };
    let ground = stack.as_ref().and_then(|stack| Ground::find(stack, &path));
    let devices = ground
        .map(|ground| Devices::below(ground.stack, ground.layer))
        .unwrap_or_default();
    let plan = &header.plan;
    let placement = place(
        ground,
        &Wanted {
            offsets: &plan.offsets,
            requests: &requests_of(plan),
            span: header.span,
            size: target.size(),
            limits: target.limits(),
        },
    )?;
    if let Some(recorded) = recorded {
        let before = Region {
            base: recorded.base,
            len: recorded.span,
        };
        if placement.region != before {
            bail!(
                "{}: requests would lie at byte {} now, and lay at byte {} before: the file was moved, or the storage below it has changed; the samples so far cannot be continued. Remove the journal and start over",
                target.path().display(),
                placement.region.base.grouped(),
                before.base.grouped()
            );
        }
    }
    let mut options = Options {
        engine: Kind::Null,
        durability: header.durability.into(),
        atomic: header.atomic,
        polled: header.polled,
        verify: header.verify,
    };
    let (target, engine) = match (recorded, &header.engine) {
        (Some(recorded), _) => {
            options.engine = recorded.engine.parse()?;
            (target, recorded.choice())
        }
        (None, Some(name)) => {
            options.engine = name.parse()?;
            let choice = EngineChoice {
                name: name.clone(),
                reason: "it was asked for".to_owned(),
                trial: Vec::new(),
            };
            (target, choice)
        }
        (None, None) => {
            let (Some(cell), Some(offset)) = (plan.cells.first(), plan.offsets.first()) else {
                bail!("there is nothing to measure");
            };
            let tried =
                trial(target, placement.region, options, cell, offset, watch).map_err(|error| {
                    match error {
                        RunError::Stopped(_) => anyhow!("stopped before the first run"),
                        error => anyhow::Error::new(error).context("no engine works here"),
                    }
                })?;
            options.engine = tried.engine;
            (tried.target, tried.choice)
        }
    };
    let warnings = warnings(header, &target, &placement, &devices);
    Ok(Prepared {
        target,
        placement,
        warnings,
        stack,
        devices,
        engine,
        options,
    })
}

fn warnings(
    header: &Header,
    target: &Target,
    placement: &Placement,
    devices: &Devices,
) -> Vec<Warning> {
    let plan = &header.plan;
    let largest = plan.offsets.iter().map(|offset| offset.bytes).max();
    let region = placement.region;
    let touched = largest
        .unwrap_or(Bytes::ZERO)
        .checked_add(region.len)
        .unwrap_or(region.len);
    let scene = Scene {
        root: Path::new("/"),
        devices,
        medium: target.medium(),
        plan,
        touched,
        unwritten: unwritten(header, Extent::new(region.base, touched)),
    };
    let mut warnings = placement.warnings.clone();
    if target.medium() == Medium::Null {
        // There is nothing to know.
        warnings.retain(|warning| warning.kind != WarningKind::StackUnknown);
    }
    if target.limits_from() == LimitsFrom::Memory {
        warnings.push(Warning {
            kind: WarningKind::Buffered,
            cause: "The file lies in memory (tmpfs), where direct I/O takes any offset and no device is behind it."
                .to_owned(),
            advice: "Choose a place on a filesystem of a device; here, the program itself is measured."
                .to_owned(),
        });
    }
    warnings.extend(before(&scene, std::thread::sleep));
    warnings
}

/// What of a file that was there before was never written.
#[cfg(target_os = "linux")]
fn unwritten(
    header: &Header,
    part: Option<Extent>,
) -> Option<straddle::bench::validity::Unwritten> {
    use straddle::bench::validity::unwritten_in;
    use straddle::io::linux::file_extents;
    /// A file in more pieces than this is fragmented beyond any doubt.
    const MAX: usize = 1 << 20;
    if header.role != Role::ReadOnly {
        return None;
    }
    let file = std::fs::File::open(&header.path).ok()?;
    let found = file_extents(&file, MAX).ok()?;
    Some(unwritten_in(&found.extents, part?))
}

#[cfg(not(target_os = "linux"))]
fn unwritten(_: &Header, _: Option<Extent>) -> Option<straddle::bench::validity::Unwritten> {
    None
}

/// What lies below a file or device of this machine. That nothing is known is no error: it is measured all the same, and
/// the place says so.
pub(super) fn stack_of(header: &Header, path: &Path) -> Option<Stack> {
    let name = path.to_str()?;
    let settings = Settings {
        overrides: Overrides::from(Stated {
            stripe_unit: header.stripe_unit,
            stripe_width: header.stripe_width,
            ..Stated::default()
        }),
        io: sizes_of(&header.plan),
        ..Settings::default()
    };
    straddle::sources::file(&Root::live(), name, &settings).ok()
}

impl Prepared {
    /// What a resumed experiment has to do alike.
    pub(super) fn arrangement(&self) -> Arrangement {
        Arrangement {
            base: self.placement.region.base,
            span: self.placement.region.len,
            engine: self.engine.name.clone(),
            reason: self.engine.reason.clone(),
            trial: self.engine.trial.clone(),
        }
    }
}
