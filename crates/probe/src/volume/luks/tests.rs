use super::*;
use crate::fixture::{Asked, Volume as Image};
use straddle_io::Reader;

const MIB: usize = 1 << 20;

/// What is said of a device, and what it makes.
fn read_image(image: &[u8]) -> Option<(Recognised, Vec<Node>)> {
    let reader = Reader::new(&image);
    let window = Window::whole(&reader, None);
    let found = FORMAT.run(&window).expect("readable")?;
    let part = Part {
        window,
        name: "device",
        serial: None,
    };
    let nodes = assemble(&[part]).expect("readable").nodes;
    Some((found, nodes))
}

/// A LUKS2 header, at its place.
fn header(json: &str, size: u64, second: bool) -> Vec<u8> {
    let mut out = vec![0; usize::try_from(size).expect("small")];
    out[..6].copy_from_slice(if second { &SECOND_MAGIC } else { &MAGIC });
    out[6..8].copy_from_slice(&2_u16.to_be_bytes());
    out[8..16].copy_from_slice(&size.to_be_bytes());
    out[16..24].copy_from_slice(&3_u64.to_be_bytes());
    out[24..30].copy_from_slice(b"backup");
    out[72..78].copy_from_slice(b"sha256");
    out[168..204].copy_from_slice(b"11111111-2222-3333-4444-555555555555");
    let at = if second { size } else { 0 };
    out[256..264].copy_from_slice(&at.to_be_bytes());
    out[4096..4096 + json.len()].copy_from_slice(json.as_bytes());
    let sum = luks2::checksum(&out);
    out[448..480].copy_from_slice(&sum);
    out
}

fn luks2_of(len: usize, size: u64, json: &str) -> Vec<u8> {
    let second = usize::try_from(size).expect("small");
    Image::new(len)
        .with(0, header(json, size, false))
        .with(second, header(json, size, true))
        .0
}

fn segments(text: &str) -> String {
    format!(
        r#"{{"keyslots":{{"0":{{"type":"luks2"}}}},"segments":{{{text}}},"config":{{"json_size":"12288","keyslots_size":"32768"}}}}"#
    )
}

const CRYPT: &str = r#""0":{"type":"crypt","offset":"1048576","size":"dynamic","iv_tweak":"0","encryption":"aes-xts-plain64","sector_size":4096}"#;

fn details(anomalies: &[Anomaly]) -> Vec<&str> {
    anomalies.iter().map(|odd| odd.detail.as_str()).collect()
}

#[test]
fn luks1_has_its_payload_behind_the_key_material() {
    let mut image = Image::new(2 * MIB)
        .with(0, b"LUKS\xba\xbe\x00\x01")
        .with(8, b"aes")
        .with(40, b"xts-plain64")
        .with(104, 2048_u32.to_be_bytes())
        .with(168, b"11111111-2222-3333-4444-555555555555");
    for slot in 0..8 {
        let state = if slot < 2 {
            0x00ac_71f3_u32
        } else {
            0x0000_dead
        };
        image = image.with(208 + 48 * slot, state.to_be_bytes());
    }
    let (found, nodes) = read_image(&image.0).expect("LUKS1");
    assert_eq!(found.detected.text(Key::KeySlots).as_deref(), Some("2"));
    assert!(found.detected.anomalies().is_empty());
    let layer = &nodes[0].layer;
    assert_eq!(
        layer.map,
        Map::Linear {
            start: Bytes::mib(1)
        }
    );
    assert_eq!(layer.size.as_ref().map(|s| s.value), Some(Bytes::mib(1)));
    assert_eq!(layer.name, "luks-11111111-2222-3333-4444-555555555555");
    assert_eq!(nodes[0].holds, Holds::Nothing);
    // Without encryption, what is on it can be read.
    let plain = Image(image.0.clone())
        .with(8, b"cipher_null")
        .with(40, b"ecb\0\0\0\0\0\0\0\0");
    let (_, nodes) = read_image(&plain.0).expect("LUKS1");
    assert_eq!(nodes[0].holds, Holds::Volume);
    // A slot that is neither in use nor free; a header that an offline re-encryption made unusable.
    let odd = Image(image.0.clone()).with(208, 7_u32.to_be_bytes());
    let (found, _) = read_image(&odd.0).expect("LUKS1");
    assert_eq!(found.detected.anomalies(), [AnomalyKind::Damaged]);
    let busy = Image(image.0).with(4, b"\xde\xad");
    let (_, nodes) = read_image(&busy.0).expect("LUKS1");
    assert_eq!(nodes[0].layer.text(Key::Reencryption), Some("reencrypt"));
}

