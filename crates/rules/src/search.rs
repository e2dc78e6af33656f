//! Pages by words: what `straddle explain` prints for a code, a name, a title or any words.
//!
//! A page that is asked for by its code, name or title is the answer. Otherwise every page that contains all words is a hit: words in
//! the name count more than words in the summary, and these more than words in the text.

use crate::{Code, FOLKLORE, Folklore, RULES, Rule, by_code};

/// What people type, and what pages say.
const SHORT: &[(&str, &str)] = &[
    ("iodepth", "queue depth"),
    ("iu", "indirection unit"),
    ("qd", "queue depth"),
    ("rmw", "read-modify-write"),
];

/// A page that can be printed.
#[derive(Clone, Copy)]
pub enum Topic {
    /// The page of a rule.
    Rule(&'static Rule),
    /// The page about a belief.
    Folklore(&'static Folklore),
}

impl Topic {
    /// What to type to see the page: the code of a rule, the name of a belief.
    #[must_use]
    pub fn key(self) -> String {
        match self {
            Self::Rule(rule) => rule.code.to_string(),
            Self::Folklore(page) => page.name.to_owned(),
        }
    }

    /// The name in words joined by hyphens.
    const fn name(self) -> &'static str {
        match self {
            Self::Rule(rule) => rule.name,
            Self::Folklore(page) => page.name,
        }
    }

    /// The title: what a rule finds, or the belief.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Rule(rule) => rule.summary,
            Self::Folklore(page) => page.belief,
        }
    }

    fn text(self) -> String {
        match self {
            Self::Rule(rule) => rule.page.sections().map(|(_, text)| text).join("\n\n"),
            Self::Folklore(page) => page.truth.to_owned(),
        }
    }
}

/// The pages for `query`, best first: one if it is a code, a name or a title, otherwise all that contain its words.
#[must_use]
pub fn topics(query: &str) -> Vec<Topic> {
    let asked = Words::asked(query);
    if asked.0.is_empty() {
        return Vec::new();
    }
    if let Some(topic) = named(query) {
        return vec![topic];
    }
    // A code that no rule has is a slip, and no word to look for.
    if squeezed(query).parse::<Code>().is_ok() {
        return Vec::new();
    }
    let mut hits: Vec<(Rank, Topic)> = all()
        .filter_map(|topic| Some((rank(topic, &asked)?, topic)))
        .collect();
    // Stable: pages of one rank keep the order of their codes.
    hits.sort_by_key(|(rank, _)| *rank);
    hits.into_iter().map(|(_, topic)| topic).collect()
}

/// What is asked for in several words, in their order: pages by code or name, and words to look for.
///
/// `STR101 tracks` are two pages, `STR 101 202` two codes, `STR101 stripe unit` a page and two words. Words that are asked for together,
/// such as `mount point`, stay together: what is no list of pages is one query.
#[must_use]
pub fn questions(words: &[String]) -> Vec<String> {
    let query = words.join(" ");
    if named(&query).is_some() {
        return vec![query];
    }
    let parts: Vec<&str> = words
        .iter()
        .flat_map(|word| word.split([',', ';']))
        .flat_map(str::split_whitespace)
        .collect();
    let mut asked: Vec<String> = Vec::new();
    let mut rest: Vec<&str> = Vec::new();
    let mut after_code = false;
    for part in &parts {
        let is_number = part.len() == 3 && part.bytes().all(|byte| byte.is_ascii_digit());
        if part.eq_ignore_ascii_case("str") {
            after_code = true;
        } else if is_number && after_code {
            asked.push(format!("STR{part}"));
        } else if !is_number && squeezed(part).parse::<Code>().is_ok() {
            asked.push((*part).to_owned());
            after_code = true;
        } else {
            rest.push(part);
            after_code = false;
        }
    }
    // Names in a row, each as it was given: `tracks "mount point"`.
    let names = words.iter().flat_map(|word| word.split([',', ';']));
    let names: Vec<&str> = names
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    if names.len() > 1 && names.iter().all(|name| named(name).is_some()) {
        return names.into_iter().map(str::to_owned).collect();
    }
    if asked.is_empty() {
        return vec![query];
    }
    match rest.iter().all(|word| named(word).is_some()) {
        true => asked.extend(rest.into_iter().map(str::to_owned)),
        false => asked.push(rest.join(" ")),
    }
    asked
}

