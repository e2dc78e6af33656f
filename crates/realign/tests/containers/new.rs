//! New files: each is read by the tools that own the format, by ours, and adds no misalignment.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use straddle_geometry::{Bytes, SectorSize};
use straddle_io::{ReadAt, Target};
use straddle_realign::image::{self, FORMATS, Format, ImageError, Options, Progress};
use straddle_realign::{Access, Ids};
use straddle_sources::{Settings, guest_disk};
use straddle_testkit::first_difference;

use super::in_place::{MIB, all, extent, guest};
use super::tools::{checked, guest_bytes, qemu_img, run};
use super::world::World;

/// Bytes with holes, as a file has them: every 4 KiB that is zero.
struct Holes(Vec<u8>);

impl ReadAt for Holes {
    fn size(&self) -> Bytes {
        self.0.as_slice().size()
    }
    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> std::io::Result<usize> {
        self.0.as_slice().read_at(offset, buf)
    }
    fn data_from(&self, offset: Bytes) -> Bytes {
        let mut at = usize::try_from(offset.get()).expect("small");
        while at < self.0.len() {
            let end = (at - at % 4096 + 4096).min(self.0.len());
            if self.0[at..end].iter().any(|byte| *byte != 0) {
                break;
            }
            at = end;
        }
        Bytes::new(at as u64)
    }
}

fn write(format: &Format, view: &dyn ReadAt, path: &Path) -> Result<Vec<u64>, ImageError> {
    let mut steps = Vec::new();
    let mut note = |done: Bytes| steps.push(done.get());
    let options = Options {
        sector: SectorSize::B512,
        ids: Ids::seeded(3),
        progress: Progress(&mut note),
    };
    image::write(format, view, path, options)?;
    Ok(steps)
}

/// As qemu-img calls it.
fn qemu_name(format: &Format) -> &'static str {
    match format.name {
        "vhd" | "vhd-fixed" => "vpc",
        "vhdx" | "vhdx-fixed" => "vhdx",
        "vmdk" | "vmdk-flat" => "vmdk",
        "vdi" | "vdi-fixed" => "vdi",
        "qcow2" => "qcow2",
        _ => "raw",
    }
}

fn ours(path: &Path) -> Vec<u8> {
    let target = Arc::new(Target::open(path).expect("opens"));
    let disk = guest_disk(&target, &Settings::default()).expect("is read");
    assert_eq!(disk.doubts, Vec::<String>::new(), "{}", path.display());
    let mut bytes = vec![0; usize::try_from(disk.bytes.size().get()).expect("small")];
    let mut done = 0;
    while done < bytes.len() {
        let read = disk
            .bytes
            .read_at(Bytes::new(done as u64), &mut bytes[done..])
            .expect("reads");
        assert!(read > 0);
        done += read;
    }
    bytes
}

/// Where blocks lie in the file: each piece at the same place modulo `grid` as in the disk.
fn must_keep_the_grid(path: &Path, grid: u64) {
    let target = Arc::new(Target::open(path).expect("opens"));
    let file: Arc<dyn ReadAt> = target;
    let reader = straddle_io::Reader::new(&*file);
    let Some((_, container)) = straddle_probe::container::recognise(&reader, &file).expect("reads")
    else {
        return;
    };
    let disk = container.disk.expect("is followed");
    let straddle_probe::container::Content::Blocks(table) = disk.content else {
        return;
    };
    let whole = straddle_geometry::Extent::whole(table.size());
    let listing = straddle_geometry::Listing::of(&*table, whole, 10_000).expect("reads");
    for part in listing.parts() {
        if let straddle_geometry::Listed::Piece(piece) = part {
            let (upper, lower) = (piece.upper.start().get(), piece.lower.get());
            assert_eq!(upper % grid, lower % grid, "{}: {piece:?}", path.display());
        }
    }
}

#[test]
fn every_reader_reads_what_was_written() {
    // Sizes that are not a whole number of blocks, of one block, of two tables of grains.
    let odd = 21 * MIB + 65_536 + 512;
    for (len, which) in [
        (odd, 0b1_0110_0000_0000_0001_1001),
        (512, 0),
        (34 * MIB, u64::MAX),
        (3 * MIB, 0),
    ] {
        let mut wanted = guest(len, which, 12);
        if len == 512 {
            wanted.fill(0x5a);
        }
        for format in FORMATS {
            let dir = tempfile::tempdir().expect("temporary directory");
            let path = dir.path().join("new");
            let steps = write(format, &Holes(wanted.clone()), &path).expect("is written");
            assert_eq!(steps.last(), Some(&(len as u64)), "{format:?}");
            assert!(steps.is_sorted(), "{format:?}");
            let (status, said) = checked(qemu_name(format), &path);
            let has_check = !said.contains("does not support checks");
            assert!(status == Some(0) || !has_check, "{format:?} {len}: {said}");
            let found = guest_bytes(qemu_name(format), &path);
            assert_eq!(
                first_difference(&found, &wanted),
                None,
                "{format:?} {len} by qemu-img"
            );
            assert_eq!(
                first_difference(&ours(&path), &wanted),
                None,
                "{format:?} {len}"
            );
            let grid = if format.name == "vhd" { 4096 } else { 65_536 };
            must_keep_the_grid(&path, grid);
            // And it can be changed in place.
            let files = super::tools::read_all(dir.path());
            let world = World::new(files);
            let open = |path: &Path| world.open(path);
            let opened =
                straddle_realign::container::open_with(Path::new("new"), &open, Ids::seeded(1));
            let Access::InPlace(mut disk) = opened.expect("opens") else {
                panic!("{format:?} is refused");
            };
            disk.prepare(&[extent(0, len)]).expect("has room");
            assert_eq!(first_difference(&all(&*disk), &wanted), None, "{format:?}");
        }
    }
}

