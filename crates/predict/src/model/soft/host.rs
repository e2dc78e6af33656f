//! The largest request that a host sends down.

use crate::model::{Model, Operation};
use crate::profile::{Key, Section};

const LARGEST: Key = Key::bytes(
    "largest",
    512.0,
    1_073_741_824.0,
    "Longest request that the host sends; longer ones are split (max_sectors_kb). A multiple of 512.",
);

/// Its parameters.
pub(crate) static MODEL: Model = Model {
    section: "host",
    title: "Host",
    keys: &[&LARGEST],
};

/// The longest request, in whole sectors.
pub(super) fn longest(section: &Section) -> u64 {
    (section.whole(&LARGEST) / 512).max(1) * 512
}

/// Splits an operation from its beginning.
#[inline]
pub(super) fn split(operation: Operation, longest: Option<u64>, mut take: impl FnMut(Operation)) {
    let Some(longest) = longest else {
        take(operation);
        return;
    };
    let (mut at, end) = (operation.start, operation.end());
    while at < end {
        let len = longest.min(end - at);
        take(Operation {
            access: operation.access,
            start: at,
            len,
        });
        at += len;
    }
}
