use super::*;
use crate::profile::registry;

/// A stack as `check` prints one, with the layers that are given.
fn printed(layers: &str) -> String {
    format!(
        "{{\"schema\":\"straddle.check/1\",\"targets\":[{{\"target\":\"t\",\"stack\":[{layers}]}}]}}"
    )
}

const DEVICE: &str = r#"{"kind":"device","name":"sdc","format":null,"size":null,"below":[],"map":null,"placement":null,
    "grids":[{"role":"stripe-unit","grid":{"value":{"unit":65536,"phase":0},"source":{"kind":"captured","file":"ssacli.txt","line":12,"text":"Strip Size: 64 KB"},"trust":"reported"}},
             {"role":"physical-sector","grid":{"value":{"unit":4096,"phase":0},"source":{"kind":"assumption","reason":"as usual"},"trust":"assumed"}}],
    "attributes":[{"key":"level","value":{"value":{"text":"raid0"},"source":{"kind":"captured","file":"ssacli.txt","line":9,"text":""},"trust":"reported"}},
                  {"key":"members","value":{"value":{"count":6},"source":{"kind":"captured","file":"ssacli.txt","line":10,"text":""},"trust":"reported"}}]}"#;

fn partition(name: &str, below: usize, start: u64) -> String {
    format!(
        r#"{{"kind":"partition","name":"{name}","format":null,"size":{{"value":1000000,"source":{{"kind":"image","offset":458,"bytes":""}},"trust":"recorded"}},
            "below":[{below}],"map":{{"shape":"linear","start":{start}}},
            "placement":{{"value":{{"start":{start},"len":1000000}},"source":{{"kind":"image","offset":454,"bytes":""}},"trust":"recorded"}},
            "grids":[],"attributes":[]}}"#
    )
}

fn read(layers: &[String]) -> Outline {
    Outline::read("t", &printed(&layers.join(","))).expect("a stack")
}

#[test]
fn a_partition_is_placed_on_the_array_and_says_where_that_is_known_from() {
    let outline = read(&[DEVICE.to_owned(), partition("sdc1", 0, 32_256)]);
    let [place] = outline.places.as_slice() else {
        panic!("one place: {outline:?}");
    };
    assert_eq!(place.path(), "sdc1 on sdc");
    assert_eq!(place.offset.value, Bytes::new(32_256));
    assert_eq!(place.offset.from, "byte 454 of the image");
    assert!(!place.is_aligned());
    assert_eq!(place.physical_sector, None, "it is only assumed");
    let profile = registry::load("fixed-service").expect("it is one of ours");
    let (profile, taken) = place.apply(profile);
    let used = taken.iter().filter(|taken| taken.refused.is_none());
    let used: Vec<&str> = used.map(|taken| taken.path.as_str()).collect();
    assert_eq!(used, ["array.level", "array.members", "array.stripe_unit"]);
    let members = profile.figures().find(|(_, key, _)| key.name == "members");
    let origin = members.map(|(_, _, figure)| figure.origin.clone());
    assert_eq!(
        origin,
        Some(Origin::Stack("ssacli.txt, line 10".to_owned()))
    );
}

#[test]
fn starts_add_up_and_misaligned_ones_are_in_question() {
    let outline = read(&[
        DEVICE.to_owned(),
        partition("outer", 0, 1 << 20),
        partition("inner", 1, 32_256),
        partition("other", 0, 2 << 20),
    ]);
    let names: Vec<String> = outline.places.iter().map(Place::path).collect();
    assert_eq!(names, ["inner on sdc", "other on sdc"]);
    assert_eq!(
        outline.places[0].offset.value,
        Bytes::new((1 << 20) + 32_256)
    );
    let asked: Vec<&str> = outline
        .in_question()
        .iter()
        .map(|p| p.name.as_str())
        .collect();
    assert_eq!(asked, ["inner"]);
    assert_eq!(outline.find("other").map(|p| p.name.as_str()), Ok("other"));
    outline.find("nobody").expect_err("nobody is called so");
}

