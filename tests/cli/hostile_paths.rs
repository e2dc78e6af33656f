//! Where an image leads: to the files of its folder, and outside of it only to what its owner could read himself, whatever
//! the user who checks may read.
//!
//! With root's rights the images here belong to another user (`nobody`, 65534); without them they belong to whoever runs the
//! tests, and what may not be read has no mode at all.

use crate::support::qemu::qemu_img;
use crate::support::straddle;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

const NOBODY: u32 = 65_534;
const MIB: u64 = 1 << 20;
/// What is said of the partition in the secret.
const LEAKED: &str = "32 KiB";
const FLAG: &str = "--follow-outside follows it";

/// A folder with images, and one beside it with what they want.
struct Place {
    _keep: tempfile::TempDir,
    images: PathBuf,
    other: PathBuf,
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("own files");
}

/// Gives a file to another user, where that is allowed.
fn give(path: &Path, uid: u32) {
    if is_root() {
        chown(path, Some(uid), Some(uid)).expect("root may");
    }
}

/// A raw disk with a partition at sector 64.
fn disk(path: &Path) {
    let mut bytes = vec![0; MIB as usize];
    bytes[450] = 7;
    bytes[454] = 64;
    bytes[458..462].copy_from_slice(&1000_u32.to_le_bytes());
    bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
    fs::write(path, bytes).expect("a scratch file");
}

impl Place {
    fn new() -> Place {
        let keep = tempfile::tempdir().expect("temporary folder");
        let top = fs::canonicalize(keep.path()).expect("is there");
        mode(&top, 0o755);
        let (images, other) = (top.join("images"), top.join("other"));
        for folder in [&images, &other] {
            fs::create_dir(folder).expect("a folder");
            mode(folder, 0o755);
        }
        disk(&other.join("secret.raw"));
        mode(&other.join("secret.raw"), if is_root() { 0o600 } else { 0 });
        Place {
            _keep: keep,
            images,
            other,
        }
    }

    fn secret(&self) -> PathBuf {
        self.other.join("secret.raw")
    }

    /// A VMDK whose only extent is the file `name`.
    fn vmdk(&self, file: &str, name: &str) {
        let text = format!(
            "# Disk DescriptorFile\nversion=1\nCID=fffffffe\nparentCID=ffffffff\ncreateType=\"monolithicFlat\"\n\
             RW 2048 FLAT \"{name}\" 0\n"
        );
        let path = self.images.join(file);
        fs::write(&path, text).expect("a scratch file");
        mode(&path, 0o644);
        give(&path, NOBODY);
    }

    /// Runs qemu-img in `folder`, with the secret open to it for that long.
    fn qemu_img(&self, folder: &Path, args: &[&str]) {
        let before = fs::metadata(self.secret()).expect("is there").permissions();
        mode(&self.secret(), 0o666);
        qemu_img(folder, args);
        fs::set_permissions(self.secret(), before).expect("own file");
    }

    /// An image that qemu-img makes.
    fn create(&self, file: &str, args: &[&str]) {
        self.qemu_img(&self.images, &[&["create", "-q"], args].concat());
        mode(&self.images.join(file), 0o644);
        give(&self.images.join(file), NOBODY);
    }

    fn check(&self, args: &[&str]) -> String {
        let run = straddle(&self.images, &[&["check", "--as", "image"], args].concat());
        run.stdout + &run.stderr
    }

    #[track_caller]
    fn refused(&self, args: &[&str]) {
        let text = self.check(args);
        // Findings are folded to the terminal's width.
        let words = text
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .replace(" = ", " ");
        assert!(words.contains(FLAG), "{args:?}: {text}");
        assert!(!text.contains(LEAKED), "{args:?}: {text}");
        let json = self.check(&[args, &["--json"]].concat());
        assert!(json.contains(FLAG), "{args:?}: {json}");
        assert!(!json.contains("partition 1"), "{args:?}: {json}");
    }

    #[track_caller]
    fn followed(&self, args: &[&str]) {
        let text = self.check(args);
        assert!(text.contains(LEAKED), "{args:?}: {text}");
        assert!(!text.contains("--follow-outside"), "{args:?}: {text}");
    }
}

#[test]
fn no_way_out_of_the_folder_leads_to_what_the_owner_may_not_read() {
    let place = Place::new();
    let secret = place.secret();
    let absolute = secret.to_str().expect("UTF-8");
    let link = place.images.join("link.raw");
    symlink(&secret, &link).expect("a link");
    symlink(&place.other, place.images.join("folder")).expect("a link");
    let ways = [
        ("absolute", absolute),
        ("dots", "../other/secret.raw"),
        ("link", "link.raw"),
        ("through", "folder/secret.raw"),
    ];
    for (name, way) in ways {
        let vmdk = format!("{name}.vmdk");
        place.vmdk(&vmdk, way);
        place.refused(&[&vmdk]);
        let file = format!("{name}.qcow2");
        place.create(&file, &["-f", "qcow2", "-b", way, "-F", "raw", &file]);
        place.refused(&[&file]);
        if is_root() {
            place.followed(&[&vmdk, "--follow-outside"]);
        }
    }
    // A data file outside, which qemu-img makes itself.
    let data = place.other.join("data.raw");
    let option = format!("data_file={},data_file_raw=on", data.display());
    place.create(
        "data.qcow2",
        &["-f", "qcow2", "-o", &option, "data.qcow2", "1M"],
    );
    disk(&data);
    mode(&data, if is_root() { 0o600 } else { 0 });
    place.refused(&["data.qcow2"]);
    // A parent VMDK outside.
    qemu_img(
        &place.other,
        ["create", "-q", "-f", "vmdk", "base.vmdk", "1M"],
    );
    mode(&place.other.join("base.vmdk"), 0o644);
    place.create(
        "child.vmdk",
        &[
            "-f",
            "vmdk",
            "-b",
            "../other/base.vmdk",
            "-F",
            "vmdk",
            "child.vmdk",
        ],
    );
    let text = place.check(&["child.vmdk"]);
    assert!(!text.contains("--follow-outside"), "{text}");
    mode(
        &place.other.join("base.vmdk"),
        if is_root() { 0o600 } else { 0 },
    );
    place.refused(&["child.vmdk"]);
}

