use straddle_geometry::Access;

/// Longest request, in bytes: one more would not fit in 32 bits, and no device takes it.
pub const MAX_LEN: u64 = u32::MAX as u64;

/// The format of requests that are in no file. There are rows instead of lines, and no bytes.
pub const ROWS: &str = "rows";

/// Which step of its way through the system was recorded of a request. A recorder of blocks writes a line for each step; only those
/// of one step are judged, or each request would count several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// The recorder knows one step only, or does not say which.
    Recorded,
    /// Sent to the device (`D` of blkparse): after merging and splitting.
    Issued,
    /// Handed to the block layer (`Q`): before merging and splitting. All there is of a device that is made of others.
    Queued,
    /// Ended (`C`).
    Completed,
}

impl Event {
    /// In the order in which one is chosen where there are several: what reached the device comes first.
    pub const ALL: [Event; 4] = [
        Event::Recorded,
        Event::Issued,
        Event::Queued,
        Event::Completed,
    ];

    /// As it is written in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Event::Recorded => "recorded",
            Event::Issued => "issued",
            Event::Queued => "queued",
            Event::Completed => "completed",
        }
    }
}

/// One recorded request, as a reader hands it over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// What it was sent to, as the recorder names it.
    pub device: &'a [u8],
    /// The step that was recorded.
    pub event: Event,
    /// Read or write.
    pub access: Access,
    /// The first byte.
    pub start: u64,
    /// How many bytes: 1 to [`MAX_LEN`].
    pub len: u64,
    /// When, in nanoseconds from any beginning.
    pub time: Option<u64>,
}

impl Record<'_> {
    /// What it was sent to, as reports show it.
    #[must_use]
    pub fn device_name(&self) -> String {
        shown(self.device)
    }
}

/// As a report shows it: several columns are one name.
pub(crate) fn shown(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let name = name.trim();
    // The kernel's number of a device, major and minor, is written with a comma everywhere.
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if let Some((major, minor)) = name.split_once([',', ' ', '\t'])
        && is_number(major)
        && is_number(minor.trim_start())
    {
        return format!("{major},{}", minor.trim_start());
    }
    name.chars()
        .map(|c| match c {
            ',' | ';' | '\t' => '.',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}
