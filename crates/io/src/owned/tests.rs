use super::*;
use std::fs;

fn mark() -> Mark {
    let token = Token::random().expect("random bits");
    Mark {
        at: 8192,
        bytes: format!("mark {token}\n").into_bytes(),
    }
}

/// A directory with a file of ours in it.
fn made() -> (tempfile::TempDir, PathBuf, Mark, Owned) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("file");
    let mark = mark();
    let owned = Owned::create(&path, mark.clone()).expect("is made");
    (directory, path, mark, owned)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("readable");
    let mut names: Vec<String> = entries
        .map(|entry| {
            let name = entry.expect("readable").file_name();
            name.to_string_lossy().into_owned()
        })
        .collect();
    names.sort();
    names
}

/// What opening finds, for a mark that is known.
fn open(path: &Path, mark: &Mark) -> Result<Owned, NotOwned> {
    Owned::open(path, |file| Ok(mark.is_in(file)?.then(|| mark.clone())))
}

#[test]
fn tokens_differ_and_read_back() {
    let (one, other) = (Token::random(), Token::random());
    let (one, other) = (one.expect("random"), other.expect("random"));
    assert_ne!(one, other);
    assert_eq!(one.as_str().parse(), Ok(one.clone()));
    for bad in [
        "",
        "0",
        &one.as_str()[1..],
        &one.as_str().to_uppercase(),
        "g0000000000000000000000000000000",
    ] {
        if bad != one.as_str() {
            assert_eq!(bad.parse::<Token>(), Err(NoToken), "{bad}");
        }
    }
}

#[test]
fn it_has_its_mark_as_soon_as_it_has_its_name() {
    let (directory, path, mark, owned) = made();
    assert!(
        mark.is_in(&File::open(&path).expect("opens"))
            .expect("reads")
    );
    assert!(owned.is_ours().expect("reads") && owned.has_its_name());
    assert_eq!(names(directory.path()), ["file"]);
    assert!(matches!(owned.remove(), Removal::Done));
    assert_eq!(names(directory.path()), [""; 0]);
}

#[test]
fn what_is_there_is_not_replaced() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("file");
    fs::write(&path, "a stranger's").expect("writes");
    let error = Owned::create(&path, mark()).expect_err("it is taken");
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&path).expect("reads"), b"a stranger's");
    assert_eq!(names(directory.path()), ["file"]);
}

#[cfg(unix)]
#[test]
fn another_file_at_its_name_is_not_removed() {
    let (directory, path, _, owned) = made();
    fs::rename(&path, directory.path().join("aside")).expect("renames");
    fs::write(&path, "a stranger's").expect("writes");
    assert!(!owned.has_its_name());
    assert!(matches!(owned.remove(), Removal::Stranger));
    assert_eq!(fs::read(&path).expect("reads"), b"a stranger's");
    assert_eq!(names(directory.path()), ["aside", "file"]);
}

#[cfg(unix)]
#[test]
fn without_its_mark_it_is_nobodys() {
    let (directory, path, mark, owned) = made();
    // As `cp` does it: the same inode with other contents.
    fs::write(&path, "a stranger's").expect("writes");
    let opening = Opening {
        write: true,
        ..Opening::default()
    };
    assert!(matches!(owned.reopen(opening), Err(NotOwned::Foreign)));
    assert!(matches!(owned.remove(), Removal::Changed));
    assert_eq!(fs::read(&path).expect("reads"), b"a stranger's");
    assert!(matches!(open(&path, &mark), Err(NotOwned::Foreign)));
    assert_eq!(names(directory.path()), ["file"]);
}

#[test]
fn a_mark_that_goes_while_it_is_opened_makes_it_nobodys() {
    let (_directory, path, mark, owned) = made();
    drop(owned);
    let find = |file: &File| {
        let found = mark.is_in(file)?.then(|| mark.clone());
        // Of the same length: only the bytes of the mark tell.
        let len = usize::try_from(fs::metadata(&path)?.len()).expect("small");
        fs::write(&path, vec![b's'; len])?;
        Ok(found)
    };
    assert!(matches!(Owned::open(&path, find), Err(NotOwned::Foreign)));
    assert!(
        fs::read(&path)
            .expect("reads")
            .iter()
            .all(|byte| *byte == b's')
    );
}

#[cfg(unix)]
#[test]
fn what_is_nobodys_gets_no_other_mark() {
    let (_directory, path, _, mut owned) = made();
    fs::write(&path, "a stranger's").expect("writes");
    assert!(matches!(owned.mark(mark()), Err(NotOwned::Foreign)));
    assert_eq!(fs::read(&path).expect("reads"), b"a stranger's");
}

