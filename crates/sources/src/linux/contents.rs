//! What lies on the devices of the live host.
use super::host::Host;
use straddle_stack::LayerId;
impl Host<'_> {
    pub(super) fn add_contents(&mut self) {}
    pub(super) fn add_file_contents(&mut self, _id: LayerId, _path: &str) {}
}
