//! The cache against a map of every sector to the number of its last write.

use super::*;
use crate::profile::{Origin, Profile};
use proptest::prelude::*;

const SECTORS: usize = 256;

fn profile(settings: &[(&str, &str)]) -> Profile {
    let text = "title = \"t\"\nsummary = \"\"\n\
        [server]\nservice = { value = \"1 ms\", assumed = \"test\" }\ncapacity = { value = \"1 GiB\", assumed = \"test\" }\n\
        [cache]\nsize = { value = \"64 KiB\", assumed = \"test\" }\npage = { value = \"4 KiB\", assumed = \"test\" }\n\
        destages = { value = 3, assumed = \"test\" }\n";
    let mut profile = Profile::read("test", text).expect("a profile");
    for (key, value) in settings {
        let value = value.parse::<f64>().map_or_else(
            |_| toml::Value::String((*value).to_owned()),
            toml::Value::Float,
        );
        profile = profile
            .with(key, &value, Origin::Assumed("test".to_owned()))
            .expect("a known key");
    }
    profile.complete().expect("complete")
}

fn cache(settings: &[(&str, &str)], capacity: u64, row: u64) -> Result<Cache, Refusal> {
    let profile = profile(settings);
    Cache::build(profile.section("cache").expect("it has one"), capacity, row)
}

/// A run under way.
struct Run {
    write: Operation,
    backfills: Vec<Operation>,
}

impl Cache {
    fn run(&mut self, is_urgent: bool) -> Option<Run> {
        let mut backfills = Vec::new();
        let write = self.next_run(is_urgent, &mut backfills)?;
        Some(Run { write, backfills })
    }
}

/// Every sector's last write, here and in the array.
struct Naive {
    cache: Cache,
    last: Vec<u32>,
    array: Vec<u32>,
    dirty: Vec<bool>,
    valid: Vec<bool>,
    /// Runs under way, with what they carry.
    under_way: Vec<(Run, Vec<u32>)>,
    fills: bool,
    row: usize,
}

fn span(operation: Operation) -> std::ops::Range<usize> {
    let at = |byte: u64| usize::try_from(byte / SECTOR).expect("small");
    at(operation.start)..at(operation.end())
}

impl Naive {
    fn page(&self, sector: usize) -> std::ops::Range<usize> {
        let per_page = usize::try_from(self.cache.sectors()).expect("small");
        let first = sector / per_page * per_page;
        first..(first + per_page).min(SECTORS)
    }

    fn dirty_pages(&self) -> usize {
        let mut pages: Vec<usize> = (0..SECTORS)
            .filter(|n| {
                self.dirty[*n]
                    || self
                        .under_way
                        .iter()
                        .any(|(run, _)| span(run.write).contains(n))
            })
            .map(|n| self.page(n).start)
            .collect();
        pages.dedup();
        pages.len()
    }

    fn write(&mut self, start: u64, len: u64, version: u32) {
        let taken = self.cache.write(start * SECTOR, (start + len) * SECTOR);
        for n in span(Operation::write(start * SECTOR, taken - start * SECTOR)) {
            self.last[n] = version;
            self.dirty[n] = true;
            self.valid[n] = true;
        }
        if taken < (start + len) * SECTOR {
            assert_eq!(
                self.dirty_pages(),
                self.cache.high,
                "a write waits without need"
            );
        }
        assert!(self.dirty_pages() <= self.cache.high);
    }

    fn destage(&mut self, is_urgent: bool) {
        let before = self.dirty.iter().filter(|dirty| **dirty).count();
        let Some(run) = self.cache.run(is_urgent) else {
            assert!(
                before == 0
                    || !is_urgent
                    || self.under_way.len() >= self.cache.destages
                    || self.all_in_flight()
            );
            return;
        };
        let written = span(run.write);
        if !self.fills || self.row.is_multiple_of(self.page(0).len()) {
            let rows = (written.start / self.row, (written.end - 1) / self.row);
            assert_eq!(rows.0, rows.1, "in one row");
        }
        let mut missing: Vec<usize> = Vec::new();
        for n in written.clone() {
            let is_under_way = self
                .under_way
                .iter()
                .any(|(run, _)| span(run.write).contains(&n));
            assert!(!is_under_way, "two runs at once");
            assert!(self.dirty[n] || self.fills, "what is clean is destaged");
            self.dirty[n] = false;
            if !self.valid[n] {
                missing.push(n);
            }
        }
        let mut read: Vec<usize> = run.backfills.iter().flat_map(|read| span(*read)).collect();
        let all = read.clone();
        read.retain(|n| !self.valid[*n]);
        assert_eq!(read, missing, "just what is missing is read");
        for page in all.iter().map(|n| self.page(*n)) {
            assert!(page.clone().any(|n| !self.valid[n]));
        }
        let carried = written.map(|n| {
            if self.valid[n] {
                self.last[n]
            } else {
                self.array[n]
            }
        });
        let carried = carried.collect();
        self.under_way.push((run, carried));
    }

