//! Names and texts as Windows has them.

use super::Host;
use crate::support::wine;
use crate::support::{scratch, straddle, unpack_image};

/// As Wine shows a path of this machine.
fn on_z(path: &std::path::Path) -> String {
    format!("Z:{}", path.display()).replace('/', "\\")
}

#[test]
fn names_of_any_script_and_length_lead_to_their_files() {
    let folder = scratch();
    let image = unpack_image("mbr-63", folder.path());
    let host = Host::new();
    let mut deep = folder.path().to_owned();
    for number in 0..8 {
        deep = deep.join(format!(
            "{number}-{}",
            "ein langer Ordner ".repeat(3).trim()
        ));
    }
    std::fs::create_dir_all(&deep).expect("writable");
    assert!(on_z(&deep).len() > 400);
    for name in [
        "größe.img",
        "データ.img",
        "данные 1.img",
        "semi;colon & more.img",
    ] {
        for directory in [folder.path(), deep.as_path()] {
            let path = directory.join(name);
            std::fs::copy(folder.path().join(&image), &path).expect("writable");
            let plain = on_z(&path);
            let verbatim = format!(r"\\?\{plain}");
            // Longer ones are for a system that was told to take them.
            let names = match plain.len() < 250 {
                true => vec![plain, verbatim],
                false => vec![verbatim],
            };
            for typed in names {
                let run = host.straddle(&["check", &typed]);
                assert_eq!(run.code, Some(1), "{typed}: {}", run.stderr);
                assert!(
                    run.stdout.contains("63 × 512 = 32,256"),
                    "{typed}: {}",
                    run.stdout
                );
                assert!(run.stdout.contains(name), "{typed}: {}", run.stdout);
            }
        }
    }
}

#[test]
fn what_is_not_there_is_said_and_ends_with_2() {
    let host = Host::new();
    for typed in [
        r"Z:\no\such\file.img",
        r"\\?\Z:\no\such\file.img",
        r"\\server\share\file.img",
        r"\\?\UNC\server\share\file.img",
        r"Q:\file.img",
        r"\\.\Q:",
    ] {
        let run = host.straddle(&["check", typed]);
        assert_eq!(run.code, Some(2), "{typed}: {}", run.stdout);
        assert!(
            run.stderr.contains("cannot open") && run.stderr.contains(typed),
            "{typed}: {}",
            run.stderr
        );
    }
}

/// A pipe gets no colours, and UTF-8.
#[test]
fn a_pipe_has_no_colours() {
    let folder = scratch();
    let image = unpack_image("mbr-63", folder.path());
    let host = Host::new();
    let path = on_z(&folder.path().join(&image));
    let plain = host.straddle(&["check", &path]).stdout;
    assert!(!plain.contains('\u{1b}'), "{plain}");
    assert!(
        plain.contains('└') && !plain.contains('\u{fffd}'),
        "{plain}"
    );
}

/// What a database is made of, and what of it is left when the database has it for itself.
#[test]
fn the_file_of_a_database_has_its_pages_unless_it_is_open() {
    let folder = scratch();
    let image = unpack_image("pg-8k", folder.path());
    let host = Host::new();
    let path = on_z(&folder.path().join(&image));
    let closed = host.straddle(&["check", &path]);
    assert!(closed.stdout.contains("database page"), "{}", closed.stdout);

    let alone = wine::compiled("tests/cli/windows/alone.c", "alone.exe");
    let command = format!("{} check {path}", on_z(wine::straddle_exe()));
    let mut held = wine::wine_in(&host.prefix);
    let open = wine::run(held.arg(&alone).arg(&path).arg(command));
    assert!(open.stderr.is_empty(), "{}", open.stderr);
    assert!(
        open.stdout
            .contains("another program has it open and shares it with nobody"),
        "{}",
        open.stdout
    );
    assert!(!open.stdout.contains("database page"), "{}", open.stdout);
    // What a capture keeps of either is said elsewhere, too.
    let folder = folder.path();
    let written = host.straddle(&["capture", "-o", &on_z(&folder.join("closed.tgz")), &path]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    let command = format!(
        "{} capture -o {} {path}",
        on_z(wine::straddle_exe()),
        on_z(&folder.join("open.tgz"))
    );
    let mut held = wine::wine_in(&host.prefix);
    let written = wine::run(held.arg(&alone).arg(&path).arg(command));
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    let elsewhere = |name: &str| straddle(folder, &["check", "--sysroot", name, &path]).stdout;
    let (closed, open) = (elsewhere("closed.tgz"), elsewhere("open.tgz"));
    assert!(closed.contains("database page 8 KiB"), "{closed}");
    assert!(
        !open.contains("database page") && open.contains("shares it with nobody"),
        "{open}"
    );
    // Taken for an image by itself there is nothing to say.
    let command = format!("{} check --as image {path}", on_z(wine::straddle_exe()));
    let mut held = wine::wine_in(&host.prefix);
    let refused = wine::run(held.arg(&alone).arg(&path).arg(command));
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("cannot open"), "{}", refused.stderr);
}