#[test]
fn documents_that_are_none_are_refused_in_words() {
    for text in [
        "",
        "{}",
        "[]",
        r#"{"schema":"straddle.bench/1"}"#,
        r#"{"schema":"straddle.check/1","targets":[]}"#,
        // A layer that rests on itself.
        &printed(&partition("p", 0, 5)),
        // Places that no number holds.
        &printed(&format!(
            "{DEVICE},{},{}",
            partition("a", 0, u64::MAX),
            partition("b", 1, 1)
        )),
    ] {
        Outline::read("t", text).expect_err(text);
    }
}

#[test]
fn an_array_with_parity_or_copies_is_where_addresses_begin() {
    for shape in [
        r#"{"shape":"raid","layout":"left-symmetric","stripe_unit":65536,"starts":[0,0,0]}"#,
        r#"{"shape":"of-another-version","anything":1}"#,
    ] {
        let array = format!(
            r#"{{"kind":"array","name":"md0","format":"raid5","size":null,"below":[0],"map":{shape},"placement":null,"grids":[],"attributes":[]}}"#
        );
        let outline = read(&[DEVICE.to_owned(), array, partition("md0p1", 1, 1 << 20)]);
        assert_eq!(outline.places[0].path(), "md0p1 on md0", "{shape}");
        assert_eq!(outline.places[0].offset.value, Bytes::new(1 << 20));
    }
}

/// A disk of so many sectors with a table and a unit, and partitions as (start, length) in sectors.
fn disk(sectors: u64, table: &str, unit: u64, partitions: &[(u64, u64)]) -> Outline {
    let said = r#""source":{"kind":"image","offset":0,"bytes":""},"trust":"recorded""#;
    let disk = format!(
        r#"{{"kind":"device","name":"sda","format":null,"size":{{"value":{},{said}}},"below":[],"map":null,"placement":null,
            "grids":[{{"role":"physical-sector","grid":{{"value":{{"unit":{unit},"phase":0}},{said}}}}}],
            "attributes":[{{"key":"partition-table","value":{{"value":{{"text":"{table}"}},{said}}}}}]}}"#,
        sectors * 512
    );
    let mut layers = vec![disk];
    for (number, (start, len)) in partitions.iter().enumerate() {
        let whole = partition(&format!("sda{}", number + 1), 0, start * 512);
        layers.push(whole.replace("\"value\":1000000", &format!("\"value\":{}", len * 512)));
    }
    read(&layers)
}

#[test]
fn a_last_partition_without_room_behind_it_costs_a_copy_more() {
    let passes = |table, unit, partitions: &[(u64, u64)]| -> Vec<u64> {
        let outline = disk(10_000, table, unit, partitions);
        let places = outline.places.iter();
        places.map(|place| place.work(None, 1.0).passes).collect()
    };
    let (moved, shorter) = (decision::MOVED, decision::SHORTENED);
    // To the end of the disk: it has to become shorter by what it moves.
    assert_eq!(passes("mbr", 4096, &[(63, 9937)]), [shorter]);
    // Exactly as much room as the next boundary needs, and one sector less.
    assert_eq!(passes("mbr", 4096, &[(63, 9936)]), [moved]);
    assert_eq!(passes("mbr", 65_536, &[(63, 9936)]), [shorter]);
    assert_eq!(passes("mbr", 65_536, &[(63, 9872)]), [moved]);
    assert_eq!(passes("mbr", 65_536, &[(63, 9873)]), [shorter]);
    // The copy of the GPT takes room too.
    assert_eq!(passes("gpt", 4096, &[(34, 9927)]), [moved]);
    assert_eq!(passes("gpt", 4096, &[(34, 9928)]), [shorter]);
    // One that stands right stays, and the last alone gives something up: those before it push it on.
    assert_eq!(passes("mbr", 4096, &[(64, 9936)]), [moved]);
    assert_eq!(
        passes("mbr", 4096, &[(63, 5000), (5063, 4937)]),
        [moved, shorter]
    );
    assert_eq!(
        passes("mbr", 4096, &[(63, 5000), (5063, 4928)]),
        [moved, moved]
    );
}
