//! Whether a window holds a filesystem, for tables and volumes that must know. It knows only the filesystems.

use super::ends::HEAD;
use crate::Window;
use crate::registry::FILESYSTEMS;

/// True when any filesystem prober recognises the window; used to tell which sector size a table was written for.
pub(crate) fn holds_a_filesystem(window: &Window<'_>) -> bool {
    window.prefetch(0, HEAD);
    FILESYSTEMS
        .iter()
        .any(|prober| matches!(prober.run(window), Ok(Some(_))))
}

/// True when the window has the magic of a filesystem. Cheaper than [`holds_a_filesystem`], and less sure.
pub(crate) fn has_the_magic_of_a_filesystem(window: &Window<'_>) -> bool {
    window.prefetch(0, HEAD);
    FILESYSTEMS
        .iter()
        .any(|prober| matches!(prober.has_magic(window), Ok(true)))
}
