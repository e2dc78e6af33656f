//! Bytes to layers: recognises what lies in an image or on a device, and where its parts are.
//!
//! Every format is one file with one [`Prober`]; [`registry`] lists them in an order that is a decision and says why.
//! All bytes pass a [`Window`] over the bounded reader of `straddle-io`. Input is hostile until parsed: no count read
//! from a medium sizes an allocation or a loop, chains are checked for loops, and two formats that both match are
//! reported, not resolved in silence.

pub mod registry;

pub mod container;
pub mod volume;

mod crc32c;
mod crc64;
mod database;
mod detected;
mod filesystem;
mod find;
#[cfg(test)]
mod fixture;
mod inspect;
mod partition;
mod prober;
mod record;
mod window;

pub use detected::{Child, Detected, Nesting};
pub use find::{FileFinder, FindError, FoundFile, find_file};
pub use inspect::{Limits, inspect};
pub use prober::{Class, Magic, Prober};
pub use window::Window;