    fn all_in_flight(&self) -> bool {
        (0..SECTORS).filter(|n| self.dirty[*n]).all(|n| {
            let page = self.page(n);
            let is_in = |run: &Run| page.clone().any(|n| span(run.write).contains(&n));
            self.under_way.iter().any(|(run, _)| is_in(run))
        })
    }

    fn end(&mut self, which: usize) {
        if self.under_way.is_empty() {
            return;
        }
        let (run, carried) = self.under_way.remove(which % self.under_way.len());
        for (n, version) in span(run.write).zip(carried) {
            self.array[n] = version;
            if self.fills {
                self.valid[n] = true;
            }
        }
        self.cache.destaged(run.write);
        // Pages without anything dirty are forgotten, as nothing is kept for reads.
        let pages: Vec<_> = span(run.write).map(|n| self.page(n)).collect();
        for page in pages {
            if page.clone().all(|n| !self.dirty[n]) {
                page.for_each(|n| self.valid[n] = false);
            }
        }
    }

    fn read(&mut self, start: u64, len: u64) {
        let read = Operation::read(start * SECTOR, len * SECTOR);
        let missing: Vec<usize> = span(read).filter(|n| !self.valid[*n]).collect();
        let expected = match (missing.first(), missing.last()) {
            (Some(first), Some(last)) => Found::AllBut(Operation::read(
                *first as u64 * SECTOR,
                (*last - *first + 1) as u64 * SECTOR,
            )),
            _ => Found::All,
        };
        assert_eq!(self.cache.read(read), expected);
    }
}

proptest! {
    #[test]
    fn each_byte_is_destaged_once_after_its_last_write_and_nothing_is_lost(
        fills in any::<bool>(),
        page in 0_u32..4,
        row in prop_oneof![Just(8_u64), Just(24), Just(64), Just(256)],
        steps in proptest::collection::vec((0_u8..6, 0_u64..250, 1_u64..40), 0..300),
    ) {
        let page = 512_u64 << (2 * page).min(4);
        let row = row.max(page / SECTOR);
        let settings = [
            ("cache.page", &*format!("{page} B")),
            ("cache.partial", if fills { "backfill" } else { "sectors" }),
            ("cache.low", "0.1"),
        ];
        // A capacity that ends inside a page.
        let capacity = SECTORS as u64 * SECTOR - if page > SECTOR { SECTOR } else { 0 };
        let cache = cache(&settings, capacity, row * SECTOR).expect("it can be built");
        let mut naive = Naive {
            cache,
            last: vec![0; SECTORS],
            array: vec![0; SECTORS],
            dirty: vec![false; SECTORS],
            valid: vec![false; SECTORS],
            under_way: Vec::new(),
            fills,
            row: usize::try_from(row).expect("small"),
        };
        for (version, (step, start, len)) in (1..).zip(steps) {
            let len = len.min(255 - start);
            match step {
                0..=2 => naive.write(start, len, version),
                3 => naive.destage(len > 20),
                4 => naive.end(usize::try_from(start).expect("small")),
                _ => naive.read(start, len),
            }
            if step == 3 && naive.cache.under_way < naive.cache.destages {
                naive.destage(false);
            }
        }
        for _ in 0..10_000 {
            if naive.cache.used() == 0 {
                break;
            }
            naive.destage(true);
            naive.end(0);
        }
        prop_assert_eq!(naive.cache.used(), 0);
        prop_assert!(!naive.dirty.contains(&true));
        prop_assert_eq!(naive.array, naive.last);
    }
}

#[test]
fn adjacent_pages_become_a_row() {
    for partial in ["sectors", "backfill"] {
        let settings = [("cache.partial", partial)];
        let mut cache = cache(&settings, 1 << 30, 16_384).expect("it can be built");
        for page in [5, 7, 4, 6, 8] {
            assert_eq!(
                cache.write(page * 4096, (page + 1) * 4096),
                (page + 1) * 4096
            );
        }
        let run = cache.run(false).expect("something is dirty");
        assert_eq!(run.write, Operation::write(16_384, 16_384));
        assert_eq!(run.backfills, []);
        let run = cache.run(false).expect("something is dirty");
        assert_eq!(run.write, Operation::write(32_768, 4096));
    }
}

#[test]
fn what_was_read_is_kept_and_the_least_recently_used_makes_room() {
    let mut cache = cache(&[("cache.read", "on")], 1 << 30, 16_384).expect("it can be built");
    let read = |page: u64| Operation::read(page * 4096, 4096);
    for page in 0..16 {
        assert_eq!(cache.read(read(page)), Found::AllBut(read(page)));
        cache.fill(read(page));
    }
    assert_eq!(cache.read(read(0)), Found::All);
    cache.fill(read(16));
    assert_eq!(cache.read(read(0)), Found::All);
    assert_eq!(cache.read(read(1)), Found::AllBut(read(1)));
    // Clean pages give way to what is written, up to the high-water mark: 12 of 16.
    assert_eq!(cache.write(4096 * 100, 4096 * 120), 4096 * 112);
}

