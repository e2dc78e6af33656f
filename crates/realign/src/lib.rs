//! Moving data in place, so that nothing is lost whenever it is stopped.
//!
//! A [`Job`] says what becomes of a target, and a [`View`] shows the target as it will be. A [`Sequence`] says in which blocks and in which
//! order parts are copied, a [`Journal`] what is known of the move, and a [`Move`] carries it out, takes it up where it was
//! stopped, or takes it back. All of it works on a [`Store`], so that tests can fail, tear and lose every write.
//!
//! [`Intent`] makes a job from a plan of `fix`: [`table`] knows what says where partitions are, [`contents`] what they must be left like.
//! [`container::open`] makes a store of a virtual disk, whose blocks get their places before anything is moved. [`image::write`] writes
//! a disk, or a view of it, to a new file of any format.

pub mod container;
pub mod contents;
#[cfg(target_os = "linux")]
mod file;
mod follow_up;
mod format;
mod ids;
pub mod image;
pub mod intent;
mod job;
pub mod journal;
mod mover;
mod refusal;
mod sequence;
mod shift;
mod store;
pub mod table;
mod used;
mod view;

pub use container::{Access, ContainerError, Disk, Files, Guest};
#[cfg(target_os = "linux")]
pub use file::FileStore;
pub use ids::Ids;
pub use intent::{Intent, Wanted};
pub use job::{Edit, Job, JobError, Part};
pub use journal::{Journal, JournalError};
pub use mover::{Check, Method, Move, MoveError, Options, Phase, Progress};
pub use refusal::Refusal;
pub use sequence::{Sequence, Sizes};
pub use shift::{Block, Shift};
pub use store::{ReadOnly, Store};
pub use used::Used;
pub use view::View;
