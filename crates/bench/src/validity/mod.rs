//! What could make a measurement worthless, and what to do about it.
//!
//! [`before`] looks at the target and the devices below it before the first run; an [`Observer`] looks at the machine while
//! runs are made, and at their samples afterwards. Files of the kernel are read below a root that is a parameter, so that
//! tests can put a machine together from a few of them. What a kernel does not tell is not judged.

mod before;
mod cache;
mod kernel;
mod observer;
mod other_io;
mod processor;
mod queue;
mod warning;
mod written;

pub(crate) use before::main_memory;
pub use before::{LISTENING, Scene, before};
pub(crate) use kernel::Kernel;
#[cfg(test)]
pub(crate) use kernel::testing::put;
pub use observer::Observer;
pub(crate) use warning::percent;
pub use warning::{Warning, WarningKind};
#[cfg(target_os = "linux")]
pub use written::unwritten_in;
pub use written::{Unwritten, not_written};
