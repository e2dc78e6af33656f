//! Rows with parity: RAID 4, 5, 6, 50, 60, and narrow rows spread over a disk group.
use super::split::Split;
use super::{Refusal, Section, Unit};
use crate::model::device::Operation;
#[derive(Debug)]
pub(super) struct Parity {}
impl Parity {
    pub(super) fn build(
        section: &Section,
        level: &str,
        _m: u32,
        _unit: u64,
        _f: Option<u32>,
    ) -> Result<Parity, Refusal> {
        Err(section.refuse(
            &super::keys::LEVEL,
            format!("a level other than {level}, which is not built yet"),
        ))
    }
    pub(super) fn units(&self, _rows: u64) -> u64 {
        0
    }
    pub(super) fn split(&self, _unit: &Unit, _operation: Operation, _out: &mut Split) {}
}
