//! The columns of a table from bytes, by `straddle_io` as fast as this processor can, and byte by byte.

use straddle_io::{LINE_BREAK, Numbers, places, room};

/// Reads all behind the first four bytes as a table. Those say: the separator, how many columns a row has, and which three are numbers.
///
/// # Panics
/// When a place or a number is another than the slow way finds.
pub fn table(data: &[u8]) {
    let Some(([separator, count, which, from], text)) = data.split_first_chunk::<4>() else {
        return;
    };
    let from = usize::from(*from).min(text.len());
    let mut ends = vec![0; room(text.len())];
    let found = places(text, from, text.len(), *separator, &mut ends);
    let ends = &ends[..found];
    let place = |at: usize| u32::try_from(at).expect("fuzzers make short texts");
    let all = text.iter().enumerate().skip(from);
    let slowly = all.filter_map(|(at, byte)| match byte {
        b'\n' => Some(place(at) | LINE_BREAK),
        byte if byte == separator => Some(place(at)),
        _ => None,
    });
    assert!(slowly.eq(ends.iter().copied()));
    let count = usize::from(count % 10);
    let (first, second) = (which & 7, which >> 3 & 7);
    let columns = [first, second, second + (which >> 6)].map(usize::from);
    let Some(numbers) = Numbers::of(count, columns) else {
        return;
    };
    let mut out = vec![[0; 3]; ends.len()];
    let rows = numbers.read(text, from, ends, &mut out);
    let mut begin = from;
    for (ends, out) in ends.chunks(count).zip(&out[..rows]) {
        let is_break: Vec<bool> = ends.iter().map(|end| *end >= LINE_BREAK).collect();
        assert_eq!(is_break.iter().position(|is| *is), Some(count - 1));
        for (column, number) in columns.into_iter().zip(out) {
            let from = match column {
                0 => begin,
                _ => ends[column - 1] as usize + 1,
            };
            let cell = &text[from..(ends[column] & !LINE_BREAK) as usize];
            assert!(cell.iter().all(u8::is_ascii_digit));
            let cell = str::from_utf8(cell).expect("digits");
            assert_eq!(cell.parse(), Ok(*number));
        }
        begin = (ends[count - 1] & !LINE_BREAK) as usize + 1;
    }
}
