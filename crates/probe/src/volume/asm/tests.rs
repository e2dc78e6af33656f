use super::*;
use crate::fixture::{Asked, Volume as Image};
use straddle_io::Reader;

/// The disk that one of the listings shows: 9,075 units of 1 MiB, here as many as there is room for.
fn disk(units: u32) -> Image {
    Image::new(8 << 20)
        .with(0, [1, 0x82, DISK_HEADER, 1])
        .with(32, LABEL)
        .with(64, 0x0a10_0000_u32.to_le_bytes())
        .with(70, [1, 3])
        .with(72, b"ASM01_0000")
        .with(104, b"ASM01")
        .with(136, b"ASM01_0000")
        .with(216, 512_u16.to_le_bytes())
        .with(218, 4096_u16.to_le_bytes())
        .with(220, (1_u32 << 20).to_le_bytes())
        .with(228, units.to_le_bytes())
}

fn read(image: &Image) -> (Recognised, Assembly) {
    let reader = Reader::new(&image.0);
    let window = Window::whole(&reader, None);
    let found = FORMAT.run(&window).expect("readable").expect("a disk");
    let part = Part {
        window,
        name: "device",
        serial: None,
    };
    (found, assemble(&[part]).expect("readable"))
}

fn grid(assembly: &Assembly) -> Option<u64> {
    let layer = &assembly.nodes[0].layer;
    let grid = layer.grid(GridRole::AllocationUnit)?;
    assert_eq!(grid.value.phase(), Bytes::ZERO);
    Some(grid.value.unit().get())
}

#[test]
fn the_disk_of_the_listing_is_read() {
    let (found, assembly) = read(&disk(8));
    assert_eq!((&*found.set, &*found.member), ("ASM01", "ASM01_0000"));
    let said = &found.detected;
    assert_eq!(said.text(Key::VolumeGroup).as_deref(), Some("ASM01"));
    assert_eq!(said.text(Key::Layout).as_deref(), Some("external"));
    assert_eq!(said.bytes(Key::SectorSize), Some(512));
    assert_eq!(said.bytes(Key::BlockSize), Some(4096));
    let evidence = said.evidence(Key::ExtentSize);
    assert_eq!(evidence, Some((220, vec![0, 0, 0x10, 0])));
    assert_eq!(grid(&assembly), Some(1 << 20));
    let layer = &assembly.nodes[0].layer;
    assert_eq!(layer.name, "ASM01_0000 of ASM01");
    let size = layer.size.as_ref().map(|size| size.value.get());
    assert_eq!(size, Some(8 << 20));
}

#[test]
fn numbers_may_have_their_high_byte_first() {
    let image = disk(0)
        .with(0, [0])
        .with(216, 4096_u16.to_be_bytes())
        .with(218, 4096_u16.to_be_bytes())
        .with(220, (4_u32 << 20).to_be_bytes())
        .with(228, 2_u32.to_be_bytes());
    let (found, assembly) = read(&image);
    assert_eq!(found.detected.bytes(Key::SectorSize), Some(4096));
    assert_eq!(grid(&assembly), Some(4 << 20));
}

#[test]
fn a_disk_that_only_has_a_label_makes_no_layer() {
    let image = Image::new(8192).with(32, LABEL).with(40, b"DATA1");
    let (found, assembly) = read(&image);
    let label = found.detected.text(Key::Label);
    assert_eq!((label.as_deref(), &*found.set), (Some("DATA1"), ""));
    assert!(assembly.nodes.is_empty());
    assert_eq!(found.detected.get(Key::SectorSize), None);
}

#[test]
fn impossible_units_and_sizes_are_not_believed() {
    for unit in [0, 512, 3 << 20, 128 << 20, u32::MAX] {
        let (_, assembly) = read(&disk(8).with(220, unit.to_le_bytes()));
        let layer = &assembly.nodes[0].layer;
        assert_eq!(layer.anomalies[0].kind, AnomalyKind::Damaged, "{unit}");
        assert_eq!(grid(&assembly), None);
    }
    // More units than the disk has room for: part of it was given.
    let (_, assembly) = read(&disk(9));
    let size = assembly.nodes[0].layer.size.as_ref().map(|s| s.value.get());
    assert_eq!(size, Some(8 << 20));
}
