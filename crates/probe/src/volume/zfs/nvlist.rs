//! Name-value lists as ZFS writes them into its labels: XDR, high byte first.
//!
//! Source: OpenZFS `module/nvpair/nvpair.c` (description of the encodings at its beginning, `nvs_xdr_*`), `nvpair.h`; RFC 4506.
//! The other encoding, the memory of the machine that wrote it, is found in no label.
//!
//! ```text
//! 0       encoding: 1 = XDR
//! 1       byte order of the writer, of no meaning here
//! 4       version, flags (4 bytes each), then pairs until one with both lengths 0:
//!           encoded length, decoded length, name (length, bytes, padding to 4), type, number of elements, value
//! ```
//!
//! A list in a pair has version, flags and pairs again. Lists are kept flat and read without recursion; whatever a pair says of
//! its own length is compared with the bytes that it took.

/// Deepest list in a list: the label, the top-level vdev, what is being replaced in it, its disks make 5.
const MAX_DEPTH: usize = 16;
/// Most pairs; 112 KiB of bytes hold fewer.
const MAX_PAIRS: usize = 1 << 13;
/// Most lists; 255 disks are the most that one vdev has.
const MAX_LISTS: usize = 1 << 11;

/// The first four bytes of an encoded list, for either byte order of its writer, and its version and flags behind them.
pub(super) const MAGICS: [[u8; 12]; 2] = [
    [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
];

/// Why an nvlist was not read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// It goes on behind the bytes given.
    Cut,
    /// Something in it is wrong: where, and what.
    Wrong(usize, String),
}

/// What a pair holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// It is there: a boolean without a value.
    Present,
    /// A whole number of any width; of signed ones the bits.
    Number(u64),
    /// A text.
    Text(String),
    /// Whole numbers of 64 bits.
    Numbers(Vec<u64>),
    /// Lists, by their index.
    Lists(Vec<usize>),
    /// Something that nothing here asks for.
    Other,
}

/// A pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) name: String,
    pub(super) item: Item,
    /// Where the value lies in the encoded bytes, and its length.
    pub(super) at: (usize, usize),
}

/// All lists of an encoded list; the outermost is the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lists(Vec<Vec<Pair>>);

impl Lists {
    /// The first pair of list `list` with this name.
    pub(super) fn get(&self, list: usize, name: &str) -> Option<&Pair> {
        self.0.get(list)?.iter().find(|pair| pair.name == name)
    }

    /// The pairs of list `list`.
    pub(super) fn pairs(&self, list: usize) -> &[Pair] {
        self.0.get(list).map_or(&[], Vec::as_slice)
    }

    /// A whole number, and its pair.
    pub(super) fn number(&self, list: usize, name: &str) -> Option<(u64, &Pair)> {
        let pair = self.get(list, name)?;
        match pair.item {
            Item::Number(n) => Some((n, pair)),
            _ => None,
        }
    }

    /// A text, and its pair.
    pub(super) fn text(&self, list: usize, name: &str) -> Option<(&str, &Pair)> {
        let pair = self.get(list, name)?;
        match &pair.item {
            Item::Text(text) => Some((text, pair)),
            _ => None,
        }
    }

    /// The lists that a pair holds.
    pub(super) fn lists(&self, list: usize, name: &str) -> &[usize] {
        match self.get(list, name).map(|pair| &pair.item) {
            Some(Item::Lists(lists)) => lists,
            _ => &[],
        }
    }
}

/// A list that is being read: which, where the pair ends that holds it, and how many of its pair come after it.
struct Open {
    list: usize,
    end: usize,
    /// List and pair that it belongs to, and how many lists of that pair are still to come.
    holder: Option<(usize, usize, usize)>,
}