#[test]
fn a_page_count_beyond_the_bound_is_refused() {
    let settings = [("cache.size", "8 GiB"), ("cache.page", "8 KiB")];
    let refusal = cache(&settings, 1 << 40, 1 << 20).expect_err("a million pages");
    let text = refusal.to_string();
    assert!(
        text.contains("cache.page") && text.contains("16384 B"),
        "{text}"
    );
    let refusal = cache(&[("cache.page", "12 KiB")], 1 << 40, 1 << 20).expect_err("odd");
    assert!(refusal.to_string().contains("power of two"));
    let refusal = cache(&[("cache.low", "0.9")], 1 << 40, 1 << 20).expect_err("above high");
    assert!(refusal.to_string().contains("cache.low"));
}

/// Random writes of 4 KiB over a TiB before time begins, of which one in so many straddles two pages.
fn warmed(straddles: u64, writes: u64, share: f64, read: &str) -> Cache {
    const SPAN: u64 = 1 << 40;
    let settings = [
        ("cache.size", "64 MiB"),
        ("cache.low", "0.5"),
        ("cache.high", "0.75"),
        ("cache.read", read),
    ];
    let mut cache = cache(&settings, SPAN + 4096, 1 << 20).expect("it can be built");
    let made = cache.made(share, Spread::Random(SPAN));
    assert_eq!(made, MADE, "fewer than the marks");
    for n in 1..=writes {
        // The golden ratio spreads them, and no two of them meet.
        let place = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 36;
        let off = if n.is_multiple_of(straddles) { 2048 } else { 0 };
        cache.warm(Operation::write(place * 4096 + off, 4096), made);
    }
    cache.leave_out(share, Spread::Random(SPAN));
    cache
}

#[test]
fn pages_that_were_not_made_are_there_whatever_the_last_run_took() {
    // A run of a write that straddles takes two pages, so that one fewer than was asked for may be left.
    for straddles in [1, 2, 3] {
        for writes in 10_000..10_012 {
            let mut cache = warmed(straddles, writes, 1.0, "off");
            assert_eq!(cache.used(), 12_288, "{straddles} {writes}");
            assert_eq!(cache.write(1 << 39, (1 << 39) + 4096), 1 << 39, "no room");
            let room = cache.run(true).expect("some are made");
            cache.destaged(room.write);
            assert_eq!(cache.write(1 << 39, (1 << 39) + 4096), (1 << 39) + 4096);
        }
    }
    // Where fewer were written than are made, nothing was left out.
    assert_eq!(warmed(u64::MAX, 5_000, 1.0, "off").used(), 5_000);
}

#[test]
fn pages_that_were_not_made_wait_to_be_destaged_with_the_others() {
    // A tenth of the way from 8,192 to 12,288.
    let mut cache = warmed(u64::MAX, 10_000, 0.1, "off");
    assert_eq!(cache.used(), 8_601);
    while let Some(run) = cache.run(false) {
        cache.destaged(run.write);
    }
    assert_eq!(cache.used(), 8_192, "down to the low-water mark");
}

#[test]
fn clean_pages_that_were_not_made_make_room_first() {
    let mut cache = warmed(u64::MAX, 10_000, 1.0, "on");
    assert_eq!(cache.held().all, 64 << 20, "it is full");
    let read = |place: u64| Operation::read(place << 20, 4096);
    // As many as were clean, and none of those that came last has gone.
    for place in 0..4096 {
        cache.fill(read(place));
        assert_eq!(cache.held().all, 64 << 20);
    }
    for place in 2048..4096 {
        assert_eq!(cache.read(read(place)), Found::All, "{place}");
    }
    assert_eq!(cache.used(), 12_288, "what is dirty stays");
}

#[test]
fn few_pages_are_made_where_none_is_met_again() {
    const BYTES: u64 = 64 << 20;
    let settings = [("cache.size", "64 MiB"), ("cache.high", "0.75")];
    let cache = cache(&settings, 1 << 44, 1 << 20).expect("it can be built");
    let pages = cache.between_marks(1.0);
    assert!(pages > MADE, "{pages}");
    let wide = SMALL * BYTES;
    for (spread, made) in [
        (Spread::Random(wide), MADE),
        (Spread::InOrder(wide), MADE),
        (Spread::Random(BYTES), pages),
        (Spread::InOrder(BYTES), pages),
        (Spread::Unknown, pages),
    ] {
        assert_eq!(cache.made(1.0, spread), made, "{spread:?}");
    }
    // In order, a page is written again when all others were: it is clean by then.
    let drawn = |spread| cache.warm_after(1.0, spread).0;
    assert_eq!(drawn(Spread::InOrder(BYTES)), drawn(Spread::Unknown));
    assert_eq!(drawn(Spread::Random(BYTES)), TURNS * drawn(Spread::Unknown));
}
