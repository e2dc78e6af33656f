use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn raid(layout: RaidLayout, columns: usize) -> Raid {
    Raid {
        layout,
        unit: Unit::new(10).expect("not zero"),
        starts: vec![Bytes::new(1000); columns],
    }
}

/// Rows of an array as pictures: `0 1 P` for the columns of each row.
fn picture(raid: &Raid, rows: usize) -> Vec<String> {
    let mut cells = vec![vec!["-".to_owned(); raid.columns()]; rows];
    for number in 0..64_u64 {
        for reach in raid.reaches(Bytes::new(number * 10)) {
            let row = usize::try_from((reach.offset.get() - 1000) / 10).expect("small");
            let Some(cell) = cells.get_mut(row).and_then(|row| row.get_mut(reach.column)) else {
                continue;
            };
            *cell = match reach.share {
                Share::Data | Share::Copy => number.to_string(),
                Share::Parity => "P".to_owned(),
                Share::Syndrome => "Q".to_owned(),
            };
        }
    }
    cells.iter().map(|row| row.join(" ")).collect()
}

#[test]
fn parity_goes_around_as_md_s_manual_draws_it() {
    let rows = |rotation| picture(&raid(RaidLayout::Parity(rotation), 3), 3);
    assert_eq!(rows(Rotation::LeftSymmetric), ["0 1 P", "3 P 2", "P 4 5"]);
    assert_eq!(rows(Rotation::LeftAsymmetric), ["0 1 P", "2 P 3", "P 4 5"]);
    assert_eq!(rows(Rotation::RightSymmetric), ["P 0 1", "3 P 2", "4 5 P"]);
    assert_eq!(rows(Rotation::RightAsymmetric), ["P 0 1", "2 P 3", "4 5 P"]);
    assert_eq!(rows(Rotation::Last), ["0 1 P", "2 3 P", "4 5 P"]);
    assert_eq!(rows(Rotation::First), ["P 0 1", "P 2 3", "P 4 5"]);
}

#[test]
fn syndromes_follow_the_parity_or_precede_it() {
    let rows = |double| picture(&raid(RaidLayout::DoubleParity(double), 4), 4);
    assert_eq!(
        rows(DoubleRotation::Both(Rotation::LeftSymmetric)),
        ["Q 0 1 P", "2 3 P Q", "5 P Q 4", "P Q 6 7"]
    );
    assert_eq!(
        rows(DoubleRotation::ZeroRestart),
        ["P Q 0 1", "2 P Q 3", "4 5 P Q", "Q 6 7 P"]
    );
    assert_eq!(
        rows(DoubleRotation::NContinue),
        ["0 1 Q P", "3 Q P 2", "Q P 4 5", "P 6 7 Q"]
    );
    assert_eq!(
        rows(DoubleRotation::LastSyndrome(Rotation::LeftSymmetric)),
        ["0 1 P Q", "3 P 2 Q", "P 4 5 Q", "6 7 P Q"]
    );
}

#[test]
fn copies_lie_side_by_side_or_further_down() {
    let rows = |copies, columns| picture(&raid(RaidLayout::Copies(copies), columns), 4);
    let near = Copies {
        near: 2,
        far: 1,
        distance: FarCopies::NextRow,
        sets: FarSets::All,
    };
    assert_eq!(rows(near, 3), ["0 0 1", "1 2 2", "3 3 4", "4 5 5"]);
    let offset = Copies {
        near: 1,
        far: 2,
        distance: FarCopies::NextRow,
        sets: FarSets::All,
    };
    assert_eq!(rows(offset, 3), ["0 1 2", "2 0 1", "3 4 5", "5 3 4"]);
}

#[test]
fn the_far_copies_of_a_layout_start_at_half_the_member() {
    let far = Copies {
        near: 1,
        far: 2,
        distance: FarCopies::Stride(Bytes::new(500)),
        sets: FarSets::All,
    };
    let reaches = raid(RaidLayout::Copies(far), 2).reaches(Bytes::new(35));
    let places: Vec<_> = reaches.iter().map(|r| (r.column, r.offset.get())).collect();
    assert_eq!(places, [(1, 1015), (0, 1515)]);
}

/// What a cell of a table of stripe units holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    Data(u64),
    Parity,
    Syndrome,
}

/// How a published description deals one row: where parity and syndrome are, and at which column data begin; they go
/// around from there over what is left.
struct Deal {
    parity: usize,
    syndrome: Option<usize>,
    from: usize,
}

