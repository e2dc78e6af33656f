//! Moving data in place, so that nothing is lost whenever it is stopped.
//!
//! A [`Shift`] says what is moved and in which order, a [`Journal`] what is known of it, and a [`Move`] carries it out, takes it
//! up where it was stopped, or takes it back. All of it works on a [`Store`], so that tests can fail, tear and lose every write.

pub mod journal;
mod mover;
mod shift;
mod store;

pub use journal::{Journal, JournalError};
pub use mover::{Check, Move, MoveError};
pub use shift::{Block, Shift};
pub use store::Store;
