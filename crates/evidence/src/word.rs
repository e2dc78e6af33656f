//! Words that readers look for: short ones, in short texts, so that making a searcher for one would take longer than the search.

/// Where a word begins in a text. Most texts have none, which the standard library tells soonest; then the word is looked for by the
/// byte of it that is rarest in logs.
pub(crate) fn find(text: &str, word: &str) -> Option<usize> {
    if !text.contains(word) {
        return None;
    }
    let (text, word) = (text.as_bytes(), word.as_bytes());
    let rarest = (0..).zip(word).min_by_key(|(_, byte)| frequency(**byte));
    let Some((offset, rarest)) = rarest else {
        return Some(0);
    };
    let places = text.get(offset..)?;
    memchr::memchr_iter(*rarest, places).find(|at| text[*at..].starts_with(word))
}

/// The parts before and behind a word.
pub(crate) fn split_once<'t>(text: &'t str, word: &str) -> Option<(&'t str, &'t str)> {
    let at = find(text, word)?;
    Some((&text[..at], &text[at + word.len()..]))
}

/// How often a byte stands in logs, roughly: capitals and signs less than letters, letters less than blanks.
const fn frequency(byte: u8) -> u8 {
    match byte {
        b'A'..=b'Z' | b'#' | b'%' | b'\'' | b'"' | b'<' | b'=' | b'[' | b']' | b'(' | b')' => 0,
        b'q' | b'x' | b'z' | b'j' | b'v' | b'w' | b'k' | b'b' | b'y' => 1,
        b'f' | b'g' | b'h' | b'p' | b'm' | b'u' | b'c' => 2,
        b'd' | b'l' | b'r' | b'n' | b's' | b'i' | b'o' | b'a' | b't' => 3,
        b'e' | b'/' | b':' | b'-' | b'.' | b',' | b'_' => 4,
        b'0'..=b'9' => 5,
        b' ' => 6,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_where_the_standard_library_finds_them() {
        let texts = [
            "",
            "e",
            "taking longer than",
            "a taking longer thah, taking longer than, taking longer than 15",
            "xx  Жx жЖ 所要 %%;",
            "aaaaaaab",
        ];
        let words = [
            "",
            "e",
            "n",
            "taking longer than",
            " than",
            "Ж",
            "жЖ",
            "要",
            "%);",
            "%;",
            "aab",
            "b",
            "xx ",
        ];
        for text in texts {
            for word in words {
                assert_eq!(find(text, word), text.find(word), "{word:?} in {text:?}");
                assert_eq!(
                    split_once(text, word),
                    text.split_once(word),
                    "{word:?} in {text:?}"
                );
            }
        }
    }
}
