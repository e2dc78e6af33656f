//! The table of fdisk and sfdisk: which word of a row is what, by the names of the columns or by the shape of the row.

use crate::captured::number;
use crate::captured::text::Line;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// The partition's node, where `-o` put it behind something else.
    Device,
    Boot,
    Start,
    End,
    /// In sectors, or in whatever starts are counted in.
    Count,
    Blocks,
    Size,
    Id,
    Type,
    Ignored,
}

/// The names of the columns in English. Translations are read by the shape of their rows.
const COLUMNS: [(&str, Column); 22] = [
    ("Boot", Column::Boot),
    ("Start", Column::Start),
    ("StartLBA", Column::Start),
    ("End", Column::End),
    ("EndLBA", Column::End),
    ("Sectors", Column::Count),
    ("#sectors", Column::Count),
    ("#cyls", Column::Ignored),
    ("MiB", Column::Ignored),
    ("Cylinders", Column::Ignored),
    ("Blocks", Column::Blocks),
    ("#blocks", Column::Blocks),
    ("Size", Column::Size),
    ("Id", Column::Id),
    ("Type", Column::Type),
    ("System", Column::Type),
    ("Name", Column::Type),
    ("Type-UUID", Column::Ignored),
    ("UUID", Column::Ignored),
    ("StartCHS", Column::Ignored),
    ("EndCHS", Column::Ignored),
    ("Attrs", Column::Ignored),
];

/// Columns whose values may have blanks in them.
const LOOSE: [Column; 1] = [Column::Type];

/// The columns behind that of the device, when this is a heading in English. One that stands elsewhere is among them.
pub(super) fn columns(line: &Line<'_>) -> Option<Vec<Column>> {
    let words = line.text.split_whitespace().take(32);
    let known = |word: &str| COLUMNS.iter().find(|(name, _)| *name == word);
    let of = |word: &str| match word {
        "Device" => Column::Device,
        word => known(word).map_or(Column::Ignored, |(_, column)| *column),
    };
    let mut found: Vec<Column> = words.clone().map(of).collect();
    match found.iter().position(|column| *column == Column::Device)? {
        0 => drop(found.remove(0)),
        at if words.take(at).all(|word| known(word).is_some()) => {}
        _ => return None,
    }
    found.contains(&Column::Start).then_some(found)
}

/// A figure, with what its mark says of how it was rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Figure {
    pub(super) count: u64,
    pub(super) mark: Option<char>,
}

fn figure(word: &str) -> Option<Figure> {
    let mark = word.chars().last().filter(|c| matches!(c, '+' | '-'));
    let count = number::whole(word.trim_end_matches(['+', '-']))?;
    Some(Figure { count, mark })
}

/// A line of the table.
pub(super) struct Row<'t> {
    pub(super) line: Line<'t>,
    /// `/dev/sda1`.
    pub(super) node: &'t str,
    pub(super) start: Option<Figure>,
    pub(super) end: Option<Figure>,
    pub(super) count: Option<u64>,
    pub(super) blocks: Option<Figure>,
    /// Size for people.
    pub(super) size: Option<&'t str>,
    /// The type byte, where the table is an MBR's.
    pub(super) id: Option<&'t str>,
    /// What the type is called.
    pub(super) kind: Option<String>,
}