#[test]
fn a_base_elsewhere_that_the_owner_may_read_is_followed_without_a_flag() {
    let place = Place::new();
    let secret = place.secret();
    place.create(
        "over.qcow2",
        &[
            "-f",
            "qcow2",
            "-b",
            "../other/secret.raw",
            "-F",
            "raw",
            "over.qcow2",
        ],
    );
    place.refused(&["over.qcow2"]);
    mode(&secret, 0o644);
    place.followed(&["over.qcow2"]);
    // Readable, behind a folder that he may not enter.
    mode(&place.other, if is_root() { 0o700 } else { 0o600 });
    if is_root() {
        place.refused(&["over.qcow2"]);
    }
    mode(&place.other, 0o711);
    place.followed(&["over.qcow2"]);
    if !is_root() {
        return;
    }
    // By his group, and by an ACL; not by another group, nor past the mask of the ACL.
    for (group, bits, expected) in [
        (NOBODY, 0o640, true),
        (0, 0o640, false),
        (NOBODY, 0o604, false),
        (0, 0o604, true),
    ] {
        chown(&secret, Some(0), Some(group)).expect("root may");
        mode(&secret, bits);
        match expected {
            true => place.followed(&["over.qcow2"]),
            false => place.refused(&["over.qcow2"]),
        }
    }
    for (entry, mask, expected) in [(4, 4, true), (4, 0, false), (0, 4, false)] {
        acl(&secret, entry, mask);
        match expected {
            true => place.followed(&["over.qcow2"]),
            false => place.refused(&["over.qcow2"]),
        }
    }
}

/// Gives the file an access ACL: owner 6, `nobody` what `entry` says, groups none, others none.
fn acl(path: &Path, entry: u16, mask: u16) {
    let none = u32::MAX;
    let entries = [
        (1, 6, none),
        (2, entry, NOBODY),
        (4, 0, none),
        (0x10, mask, none),
        (0x20, 0, none),
    ];
    let mut value = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        value.extend(u16::to_le_bytes(tag));
        value.extend(permissions.to_le_bytes());
        value.extend(id.to_le_bytes());
    }
    rustix::fs::setxattr(
        path,
        c"system.posix_acl_access",
        &value,
        rustix::fs::XattrFlags::empty(),
    )
    .expect("a filesystem with ACLs");
}

#[test]
fn roots_images_lead_to_what_everybody_may_read_and_to_containers() {
    let place = Place::new();
    place.vmdk("flat.vmdk", "../other/secret.raw");
    place.create(
        "over.qcow2",
        &[
            "-f",
            "qcow2",
            "-b",
            "../other/base.qcow2",
            "-F",
            "qcow2",
            "-u",
            "over.qcow2",
            "1M",
        ],
    );
    let convert = ["convert", "-f", "raw", "-O", "qcow2"];
    let convert = [&convert[..], &["secret.raw", "base.qcow2"]].concat();
    place.qemu_img(&place.other, &convert);
    let base = place.other.join("base.qcow2");
    mode(&base, 0o600);
    if !is_root() {
        return place.followed(&["over.qcow2"]);
    }
    place.refused(&["over.qcow2"]);
    for image in ["flat.vmdk", "over.qcow2"] {
        give(&place.images.join(image), 0);
    }
    place.followed(&["over.qcow2"]);
    place.refused(&["flat.vmdk"]);
    mode(&place.secret(), 0o644);
    place.followed(&["flat.vmdk"]);
    // A chain leads no further than each of its images may: the first is nobody's, the second root's.
    mode(&place.secret(), 0o600);
    mode(&base, 0o644);
    qemu_img(
        &place.other,
        [
            "create",
            "-q",
            "-f",
            "qcow2",
            "-b",
            "secret.raw",
            "-F",
            "raw",
            "base.qcow2",
        ],
    );
    place.followed(&["over.qcow2", "--follow-outside"]);
    give(&place.images.join("over.qcow2"), NOBODY);
    place.refused(&["over.qcow2"]);
}

#[test]
fn what_is_named_too_may_be_followed() {
    let place = Place::new();
    place.vmdk("flat.vmdk", "../other/secret.raw");
    place.refused(&["flat.vmdk"]);
    if is_root() {
        let text = place.check(&["flat.vmdk", "../other/secret.raw", "--details"]);
        assert_eq!(text.matches("--follow-outside").count(), 0, "{text}");
    }
    // In a folder to which everybody may add, a neighbour is a stranger.
    mode(&place.images, 0o777);
    fs::rename(place.secret(), place.images.join("neighbour.raw")).expect("one filesystem");
    place.vmdk("flat.vmdk", "neighbour.raw");
    place.refused(&["flat.vmdk"]);
    mode(&place.images, 0o755);
    if is_root() {
        place.followed(&["flat.vmdk"]);
    }
}