/// Reads the encoded list at the beginning of `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Result<Lists, Problem> {
    let mut input = Input { bytes, at: 4 };
    if bytes.first() != Some(&1) {
        return Err(Problem::Wrong(0, "encoding; expected 1, XDR".into()));
    }
    let mut all = Lists::default();
    input.list_head()?;
    all.0.push(Vec::new());
    let mut open = vec![Open {
        list: 0,
        end: usize::MAX,
        holder: None,
    }];
    let mut pairs = 0;
    while let Some(current) = open.last() {
        let (list, end) = (current.list, current.end);
        let start = input.at;
        let encoded = input.number()?;
        let decoded = input.number()?;
        if input.at > end {
            let detail = format!("a list goes on; expected the end of its pair at byte {end}");
            return Err(Problem::Wrong(start, detail));
        }
        if encoded == 0 && decoded == 0 {
            let closed = open.pop();
            let Some((holder, pair, left)) = closed.and_then(|open| open.holder) else {
                continue;
            };
            if left > 0 && input.at < end {
                input.list_head()?;
                open_list(&mut all, &mut open, holder, pair, end, left - 1)?;
            } else if left > 0 {
                let detail =
                    format!("{left} more lists are counted; expected none behind the pair");
                return Err(Problem::Wrong(input.at, detail));
            } else if input.at != end {
                let detail = format!("lists end here; expected their end at byte {end}");
                return Err(Problem::Wrong(input.at, detail));
            }
            continue;
        }
        pairs += 1;
        if pairs > MAX_PAIRS {
            let detail = format!("more than {MAX_PAIRS} pairs");
            return Err(Problem::Wrong(start, detail));
        }
        let len = usize::try_from(encoded).unwrap_or(usize::MAX);
        let pair_end = start.checked_add(len).filter(|pair_end| *pair_end <= end);
        let Some(pair_end) = pair_end else {
            let detail = format!("a pair of {encoded} bytes; expected no more than its list has");
            return Err(Problem::Wrong(start, detail));
        };
        let name = input.text()?;
        let kind = input.number()?;
        let count = usize::try_from(input.number()?).unwrap_or(usize::MAX);
        let at = input.at;
        let pair = Pair {
            name,
            item: Item::Other,
            at: (at, pair_end.saturating_sub(at)),
        };
        let Some(into) = all.0.get_mut(list) else {
            return Err(Problem::Wrong(start, "a pair of no list".into()));
        };
        into.push(pair);
        let index = into.len() - 1;
        let item = match kind {
            NVLIST | NVLIST_ARRAY => {
                if let Some(into) = all.0.get_mut(list).and_then(|pairs| pairs.get_mut(index)) {
                    into.item = Item::Lists(Vec::new());
                }
                if count > 0 {
                    input.list_head()?;
                    open_list(&mut all, &mut open, list, index, pair_end, count - 1)?;
                    continue;
                }
                Item::Lists(Vec::new())
            }
            _ => input.item(kind, count)?,
        };
        // A kind that is not read has to be stepped over; anything else must have taken what it said.
        if item == Item::Other && input.at <= pair_end {
            input.at = pair_end;
        }
        if input.at != pair_end {
            let detail = format!(
                "a pair of {encoded} bytes; expected {}, as its value takes",
                input.at.saturating_sub(start)
            );
            return Err(Problem::Wrong(start, detail));
        }
        if let Some(into) = all.0.get_mut(list).and_then(|pairs| pairs.get_mut(index)) {
            into.item = item;
        }
    }
    Ok(all)
}

/// Begins another list of the pair `pair` of list `holder`.
fn open_list(
    all: &mut Lists,
    open: &mut Vec<Open>,
    holder: usize,
    pair: usize,
    end: usize,
    left: usize,
) -> Result<(), Problem> {
    let list = all.0.len();
    if open.len() >= MAX_DEPTH || list >= MAX_LISTS {
        let detail = format!("more than {MAX_DEPTH} lists in each other, or {MAX_LISTS} in all");
        return Err(Problem::Wrong(end, detail));
    }
    all.0.push(Vec::new());
    let into = all.0.get_mut(holder).and_then(|pairs| pairs.get_mut(pair));
    if let Some(Item::Lists(lists)) = into.map(|pair| &mut pair.item) {
        lists.push(list);
    }
    open.push(Open {
        list,
        end,
        holder: Some((holder, pair, left)),
    });
    Ok(())
}

const BOOLEAN: u64 = 1;
const STRING: u64 = 9;
const UINT64_ARRAY: u64 = 16;
const NVLIST: u64 = 19;
const NVLIST_ARRAY: u64 = 20;

