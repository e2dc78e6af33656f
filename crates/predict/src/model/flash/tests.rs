//! Truths about flash that can be worked out by hand.

use super::*;
use crate::profile::Profile;
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use straddle_geometry::{Bytes, Grid, Lattice, Unit};

/// 8 dies on 4 channels; 16 KiB rows of two planes; 4 KiB units.
const PLAIN: &[(&str, &str)] = &[
    ("capacity", "\"1 GiB\""),
    ("channels", "4"),
    ("dies", "8"),
    ("planes", "2"),
    ("page", "\"8 KiB\""),
    ("pages", "16"),
    ("unit", "\"4 KiB\""),
    ("read", "\"50 us\""),
    ("program", "\"800 us\""),
    ("erase", "\"3 ms\""),
    ("channel_rate", "\"400 MB/s\""),
    ("command", "\"2 us\""),
];

fn text(figures: &[(&str, &str)]) -> String {
    let mut text = "[flash]\n".to_owned();
    let replaced = |name: &str| figures.iter().any(|(key, _)| *key == name);
    for (key, value) in PLAIN
        .iter()
        .filter(|(key, _)| !replaced(key))
        .chain(figures)
    {
        if !value.is_empty() {
            text += &format!("{key} = {{ value = {value}, assumed = \"a test\" }}\n");
        }
    }
    text
}

fn build(figures: &[(&str, &str)]) -> Result<Flash, Refusal> {
    let profile = Profile::read("test", &text(figures))?.complete()?;
    Flash::build(profile.required(Flash::SECTION)?, 0)
}

