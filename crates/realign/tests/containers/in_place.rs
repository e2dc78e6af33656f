//! Each format in place: what gets a place, what is read and written there, and what is refused.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use straddle_geometry::{Bytes, Extent};
use straddle_io::ReadAt;
use straddle_realign::{Access, Guest, Ids, Store, container};

use super::tools::{KINDS, Kind, first, made, must_read, qemu_img, read_all, write_all};
use super::world::{Contents, World};

pub(crate) const MIB: usize = 1 << 20;

/// Bytes of a guest, of which most are zero: some 64 KiB of each MiB that a bit of `which` stands for.
pub(crate) fn guest(len: usize, which: u64, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(seed);
    for mib in (0..len / MIB).filter(|mib| which >> (mib % 64) & 1 == 1) {
        let start = mib * MIB + (dice.next_u64() as usize % 15) * 65_536;
        dice.fill_bytes(&mut bytes[start..start + 65_536]);
        // No sector that is zero by chance.
        bytes[start..start + 65_536]
            .iter_mut()
            .step_by(16)
            .for_each(|byte| *byte |= 1);
    }
    bytes
}

pub(crate) fn open(world: &World) -> Box<dyn Guest> {
    match access(world) {
        Access::InPlace(guest) => guest,
        Access::Refused { format, why } => panic!("{format}: {why}"),
    }
}

pub(crate) fn access(world: &World) -> Access {
    let files = |path: &Path| -> io::Result<Arc<dyn Store>> { world.open(path) };
    container::open_with(&first(), &files, Ids::seeded(7)).expect("opens")
}

pub(crate) fn all(guest: &dyn Guest) -> Vec<u8> {
    part(guest, usize::MAX)
}

/// The first `most` bytes.
pub(crate) fn part(guest: &dyn Guest, most: usize) -> Vec<u8> {
    try_part(guest, most).expect("reads")
}

/// The same of a disk that may be damaged.
pub(crate) fn try_part(guest: &dyn Guest, most: usize) -> io::Result<Vec<u8>> {
    let mut out = vec![
        0xee;
        usize::try_from(guest.size().get())
            .expect("small")
            .min(most)
    ];
    let mut done = 0;
    while done < out.len() {
        let read = guest.read_at(Bytes::new(done as u64), &mut out[done..])?;
        assert!(read > 0);
        done += read;
    }
    Ok(out)
}

pub(crate) fn extent(start: usize, len: usize) -> Extent {
    Extent::new(Bytes::new(start as u64), Bytes::new(len as u64)).expect("small")
}

#[test]
fn what_is_prepared_can_be_written_and_every_reader_sees_it() {
    for kind in KINDS {
        let mut wanted = guest(9 * MIB + 65_536, 0b1_0010_0101, 1);
        let world = World::new(made(*kind, &wanted));
        let mut disk = open(&world);
        assert_eq!(disk.format(), kind.name);
        assert!(all(&*disk) == wanted, "{kind:?}");
        let ranges = [
            extent(MIB + 5 * 512, 3 * MIB),
            extent(7 * MIB - 512, 1024),
            extent(9 * MIB + 4096, 512),
        ];
        disk.prepare(&ranges).expect("has room");
        assert!(all(&*disk) == wanted, "{kind:?}");
        must_read(*kind, &world.contents(), &wanted, true);
        for range in ranges {
            let (start, len) = (range.start().get() as usize, range.len().get() as usize);
            let bytes: Vec<u8> = (0..len).map(|n| (n / 512 % 255) as u8 + 1).collect();
            disk.write_at(range.start(), &bytes).expect("has its place");
            wanted[start..start + len].copy_from_slice(&bytes);
        }
        disk.zero(Bytes::new(2 * MIB as u64), Bytes::new(4096))
            .expect("has its place");
        wanted[2 * MIB..2 * MIB + 4096].fill(0);
        disk.flush().expect("flushes");
        assert!(all(&*disk) == wanted, "{kind:?}");
        must_read(*kind, &world.contents(), &wanted, true);
        // Where holes go on is no data.
        let mut at = 0;
        while at < wanted.len() {
            let data = disk.data_from(Bytes::new(at as u64)).get() as usize;
            assert!((at..=wanted.len()).contains(&data), "{kind:?}");
            assert!(
                wanted[at..data].iter().all(|byte| *byte == 0),
                "{kind:?}: {at} to {data}"
            );
            at = (data + 4096).max(at + 4096);
        }
        // And opened again it is the same.
        assert!(all(&*open(&world)) == wanted, "{kind:?}");
    }
}

