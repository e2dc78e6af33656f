//! ext2, ext3, ext4: the superblock at byte 1,024 says whether a journal is left to be replayed.
//!
//! ```text
//! 0x3a  state (2): 1 unmounted cleanly, 2 errors found, 4 orphans being recovered
//! 0x60  incompatible features (4): 0x4 the journal needs recovery
//! ```
//!
//! Source: Linux Documentation/filesystems/ext4/super.rst.

use straddle_io::ReadError;
use straddle_probe::Window;

const SUPERBLOCK: u64 = 1024;

pub(super) fn unclean(window: &Window<'_>) -> Result<Option<String>, ReadError> {
    let state = u16::from_le_bytes(window.get(SUPERBLOCK + 0x3a)?);
    let features = u32::from_le_bytes(window.get(SUPERBLOCK + 0x60)?);
    Ok(if features & 0x4 != 0 {
        Some("has a journal that was not replayed: it was not unmounted".to_owned())
    } else if state & 2 != 0 {
        Some("has recorded errors".to_owned())
    } else if state & 1 == 0 {
        Some("was not unmounted cleanly".to_owned())
    } else {
        None
    })
}
