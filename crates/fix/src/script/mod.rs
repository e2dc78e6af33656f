//! Scripts that carry a plan out: one file for each tool.
//!
//! A script says what it does and why, and does nothing to a device whose size, or whose bytes in the places that tell it from
//! others, are not those that the plan was made for. Steps of other tools are named in it, not done.

mod batch;
mod convert_vhd;
mod copies;
mod cryptsetup;
mod diskpar;
mod diskpart;
mod esxi;
mod fragment;
mod guard;
mod guarded;
mod in_use;
mod job;
mod lvm;
mod mdadm;
mod mkfs;
mod mount;
mod parted;
mod parted_util;
mod power;
mod powershell;
mod prelude;
mod price;
mod qemu_img;
mod refusal;
mod repart;
mod sfdisk;
mod sgdisk;
mod shell;
mod tables;
mod tool;
mod tune2fs;
mod vds;
mod virtual_disk;
mod windows;
mod words;
mod zpool;

use crate::change::Change;
use crate::{How, Step};

use job::partitions_of;
use tool::Order;
use words::{indented, safe};

pub use crate::traffic::Traffic;
pub use guard::Guard;
pub use job::{Job, Writer};
pub(crate) use price::of as price;
pub use refusal::Refusal;
pub use tool::{Language, Tool};

/// All tools, in the order of the documentation.
pub static TOOLS: &[&Tool] = &[
    &sfdisk::TOOL,
    &sgdisk::TOOL,
    &parted::TOOL,
    &repart::TOOL,
    &mdadm::TOOL,
    &lvm::TOOL,
    &cryptsetup::TOOL,
    &mkfs::TOOL,
    &tune2fs::TOOL,
    &mount::TOOL,
    &zpool::TOOL,
    &diskpart::TOOL,
    &powershell::TOOL,
    &diskpar::TOOL,
    &vds::TOOL,
    &parted_util::TOOL,
    &qemu_img::TOOL,
    &convert_vhd::TOOL,
];

/// The tool of this name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name).copied()
}

/// The first tool that carries out a change.
#[must_use]
pub fn for_change(change: &Change) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| (tool.does)(change)).copied()
}

/// The script that carries out the steps of a plan that `tool` can.
///
/// # Errors
/// [`Refusal`] when there are none, or one is not to be left to a script.
pub fn write(job: &Job<'_>, tool: &'static Tool) -> Result<String, Refusal> {
    if !has_steps(job, tool) {
        return Err(Refusal::NothingToDo {
            tool: tool.name,
            with: writable(job).iter().map(|tool| tool.name).collect(),
        });
    }
    // Of an image, nobody knows on which system it will be repaired.
    match crate::situation::platform(&job.plan.after) {
        Some(system) if !tool.suits(&job.plan.after) => Err(Refusal::Elsewhere {
            tool: tool.name,
            system: straddle_rules::system(system).to_owned(),
            with: fitting(job).map(|tool| tool.name).collect(),
        }),
        _ => written(job, tool),
    }
}

/// The tools that a script can be written for: each writes its script, which is thrown away.
#[must_use]
pub fn writable(job: &Job<'_>) -> Vec<&'static Tool> {
    fitting(job)
        .filter(|tool| written(job, tool).is_ok())
        .collect()
}

/// The tools that have steps and run where they are to be done.
fn fitting(job: &Job<'_>) -> impl Iterator<Item = &'static Tool> {
    let tools = TOOLS.iter().copied();
    tools.filter(|tool| has_steps(job, tool) && tool.suits(&job.plan.after))
}

fn has_steps(job: &Job<'_>, tool: &Tool) -> bool {
    let mut steps = job.plan.steps.iter();
    steps.any(|step| (tool.does)(&step.change))
}

/// The script of a tool that has steps.
fn written(job: &Job<'_>, tool: &'static Tool) -> Result<String, Refusal> {
    // What stands in the way of data that are moved is nothing to a tool that does not move them.
    let hindered = |step: &&Step| {
        (tool.does)(&step.change) && (step.how == How::ByHand || tool.keeps_data(step))
    };
    for step in job.plan.steps.iter().filter(hindered) {
        if let Some(why) = step.blockers.first() {
            return Err(Refusal::Hindered {
                number: step.number,
                why: why.clone(),
            });
        }
    }
    (tool.script)(&Order {
        job,
        tool,
        other: for_change,
    })
}
