//! Files and devices: read-only opens, the one bounded reader through which all image bytes pass, and the engines through
//! which measurements and moves do their I/O.
//!
//! Nothing but an [`engine`] and what is opened with [`Opening::write`] writes, and nothing maps a file into memory. A
//! [`Reader`] caps how many bytes one target may cost, remembers what it has read, and turns every failure into a
//! [`ReadError`] that names the byte and the length.

mod ahead;
mod aligned;
mod device;
pub mod engine;
mod error;
mod forward;
mod found;
#[cfg(target_os = "linux")]
pub mod linux;
#[cfg(all(
    target_arch = "x86_64",
    target_os = "linux",
    any(target_env = "musl", test)
))]
#[allow(unsafe_code)]
mod memory;
mod open;
pub mod owned;
mod packed;
mod part;
mod reader;
mod table;
mod target;
#[cfg(windows)]
pub mod windows;

pub use ahead::{ahead, fill};
pub use aligned::AlignedBytes;
pub use device::{WindowsDevice, is_device};
pub use error::is_shared_with_nobody;
pub use error::{ReadError, ReadErrorKind};
pub use forward::{Forward, Opener};
pub use found::{Found, regular};
pub use open::Opening;
pub use packed::Packing;
pub use part::Part;
pub use reader::{ReadAt, Reader};
pub use table::{LINE_BREAK, Numbers, digits, eight_digits, places, room};
pub use target::{OpenError, Target, TargetKind};