struct Input<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Input<'_> {
    fn take(&mut self, len: usize) -> Result<&[u8], Problem> {
        let end = self.at.checked_add(len).ok_or(Problem::Cut)?;
        let taken = self.bytes.get(self.at..end).ok_or(Problem::Cut)?;
        self.at = end;
        Ok(taken)
    }

    fn number_of(&mut self, len: usize) -> Result<u64, Problem> {
        let bytes = self.take(len)?;
        Ok(bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)))
    }

    /// The smallest thing in XDR: four bytes.
    fn number(&mut self) -> Result<u64, Problem> {
        self.number_of(4)
    }

    fn list_head(&mut self) -> Result<(), Problem> {
        let at = self.at;
        let version = self.number()?;
        self.number()?;
        match version {
            0 => Ok(()),
            _ => Err(Problem::Wrong(
                at,
                format!("version {version} of a list; expected 0"),
            )),
        }
    }

    fn text(&mut self) -> Result<String, Problem> {
        let len = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        let padding = len.wrapping_neg() % 4;
        let text = crate::record::printable(self.take(len)?);
        self.take(padding)?;
        Ok(text)
    }

    fn item(&mut self, kind: u64, count: usize) -> Result<Item, Problem> {
        Ok(match kind {
            BOOLEAN => Item::Present,
            // Bytes and numbers of up to 32 bits take four bytes each, and so does a boolean value.
            2..=6 | 21..=23 if count == 1 => Item::Number(self.number()?),
            // Numbers of 64 bits, and times.
            7 | 8 | 18 if count == 1 => Item::Number(self.number_of(8)?),
            STRING if count == 1 => Item::Text(self.text()?),
            UINT64_ARRAY => {
                let said = self.number()?;
                if usize::try_from(said) != Ok(count) {
                    let detail = format!("{said} numbers; expected {count}");
                    return Err(Problem::Wrong(self.at, detail));
                }
                let bytes = count.checked_mul(8).ok_or(Problem::Cut)?;
                let all = self.take(bytes)?.chunks_exact(8);
                let number = |b: &[u8]| b.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
                Item::Numbers(all.map(number).collect())
            }
            _ => Item::Other,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Writes lists, for tests: pairs are appended to, and lists made of, plain bytes.
    pub(crate) fn pair(name: &str, kind: u32, count: u32, value: &[u8]) -> Vec<u8> {
        let mut body = u32::try_from(name.len())
            .expect("short")
            .to_be_bytes()
            .to_vec();
        body.extend(name.as_bytes());
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(kind.to_be_bytes());
        body.extend(count.to_be_bytes());
        body.extend(value);
        let len = u32::try_from(body.len() + 8).expect("short");
        [&len.to_be_bytes()[..], &[0, 0, 0, 64], &body].concat()
    }

    pub(crate) fn number(name: &str, n: u64) -> Vec<u8> {
        pair(name, 8, 1, &n.to_be_bytes())
    }

    pub(crate) fn text(name: &str, text: &str) -> Vec<u8> {
        let mut value = u32::try_from(text.len())
            .expect("short")
            .to_be_bytes()
            .to_vec();
        value.extend(text.as_bytes());
        value.resize(value.len().next_multiple_of(4), 0);
        pair(name, 9, 1, &value)
    }

    pub(crate) fn list(pairs: &[Vec<u8>]) -> Vec<u8> {
        [&[0, 0, 0, 0, 0, 0, 0, 1][..], &pairs.concat(), &[0; 8]].concat()
    }

    pub(crate) fn encoded(pairs: &[Vec<u8>]) -> Vec<u8> {
        [&[1, 1, 0, 0][..], &list(pairs)].concat()
    }

    fn wrong(bytes: &[u8]) -> String {
        match parse(bytes) {
            Err(Problem::Wrong(at, what)) => format!("{at}: {what}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn numbers_texts_and_lists_are_found_by_name() {
        let child = |id| list(&[number("id", id), text("path", "/dev/sda")]);
        let bytes = encoded(&[
            number("version", 5000),
            pair("here", 1, 0, &[]),
            pair("bytes", 10, 4, &[0, 0, 0, 4, 1, 2, 3, 4]),
            pair(
                "holes",
                16,
                2,
                &[0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3],
            ),
            pair(
                "tree",
                19,
                1,
                &list(&[pair("children", 20, 2, &[child(0), child(1)].concat())]),
            ),
            text("name", "tank"),
        ]);
        let lists = parse(&bytes).expect("sound");
        assert_eq!(lists.number(0, "version").map(|found| found.0), Some(5000));
        assert_eq!(
            lists.get(0, "here").map(|pair| &pair.item),
            Some(&Item::Present)
        );
        assert_eq!(
            lists.get(0, "bytes").map(|pair| &pair.item),
            Some(&Item::Other)
        );
        assert_eq!(
            lists.get(0, "holes").map(|pair| &pair.item),
            Some(&Item::Numbers(vec![1, 3]))
        );
        assert_eq!(lists.text(0, "name").map(|found| found.0), Some("tank"));
        let [tree] = lists.lists(0, "tree") else {
            panic!("one tree")
        };
        let children = lists.lists(*tree, "children");
        assert_eq!(children.len(), 2);
        let (id, pair) = lists.number(children[1], "id").expect("an id");
        assert_eq!(id, 1);
        assert_eq!(bytes[pair.at.0..][..pair.at.1], [0, 0, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn what_is_cut_off_asks_for_more() {
        let bytes = encoded(&[number("txg", 4), text("name", "tank")]);
        for len in 4..bytes.len() {
            assert_eq!(parse(&bytes[..len]), Err(Problem::Cut), "{len} bytes");
        }
    }

    #[test]
    fn hostile_lists_end_in_a_statement() {
        let mut deep = list(&[]);
        for _ in 0..20 {
            deep = list(&[pair("x", 19, 1, &deep)]);
        }
        let deep = [&[1, 1, 0, 0][..], &deep].concat();
        assert!(wrong(&deep).contains("more than 16 lists in each other"));

        let mut long = encoded(&[number("txg", 4)]);
        long[12..16].copy_from_slice(&[0, 0, 1, 0]);
        assert!(wrong(&long).contains("a pair of 256 bytes; expected 32"));
        let inner = list(&[number("id", 4)]);
        let mut escaping = encoded(&[pair("tree", 19, 1, &inner)]);
        let at = 12 + 8 + 8 + 8 + 8;
        escaping[at..at + 4].copy_from_slice(&[0, 0, 1, 0]);
        assert!(wrong(&escaping).contains("expected no more than its list has"));
        // A count that the bytes do not bear out sizes nothing.
        let many = encoded(&[pair("children", 20, u32::MAX, &list(&[]))]);
        assert!(wrong(&many).contains("more lists are counted"));
        let numbers = encoded(&[pair("holes", 16, u32::MAX, &u32::MAX.to_be_bytes())]);
        assert_eq!(parse(&numbers), Err(Problem::Cut));
        assert!(wrong(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).contains("encoding"));
    }
}
