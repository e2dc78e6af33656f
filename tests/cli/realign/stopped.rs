//! Moves that are stopped: by a signal, by force, at any time; gone on with, or undone.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use straddle_testkit::first_difference;

use crate::support::{sh, straddle};

/// A disk that takes a while: an ext4 with noise around it, 24 MiB apart from where it goes.
fn large(folder: &Path) -> Vec<u8> {
    let script = "truncate -s 160M disk.img && printf 'label: dos\\nlabel-id: 0x1\\nstart=63,size=200000,type=83\\n' | sfdisk -q disk.img && \
                  head -c 102400000 /dev/urandom > noise && dd if=noise of=disk.img bs=512 seek=63 conv=notrunc status=none && \
                  dd if=noise of=disk.img bs=1M seek=150 count=8 conv=notrunc status=none";
    sh(folder, script);
    fs::read(folder.join("disk.img")).expect("readable")
}

/// Starts it without waiting for it.
fn started(folder: &Path, args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_straddle"))
        .env("STRADDLE_HISTORY", "none")
        .args(args)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("straddle runs")
}

/// Waits until a move has begun: its journal is there, or it is over.
fn begun(folder: &Path, child: &mut Child) {
    let journal = folder.join("disk.img.realign-journal");
    let since = Instant::now();
    while !journal.exists() && child.try_wait().expect("a child").is_none() {
        assert!(since.elapsed() < Duration::from_secs(600), "nothing begins");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn assert_moved(folder: &Path, before: &[u8]) {
    let after = fs::read(folder.join("disk.img")).expect("readable");
    let len = 200_000 * 512;
    assert!(
        after[1 << 20..(1 << 20) + len] == before[63 * 512..63 * 512 + len],
        "the partition"
    );
    assert!(
        after[150 << 20..] == before[150 << 20..],
        "what is behind it"
    );
    assert_eq!(after[446 + 8..446 + 12], 2048_u32.to_le_bytes());
    assert!(!folder.join("disk.img.realign-journal").exists());
}

fn assert_as_before(folder: &Path, before: &[u8]) {
    let after = fs::read(folder.join("disk.img")).expect("readable");
    let first = first_difference(&after, before);
    assert_eq!(first, None, "the first byte that differs");
    assert!(!folder.join("disk.img.realign-journal").exists());
}

#[test]
fn what_was_killed_goes_on_or_is_undone() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let before = large(folder);
    let times = if straddle_testkit::is_soak() { 500 } else { 10 };
    let mut killed = 0;
    for n in 0..times {
        fs::write(folder.join("disk.img"), &before).expect("writes");
        let mut child = started(folder, &["realign", "disk.img", "--yes"]);
        begun(folder, &mut child);
        // Instants all over what a run takes here.
        std::thread::sleep(Duration::from_micros(n * 37_003 % 400_000));
        let _ = child.kill();
        child.wait().expect("it ends");
        if !folder.join("disk.img.realign-journal").exists() {
            assert_moved(folder, &before);
            continue;
        }
        killed += 1;
        // A second one is not begun over it.
        let second = straddle(folder, &["realign", "disk.img", "--yes", "--to", "2MiB"]);
        assert_eq!(second.code, Some(2), "{}", second.transcript());
        let verb = if n % 2 == 0 { "--resume" } else { "--rollback" };
        let run = straddle(folder, &["realign", "disk.img", verb]);
        if run.code == Some(2) && run.stderr.contains("nothing has been moved yet") {
            // Killed before the journal was made.
            fs::remove_file(folder.join("disk.img.realign-journal")).expect("removes");
            assert_as_before(folder, &before);
            continue;
        }
        assert_eq!(run.code, Some(0), "{verb} {n}: {}", run.transcript());
        match verb {
            "--resume" => assert_moved(folder, &before),
            _ => assert_as_before(folder, &before),
        }
    }
    assert!(killed > 0, "every run came to its end");
}

#[test]
fn ctrl_c_leaves_what_can_be_gone_on_with() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let before = large(folder);
    let mut child = started(
        folder,
        &["realign", "disk.img", "--yes", "--verify", "each"],
    );
    begun(folder, &mut child);
    sh(folder, &format!("kill -INT {} || true", child.id()));
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(0) {
        // It was over before the signal came.
        assert_moved(folder, &before);
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{said}");
    if folder.join("disk.img.realign-journal").exists() {
        assert!(
            said.contains("--resume") && said.contains("--rollback"),
            "{said}"
        );
        let back = straddle(folder, &["realign", "disk.img", "--rollback"]);
        assert_eq!(back.code, Some(0), "{}", back.transcript());
        assert_as_before(folder, &before);
    }
}

#[test]
fn a_journal_that_is_kept_undoes_what_was_done_unless_it_was_used() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let before = large(folder);
    let keep: &[&str] = &[
        "realign",
        "disk.img",
        "--yes",
        "--keep-journal",
        "--journal",
        "kept",
    ];
    let run = straddle(folder, keep);
    assert_eq!(run.code, Some(0), "{}", run.transcript());
    let moved = fs::read(folder.join("disk.img")).expect("readable");
    let rollback: &[&str] = &["realign", "disk.img", "--rollback", "--journal", "kept"];
    // Somebody wrote to it since.
    let mut used = moved.clone();
    used[5 << 20] ^= 1;
    fs::write(folder.join("disk.img"), &used).expect("writes");
    let refused = straddle(folder, rollback);
    assert_eq!(refused.code, Some(2), "{}", refused.transcript());
    assert!(
        fs::read(folder.join("disk.img")).expect("readable") == used,
        "no byte is changed"
    );
    fs::write(folder.join("disk.img"), &moved).expect("writes");
    // Another disk of the same length.
    fs::write(folder.join("other.img"), vec![7; moved.len()]).expect("writes");
    let other = straddle(
        folder,
        &["realign", "other.img", "--rollback", "--journal", "kept"],
    );
    assert_eq!(other.code, Some(2), "{}", other.transcript());
    assert!(
        fs::read(folder.join("other.img"))
            .expect("readable")
            .iter()
            .all(|byte| *byte == 7)
    );
    // What is done is not gone on with, whatever target is named.
    for target in ["disk.img", "other.img"] {
        let again = straddle(
            folder,
            &["realign", target, "--resume", "--journal", "kept"],
        );
        assert_eq!(again.code, Some(2), "{}", again.transcript());
        assert!(
            again.stderr.contains("was done, by this journal"),
            "{}",
            again.transcript()
        );
    }
    let back = straddle(folder, rollback);
    assert_eq!(back.code, Some(0), "{}", back.transcript());
    assert_as_before(folder, &before);
    assert!(!folder.join("kept").exists());
}