fn is_id(word: &str) -> bool {
    word.len() <= 2 && !word.is_empty() && word.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_size(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.ends_with(['B', 'K', 'M', 'G', 'T', 'P'])
        && number::shown(word, number::Prefix::Binary, number::Rounding::Any).is_some()
}

/// How many units from the first to the last.
fn span(start: Option<Figure>, end: Option<Figure>) -> Option<u64> {
    end?.count.checked_sub(start?.count)?.checked_add(1)
}

impl<'t> Row<'t> {
    fn new(line: Line<'t>, node: &'t str) -> Row<'t> {
        Row {
            line,
            node,
            start: None,
            end: None,
            count: None,
            blocks: None,
            size: None,
            id: None,
            kind: None,
        }
    }

    /// How many units from the first to the last.
    pub(super) fn span(&self) -> Option<u64> {
        span(self.start, self.end)
    }

    /// An entry that is not used: old sfdisk lists all four.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_some_and(|blocks| blocks.count == 0)
            || self.count == Some(0)
            || self.id == Some("0")
    }

    fn set(&mut self, column: Column, word: &'t str) {
        match column {
            Column::Start => self.start = figure(word),
            Column::End => self.end = figure(word),
            Column::Count => self.count = figure(word).map(|figure| figure.count),
            Column::Blocks => self.blocks = figure(word),
            Column::Size => self.size = is_size(word).then_some(word),
            Column::Id => self.id = is_id(word).then_some(word),
            Column::Device | Column::Boot | Column::Ignored => {}
            Column::Type => match &mut self.kind {
                Some(kind) => {
                    kind.push(' ');
                    kind.push_str(word);
                }
                None => self.kind = Some(word.to_owned()),
            },
        }
    }

    /// By the names of the columns. Behind a column with blanks in it, words are counted from the end.
    fn by_name(&mut self, words: &[&'t str], columns: &[Column]) {
        let mark = words.first().is_some_and(|word| is_mark(word));
        let columns: Vec<Column> = columns
            .iter()
            .copied()
            .filter(|column| *column != Column::Boot)
            .collect();
        let words = if mark { &words[1..] } else { words };
        let loose = columns.iter().position(|column| LOOSE.contains(column));
        let fixed = loose.unwrap_or(columns.len()).min(words.len());
        for (column, word) in columns.iter().zip(&words[..fixed]) {
            self.set(*column, word);
        }
        let Some(loose) = loose.filter(|loose| *loose < words.len()) else {
            return;
        };
        let behind = &columns[loose + 1..];
        let figures = behind.iter().any(|column| {
            matches!(
                column,
                Column::Start | Column::End | Column::Count | Column::Blocks
            )
        });
        // Only figures are worth counting back for: columns of text may be empty.
        let back = if figures {
            behind.len().min(words.len() - loose)
        } else {
            0
        };
        let (kind, rest) = words[loose..].split_at(words.len() - loose - back);
        for word in kind {
            self.set(columns[loose], word);
        }
        for (column, word) in behind.iter().zip(rest) {
            self.set(*column, word);
        }
    }

    /// By what stands where: `START END SECTORS SIZE [ID] TYPE`, `START END BLOCKS ID SYSTEM`, `START END COUNT BLOCKS ID SYSTEM`.
    fn by_shape(&mut self, words: &[&'t str]) {
        let mark = words.first().is_some_and(|word| is_mark(word));
        let words = if mark { &words[1..] } else { words };
        let [start, end, third, rest @ ..] = words else {
            return;
        };
        self.start = figure(start);
        self.end = figure(end);
        let fourth = rest.first().copied().unwrap_or_default();
        let third_is_count = figure(third).map(|f| f.count) == self.span();
        let rest = match figure(fourth).filter(|_| third_is_count) {
            // sfdisk before 2.26 has both, but for sectors. What is two characters long there is a type.
            Some(blocks) if !is_id(fourth) => {
                self.blocks = Some(blocks);
                &rest[1..]
            }
            _ if is_size(fourth) => {
                self.count = figure(third).map(|figure| figure.count);
                self.size = Some(fourth);
                &rest[1..]
            }
            _ if third_is_count => {
                self.count = figure(third).map(|figure| figure.count);
                rest
            }
            _ => {
                self.blocks = figure(third);
                rest
            }
        };
        let (id, kind) = match rest {
            [id, kind @ ..] if is_id(id) => (Some(*id), kind),
            kind => (None, kind),
        };
        self.id = id;
        self.kind = (!kind.is_empty()).then(|| kind.join(" "));
    }
}

fn is_mark(word: &str) -> bool {
    matches!(word, "*" | "?")
}

/// The disk of a partition's node: `/dev/sda` of `/dev/sda1`, `/dev/nvme0n1` of `/dev/nvme0n1p2`.
pub(in super::super) fn disk_of(node: &str) -> Option<&str> {
    let bare = node.trim_end_matches(|c: char| c.is_ascii_digit());
    if bare.len() == node.len() || bare.ends_with('/') {
        return None;
    }
    if let Some(disk) = bare.strip_suffix("-part") {
        return Some(disk);
    }
    match bare.strip_suffix('p') {
        Some(disk) if disk.ends_with(|c: char| c.is_ascii_digit()) || disk.contains("/mapper/") => {
            Some(disk)
        }
        _ if is_numbered(bare) => None,
        _ => Some(bare),
    }
}

/// A row of partitions, when the lines begin with one. How many lines it took.
pub(super) fn row<'t>(
    lines: &[Line<'t>],
    path: Option<&str>,
    columns: Option<&[Column]>,
) -> Option<(Row<'t>, usize)> {
    let line = *lines.first()?;
    let text = line.text.trim_start();
    // The screen of cfdisk marks the row that is chosen.
    let text = text.strip_prefix(">>").map_or(text, str::trim_start);
    if let Some(columns) = columns.filter(|columns| columns.contains(&Column::Device)) {
        return elsewhere(line, columns).map(|row| (row, 1));
    }
    if !text.starts_with('/') && path.is_none_or(|path| !text.starts_with(path)) {
        return None;
    }
    let from = path
        .filter(|path| text.starts_with(path))
        .map_or(0, str::len);
    let end = text[from..].find(char::is_whitespace);
    let end = end.map_or(text.len(), |end| from + end);
    // Squeezed copies glue the mark of the active partition to the name.
    let node = text[..end].trim_end_matches('*');
    if !node.ends_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut words: Vec<&str> = text[end..].split_whitespace().collect();
    let mut found = Row::new(line, node);
    let mut taken = 1;
    // Long names of devices had a line of their own.
    if words.is_empty()
        && let Some(next) = lines.get(1).filter(|next| next.text.starts_with(' '))
    {
        words = next.text.split_whitespace().collect();
        found.line = *next;
        taken = 2;
    }
    let figures = words.iter().filter(|word| figure(word).is_some()).count();
    // A heading that was cut has fewer names than its rows have words.
    let is_whole = |columns: &&[Column]| {
        words.len() <= columns.len() || columns.iter().any(|column| LOOSE.contains(column))
    };
    match columns.filter(is_whole) {
        Some(columns) => found.by_name(&words, columns),
        None => found.by_shape(&words),
    }
    // What fails by the names of the columns may be a row of another shape.
    if found.start.is_none() && columns.is_some() {
        found = Row {
            line: found.line,
            ..Row::new(line, node)
        };
        found.by_shape(&words);
    }
    (figures > 0 && found.start.is_some() || found.is_empty()).then_some((found, taken))
}

/// A row in which other columns stand before that of the device.
fn elsewhere<'t>(line: Line<'t>, columns: &[Column]) -> Option<Row<'t>> {
    let mut words: Vec<&str> = line.text.split_whitespace().collect();
    words.retain(|word| !is_mark(word));
    let at = words.iter().position(|word| word.starts_with('/'))?;
    let node = words.remove(at);
    if !node.ends_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let others: Vec<Column> = columns
        .iter()
        .copied()
        .filter(|column| *column != Column::Device)
        .collect();
    let mut found = Row::new(line, node);
    found.by_name(&words, &others);
    found.start.is_some().then_some(found)
}

