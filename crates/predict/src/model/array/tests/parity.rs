//! Parity against an array that is thought of granule by granule.

use super::*;
use std::collections::BTreeSet;

/// Which data sector or parity each member's sector holds: 'P' and 'Q' for parities.
fn rows(keys: &str, member: u64) -> Vec<Vec<String>> {
    let layout = built(keys, member * SECTOR);
    let rows = usize::try_from(member).expect("small");
    let mut table = vec![vec![String::new(); layout.members() as usize]; rows];
    for sector in 0..layout.capacity() / SECTOR {
        let read = split(&layout, Operation::read(sector * SECTOR, SECTOR));
        assert_eq!(read.pieces.len(), 1);
        let data = read.pieces[0].member;
        let out = split(&layout, Operation::write(sector * SECTOR, SECTOR));
        let writes = out.pieces.iter().filter(|piece| !piece.operation.is_read());
        for (piece, name) in writes.zip([sector.to_string(), "P".to_owned(), "Q".to_owned()]) {
            assert_eq!(
                piece.member == data,
                name == sector.to_string(),
                "data come first"
            );
            let row = usize::try_from(piece.operation.start / SECTOR).expect("small");
            let at = &mut table[row][piece.member as usize];
            assert!(
                at.is_empty() || *at == name,
                "{keys}: {at} and {name} share a sector"
            );
            *at = name;
        }
    }
    table
}

fn is(keys: &str, table: &[&str]) {
    let member = table.len() as u64;
    let found: Vec<String> = rows(&format!("{keys}, stripe_unit=512"), member)
        .iter()
        .map(|row| row.join(" "))
        .collect();
    assert_eq!(found, table, "{keys}");
}

/// As raid5_compute_sector() of md places them.
#[test]
fn parity_lies_where_md_puts_it() {
    is(
        "level=raid5, members=4",
        &["0 1 2 P", "4 5 P 3", "8 P 6 7", "P 9 10 11"],
    );
    is(
        "level=raid5, members=4, layout=left-asymmetric",
        &["0 1 2 P", "3 4 P 5", "6 P 7 8", "P 9 10 11"],
    );
    is(
        "level=raid5, members=4, layout=right-symmetric",
        &["P 0 1 2", "5 P 3 4", "7 8 P 6", "9 10 11 P"],
    );
    is(
        "level=raid5, members=4, layout=right-asymmetric",
        &["P 0 1 2", "3 P 4 5", "6 7 P 8", "9 10 11 P"],
    );
    is(
        "level=raid5, members=3, layout=parity-first",
        &["P 0 1", "P 2 3"],
    );
    is("level=raid4, members=3", &["0 1 P", "2 3 P"]);
    is(
        "level=raid6, members=5",
        &[
            "Q 0 1 2 P",
            "3 4 5 P Q",
            "7 8 P Q 6",
            "11 P Q 9 10",
            "P Q 12 13 14",
        ],
    );
    is(
        "level=raid6, members=5, layout=left-asymmetric",
        &[
            "Q 0 1 2 P",
            "3 4 5 P Q",
            "6 7 P Q 8",
            "9 P Q 10 11",
            "P Q 12 13 14",
        ],
    );
    is(
        "level=raid6, members=5, layout=right-symmetric",
        &[
            "P Q 0 1 2",
            "5 P Q 3 4",
            "7 8 P Q 6",
            "9 10 11 P Q",
            "Q 12 13 14 P",
        ],
    );
    is(
        "level=raid6, members=4, layout=parity-last",
        &["0 1 P Q", "2 3 P Q"],
    );
    is(
        "level=raid50, members=6, spans=2",
        &["0 1 P 2 3 P", "5 P 4 7 P 6", "P 8 9 P 10 11"],
    );
    // The same members come again after two rows, with parity elsewhere.
    is(
        "level=vraid5, members=6, row=3",
        &["0 1 P 3 P 2", "5 P 4 P 6 7", "P 8 9 10 11 P"],
    );
}

