//! `qemu-img` as the maker of images and as the judge of what became of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use straddle_testkit::first_difference;

use super::world::Contents;

/// A format as qemu-img makes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) format: &'static str,
    pub(crate) options: &'static str,
    /// What Straddle calls it.
    pub(crate) name: &'static str,
}

const fn kind(format: &'static str, options: &'static str, name: &'static str) -> Kind {
    Kind {
        format,
        options,
        name,
    }
}

/// All that are changed in place.
pub(crate) const KINDS: &[Kind] = &[
    kind("raw", "", "raw"),
    kind("vpc", "subformat=fixed,force_size=on", "vhd"),
    kind("vpc", "subformat=dynamic,force_size=on", "vhd"),
    kind("vhdx", "subformat=dynamic,block_size=1M", "vhdx"),
    kind("vhdx", "subformat=fixed,block_size=1M", "vhdx"),
    kind("vmdk", "subformat=monolithicSparse", "vmdk"),
    kind("vmdk", "subformat=monolithicFlat", "vmdk"),
    kind("vmdk", "subformat=twoGbMaxExtentSparse", "vmdk"),
    kind("vmdk", "subformat=twoGbMaxExtentFlat", "vmdk"),
    kind("vdi", "", "vdi"),
    kind("vdi", "static=on", "vdi"),
    kind("qcow2", "compat=0.10", "qcow2"),
    kind("qcow2", "compat=1.1", "qcow2"),
    kind(
        "qcow2",
        "compat=1.1,cluster_size=4k,refcount_bits=1,lazy_refcounts=on",
        "qcow2",
    ),
    kind(
        "qcow2",
        "compat=1.1,cluster_size=2M,refcount_bits=64",
        "qcow2",
    ),
    kind("qcow2", "compat=1.1,cluster_size=512", "qcow2"),
];

impl Kind {
    /// All of the disk has a place.
    pub(crate) fn is_full(&self) -> bool {
        ["fixed", "Flat", "static"]
            .iter()
            .any(|word| self.options.contains(word))
            || self.name == "raw"
    }

    /// How much longer a disk becomes by something that does more than to change a size: another table, other directories.
    pub(crate) fn much(&self) -> u64 {
        match (self.is_full(), self.name) {
            (true, _) => 3 << 20,
            (_, "vdi") => 100 << 20,
            (_, "vhd") => 260 << 20,
            _ => 130 << 20,
        }
    }
}

/// The name of the first file.
pub(crate) fn first() -> PathBuf {
    PathBuf::from("disk")
}

pub(crate) fn run(tool: &str, args: &[&str]) -> Output {
    let path = format!(
        "{}:/usr/sbin:/sbin",
        std::env::var("PATH").unwrap_or_default()
    );
    let out = Command::new(tool).args(args).env("PATH", path).output();
    out.unwrap_or_else(|error| panic!("{tool} is needed for this test: {error}"))
}

pub(crate) fn qemu_img(args: &[&str]) {
    let mut out = run("qemu-img", args);
    // It measures how fast the processor makes keys, and gives up on a busy machine.
    let is_busy = |out: &Output| {
        let said = String::from_utf8_lossy(&out.stderr);
        said.contains("Unable to get accurate CPU usage")
    };
    for _ in 0..30 {
        if !is_busy(&out) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_secs(2));
        out = run("qemu-img", args);
    }
    assert!(
        out.status.success(),
        "qemu-img {args:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// An image of `kind` with these bytes, all files of it.
pub(crate) fn made(kind: Kind, guest: &[u8]) -> Contents {
    let dir = tempfile::tempdir().expect("temporary directory");
    let (raw, disk) = (dir.path().join("raw"), dir.path().join(first()));
    std::fs::write(&raw, guest).expect("writes");
    let mut args = vec!["convert", "-q", "-f", "raw", "-O", kind.format];
    if !kind.options.is_empty() {
        args.extend(["-o", kind.options]);
    }
    args.extend([text(&raw), text(&disk)]);
    qemu_img(&args);
    std::fs::remove_file(&raw).expect("removes");
    read_all(dir.path())
}

pub(crate) fn read_all(dir: &Path) -> Contents {
    let entries = std::fs::read_dir(dir)
        .expect("lists")
        .map(|entry| entry.expect("lists"));
    let read = |entry: std::fs::DirEntry| {
        (
            PathBuf::from(entry.file_name()),
            std::fs::read(entry.path()).expect("reads"),
        )
    };
    entries.map(read).collect()
}

pub(crate) fn write_all(dir: &Path, files: &Contents) {
    for (name, bytes) in files {
        std::fs::write(dir.join(name), bytes).expect("writes");
    }
}

/// What `qemu-img check` says: its exit status, 0 for clean, 3 for leaks, 63 where a format has no check.
pub(crate) fn checked(format: &str, path: &Path) -> (Option<i32>, String) {
    let out = run("qemu-img", &["check", "-f", format, text(path)]);
    let said = [out.stdout, out.stderr].concat();
    (
        out.status.code(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

/// The guest's bytes, by qemu-img.
pub(crate) fn guest_bytes(format: &str, path: &Path) -> Vec<u8> {
    let raw = path.with_extension("converted");
    qemu_img(&["convert", "-f", format, "-O", "raw", text(path), text(&raw)]);
    let bytes = std::fs::read(&raw).expect("reads");
    std::fs::remove_file(&raw).expect("removes");
    bytes
}

/// That qemu-img reads `wanted` from these files, and finds nothing corrupted. With `is_whole`, nothing leaked either.
pub(crate) fn must_read(kind: Kind, files: &Contents, wanted: &[u8], is_whole: bool) {
    let dir = tempfile::tempdir().expect("temporary directory");
    write_all(dir.path(), files);
    let disk = dir.path().join(first());
    let (status, said) = checked(kind.format, &disk);
    // A VDI counts its blocks apart from its table, which qemu-img takes for an error in between.
    let may_differ =
        kind.format == "vdi" && !is_whole && said.contains("allocated blocks mismatch");
    let is_sound = match status {
        Some(0 | 63) => true,
        Some(3) => !is_whole,
        _ => may_differ || said.contains("does not support checks"),
    };
    assert!(is_sound, "{kind:?}: {status:?}: {said}");
    let found = guest_bytes(kind.format, &disk);
    // It takes the size of a part from the part, where Straddle takes it from the descriptor; and that of a dynamic VHD from the copy at its
    // beginning, where Straddle takes it from the footer.
    let may_be = |longer: bool| match kind.format {
        "vmdk" => longer,
        "vpc" => true,
        _ => false,
    };
    let (less, more) = match found.len() < wanted.len() {
        true => (found.len(), wanted),
        false => (wanted.len(), &*found),
    };
    let is_other = found.len() != wanted.len();
    assert!(
        !is_other || (!is_whole && may_be(found.len() > wanted.len())),
        "{kind:?}: {} for {}",
        found.len(),
        wanted.len()
    );
    // Where only one of the two sizes is the new one, nothing is behind the old one.
    assert!(
        kind.format == "vmdk" || more[less..].iter().all(|byte| *byte == 0),
        "{kind:?}: bytes behind the end"
    );
    let differs = first_difference(&found[..less], &wanted[..less]);
    assert_eq!(differs, None, "{kind:?}: the first byte that differs");
}
