//! The model that every part of Straddle shares: a storage stack as layers, and the provenance of every number in it.
//!
//! A [`Stack`] is a list of [`Layer`]s. Each knows the layers below it, the [`Map`](straddle_geometry::Map) that takes
//! its addresses there, the [`GridFact`]s it contributes and the other facts known about it. A [`Fact`] is never a bare
//! value: it carries its [`Source`] (the sysfs file, the bytes of an image, the line of a captured text, the flag, the
//! assumption) and how far that source is to be trusted.
//!
//! [`Stack::grids_seen_from`] projects every grid below a layer into that layer's own addresses; [`Seen::price`] says
//! what a stream of requests costs there.

pub mod activity;
mod anomaly;
mod attribute;
mod device_name;
mod fact;
mod grids;
mod interval;
mod layer;
mod layer_id;
mod seen;
mod stack;
mod stripes;
mod survey;
mod upper;
mod written;

pub use anomaly::{Anomaly, AnomalyKind, NOT_GIVEN};
pub use attribute::{Attribute, Key, Value};
pub use device_name::{disk_of, is_whole_disk};
pub use fact::{Fact, ImageBytes, Source, Trust};
pub use grids::{GridFact, GridRole};
pub use interval::Interval;
pub use layer::{Layer, LayerKind};
pub use layer_id::LayerId;
pub use seen::{Piece, Seen, SeenGrid, Surveyed};
pub use stack::Stack;
pub use survey::{Base, Class, Run, Survey, Window};
pub use written::{Unplaced, Written, WrittenGap, WrittenRun};
