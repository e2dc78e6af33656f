//! A target as it is before anything is done to it.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use straddle::fix::change::Change;
use straddle::fix::{self, Ask, Plan, Step};
use straddle::geometry::Bytes;
use straddle::io::{ReadAt, Target};
use straddle::realign::container::{self, Access};
use straddle::realign::{Intent, ReadOnly, Refusal, Store, Wanted, intent};
use straddle::rules::Options;
use straddle::sources::{GuestImage, Settings, guest_disk};
use straddle::stack::{Fact, LayerId, Stack};

use crate::args::realign::Realign;
use crate::commands::changeable;

/// What there is, and what `fix` would do about its partitions.
pub(super) struct Seen {
    /// What the target is called.
    pub(super) name: String,
    pub(super) stack: Stack,
    pub(super) plan: Plan,
    pub(super) options: Options,
    /// The disk on which the partitions are.
    pub(super) disk: LayerId,
    /// Its bytes, as a guest sees them.
    guest: GuestImage,
    /// Why it cannot be changed where it is.
    refused: Option<String>,
    /// What no place of a partition makes good.
    note: Option<String>,
}

impl Seen {
    pub(super) fn of(args: &Realign) -> anyhow::Result<Seen> {
        let shown = args.target.display().to_string();
        let access = container::open(&args.target, &read_only)
            .with_context(|| format!("cannot look into {shown}"))?;
        let refused = match access {
            Access::InPlace(_) => None,
            Access::Refused { format, why } => Some(format!("{shown} ({format}): {why}")),
        };
        let target = Arc::new(Target::open(&args.target)?);
        let settings = Settings {
            overrides: args.geometry.overrides(),
            ..Settings::default()
        };
        let guest = guest_disk(&target, &settings)?;
        let (name, mut stack) = match args.output {
            // Where its blocks lie now is no matter: those of a new file are aligned.
            Some(_) => {
                let bytes = Arc::clone(&guest.bytes);
                (
                    shown.clone(),
                    straddle::sources::bytes(&shown, bytes, &settings)?,
                )
            }
            None => stack_of(args, &args.target)?,
        };
        let real = std::fs::canonicalize(&args.target);
        let real = real.map_or_else(|_| name.clone(), |real| real.display().to_string());
        let disk = intent::disk(&stack, &[name.clone(), real])?;
        if let Some(grow) = args.grow {
            lengthen(&mut stack, disk, grow.bytes())?;
        }
        let options = options(args);
        let ask = Ask {
            options: options.clone(),
            ..Ask::default()
        };
        let plan = fix::plan(&stack, &ask);
        let mut steps = plan.steps.iter();
        let is_image = |step: &Step| step.layer == disk && matches!(step.change, Change::Image(_));
        let note = steps.any(is_image).then(|| {
            format!("the blocks of {shown} are misaligned themselves, and stay so in place; a new file aligns both (-o NEW)")
        });
        Ok(Seen {
            name,
            stack,
            plan,
            options,
            disk,
            guest,
            refused,
            note,
        })
    }

    /// What is to be done.
    pub(super) fn intent(&self, args: &Realign) -> anyhow::Result<Result<Intent, Refusal>> {
        let wanted = Wanted {
            to: args.to,
            partitions: args.partitions.clone(),
        };
        let guest = self.guest();
        let grow = args.grow.map_or(Bytes::ZERO, |grow| grow.bytes());
        let size = guest.size().checked_add(grow).context("too long")?;
        let (stack, plan) = (&self.stack, &self.plan);
        let intent = Intent::new(stack, plan, self.disk, guest, size, &wanted, &self.name);
        Ok(intent.map(|mut intent| {
            intent.notes.extend(self.note.clone());
            intent
        }))
    }

    /// The bytes of the disk, as a guest sees them.
    pub(super) fn guest(&self) -> &dyn ReadAt {
        &*self.guest.bytes
    }

    /// What was found that casts doubt on them.
    pub(super) fn doubts(&self) -> &[String] {
        &self.guest.doubts
    }

    /// Whether it can be changed where it is.
    pub(super) fn in_place(&self) -> Result<(), &str> {
        match &self.refused {
            None => Ok(()),
            Some(why) => Err(why),
        }
    }

    /// The stack as it will be.
    pub(super) fn after(&self, intent: &Intent) -> Stack {
        let mut stack = self.stack.clone();
        Change::Partitions(intent.partitions.clone()).apply(&mut stack);
        stack
    }
}

/// The stack of a file, with what was typed of the geometry of the target.
pub(super) fn stack_of(args: &Realign, path: &Path) -> anyhow::Result<(String, Stack)> {
    let targets = &[path.to_owned()];
    let overrides = args.geometry.overrides();
    let mut stacks = changeable(targets, overrides, args.geometry.follow_outside)?;
    match (stacks.pop(), stacks.as_slice()) {
        (Some(only), []) if only.is_elsewhere() => bail!(
            "{name} tells of a machine, and its disks are not here; `straddle fix {} --script sfdisk` writes a script to be run there",
            super::super::typed::word(&only.name),
            name = only.name
        ),
        (Some(only), []) => Ok((only.name, only.stack)),
        (None, _) => bail!(
            "nothing was recognised in {}: expected a disk image or a block device with a partition table; `straddle check` says more",
            path.display()
        ),
        (Some(_), _) => bail!("{} is more than one disk; name one of them", path.display()),
    }
}

fn read_only(path: &Path) -> std::io::Result<Arc<dyn Store>> {
    let target = Target::open(path).map_err(std::io::Error::other)?;
    Ok(Arc::new(ReadOnly(target)))
}

/// Makes a disk of the stack longer, as far as a plan looks at it.
fn lengthen(stack: &mut Stack, disk: LayerId, by: Bytes) -> anyhow::Result<()> {
    let layer = stack.layer_mut(disk);
    let size = layer
        .size
        .as_ref()
        .and_then(|size| size.value.checked_add(by));
    let size = size.context("the size of the disk is not known, so it cannot be made longer")?;
    layer.size = Some(Fact::derived(size, "--grow"));
    Ok(())
}

/// What a rule is asked with.
pub(super) fn options(args: &Realign) -> Options {
    Options {
        io: args.io.clone(),
        ..Options::default()
    }
}
