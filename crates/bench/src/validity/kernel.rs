//! Small files of the kernel, below a root.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Longest file that is read: `/proc/stat` of a machine with thousands of processors has some hundred KiB.
const MAX_BYTES: u64 = 4 << 20;

/// `/` of the machine, or of one made for a test.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    root: PathBuf,
}

impl Kernel {
    pub(crate) fn at(root: &Path) -> Kernel {
        Kernel {
            root: root.to_owned(),
        }
    }

    /// The text of a file without white space around it; `None` when there is none.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let file = File::open(self.root.join(path.trim_start_matches('/'))).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// A file that holds one number.
    pub(crate) fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// The names in a directory, sorted; none when there is none.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.root.join(path.trim_start_matches('/'))) else {
            return Vec::new();
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// The directory of a block device that is no partition. Sysfs writes `!` where the name has `/`.
    pub(crate) fn block(device: &str) -> String {
        format!("/sys/block/{}", device.replace('/', "!"))
    }

    /// The directory of the device that a partition is on: in sysfs it lies inside of that, and `class/block` links to it.
    pub(crate) fn parent_of_partition(partition: &str) -> String {
        format!("/sys/class/block/{}/..", partition.replace('/', "!"))
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use std::path::Path;

    /// Writes a file of a machine that is made for a test.
    pub(crate) fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().expect("below the root")).expect("directory");
        std::fs::write(path, text).expect("file");
    }
}
