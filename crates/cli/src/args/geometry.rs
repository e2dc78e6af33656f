use clap::Args;
use straddle::geometry::Unit;
use straddle::sources::{Overrides, Stated};

use super::sizes::{full_stripe, logical_sector, physical_sector, stripe_unit};

/// Geometry that you know better than the device reports it.
#[derive(Debug, Args)]
pub(crate) struct Geometry {
    /// Logical sector size of the device; overrides what it reports or what is assumed
    #[arg(long, value_name = "SIZE", value_parser = logical_sector)]
    pub(crate) logical_sector: Option<Unit>,

    /// Physical sector size of the device; overrides what it reports or what is assumed
    #[arg(long, value_name = "SIZE", value_parser = physical_sector)]
    pub(crate) physical_sector: Option<Unit>,

    /// Stripe unit (chunk, strip) of the array below: bytes on one disk before the next disk follows
    #[arg(long, aliases = ["chunk", "chunk-size", "strip", "strip-size"], value_name = "SIZE", value_parser = stripe_unit)]
    pub(crate) stripe_unit: Option<Unit>,

    /// Full stripe of the array below: stripe unit × data disks
    #[arg(long, value_name = "SIZE", value_parser = full_stripe)]
    pub(crate) stripe_width: Option<Unit>,

    /// Follow a virtual disk to every file that it names. Without this flag, only to files in its own directory, files named
    /// as targets, and files that its owner may read
    #[arg(long)]
    pub(crate) follow_outside: bool,
}

impl Geometry {
    /// What the flags say, as facts.
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides::from(Stated {
            logical_sector: self.logical_sector,
            physical_sector: self.physical_sector,
            stripe_unit: self.stripe_unit,
            stripe_width: self.stripe_width,
        })
    }
}