/// Up to three pages whose code or name is spelled most like `query`; failing that, those with most of its words.
#[must_use]
pub fn nearest(query: &str) -> Vec<Topic> {
    let whole = squeezed(query);
    let words = Words::asked(query).0;
    let mut near: Vec<(usize, Topic)> = all()
        .filter_map(|topic| {
            let whole = [squeezed(&topic.key()), squeezed(topic.name())]
                .into_iter()
                .filter_map(|name| slips(&whole, &name));
            let name = Words::of(topic.name()).0;
            let single = words
                .iter()
                .flat_map(|word| name.iter().filter_map(|other| slips(word, other)));
            Some((whole.chain(single).min()?, topic))
        })
        .collect();
    near.sort_by_key(|(slips, _)| *slips);
    if near.is_empty() {
        near = with_nearly_all_words(&words);
    }
    near.into_iter().take(3).map(|(_, topic)| topic).collect()
}

/// Pages with some of the words, by how many they lack.
fn with_nearly_all_words(words: &[String]) -> Vec<(usize, Topic)> {
    let lacking = |topic: Topic| {
        let text = Words::of(&format!(
            "{} {} {}",
            topic.name(),
            topic.summary(),
            topic.text()
        ))
        .0;
        words.iter().filter(|word| !text.contains(word)).count()
    };
    let mut found: Vec<(usize, Topic)> = all()
        .map(|topic| (lacking(topic), topic))
        .filter(|(lacking, _)| *lacking < words.len())
        .collect();
    found.sort_by_key(|(lacking, _)| *lacking);
    found
}

fn all() -> impl Iterator<Item = Topic> {
    let rules = RULES.iter().map(|rule| Topic::Rule(rule));
    rules.chain(FOLKLORE.iter().map(Topic::Folklore))
}

/// The page that has `query` as its code, name or title; hyphens, blanks and a plural do not matter.
fn named(query: &str) -> Option<Topic> {
    let whole = squeezed(query);
    if let Some(rule) = whole.parse::<Code>().ok().and_then(by_code) {
        return Some(Topic::Rule(rule));
    }
    let same = |text: &str| singular(&squeezed(text)) == singular(&whole);
    // A belief's short name goes before a rule's.
    FOLKLORE
        .iter()
        .map(Topic::Folklore)
        .chain(all())
        .find(|topic| same(topic.name()) || same(topic.summary()))
}

/// How well a page fits, the best least: where the words are, whether they stand together there, and how often (negative).
type Rank = (u8, bool, i64);

fn rank(topic: Topic, asked: &Words) -> Option<Rank> {
    let name = Words::of(topic.name());
    let title = Words::of(&format!("{} {}", topic.name(), topic.summary()));
    let text = Words::of(&format!(
        "{} {} {} {}",
        topic.key(),
        topic.name(),
        topic.summary(),
        topic.text()
    ));
    let fields = [name, title, text];
    let place = fields.iter().position(|words| words.have_all(asked))?;
    let together = fields.get(place)?.together(asked) > 0;
    let often = fields.last()?.together(asked);
    Some((
        u8::try_from(place).unwrap_or(u8::MAX),
        !together,
        -i64::try_from(often).unwrap_or(i64::MAX),
    ))
}

/// The words of a text in lower case and in the singular. Numbers are words of their own, and units of size have one spelling: `64K`,
/// `64 KB` and `64 KiB` are the same two words.
struct Words(Vec<String>);

