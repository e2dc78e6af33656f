use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;
use straddle_geometry::Bytes;

use crate::{How, Traffic};

/// What a plan takes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Effort {
    /// What the scripts of all steps read and write, with what a backup program does for them.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// Half of what is read and written: what would be read once and written once in the same time.
    pub copied: Bytes,
    /// Bytes that are in question: a backup of them is needed in any case.
    pub data: Bytes,
    /// False where data are moved of which nobody says how many: the figures are too low then, and no outage is known.
    pub is_known: bool,
    /// True where a step copies no more than what is stored, and is counted with all that there is room for: the figures are upper bounds.
    pub is_at_most: bool,
    /// Bytes that are read and written each second; an assumption unless it was given.
    pub rate: Bytes,
    /// How long that takes, in seconds: the downtime, at this rate.
    #[serde(rename = "seconds")]
    #[serde(serialize_with = "seconds")]
    #[schemars(with = "f64")]
    pub downtime: Duration,
    /// What must be done again by hand afterwards: boot loaders, drive letters, identifiers.
    pub again: Vec<String>,
}

fn seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

impl Effort {
    /// What steps take together: each has its price, and bytes that several have in question are said once in `data`.
    #[must_use]
    pub fn of(
        steps: &[(How, Traffic)],
        (data, is_at_most): (Bytes, bool),
        rate: Bytes,
        again: Vec<String>,
    ) -> Effort {
        let prices = steps.iter().map(|(_, traffic)| *traffic);
        let traffic = prices.fold(Traffic::default(), Traffic::and);
        let copied = traffic.copied();
        #[expect(clippy::cast_precision_loss, reason = "a time needs no 64 bits")]
        let seconds = copied.get() as f64 / rate.get().max(1) as f64;
        Effort {
            traffic,
            copied,
            data,
            is_known: steps.iter().all(|(how, _)| how.is_known()),
            is_at_most,
            rate,
            downtime: Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
            again,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Effort, How};
    use crate::Traffic;
    use std::time::Duration;
    use straddle_geometry::Bytes;

    #[test]
    fn a_byte_that_is_read_and_written_takes_the_time_of_one_and_what_is_not_known_is_said() {
        let gib = |n: u64| Bytes::new(n << 30);
        let copy = |read, written| Traffic {
            read: gib(read),
            written: gib(written),
            room: gib(1),
        };
        let steps = [
            (How::InPlace, Traffic::default()),
            (How::ByHand, Traffic::default()),
            (How::Move { bytes: gib(1) }, copy(4, 2)),
            (How::Refill { bytes: gib(8) }, copy(16, 16)),
        ];
        let effort = Effort::of(&steps, (gib(9), true), gib(1), Vec::new());
        assert_eq!(effort.data, gib(9));
        assert_eq!(effort.copied, gib(19));
        assert_eq!(effort.traffic.room, gib(2));
        assert_eq!(effort.downtime, Duration::from_secs(19));
        assert!(effort.is_known);
        let unknown = How::Copy { bytes: Bytes::ZERO };
        let steps = [steps[2], (unknown, Traffic::default())];
        assert!(!Effort::of(&steps, (gib(1), true), gib(1), Vec::new()).is_known);
    }
}
