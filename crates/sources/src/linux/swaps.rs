//! `/proc/swaps`.

/// The head of `/proc/swaps`, as far as its columns are used.
pub(super) const SWAPS_HEAD: &str = "Filename Type";

/// The partitions in `/proc/swaps`: their lines, as far as they are used, and their paths.
pub(super) fn swaps(text: &str) -> impl Iterator<Item = (String, &str)> {
    text.lines().skip(1).filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let path = words.next()?;
        let is_partition = words.next()? == "partition";
        is_partition.then(|| (format!("{path} partition"), path))
    })
}
