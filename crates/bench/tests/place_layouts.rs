//! Plans placed in files and devices as they occur.

use straddle_bench::place::{
    Ground, NotPermitted, PlaceError, Placement, Spacing, Wanted, check_offsets, place, room_for,
};
use straddle_bench::target::Limits;
use straddle_bench::validity::WarningKind;
use straddle_geometry::{Bytes, Extent, Grid, Map, Segment, Striping, Unit};
use straddle_stack::{Anomaly, AnomalyKind, Fact, GridRole, Layer, LayerId, LayerKind, Stack};
use straddle_workload::offset::{Offset, parse_offsets};

fn unit(n: u64) -> Unit {
    Unit::new(n).expect("not zero")
}

fn kib(n: u64) -> Unit {
    unit(n << 10)
}

/// A stack that grows upwards, layer by layer.
#[derive(Default)]
struct Tower {
    stack: Stack,
    top: Option<LayerId>,
}

impl Tower {
    fn disk(grids: &[(GridRole, u64, u64)]) -> Tower {
        Tower::default().layer(LayerKind::Device, "sda", Map::IDENTITY, grids)
    }

    fn layer(
        mut self,
        kind: LayerKind,
        name: &str,
        map: Map,
        grids: &[(GridRole, u64, u64)],
    ) -> Tower {
        let mut layer = Layer::new(kind, name);
        layer.below = self.top.into_iter().collect();
        layer.map = map;
        for (role, size, phase) in grids {
            let grid = Grid::with_phase(unit(*size), Bytes::new(*phase));
            layer.add_grid(*role, Fact::stated(grid, "--test", ""));
        }
        self.top = Some(self.stack.push(layer));
        self
    }

    fn partition(self, start: u64) -> Tower {
        let start = Bytes::new(start);
        self.layer(LayerKind::Partition, "sda1", Map::Linear { start }, &[])
    }

    /// A file in pieces (in the file, length, on the filesystem's device).
    fn file(self, pieces: &[(u64, u64, u64)]) -> Tower {
        let piece = |&(upper, len, lower): &(u64, u64, u64)| Segment {
            upper: Extent::new(Bytes::new(upper), Bytes::new(len)).expect("small"),
            target: 0,
            lower: Bytes::new(lower),
        };
        let map = Map::segments(pieces.iter().map(piece).collect()).expect("no overlap");
        let allocation = (GridRole::AllocationUnit, 4096, 0);
        self.layer(LayerKind::Filesystem, "ext4", Map::IDENTITY, &[allocation])
            .layer(LayerKind::File, "/data/test", map, &[])
    }

    fn ground(&self) -> Ground<'_> {
        Ground {
            stack: &self.stack,
            layer: self.top.expect("not empty"),
        }
    }

    fn place(
        &self,
        offsets: &str,
        sizes: &[Unit],
        span: u64,
        size: u64,
    ) -> Result<Placement, PlaceError> {
        place(
            Some(self.ground()),
            &wanted(&list(offsets), &end_to_end(sizes), span, size, 512),
        )
    }
}

fn list(offsets: &str) -> Vec<Offset> {
    parse_offsets(offsets).expect("a list")
}

fn end_to_end(sizes: &[Unit]) -> Vec<Spacing> {
    sizes.iter().copied().map(Spacing::from).collect()
}

fn wanted<'a>(
    offsets: &'a [Offset],
    requests: &'a [Spacing],
    span: u64,
    size: u64,
    sector: u64,
) -> Wanted<'a> {
    Wanted {
        offsets,
        requests,
        span: Some(Bytes::new(span)),
        size: Bytes::new(size),
        limits: Limits {
            memory: unit(sector),
            offset: unit(sector),
        },
    }
}

fn kinds(placement: &Placement) -> Vec<WarningKind> {
    placement.warnings.iter().map(|w| w.kind).collect()
}

const M: u64 = 1 << 20;
const SECTORS: [(GridRole, u64, u64); 2] = [
    (GridRole::LogicalSector, 512, 0),
    (GridRole::PhysicalSector, 4096, 0),
];

