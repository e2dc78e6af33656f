//! The text that describes a VMDK, changed without moving what is behind the change.
//!
//! A text cannot be written atomically, one sector can. So a change stays within a sector: a content identifier has eight digits before
//! and after, and what a longer number takes is taken from the comment that follows it.

/// Most bytes of a descriptor; a few hundred are usual.
pub(super) const MAX_BYTES: u64 = 2 << 20;
const SECTOR: usize = 512;

/// Bytes of the text to be written over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Patch {
    pub(super) at: usize,
    pub(super) bytes: Vec<u8>,
}

/// Lines with the place where each begins, up to the first zero byte.
fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let end = text
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(text.len());
    let mut at = 0;
    text.get(..end)
        .unwrap_or(&[])
        .split(|byte| *byte == b'\n')
        .map(move |line| {
            let start = at;
            at += line.len() + 1;
            (start, line)
        })
}

/// Gives the text another content identifier; `None` when it has none of eight digits.
pub(super) fn with_content_id(text: &[u8], id: u32) -> Option<Patch> {
    let (at, line) = lines(text).find(|(_, line)| {
        line.get(..4)
            .is_some_and(|name| name.eq_ignore_ascii_case(b"CID="))
    })?;
    let digits = line.get(4..12)?;
    let is_last = line.get(12).is_none_or(|next| !next.is_ascii_hexdigit());
    let id = match id {
        // No content, which is what a disk without a parent has for it.
        u32::MAX => 0,
        id => id,
    };
    (is_last && digits.iter().all(u8::is_ascii_hexdigit)).then(|| Patch {
        at: at + 4,
        bytes: format!("{id:08x}").into_bytes(),
    })
}

/// Gives the last extent the length of `sectors`; `None` where the text has no extent. `base` is where it lies in its file.
///
/// # Errors
/// Why that cannot be written at once.
pub(super) fn with_last_extent(
    text: &[u8],
    sectors: u64,
    base: usize,
) -> Result<Option<Patch>, String> {
    let is_extent = |line: &[u8]| {
        [&b"RW "[..], b"RDONLY ", b"NOACCESS "].iter().any(|word| {
            line.get(..word.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(word))
        })
    };
    let found = lines(text).filter(|(_, line)| is_extent(line)).last();
    let Some((start, line)) = found else {
        return Ok(None);
    };
    let skip = line
        .iter()
        .position(u8::is_ascii_digit)
        .ok_or("an extent without a length")?;
    let old = line.get(skip..).unwrap_or(&[]);
    let old = old.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (at, new) = (start + skip, sectors.to_string());
    let bytes = match new.len().checked_sub(old) {
        Some(0) => new.into_bytes(),
        Some(more) => {
            let comment = lines(text)
                .find(|(at, line)| *at > start && line.starts_with(b"#") && line.len() > more);
            let (comment, line) = comment.ok_or(
                "the number of its sectors gets another digit, and no comment behind it in the descriptor gives room",
            )?;
            let between = text
                .get(at + old..comment + line.len() - more)
                .unwrap_or(&[]);
            [new.as_bytes(), between].concat()
        }
        None => return Err("a disk that becomes shorter".to_owned()),
    };
    let (first, last) = (base + at, base + at + bytes.len() - 1);
    if first / SECTOR != last / SECTOR {
        return Err(format!(
            "the descriptor's line of the extent is at bytes {first} to {last}, in two sectors, which cannot be written at once"
        ));
    }
    Ok(Some(Patch { at, bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"# Disk DescriptorFile\nversion=1\nCID=0d249be9\nparentCID=ffffffff\ncreateType=\"x\"\n\n\
        # Extent description\nRW 2048 FLAT \"a.vmdk\" 0\nRW 99999 FLAT \"b 1.vmdk\" 0\n\n# The Disk Data Base\n#DDB\n\nddb.x = \"1\"\n\0CID=11111111\n";

    fn longer(text: &[u8], sectors: u64, base: usize) -> Result<Patch, String> {
        with_last_extent(text, sectors, base).map(|patch| patch.expect("has an extent"))
    }

    fn applied(patch: &Patch) -> Vec<u8> {
        let mut text = TEXT.to_vec();
        text[patch.at..patch.at + patch.bytes.len()].copy_from_slice(&patch.bytes);
        text
    }

    #[test]
    fn the_content_id_alone_is_changed() {
        let text = applied(&with_content_id(TEXT, 0x00c0_ffee).expect("there"));
        let wanted = String::from_utf8_lossy(TEXT).replace("0d249be9", "00c0ffee");
        assert_eq!(String::from_utf8_lossy(&text), wanted);
        assert!(with_content_id(b"CID=123\n", 1).is_none());
        assert!(with_content_id(b"CID=123456789\n", 1).is_none());
        assert!(with_content_id(b"parentCID=12345678\n", 1).is_none());
        let none = with_content_id(TEXT, u32::MAX).expect("there");
        assert_eq!(none.bytes, b"00000000");
    }

    #[test]
    fn a_longer_number_takes_its_digits_from_a_comment() {
        let text = applied(&longer(TEXT, 12_345, 0).expect("same digits"));
        assert_eq!(
            String::from_utf8_lossy(&text),
            String::from_utf8_lossy(TEXT).replace("99999", "12345")
        );
        let text = applied(&longer(TEXT, 1_234_567, 0).expect("two more"));
        let wanted = String::from_utf8_lossy(TEXT).replace("99999", "1234567");
        let wanted = wanted.replace("Data Base\n", "Data Ba\n");
        assert_eq!(String::from_utf8_lossy(&text), wanted);
    }

    #[test]
    fn what_lies_in_two_sectors_is_refused() {
        let error = longer(TEXT, 123_456, 512 - 140).expect_err("in two");
        assert!(error.contains("two sectors"), "{error}");
        let bare = b"RW 9 FLAT \"a\"\n";
        let error = longer(bare, 10, 0).expect_err("no room");
        assert!(error.contains("no comment"), "{error}");
        assert_eq!(with_last_extent(b"# nothing\n", 10, 0), Ok(None));
        assert!(longer(TEXT, 5, 0).is_err());
    }
}
