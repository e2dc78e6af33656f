//! Every byte of a request goes where a map that is walked byte by byte says, and nowhere twice.

use super::*;
use crate::profile::Profile;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn profile(text: &str) -> Profile {
    Profile::read("test", text)
        .and_then(|profile| profile.complete())
        .unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn section(name: &str, figures: &[(&str, String)]) -> String {
    let mut text = format!("[{name}]\n");
    for (key, value) in figures {
        text += &format!("{key} = {{ value = {value}, assumed = \"a test\" }}\n");
    }
    text
}

fn refused(text: &str, capacity: u64) -> String {
    let built = Profile::read("test", text)
        .and_then(|profile| profile.complete())
        .and_then(|profile| Soft::build(&profile, capacity, capacity));
    built.expect_err("it makes no sense").to_string()
}

/// What waited-for data fragments of an operation touch, byte by byte in order.
fn data(soft: &mut Soft, operation: Operation) -> Vec<u64> {
    let mut out = Vec::new();
    soft.translate(Time::ZERO, operation, &mut out);
    out.iter()
        .flat_map(|fragment| fragment.operation.start..fragment.operation.end())
        .collect()
}

proptest! {
    #[test]
    fn blocks_and_pieces_are_a_map(
        (block, gap, header) in (1_u64..4, 0_u64..3, 0_u64..5),
        (fragment, unit, is_shuffled) in (0_u64..5, 1_u64..3, any::<bool>()),
        seed in 0_u64..100,
        longest in 1_u64..5,
    ) {
        let order = if is_shuffled { "\"shuffled\"" } else { "\"sequential\"" };
        let mut figures = vec![
            ("block", (block * 4096).to_string()),
            ("gap", (gap * 512).to_string()),
            ("header", (header * 512).to_string()),
            ("order", order.to_owned()),
            ("seed", seed.to_string()),
            ("allocation_unit", (unit * 512).to_string()),
        ];
        if fragment > 0 {
            figures.push(("fragment", (fragment * unit * 512).to_string()));
        }
        let text = section("blocks", &figures)
            + &section("host", &[("largest", (longest * 512).to_string())]);
        let capacity = 128 * 512;
        let mut soft = Soft::build(&profile(&text), capacity, capacity).expect("it makes sense");
        prop_assert!(soft.capacity() <= capacity && soft.capacity() > 0);
        // One by one, sectors go to different places, whole and on sectors.
        let mut places = Vec::new();
        let mut seen = BTreeSet::new();
        for sector in 0..soft.capacity() / 512 {
            let place = data(&mut soft, Operation::read(sector * 512, 512));
            prop_assert_eq!(place.len(), 512);
            prop_assert!(place[511] < capacity && place[0].is_multiple_of(512));
            prop_assert!(seen.insert(place[0]));
            places.extend(place);
        }
        // Any request goes where its sectors go, in fragments that are not too long.
        for (start, len) in [(0, soft.capacity()), (512, 7 * 512), (1536, 4096)] {
            let len = len.min(soft.capacity() - start);
            let at = usize::try_from(start).expect("small");
            let expected = &places[at..at + usize::try_from(len).expect("small")];
            prop_assert_eq!(data(&mut soft, Operation::read(start, len)), expected);
            let mut out = Vec::new();
            soft.translate(Time::ZERO, Operation::read(start, len), &mut out);
            prop_assert!(out.iter().all(|fragment| fragment.operation.len <= longest * 512));
        }
    }

    #[test]
    fn a_journal_keeps_data_tags_and_entries_apart(
        (block, tag, interleave) in (0_u32..4, 1_u64..40, 1_u64..4),
        requests in proptest::collection::vec((0_u64..800, 1_u64..64, any::<bool>()), 1..40),
    ) {
        let text = section("integrity", &[
            ("journal", (64 << 10).to_string()),
            ("block", (512_u64 << block).to_string()),
            ("tag", tag.to_string()),
            ("interleave", (interleave << 16).to_string()),
        ]);
        let volume = 1 << 21;
        let mut soft = Soft::build(&profile(&text), volume, volume).expect("it makes sense");
        let areas = 4096 + (64 << 10);
        let tags = ((interleave << 16) / (512 << block) * tag).next_multiple_of(4096);
        let is_tag = |at: u64| (at - areas) % (tags + (interleave << 16)) < tags;
        let mut journal = None;
        for (start, len, is_read) in requests {
            let (start, len) = (start * 512, len * 512);
            if start + len > soft.capacity() {
                continue;
            }
            let operation = if is_read { Operation::read(start, len) } else { Operation::write(start, len) };
            let mut out = Vec::new();
            soft.translate(Time::ZERO, operation, &mut out);
            let place = |at: u64| {
                let area = at / (interleave << 16);
                areas + area * (tags + (interleave << 16)) + tags + at % (interleave << 16)
            };
            let expected: Vec<u64> = (start..start + len).step_by(512).map(place).collect();
            let is_data = |fragment: &&Fragment| fragment.operation.start >= areas && !is_tag(fragment.operation.start);
            let found: Vec<u64> = out.iter().filter(is_data)
                .flat_map(|fragment| (fragment.operation.start..fragment.operation.end()).step_by(512))
                .collect();
            prop_assert_eq!(found, expected);
            for fragment in &out {
                prop_assert!(fragment.operation.end() <= volume);
                let is_journal = fragment.operation.start < areas;
                prop_assert_eq!(fragment.is_background, !is_read && !is_journal);
                if is_journal {
                    prop_assert!(fragment.operation.end() <= areas && fragment.phase == 0);
                    if let Some(next) = journal {
                        prop_assert!(fragment.operation.start == next || fragment.operation.start == 4096);
                    }
                    journal = Some(fragment.operation.end());
                } else if is_tag(fragment.operation.start) {
                    prop_assert!(is_tag(fragment.operation.end() - 1) && !is_read);
                }
            }
        }
    }

    #[test]
    fn a_bit_is_set_before_its_chunk_is_written(
        requests in proptest::collection::vec((0_u64..1000, 1_u64..40, 0_u64..30), 1..60),
    ) {
        let text = section("bitmap", &[("chunk", "4096".to_owned()), ("page", "512".to_owned()), ("delay", "\"10 s\"".to_owned())]);
        let capacity = 4096 * 5000;
        let mut soft = Soft::build(&profile(&text), capacity, capacity).expect("it makes sense");
        let mut set = vec![0.0; 5000];
        let mut now = 0.0;
        for (start, len, later) in requests {
            now += later as f64;
            let operation = Operation::write(start * 512, len * 512);
            let mut out = Vec::new();
            soft.translate(Time::seconds(now), operation, &mut out);
            let mut pages = BTreeSet::new();
            for chunk in start * 512 / 4096..=((start + len) * 512 - 1) / 4096 {
                let chunk = usize::try_from(chunk).expect("small");
                if set[chunk] <= now {
                    pages.insert((256 + chunk as u64 / 8) / 512);
                }
                set[chunk] = now + 10.0;
            }
            let found: Vec<u64> = out.iter().filter(|fragment| fragment.to == To::EachMember)
                .map(|fragment| (fragment.operation.start - 8192) / 512)
                .collect();
            prop_assert_eq!(found, pages.into_iter().collect::<Vec<_>>());
            let last = out.last().expect("the write itself");
            prop_assert!(last.operation == operation && last.to == To::Array);
            prop_assert!(out[..out.len() - 1].iter().all(|fragment| fragment.phase < last.phase));
        }
    }
}

#[test]
fn the_last_page_of_a_bitmap_is_shorter() {
    let member = 1_u64 << 40;
    // 1.6 TB in chunks of 64 MiB: 23,842 bits and 256 bytes are 3,237 bytes, 7 sectors.
    let text = section("bitmap", &[]);
    let mut soft = Soft::build(&profile(&text), 1_600_000_000_000, member).expect("it makes sense");
    let mut out = Vec::new();
    soft.translate(Time::ZERO, Operation::write(0, 4096), &mut out);
    assert_eq!(out[0].operation, Operation::write(8192, 3584));
    assert_eq!((out[0].to, out[0].phase), (To::EachMember, 0));
    out.clear();
    soft.translate(Time::ZERO, Operation::write(4096, 4096), &mut out);
    assert_eq!(out.len(), 1, "the bit is set");
    out.clear();
    soft.translate(Time::seconds(5.5), Operation::write(0, 4096), &mut out);
    assert_eq!(out.len(), 2, "it was cleared");
    out.clear();
    soft.translate(Time::ZERO, Operation::read(1 << 30, 4096), &mut out);
    assert_eq!(out.len(), 1, "reads set none");
}

#[test]
fn without_sections_requests_pass() {
    let soft = Soft::build(&profile(""), 1 << 20, 1 << 20).expect("it makes sense");
    assert!(soft.is_absent());
    assert_eq!(soft.capacity(), 1 << 20);
}

#[test]
fn nonsense_is_refused_by_key() {
    let cases = [
        (
            section("blocks", &[]),
            "blocks.block is missing; expected a block, or a fragment",
        ),
        (
            section("blocks", &[("fragment", "5000".into())]),
            "blocks.fragment is ",
        ),
        (
            section("blocks", &[("block", "\"1 GiB\"".into())]),
            "blocks.block is 1 GiB; expected a block that fits",
        ),
        (
            section("host", &[("largest", "0".into())]),
            "host.largest is 0",
        ),
        (
            section("integrity", &[("journal", "\"64 MiB\"".into())]),
            "integrity.journal is 64 MiB; expected room",
        ),
        (
            section(
                "integrity",
                &[("journal", "65536".into()), ("block", "1536".into())],
            ),
            "integrity.block is 1.5 KiB",
        ),
        (
            section("bitmap", &[("chunk", "-1".into())]),
            "bitmap.chunk is -1",
        ),
        (
            section("bitmap", &[("last_page", "600".into())]),
            "bitmap.last_page is 600 B; expected a multiple of 512",
        ),
        (
            section("bitmap", &[("start", "\"1 GiB\"".into())]),
            "bitmap.start is 1 GiB",
        ),
    ];
    for (text, expected) in cases {
        let refusal = refused(&text, 1 << 24);
        assert!(refusal.contains(expected), "{refusal}; expected {expected}");
    }
}
