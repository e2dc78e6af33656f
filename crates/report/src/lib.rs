//! Stacks, findings and experiments as people and programs read them: text, JSON, CSV, pictures.
//!
//! Nothing here prints: every function returns text or writes into what the caller gives. Text carries ANSI styles; the
//! caller strips them where they do not belong.

mod alike;
mod below;
pub mod bench;
mod cells;
pub mod compare;
pub mod compat;
pub mod csv;
mod document;
pub mod escape;
pub mod evidence;
pub mod fix;
mod fleet;
mod fold;
pub mod json;
pub mod kept;
pub mod pages;
mod places;
pub mod predict;
pub mod realign;
pub mod schemas;
pub mod study;
pub mod text;
pub mod trace;
mod utc;
mod views;
mod welch;

pub use alike::{Alike, AlikeFinding, Host};
pub use below::{FileBelow, FilesBelow, OffGrid, Taken};
pub use document::{Checked, Counts, Next, SCHEMA, TargetDocument};
pub use fleet::{Digest, Fleet, Gap, RuleCount, Summary, Worst};
pub use fold::{Folded, MAX_OF_ONE_RULE};
pub use places::{Asked, GapDocument, Place, Step};
pub use utc::when;
pub use views::{View, ViewGrid};
