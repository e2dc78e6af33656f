use clap::Args;
use straddle::geometry::Unit;
use straddle::sources::{Overrides, Stated};

use super::sizes::{sector, unit};

/// What is known of the device better than it says itself.
#[derive(Debug, Args)]
pub(crate) struct Geometry {
    /// Logical sector of the device, in place of what is read or assumed
    #[arg(long, value_name = "SIZE", value_parser = sector)]
    pub(crate) logical_sector: Option<Unit>,

    /// Physical sector of the device, in place of what is read or assumed
    #[arg(long, value_name = "SIZE", value_parser = unit)]
    pub(crate) physical_sector: Option<Unit>,

    /// Stripe unit of the array below: bytes on one disk before the next takes over
    #[arg(long, value_name = "SIZE", value_parser = unit)]
    pub(crate) stripe_unit: Option<Unit>,

    /// Stripe width of the array below: stripe unit times data disks
    #[arg(long, value_name = "SIZE", value_parser = unit)]
    pub(crate) stripe_width: Option<Unit>,

    /// Follow a virtual disk to every file that it names; without this only to files of its folder, files named here, and
    /// files that its owner may read
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
