//! All probers, in the order in which they are tried. The order is a decision; each list says why it is as it is.

use crate::Prober;
use crate::{database, filesystem, partition};

/// Partition tables of whole devices. GPT comes before MBR because every GPT disk also carries a (protective or hybrid)
/// MBR, which the GPT prober reads and compares itself.
pub static TABLES: &[&Prober] = &[&partition::mbr::PROBER];

/// Tables inside a partition of another table.
pub static NESTED_TABLES: &[&Prober] = &[];

/// Filesystems and swap.
pub static FILESYSTEMS: &[&Prober] = &[];

/// Database files: tried last and only on whole targets, because their signatures are the weakest.
pub static DATABASE_FILES: &[&Prober] = &[];

/// Every prober, for tests and documentation.
pub fn all() -> impl Iterator<Item = &'static Prober> {
    [TABLES, NESTED_TABLES, FILESYSTEMS, DATABASE_FILES]
        .into_iter()
        .flatten()
        .copied()
}