#[test]
fn a_file_in_one_piece_stands_as_a_disk_would() {
    let mut grids = SECTORS.to_vec();
    grids.push((GridRole::StripeUnit, 64 << 10, 0));
    // 5 × 4 KiB behind a stripe unit: the first boundary is 44 KiB into the file.
    let tower = Tower::disk(&grids)
        .partition(M)
        .file(&[(0, 128 * M, 300 * M + 20 * 1024)]);
    let sizes = [kib(8), kib(64)];
    let placement = tower
        .place("unaligned,32K,64K,1M,2M", &sizes, 100 * M + 5, 128 * M)
        .expect("room");
    assert_eq!(placement.region.base, Bytes::kib(44));
    assert_eq!(placement.region.len, Bytes::mib(100), "whole requests");
    assert_eq!(placement.warnings, []);
    let classes: Vec<usize> = placement.places.iter().map(|p| p.class).collect();
    assert_eq!(classes, [0, 1, 2, 2, 2]);
    for placed in &placement.places {
        // 300 MiB + 64 KiB + 1 MiB of the partition: a multiple of the stripe unit.
        let want = Bytes::new(301 * M + 65_536 + placed.offset.bytes.get());
        assert_eq!(placed.device, Some(("sda".to_owned(), want)));
        let stripe = placed
            .standings
            .iter()
            .find(|s| s.role == GridRole::StripeUnit);
        let stripe = stripe.expect("known");
        assert_eq!(
            stripe.phase.map(Bytes::get),
            Some(placed.offset.bytes.get() % 65_536)
        );
        let extra: Vec<String> = stripe
            .prices
            .iter()
            .map(|p| p.read.expect("small").extra.to_string())
            .collect();
        let want = match placed.offset.name.as_str() {
            "unaligned" => ["12.5%", "100%"],
            "32K" => ["0%", "100%"],
            _ => ["0%", "0%"],
        };
        assert_eq!(extra, want, "{}", placed.offset);
    }
}

#[test]
fn a_misaligned_partition_below_is_made_up_for() {
    let tower = Tower::disk(&SECTORS)
        .partition(32_256)
        .file(&[(0, 64 * M, 8 * M)]);
    let placement = tower
        .place("unaligned,64K", &[kib(4)], 32 * M, 64 * M)
        .expect("room");
    // 32,256 + 512 = 8 × 4,096.
    assert_eq!(placement.region.base, Bytes::new(512));
    assert_eq!(placement.warnings, []);
    let phase = |index: usize| {
        let standings = &placement.places[index].standings;
        let sector = standings
            .iter()
            .find(|s| s.role == GridRole::PhysicalSector);
        sector.expect("known").phase
    };
    assert_eq!(phase(0), Some(Bytes::new(3584)));
    assert_eq!(phase(1), Some(Bytes::ZERO));
    // A direct request passes by the filesystem's own blocks.
    let roles = placement.places[0].standings.iter().map(|s| s.role);
    assert!(roles.eq([GridRole::LogicalSector, GridRole::PhysicalSector]));
}

#[test]
fn a_drive_that_begins_inside_a_sector_is_understood() {
    // alignment_offset 3,584: sector 7 is the first that is aligned, and 63 is too.
    let grids = [
        (GridRole::LogicalSector, 512, 0),
        (GridRole::PhysicalSector, 4096, 3584),
    ];
    let tower = Tower::disk(&grids);
    let placement = tower.place("0,63s", &[kib(4)], M, 16 * M).expect("room");
    assert_eq!(placement.region.base, Bytes::new(3584));
    assert_eq!(
        placement.places[0].device,
        Some(("sda".into(), Bytes::new(3584)))
    );
}

