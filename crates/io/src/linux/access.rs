//! Who besides the caller may read a file, by what the file and the folders above it say: mode, POSIX ACL, groups.
//!
//! `access(2)` answers for the caller only. Security modules, NFSv4 ACLs and namespaces are not asked: they forbid more than
//! this, never less than a mode does.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

use crate::Found;
use crate::found::{own_name, regular};

const READ: u32 = 4;
const SEARCH: u32 = 1;
/// Longest `/etc/passwd` or `/etc/group` that is read.
const MAX_BYTES: u64 = 16 << 20;

/// A user of this machine, or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// One user and the groups that `/etc/passwd` and `/etc/group` put him in; `None` for a user that is not listed, whose
    /// groups are unknown: what any group may not do, he may not do either.
    User {
        /// The number of the user.
        uid: u32,
        /// The numbers of the groups.
        groups: Option<BTreeSet<u32>>,
    },
    /// Everybody.
    All,
}

impl Who {
    /// The user with this number, with groups as the machine's files list them. Root is everybody here: what root may read
    /// says nothing.
    #[must_use]
    pub fn user(uid: u32) -> Who {
        let text = |path| {
            let mut text = Vec::new();
            let file = regular(Path::new(path)).ok()?;
            file.take(MAX_BYTES).read_to_end(&mut text).ok()?;
            Some(String::from_utf8_lossy(&text).into_owned())
        };
        if uid == 0 {
            return Who::All;
        }
        Who::User {
            uid,
            groups: text("/etc/passwd").and_then(|passwd| {
                let groups = text("/etc/group").unwrap_or_default();
                groups_of(uid, &passwd, &groups)
            }),
        }
    }

    /// Whether he may read the file that was found, and search every folder on the way to it. The way is gone from the root
    /// on through descriptors, and must end at this very file.
    ///
    /// # Errors
    /// Those of the system: then nobody knows.
    pub fn may_read(&self, found: &Found) -> io::Result<bool> {
        if !self.may(READ, found.handle(), found.metadata())? {
            return Ok(false);
        }
        let real = found.real_path()?;
        let mut here = step(None, Path::new("/"))?;
        for part in real.components() {
            let name = match part {
                Component::RootDir => continue,
                Component::Normal(name) => Path::new(name),
                _ => return Ok(false),
            };
            if !self.may(SEARCH, &here, &here.metadata()?)? {
                return Ok(false);
            }
            here = step(Some(&here), name)?;
        }
        let (last, file) = (here.metadata()?, found.metadata());
        Ok((last.dev(), last.ino()) == (file.dev(), file.ino()))
    }

    fn may(&self, wanted: u32, file: &File, metadata: &Metadata) -> io::Result<bool> {
        let acl = access_list(file)?;
        let (mode, owner, group) = (metadata.mode(), metadata.uid(), metadata.gid());
        let entries = acl.unwrap_or_else(|| {
            vec![
                Entry::of(tag::OWNER, mode >> 6),
                Entry::of(tag::OWNING_GROUP, mode >> 3),
                Entry::of(tag::OTHERS, mode),
            ]
        });
        Ok(self.is_granted(wanted, &entries, owner, group))
    }

    /// The algorithm of acl(5).
    fn is_granted(&self, wanted: u32, entries: &[Entry], owner: u32, group: u32) -> bool {
        let masks = entries.iter().filter(|entry| entry.tag == tag::MASK);
        let mask = masks.fold(7, |all, entry| all & entry.permissions);
        let grants = |entry: &Entry| {
            let limited = matches!(entry.tag, tag::USER | tag::OWNING_GROUP | tag::GROUP);
            let permissions = entry.permissions & if limited { mask } else { 7 };
            permissions & wanted == wanted
        };
        let of = |wanted: u16| entries.iter().filter(move |entry| entry.tag == wanted);
        let Who::User { uid, groups } = self else {
            return entries.iter().all(grants);
        };
        if *uid == owner {
            return of(tag::OWNER).any(grants);
        }
        if let Some(own) = of(tag::USER).find(|entry| entry.id == *uid) {
            return grants(own);
        }
        let mut of_groups = of(tag::OWNING_GROUP).chain(of(tag::GROUP));
        let Some(groups) = groups else {
            return of_groups.all(grants) && of(tag::OTHERS).any(grants);
        };
        let is_in = |entry: &&Entry| {
            let id = if entry.tag == tag::OWNING_GROUP {
                group
            } else {
                entry.id
            };
            groups.contains(&id)
        };
        let mut own = of_groups.filter(is_in).peekable();
        if own.peek().is_some() {
            return own.any(grants);
        }
        of(tag::OTHERS).any(grants)
    }
}

