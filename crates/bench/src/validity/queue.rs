//! Whether the devices take as many requests at once as are asked for.
//!
//! A request that finds no room waits in the kernel, where its waiting counts as latency, and the device never sees the
//! concurrency that the plan is about. Sources: `queue/nr_requests` is the room of one queue in the kernel, `mq/N/nr_tags` that
//! of each of the device's own; `device/queue_depth` is what a SCSI or ATA device takes in all (Linux
//! `Documentation/ABI/stable/sysfs-block`, `block/blk-mq-sysfs.c`).

use super::kernel::Kernel;
use super::{Warning, WarningKind};
use crate::place::Devices;
use crate::plan::Plan;
use straddle_rules::figures::counted;

/// What one device takes, and the arithmetic.
struct Room {
    requests: u64,
    /// Without the device's name.
    how: String,
}

impl Room {
    /// The arithmetic of one device.
    fn of(self, device: &str) -> Room {
        Room {
            how: format!("{device}/{}", self.how),
            ..self
        }
    }
}

fn room_of(kernel: &Kernel, device: &str) -> Option<Room> {
    let path = Kernel::block(device);
    // Without hardware queues, as in md and dm, requests are passed on at once and the numbers mean nothing.
    let queues = kernel.names(&format!("{path}/mq"));
    let of_queues = |each: u64, file: &str| {
        let count = u64::try_from(queues.len())
            .ok()
            .filter(|count| *count > 0)?;
        Some(Room {
            requests: each.checked_mul(count)?,
            how: match count {
                1 => format!("{file} = {each}"),
                _ => format!("{file} = {each} in each of {count} hardware queues"),
            },
        })
    };
    let requests = kernel
        .number(&format!("{path}/queue/nr_requests"))
        .and_then(|each| of_queues(each, "queue/nr_requests"));
    let tags = queues
        .first()
        .and_then(|first| kernel.number(&format!("{path}/mq/{first}/nr_tags")))
        .and_then(|each| of_queues(each, "mq/0/nr_tags"));
    let depth = kernel
        .number(&format!("{path}/device/queue_depth"))
        .map(|requests: u64| Room {
            requests,
            how: format!("device/queue_depth = {requests}"),
        });
    [depth, tags, requests]
        .into_iter()
        .flatten()
        .min_by_key(|room| room.requests)
}

/// A warning when the plan has more requests under way than the narrowest device on the way down, or all disks together,
/// take.
pub(super) fn too_short(kernel: &Kernel, devices: &Devices, plan: &Plan) -> Option<Warning> {
    let asked = plan.cells.iter().max_by_key(|cell| cell.concurrency())?;
    let on_path = devices.path.iter();
    let on_path = on_path.filter_map(|name| Some(room_of(kernel, name)?.of(name)));
    // Requests spread over the disks, so these count together; one whose room is not known may take any number.
    let rooms = devices.disks.iter().map(|name| room_of(kernel, name));
    let disks: Option<Vec<Room>> = rooms.collect();
    let together = disks
        .filter(|disks| disks.len() > 1)
        .map(|disks| in_all(disks, &devices.disks));
    let narrowest = on_path.chain(together).min_by_key(|room| room.requests)?;
    if narrowest.requests >= asked.concurrency() {
        return None;
    }
    let beyond = plan
        .cells
        .iter()
        .filter(|cell| cell.concurrency() > narrowest.requests)
        .count();
    Some(Warning {
        kind: WarningKind::QueueLimit,
        cause: format!(
            "The devices take fewer requests at once than {beyond} of {} keep under way: up to {} × {} outstanding = {}, but {} ({}). The others wait in the kernel: \
             rates stop rising there, and latencies are those of the waiting.",
            counted(plan.cells.len() as u64, "workload"),
            counted(asked.workers, "thread"),
            asked.outstanding,
            asked.concurrency(),
            narrowest.requests,
            narrowest.how,
        ),
        advice: format!(
            "Ask for at most {} in all, or raise the limit where the device permits it (`echo N > /sys/block/DEVICE/device/queue_depth`; queue/nr_requests).",
            narrowest.requests
        ),
    })
}