#[test]
fn what_has_no_place_takes_zeroes_only() {
    for kind in KINDS
        .iter()
        .filter(|kind| kind.options.contains("dynamic") || kind.name == "qcow2")
    {
        let world = World::new(made(*kind, &guest(8 * MIB, 1, 2)));
        let disk = open(&world);
        disk.write_at(Bytes::mib(5), &[0; 8192])
            .expect("nothing to do");
        disk.zero(Bytes::mib(5), Bytes::mib(2))
            .expect("nothing to do");
        assert!(world.log().is_empty(), "{kind:?}");
        let error = disk
            .write_at(Bytes::mib(5), &[0, 1])
            .expect_err("has no place");
        assert!(error.to_string().contains("has no place"), "{error}");
        let error = disk
            .write_at(Bytes::mib(8), &[0])
            .expect_err("beyond the end");
        assert!(error.to_string().contains("beyond its end"), "{error}");
        assert_eq!(disk.data_from(Bytes::mib(4)), Bytes::mib(8));
    }
}

#[test]
fn a_longer_disk_reads_as_before_and_zeroes_behind() {
    for kind in KINDS {
        // Ends inside a block, whose rest must not become the guest's.
        let mut wanted = guest(6 * MIB, 0b10_0001, 3);
        wanted.truncate(6 * MIB - 3 * 65_536 - 512);
        wanted[6 * MIB - 4 * 65_536..].fill(7);
        let world = World::new(made(*kind, &wanted));
        for by in [MIB, usize::try_from(kind.much()).expect("small"), 4096] {
            let mut disk = open(&world);
            disk.grow(Bytes::new(by as u64))
                .unwrap_or_else(|error| panic!("{kind:?} by {by}: {error}"));
            wanted.resize(wanted.len() + by, 0);
            assert!(all(&*disk) == wanted, "{kind:?}");
            must_read(*kind, &world.contents(), &wanted, true);
        }
        let mut disk = open(&world);
        let last = wanted.len() - 5000;
        disk.prepare(&[extent(last, 5000)]).expect("has room");
        disk.write_at(Bytes::new(last as u64), &[9; 5000])
            .expect("has its place");
        wanted[last..].fill(9);
        must_read(*kind, &world.contents(), &wanted, true);
        assert!(all(&*open(&world)) == wanted, "{kind:?}");
    }
}

#[test]
fn a_length_that_is_no_whole_sector_is_refused() {
    for kind in KINDS {
        let world = World::new(made(*kind, &guest(2 * MIB, 1, 3)));
        let error = open(&world)
            .grow(Bytes::new(100))
            .expect_err("not a sector");
        assert!(
            error.to_string().contains("multiple of its sectors"),
            "{error}"
        );
        assert!(world.log().is_empty());
    }
}

/// Files as a command leaves them.
fn by(make: impl FnOnce(&Path)) -> Contents {
    let dir = tempfile::tempdir().expect("temporary directory");
    make(dir.path());
    read_all(dir.path())
}

fn refused(files: &Contents) -> String {
    let world = World::new(files.clone());
    let why = match access(&world) {
        Access::Refused { why, .. } => why,
        Access::InPlace(guest) => panic!("{guest:?} is not refused"),
    };
    assert!(world.log().is_empty(), "nothing is written");
    why
}