#[test]
fn every_place_is_used_and_parity_is_spread_evenly() {
    for (keys, parities) in [
        ("level=raid5, members=7", 1),
        ("level=raid6, members=7, layout=right-asymmetric", 2),
        ("level=raid50, members=14, spans=2", 1),
        ("level=raid60, members=14, spans=2", 2),
        ("level=vraid5, members=8", 1),
        ("level=vraid5, members=15", 1),
        ("level=vraid5, members=7, row=7", 1),
    ] {
        // 4200 rows are whole rounds of every one of these.
        let table = rows(&format!("{keys}, stripe_unit=512"), 4200);
        let members = table[0].len();
        let mut parity = vec![0_u64; members];
        let mut used = 0_u64;
        for row in &table {
            for (member, name) in row.iter().enumerate() {
                used += u64::from(!name.is_empty());
                parity[member] += u64::from(name == "P" || name == "Q");
            }
        }
        let (least, most) = (parity.iter().min(), parity.iter().max());
        assert_eq!(least, most, "{keys}: {parity:?}");
        let layout = built(&format!("{keys}, stripe_unit=512"), 4200 * SECTOR);
        let data = layout.capacity() / SECTOR;
        assert_eq!(used, 4200 * members as u64, "{keys}");
        assert_eq!(data + parity.iter().sum::<u64>(), used, "{keys}");
        assert!(parity[0] >= 4200 * parities / 15, "{keys}");
    }
}

fn counts(keys: &str, operation: Operation) -> (usize, usize) {
    let out = split(&built(keys, 1 << 30), operation);
    let reads = out.pieces.iter().filter(|piece| piece.operation.is_read());
    let reads = reads.count();
    (reads, out.pieces.len() - reads)
}

#[test]
fn writes_read_what_they_must() {
    let raid5 = "level=raid5, members=8, stripe_unit=65536";
    let raid6 = "level=raid6, members=8, stripe_unit=65536";
    for (keys, start, len, expected) in [
        (raid5, 8192, 8192, (2, 2)),
        (raid6, 8192, 8192, (3, 3)),
        // A row of seven units, and the same one sector off: two rows in part, each with its parity.
        (raid5, 0, 7 * 65_536, (0, 8)),
        // Row 0: 512 bytes of column 0 and parity are read, everything else was written; row 1: column 0 and parity.
        (raid5, 512, 7 * 65_536, (1 + 2, 8 + 2)),
        // Two rows: each member writes two units that follow each other.
        (raid5, 0, 14 * 65_536, (0, 8)),
        // Four of seven columns: reconstruction reads three, modification would read five.
        (raid5, 0, 4 * 65_536, (3, 5)),
        // Three of seven: both read four; md reconstructs.
        (raid5, 0, 3 * 65_536, (4, 4)),
        (
            "level=raid5, members=8, stripe_unit=65536, parity=reconstruct",
            0,
            4096,
            (6, 2),
        ),
        (
            "level=raid5, members=8, stripe_unit=65536, parity=rmw",
            0,
            5 * 65_536,
            (6, 6),
        ),
        (
            "level=raid6, members=8, stripe_unit=65536, parity=reconstruct",
            0,
            4096,
            (5, 3),
        ),
        // Three members: reconstruction reads one, modification two.
        ("level=raid5, members=3, stripe_unit=65536", 0, 4096, (1, 2)),
    ] {
        assert_eq!(
            counts(keys, Operation::write(start, len)),
            expected,
            "{keys}: {len} at {start}"
        );
    }
    let out = split(&built(raid5, 1 << 30), Operation::write(512, 1024));
    for piece in &out.pieces {
        assert_eq!(
            (piece.operation.start, piece.operation.len),
            (0, 4096),
            "a granule, whole"
        );
    }
    // Rows of 448 KiB in pieces of 1 MiB: each ends two columns into its third row, whose rest begins the next. Two columns
    // are modified with what three read, five reconstructed from two; cut at rows, nothing is read but at the end.
    let cut = "level=raid5, members=8, stripe_unit=65536, largest=1048576";
    let row = 7 * 65_536;
    assert_eq!(
        counts(cut, Operation::write(0, 3 * row)),
        (3 + 2, 8 + 3 + 6)
    );
    let rows = format!("{cut}, cut=rows");
    assert_eq!(counts(&rows, Operation::write(0, 3 * row)), (0, 8 + 8));
    assert_eq!(
        counts(&rows, Operation::write(0, 2 * row + 65_536)),
        (2, 8 + 2)
    );
    let large = "level=raid5, members=4, stripe_unit=65536, granule=65536";
    let out = split(&built(large, 1 << 30), Operation::write(8192, 4096));
    assert_eq!(
        out.groups,
        [(2, 2)],
        "reconstruction would read the granule in part, too"
    );
    let bytes: u64 = out.pieces.iter().map(|piece| piece.operation.len).sum();
    assert_eq!(bytes, 4 * 65_536);
}