fn by_libvhdi(path: &Path) -> Vec<u8> {
    let script = "import pyvhdi, sys\nf = pyvhdi.file()\nf.open(sys.argv[1])\nsys.stdout.buffer.write(f.read_buffer(f.get_media_size()))\n";
    let out = run(
        "/usr/bin/python3",
        &["-c", script, path.to_str().expect("UTF-8")],
    );
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "python3-libvhdi is needed: {said}");
    out.stdout
}

#[test]
fn libvhdi_reads_what_was_written() {
    let wanted = guest(9 * MIB, 0b1_0010_0101, 13);
    for name in ["vhd", "vhd-fixed", "vhdx", "vhdx-fixed"] {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("new");
        write(
            Format::named(name).expect("known"),
            &Holes(wanted.clone()),
            &path,
        )
        .expect("is written");
        assert_eq!(
            first_difference(&by_libvhdi(&path), &wanted),
            None,
            "{name}"
        );
    }
}

#[test]
fn blocks_that_are_full_lie_at_multiples_of_a_mebibyte() {
    let wanted = guest(8 * MIB, 0, 0)
        .iter()
        .map(|_| 0x11)
        .collect::<Vec<u8>>();
    for name in [
        "raw",
        "vhd-fixed",
        "vhdx",
        "vmdk",
        "vmdk-flat",
        "vdi",
        "qcow2",
    ] {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("new");
        write(
            Format::named(name).expect("known"),
            &Holes(wanted.clone()),
            &path,
        )
        .expect("is written");
        must_keep_the_grid(&path, MIB as u64);
    }
    // A dynamic VHD has its bitmaps between: the first block lies at 1 MiB, all at 4 KiB.
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("new");
    write(Format::named("vhd").expect("known"), &Holes(wanted), &path).expect("is written");
    must_keep_the_grid(&path, 4096);
}

#[test]
fn a_vhdx_keeps_sectors_of_4096_bytes_and_others_refuse_them() {
    let wanted = guest(40 * MIB, 0b1001, 14);
    for format in FORMATS {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("new");
        let options = Options {
            sector: SectorSize::B4096,
            ids: Ids::random(),
            progress: Progress(&mut |_| ()),
        };
        let done = image::write(format, &Holes(wanted.clone()), &path, options);
        if format.name.starts_with("vhdx") || format.name == "raw" {
            done.expect("can say it");
            // qemu-img reads no such VHDX.
            if format.name != "raw" {
                let found = by_libvhdi(&path);
                assert_eq!(first_difference(&found, &wanted), None, "{format:?}");
            }
            assert_eq!(first_difference(&ours(&path), &wanted), None, "{format:?}");
            let target = Arc::new(Target::open(&path).expect("opens"));
            let disk = guest_disk(&target, &Settings::default()).expect("is read");
            let is_said = disk.sector == Some(SectorSize::B4096);
            assert_eq!(is_said, format.name != "raw", "{format:?}");
        } else {
            let error = done.expect_err("cannot say it");
            assert!(
                error.to_string().contains("sectors of 4096 bytes"),
                "{error}"
            );
            assert!(!path.exists());
        }
    }
}

#[test]
fn what_is_there_is_not_touched_and_what_fails_leaves_nothing() {
    struct Failing;
    impl ReadAt for Failing {
        fn size(&self) -> Bytes {
            Bytes::mib(8)
        }
        fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> std::io::Result<usize> {
            if offset >= Bytes::mib(5) {
                return Err(std::io::Error::other("a medium error"));
            }
            buf.fill(1);
            Ok(buf.len().min(4096))
        }
    }
    for format in FORMATS {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("new.vmdk");
        let error = write(format, &Failing, &path).expect_err("cannot be read");
        assert!(
            matches!(error, ImageError::Read { at, .. } if at >= 5 << 20),
            "{format:?}: {error}"
        );
        assert_eq!(
            std::fs::read_dir(dir.path()).expect("lists").count(),
            0,
            "{format:?}"
        );
        std::fs::write(&path, b"mine").expect("writes");
        let error = write(format, &Holes(vec![1; 8 * MIB]), &path).expect_err("is there");
        assert!(error.to_string().contains("making"), "{error}");
        assert_eq!(std::fs::read(&path).expect("reads"), b"mine");
    }
    // The second file of two is there already.
    let dir = tempfile::tempdir().expect("temporary directory");
    let (path, other) = (
        dir.path().join("new.vmdk"),
        dir.path().join("new-flat.vmdk"),
    );
    std::fs::write(&other, b"mine").expect("writes");
    let flat = Format::named("vmdk-flat").expect("known");
    write(flat, &Holes(vec![1; 8 * MIB]), &path).expect_err("is there");
    assert!(!path.exists());
    assert_eq!(std::fs::read(&other).expect("reads"), b"mine");
}