#[test]
fn every_value_of_luks2_points_at_its_bytes() {
    let json = segments(CRYPT);
    let image = luks2_of(4 * MIB, 16 << 10, &json);
    let (found, nodes) = read_image(&image).expect("LUKS2");
    assert_eq!(found.detected.text(Key::Label).as_deref(), Some("backup"));
    assert_eq!(found.detected.bytes(Key::HeaderSize), Some(65_536));
    let (place, cipher) = found.detected.evidence(Key::Encryption).expect("evidence");
    let at = 4096 + json.find("\"aes-xts").expect("there");
    assert_eq!(usize::try_from(place), Ok(at));
    assert!(cipher.starts_with(b"\"aes-xts"), "{cipher:?}");
    let layer = &nodes[0].layer;
    let placement = layer.placement.as_ref().expect("a place");
    let straddle_stack::Source::Image(bytes) = &placement.source else {
        panic!("from the image")
    };
    assert_eq!(bytes.field(), b"\"1048576\"");
    assert_eq!(placement.value.len(), Bytes::mib(3));
    let grid = layer.grid(GridRole::EncryptionSector).expect("a grid");
    assert_eq!(grid.value.unit().get(), 4096);
}

#[test]
fn the_second_header_is_used_when_the_first_is_damaged() {
    let json = segments(CRYPT);
    for size in luks2::SIZES {
        let whole = luks2_of(12 * MIB, size, &json);
        let damaged = Image(whole.clone()).with(600, [1]);
        let (found, nodes) = read_image(&damaged.0).expect("LUKS2");
        assert_eq!(found.detected.anomalies(), [AnomalyKind::Damaged]);
        let detail = &found.detected.anomalies[0].detail;
        assert!(
            detail.ends_with(&format!("at byte {size}, is used")),
            "{detail}"
        );
        assert_eq!(
            nodes[0].layer.map,
            Map::Linear {
                start: Bytes::mib(1)
            }
        );
        let gone = Image(whole).with(0, vec![0; 4096]);
        let (found, _) = read_image(&gone.0).expect("LUKS2");
        assert_eq!(found.detected.anomalies(), [AnomalyKind::UnusualPlace]);
    }
}

#[test]
fn what_was_made_over_an_old_volume_is_not_luks() {
    let image = luks2_of(4 * MIB, 16 << 10, &segments(CRYPT));
    // A swap area, of which only the first page is written.
    let swap = Image(image)
        .with(0, vec![0; 4096])
        .with(1024, 1_u32.to_le_bytes())
        .with(1028, 255_u32.to_le_bytes())
        .with(4086, b"SWAPSPACE2");
    assert!(read_image(&swap.0).is_none());
}

#[test]
fn both_headers_damaged_is_said_and_still_read() {
    let image = luks2_of(4 * MIB, 16 << 10, &segments(CRYPT));
    let image = Image(image).with(600, [1]).with(16_384 + 600, [1]);
    let (found, nodes) = read_image(&image.0).expect("LUKS2");
    assert_eq!(found.detected.anomalies(), [AnomalyKind::Damaged]);
    assert!(
        found.detected.anomalies[0]
            .detail
            .ends_with("no second one is sound either")
    );
    assert_eq!(
        nodes[0].layer.map,
        Map::Linear {
            start: Bytes::mib(1)
        }
    );
}

#[test]
fn headers_of_two_versions_are_told_apart() {
    let json = segments(CRYPT);
    let image = luks2_of(4 * MIB, 16 << 10, &json);
    let image = Image(image).with(16_384 + 23, [9]);
    let (found, _) = read_image(&image.0).expect("LUKS2");
    assert_eq!(
        details(&found.detected.anomalies),
        ["the two LUKS2 headers are of different versions, 3 and 9; the first is used"]
    );
    let image = Image(image.0).with(16_384, vec![0; 512]);
    let (found, _) = read_image(&image.0).expect("LUKS2");
    assert_eq!(found.detected.anomalies(), [AnomalyKind::CopiesDiffer]);
}

