//! A file on this machine, placed by the stack that `check` makes of it. Skipped where the file's place is not known.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Write;
use straddle_bench::place::{Devices, Ground, Wanted, place};
use straddle_bench::target::Limits;
use straddle_bench::validity::WarningKind;
use straddle_geometry::{Bytes, Unit};
use straddle_sources::{Settings, linux};
use straddle_workload::offset::parse_offsets;

#[test]
fn the_place_of_a_file_is_where_its_kernel_says() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("file");
    let mut file = File::create(&path).expect("file");
    for _ in 0..24 {
        file.write_all(&vec![1; 1 << 20]).expect("space");
    }
    file.sync_all().expect("written");
    let path = path.canonicalize().expect("exists");
    let text = path.to_str().expect("a plain path");
    let root = linux::Root::live();
    let stack = linux::file(&root, text, &Settings::default()).unwrap_or_else(|error| {
        panic!("this test needs a temporary directory (TMPDIR) on a block device: {error}")
    });
    let ground = Ground::find(&stack, &path).expect("the file is in its own stack");
    let sector = Unit::new(512).expect("not zero");
    let offsets = parse_offsets("unaligned,64K,1M").expect("a list");
    let wanted = Wanted {
        offsets: &offsets,
        requests: &[Unit::B4096.into()],
        span: Some(Bytes::mib(8)),
        size: Bytes::mib(24),
        limits: Limits {
            memory: sector,
            offset: sector,
        },
    };
    let placement = place(Some(ground), &wanted).expect("room");
    let unknown = |w: &straddle_bench::validity::Warning| w.kind == WarningKind::StackUnknown;
    assert!(
        !placement.warnings.iter().any(unknown),
        "this test needs a temporary directory (TMPDIR) on a disk that is known, not in memory or an overlay"
    );
    // The same by hand: the extent that holds the byte, and the partition's start.
    let extents = straddle_io::linux::file_extents(&file, 1 << 16).expect("extents");
    let devices = Devices::below(&stack, ground.layer);
    let starts = devices.path.iter().filter_map(|name| {
        let start = std::fs::read_to_string(format!("/sys/class/block/{name}/start")).ok()?;
        start.trim().parse::<u64>().ok()
    });
    let start: u64 = starts.map(|sectors| sectors * 512).sum();
    let is_plain = devices.all.len() <= 2 && devices.path == devices.all;
    for placed in &placement.places {
        let at = placement.region.base.get() + placed.offset.bytes.get();
        let holds = |e: &&straddle_io::linux::FileExtent| {
            e.logical.get() <= at && at < e.logical.get() + e.len.get()
        };
        let extent = extents.extents.iter().find(holds).expect("written");
        let there = extent.physical.get() + (at - extent.logical.get()) + start;
        let (name, address) = placed.device.clone().expect("known");
        if is_plain {
            assert_eq!((Some(&name), address.get()), (devices.disks.first(), there));
        }
    }
}