#[test]
fn what_cannot_be_changed_in_place_is_refused_with_the_reason() {
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let mut raw = guest(4 * MIB, 0b101, 4);
    // Random bytes are not compressed.
    raw[MIB..2 * MIB].fill(0x55);
    let from_raw = |args: &[&str]| {
        by(|dir| {
            let (from, to) = (text(&dir.join("raw")), text(&dir.join("disk")));
            std::fs::write(&from, &raw).expect("writes");
            let mut all = vec!["convert", "-q", "-f", "raw"];
            all.extend(args);
            all.extend([from.as_str(), to.as_str()]);
            qemu_img(&all);
        })
    };
    let packed = refused(&from_raw(&["-c", "-O", "qcow2"]));
    assert!(packed.contains("compressed"), "{packed}");
    let stream = refused(&from_raw(&[
        "-O",
        "vmdk",
        "-o",
        "subformat=streamOptimized",
    ]));
    assert!(stream.contains("compressed"), "{stream}");
    let extended = refused(&from_raw(&["-O", "qcow2", "-o", "extended_l2=on"]));
    assert!(extended.contains("subclusters"), "{extended}");
    let child = by(|dir| {
        let (base, disk) = (text(&dir.join("base")), text(&dir.join("disk")));
        qemu_img(&["create", "-q", "-f", "qcow2", &base, "4M"]);
        qemu_img(&[
            "create", "-q", "-f", "qcow2", "-b", &base, "-F", "qcow2", &disk,
        ]);
    });
    let child = refused(&child);
    assert!(child.contains("differs from its parent"), "{child}");
    let snapshots = by(|dir| {
        let disk = text(&dir.join("disk"));
        qemu_img(&["create", "-q", "-f", "qcow2", &disk, "4M"]);
        qemu_img(&["snapshot", "-c", "one", &disk]);
    });
    let snapshots = refused(&snapshots);
    assert!(snapshots.contains("snapshots (1)"), "{snapshots}");
    let bitmaps = by(|dir| {
        let disk = text(&dir.join("disk"));
        qemu_img(&["create", "-q", "-f", "qcow2", &disk, "4M"]);
        qemu_img(&["bitmap", "--add", &disk, "one"]);
    });
    let bitmaps = refused(&bitmaps);
    assert!(bitmaps.contains("bitmaps"), "{bitmaps}");
    let apart = by(|dir| {
        let (disk, data) = (text(&dir.join("disk")), text(&dir.join("data")));
        let options = format!("data_file={data},data_file_raw=on");
        qemu_img(&["create", "-q", "-f", "qcow2", "-o", &options, &disk, "4M"]);
    });
    let apart = refused(&apart);
    assert!(apart.contains("another file"), "{apart}");
    let locked = by(|dir| {
        let disk = text(&dir.join("disk"));
        let secret = ["--object", "secret,id=s,data=x"];
        let options = [
            "-o",
            "encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=10",
        ];
        qemu_img(
            &[
                &["create", "-q", "-f", "qcow2"][..],
                &secret,
                &options,
                &[&disk, "4M"],
            ]
            .concat(),
        );
    });
    let locked = refused(&locked);
    assert!(locked.contains("encrypted (LUKS)"), "{locked}");
    let parallels = by(|dir| {
        qemu_img(&[
            "create",
            "-q",
            "-f",
            "parallels",
            &text(&dir.join("disk")),
            "4M",
        ])
    });
    let parallels = refused(&parallels);
    assert!(parallels.contains("not changed in place"), "{parallels}");
}

/// The image of `format` with bytes of its first file changed.
fn damaged(kind: Kind, change: impl FnOnce(&mut Vec<u8>)) -> Contents {
    let mut files = made(kind, &guest(8 * MIB, 0b1101, 5));
    change(files.get_mut(&first()).expect("there"));
    files
}

fn of(format: &str, options: &str) -> Kind {
    let found = KINDS
        .iter()
        .find(|kind| kind.format == format && kind.options.contains(options));
    *found.expect("a known one")
}

/// Bit by bit, as RFC 3720 defines it.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = sum >> 1 ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    !sum
}

#[test]
fn a_number_of_a_vdi_that_was_given_up_is_used_again_as_zeroes() {
    let mut wanted = guest(8 * MIB, 0b1101, 5);
    let mut files = made(of("vdi", ""), &wanted);
    let file = files.get_mut(&first()).expect("there");
    // The first block is free now, and its bytes are still in the file.
    file[512..516].copy_from_slice(&[0xff; 4]);
    wanted[..MIB].fill(0);
    let len = file.len();
    let world = World::new(files);
    let mut disk = open(&world);
    assert!(all(&*disk) == wanted);
    disk.prepare(&[extent(MIB, 512)]).expect("has room");
    assert!(all(&*disk) == wanted);
    assert_eq!(world.contents()[&first()].len(), len);
    must_read(of("vdi", ""), &world.contents(), &wanted, true);
}