/// The groups of a user: the one in his line of `passwd`, and those in `group` that list his name.
fn groups_of(uid: u32, passwd: &str, group: &str) -> Option<BTreeSet<u32>> {
    let mut found: Option<(&str, BTreeSet<u32>)> = None;
    for line in passwd.lines() {
        let mut fields = line.split(':');
        let (Some(name), Some(number), Some(own)) = (fields.next(), fields.nth(1), fields.next())
        else {
            continue;
        };
        if number.parse() == Ok(uid) {
            let groups = own.parse().into_iter().collect();
            found.get_or_insert((name, groups));
        }
    }
    let (name, mut groups) = found?;
    for line in group.lines() {
        let mut fields = line.split(':').skip(2);
        let (Some(number), Some(members)) = (fields.next(), fields.next()) else {
            continue;
        };
        if members.split(',').any(|member| member == name) {
            groups.extend(number.parse::<u32>());
        }
    }
    Some(groups)
}

/// Tags of `struct posix_acl_xattr_entry`, Linux `include/uapi/linux/posix_acl.h`.
mod tag {
    pub(super) const OWNER: u16 = 0x01;
    pub(super) const USER: u16 = 0x02;
    pub(super) const OWNING_GROUP: u16 = 0x04;
    pub(super) const GROUP: u16 = 0x08;
    pub(super) const MASK: u16 = 0x10;
    pub(super) const OTHERS: u16 = 0x20;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    tag: u16,
    permissions: u32,
    id: u32,
}

impl Entry {
    fn of(tag: u16, mode: u32) -> Entry {
        Entry {
            tag,
            permissions: mode & 7,
            id: u32::MAX,
        }
    }
}

/// The access ACL of an open file; `None` when its mode says it all.
fn access_list(file: &File) -> io::Result<Option<Vec<Entry>>> {
    // As long as an extended attribute can be.
    let mut value = vec![0; 64 << 10];
    match rustix::fs::getxattr(own_name(file), c"system.posix_acl_access", &mut value[..]) {
        Ok(len) => parse(value.get(..len).unwrap_or(&[])).map(Some),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// `struct posix_acl_xattr_header` (version 2) and its entries, little-endian.
fn parse(value: &[u8]) -> io::Result<Vec<Entry>> {
    let strange = || io::Error::other("its ACL is of an unknown version");
    let (version, entries) = value.split_first_chunk::<4>().ok_or_else(strange)?;
    if u32::from_le_bytes(*version) != 2 || entries.len() % 8 != 0 {
        return Err(strange());
    }
    let entries = entries.chunks_exact(8).map(|entry| Entry {
        tag: u16::from_le_bytes([entry[0], entry[1]]),
        permissions: u32::from(u16::from_le_bytes([entry[2], entry[3]])),
        id: u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]),
    });
    Ok(entries.collect())
}

