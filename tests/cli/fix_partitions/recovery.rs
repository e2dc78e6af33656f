//! A script that is killed while it moves data: the command that it printed before goes on from there, and every byte arrives.
//!
//! It is killed at every fifth call of `dd`, or with `STRADDLE_SOAK=1` at each: before anything of it was done, after half, and after all.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use super::contents::noise;
use super::ways::MIB;
use super::{output, places, read_at, script, sh, write_at};
use crate::support::tool;
use straddle_testkit::is_soak;

/// Before `dd`: the call that `stop` names kills the script, before anything was done, when half was, or when all was.
const DD: &str = r#"#!/bin/sh
n=$(($(cat count) + 1))
echo $n > count
[ $n = "$(cat stop)" ] || exec /bin/dd "$@"
case $((n % 3)) in
0) /bin/dd "$@" ;;
1) /bin/dd "$@" count=1 2> /dev/null ;;
esac
kill -9 "$(cat pid)"
"#;

/// Runs the script until the call of this number; true when it was killed there.
fn killed(folder: &Path, stop: u32, args: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    fs::write(folder.join("count"), "0").expect("writable");
    fs::write(folder.join("stop"), stop.to_string()).expect("writable");
    let line = format!("echo $$ > pid; exec dash fix.sh --yes {args}");
    let done = output(
        Command::new("sh")
            .args(["-c", &line])
            .env("PATH", format!("{}:{path}", folder.join("tools").display()))
            .current_dir(folder),
    );
    match done.status.code() {
        None => true,
        Some(0) => false,
        Some(code) => panic!("{stop}: {code}: {done:?}"),
    }
}

#[test]
fn what_was_killed_goes_on() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir_in("/dev/shm").expect("temporary folder");
    let folder = folder.path();
    let disk = folder.join("disk.img");
    fs::create_dir(folder.join("tools")).expect("writable");
    let dd = folder.join("tools/dd");
    fs::write(&dd, DD).expect("writable");
    fs::set_permissions(&dd, fs::Permissions::from_mode(0o755)).expect("possible");
    File::create(&disk)
        .and_then(|file| file.set_len(48 * MIB * 512))
        .expect("writable");
    // The second is moved by less than a piece, so that each is written over what it was read from.
    sh(
        folder,
        "printf 'label: dos\\nlabel-id: 0x1\\nstart=63,size=2000,type=83\\nstart=2063,size=70001,type=7\\n' | sfdisk -q disk.img",
    );
    let (first, second) = (noise(2000 * 512, 5), noise(70_001 * 512, 6));
    write_at(&disk, 63 * 512, &first);
    write_at(&disk, 2063 * 512, &second);
    let text = script(folder, "disk.img", "sfdisk");
    fs::write(folder.join("fix.sh"), text).expect("writable");
    let before = fs::read(&disk).expect("readable");
    assert!(!killed(folder, u32::MAX, ""), "nothing stops it");
    let stops = fs::read_to_string(folder.join("count")).expect("counted");
    let stops: u32 = stops.trim().parse().expect("a number");
    assert!(stops >= 20, "{stops}");
    // Three kinds of stop come in turn, and every fourth is stopped again.
    let every = if is_soak() { 1 } else { 5 };
    for stop in (1..=stops).step_by(every) {
        fs::write(&disk, &before).expect("writable");
        sh(folder, "rm -rf straddle-fix.*");
        assert!(killed(folder, stop, ""), "{stop}");
        // What the script said before: its folder, by which it goes on; killed there too, and once more.
        let run = sh(folder, "ls -d $PWD/straddle-fix.*");
        let go_on = format!("--go-on {}", run.trim());
        if stop % 4 == 0 {
            killed(folder, 1 + stop % 7, &go_on);
        }
        assert!(!killed(folder, u32::MAX, &go_on), "{stop}");
        let now = places(&disk);
        assert_eq!(now, [(1, 2048, 2000), (2, 4096, 70_001)], "{stop}");
        assert!(read_at(&disk, 2048 * 512, 2000 * 512) == first, "{stop}");
        assert!(read_at(&disk, 4096 * 512, 70_001 * 512) == second, "{stop}");
        let verify = tool("fdisk", Command::new("sfdisk").arg("--verify").arg(&disk));
        let verify = String::from_utf8_lossy(&verify.stdout).into_owned();
        assert!(verify.contains("No errors detected"), "{stop}: {verify}");
    }
}

/// sfdisk (2.38) does not move a partition so that it ends where the next one begins; the whole table at once it takes.
#[test]
fn neighbours_that_come_to_touch() {
    let folder = tempfile::tempdir_in("/dev/shm").expect("temporary folder");
    let folder = folder.path();
    let disk = folder.join("disk.img");
    File::create(&disk)
        .and_then(|file| file.set_len(34_900 * 512))
        .expect("writable");
    sh(
        folder,
        "printf 'label: dos\\nlabel-id: 0x1\\nstart=2047,size=28680,type=83\\nstart=30728,size=4096,type=83\\n' | sfdisk -q disk.img",
    );
    let contents = noise(28_680 * 512, 9);
    write_at(&disk, 2047 * 512, &contents);
    let text = script(folder, "disk.img", "sfdisk");
    let (code, out) = super::run_script(folder, &text, &["--yes"], &[]);
    assert_eq!(code, 0, "{out}");
    assert_eq!(places(&disk)[0], (1, 2048, 28_680));
    assert_eq!(places(&disk)[1].1, 30_728);
    assert!(read_at(&disk, 2048 * 512, 28_680 * 512) == contents);
}
