//! Units, requests, grids and maps: the exact arithmetic that every question about alignment comes down to.
//!
//! A [`Grid`] is the set of addresses at which something below changes hands: a sector ends, the next spindle of an
//! array takes over, a flash page begins. A [`Lattice`] is a stream of equally spaced requests. How often the one
//! straddles the other has a closed form in integers ([`Lattice::crossings`]), and so has the number of granules that
//! a write covers only in part ([`Lattice::partial`]), which is what forces a read-modify-write. A [`Map`] carries
//! addresses from one layer to the next.
//!
//! Nothing here does I/O, allocates for a closed form, or rounds: results are exact [`Ratio`]s, and arithmetic that
//! would overflow is an [`Error`], never a wrong number. Units need not be powers of two: 520-byte sectors and
//! stripe widths of 3 × 64 KiB are ordinary input.

mod arithmetic;
mod blocks;
mod bytes;
mod cost;
mod error;
mod extent;
mod grid;
mod lattice;
mod location;
mod map;
mod raid;
mod ratio;
#[cfg(feature = "serde")]
mod serialize;
mod short_text;
mod totals;

pub use arithmetic::{gcd, lcm};
pub use blocks::{BlockTable, Gap, Listed, Listing, Place, Row, Sink, TableError, entry};
pub use bytes::{Bytes, Grouped, ParseBytesError, SectorSize, Sectors, Unit, both_ways};
pub use cost::{Family, Price};
pub use error::Error;
pub use extent::Extent;
pub use grid::Grid;
pub use lattice::{Access, Crossings, Lattice, Request};
pub use location::{Location, Segment};
pub use map::{Blocks, Map, Striping};
pub use raid::{
    Copies, DoubleRotation, FarCopies, FarSets, Raid, RaidLayout, Reach, Rotation, Share,
};
pub use ratio::Ratio;
pub use totals::Totals;