fn rotated(rotation: Rotation, row: usize, columns: usize) -> (usize, bool) {
    let turn = row % columns;
    match rotation {
        Rotation::LeftAsymmetric => (columns - 1 - turn, false),
        Rotation::LeftSymmetric => (columns - 1 - turn, true),
        Rotation::RightAsymmetric => (turn, false),
        Rotation::RightSymmetric => (turn, true),
        Rotation::First => (0, false),
        Rotation::Last => (columns - 1, false),
    }
}

fn deal(layout: RaidLayout, row: usize, columns: usize) -> Deal {
    match layout {
        RaidLayout::Parity(rotation) => {
            let (parity, symmetric) = rotated(rotation, row, columns);
            Deal {
                parity,
                syndrome: None,
                from: if symmetric { parity + 1 } else { 0 },
            }
        }
        RaidLayout::DoubleParity(DoubleRotation::Both(Rotation::Last)) => Deal {
            parity: columns - 2,
            syndrome: Some(columns - 1),
            from: 0,
        },
        RaidLayout::DoubleParity(DoubleRotation::Both(rotation)) => {
            let (parity, symmetric) = rotated(rotation, row, columns);
            Deal {
                parity,
                syndrome: Some((parity + 1) % columns),
                from: if symmetric { parity + 2 } else { 0 },
            }
        }
        RaidLayout::DoubleParity(DoubleRotation::LastSyndrome(rotation)) => {
            let (parity, symmetric) = rotated(rotation, row, columns - 1);
            Deal {
                parity,
                syndrome: Some(columns - 1),
                // Behind the parity, but for the last column, which takes no part.
                from: if symmetric {
                    (parity + 1) % (columns - 1)
                } else {
                    0
                },
            }
        }
        RaidLayout::DoubleParity(DoubleRotation::ZeroRestart) => Deal {
            parity: row % columns,
            syndrome: Some((row + 1) % columns),
            from: 0,
        },
        // P on the last column but one in the first row, one to the left in each that follows.
        RaidLayout::DoubleParity(DoubleRotation::NRestart) => {
            let parity = (2 * columns - 2 - row % columns) % columns;
            Deal {
                parity,
                syndrome: Some((parity + 1) % columns),
                from: 0,
            }
        }
        RaidLayout::DoubleParity(DoubleRotation::NContinue) => {
            let parity = columns - 1 - row % columns;
            Deal {
                parity,
                syndrome: Some((parity + columns - 1) % columns),
                from: parity + 1,
            }
        }
        RaidLayout::Mirror | RaidLayout::Copies(_) => unreachable!("no rows"),
    }
}

/// The first rows of an array with parity, dealt out by hand.
fn table(layout: RaidLayout, columns: usize, rows: usize) -> Vec<Vec<Cell>> {
    let mut next = 0;
    (0..rows)
        .map(|row| {
            let Deal {
                parity,
                syndrome,
                from,
            } = deal(layout, row, columns);
            let mut cells = vec![Cell::Parity; columns];
            if let Some(syndrome) = syndrome {
                cells[syndrome] = Cell::Syndrome;
            }
            for column in (0..columns).map(|n| (from + n) % columns) {
                if column != parity && Some(column) != syndrome {
                    cells[column] = Cell::Data(next);
                    next += 1;
                }
            }
            cells
        })
        .collect()
}

/// The places of all copies of one stripe unit as (column, rows of far copies down, rows down): columns are counted on one by
/// one, and sets are lists of columns.
fn copies_by_hand(copies: Copies, columns: usize, number: usize) -> Vec<(usize, usize, usize)> {
    let sets: Vec<Vec<usize>> = {
        let size = match copies.sets {
            FarSets::All => columns,
            FarSets::Divided => columns / copies.far,
            FarSets::Fixed => copies.far * copies.near,
        };
        let mut sets: Vec<Vec<usize>> = (0..columns / size)
            .map(|set| (set * size..(set + 1) * size).collect())
            .collect();
        let left = columns / size * size..columns;
        sets.last_mut().expect("there is one").extend(left);
        sets
    };
    let rows_for_each = match copies.distance {
        FarCopies::NextRow => copies.far,
        FarCopies::Stride(_) => 1,
    };
    let mut places = Vec::new();
    let first = number * copies.near;
    let (mut column, mut row) = (first % columns, first / columns * rows_for_each);
    for _ in 0..copies.near {
        let mut on = column;
        for far in 0..copies.far {
            places.push((on, far, row));
            let set = sets.iter().find(|set| set.contains(&on)).expect("a set");
            let at = set.iter().position(|c| *c == on).expect("in it");
            on = set[(at + copies.near) % set.len()];
        }
        column += 1;
        if column == columns {
            (column, row) = (0, row + 1);
        }
    }
    places
}

