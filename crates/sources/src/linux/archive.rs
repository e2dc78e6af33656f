//! The archive form of a captured host: a gzipped tar, read into memory within limits.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use straddle_io::{Packing, fill};
use tar::{Archive, Builder, EntryType, Header};

use super::entry::{Entry, with_directories};

/// Most bytes an archive may unpack to: a thousand disks cost about 10 MiB.
pub(crate) const MAX_TOTAL: u64 = 64 << 20;
/// Most entries.
const MAX_ENTRIES: usize = 200_000;
/// Longest path.
const MAX_PATH: usize = 4096;

/// Reads a tar, packed or not. Devices, FIFOs and hard links in it are left out; nothing is written anywhere.
pub(crate) fn read(input: &mut dyn Read) -> Result<BTreeMap<String, Entry>, String> {
    let mut start = [0; Packing::HEAD];
    let (got, begun) = fill(input, &mut start);
    begun.map_err(|error| error.to_string())?;
    let whole = start[..got].chain(input);
    // The limit is on what comes out: a small archive can hold a great deal of nothing.
    match Packing::of(&start[..got]) {
        Some(packing) => read_tar(packing.unpack(whole).take(MAX_TOTAL)),
        None => read_tar(whole.take(MAX_TOTAL)),
    }
}

fn read_tar(input: impl Read) -> Result<BTreeMap<String, Entry>, String> {
    let text = |error: io::Error| error.to_string();
    let mut entries = BTreeMap::new();
    let mut archive = Archive::new(input);
    for item in archive.entries().map_err(text)? {
        // The crate's own words for a first header that is none are about checksums of nothing.
        let mut item = item.map_err(|error| match entries.len() {
            0 => "it is neither a tar archive, packed or not, nor the text form of one".to_owned(),
            n => format!("the archive is damaged after {n} entries: {error}"),
        })?;
        if entries.len() >= MAX_ENTRIES {
            return Err(format!("it has more than {MAX_ENTRIES} entries"));
        }
        let path = String::from_utf8_lossy(&item.path_bytes()).into_owned();
        let kind = item.header().entry_type();
        let entry = match kind {
            EntryType::Directory => Entry::Directory,
            EntryType::Symlink => match item.link_name_bytes() {
                Some(target) => Entry::Link(String::from_utf8_lossy(&target).into_owned()),
                None => continue,
            },
            EntryType::Regular | EntryType::Continuous => {
                let mut bytes = Vec::new();
                item.read_to_end(&mut bytes).map_err(text)?;
                Entry::File(bytes)
            }
            _ => continue,
        };
        if path.trim_matches(['.', '/']).is_empty() {
            continue;
        }
        let path = clean_path(&path)
            .ok_or_else(|| format!("an entry has the path {path:?}, which leads outside"))?;
        entries.insert(path, entry);
    }
    if entries.is_empty() {
        return Err("it is not a tar archive, or an empty one".into());
    }
    Ok(with_directories(entries))
}

/// The path without `.`, doubled and leading slashes; `None` with `..`, when empty or too long.
pub(crate) fn clean_path(path: &str) -> Option<String> {
    let mut out = String::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return None,
            part => {
                if !out.is_empty() {
                    out.push('/');
                }
                out.push_str(part);
            }
        }
    }
    (!out.is_empty() && out.len() <= MAX_PATH && !out.contains('\0')).then_some(out)
}

/// Writes the archive. Owner, times and order are always the same, so equal hosts give equal archives.
pub(crate) fn write(entries: &BTreeMap<String, Entry>, out: &mut dyn Write) -> io::Result<()> {
    let mut builder = Builder::new(GzEncoder::new(out, Compression::default()));
    for (path, entry) in entries {
        let mut header = Header::new_gnu();
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        match entry {
            Entry::Directory => {
                header.set_entry_type(EntryType::Directory);
                header.set_mode(0o755);
                header.set_size(0);
                builder.append_data(&mut header, format!("{path}/"), io::empty())?;
            }
            Entry::Link(target) => {
                header.set_entry_type(EntryType::Symlink);
                header.set_mode(0o777);
                header.set_size(0);
                builder.append_link(&mut header, path, target)?;
            }
            Entry::File(bytes) => {
                header.set_entry_type(EntryType::Regular);
                header.set_mode(0o644);
                header.set_size(u64::try_from(bytes.len()).map_err(io::Error::other)?);
                builder.append_data(&mut header, path, bytes.as_slice())?;
            }
        }
    }
    builder.into_inner()?.finish()?.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive_of(entries: &[(&str, Entry)]) -> Vec<u8> {
        let entries = entries
            .iter()
            .map(|(path, entry)| ((*path).to_owned(), entry.clone()))
            .collect();
        let mut out = Vec::new();
        write(&entries, &mut out).expect("writes to memory");
        out
    }

    #[test]
    fn an_archive_is_read_back() {
        let long = format!("sys/{}", "x/".repeat(150) + "size");
        let entries = [
            ("a/b", Entry::File(b"text".into())),
            ("a/c", Entry::Link("../somewhere".into())),
            ("a/d", Entry::Directory),
            (long.as_str(), Entry::File(b"1".into())),
        ];
        let bytes = archive_of(&entries);
        let back = read(&mut bytes.as_slice()).expect("reads");
        for (path, entry) in entries {
            assert_eq!(back.get(path), Some(&entry), "{path}");
        }
        assert_eq!(back.get("a"), Some(&Entry::Directory));
    }

    #[test]
    fn a_bomb_is_refused_without_filling_memory() {
        let mut bomb = GzEncoder::new(Vec::new(), Compression::default());
        let mut header = Header::new_gnu();
        header.set_path("sys/block/sda/size").expect("short path");
        header.set_size(1 << 40);
        header.set_entry_type(EntryType::Regular);
        header.set_cksum();
        bomb.write_all(header.as_bytes()).expect("memory");
        for _ in 0..80 {
            bomb.write_all(&vec![b'0'; 1 << 20]).expect("memory");
        }
        let bomb = bomb.finish().expect("memory");
        assert!(read(&mut bomb.as_slice()).is_err());
    }

    #[test]
    fn paths_that_lead_outside_and_garbage_are_refused() {
        let mut builder = Builder::new(Vec::new());
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..9].copy_from_slice(b"../escape");
        header.set_size(0);
        header.set_cksum();
        builder.append(&header, io::empty()).expect("memory");
        let bytes = builder.into_inner().expect("memory");
        let error = read(&mut bytes.as_slice()).expect_err("escapes");
        assert!(error.contains("leads outside"), "{error}");
        assert!(read(&mut &[0x55_u8; 5000][..]).is_err());
        assert!(read(&mut &b""[..]).is_err());
        assert!(read(&mut &[0x1f, 0x8b, 0, 0][..]).is_err());
    }
}