#[cfg(unix)]
#[test]
fn another_file_is_not_taken_for_it() {
    let (directory, path, _, owned) = made();
    let other = directory.path().join("other");
    fs::copy(&path, &other).expect("copies");
    let open = |path: &Path| File::open(path).expect("opens");
    assert!(the_same(open(&path), owned.file()).is_ok());
    assert!(the_same(open(&other), owned.file()).is_err());
}

#[cfg(unix)]
#[test]
fn what_is_gone_needs_no_removal() {
    let (directory, path, _, owned) = made();
    fs::remove_file(&path).expect("removes");
    assert!(matches!(owned.remove(), Removal::Gone));
    assert_eq!(names(directory.path()), [""; 0]);
}

#[test]
fn a_later_process_knows_it_by_its_mark_alone() {
    let (directory, path, mark, owned) = made();
    let error = open(&path, &mark).expect_err("it is held");
    assert!(
        matches!(&error, NotOwned::Os(error) if error.kind() == io::ErrorKind::WouldBlock),
        "{error}"
    );
    assert!(is_held(&path));
    drop(owned);
    assert!(!is_held(&path));
    // Under another name it is the same file still.
    let elsewhere = directory.path().join("elsewhere");
    fs::rename(&path, &elsewhere).expect("renames");
    let owned = open(&elsewhere, &mark).expect("ours");
    assert!(matches!(owned.remove(), Removal::Done));
}

#[cfg(target_os = "linux")]
mod on_linux {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    #[test]
    fn an_inode_number_is_not_given_to_another_file_while_it_is_held() {
        let (directory, path, _, owned) = made();
        let inode = fs::metadata(&path).expect("stats").ino();
        fs::remove_file(&path).expect("removes");
        for number in 0..64 {
            let other = directory.path().join(format!("file{number}"));
            fs::write(&other, "x").expect("writes");
            assert_ne!(fs::metadata(&other).expect("stats").ino(), inode);
        }
        assert!(matches!(owned.remove(), Removal::Gone));
    }

    #[test]
    fn what_replaced_it_is_not_opened_again() {
        let (directory, path, _, owned) = made();
        fs::rename(&path, directory.path().join("aside")).expect("renames");
        fs::write(&path, "a stranger's").expect("writes");
        let opening = Opening {
            write: true,
            ..Opening::default()
        };
        let again = owned.reopen(opening).expect("the file, not the name");
        let ours = owned.file().metadata().expect("stats").ino();
        assert_eq!(again.metadata().expect("stats").ino(), ours);
        assert_eq!(fs::read(&path).expect("reads"), b"a stranger's");
    }

    #[test]
    fn links_pipes_and_directories_are_told_without_being_opened() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        fs::write(at("file"), "x").expect("writes");
        symlink(at("file"), at("link")).expect("links");
        fs::create_dir(at("folder")).expect("makes");
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(CWD, at("pipe"), FileType::Fifo, mode, 0).expect("makes");
        for (name, expected) in [
            ("link", "a symbolic link"),
            ("folder", "a directory"),
            ("pipe", "a FIFO"),
        ] {
            let error = look(&at(name)).expect_err(name);
            assert!(
                matches!(error, NotOwned::WrongType(found) if found == expected),
                "{name}: {error}"
            );
        }
        assert!(look(&at("file")).is_ok());
        let error = Owned::create(&at("link"), mark()).expect_err("taken");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn where_names_cannot_be_moved_it_is_emptied_and_named() {
        if rustix::process::geteuid().is_root() {
            // Nothing refuses root to make a folder but another user's filesystem: the same path by hand.
            let (_directory, path, mark, owned) = made();
            let place = linux::Place::of(&path).expect("there");
            let removal = place.empty(owned.file(), &mark, io::ErrorKind::Unsupported.into());
            assert!(matches!(removal, Removal::Emptied(_)), "{removal}");
            assert_eq!(fs::metadata(&path).expect("is left").len(), 0);
            return;
        }
        let (directory, path, _, owned) = made();
        let mode = fs::Permissions::from_mode(0o500);
        fs::set_permissions(directory.path(), mode).expect("sets");
        let removal = owned.remove();
        assert!(matches!(removal, Removal::Emptied(_)), "{removal}");
        assert_eq!(fs::metadata(&path).expect("is left").len(), 0);
        let mode = fs::Permissions::from_mode(0o700);
        fs::set_permissions(directory.path(), mode).expect("sets");
    }

    /// When the inode was last changed: a name that is moved away and back changes it.
    fn changed(path: &Path) -> (i64, i64) {
        let stat = fs::metadata(path).expect("stats");
        (stat.ctime(), stat.ctime_nsec())
    }