#[test]
fn files_are_the_same_for_a_seed_and_differ_without() {
    let wanted = guest(4 * MIB, 0b101, 15);
    for format in FORMATS
        .iter()
        .filter(|format| !format.name.starts_with("vhd") || format.name.starts_with("vhdx"))
    {
        let dir = tempfile::tempdir().expect("temporary directory");
        let written = |name: &str| {
            let folder: PathBuf = dir.path().join(name);
            std::fs::create_dir(&folder).expect("makes");
            write(format, &Holes(wanted.clone()), &folder.join("new")).expect("is written");
            std::fs::read(folder.join("new")).expect("reads")
        };
        assert!(written("a") == written("b"), "{format:?}");
    }
}

#[test]
fn what_is_packed_or_has_a_parent_is_written_whole() {
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let mut wanted = guest(5 * MIB, 0b1_0110, 17);
    wanted[MIB..2 * MIB].fill(0x55);
    let dir = tempfile::tempdir().expect("temporary directory");
    let raw = text(&dir.path().join("raw"));
    std::fs::write(&raw, &wanted).expect("writes");
    let path = |name: &str| dir.path().join(name);
    qemu_img(&[
        "convert",
        "-c",
        "-f",
        "raw",
        "-O",
        "qcow2",
        &raw,
        &text(&path("packed.qcow2")),
    ]);
    let stream = ["-o", "subformat=streamOptimized"];
    let args = [
        &["convert", "-f", "raw", "-O", "vmdk"],
        &stream[..],
        &[&raw, &text(&path("stream.vmdk"))],
    ];
    qemu_img(&args.concat());
    let base = text(&path("packed.qcow2"));
    qemu_img(&[
        "create",
        "-q",
        "-f",
        "qcow2",
        "-b",
        &base,
        "-F",
        "qcow2",
        &text(&path("child.qcow2")),
    ]);
    qemu_img(&["snapshot", "-c", "one", &text(&path("child.qcow2"))]);
    for name in ["packed.qcow2", "stream.vmdk", "child.qcow2", "raw"] {
        let before = std::fs::read(path(name)).expect("reads");
        let target = Arc::new(Target::open(&path(name)).expect("opens"));
        let disk = guest_disk(&target, &Settings::default()).expect("is read");
        assert_eq!(disk.doubts, Vec::<String>::new(), "{name}");
        assert_eq!(disk.format.is_none(), name == "raw");
        for format in FORMATS {
            let new = tempfile::tempdir().expect("temporary directory");
            let path = new.path().join("new");
            write(format, &*disk.bytes, &path).expect("is written");
            assert_eq!(
                first_difference(&ours(&path), &wanted),
                None,
                "{name} to {format:?}"
            );
        }
        assert!(
            std::fs::read(path(name)).expect("reads") == before,
            "the source is not written"
        );
    }
    // Without its parent.
    std::fs::rename(path("packed.qcow2"), path("elsewhere")).expect("renames");
    let target = Arc::new(Target::open(&path("child.qcow2")).expect("opens"));
    match guest_disk(&target, &Settings::default()) {
        Ok(disk) => {
            assert!(
                disk.doubts.iter().any(|doubt| doubt.contains("parent")),
                "{:?}",
                disk.doubts
            );
            let new = path("new");
            write(&FORMATS[0], &*disk.bytes, &new).expect_err("its parent is missing");
            assert!(!new.exists());
        }
        Err(error) => assert!(error.to_string().contains("parent"), "{error}"),
    }
}

#[test]
fn names_stand_for_formats() {
    assert_eq!(
        Format::of(Path::new("a/B.VHDX")).map(|format| format.name),
        Some("vhdx")
    );
    assert_eq!(
        Format::of(Path::new("disk.img")).map(|format| format.name),
        Some("raw")
    );
    assert!(Format::of(Path::new("disk")).is_none());
    let error = Format::named("qed").expect_err("unknown");
    assert!(
        error
            .to_string()
            .contains("expected one of raw, vhd, vhd-fixed"),
        "{error}"
    );
    let dir = tempfile::tempdir().expect("temporary directory");
    let odd = Holes(vec![1; 1000]);
    for format in FORMATS.iter().filter(|format| format.name != "raw") {
        let error = write(format, &odd, &dir.path().join("new")).expect_err("no whole sector");
        assert!(
            error
                .to_string()
                .contains("multiple of its sectors of 512 bytes"),
            "{error}"
        );
    }
    let flat = Format::named("vmdk-flat").expect("known");
    let error =
        write(flat, &Holes(vec![1; 1024]), &dir.path().join("a\"b.vmdk")).expect_err("no name");
    assert!(
        error.to_string().contains("cannot stand in a descriptor"),
        "{error}"
    );
}