#[test]
fn a_table_that_has_no_room_is_refused_and_nothing_is_written() {
    // qemu-img puts the data of a VDI right behind the last sector of its table: 128 blocks.
    let files = made(of("vdi", ""), &guest(6 * MIB, 1, 16));
    let world = World::new(files.clone());
    let error = open(&world).grow(Bytes::mib(123)).expect_err("no room");
    let said = error.to_string();
    assert!(
        said.contains("room for 128 blocks") && said.contains("needs 129"),
        "{said}"
    );
    assert_eq!(all(&*open(&world)).len(), 6 * MIB);
    open(&world).grow(Bytes::mib(122)).expect("room");
    // A VHD has at most 2,040 GiB.
    let world = World::new(made(of("vpc", "dynamic"), &guest(6 * MIB, 1, 16)));
    let error = open(&world)
        .grow(Bytes::mib(2040 << 10))
        .expect_err("no room");
    assert!(error.to_string().contains("at most 2,040 GiB"), "{error}");
    // A VHDX 64 TiB, for which its table of 1 MiB with blocks of 1 MiB has no room either.
    let world = World::new(made(of("vhdx", "dynamic"), &guest(6 * MIB, 1, 16)));
    let error = open(&world).grow(Bytes::mib(1 << 20)).expect_err("no room");
    assert!(error.to_string().contains("room for 131,072"), "{error}");
}

