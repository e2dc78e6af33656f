//! Whether a window is divided, for volumes that must know. It knows only tables and filesystems.

use super::ends::HEAD;
use super::filesystem::holds_a_filesystem;
use crate::Window;
use crate::registry::TABLES;

/// True when the window has a partition table with partitions.
pub(crate) fn is_divided(window: &Window<'_>) -> bool {
    TABLES
        .iter()
        .any(|table| matches!(table.run(window), Ok(Some(found)) if !found.children.is_empty()))
}

/// True when a table or a filesystem is recognised in the window, whatever metadata of a volume it has.
pub(crate) fn holds_anything(window: &Window<'_>) -> bool {
    window.prefetch(0, HEAD);
    is_divided(window) || holds_a_filesystem(window)
}