#[test]
fn segments_in_force_follow_each_other() {
    let json = segments(
        r#""10":{"type":"crypt","offset":"3145728","size":"dynamic","encryption":"aes-xts-plain64","sector_size":512},
           "2":{"type":"linear","offset":"1048576","size":"1048576"},
           "11":{"type":"crypt","offset":"0","size":"dynamic","flags":["backup-final"]}"#,
    )
    .replace(
        r#""keyslots_size":"32768""#,
        r#""keyslots_size":"32768","requirements":{"mandatory":["online-reencrypt-v2"]}"#,
    );
    let (_, nodes) = read_image(&luks2_of(4 * MIB, 16 << 10, &json)).expect("LUKS2");
    let layer = &nodes[0].layer;
    let Map::Segments(segments) = &layer.map else {
        panic!("two segments")
    };
    let places: Vec<(u64, u64)> = segments
        .iter()
        .map(|s| (s.upper.start().get(), s.lower.get()))
        .collect();
    assert_eq!(places, [(0, 1 << 20), (1 << 20, 3 << 20)]);
    assert_eq!(layer.size.as_ref().map(|s| s.value), Some(Bytes::mib(2)));
    assert_eq!(layer.text(Key::Reencryption), Some("reencrypt"));
    assert_eq!(nodes[0].holds, Holds::Nothing);
}

#[test]
fn hostile_metadata_are_refused_with_what_is_wrong() {
    let deep = format!("{}{}", "[".repeat(2000), "]".repeat(2000));
    let many: Vec<String> = (0..3000)
        .map(|n| format!(r#""{n}":{{"type":"linear","offset":"{n}","size":"1"}}"#))
        .collect();
    let max = u64::MAX;
    for (json, expected) in [
        (format!(r#"{{"tokens":{deep}}}"#), "more than 32 levels"),
        ("{\"segments\":".to_owned(), "EOF while parsing"),
        ("{}".to_owned(), "no data segment"),
        (segments(&many.join(",")), "more than 256 segments"),
        (
            segments(&format!(
                r#""0":{{"type":"linear","offset":"{max}","size":"{max}"}},"1":{{"type":"linear","offset":"0","size":"5"}}"#
            )),
            "from byte 18,446,744,073,709,551,615 on",
        ),
        (
            segments(
                r#""0":{"type":"linear","offset":"4096","size":"8"},"1":{"type":"linear","offset":"0","size":"18446744073709551615"}"#,
            ),
            "18,446,744,073,709,551,615 bytes from byte 0 on",
        ),
        (
            segments(r#""0":{"type":"linear","offset":"99999999999999999999999","size":"8"}"#),
            "does not say where it begins",
        ),
        (
            segments(r#""0":{"type":"linear","offset":"4096","size":"all"}"#),
            "neither a number nor `dynamic`",
        ),
        (
            segments(r#""0":{"type":"crypt","offset":"4096","size":"dynamic","sector_size":520}"#),
            "is not 512, 1024, 2048 or 4096 bytes",
        ),
    ] {
        let (found, nodes) = read_image(&luks2_of(4 * MIB, 1 << 20, &json)).expect("LUKS2");
        let mut said: Vec<&str> = details(&found.detected.anomalies);
        said.extend(nodes.iter().flat_map(|node| details(&node.layer.anomalies)));
        let [said] = said.as_slice() else {
            panic!("{said:?}, not one with {expected}")
        };
        assert!(said.contains(expected), "{said}: not {expected}");
    }
}

#[test]
fn a_size_that_no_header_has_is_not_read() {
    for size in [0, 4096, 8192, 16_385, 8 << 20, u64::MAX] {
        let json = segments(CRYPT);
        let image = luks2_of(4 * MIB, 16 << 10, &json);
        let image = Image(image).with(8, u64::to_be_bytes(size));
        let (found, _) = read_image(&image.0).expect("LUKS2");
        let detail = &found.detected.anomalies[0].detail;
        assert!(detail.contains("it can be 16 KiB to 4 MiB"), "{detail}");
        assert!(detail.ends_with("at byte 16384, is used"), "{detail}");
    }
}

#[test]
fn a_header_without_its_data_names_their_device() {
    for json in [
        CRYPT.replace("1048576", "0"),
        CRYPT.replace("1048576", "67108864"),
    ] {
        let image = luks2_of(MIB, 16 << 10, &segments(&json));
        let (_, nodes) = read_image(&image).expect("LUKS2");
        let [Below::Missing(name)] = nodes[0].below.as_slice() else {
            panic!("{:?}", nodes[0].below)
        };
        assert_eq!(
            name,
            "data device of luks-11111111-2222-3333-4444-555555555555"
        );
    }
}
