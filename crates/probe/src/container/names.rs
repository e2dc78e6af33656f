//! Names of other files and of disks, as containers that were made on Windows record them.

/// Candidates for the place of a file, without repetition.
#[derive(Debug, Default)]
pub(crate) struct Names {
    found: Vec<String>,
}

impl Names {
    /// Adds a path; an empty one is left out.
    pub(crate) fn add(&mut self, path: &str) {
        let path = slashes(path);
        if !path.is_empty() && !self.found.contains(&path) {
            self.found.push(path);
        }
    }

    /// What was added, in that order, and at last the bare names of the files: copied containers often lie in one folder.
    pub(crate) fn finish(self) -> Vec<String> {
        let mut all = self.found;
        for index in 0..all.len() {
            let bare = all[index].rsplit('/').next().unwrap_or("").to_owned();
            if !bare.is_empty() && !all.contains(&bare) {
                all.push(bare);
            }
        }
        all
    }
}

/// The path with `/` between folders, without `./` at its beginning, `file://` or a Windows prefix for long paths.
fn slashes(path: &str) -> String {
    let path = path.trim_end_matches('\0');
    if let Some(url) = path.strip_prefix("file://") {
        return percent_decoded(url.strip_prefix("localhost").unwrap_or(url));
    }
    let path = path
        .strip_prefix(r"\\?\")
        .unwrap_or(path)
        .replace('\\', "/");
    let mut rest = path.as_str();
    while let Some(shorter) = rest.strip_prefix("./") {
        rest = shorter.trim_start_matches('/');
    }
    rest.to_owned()
}

/// `%20` and the like as the bytes that they stand for.
fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, more)) = rest.split_first() {
        let digit = |at: usize| char::from(*more.get(at)?).to_digit(16);
        if *byte == b'%'
            && let Some((high, low)) = digit(0).zip(digit(1))
        {
            out.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
            rest = &more[2..];
        } else {
            out.push(*byte);
            rest = more;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// UTF-16, low byte first, up to the first zero.
pub(crate) fn utf16_le(raw: &[u8]) -> String {
    utf16(raw, u16::from_le_bytes)
}

/// UTF-16, high byte first, up to the first zero.
pub(crate) fn utf16_be(raw: &[u8]) -> String {
    utf16(raw, u16::from_be_bytes)
}

fn utf16(raw: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = raw.as_chunks::<2>().0.iter().map(|pair| unit(*pair));
    char::decode_utf16(units.take_while(|unit| *unit != 0))
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_windows_become_paths() {
        let mut names = Names::default();
        names.add(".\\base\\parent.vhd");
        names.add("C:\\disks\\parent.vhd\0");
        names.add("\\\\?\\C:\\disks\\parent.vhd");
        names.add("..\\parent.vhd");
        names.add("");
        names.add("file:///Users/a%20b/50%/parent.vhd");
        assert_eq!(
            names.finish(),
            [
                "base/parent.vhd",
                "C:/disks/parent.vhd",
                "../parent.vhd",
                "/Users/a b/50%/parent.vhd",
                "parent.vhd"
            ]
        );
    }

    #[test]
    fn half_a_character_is_replaced() {
        assert_eq!(
            utf16_be(&[0, 0x41, 0xd8, 0, 0, 0x42, 0, 0, 0, 0x43]),
            "A\u{fffd}B"
        );
        assert_eq!(utf16_le(&[0x41, 0, 0x42]), "A");
    }
}