/// The file `name` in an open folder, not opened itself.
fn step(folder: Option<&File>, name: &Path) -> io::Result<File> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let found = match folder {
        Some(folder) => rustix::fs::openat(folder, name, flags, Mode::empty()),
        None => rustix::fs::open(name, flags, Mode::empty()),
    };
    Ok(File::from(found?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    fn user(uid: u32, groups: &[u32]) -> Who {
        Who::User {
            uid,
            groups: Some(groups.iter().copied().collect()),
        }
    }

    fn entry(tag: u16, permissions: u32, id: u32) -> Entry {
        Entry {
            tag,
            permissions,
            id,
        }
    }

    #[test]
    fn the_most_special_class_decides() {
        let mode = |mode: u32| {
            [
                Entry::of(tag::OWNER, mode >> 6),
                Entry::of(tag::OWNING_GROUP, mode >> 3),
                Entry::of(tag::OTHERS, mode),
            ]
        };
        let stranger = Who::User {
            uid: 7,
            groups: None,
        };
        for (bits, who, expected) in [
            (0o400, user(5, &[]), true),
            (0o044, user(5, &[50]), false),
            (0o040, user(6, &[50]), true),
            (0o404, user(6, &[50]), false),
            (0o404, user(6, &[60]), true),
            (0o440, user(6, &[60]), false),
            (0o444, Who::All, true),
            (0o440, Who::All, false),
            (0o404, Who::All, false),
            (0o444, stranger.clone(), true),
            (0o404, stranger, false),
        ] {
            let granted = who.is_granted(READ, &mode(bits), 5, 50);
            assert_eq!(granted, expected, "{bits:o} {who:?}");
        }
    }

    #[test]
    fn an_acl_names_users_and_groups_and_limits_them() {
        let acl = [
            entry(tag::OWNER, 6, u32::MAX),
            entry(tag::USER, 6, 8),
            entry(tag::USER, 0, 9),
            entry(tag::OWNING_GROUP, 0, u32::MAX),
            entry(tag::GROUP, 4, 70),
            entry(tag::MASK, 4, u32::MAX),
            entry(tag::OTHERS, 4, u32::MAX),
        ];
        for (who, expected) in [
            (user(8, &[]), true),
            (user(9, &[70]), false),
            (user(10, &[50]), false),
            (user(10, &[50, 70]), true),
            (user(10, &[60]), true),
            (Who::All, false),
        ] {
            assert_eq!(who.is_granted(READ, &acl, 5, 50), expected, "{who:?}");
        }
        // Through the mask nothing is written.
        assert!(!user(8, &[]).is_granted(2, &acl, 5, 50));
    }

    #[test]
    fn groups_are_those_of_both_files() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nbroken\nann:x:8:80::/:\nbob:x:9:90::/:\n";
        let group = "root:x:0:\ndisk:x:6:ann,bob\nkvm:x:61:bob\n";
        assert_eq!(groups_of(8, passwd, group), Some(BTreeSet::from([80, 6])));
        assert_eq!(groups_of(10, passwd, group), None);
    }

    #[test]
    fn an_attribute_is_read_as_the_kernel_writes_it() {
        let value = [
            2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0, 8, 0, 0, 0,
        ];
        assert_eq!(
            parse(&value).expect("version 2"),
            [entry(tag::OWNER, 6, u32::MAX), entry(tag::USER, 4, 8)]
        );
        assert!(parse(&value[..18]).is_err());
        assert!(parse(&[3, 0, 0, 0]).is_err());
    }

    #[test]
    fn every_folder_on_the_way_counts() {
        // Below /tmp or wherever: what lies above is as it is on every machine, open to all.
        let dir = tempfile::tempdir().expect("temporary directory");
        let folder = dir.path().join("folder");
        let path = folder.join("image");
        fs::create_dir(&folder).expect("a folder");
        fs::write(&path, b"").expect("a file");
        let set = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("the owner may");
        };
        let readable = || {
            let found = Found::look(&path).expect("is there");
            Who::All.may_read(&found).expect("modes")
        };
        set(dir.path(), 0o755);
        set(&path, 0o644);
        set(&folder, 0o755);
        assert!(readable());
        set(&folder, 0o711);
        assert!(readable());
        set(&folder, 0o750);
        assert!(!readable());
        set(&folder, 0o755);
        set(&path, 0o640);
        assert!(!readable());
        set(&path, 0o644);
        // A file that is gone from its folder has no way to it.
        let found = Found::look(&path).expect("is there");
        fs::remove_file(&path).expect("removed");
        fs::write(&path, b"").expect("another file");
        set(&path, 0o644);
        assert!(!matches!(Who::All.may_read(&found), Ok(true)));
    }
}