/// What lies on a failed member is worked out from as many others of its row as it has data, wherever rows lie.
#[test]
fn lost_units_are_rebuilt_from_their_row() {
    for (keys, data) in [
        ("level=raid5, members=5", 4),
        ("level=raid6, members=6", 4),
        ("level=raid50, members=8, spans=2", 3),
        ("level=raid60, members=8, spans=2", 2),
        ("level=vraid5, members=8", 4),
        ("level=vraid5, members=10", 4),
    ] {
        let keys = format!("{keys}, stripe_unit=4096, merge=none");
        let (unit, member) = (4096, 40 * 4096);
        let intact = built(&keys, member);
        let members = intact.members();
        let mut rebuilt = 0;
        for failed in 0..members {
            let degraded = built(&format!("{keys}, failed={failed}"), member);
            assert_eq!(degraded.capacity(), intact.capacity());
            for number in 0..intact.capacity() / unit {
                let read = Operation::read(number * unit, unit);
                let holds = split(&intact, read).pieces[0];
                let found = split(&degraded, read).pieces;
                if holds.member != failed {
                    assert_eq!(found, [holds], "{keys}");
                    continue;
                }
                rebuilt += 1;
                let row = Operation::write(number / data * data * unit, data * unit);
                let row: Vec<(u32, u64)> = split(&intact, row)
                    .pieces
                    .iter()
                    .map(|piece| (piece.member, piece.operation.start))
                    .collect();
                assert!(
                    row.contains(&(failed, holds.operation.start)),
                    "{keys}: {row:?}"
                );
                let mut others: Vec<u32> = found.iter().map(|piece| piece.member).collect();
                others.sort_unstable();
                others.dedup();
                assert_eq!(others.len() as u64, data, "{keys}: {found:?}");
                for piece in found {
                    assert!(piece.operation.is_read() && piece.operation.len == unit);
                    assert!(
                        row.contains(&(piece.member, piece.operation.start)),
                        "{keys}: {piece:?}"
                    );
                    assert_ne!(piece.member, failed);
                }
            }
        }
        assert_eq!(
            rebuilt,
            intact.capacity() / unit,
            "{keys}: each unit is lost once"
        );
    }
}

/// An array in words: columns of rows, granules of columns.
struct Slow {
    data: u64,
    parities: u64,
    unit: u64,
    granule: u64,
    method: String,
}

type Granules = BTreeSet<(u64, u64)>;
type Sectors = BTreeSet<(u32, u64)>;