fn rotation() -> impl Strategy<Value = Rotation> {
    (0_u64..6).prop_map(|number| Rotation::from_md(number).expect("known"))
}

fn parity_layout() -> impl Strategy<Value = RaidLayout> {
    let numbers = [0, 1, 2, 3, 4, 5, 8, 9, 10, 16, 17, 18, 19, 20_u64];
    let double = prop::sample::select(numbers.to_vec())
        .prop_map(|n| RaidLayout::DoubleParity(DoubleRotation::from_md(n).expect("known")));
    prop_oneof![rotation().prop_map(RaidLayout::Parity), double]
}

/// Copies that lie each on a column of its own and never on each other: near ones that do not wrap inside a row of several,
/// sets that hold whole groups of copies.
fn sound_copies() -> impl Strategy<Value = (Copies, usize)> {
    (1_usize..5, 1_usize..5, any::<bool>(), 0..3, 2_usize..13).prop_filter_map(
        "more copies than columns",
        |(near, far, rows, sets, columns)| {
            let sets =
                [FarSets::All, FarSets::Divided, FarSets::Fixed][usize::try_from(sets).ok()?];
            let copies = Copies {
                near,
                far,
                distance: if rows {
                    FarCopies::NextRow
                } else {
                    FarCopies::Stride(Bytes::new(10 * 64))
                },
                sets,
            };
            let whole = match sets {
                FarSets::All => near == 1 || far == 1 || !rows || columns % near == 0,
                // As released first: sets shorter than the copies put several on one column.
                FarSets::Divided => near == 1 && columns / far >= far,
                FarSets::Fixed => near == 1 || columns % (near * far) == 0,
            };
            let fits = near * far > 1 && near * far <= columns;
            (fits && (far > 1 || sets == FarSets::All) && whole).then_some((copies, columns))
        },
    )
}

