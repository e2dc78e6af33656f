use super::*;
use crate::fixture::Asked;
use straddle_io::Reader;
use straddle_testkit::bitlocker::{Maker, Volume};

fn read_image(image: &[u8]) -> (Recognised, Node) {
    let reader = Reader::new(&image);
    let window = Window::whole(&reader, None);
    let found = FORMAT.run(&window).expect("readable").expect("BitLocker");
    let part = Part {
        window,
        name: "device",
        serial: None,
    };
    let mut nodes = assemble(&[part]).expect("readable").nodes;
    (found, nodes.remove(0))
}

fn place(node: &Node, at: u64) -> Option<u64> {
    node.layer
        .map
        .locate(Bytes::new(at))
        .map(|l| l.offset.get())
}

#[test]
fn the_first_sectors_lie_elsewhere_and_the_rest_in_its_place() {
    let (found, node) = read_image(&Volume::new(Maker::Seven).bytes());
    assert_eq!(
        found.detected.text(Key::Version).as_deref(),
        Some("Windows 7")
    );
    assert_eq!(
        found.detected.text(Key::Encryption).as_deref(),
        Some("AES-XTS-128")
    );
    assert_eq!(place(&node, 0), Some(0x11_0000));
    assert_eq!(place(&node, 8191), Some(0x11_1fff));
    assert_eq!(place(&node, 8192), Some(8192));
    // Metadata and what was moved read as zeroes.
    for at in [0x10_0000, 0x11_0000, 0x30_0000, 0x50_ffff] {
        assert_eq!(place(&node, at), None, "{at:#x}");
    }
    assert_eq!(place(&node, 0x51_0000), Some(0x51_0000));
    assert_eq!(place(&node, 8 << 20), None);
    assert_eq!(node.holds, Holds::Nothing);
}

#[test]
fn variants_are_told_apart() {
    for (maker, name, first) in [
        (Maker::ToGo, "To Go", 0x11_0000),
        // Vista leaves the first sectors where they are.
        (Maker::Vista, "Windows Vista", 0),
    ] {
        let (found, node) = read_image(&Volume::new(maker).bytes());
        assert_eq!(found.detected.text(Key::Version).as_deref(), Some(name));
        assert_eq!(place(&node, 0), Some(first), "{name}");
        assert!(found.detected.anomalies().is_empty(), "{name}");
    }
}

#[test]
fn a_sound_copy_is_used_and_the_damaged_one_said() {
    let mut image = Volume::new(Maker::Seven).bytes();
    image[0x10_0000 + 200] ^= 1;
    let (found, node) = read_image(&image);
    assert_eq!(found.detected.anomalies(), [AnomalyKind::Damaged]);
    assert!(
        found.detected.anomalies[0]
            .detail
            .contains("at byte 1048576: CRC-32")
    );
    assert_eq!(place(&node, 0), Some(0x11_0000));
    let (at, _) = found.detected.evidence(Key::Uuid).expect("evidence");
    assert_eq!(at, 0x30_0000 + 80);
    // With none sound, the header of the first is still believed as far as it is sane.
    image[0x30_0000 + 200] ^= 1;
    image[0x50_0000 + 200] ^= 1;
    let (_, node) = read_image(&image);
    assert_eq!(place(&node, 0), Some(0x11_0000));
}

#[test]
fn without_metadata_nothing_is_known_of_the_places() {
    let mut image = Volume::new(Maker::Seven).bytes();
    image[176..200].fill(0xff);
    let (found, node) = read_image(&image);
    assert_eq!(found.detected.anomalies(), [AnomalyKind::Damaged]);
    assert_eq!(node.layer.anomalies[0].kind, AnomalyKind::Missing);
    assert_eq!(place(&node, 0), None);
    image[160..176].copy_from_slice(&ON_WRITE_GUID);
    let (found, node) = read_image(&image);
    assert!(found.detected.anomalies().is_empty());
    assert!(
        node.layer.anomalies[0]
            .detail
            .starts_with("it is encrypted as it is written")
    );
}

#[test]
fn what_is_not_finished_is_said() {
    for (state, next, expected) in [
        (4, 4, None),
        (5, 4, Some("encrypt")),
        (2, 1, Some("decrypt")),
    ] {
        let volume = Volume {
            state: (state, next),
            encrypted: 4 << 20,
            ..Volume::new(Maker::Seven)
        };
        let (_, node) = read_image(&volume.bytes());
        assert_eq!(node.layer.text(Key::Reencryption), expected);
        // What is not encrypted yet belongs to the volume all the same.
        let size = node.layer.size.map(|size| size.value);
        let whole = if expected.is_some() {
            Bytes::mib(8)
        } else {
            Bytes::mib(4)
        };
        assert_eq!(size, Some(whole));
    }
}

#[test]
fn moved_sectors_beyond_the_end_are_damage() {
    for moved_to in [u64::MAX - 4096, 8 << 20, (8 << 20) - 512] {
        let volume = Volume {
            moved_to,
            ..Volume::new(Maker::Seven)
        };
        let (_, node) = read_image(&volume.bytes());
        assert_eq!(node.layer.anomalies[0].kind, AnomalyKind::Damaged);
        assert_eq!(place(&node, 0), None);
    }
}