impl Words {
    fn of(text: &str) -> Self {
        let mut words: Vec<String> = Vec::new();
        let mut last = None;
        for c in text.chars() {
            let kind = Kind::of(c);
            match (kind, words.last_mut()) {
                (None, _) => {}
                (Some(_), Some(word)) if last == kind => word.extend(c.to_lowercase()),
                (Some(_), _) => words.push(c.to_lowercase().collect()),
            }
            last = kind;
        }
        let mut after_number = false;
        for word in &mut words {
            let number = word.chars().all(char::is_numeric);
            let unit = match word.as_str() {
                "k" | "kb" | "kib" => Some("kib"),
                "m" | "mb" | "mib" => Some("mib"),
                "g" | "gb" | "gib" => Some("gib"),
                _ => None,
            };
            *word = match unit {
                Some(unit) if after_number => unit.to_owned(),
                _ => singular(word).to_owned(),
            };
            after_number = number;
        }
        Self(words)
    }

    /// Of a query, with short words as pages spell them.
    fn asked(query: &str) -> Self {
        let long = |word: String| {
            let mut short = SHORT.iter();
            match short.find(|(short, _)| *short == word) {
                Some((_, long)) => Self::of(long).0,
                None => vec![word],
            }
        };
        Self(Self::of(query).0.into_iter().flat_map(long).collect())
    }

    fn have_all(&self, asked: &Self) -> bool {
        asked.0.iter().all(|word| self.0.contains(word))
    }

    /// How many times the words stand together in their order.
    fn together(&self, asked: &Self) -> usize {
        self.0
            .windows(asked.0.len().max(1))
            .filter(|words| *words == asked.0)
            .count()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Letter,
    Digit,
}

impl Kind {
    fn of(c: char) -> Option<Self> {
        match c {
            c if c.is_numeric() => Some(Self::Digit),
            c if c.is_alphanumeric() => Some(Self::Letter),
            _ => None,
        }
    }
}

/// Without the plural's ending; words of up to three letters are left as they are.
fn singular(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem,
        _ => word,
    }
}

