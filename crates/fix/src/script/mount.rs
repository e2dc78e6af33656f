//! `mount`, by which XFS is told the stripe of the array below: the kernel writes it to the superblock.

use straddle_geometry::Bytes;

use super::fragment::filled;
use super::{Language, Refusal, Tool, Writer, shell};
use crate::Step;
use crate::change::Change;

pub(super) static TOOL: Tool = Tool {
    name: "mount",
    title: "mount of XFS with sunit and swidth, which writes both to its superblock",
    language: Language::Shell,
    does: |change| matches!(change, Change::Hints(hints) if hints.format == "xfs"),
    script: |order| shell::script(order, step),
};

/// Where the superblock has the stripe unit, in blocks and with the highest byte first; the full stripe follows.
const UNIT_AT: u32 = 184;

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    let Change::Hints(hints) = &step.change else {
        return Ok(String::new());
    };
    writer.first(step)?;
    let (unit, width) = hints.in_blocks();
    let sectors = |bytes: Bytes| (bytes.get() / 512).to_string();
    Ok(filled(
        include_str!("fragments/xfs_stripe.sh"),
        &[
            ("reach", &writer.reach(hints.device)?),
            ("sunit", &sectors(hints.stripe_unit)),
            ("swidth", &sectors(hints.full_stripe)),
            ("unit_at", &UNIT_AT.to_string()),
            ("unit", &unit.to_string()),
            ("width", &width.to_string()),
            ("release", writer.release(hints.device)?),
        ],
    ))
}
