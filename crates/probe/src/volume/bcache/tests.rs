use super::*;
use crate::fixture::{Asked, Volume as Image};
use straddle_io::Reader;

/// The first 208 bytes of a superblock, with its checksum.
fn superblock(version: u64, flags: u64, data: u64) -> Vec<u8> {
    let backing = matches!(version, 1 | 4 | 6);
    let mut out = Image::new(2256)
        .with(8, 8_u64.to_le_bytes())
        .with(16, version.to_le_bytes())
        .with(24, bcachefs::OLD_MAGIC)
        .with(40, [if backing { 0xb0 } else { 0xc0 }; 16])
        .with(56, [0x55; 16])
        .with(104, flags.to_le_bytes())
        .with(184, data.to_le_bytes())
        .with(192, 8_u16.to_le_bytes())
        .with(194, 1024_u16.to_le_bytes());
    let sum = crc64::of(&out.0[8..208]);
    out = out.with(0, sum.to_le_bytes());
    out.0
}

fn device(superblock: &[u8]) -> Vec<u8> {
    Image::new(1 << 20).with(4096, superblock).0
}

fn with_parts<T>(images: &[Vec<u8>], ask: impl FnOnce(&[Recognised], &[Node]) -> T) -> T {
    let readers: Vec<Reader<'_>> = images.iter().map(|image| Reader::new(image)).collect();
    let windows: Vec<Window<'_>> = readers.iter().map(|r| Window::whole(r, None)).collect();
    let found: Vec<Recognised> = windows
        .iter()
        .map(|window| FORMAT.run(window).expect("readable").expect("bcache"))
        .collect();
    let parts: Vec<Part<'_>> = windows
        .iter()
        .map(|window| Part {
            window: *window,
            name: "device",
            serial: None,
        })
        .collect();
    ask(&found, &assemble(&parts).expect("readable").nodes)
}

#[test]
fn the_checksum_is_that_of_make_bcache() {
    // What `make-bcache -B -o 24 --writeback` wrote.
    let made = Image::new(256)
        .with(0, 0x1055_a35e_cc79_9a0d_u64.to_le_bytes())
        .with(8, 8_u64.to_le_bytes())
        .with(16, 4_u64.to_le_bytes())
        .with(24, bcachefs::OLD_MAGIC)
        .with(
            40,
            0xa483_bc28_3ec1_480d_bea6_cb39_4052_9b5c_u128.to_be_bytes(),
        )
        .with(
            56,
            0x1413_abf6_6d98_41dd_b60d_f06e_b620_03a4_u128.to_be_bytes(),
        )
        .with(104, 1_u64.to_le_bytes())
        .with(184, 24_u64.to_le_bytes())
        .with(192, [1, 0, 0, 4]);
    with_parts(&[device(&made.0)], |found, nodes| {
        assert!(found[0].detected.anomalies().is_empty());
        assert_eq!(
            found[0].detected.text(Key::WriteCache).as_deref(),
            Some("write-back")
        );
        assert_eq!(found[0].of, Some(1), "detached: a whole by itself");
        assert_eq!(
            nodes[0].layer.map,
            Map::Linear {
                start: Bytes::new(12_288)
            }
        );
        assert_eq!(nodes[0].below, [Below::Part(0)]);
    });
    // Of a cache, with one number behind the fields.
    let cache = Image::new(256)
        .with(0, 0x8087_3ccb_f2da_0a3f_u64.to_le_bytes())
        .with(8, 8_u64.to_le_bytes())
        .with(24, bcachefs::OLD_MAGIC)
        .with(
            40,
            0xde0f_69bf_878f_4afb_b723_0212_2570_02f6_u128.to_be_bytes(),
        )
        .with(
            56,
            0x0380_fd52_0e99_4d2d_86a1_941b_85eb_1748_u128.to_be_bytes(),
        )
        .with(184, 2048_u64.to_le_bytes())
        .with(192, [8, 0, 32, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    with_parts(&[device(&cache.0)], |found, nodes| {
        assert!(
            found[0].detected.anomalies().is_empty(),
            "{:?}",
            found[0].detected.anomalies
        );
        assert_eq!(found[0].detected.bytes(Key::BucketSize), Some(16_384));
        assert!(nodes.is_empty());
    });
}

#[test]
fn a_wrong_checksum_is_said_and_the_rest_read() {
    let mut bytes = superblock(4, 0, 16);
    bytes[104] ^= 1;
    with_parts(&[device(&bytes)], |found, nodes| {
        assert_eq!(found[0].detected.anomalies(), [AnomalyKind::Damaged]);
        assert_eq!(
            nodes[0].layer.map,
            Map::Linear {
                start: Bytes::kib(8)
            }
        );
    });
    bytes[206..208].copy_from_slice(&[0xff; 2]);
    with_parts(&[device(&bytes)], |found, _| {
        assert_eq!(found[0].detected.anomalies(), [AnomalyKind::Damaged]);
    });
}

#[test]
fn a_backing_device_and_its_cache_are_one_set() {
    let clean = 1 << 61;
    let images = [
        device(&superblock(3, 1, 1024)),
        device(&superblock(4, clean | 1, 17)),
    ];
    with_parts(&images, |found, nodes| {
        assert_eq!(found[0].set, found[1].set);
        assert_ne!(found[0].member, found[1].member);
        let [node] = nodes else { panic!("one volume") };
        assert_eq!(node.below, [Below::Part(1), Below::Part(0)]);
        assert_eq!(
            node.layer.map,
            Map::Linear {
                start: Bytes::new(8704)
            }
        );
        let bucket = node.layer.bytes(Key::BucketSize).map(|fact| fact.value);
        assert_eq!(bucket, Some(Bytes::kib(512)));
    });
}

#[test]
fn a_cache_that_is_not_there_is_named() {
    let dirty = 2 << 61;
    with_parts(&[device(&superblock(4, dirty, 16))], |found, nodes| {
        assert_eq!(found[0].detected.text(Key::State).as_deref(), Some("dirty"));
        let name = "cache of bcache set 55555555-5555-5555-5555-555555555555";
        let missing = Below::Missing(name.to_owned());
        assert_eq!(nodes[0].below, [Below::Part(0), missing]);
        assert_eq!(nodes[0].layer.anomalies[0].kind, AnomalyKind::Missing);
        assert_eq!(nodes[0].holds, Holds::Volume);
    });
}

#[test]
fn data_beyond_the_device_are_damage() {
    for data in [1 << 20, u64::MAX] {
        with_parts(&[device(&superblock(4, 0, data))], |_, nodes| {
            assert_eq!(nodes[0].layer.anomalies[0].kind, AnomalyKind::Damaged);
            assert_eq!(nodes[0].holds, Holds::Nothing);
        });
    }
}
