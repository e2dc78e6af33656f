//! Finds a file by its path inside a filesystem that is not mounted, and says where its bytes lie.
//!
//! Each format brings a [`FileFinder`]; what they share is below: the result, the errors, and the walk from directory to
//! directory. Symbolic links are not followed: the error names where they lead.

mod found;
mod walk;

use crate::{Window, registry};

pub(crate) use found::Flaw;
pub use found::{FileFinder, FindError, FoundFile};
pub(crate) use walk::{Entry, Nearby, NodeKind, PathStyle, Tree, cleaned, walk};

/// Finds the file at `path` in the filesystem of the given format that fills the window.
///
/// `format` is the name of a prober or of a member of its family: `ntfs`, `ext`, `ext4`. NTFS takes both kinds of
/// slash, and a drive letter in front is ignored; what comes from Linux has only `/`.
///
/// # Errors
/// [`FindError`].
pub fn find_file(window: &Window<'_>, format: &str, path: &str) -> Result<FoundFile, FindError> {
    let family = format.trim_end_matches(|c: char| c.is_ascii_digit());
    let finder = registry::FILESYSTEMS
        .iter()
        .find(|prober| prober.name == format || prober.name == family)
        .and_then(|prober| prober.find);
    match finder {
        Some(find) => find(window, path),
        None => Err(FindError::NoFinder {
            format: format.to_owned(),
            supported: registry::FILESYSTEMS
                .iter()
                .filter(|prober| prober.find.is_some())
                .map(|prober| prober.name)
                .collect::<Vec<_>>()
                .join(", "),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_without_a_finder_say_which_have_one() {
        let bytes = vec![0; 16];
        let reader = straddle_io::Reader::new(&bytes);
        let window = Window::whole(&reader, None);
        let error = find_file(&window, "swap", "/a").expect_err("swap has no files");
        let text = error.to_string();
        assert!(
            text.starts_with("files are not looked for in swap; they are in ntfs"),
            "{text}"
        );
    }
}
