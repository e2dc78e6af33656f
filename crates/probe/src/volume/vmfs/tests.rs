//! Devices made by the generator, and what they are read as.

use straddle_geometry::{Bytes, Map};
use straddle_io::Reader;
use straddle_stack::{AnomalyKind, GridRole, Key};
use straddle_testkit::vmfs::Vmfs;

use super::FORMAT;
use crate::Window;
use crate::fixture::Asked;
use crate::volume::{Assembly, Below, Part, Recognised};

fn recognised(vmfs: &Vmfs) -> Option<Recognised> {
    let image = vmfs.image();
    let reader = Reader::new(&image);
    FORMAT.run(&Window::whole(&reader, None)).expect("readable")
}

fn assembled(devices: &[Vmfs]) -> Assembly {
    let images: Vec<Vec<u8>> = devices.iter().map(Vmfs::image).collect();
    let readers: Vec<Reader<'_>> = images.iter().map(|image| Reader::new(image)).collect();
    let parts: Vec<Part<'_>> = readers
        .iter()
        .map(|reader| Part {
            window: Window::whole(reader, None),
            name: "sda",
            serial: None,
        })
        .collect();
    (FORMAT.assemble)(&parts).expect("readable")
}

#[test]
fn versions_3_5_and_6_have_their_figures_where_they_are_recorded() {
    for (lvm, version, blocks, format, shown) in [
        (3, (13, 46), (4 << 20, 65_536), "vmfs3", "3.46"),
        (5, (14, 61), (1 << 20, 8192), "vmfs5", "5.61"),
        (6, (24, 82), (1 << 20, 65_536), "vmfs6", "6.82"),
    ] {
        let vmfs = Vmfs {
            lvm,
            version,
            blocks,
            ..Vmfs::default()
        };
        let found = recognised(&vmfs).expect("vmfs");
        assert_eq!(found.set, "4f2a1b3c-5d6e7f80-9a00-001122334455");
        assert_eq!(found.member, "4f2a1b3c-5d6e7f80-9a01-001122334455");
        assert_eq!(found.of, Some(1));
        assert_eq!(found.detected.bytes(Key::DataOffset), Some(17 << 20));
        assert_eq!(
            found.detected.evidence(Key::DataOffset),
            Some(((1 << 20) + 0x7a, 0x110_0000_u64.to_le_bytes().to_vec()))
        );
        assert_eq!(found.detected.anomalies(), []);
        let assembly = assembled(&[vmfs]);
        let [volume, datastore] = assembly.nodes.as_slice() else {
            panic!("{assembly:#?}")
        };
        assert_eq!(
            volume.layer.size.as_ref().expect("it").value,
            Bytes::mib(1024)
        );
        let place = volume.layer.map.locate(Bytes::new(5)).expect("a place");
        assert_eq!(place.offset.get(), (17 << 20) + 5);
        let layer = &datastore.layer;
        assert_eq!(
            (layer.name.as_str(), layer.format.as_deref()),
            ("datastore1", Some(format))
        );
        assert_eq!(layer.text(Key::Version), Some(shown));
        let grid = layer.grid(GridRole::AllocationUnit).expect("a grid");
        assert_eq!(grid.value.unit().get(), blocks.0);
        assert_eq!(
            layer.bytes(Key::SubBlockSize).expect("it").value.get(),
            u64::from(blocks.1)
        );
    }
    let osdata = Vmfs {
        magic: 0x2fab_f15f,
        ..Vmfs::default()
    };
    let assembly = assembled(&[osdata]);
    assert_eq!(assembly.nodes[1].layer.format.as_deref(), Some("vmfs-l"));
}

#[test]
fn a_volume_on_several_devices_names_those_that_are_missing() {
    let device = |n: u8, extents| Vmfs {
        device: (n, 3),
        extents,
        ..Vmfs::default()
    };
    let all = [device(1, (0, 4)), device(3, (6, 1)), device(2, (4, 2))];
    let whole = assembled(&all);
    let volume = &whole.nodes[0];
    assert_eq!(
        volume.below,
        [Below::Part(0), Below::Part(2), Below::Part(1)]
    );
    let place = volume.layer.map.locate(Bytes::new(5 << 28)).expect("it");
    assert_eq!(
        (place.target, place.offset.get()),
        (1, (17 << 20) + (1 << 28))
    );

    let first = assembled(&all[..2]);
    assert_eq!(
        first.nodes[0].below[2],
        Below::Missing("device of extents 4 to 5 of 4f2a1b3c-5d6e7f80-9a00-001122334455".into())
    );
    assert_eq!(first.nodes[0].layer.map.locate(Bytes::new(5 << 28)), None);
    let last = assembled(&all[1..2]);
    assert_eq!(last.nodes.len(), 1, "the header is on the first device");
    assert_eq!(last.nodes[0].below.len(), 3);
}

#[test]
fn hostile_figures_make_statements() {
    let kinds = |assembly: &Assembly| -> Vec<AnomalyKind> {
        let layers = assembly.nodes.iter();
        layers
            .flat_map(|node| &node.layer.anomalies)
            .map(|odd| odd.kind)
            .collect()
    };
    let far = Vmfs {
        extents: (u64::MAX - 1, u32::MAX),
        device: (1, u32::MAX),
        ..Vmfs::default()
    };
    let found = recognised(&far).expect("vmfs");
    assert!(found.detected.anomalies().contains(&AnomalyKind::Damaged));
    let assembly = assembled(std::slice::from_ref(&far));
    assert_eq!(kinds(&assembly), [AnomalyKind::Damaged]);
    let twice = [1, 2].map(|n| Vmfs {
        device: (n, 2),
        ..Vmfs::default()
    });
    assert_eq!(kinds(&assembled(&twice)), [AnomalyKind::Damaged]);
    assert_eq!(
        assembled(&twice).nodes[0].layer.map,
        Map::Segments(Vec::new())
    );
    let odd = Vmfs {
        blocks: (3 << 20, 0),
        data: 0x110_0000,
        ..Vmfs::default()
    };
    assert_eq!(kinds(&assembled(&[odd])), [AnomalyKind::Damaged]);
    for data in [0, 1 << 20, u64::MAX] {
        let found = recognised(&Vmfs {
            data,
            ..Vmfs::default()
        })
        .expect("vmfs");
        assert_eq!(found.detected.anomalies(), [AnomalyKind::Damaged], "{data}");
    }
    assert!(
        recognised(&Vmfs {
            lvm: 9,
            ..Vmfs::default()
        })
        .is_none()
    );
}