/// Letters and digits only, in lower case.
fn squeezed(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// How many letters differ, if few enough for a slip of the keyboard: one in three.
fn slips(a: &str, b: &str) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let most = a.len().max(b.len()) / 3;
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    // Distances from what was read of `a` to each beginning of `b`.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (read, x) in a.iter().enumerate() {
        let mut next = vec![read + 1];
        for (y, pair) in b.iter().zip(row.windows(2)) {
            if let ([left, above], Some(before)) = (pair, next.last()) {
                let kept = left + usize::from(x != y);
                next.push(kept.min(above + 1).min(before + 1));
            }
        }
        row = next;
    }
    row.last().copied().filter(|slips| *slips <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(query: &str) -> Vec<String> {
        topics(query).into_iter().map(Topic::key).collect()
    }

    #[test]
    fn every_code_name_and_title_finds_its_own_page() {
        for topic in all() {
            assert_eq!(keys(&topic.key()), [topic.key()]);
            assert_eq!(keys(topic.name()), [topic.key()]);
            assert_eq!(keys(&topic.name().replace('-', " ")), [topic.key()]);
            assert_eq!(keys(topic.summary()), [topic.key()]);
        }
    }

    #[test]
    fn names_of_pages_are_not_shared() {
        for topic in all() {
            let same = all().filter(|other| squeezed(other.name()) == squeezed(topic.name()));
            assert_eq!(same.count(), 1, "{}", topic.name());
        }
    }

    #[test]
    fn spelling_does_not_matter() {
        for query in ["str101", " STR 101 ", "STR-101"] {
            assert_eq!(keys(query), ["STR101"], "{query}");
        }
        for query in ["mount point", "Mount Points", "mount-point", "mountpoint"] {
            assert_eq!(keys(query), ["mount-point"], "{query}");
        }
        assert_eq!(keys("1 MiB"), ["1mib"]);
        assert_eq!(keys("64K"), keys("64 KiB"));
        assert_eq!(keys("64 kb"), keys("64 KiB"));
    }

    #[test]
    fn words_in_the_name_go_before_the_summary_and_the_text() {
        let found = topics("stripe unit");
        let asked = Words::of("stripe unit");
        let ranks: Vec<u8> = found
            .iter()
            .map(|topic| rank(*topic, &asked).expect("a hit").0)
            .collect();
        assert!(ranks.is_sorted(), "{ranks:?}");
        assert!([0, 1, 2].iter().all(|place| ranks.contains(place)));
        assert!(found.len() < all().count());
    }

    #[test]
    fn short_words_are_those_that_pages_spell_out() {
        for (short, long) in SHORT {
            let found = keys(short);
            assert!(!found.is_empty(), "{short}");
            assert_eq!(found, keys(long), "{short}");
            // What a page says itself needs no entry.
            let said = |topic: Topic| {
                let text = format!("{} {} {}", topic.name(), topic.summary(), topic.text());
                Words::of(&text).0.iter().any(|word| word == short)
            };
            assert!(!all().any(said), "{short}");
        }
        assert_eq!(keys("RMW partition"), keys("read-modify-write partition"));
        let near =
            |query: &str| -> Vec<String> { nearest(query).into_iter().map(Topic::key).collect() };
        assert_eq!(near("qd xyzzyplugh"), near("queue depth xyzzyplugh"));
        assert!(!near("qd xyzzyplugh").is_empty());
    }

    #[test]
    fn all_words_must_be_there() {
        assert!(keys("stripe xyzzy").is_empty());
        assert!(keys("").is_empty() && keys(" - ").is_empty());
        assert!(keys("STR999").is_empty());
    }

    #[test]
    fn several_codes_and_names_are_several_questions() {
        let asked = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            questions(&words)
        };
        assert_eq!(asked(&["STR101", "str202"]), ["STR101", "str202"]);
        assert_eq!(asked(&["STR101,STR202"]), ["STR101", "STR202"]);
        assert_eq!(asked(&["STR", "101", "202"]), ["STR101", "STR202"]);
        assert_eq!(asked(&["tracks", "bigger"]), ["tracks", "bigger"]);
        assert_eq!(asked(&["STR101", "tracks"]), ["STR101", "tracks"]);
        assert_eq!(asked(&["tracks", "mount point"]), ["tracks", "mount point"]);
        assert_eq!(asked(&["STR101", "thin", "pool"]), ["STR101", "thin pool"]);
        // One page, or words that are looked for together.
        assert_eq!(asked(&["mount", "point"]), ["mount point"]);
        assert_eq!(asked(&["stripe", "unit"]), ["stripe unit"]);
        assert_eq!(asked(&["STR", "101"]), ["STR 101"]);
        assert_eq!(asked(&["64", "KiB", "512"]), ["64 KiB 512"]);
    }

    #[test]
    fn the_nearest_pages_have_nearly_all_of_the_words() {
        let near: Vec<String> = nearest("bcache xyzzyplugh")
            .into_iter()
            .map(Topic::key)
            .collect();
        assert!(!near.is_empty(), "pages on bcache");
        for topic in nearest("bcache xyzzyplugh") {
            assert!(topic.text().contains("bcache"), "{}", topic.key());
        }
    }

    #[test]
    fn slips_of_the_keyboard_have_a_nearest_name() {
        let near =
            |query: &str| -> Vec<String> { nearest(query).into_iter().map(Topic::key).collect() };
        assert_eq!(near("trakcs").first().map(String::as_str), Some("tracks"));
        assert_eq!(near("STR999").first().map(String::as_str), Some("STR909"));
        assert!(near("xyzzyplugh").is_empty());
        assert!(!near("allignment").is_empty());
        assert_eq!(slips("kitten", "kittne"), Some(2));
        assert_eq!(slips("", ""), Some(0));
        assert_eq!(slips("abc", "xyz"), None);
    }
}
