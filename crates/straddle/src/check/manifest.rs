//! The checksums file of an appliance: what the members of an OVA should come to.

use std::io::{self, Read};
use std::ops::ControlFlow;

use super::boxed::Boxed;
use crate::geometry::Bytes;
use crate::sources::archive::Member;

/// As many bytes of an appliance are summed up: of the rest nothing is told, since all of it would be read, where a check reads its tables.
const MOST: Bytes = Bytes::mib(1024);
/// Most text of a checksums file.
const MAX_TEXT: u64 = 1 << 20;

/// What a checksums file says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    name: String,
    sums: Vec<Sum>,
}

/// One line of it: `SHA256(disk1.vmdk)= 0a1b…`.
#[derive(Debug, PartialEq, Eq)]
struct Sum {
    member: String,
    digest: Digest,
}

#[derive(Debug, PartialEq, Eq)]
enum Digest {
    Sha1(String),
    Sha256(String),
}

impl Manifest {
    /// Whether the beginning of a member is that of a checksums file.
    pub(super) fn is_one(begins: &[u8]) -> bool {
        let text = String::from_utf8_lossy(begins);
        text.lines()
            .next()
            .is_some_and(|line| sum(line).is_some() || line.starts_with("SHA"))
    }

    /// Reads one. Lines of other kinds of sums are passed over.
    pub(super) fn read(name: &str, begins: Vec<u8>, rest: &mut dyn Read) -> io::Result<Manifest> {
        let mut bytes = begins;
        rest.take(MAX_TEXT).read_to_end(&mut bytes)?;
        Ok(Manifest {
            name: name.to_owned(),
            sums: String::from_utf8_lossy(&bytes)
                .lines()
                .filter_map(sum)
                .collect(),
        })
    }

    /// The members whose sums are others, and what is wrong.
    ///
    /// # Errors
    /// When the archive cannot be read.
    pub(super) fn wrong(&self, boxed: &Boxed) -> io::Result<Vec<(String, String)>> {
        let mut wrong = Vec::new();
        let (mut left, mut found) = (MOST, 0);
        boxed.members(|member: Member<'_>| {
            let name = member.path.rsplit('/').next().unwrap_or(member.path);
            let sum = self.sums.iter().find(|sum| sum.member == name);
            found += usize::from(sum.is_some());
            if let (Some(Sum { digest, .. }), Some(rest)) = (sum, left.checked_sub(member.size)) {
                left = rest;
                let (kind, said) = match digest {
                    Digest::Sha1(said) => ("SHA-1", said),
                    Digest::Sha256(said) => ("SHA-256", said),
                };
                let is = digest.of(member.bytes)?;
                if is != *said {
                    let why = format!(
                        "its {kind} is {is}, and {} says {said}: it is damaged, or was changed; take the appliance again",
                        self.name
                    );
                    wrong.push((member.path.to_owned(), why));
                }
            }
            // What lies behind the last of them need not be unpacked.
            Ok(match found < self.sums.len() {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
        Ok(wrong)
    }
}

impl Digest {
    /// The same kind of sum of these bytes.
    fn of(&self, bytes: &mut dyn Read) -> io::Result<String> {
        let mut block = vec![0; 1 << 16];
        let mut each = |update: &mut dyn FnMut(&[u8])| {
            loop {
                match bytes.read(&mut block) {
                    Ok(0) => return Ok(()),
                    Ok(length) => update(&block[..length]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        };
        Ok(match self {
            Digest::Sha1(_) => {
                let mut hash = sha1_smol::Sha1::new();
                each(&mut |bytes| hash.update(bytes))?;
                hash.digest().to_string()
            }
            Digest::Sha256(_) => {
                let mut hash = hmac_sha256::Hash::new();
                each(&mut |bytes| hash.update(bytes))?;
                let bytes = hash.finalize();
                bytes.iter().map(|byte| format!("{byte:02x}")).collect()
            }
        })
    }
}

/// `SHA256(disk1.vmdk)= 0a1b…`; OVF Tool and VirtualBox set blanks differently.
fn sum(line: &str) -> Option<Sum> {
    let (kind, rest) = line.trim().split_once('(')?;
    let (member, digest) = rest.rsplit_once(')')?;
    let digest = digest.trim_start().strip_prefix('=')?.trim().to_lowercase();
    let is_hex = digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digest = match (kind.trim(), digest.len()) {
        ("SHA1", 40) if is_hex => Digest::Sha1(digest),
        ("SHA256", 64) if is_hex => Digest::Sha256(digest),
        _ => return None,
    };
    Some(Sum {
        member: member.trim().to_owned(),
        digest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_kinds_are_read_and_their_sums_computed() {
        // As `printf abc | sha1sum` and `sha256sum` print them.
        let one = "a9993e364706816aba3e25717850c26c9cd0d89d";
        let two = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        for (line, member, said) in [
            (format!("SHA1(vm-disk1.vmdk)= {one}"), "vm-disk1.vmdk", one),
            (
                format!("SHA1 (vm (2).vmdk) = {}\r", one.to_uppercase()),
                "vm (2).vmdk",
                one,
            ),
            (format!("SHA256(disk.vmdk)={two}"), "disk.vmdk", two),
        ] {
            let found = sum(&line).expect("a sum");
            assert_eq!(found.member, member);
            let is = found.digest.of(&mut b"abc".as_slice()).expect("reads");
            assert_eq!(is, said);
            let (Digest::Sha1(stated) | Digest::Sha256(stated)) = found.digest;
            assert_eq!(stated, said);
        }
        for line in [
            "",
            "SHA256(disk)=",
            "SHA256(disk)= xyz",
            "MD5(disk)= 00",
            "SHA1 disk",
        ] {
            assert_eq!(sum(line), None, "{line}");
        }
    }
}