#[test]
fn sectors_of_4_kib_forbid_sector_63_and_name_another() {
    let grids = [
        (GridRole::LogicalSector, 4096, 0),
        (GridRole::PhysicalSector, 4096, 0),
        (GridRole::StripeUnit, 65_536, 0),
    ];
    let tower = Tower::disk(&grids).partition(M).file(&[(0, 64 * M, 8 * M)]);
    let limits = Limits {
        memory: unit(4096),
        offset: unit(4096),
    };
    let offsets = list("unaligned,64K");
    let sizes = [kib(8), kib(64)];
    let layer = "the logical sector of the device";
    let error = check_offsets(&offsets, &sizes, limits, layer).expect_err("not permitted");
    assert!(matches!(&error, NotPermitted::Offset { unit, .. } if *unit == Unit::B4096));
    let text = error.to_string();
    assert!(text.contains("31.5 KiB = 63 sectors = 32,256 B"), "{text}");
    assert!(text.contains("try 28 KiB = 7 × 4 KiB"), "{text}");
    // What is proposed is permitted, and costs what sector 63 would.
    let offsets = list("28K,64K");
    assert_eq!(check_offsets(&offsets, &sizes, limits, layer), Ok(()));
    let placement = place(
        Some(tower.ground()),
        &wanted(&offsets, &end_to_end(&sizes), 32 * M, 64 * M, 4096),
    );
    let placement = placement.expect("room");
    let stripe = &placement.places[0].standings[2];
    assert_eq!(stripe.role, GridRole::StripeUnit);
    let extra = stripe.prices[1].read.expect("small").extra.to_string();
    assert_eq!(
        (stripe.phase, extra.as_str()),
        (Some(Bytes::kib(28)), "100%")
    );
}

#[test]
fn three_disks_have_a_stripe_that_is_no_power_of_two() {
    let mut stack = Stack::new();
    let members: Vec<LayerId> = ["sda", "sdb", "sdc"]
        .map(|name| {
            let mut disk = Layer::new(LayerKind::Device, name);
            for (role, size, _) in SECTORS {
                disk.add_grid(role, Fact::stated(Grid::new(unit(size)), "--test", ""));
            }
            stack.push(disk)
        })
        .to_vec();
    let mut array = Layer::new(LayerKind::Array, "md0");
    array.below = members;
    array.map = Map::Striped(Striping {
        unit: kib(64),
        starts: vec![Bytes::mib(1); 3],
    });
    for (role, size) in [(GridRole::StripeUnit, 64), (GridRole::FullStripe, 192)] {
        array.add_grid(role, Fact::stated(Grid::new(kib(size)), "--test", ""));
    }
    let top = Some(stack.push(array));
    let tower = Tower { stack, top }
        .partition(M)
        .file(&[(0, 32 * M, 5 * M)]);
    let placement = tower
        .place("0,64K,192K,1M,3M", &[kib(64), kib(192)], 16 * M, 32 * M)
        .expect("room");
    // 6 MiB = 32 × 192 KiB: the file starts on a stripe.
    assert_eq!(placement.region.base, Bytes::ZERO);
    assert_eq!(placement.region.len, Bytes::kib(85 * 192));
    let classes: Vec<usize> = placement.places.iter().map(|p| p.class).collect();
    // 1 MiB = 5 × 192 KiB + 64 KiB stands as 64 KiB does; only multiples of 192 KiB stand as 0.
    assert_eq!(classes, [0, 1, 0, 1, 0]);
    // Byte 6 MiB of the array: stripe unit 96, row 32 of the first member, behind 1 MiB of metadata.
    assert_eq!(
        placement.places[0].device,
        Some(("sda".into(), Bytes::mib(3)))
    );
    let roles: Vec<GridRole> = placement.places[0]
        .standings
        .iter()
        .map(|s| s.role)
        .collect();
    assert_eq!(
        roles,
        [
            GridRole::StripeUnit,
            GridRole::FullStripe,
            GridRole::LogicalSector,
            GridRole::PhysicalSector
        ]
    );
    // A file that starts elsewhere is shifted to the next stripe.
    let elsewhere = Tower {
        top: tower
            .stack
            .only_below(tower.top.expect("a file"))
            .and_then(|fs| tower.stack.only_below(fs)),
        stack: tower.stack,
    }
    .file(&[(0, 32 * M, 5 * M + 4096)]);
    let placement = elsewhere
        .place("0,64K", &[kib(64)], 16 * M, 32 * M)
        .expect("room");
    assert_eq!(placement.region.base, Bytes::kib(188));
}