/// What several disks take together.
fn in_all(disks: Vec<Room>, names: &[String]) -> Room {
    let requests = disks.iter().map(|room| room.requests).sum();
    let how = match disks.first() {
        Some(first) if disks.iter().all(|room| room.how == first.how) => {
            format!("{} on each of {} disks", first.how, disks.len())
        }
        _ => {
            let rooms = disks.into_iter().zip(names);
            let each: Vec<String> = rooms.map(|(room, name)| room.of(name).how).collect();
            each.join(", ")
        }
    };
    Room { requests, how }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::testing::put;
    use super::*;
    use crate::validity::observer::testing::plan;

    fn devices(path: &[&str], disks: &[&str]) -> Devices {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Devices {
            all: Vec::new(),
            path: names(path),
            disks: names(disks),
            cached: Vec::new(),
        }
    }

    #[test]
    fn more_outstanding_than_the_disk_takes_is_a_warning() {
        let root = tempfile::tempdir().expect("temporary directory");
        put(root.path(), "/sys/block/sda/queue/nr_requests", "64\n");
        put(root.path(), "/sys/block/sda/mq/0/nr_tags", "64\n");
        put(root.path(), "/sys/block/sda/device/queue_depth", "32\n");
        let kernel = Kernel::at(root.path());
        let devices = devices(&["sda1", "sda"], &["sda"]);
        assert_eq!(too_short(&kernel, &devices, &plan(&[1, 8, 32])), None);
        let warning = too_short(&kernel, &devices, &plan(&[1, 32, 33, 64])).expect("a warning");
        assert_eq!(warning.kind, WarningKind::QueueLimit);
        assert!(
            warning.cause.starts_with(
                "The devices take fewer requests at once than 2 of 4 workloads keep under way: up to 1 thread × 64 outstanding = 64, but 32 (sda/device/queue_depth = 32)."
            ),
            "{}",
            warning.cause
        );
    }

    #[test]
    fn hardware_queues_and_members_add_up() {
        let root = tempfile::tempdir().expect("temporary directory");
        for disk in ["nvme0n1", "nvme1n1"] {
            put(
                root.path(),
                &format!("/sys/block/{disk}/queue/nr_requests"),
                "8",
            );
            for queue in 0..4 {
                put(
                    root.path(),
                    &format!("/sys/block/{disk}/mq/{queue}/nr_tags"),
                    "8",
                );
            }
        }
        // An array has a number too, and no queue.
        put(root.path(), "/sys/block/md0/queue/nr_requests", "2");
        let kernel = Kernel::at(root.path());
        let both = devices(&["md0"], &["nvme0n1", "nvme1n1"]);
        assert_eq!(too_short(&kernel, &both, &plan(&[64])), None);
        let warning = too_short(&kernel, &both, &plan(&[65])).expect("a warning");
        assert!(
            warning.cause.contains(
                "but 64 (mq/0/nr_tags = 8 in each of 4 hardware queues on each of 2 disks)"
            ),
            "{}",
            warning.cause
        );
        put(root.path(), "/sys/block/nvme1n1/mq/0/nr_tags", "4\n");
        let warning = too_short(&kernel, &both, &plan(&[64])).expect("a warning");
        assert!(
            warning.cause.contains(
                "but 48 (nvme0n1/mq/0/nr_tags = 8 in each of 4 hardware queues, nvme1n1/mq/0/nr_tags = 4 in each"
            ),
            "{}",
            warning.cause
        );
        let one_unknown = devices(&["md0"], &["nvme0n1", "sdx"]);
        assert_eq!(too_short(&kernel, &one_unknown, &plan(&[65])), None);
    }
}