impl Slow {
    /// For each row, granules read and written as (number in the row, granule of the unit), `lost` being out of use.
    fn write(
        &self,
        start: u64,
        len: u64,
        lost: impl Fn(u64) -> Option<u64>,
    ) -> BTreeMap<u64, (Granules, Granules)> {
        let mut touched: BTreeMap<(u64, u64), BTreeMap<u64, u64>> = BTreeMap::new();
        for sector in start..start + len {
            let (unit, within) = (sector / self.unit, sector % self.unit);
            let (row, column) = (unit / self.data, unit % self.data);
            let columns = touched.entry((row, within / self.granule)).or_default();
            *columns.entry(column).or_default() += 1;
        }
        let mut out: BTreeMap<u64, (Granules, Granules)> = BTreeMap::new();
        let all = self.data + self.parities;
        for ((row, granule), columns) in touched {
            let lost = lost(row);
            let is_whole = |column: &u64| columns.get(column) == Some(&self.granule);
            let old: Vec<u64> = columns.keys().copied().chain(self.data..all).collect();
            let rest: Vec<u64> = (0..self.data).filter(|column| !is_whole(column)).collect();
            let alive = |wanted: &[u64]| lost.is_none_or(|lost| !wanted.contains(&lost));
            let without = |wanted: Vec<u64>| {
                wanted
                    .into_iter()
                    .filter(|column| Some(*column) != lost)
                    .collect()
            };
            let is_parity_lost = lost.is_some_and(|lost| lost >= self.data);
            let reads: Vec<u64> = if is_parity_lost && self.parities == 1 {
                columns
                    .keys()
                    .copied()
                    .filter(|column| !is_whole(column))
                    .collect()
            } else {
                let old: Vec<u64> = if is_parity_lost { without(old) } else { old };
                match (alive(&old), alive(&rest)) {
                    (false, false) => without((0..=self.data).collect()),
                    (true, false) => old,
                    (false, true) => rest,
                    _ if self.method == "rmw" && !rest.is_empty() => old,
                    _ if self.method == "cheapest" && old.len() < rest.len() => old,
                    _ => rest,
                }
            };
            let writes: Vec<u64> = without(columns.keys().copied().chain(self.data..all).collect());
            let entry = out.entry(row).or_default();
            entry
                .0
                .extend(reads.into_iter().map(|column| (column, granule)));
            entry
                .1
                .extend(writes.into_iter().map(|column| (column, granule)));
        }
        out
    }
}

/// Sectors of members that pieces cover; none twice.
fn sectors<'a>(pieces: impl Iterator<Item = &'a Piece>) -> BTreeSet<(u32, u64)> {
    let mut out = BTreeSet::new();
    for piece in pieces {
        assert_eq!(
            (piece.operation.start % SECTOR, piece.operation.len % SECTOR),
            (0, 0)
        );
        for sector in piece.operation.start / SECTOR..piece.operation.end() / SECTOR {
            assert!(
                out.insert((piece.member, sector)),
                "{piece:?} covers a sector again"
            );
        }
    }
    out
}

const LAYOUTS: [&str; 6] = [
    "left-symmetric",
    "left-asymmetric",
    "right-symmetric",
    "right-asymmetric",
    "parity-first",
    "parity-last",
];