    /// Waits until a change of an inode would show.
    fn until_changes_show(directory: &Path) {
        let tick = directory.join("tick");
        fs::write(&tick, "").expect("writes");
        let before = changed(&tick);
        while changed(&tick) == before {
            fs::set_permissions(&tick, fs::Permissions::from_mode(0o600)).expect("sets");
        }
        fs::remove_file(&tick).expect("removes");
    }

    #[test]
    fn what_is_nobodys_is_not_even_moved() {
        let (directory, path, _, owned) = made();
        fs::write(&path, "a stranger's").expect("writes");
        let before = changed(&path);
        until_changes_show(directory.path());
        assert!(matches!(owned.remove(), Removal::Changed));
        assert_eq!(changed(&path), before);

        let (directory, path, _, owned) = made();
        fs::rename(&path, directory.path().join("aside")).expect("renames");
        fs::write(&path, "a stranger's").expect("writes");
        let before = changed(&path);
        until_changes_show(directory.path());
        assert!(matches!(owned.remove(), Removal::Stranger));
        assert_eq!(changed(&path), before);
    }

    #[test]
    fn a_mark_that_goes_before_it_is_compared_saves_it() {
        let (directory, path, mark, owned) = made();
        fs::write(&path, "a stranger's").expect("writes");
        let place = linux::Place::of(&path).expect("there");
        let removal = place.remove_aside(owned.file(), &mark);
        assert!(matches!(removal, Removal::Changed), "{removal}");
        assert_eq!(names(directory.path()), ["file"]);
        let removal = place.empty(owned.file(), &mark, io::ErrorKind::Unsupported.into());
        assert!(matches!(removal, Removal::Changed), "{removal}");
        assert_eq!(fs::read(&path).expect("reads"), b"a stranger's");
    }

    #[test]
    fn a_folder_that_others_may_enter_is_not_used() {
        let (directory, path, ..) = made();
        let place = linux::Place::of(&path).expect("there");
        let name = std::ffi::OsStr::new("folder");
        let folder = directory.path().join(name);
        fs::create_dir(&folder).expect("makes");
        for (mode, is_private) in [(0o700, true), (0o750, false), (0o701, false)] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).expect("sets");
            assert_eq!(place.enter(name).is_ok(), is_private, "{mode:o}");
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("sets");
        symlink(&folder, directory.path().join("link")).expect("links");
        assert!(place.enter(std::ffi::OsStr::new("link")).is_err());
    }

    #[test]
    fn without_nameless_files_nothing_is_replaced_either() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        let place = linux::Place::of(&path).expect("there");
        let ours = |file: &File| write_at(file, b"ours", 0);
        fs::write(&path, "a stranger's").expect("writes");
        let error = linux::by_name(&place, ours).expect_err("it is taken");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).expect("reads"), b"a stranger's");
        fs::remove_file(&path).expect("removes");
        linux::by_name(&place, ours).expect("is made");
        assert_eq!(fs::read(&path).expect("reads"), b"ours");
        fs::remove_file(&path).expect("removes");
        linux::by_name(&place, |_| Err(io::ErrorKind::StorageFull.into())).expect_err("fails");
        assert_eq!(names(directory.path()), [""; 0]);
    }

    #[test]
    fn a_stranger_in_the_folder_goes_back_or_is_named() {
        let (directory, path, mark, owned) = made();
        fs::rename(&path, directory.path().join("aside")).expect("renames");
        fs::write(&path, "a stranger's").expect("writes");
        let place = linux::Place::of(&path).expect("there");
        // The comparison before the move is passed over here: it is the one after it that must hold.
        let removal = place.remove_aside(owned.file(), &mark);
        assert!(matches!(removal, Removal::Stranger), "{removal}");
        assert_eq!(fs::read(&path).expect("reads"), b"a stranger's");
        assert_eq!(names(directory.path()), ["aside", "file"]);
    }

    #[test]
    fn a_stranger_whose_name_was_taken_meanwhile_is_kept_and_named() {
        let (directory, path, mark, owned) = made();
        fs::rename(&path, directory.path().join("aside")).expect("renames");
        fs::write(&path, "a stranger's").expect("writes");
        let place = linux::Place::of(&path).expect("there");
        let folder = place.private_folder().expect("a folder");
        place.move_into(&folder).expect("moves");
        fs::write(&path, "of a second one").expect("writes");
        let removal = place.judge(owned.file(), &mark, &folder);
        let Removal::Stranded(kept) = &removal else {
            panic!("{removal}");
        };
        assert!(!removal.is_done());
        assert!(
            removal.to_string().contains(&kept.display().to_string()),
            "{removal}"
        );
        assert_eq!(fs::read(kept).expect("reads"), b"a stranger's");
        assert_eq!(fs::read(&path).expect("reads"), b"of a second one");
    }
}

