//! VMFS devices of the generator against tools that read the format: blkid, and debugvmfs of vmfs-tools, which goes on until it
//! needs what the generator does not make.

use std::fs;
use std::path::Path;
use std::process::Command;

use straddle_io::{Reader, Target};
use straddle_probe::{Window, registry};
use straddle_testkit::vmfs::Vmfs;

fn tool(words: &[&str], package: &str) -> String {
    let output = Command::new(words[0]).args(&words[1..]).output();
    let output = output.unwrap_or_else(|_| panic!("{}, of the Debian package {package}", words[0]));
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

fn set_and_member(path: &Path) -> (String, String) {
    let target = Target::open(path).expect("opens");
    let reader = Reader::new(&target);
    let mut formats = registry::VOLUMES.iter();
    let format = formats.find(|format| format.name == "vmfs").expect("vmfs");
    let found = format.run(&Window::whole(&reader, None)).expect("readable");
    let found = found.expect("vmfs");
    (found.set, found.member)
}

#[test]
fn blkid_and_debugvmfs_read_what_the_generator_makes() {
    let folder = tempfile::tempdir().expect("a folder");
    for (lvm, version) in [(3, (13, 46)), (5, (14, 61)), (6, (24, 82))] {
        let path = folder.path().join(format!("vmfs{lvm}"));
        let name = path.to_str().expect("text");
        let vmfs = Vmfs {
            lvm,
            version,
            ..Vmfs::default()
        };
        fs::write(&path, vmfs.image()).expect("room");
        let (set, member) = set_and_member(&path);
        let said = tool(&["blkid", "-p", name], "util-linux");
        assert!(said.contains("TYPE=\"VMFS_volume_member\""), "{said}");
        assert!(
            said.contains(&format!("UUID_SUB=\"{member}\"")),
            "{said} not {member}"
        );
        if lvm != 6 {
            // blkid takes the volume's UUID from where it lies before version 6.
            assert!(
                said.contains(&format!(" UUID=\"{set}\"")),
                "{said} not {set}"
            );
        }
    }
    // It says what is wrong with the volume, with the header's magic, and with the volume that the header names. Past these it
    // looks for files, of which there are none, and ends without a word.
    for (lvm, program, package) in [
        (3, "debugvmfs", "vmfs-tools"),
        (5, "debugvmfs", "vmfs-tools"),
        (6, "debugvmfs6", "vmfs6-tools"),
    ] {
        let good = Vmfs {
            lvm,
            ..Vmfs::default()
        };
        let path = folder.path().join("changed");
        let name = path.to_str().expect("text");
        let header = (17 << 20) + (2 << 20);
        for (at, complaint) in [
            (None, ""),
            (Some(1 << 20), "volinfo: invalid magic number"),
            (Some(header), "fsinfo: invalid magic number"),
            (Some(header + 0xb1), "doesn't belong to the underlying lvm"),
        ] {
            let mut image = good.image();
            if let Some(at) = at {
                // Not the lowest bit: that would make the magic of VMFS-L.
                image[at] ^= 0x10;
            }
            fs::write(&path, image).expect("room");
            let said = tool(&[program, name, "show", "fs"], package).to_lowercase();
            assert_eq!(said.is_empty(), complaint.is_empty(), "{said}");
            assert!(said.contains(complaint), "{said}");
        }
    }
}