/// Member of a column of data or a parity in a row, in md's own words.
fn md(layout: &str, members: u64, parities: u64, row: u64, role: u64) -> u64 {
    let data = members - parities;
    let turn = row % members;
    let p = match layout {
        "left-symmetric" | "left-asymmetric" => members - 1 - turn,
        "right-symmetric" | "right-asymmetric" => turn,
        "parity-first" => 0,
        _ => data,
    };
    let q = (p + 1) % members;
    if role >= data {
        return if role == data { p } else { q };
    }
    if layout.ends_with("-symmetric") {
        return (p + parities + role) % members;
    }
    let free = (0..members).filter(|member| *member != p && (parities == 1 || *member != q));
    free.clone()
        .nth(usize::try_from(role).expect("small"))
        .expect("there are as many")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]
    #[test]
    fn parity_writes_equal_an_enumeration(
        (parities, members) in (1_u64..3).prop_flat_map(|parities| (Just(parities), 2 * parities..9)),
        granule in 1_u64..5,
        granules in 1_u64..6,
        layout in 0_usize..6,
        method in prop::sample::select(vec!["cheapest", "rmw", "reconstruct"]),
        failed in prop::option::of(0_u64..9),
        start in 0_u64..400,
        len in prop_oneof![1_u64..300, 1_u64..8],
    ) {
        let failed = failed.filter(|failed| *failed < members);
        let unit = granule * granules;
        let layout = LAYOUTS[layout];
        let slow = Slow { data: members - parities, parities, unit, granule, method: method.to_owned() };
        let mut keys = format!(
            "level=raid{}, members={members}, layout={layout}, stripe_unit={}, granule={}, parity={method}, data_offset=1024",
            if parities == 1 { 5 } else { 6 }, unit * SECTOR, granule * SECTOR,
        );
        if let Some(failed) = failed {
            keys += &format!(", failed={failed}");
        }
        let array = built(&keys, 1000 * SECTOR * 20);
        prop_assume!((start + len) * SECTOR <= array.capacity());
        let member = |row: u64, role: u64| md(layout, members, parities, row, role);
        let all = members;
        let lost = |row: u64| (0..all).find(|role| Some(member(row, *role)) == failed);

        let out = split(&array, Operation::write(start * SECTOR, len * SECTOR));
        let place = |row: u64, granules: &Granules| -> BTreeSet<(u32, u64)> {
            granules
                .iter()
                .flat_map(|(role, at)| {
                    let first = 2 + row * unit + at * granule;
                    let member = u32::try_from(member(row, *role)).expect("small");
                    (first..first + granule).map(move |sector| (member, sector))
                })
                .collect()
        };
        let expected = slow.write(start, len, lost);
        // Groups: rows written in part one by one, whole rows together.
        let mut groups: Vec<(Sectors, Sectors)> = Vec::new();
        let mut was_whole = false;
        for (row, (reads, writes)) in &expected {
            let row_start = row * unit * slow.data;
            let is_whole = start <= row_start && row_start + unit * slow.data <= start + len;
            let (reads, writes) = (place(*row, reads), place(*row, writes));
            match groups.last_mut() {
                Some(last) if is_whole && was_whole => last.1.extend(writes),
                _ => groups.push((reads, writes)),
            }
            was_whole = is_whole;
        }
        // Nothing is left to do for what lay on the failed member alone.
        groups.retain(|(reads, writes)| !reads.is_empty() || !writes.is_empty());
        prop_assert_eq!(out.groups.len(), groups.len());
        let mut pieces = out.pieces.as_slice();
        for ((first, then), (reads, writes)) in out.groups.iter().zip(&groups) {
            let (group, rest) = pieces.split_at((first + then) as usize);
            pieces = rest;
            let only = |is_read: bool| group.iter().filter(move |piece| piece.operation.is_read() == is_read);
            prop_assert_eq!(&sectors(only(true)), reads);
            prop_assert_eq!(&sectors(only(false)), writes);
            if !reads.is_empty() {
                prop_assert_eq!(only(true).count(), *first as usize, "reads go first");
            }
            for is_read in [true, false] {
                let runs = if is_read { reads } else { writes };
                let runs = runs.iter().filter(|(member, sector)| !runs.contains(&(*member, sector.wrapping_sub(1))));
                prop_assert_eq!(only(is_read).count(), runs.count(), "one operation for each run");
            }
        }

        let read = split(&array, Operation::read(start * SECTOR, len * SECTOR));
        let found = sectors(read.pieces.iter());
        let mut expected = BTreeSet::new();
        for sector in start..start + len {
            let (number, within) = (sector / unit, sector % unit);
            let (row, column) = (number / slow.data, number % slow.data);
            if lost(row) == Some(column) {
                let first = within / granule * granule;
                let granules: Granules = (0..=slow.data).filter(|role| *role != column).map(|role| (role, first / granule)).collect();
                expected.extend(place(row, &granules));
            } else {
                expected.insert((u32::try_from(member(row, column)).expect("small"), 2 + row * unit + within));
            }
        }
        prop_assert_eq!(found, expected);
        prop_assert!(read.pieces.iter().all(|piece| Some(u64::from(piece.member)) != failed));
    }
}
