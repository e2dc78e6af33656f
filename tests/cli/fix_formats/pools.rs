//! ZFS pools, by the tools and the daemon of zfs-fuse.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use straddle_testkit::zfs_fuse::{Daemon, tool};

use super::ways::way;
use super::{kept, looks_like, planned, run, sh, shown, words};
use crate::fix_in_use::ways as in_use;
use crate::support::in_memory;

/// Makes a pool with a file in it, exported; the file is in the dataset `data`.
fn pool(folder: &Path, name: &str, vdevs: &str, images: &[&str]) {
    sh(
        folder,
        &format!(
            "timeout 600 zpool destroy {name} 2> /dev/null || :; truncate -s 128M {}; timeout 600 zpool create -m none -o ashift=9 {name} {vdevs}; \
             timeout 600 zfs create -o straddle:test=kept -o mountpoint=$PWD/mounted -o recordsize=8k {name}/data; \
             seq 1 99999 > mounted/file; {}",
            images.join(" "),
            exported(name)
        ),
    );
}

/// What exports a pool in a shell. A file that was closed may be busy for a moment: the daemon hears of it later.
fn exported(name: &str) -> String {
    format!(
        "i=0; until timeout 600 zpool export {name} 2> said; do grep -q busy said && [ $i -lt 3000 ] || {{ cat said >&2; exit 1; }}; \
         i=$((i + 1)); sleep 0.2; done; rm said"
    )
}