/// True for a row that can stand alone: its figures fit each other, so that no other tool's output is taken for one.
pub(super) fn stands_alone(row: &Row<'_>) -> bool {
    let Some(span) = row.span().filter(|span| *span > 1) else {
        return false;
    };
    let blocks = row.blocks.map(|blocks| blocks.count);
    let by_blocks = blocks.is_some_and(|blocks| {
        let in_sectors = blocks == span / 2;
        // A cylinder has some hundred KiB up to 8 MiB.
        let per_unit = blocks / span;
        in_sectors || (128..=16_384).contains(&per_unit)
    });
    let typed = row.id.is_some() || row.size.is_some();
    // Three figures of which the last is how many there are from the first to the second: what awk leaves of the columns. Two could be
    // anything, such as what `df` counts.
    row.count == Some(span) || typed && by_blocks
}

/// What whole disks are called without their number: `/dev/md`, `/dev/mmcblk`, `/dev/nvme0n`.
fn is_numbered(bare: &str) -> bool {
    const DISKS: [&str; 10] = [
        "md", "dm-", "loop", "mmcblk", "nbd", "zd", "drbd", "rbd", "sr", "pmem",
    ];
    let name = bare.rsplit('/').next().unwrap_or(bare);
    let namespace = |name: &str| {
        let number = name.strip_prefix("nvme")?.strip_suffix('n')?;
        (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then_some(())
    };
    DISKS.contains(&name) || namespace(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line<'_> {
        Line { number: 1, text }
    }

    #[test]
    fn figures_that_fit_each_other_need_no_heading() {
        let alone = |text| {
            let lines = [Line { number: 1, text }];
            row(&lines, None, None).is_some_and(|(row, _)| stands_alone(&row))
        };
        assert!(alone("/dev/sda1 2048 1026047 1024000"));
        assert!(alone("/dev/sda1 * 63 1026047 1025985"));
        for text in [
            "/dev/sda1 2048 1026047",
            "/dev/sda1 2048 1026047 1024001",
            "/dev/sda1 20511312 1026047 18419328",
            "/dev/sda1 1026047 2048 1024000",
        ] {
            assert!(!alone(text), "{text}");
        }
    }

    #[test]
    fn rows_are_read_by_names_and_by_shape() {
        let heading = line("Device       Size     Start       End");
        let named = columns(&heading).expect("a heading");
        let text = [line("/dev/sdb2  297.9G    409641 625142783")];
        let (row, _) = row(&text, None, Some(&named)).expect("a row");
        assert_eq!(row.start.map(|f| f.count), Some(409_641));
        assert_eq!((row.size, row.node), (Some("297.9G"), "/dev/sdb2"));
        let heading = line("   Start Device    Boot Size");
        let named = columns(&heading).expect("a heading");
        let text = [line("  409642 /dev/sdd2 *    7.3T")];
        let (row, _) = super::row(&text, None, Some(&named)).expect("a row");
        assert_eq!(row.start.map(|f| f.count), Some(409_642));
        assert_eq!((row.size, row.node), (Some("7.3T"), "/dev/sdd2"));
        assert!(columns(&line("The Device Start")).is_none());
    }

    #[test]
    fn a_row_alone_has_to_add_up() {
        let alone = |text| {
            let text = [line(text)];
            row(&text, None, None).is_some_and(|(row, _)| stands_alone(&row))
        };
        assert!(alone(
            "/dev/sda1   *    63      208844      104391   83  Linux"
        ));
        assert!(alone(
            "/dev/sda2        14          77      514080   82  Linux swap"
        ));
        assert!(alone(
            "/dev/sda1   2048 206847  204800  100M  7 HPFS/NTFS/exFAT"
        ));
        // df, and rows of other disks' sizes.
        assert!(!alone("/dev/sda1   41152812 9100000 30000000 24% /"));
        assert!(!alone("/dev/sda1   41152812 9100000"));
        assert!(!alone("/dev/sda1   63 208844 104390 83 Linux"));
    }

    #[test]
    fn disks_of_nodes() {
        for (node, disk) in [
            ("/dev/sda12", Some("/dev/sda")),
            ("/dev/nvme0n1p2", Some("/dev/nvme0n1")),
            ("/dev/cciss/c0d0p1", Some("/dev/cciss/c0d0")),
            ("/dev/mapper/mpathap1", Some("/dev/mapper/mpatha")),
            ("/dev/disk/by-id/x-part3", Some("/dev/disk/by-id/x")),
            ("/dev/mmcblk0", None),
            ("/dev/nvme0n1", None),
            ("/dev/mmcblk0p1", Some("/dev/mmcblk0")),
            ("/dev/md0", None),
            ("/dev/md0p1", Some("/dev/md0")),
            ("/dev/sda", None),
        ] {
            assert_eq!(disk_of(node), disk, "{node}");
        }
    }
}