proptest! {
    #[test]
    fn rows_are_dealt_as_the_descriptions_say(layout in parity_layout(), columns in 4_usize..12) {
        let array = raid(layout, columns);
        let rows = 3 * columns;
        for (row, cells) in table(layout, columns, rows).iter().enumerate() {
            let column_of = |cell| cells.iter().position(|c| *c == cell);
            for cell in cells {
                let Cell::Data(number) = cell else { continue };
                let reaches = array.reaches(Bytes::new(number * 10 + 3));
                let at = Bytes::new(1003 + 10 * u64::try_from(row).expect("few"));
                let found: Vec<_> = reaches.iter().map(|r| (Some(r.column), r.offset, r.share)).collect();
                let mut expected = vec![
                    (column_of(*cell), at, Share::Data),
                    (column_of(Cell::Parity), at, Share::Parity),
                ];
                if let RaidLayout::DoubleParity(_) = layout {
                    expected.push((column_of(Cell::Syndrome), at, Share::Syndrome));
                }
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn the_data_are_the_first_of_what_changes(
        layout in prop_oneof![parity_layout(), sound_copies().prop_map(|(c, _)| RaidLayout::Copies(c)), Just(RaidLayout::Mirror)],
        columns in 4_usize..20, at in any::<u64>(),
    ) {
        let array = raid(layout, columns);
        let reaches = array.reaches(Bytes::new(at));
        match array.locate(Bytes::new(at)) {
            Some(location) => {
                let first = reaches.first().expect("it lies somewhere");
                prop_assert_eq!((first.column, first.offset, first.share), (location.target, location.offset, Share::Data));
                // The last byte of the run is as far on as the run is long.
                let step = location.run.get() - 1;
                let last = at.checked_add(step).filter(|_| layout != RaidLayout::Mirror).and_then(|at| array.locate(Bytes::new(at)));
                if let Some(last) = last {
                    prop_assert_eq!((last.target, last.offset.get(), last.run.get()), (location.target, location.offset.get() + step, 1));
                }
            }
            None => prop_assert!(reaches.first().is_none_or(|first| first.share != Share::Data)),
        }
    }

    #[test]
    fn copies_lie_where_counting_on_one_by_one_puts_them((copies, columns) in sound_copies()) {
        let array = raid(RaidLayout::Copies(copies), columns);
        let mut used = BTreeMap::new();
        let rows = match copies.distance {
            FarCopies::NextRow => 1,
            FarCopies::Stride(_) => 64,
        };
        for number in 0..4 * columns {
            let at = Bytes::new(u64::try_from(number).expect("few") * 10 + 7);
            let reaches = array.reaches(at);
            let found: Vec<_> = reaches.iter().map(|r| (r.column, r.offset.get())).collect();
            let expected: Vec<_> = copies_by_hand(copies, columns, number)
                .into_iter()
                .map(|(column, far, row)| (column, 1007 + 10 * u64::try_from(row + far * rows).expect("few")))
                .collect();
            prop_assert_eq!(&found, &expected);
            for place in found {
                prop_assert_eq!(used.insert(place, number), None, "{:?} of {} was used", place, number);
            }
        }
    }

    #[test]
    fn no_number_of_md_and_no_address_is_a_panic(
        level in 0_u64..12, number in any::<u32>(), small in 0_u64..0x8_0000, columns in 0_usize..20,
        unit in 1..=u64::MAX >> 2, used in any::<u64>(), at in any::<u64>(), start in any::<u64>(),
    ) {
        let (unit, used) = (Unit::new(unit).expect("not zero"), Bytes::new(used));
        for number in [u64::from(number), small] {
            let Some(layout) = RaidLayout::from_md(level, number, columns, unit, used) else { continue };
            let array = Raid { layout, unit, starts: vec![Bytes::new(start); columns] };
            let reaches = array.reaches(Bytes::new(at));
            prop_assert!(reaches.iter().all(|reach| reach.column < columns));
            let _ = (array.locate(Bytes::new(at)), layout.capacity(columns, unit, used), layout.name());
        }
    }
}

#[test]
fn a_near_copy_that_wraps_lies_one_unit_down_in_layouts_of_several_rows() {
    // Nobody can make this with mdadm, but by its number; the kernel's arithmetic is what it is.
    let copies = Copies::from_md(0x1_0202, 5, Unit::B4096, Bytes::mib(1)).expect("known");
    let reaches = raid(RaidLayout::Copies(copies), 5).reaches(Bytes::new(20));
    let places: Vec<_> = reaches.iter().map(|r| (r.column, r.offset.get())).collect();
    assert_eq!(places, [(4, 1000), (1, 1010), (0, 1010), (2, 1020)]);
}

#[test]
fn far_copies_begin_behind_a_whole_part_of_each_member() {
    let far = |number, columns, used| {
        Copies::from_md(number, columns, Unit::B4096, Bytes::new(used))
            .map(|copies| copies.distance)
    };
    let stride = |units: u64| Some(FarCopies::Stride(Bytes::new(4096 * units)));
    // Eleven units on each member: five are one part, the last is not used.
    assert_eq!(far(0x201, 4, 11 * 4096 + 17), stride(5));
    assert_eq!(far(0x301, 4, 11 * 4096), stride(3));
    assert_eq!(far(0x1_0201, 4, 11 * 4096), Some(FarCopies::NextRow));
    assert_eq!(far(0x501, 4, 11 * 4096), None);
    assert_eq!(far(0x10_0201, 4, 11 * 4096), None);
    // Far copies within sets of members, as the kernel first divided them and as it does since Linux 4.2 (`setup_geo`, drivers/md/raid10.c).
    let sets =
        |number| Copies::from_md(number, 4, Unit::B4096, Bytes::mib(1)).map(|copies| copies.sets);
    assert_eq!(sets(0x201), Some(FarSets::All));
    assert_eq!(sets(0x2_0201), Some(FarSets::Divided));
    assert_eq!(sets(0x4_0201), Some(FarSets::Fixed));
    let capacity = |level, number, columns| {
        let layout = RaidLayout::from_md(level, number, columns, Unit::B4096, Bytes::new(50_000));
        layout.and_then(|l| l.capacity(columns, Unit::B4096, Bytes::new(50_000)))
    };
    // Twelve units on each member.
    let units = |n: u64| Some(Bytes::new(4096 * n));
    assert_eq!(capacity(10, 0x102, 3), units(18));
    assert_eq!(capacity(10, 0x102, 5), units(30));
    assert_eq!(capacity(10, 0x201, 5), units(30));
    assert_eq!(capacity(6, 2, 5), units(36));
    assert_eq!(capacity(4, 0, 5), units(48));
    assert_eq!(capacity(1, 0, 5), Some(Bytes::new(50_000)));
}