/// Destroys a pool; what was mounted of it may be busy for a moment.
fn destroy(name: &str) {
    let started = Instant::now();
    while !tool(&["zpool", "destroy", name]).0 {
        assert!(started.elapsed() < Duration::from_secs(600), "{name} stays");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Imports a pool and gives what its dataset says, and the sum of its file.
fn imported(folder: &Path, name: &str) -> String {
    let lines = format!(
        "timeout 600 zpool import -d $PWD {name}; timeout 600 zfs get -H -o value straddle:test,recordsize {name}/data; \
         cksum < mounted/file"
    );
    sh(folder, &lines)
}

#[test]
fn a_pool_is_rebuilt_from_a_stream_of_itself() {
    let _daemon = Daemon::start();
    let pools = [
        ("straddlefix1", "$PWD/a.img", vec!["a.img"]),
        (
            "straddlefix2",
            "mirror $PWD/a.img $PWD/b.img",
            vec!["a.img", "b.img"],
        ),
        (
            "straddlefix3",
            "raidz1 $PWD/a.img $PWD/b.img $PWD/c.img",
            vec!["a.img", "b.img", "c.img"],
        ),
    ];
    let sum = {
        let folder = in_memory();
        sh(folder.path(), "seq 1 99999 | cksum")
    };
    for (name, vdevs, images) in pools {
        let way = way("a pool", &[], "zpool", &[]);
        let folder = in_memory();
        let folder = folder.path();
        pool(folder, name, vdevs, &images);
        let codes = planned(folder, &way, &images);
        assert!(codes.iter().any(|code| code == "STR613"), "{codes:?}");
        looks_like(&format!("zpool-{name}"), &shown(folder));
        let done = run(folder, &["--yes"]);
        assert!(done.status.success(), "{}", words(&done));
        kept(folder, &way, &images);
        assert_eq!(imported(folder, name), format!("kept\n8K\n{sum}"));
        destroy(name);
    }
}

#[test]
fn a_pool_is_left_as_it_was_when_it_is_not_the_one_or_not_whole() {
    let _daemon = Daemon::start();
    let name = "straddlefix5";
    let folder = in_memory();
    let folder = folder.path();
    let images = ["a.img", "b.img"];
    pool(folder, name, "mirror $PWD/a.img $PWD/b.img", &images);
    let way = way("a pool", &[], "zpool", &[]);
    planned(folder, &way, &images);
    let refused = |what: &str, why: &str| {
        let done = run(folder, &["--yes"]);
        assert_eq!(done.status.code(), Some(2), "{what}: {}", words(&done));
        assert!(words(&done).contains(why), "{what}: {}", words(&done));
        assert!(
            !tool(&["zpool", "list", name]).0,
            "{what}: it stays imported"
        );
    };
    sh(folder, "mv b.img away.img; truncate -s 128M b.img");
    refused("another disk", "it is another disk");
    sh(folder, "truncate -s 127M b.img");
    refused("another size", "the plan was made for");
    sh(folder, "rm b.img");
    refused("no disk", "does not exist");
    sh(folder, "mv away.img b.img");
    sh(
        folder,
        &format!(
            "timeout 600 zpool import -d $PWD {name}; timeout 600 zpool offline {name} $PWD/b.img; {}",
            exported(name)
        ),
    );
    refused("not whole", "is not ONLINE");
    sh(
        folder,
        &format!(
            "timeout 600 zpool import -d $PWD {name}; timeout 600 zpool online {name} $PWD/b.img; {}",
            exported(name)
        ),
    );
    // Another pool of that name is imported.
    sh(
        folder,
        &format!("truncate -s 128M c.img; timeout 600 zpool create -m none {name} $PWD/c.img"),
    );
    let done = run(folder, &["--yes"]);
    assert_eq!(done.status.code(), Some(2), "{}", words(&done));
    assert!(words(&done).contains("is another"), "{}", words(&done));
    assert!(
        tool(&["zpool", "list", name]).0,
        "it was imported, and stays so"
    );
    destroy(name);
    sh(
        folder,
        "mkdir small; mount -t tmpfs -o size=64k tmpfs small",
    );
    let done = run(folder, &["--yes", "small"]);
    let left = sh(folder, "ls small/*; umount small");
    assert_eq!(done.status.code(), Some(2), "{}", words(&done));
    assert!(
        words(&done).contains("the stream could not be written"),
        "{}",
        words(&done)
    );
    assert!(left.contains("stream"), "{left}");
    let sum = sh(folder, "seq 1 99999 | cksum");
    assert_eq!(imported(folder, name), format!("kept\n8K\n{sum}"));
    let (_, snapshots, _) = tool(&["zfs", "list", "-H", "-t", "snapshot", "-o", "name"]);
    let snapshots = String::from_utf8_lossy(&snapshots);
    assert!(!snapshots.contains(name), "{snapshots}");
    destroy(name);
}

/// The ways to be in use that are no matter of what the image holds: every third, or with `STRADDLE_SOAK=1` all.
#[test]
fn a_pool_whose_member_is_in_use_is_left_alone() {
    let _daemon = Daemon::start();
    let name = "straddlefix6";
    let folder = in_memory();
    let folder = folder.path();
    pool(folder, name, "$PWD/disk.img", &["disk.img"]);
    planned(folder, &way("a pool", &[], "zpool", &[]), &["disk.img"]);
    let ways = in_use::of_any_image();
    let fewest = if straddle_testkit::is_soak() { 18 } else { 6 };
    assert!(ways.len() >= fewest, "{}", ways.len());
    for (index, way) in ways.into_iter().enumerate() {
        let set_up = format!("IMG=$PWD/disk.img; T=$PWD/t{index}; mkdir $T");
        let lines = in_use::tried(way, &["fix.sh"], &set_up);
        let output = Command::new("bash")
            .args(["-c", &lines])
            .current_dir(folder)
            .output()
            .expect("bash");
        let said = format!("{}{}", words(&output), output.status);
        assert!(
            output.status.success() && output.stdout.is_empty(),
            "{}: {said}",
            way.make
        );
        assert!(!tool(&["zpool", "list", name]).0, "{}: imported", way.make);
    }
    let sum = sh(folder, "seq 1 99999 | cksum");
    assert_eq!(imported(folder, name), format!("kept\n8K\n{sum}"));
    destroy(name);
}
