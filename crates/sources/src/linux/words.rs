//! Words in what the kernel says.

/// The value of `key=` in an answer of such words.
pub(crate) fn word<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_ascii_whitespace()
        .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// `MAJ:MIN`.
pub(crate) fn device_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
