use super::*;
use crate::fixture::{Asked, Volume as Image};
use straddle_io::Reader;

fn layer(image: &[u8]) -> (Recognised, Node) {
    let reader = Reader::new(&image);
    let window = Window::whole(&reader, None);
    let found = FORMAT.run(&window).expect("readable").expect("verity");
    let part = Part {
        window,
        name: "device",
        serial: None,
    };
    let mut nodes = assemble(&[part]).expect("readable").nodes;
    (found, nodes.remove(0))
}

fn superblock(block: u32, blocks: u64) -> Vec<u8> {
    Image::new(8192)
        .with(0, MAGIC)
        .with(8, 1_u32.to_le_bytes())
        .with(16, [0xab; 16])
        .with(32, b"sha256")
        .with(64, block.to_le_bytes())
        .with(68, 4096_u32.to_le_bytes())
        .with(72, blocks.to_le_bytes())
        .0
}

#[test]
fn the_hashes_say_how_large_the_data_are() {
    let (found, node) = layer(&superblock(4096, 2560));
    let uuid = "abababab-abab-abab-abab-abababababab";
    assert_eq!(found.detected.text(Key::Uuid).as_deref(), Some(uuid));
    assert_eq!(found.detected.bytes(Key::BlockSize), Some(4096));
    assert_eq!(node.layer.size.map(|s| s.value.get()), Some(10_485_760));
    let missing = Below::Missing(format!("data device of verity {uuid}"));
    assert_eq!(node.below, [missing, Below::Part(0)]);
}

#[test]
fn impossible_sizes_are_said() {
    for (block, blocks) in [(0, 1), (768, 1), (1 << 20, 1), (4096, u64::MAX)] {
        let (_, node) = layer(&superblock(block, blocks));
        assert!(node.layer.size.is_none());
        assert_eq!(node.layer.anomalies[0].kind, AnomalyKind::Damaged);
    }
}