#[test]
fn fragments_that_stand_differently_are_a_warning_with_their_shares() {
    let tower = Tower::disk(&[
        (GridRole::LogicalSector, 512, 0),
        (GridRole::StripeUnit, 65_536, 0),
    ])
    .partition(M)
    .file(&[(0, 24 * M, 64 * M), (24 * M, 8 * M, 200 * M + 4096)]);
    let placement = tower
        .place("0,64K", &[kib(64)], 31 * M, 32 * M)
        .expect("room");
    assert_eq!(placement.region.base, Bytes::ZERO);
    assert_eq!(kinds(&placement), [WarningKind::Fragmented]);
    let cause = &placement.warnings[0].cause;
    assert!(
        cause.starts_with(
            "The target lies in 2 pieces within the ≈31.06 MiB that are measured on: on the 64 KiB stripe unit of sda"
        ),
        "{cause}"
    );
    assert!(
        cause.contains("stands on a boundary") && cause.contains("stands 4 KiB behind one"),
        "{cause}"
    );
    let stripe = &placement.places[0].standings[1];
    assert_eq!(stripe.phase, None);
    // 384 requests on the grid, 112 off it: (384 + 2 × 112) ÷ 496 operations.
    let price = stripe.prices[0].read.expect("small");
    assert_eq!(
        price.now,
        straddle_geometry::Ratio::new(608, 496).expect("not zero")
    );
    // A span that fits into a piece is put there, and nothing is wrong then.
    let placement = tower
        .place("0,64K", &[kib(64)], 23 * M, 32 * M)
        .expect("room");
    assert_eq!(
        (placement.region.base, placement.warnings),
        (Bytes::ZERO, vec![])
    );
}

#[test]
fn a_volume_in_segments_is_told_what_volumes_can_do() {
    let segment = |upper: u64, len: u64, lower: u64| Segment {
        upper: Extent::new(Bytes::new(upper), Bytes::new(len)).expect("small"),
        target: 0,
        lower: Bytes::new(lower),
    };
    let map = Map::segments(vec![
        segment(0, 8 * M, M),
        segment(8 * M, 8 * M, 32 * M + 4096),
    ]);
    let tower = Tower::disk(&[(GridRole::StripeUnit, 65_536, 0)]).layer(
        LayerKind::Volume,
        "dm-0",
        map.expect("no overlap"),
        &[],
    );
    let placement = tower
        .place("0,64K", &[kib(64)], 15 * M, 16 * M)
        .expect("room");
    assert_eq!(kinds(&placement), [WarningKind::Fragmented]);
    assert!(
        placement.warnings[0]
            .cause
            .starts_with("The target lies in 2 pieces")
    );
    assert!(placement.warnings[0].advice.contains("pvmove"));
}

#[test]
fn a_piece_that_is_long_enough_is_preferred_to_the_beginning() {
    let tower = Tower::disk(&[(GridRole::StripeUnit, 65_536, 0)]).file(&[
        (0, M, 64 * M + 4096),
        (M, 2 * M, 100 * M + 8192),
        (3 * M, 20 * M, 200 * M),
    ]);
    let placement = tower
        .place("0,64K", &[kib(64)], 16 * M, 23 * M)
        .expect("room");
    assert_eq!(placement.region.base, Bytes::mib(3));
    assert_eq!(placement.warnings, []);
}

