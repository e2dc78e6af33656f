//! From where partitions are to where they will be: the parts that move, and every byte of metadata that says where they are.
//!
//! What the plan saw is compared with the bytes of the table first, so a target that was changed since is refused.

mod boot;
mod chs;
mod draft;
mod entry;
mod gpt;
mod layout;
mod mbr;
mod records;

use straddle_io::ReadAt;

use crate::Refusal;
use crate::job::{Job, JobError, Part};
use draft::Draft;
pub use layout::{Layout, Place, Table};

/// All that is done to a disk to bring its partitions to their new places.
///
/// # Errors
/// When the table is not the one that the plan saw, is damaged, or has no room for what must be written.
pub fn job(disk: &dyn ReadAt, layout: &Layout) -> Result<Job, Refusal> {
    layout.is_sound()?;
    let parts = layout.partitions.iter().map(|place| Part {
        from: place.from.start(),
        to: place.to.start(),
        len: place.from.len(),
    });
    let parts: Vec<Part> = parts.collect();
    let bare = Job::new(parts.clone(), Vec::new()).map_err(no_order)?;
    let mut draft = Draft::new(disk, &bare, layout.size);
    match layout.table {
        Table::Mbr => mbr::edit(&mut draft, layout)?,
        Table::Gpt => gpt::edit(&mut draft, layout)?,
    }
    for place in layout.moved() {
        boot::edit(&mut draft, place)?;
    }
    Job::new(parts, draft.into_edits()).map_err(no_order)
}

fn no_order(error: JobError) -> Refusal {
    Refusal::new(error, "move one partition at a time (--partition)")
}
