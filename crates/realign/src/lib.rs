//! Moving data in place, so that nothing is lost whenever it is stopped.
//!
//! A [`Job`] says what becomes of a target, and a [`View`] shows the target as it will be. A [`Shift`] says what is moved and in which
//! order, a [`Journal`] what is known of it, and a [`Move`] carries it out, takes it up where it was stopped, or takes it back. All of it
//! works on a [`Store`], so that tests can fail, tear and lose every write.
//!
//! [`container::open`] makes such a store of a virtual disk, whose blocks get their places before anything is moved. [`image::write`] writes
//! a disk, or a view of it, to a new file of any format.

mod bits;
pub mod container;
mod ids;
pub mod image;
mod job;
pub mod journal;
mod mover;
mod qcow2;
mod shift;
mod store;
mod vdi;
mod vhd;
mod vhdx;
mod view;
mod vmdk;

pub use container::{Access, ContainerError, Files, Guest};
pub use ids::Ids;
pub use job::{Edit, Job, JobError, Part};
pub use journal::{Journal, JournalError};
pub use mover::{Check, Move, MoveError};
pub use shift::{Block, Shift};
pub use store::Store;
pub use view::View;