#[test]
fn many_short_pieces_cut_requests() {
    let pieces: Vec<(u64, u64, u64)> = (0..512)
        .map(|n| (n * 36_864, 36_864, 64 * M + n * 2 * 36_864))
        .collect();
    let tower = Tower::disk(&SECTORS).file(&pieces);
    let placement = tower
        .place("0,64K", &[kib(64)], 8 * M, 18 * M)
        .expect("room");
    assert_eq!(kinds(&placement), [WarningKind::Fragmented]);
    // Every 9 × 4 KiB a piece ends; of 128 requests of 16 × 4 KiB, all but those that would end there alone are cut.
    let cause = &placement.warnings[0].cause;
    assert!(
        cause.contains("100% of its requests of 64 KiB are cut"),
        "{cause}"
    );
    // 4 KiB requests fit into pieces of 36 KiB.
    let placement = tower
        .place("0,64K", &[kib(4)], 8 * M, 18 * M)
        .expect("room");
    assert_eq!(placement.warnings, []);
}

#[test]
fn grids_that_never_meet_are_a_warning_and_the_dearest_is_met() {
    let tower = Tower::disk(&[
        (GridRole::LogicalSector, 512, 0),
        (GridRole::PhysicalSector, 4096, 3584),
        (GridRole::StripeUnit, 65_536, 0),
    ]);
    let placement = tower
        .place("0,64K", &[kib(64)], 16 * M, 32 * M)
        .expect("room");
    assert_eq!(kinds(&placement), [WarningKind::Misplaced]);
    // 64 KiB writes: a stripe unit more is 100%, a sector more and two read is 3 of 16.
    assert_eq!(placement.region.base, Bytes::ZERO);
    let cause = &placement.warnings[0].cause;
    assert!(
        cause.contains("lies 1 sector = 512 B behind a boundary of the 4 KiB physical sector of sda, where being off costs up to"),
        "{cause}"
    );
    // A grid that hardly costs anything is no reason to warn: of 4 KiB requests on a zone of 256 MiB one in 65,536 crosses.
    let tower = Tower::disk(&[
        (GridRole::LogicalSector, 512, 0),
        (GridRole::Zone, 256 * M, 4096),
    ]);
    let placement = tower
        .place("0,64K", &[kib(4)], 16 * M, 32 * M)
        .expect("room");
    assert_eq!(
        (placement.region.base, placement.warnings),
        (Bytes::ZERO, vec![])
    );
}

#[test]
fn a_file_that_is_too_small_says_how_large_it_must_be() {
    let tower = Tower::disk(&[(GridRole::StripeUnit, M, 0)]).file(&[(0, 64 * M, 8 * M + 4096)]);
    let offsets = "unaligned,2M";
    let error = tower
        .place(offsets, &[kib(64)], 62 * M, 64 * M)
        .expect_err("no room");
    // 1,020 KiB to the grid, 2 MiB for the offset, 62 MiB for requests.
    let least = 1020 * 1024 + 64 * M;
    assert!(
        matches!(error, PlaceError::TooSmall { least: l, .. } if l.get() == least),
        "{error}"
    );
    assert!(
        error.to_string().contains("offset 2M with 62 MiB"),
        "{error}"
    );
    assert!(tower.place(offsets, &[kib(64)], 62 * M, least).is_ok());
    assert!(tower.place(offsets, &[kib(64)], 62 * M, least - 1).is_err());
    let room = room_for(&list(offsets), &[kib(64).into()], Bytes::mib(62), None).expect("small");
    assert!(tower.place(offsets, &[kib(64)], 62 * M, room.get()).is_ok());
}

#[test]
fn without_a_span_all_the_room_is_taken() {
    let tower = Tower::disk(&[(GridRole::StripeUnit, M, 0)]).file(&[(0, 64 * M, 8 * M + 4096)]);
    let offsets = list("unaligned,2M");
    let sizes = end_to_end(&[kib(24), kib(64)]);
    let mut wanted = wanted(&offsets, &sizes, 0, 64 * M, 512);
    wanted.span = None;
    let placement = place(Some(tower.ground()), &wanted).expect("room");
    assert_eq!(placement.region.base, Bytes::kib(1020));
    // 64 MiB − 1,020 KiB − 2 MiB, in whole multiples of 192 KiB.
    let left = 64 * 1024 - 1020 - 2048;
    assert_eq!(placement.region.len, Bytes::kib(left / 192 * 192));
}