fn flash(figures: &[(&str, &str)]) -> Flash {
    build(figures).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// Keeps `outstanding` operations under way until `count` have ended; the times at which they did, and their latencies.
fn run(
    flash: &mut Flash,
    outstanding: u32,
    count: usize,
    mut next: impl FnMut(u64) -> Operation,
) -> Vec<(u64, u64)> {
    let (mut ended, mut answers, mut made) = (Vec::new(), Vec::new(), 0);
    let mut since = vec![Time::ZERO; outstanding as usize];
    let mut now = Time::ZERO;
    for ticket in 0..outstanding {
        flash.submit(now, ticket, next(made));
        made += 1;
    }
    while answers.len() < count {
        let time = flash.next();
        assert!(time >= now && time != Time::NEVER, "it comes to an end");
        now = time;
        flash.advance(now, &mut ended);
        for ticket in ended.drain(..) {
            let at = ticket as usize;
            answers.push((now.get(), (now - since[at]).get()));
            since[at] = now;
            flash.submit(now, ticket, next(made));
            made += 1;
        }
        assert_eq!(flash.queued(), outstanding);
    }
    answers
}

/// Operations each second in the second half of a run.
fn rate(answers: &[(u64, u64)]) -> f64 {
    let half = answers.len() / 2;
    let time = answers[answers.len() - 1].0 - answers[half - 1].0;
    (answers.len() - half) as f64 / time as f64 * 1e9
}

fn random(len: u64, step: u64, offset: u64) -> impl FnMut(u64) -> Operation {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    move |_| {
        let places = ((1 << 30) - offset - len) / step;
        Operation::read(offset + random.next_u64() % places * step, len)
    }
}

fn writes(mut next: impl FnMut(u64) -> Operation) -> impl FnMut(u64) -> Operation {
    move |n| {
        let operation = next(n);
        Operation::write(operation.start, operation.len)
    }
}

fn close(found: f64, expected: f64, within: f64) {
    assert!(
        (found / expected - 1.0).abs() < within,
        "{found}, expected {expected}"
    );
}

#[test]
fn one_read_takes_command_page_channel_and_link() {
    let read = |figures: &[(&str, &str)], start, len| {
        run(&mut flash(figures), 1, 1, |_| Operation::read(start, len))[0].1
    };
    let transfer = 10_240;
    assert_eq!(read(&[], 0, 4096), 2_000 + 50_000 + transfer);
    assert_eq!(read(&[("link", "\"600 MB/s\"")], 0, 4096), 62_240 + 6_826);
    assert_eq!(
        read(&[], 512, 4096),
        62_240 + transfer,
        "two codewords of a page"
    );
    assert_eq!(
        read(&[("codeword", "512")], 512, 4096),
        62_240,
        "no more than is asked for"
    );
    assert_eq!(
        read(&[("page_command", "\"5 us\"")], 6144, 4096),
        62_240 + transfer + 10_000,
        "two planes"
    );
    assert_eq!(
        read(&[("codeword", "512")], 16_384 - 512, 4096),
        52_000 + 3_584 * 5 / 2,
        "two dies at once"
    );
    assert_eq!(
        read(&[("map_segment", "\"1 MiB\"")], 0, 4096),
        2 * (50_000 + transfer) + 2_000
    );
    assert_eq!(
        read(&[("unit_time", "\"7 us\"")], 512, 4096),
        62_240 + transfer + 7_000
    );
}

#[test]
fn offsets_that_cross_a_unit_alike_take_alike() {
    let read = |offset| {
        let figures = [("page", "4096"), ("planes", "1"), ("unit_time", "\"7 us\"")];
        run(&mut flash(&figures), 1, 500, |n| {
            Operation::read(n * 8192 % (1 << 29) + offset, 4096)
        })
    };
    assert!(read(512) == read(4608));
    assert!(read(0) < read(512));
    let scattered = |offset| {
        let figures = [("layout", "\"scattered\"")];
        let answers = run(&mut flash(&figures), 1, 4_000, |n| {
            Operation::read(n * 8192 % (1 << 29) + offset, 4096)
        });
        answers
            .iter()
            .map(|(_, latency)| *latency as f64)
            .sum::<f64>()
    };
    close(scattered(512), scattered(4608), 0.01);
    assert!(
        scattered(512) > 1.03 * scattered(0),
        "some share a die or a channel"
    );
}

#[test]
fn reads_are_limited_by_what_is_slowest() {
    // 8 dies, 50 us each and 10.24 us until the register is free.
    let dies = rate(&run(
        &mut flash(&[("channels", "8")]),
        256,
        40_000,
        random(4096, 4096, 0),
    ));
    close(dies, 8.0 / 60.24e-6, 0.03);
    // 4 channels, 163.84 us each.
    let channels = [("channel_rate", "\"25 MB/s\"")];
    close(
        rate(&run(
            &mut flash(&channels),
            256,
            40_000,
            random(4096, 4096, 0),
        )),
        4.0 / 163.84e-6,
        0.03,
    );
    let processor = [("command", "\"20 us\"")];
    close(
        rate(&run(
            &mut flash(&processor),
            256,
            20_000,
            random(4096, 4096, 0),
        )),
        50_000.0,
        1e-3,
    );
    let link = [("link", "\"204.8 MB/s\"")];
    close(
        rate(&run(&mut flash(&link), 256, 20_000, random(4096, 4096, 0))),
        50_000.0,
        1e-3,
    );
}

#[test]
fn writes_are_answered_from_the_buffer_and_limited_by_programs() {
    let buffered = [("buffer", "\"1 MiB\"")];
    let answers = run(&mut flash(&buffered), 1, 100, writes(random(4096, 4096, 0)));
    assert!(
        answers.iter().all(|(_, latency)| *latency == 2_000),
        "while there is room"
    );
    // Rows of 4 units; 16 rows and an erase.
    let per_row = 800e-6 + 3e-3 / 16.0;
    let answers = run(
        &mut flash(&buffered),
        16,
        40_000,
        writes(random(4096, 4096, 0)),
    );
    close(rate(&answers), 8.0 * 4.0 / per_row, 0.01);
    // Without a buffer, each waits for a program of its own.
    let answers = run(&mut flash(&[]), 1, 10, writes(random(4096, 4096, 0)));
    assert_eq!(answers[0].1, 2_000 + 10_240 + 800_000);
}

#[test]
fn copies_take_their_share_of_the_dies() {
    let run = |figures: &[(&str, &str)], next: &mut dyn FnMut(u64) -> Operation| {
        rate(&run(&mut flash(figures), 16, 60_000, next))
    };
    let fresh = [("buffer", "\"1 MiB\"")];
    let worn = [("buffer", "\"1 MiB\""), ("over_provision", "0.15")];
    let (v, amplification) = (
        collection::valid_share(0.15),
        collection::write_amplification(0.15),
    );
    // A row of copies costs a program, its share of an erase, and the reads that yield four valid units.
    let reads = (1.0 - libm::pow(1.0 - v, 4.0)) / v;
    let per_row = 800e-6 + 3e-3 / 16.0;
    let per_host_row = per_row * amplification + (amplification - 1.0) * (reads * 50e-6 + 40.96e-6);
    close(
        run(&worn, &mut writes(random(4096, 4096, 0))),
        8.0 * 4.0 / per_host_row,
        0.02,
    );
    // In order, blocks are whole.
    let mut in_order = |n: u64| Operation::write(n * 4096 % (1 << 30), 4096);
    let sequential = run(&worn, &mut in_order);
    assert_eq!(sequential, run(&fresh, &mut in_order));
}

#[test]
fn partial_units_are_read_first() {
    let latency = |partial| {
        let figures = [("buffer", "\"1 MiB\""), ("partial", partial)];
        run(&mut flash(&figures), 1, 1, |_| Operation::write(512, 3584))[0].1
    };
    let read = 50_000 + 10_240;
    assert_eq!(latency("\"buffered\""), 2_000);
    assert_eq!(latency("\"merged\""), 2_000 + read);
    assert_eq!(latency("\"programmed\""), 2_000 + read + 10_240 + 800_000);
}

#[test]
fn a_serial_engine_makes_the_penalty_grow_with_threads() {
    let figures = [
        ("page", "4096"),
        ("planes", "1"),
        ("codeword", "512"),
        ("engines", "1"),
        ("engine_serves", "\"all\""),
    ];
    let penalty = |outstanding| {
        let rate = |offset| {
            rate(&run(
                &mut flash(&figures),
                outstanding,
                8_000,
                random(4096, 4096, offset),
            ))
        };
        rate(0) / rate(512)
    };
    let (one, two, many) = (penalty(1), penalty(2), penalty(32));
    assert!(
        one < 2.0 && two > 1.4 * one && many > 3.0 * two,
        "{one}, {two}, {many}"
    );
    // One after the other: two pages read and transferred in all.
    let cap = run(&mut flash(&figures), 32, 4_000, random(4096, 4096, 512));
    close(rate(&cap), 1.0 / (2.0 * 50e-6 + 10.24e-6), 0.02);
    let timed = [figures.as_slice(), &[("engine_time", "\"25 us\"")]].concat();
    let cap = run(&mut flash(&timed), 32, 4_000, random(4096, 4096, 512));
    close(rate(&cap), 40_000.0, 0.02);
}

#[test]
fn cards_pay_for_blocks_that_are_not_open() {
    let write = |streams: u64| {
        let figures = [("open_blocks", "2"), ("superblock", "8")];
        let mut card = flash(&figures);
        rate(&run(&mut card, 1, 2_000, |n| {
            Operation::write(n % streams * (64 << 20) + n / streams * 65_536, 65_536)
        }))
    };
    close(write(2), write(1), 0.05);
    assert!(write(3) * 5.0 < write(2), "{} {}", write(3), write(2));
}

proptest! {
    #[test]
    fn read_modify_writes_are_those_of_geometry(
        unit in prop_oneof![Just(4096_u64), Just(16_384), Just(65_536)],
        (len, step, offset) in (1_u64..300, 1_u64..300, 0_u64..300),
    ) {
        let (len, step, offset) = (len * 512, step * 512, offset * 512);
        let text = unit.to_string();
        let mut flash = flash(&[("unit", &text), ("buffer", "\"1 MiB\"")]);
        let lattice = Lattice::new(Bytes::new(offset), Unit::new(step).expect("not zero"), Unit::new(len).expect("not zero"));
        // All phases of the lattice, each once.
        let count = unit / 512;
        let mut made = 0;
        let _ = run(&mut flash, 1, usize::try_from(count).expect("small") - 1, |n| {
            made += 1;
            Operation::write(offset + n * step, len)
        });
        prop_assert_eq!(made, count);
        let partial = lattice.partial(Grid::new(Unit::new(unit).expect("not zero")));
        let units = lattice.mean_units(Grid::new(Unit::new(unit).expect("not zero")));
        let tally = flash.tally();
        prop_assert_eq!(u128::from(tally.granules_read) * u128::from(partial.denominator()), u128::from(partial.numerator()) * u128::from(count));
        prop_assert_eq!(u128::from(tally.granules) * u128::from(units.denominator()), u128::from(units.numerator()) * u128::from(count));
        prop_assert_eq!(tally.writes, count);
    }

    #[test]
    fn whatever_comes_ends_once(
        requests in proptest::collection::vec((any::<bool>(), 0_u64..4000, 1_u64..400, 0_u64..300_000), 1..200),
        buffer in prop_oneof![Just(""), Just("65536"), Just("\"4 MiB\"")],
        partial in prop_oneof![Just("\"buffered\""), Just("\"merged\""), Just("\"programmed\"")],
        (unit, engines, time) in (prop_oneof![Just("4096"), Just("65536")], prop_oneof![Just(""), Just("1"), Just("3")], any::<bool>()),
        (cards, spare, link) in (any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        let mut flash = flash(&[
            ("buffer", buffer),
            ("partial", partial),
            ("unit", unit),
            ("engines", engines),
            ("engine_serves", if link { "\"all\"" } else { "" }),
            ("engine_time", if time && !engines.is_empty() { "\"30 us\"" } else { "" }),
            ("open_blocks", if cards { "2" } else { "" }),
            ("over_provision", if spare && !cards { "0.1" } else { "" }),
            ("link", if link { "\"300 MB/s\"" } else { "" }),
            ("map_segment", if cards { "\"4 MiB\"" } else { "" }),
        ]);
        let (mut now, mut ended) = (Time::ZERO, Vec::new());
        let mut is_ended = vec![false; requests.len()];
        let mut take = |ended: &mut Ended| {
            for ticket in ended.drain(..) {
                assert!(!std::mem::replace(&mut is_ended[ticket as usize], true));
            }
        };
        for (n, (is_read, start, len, later)) in requests.iter().enumerate() {
            let until = now + Time::nanoseconds(*later);
            while flash.next() <= until {
                now = flash.next();
                flash.advance(now, &mut ended);
                take(&mut ended);
            }
            now = until;
            let (start, len) = (start * 512, len * 512);
            let operation = if *is_read { Operation::read(start, len) } else { Operation::write(start, len) };
            flash.submit(now, key(n), operation);
        }
        while flash.next() != Time::NEVER {
            now = flash.next();
            flash.advance(now, &mut ended);
            take(&mut ended);
        }
        prop_assert!(is_ended.iter().all(|is_ended| *is_ended));
        prop_assert_eq!(flash.queued(), 0);
        prop_assert!(flash.requests.is_empty());
        flash.uses(now, &mut |used| assert!(used.busy.get() <= now.get() * u64::from(used.count)));
    }
}

#[test]
fn nonsense_is_refused_by_key() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("dies", "")], "flash.dies is missing"),
        (
            &[("dies", "0")],
            "flash.dies is 0; expected a whole number, 1 to",
        ),
        (
            &[("dies", "6")],
            "flash.dies is 6; expected a multiple of the 4 channels",
        ),
        (&[("planes", "-2")], "flash.planes is -2"),
        (&[("planes", "1.5")], "flash.planes is 1.5"),
        (&[("page", "0")], "flash.page is 0"),
        (&[("unit", "5000")], "flash.unit is "),
        (
            &[("unit", "\"16 MiB\""), ("capacity", "\"8 MiB\"")],
            "flash.unit is 16 MiB; expected at most the device's 8388608",
        ),
        (
            &[("codeword", "3072")],
            "flash.codeword is 3 KiB; expected a part",
        ),
        (&[("read", "nan")], "flash.read is nan"),
        (&[("program", "0")], "flash.program is 0"),
        (&[("channel_rate", "inf")], "flash.channel_rate is inf"),
        (&[("over_provision", "0")], "flash.over_provision is 0"),
        (
            &[("over_provision", "0.1"), ("open_blocks", "3")],
            "flash.over_provision is 0.1 of the capacity; expected absent beside open_blocks",
        ),
        (
            &[("superblock", "9")],
            "flash.superblock is 9; expected at most the 8 dies",
        ),
        (&[("pages", "60000")], "flash.pages is 60000"),
        (
            &[("buffer", "2048")],
            "flash.buffer is 2 KiB; expected at least a unit's 4096 bytes",
        ),
        (
            &[("engine_time", "\"1 us\"")],
            "flash.engine_time is 1 us; expected absent without engines",
        ),
        (
            &[("map_segment", "\"2 GiB\"")],
            "flash.map_segment is 2 GiB",
        ),
        (&[("map_cache", "0")], "flash.map_cache is 0"),
        (&[("partial", "\"maybe\"")], "flash.partial is"),
        (&[("turbo", "1")], "turbo"),
    ];
    for (figures, expected) in cases {
        let refusal = build(figures).expect_err("it makes no sense").to_string();
        assert!(refusal.contains(expected), "{refusal}; expected {expected}");
    }
}
