//! Where stacks come from: an image or device by itself, the live Linux or Windows host, or a host captured elsewhere.
//!
//! [`image`] looks at one file or device and at nothing around it. [`linux::host`] reads a machine from its sysfs and
//! mount table below a [`linux::Root`], which is the live system, a directory or a captured archive; one code path
//! serves all three. [`linux::file`] follows one file through its extents down to the disks. [`capture()`] writes
//! what those two read.

pub mod archive;
mod capture;
pub mod captured;
pub mod collected;
mod contents;
mod error;
mod guest;
mod host;
mod image;
pub mod inventory;
pub mod linux;
mod metadata;
mod missing;
mod overrides;
mod pages;
mod part;
mod place;
mod raid;
mod sectors;
mod settings;
pub mod windows;

pub use capture::{CaptureOptions, CaptureReport, capture, capture_tree};
pub use error::SourceError;
pub use guest::Outside;
pub use host::{file, host, place};
pub use image::{
    GuestImage, all_bytes, bytes, claimed_end, guest_disk, image, images, left_out, raw_image,
};
pub use overrides::{Overrides, Stated};
pub use place::Place;
pub use settings::Settings;