#[test]
fn spans_and_sizes_that_do_not_fit_are_refused() {
    let tower = Tower::disk(&SECTORS);
    let error = tower
        .place("0", &[kib(64), kib(24)], 100 << 10, M)
        .expect_err("no room");
    assert_eq!(
        error.to_string(),
        "a span of 100 KiB does not hold a whole number of requests of all sizes; expected at least 192 KiB, the least common multiple of 64 KiB, 24 KiB; \
         ask for a larger span or fewer sizes"
    );
    assert!(matches!(
        tower.place("0", &[], M, M),
        Err(PlaceError::NoPlace(_))
    ));
    let far = list("15E");
    let request = [Unit::B4096.into()];
    let far = wanted(&far, &request, M, M, 512);
    assert!(matches!(
        place(None, &far),
        Err(PlaceError::TooSmall { .. })
    ));
    let none = wanted(&[], &request, M, M, 512);
    assert!(matches!(place(None, &none), Err(PlaceError::NoPlace(_))));
}

#[test]
fn where_nothing_is_known_each_offset_is_a_class_of_its_own() {
    let mut stack = Stack::new();
    let mut file = Layer::new(LayerKind::File, "/dev/shm/test");
    file.map = Map::Segments(Vec::new());
    let assumed = Fact::assumed(Grid::new(unit(512)), "an image without a device");
    file.add_grid(GridRole::LogicalSector, assumed);
    file.anomalies.push(Anomaly::new(
        AnomalyKind::Missing,
        "it lies on no block device",
    ));
    let layer = stack.push(file);
    let offsets = list("unaligned,64K,128K");
    let sizes = end_to_end(&[kib(8)]);
    let wanted = wanted(&offsets, &sizes, M, 2 * M, 1);
    for ground in [
        None,
        Some(Ground {
            stack: &stack,
            layer,
        }),
    ] {
        let placement = place(ground, &wanted).expect("room");
        assert_eq!(placement.region.base, Bytes::ZERO);
        assert_eq!(kinds(&placement), [WarningKind::StackUnknown]);
        let classes: Vec<usize> = placement.places.iter().map(|p| p.class).collect();
        assert_eq!(classes, [0, 1, 2]);
        assert!(
            placement
                .places
                .iter()
                .all(|p| p.device.is_none() && p.standings.is_empty())
        );
        let says_why = placement.warnings[0]
            .cause
            .contains("it lies on no block device");
        assert_eq!(says_why, ground.is_some());
    }
}

#[test]
fn what_is_known_to_be_false_moves_nothing() {
    let tower = Tower::disk(&[
        (GridRole::LogicalSector, 512, 0),
        (GridRole::PhysicalSector, 4096, 0),
        (GridRole::OptimalIo, 33_553_920, 0),
        (GridRole::DiscardGranularity, 3 << 20, 0),
    ])
    .partition(M);
    let placement = tower.place("0", &[kib(64)], M, 4 * M).expect("room");
    assert_eq!(
        (placement.region.base, placement.warnings),
        (Bytes::ZERO, vec![])
    );
    assert_eq!(placement.places[0].standings.len(), 2);
}

#[test]
fn a_target_is_found_by_its_path() {
    let tower = Tower::disk(&SECTORS).partition(M).file(&[(0, M, 0)]);
    let find = |path: &str| {
        let ground = Ground::find(&tower.stack, std::path::Path::new(path))?;
        Some(tower.stack.layer(ground.layer).name.clone())
    };
    for path in ["/data/test", "/dev/sda1", "/dev/sda"] {
        assert_eq!(
            find(path).as_deref(),
            path.strip_prefix("/dev/").or(Some(path))
        );
    }
    assert_eq!(find("/dev/sdb"), None);
    assert_eq!(find("/dev/ext4"), None, "a filesystem is no device");
}
