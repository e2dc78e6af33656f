//! What `straddle fix` says when there is no plan, no script, or nothing to compare a plan with.

use crate::support::{straddle, tool};
use std::fs;
use std::process::Command;

#[test]
fn what_cannot_be_done_is_said_with_the_next_step() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let folder = folder.path();
    let made = tool(
        "fdisk",
        Command::new("sh")
            .args([
                "-euc",
                "truncate -s 64M off.img on.img; \
                 printf 'label: dos\\nlabel-id: 0x1\\nstart=63,size=65536,type=83\\n' | sfdisk -q off.img; \
                 printf 'label: dos\\nlabel-id: 0x1\\nstart=2048,size=65536,type=83\\n' | sfdisk -q on.img; \
                 mkdir many; cp off.img on.img many",
            ])
            .current_dir(folder),
    );
    assert!(made.status.success(), "{made:?}");
    fs::write(folder.join("none.json"), "{\"cured\": []}").expect("writable");
    let captured = "\
        Disk /dev/sdb: 64 MiB, 67108864 bytes, 131072 sectors\n\
        Units: sectors of 1 * 512 = 512 bytes\n\
        Sector size (logical/physical): 512 bytes / 4096 bytes\n\
        I/O size (minimum/optimal): 4096 bytes / 4096 bytes\n\
        Disklabel type: dos\n\
        Disk identifier: 0x00000001\n\n\
        Device     Boot Start   End Sectors Size Id Type\n\
        /dev/sdb1          63 65598   65536  32M 83 Linux\n";
    fs::write(folder.join("linux.txt"), captured).expect("writable");
    // Neither has a tool of Linux, and what a script of Linux would call sda1 is another disk's there.
    let freebsd = "\
        =>      63  131009  ada0  MBR  (64M)\n\
        \x20       63   65536     1  freebsd  (32M)\n\
        \x20    65599   65473        - free -  (32M)\n\n\
        Geom name: ada0\nProviders:\n1. Name: ada0\n   Mediasize: 67108864 (64M)\n   Sectorsize: 512\n   Stripesize: 4096\n   \
        Stripeoffset: 0\n   Mode: r0w0e0\n   descr: ACME 64\n   ident: A1\n   rotationrate: 7200\n";
    fs::write(folder.join("freebsd.txt"), freebsd).expect("writable");
    let all: [&[&str]; 12] = [
        &["on.img"],
        &["missing.img"],
        &["many"],
        &["on.img", "--script", "sfdisk"],
        &["off.img", "--script", "mdadm"],
        &["off.img", "--script", "diskpart"],
        &["linux.txt", "--script", "diskpart"],
        &["freebsd.txt", "--script", "sfdisk"],
        &["freebsd.txt", "--script", "diskpart"],
        &["off.img", "--verify", "missing.json"],
        &["off.img", "--verify", "off.img"],
        &["off.img", "--verify", "none.json"],
    ];
    let said: Vec<String> = all
        .iter()
        .map(|words| {
            let run = straddle(folder, &[&["fix"], *words].concat());
            format!("$ straddle fix {}\n{}", words.join(" "), run.transcript())
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"));
    // What is done by hand is what that system has.
    let plan = straddle(folder, &["fix", "freebsd.txt"]).stdout;
    assert!(plan.contains("unmount them"), "{plan}");
    assert!(!plan.contains("Windows"), "{plan}");
}
