//! One file per verb.

pub(crate) mod bench;
pub(crate) mod capture;
pub(crate) mod check;
pub(crate) mod diskspd;
pub(crate) mod explain;
pub(crate) mod fix;
pub(crate) mod predict;
pub(crate) mod profile;
pub(crate) mod schema;
mod screen;
pub(crate) mod shell;
pub(crate) mod sqlio;
pub(crate) mod study;
mod together;
mod typed;