#[test]
fn tables_that_are_damaged_or_dirty_are_refused() {
    // Marked dirty.
    let dirty = refused(&damaged(of("qcow2", "compat=1.1"), |file| file[0x4f] |= 1));
    assert!(dirty.contains("marked dirty"), "{dirty}");
    // Marked corrupt.
    let corrupt = refused(&damaged(of("qcow2", "compat=1.1"), |file| file[0x4f] |= 2));
    assert!(corrupt.contains("marked corrupt"), "{corrupt}");
    // Two entries of the L2 table, at 4 clusters in qemu's layout, name one cluster.
    let be64 = |file: &[u8], at: usize| u64::from_be_bytes(file[at..at + 8].try_into().expect("8"));
    let shared = refused(&damaged(of("qcow2", "compat=1.1"), |file| {
        let l1 = be64(file, 0x28) as usize;
        let l2 = (be64(file, l1) & 0x00ff_ffff_ffff_fe00) as usize;
        let entry = (0..8192)
            .map(|n| l2 + n * 8)
            .find(|at| be64(file, *at) != 0)
            .expect("allocated");
        let bytes: [u8; 8] = file[entry..entry + 8].try_into().expect("8");
        file[l2 + 8000 * 8..l2 + 8001 * 8].copy_from_slice(&bytes);
        file[l2 + 100 * 8..l2 + 101 * 8].copy_from_slice(&bytes);
    }));
    assert!(shared.contains("two owners"), "{shared}");
    // A cluster that is used and not counted.
    let uncounted = refused(&damaged(of("qcow2", "compat=1.1"), |file| {
        let table = be64(file, 0x30) as usize;
        let block = be64(file, table) as usize;
        file[block + 1] = 0;
    }));
    assert!(uncounted.contains("counted 0 times"), "{uncounted}");
    // Blocks 0 and 1 of a VHD are one.
    let be32 = |file: &[u8], at: usize| u32::from_be_bytes(file[at..at + 4].try_into().expect("4"));
    let shared = refused(&damaged(of("vpc", "dynamic"), |file| {
        let table = be64(file, 512 + 16) as usize;
        assert_ne!(be32(file, table), u32::MAX);
        file.copy_within(table..table + 4, table + 4);
    }));
    assert!(shared.contains("lies over"), "{shared}");
    // A VHDX with a log, whose entries are not valid.
    let log = refused(&damaged(of("vhdx", "dynamic"), |file| {
        for at in [0x1_0000, 0x2_0000] {
            file[at + 0x30..at + 0x40].fill(5);
            file[at + 4..at + 8].fill(0);
            let sum = crc32c(&file[at..at + 4096]);
            file[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
        }
    }));
    assert!(log.contains("the log holds changes"), "{log}");
    // A VMDK that was not closed.
    let open = refused(&damaged(of("vmdk", "monolithicSparse"), |file| {
        file[0x48] = 1
    }));
    assert!(open.contains("not closed cleanly"), "{open}");
}

#[test]
fn a_disk_whose_changes_are_recorded_or_whose_machine_is_suspended_is_refused() {
    for options in ["monolithicFlat", "monolithicSparse"] {
        let mut files = made(of("vmdk", options), &guest(2 * MIB, 1, 6));
        let file = files.get_mut(&first()).expect("there");
        let at = file
            .windows(6)
            .position(|word| word == b"#DDB\n\n")
            .expect("there");
        file.splice(at..at + 6, *b"changeTrackPath=\"disk-ctk.vmdk\"\n");
        if options == "monolithicSparse" {
            // As long as before.
            let end = at + 34;
            file.drain(end + 300..end + 328);
        }
        let why = refused(&files);
        assert!(why.contains("changed block tracking"), "{why}");
    }
    let suspended = refused(&damaged(of("vpc", "dynamic"), |file| {
        for at in [0, file.len() - 512] {
            file[at + 0x54] = 1;
            let sum = u32::from_be_bytes(file[at + 0x40..at + 0x44].try_into().expect("4"));
            file[at + 0x40..at + 0x44].copy_from_slice(&(sum - 1).to_be_bytes());
        }
    }));
    assert!(suspended.contains("suspended"), "{suspended}");
}

#[test]
fn a_part_that_lies_elsewhere_is_not_written() {
    let mut files = made(of("vmdk", "monolithicFlat"), &guest(2 * MIB, 1, 6));
    let text = files.get_mut(&first()).expect("there");
    let with = String::from_utf8(text.clone())
        .expect("text")
        .replace("\"disk-flat", "\"../disk-flat");
    *text = with.into_bytes();
    let why = refused(&files);
    assert!(why.contains("does not lie beside it"), "{why}");
}

#[test]
fn a_write_that_fails_leaves_a_disk_that_is_read() {
    for kind in KINDS {
        let wanted = guest(8 * MIB, 0b1_0101, 8);
        let files = made(*kind, &wanted);
        for at in 0.. {
            let world = World::failing(files.clone(), at);
            let mut disk = open(&world);
            let ended = disk
                .prepare(&[extent(MIB, 4 * MIB)])
                .and_then(|()| disk.grow(Bytes::mib(3)));
            let after = World::new(world.contents());
            let mut disk = open(&after);
            let read = all(&*disk);
            assert!(
                read.len() >= wanted.len() && read[..wanted.len()] == wanted,
                "{kind:?} {at}"
            );
            if ended.is_ok() {
                break;
            }
            disk.prepare(&[extent(MIB, 4 * MIB)]).expect("is made good");
            disk.write_at(Bytes::mib(3), &[5; 512])
                .expect("has its place");
        }
    }
}

#[test]
fn files_of_the_real_system_are_made_longer_by_what_is_written() {
    use std::os::unix::fs::FileExt;
    struct OnDisk(std::fs::File);
    impl ReadAt for OnDisk {
        fn size(&self) -> Bytes {
            Bytes::new(self.0.metadata().map_or(0, |found| found.len()))
        }
        fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
            self.0.read_at(buf, offset.get())
        }
    }
    impl Store for OnDisk {
        fn write_at(&self, offset: Bytes, bytes: &[u8]) -> io::Result<()> {
            self.0.write_all_at(bytes, offset.get())
        }
        fn flush(&self) -> io::Result<()> {
            self.0.sync_data()
        }
    }
    for kind in KINDS {
        let wanted = guest(5 * MIB, 0b1_0001, 9);
        let dir = tempfile::tempdir().expect("temporary directory");
        write_all(dir.path(), &made(*kind, &wanted));
        let files = |path: &Path| -> io::Result<Arc<dyn Store>> {
            let file = std::fs::File::options().read(true).write(true).open(path)?;
            Ok(Arc::new(OnDisk(file)))
        };
        let Access::InPlace(mut disk) =
            container::open(&dir.path().join(first()), &files).expect("opens")
        else {
            panic!("{kind:?} is refused");
        };
        disk.prepare(&[extent(MIB, MIB)]).expect("has room");
        disk.write_at(Bytes::mib(1), &[3; 512])
            .expect("has its place");
        let mut wanted = wanted;
        wanted[MIB..MIB + 512].fill(3);
        must_read(*kind, &read_all(dir.path()), &wanted, true);
    }
}
