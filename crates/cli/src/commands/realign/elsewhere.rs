//! A move in place, where this system has no way to hold a file or device for one process alone.

use anyhow::bail;
use straddle::realign::Intent;

use super::seen::Seen;
use crate::args::realign::Realign;

pub(super) fn begin(args: &Realign, _: &Seen, _: &Intent) -> anyhow::Result<u8> {
    again(args)
}

pub(super) fn again(args: &Realign) -> anyhow::Result<u8> {
    bail!(
        "{} is changed in place on Linux only; here -o NEW writes a new file from it",
        args.target.display()
    )
}
