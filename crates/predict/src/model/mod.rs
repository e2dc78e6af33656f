//! The models, one file or folder each, in the order of the stack.
//!
//! A model declares its parameters ([`Model`]) and builds itself from a profile's section. Those of one member of an array
//! (disk, flash, server) are `Device`s; what lies above them is part of every system or absent.

pub(crate) mod array;
pub(crate) mod cache;
pub(crate) mod controller;
mod declaration;
mod device;
pub(crate) mod disk;
pub(crate) mod flash;
pub(crate) mod port;
pub(crate) mod server;
pub(crate) mod soft;

pub use declaration::Model;
pub(crate) use device::{Device, Ended, Granules, Operation, Tally, Use};

/// Every model in the order of the stack, highest first.
pub(crate) static MODELS: &[&Model] = &[
    &soft::blocks::MODEL,
    &soft::host::MODEL,
    &soft::integrity::MODEL,
    &soft::bitmap::MODEL,
    &port::MODEL,
    &controller::MODEL,
    &cache::MODEL,
    &array::MODEL,
    &flash::MODEL,
    &disk::MODEL,
    &server::MODEL,
];

/// Sections of which a profile has exactly one: what a member is.
pub const DEVICES: &[&str] = &["disk", "flash", "server"];

/// Every model, highest first.
pub fn all() -> impl Iterator<Item = &'static Model> {
    MODELS.iter().copied()
}

/// The model of that section.
#[must_use]
pub fn find(section: &str) -> Option<&'static Model> {
    let mut models = MODELS.iter();
    models.find(|model| model.section == section).copied()
}

/// The names of all sections, for a message.
#[must_use]
pub fn names() -> String {
    let names: Vec<&str> = MODELS.iter().map(|model| model.section).collect();
    names.join(", ")
}