#[cfg(windows)]
mod on_windows {
    use super::*;
    use std::fs::OpenOptions;
    use std::os::windows::fs::OpenOptionsExt;

    const MEASURED: Opening = Opening {
        write: true,
        create: false,
        direct: true,
        through: true,
        exclusive: false,
        overlapped: true,
    };

    /// A stranger who forbids nothing.
    fn stranger(path: &Path, access: u32) -> io::Result<File> {
        OpenOptions::new()
            .access_mode(access)
            .share_mode(7)
            .open(path)
    }

    /// That nobody can write, rename or delete, and everybody read.
    fn is_safe(path: &Path) {
        use crate::windows::file::{DELETE, READ, WRITE};
        for access in [WRITE, DELETE, READ | WRITE] {
            let error = stranger(path, access).expect_err("it is held");
            assert_eq!(error.raw_os_error(), Some(32), "{access:#x}");
        }
        fs::rename(path, path.with_extension("aside")).expect_err("it is held");
        fs::remove_file(path).expect_err("it is held");
        assert!(stranger(path, READ).is_ok());
        assert!(is_held(path));
    }

    #[test]
    fn while_it_is_held_and_measured_strangers_can_only_read() {
        let (directory, path, _, owned) = made();
        is_safe(&path);
        let (one, other) = (owned.reopen(MEASURED), owned.reopen(MEASURED));
        let (one, other) = (one.expect("a handle"), other.expect("the same again"));
        is_safe(&path);
        let error = owned.writer().err().map(|error| error.kind());
        assert_eq!(error, Some(io::ErrorKind::WouldBlock), "one is in use");
        drop((one, other));
        is_safe_again(&owned, &path);
        assert!(matches!(owned.remove(), Removal::Done));
        assert_eq!(names(directory.path()), [""; 0]);
    }

    fn is_safe_again(owned: &Owned, path: &Path) {
        write_at(&owned.writer().expect("the ordinary one"), b"x", 0).expect("writes");
        is_safe(path);
        drop(owned.reopen(MEASURED).expect("a handle"));
        is_safe(path);
    }

    #[test]
    fn what_somebody_writes_to_is_not_taken() {
        let (_directory, path, mark, owned) = made();
        drop(owned);
        let writing = stranger(&path, crate::windows::file::WRITE).expect("nobody holds it");
        let error = open(&path, &mark).expect_err("a stranger may write");
        assert!(
            matches!(&error, NotOwned::Os(error) if error.kind() == io::ErrorKind::WouldBlock),
            "{error}"
        );
        drop(writing);
        open(&path, &mark).expect("ours");
    }

    #[test]
    fn a_stranger_who_comes_between_two_writers_is_noticed() {
        let (_directory, path, _, owned) = made();
        owned.place.close_writer();
        let at_name = stranger(&path, crate::windows::file::WRITE).expect("no writer holds it");
        let error = owned.reopen(MEASURED).expect_err("a stranger may write");
        assert!(matches!(error, NotOwned::Os(_)), "{error}");
        write_at(&at_name, &[b's'; 8300], 0).expect("writes");
        drop(at_name);
        assert!(matches!(owned.reopen(MEASURED), Err(NotOwned::Foreign)));
        assert!(matches!(owned.remove(), Removal::Changed));
        assert!(fs::read(&path).expect("reads").starts_with(b"ssss"));
    }

    #[test]
    fn directories_are_told_without_being_opened() {
        let directory = tempfile::tempdir().expect("a directory");
        let error = look(directory.path()).expect_err("no file");
        assert!(
            matches!(error, NotOwned::WrongType("a directory")),
            "{error}"
        );
    }
}

/// What a program that is being started holds for a moment is no run at work; what is held on and on is.
#[cfg(unix)]
#[test]
fn a_lock_that_goes_within_a_moment_is_nobodys() {
    use std::cell::Cell;
    use std::fs::TryLockError;

    let asked = Cell::new(0);
    let held_for = |times: u32| {
        asked.set(0);
        super::patiently(|| {
            asked.set(asked.get() + 1);
            match asked.get() > times {
                true => Ok(()),
                false => Err(TryLockError::WouldBlock),
            }
        })
    };
    assert!(held_for(3).is_ok());
    assert_eq!(asked.get(), 4);
    assert!(matches!(held_for(1000), Err(TryLockError::WouldBlock)));
    assert_eq!(asked.get(), 6, "not without end");
}
