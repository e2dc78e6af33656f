//! Phrases that pages for people, what the program prints and its sources do not use, and what they say instead. `docs/vocabulary.md` has the
//! reasons; a ✗ there stands behind every phrase of this list.

use std::path::Path;

use anyhow::{Context, Result};

/// Each phrase in lower case, its words one space apart, with what to write.
const PHRASES: &[(&str, &str)] = &[
    ("mend", "fix, repair"),
    ("mends", "fixes, repairs"),
    ("mended", "fixed, repaired"),
    ("mending", "fixing, repairing"),
    ("put right", "fixed, corrected"),
    ("anew", "again, re-created"),
    ("made again", "re-created"),
    ("held against", "compared with"),
    ("holds it against", "compares it with"),
    ("hold it against", "compare it with"),
    ("one against the other", "the two"),
    ("behind the other", "one after another"),
    ("no multiple of", "not a multiple of"),
    ("no whole number of", "not a whole number of"),
    ("dealt to", "striped over"),
    ("hindrance", "blocker, prerequisite"),
    ("facts home", "collects this host's configuration"),
    ("maimed", "corrupted, truncated"),
    ("told above", "shown above"),
    ("same coin", "has the same cost"),
    ("least severity", "minimum severity"),
    ("order of addresses", "access pattern"),
    ("requests are spread over", "working set"),
    ("exit status speaks", "only sets the exit status"),
];

/// The page and the source that list the phrases, and so use them.
const LISTS: [&str; 2] = ["docs/vocabulary.md", "xtask/src/docs/words.rs"];

/// What the program prints, as tests keep it.
const PRINTED: &str = "tests/cli/snapshots";

/// Identifiers, comments and messages.
const SOURCES: [&str; 5] = ["crates", "fuzz/fuzz_targets", "fuzz/src", "tests", "xtask"];

/// Each use in the repository's pages, in what the program prints and in its sources, as `FILE: line N: what to write`.
pub(super) fn faults() -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for page in ["README.md", "CONTRIBUTING.md", "SECURITY.md"] {
        look(Path::new(page), &mut faults)?;
    }
    below(Path::new("docs"), &["md"], &mut faults)?;
    below(Path::new(PRINTED), &["snap"], &mut faults)?;
    for folder in SOURCES {
        below(Path::new(folder), &["rs", "sh", "py"], &mut faults)?;
    }
    Ok(faults)
}

fn below(folder: &Path, endings: &[&str], faults: &mut Vec<String>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            below(&path, endings, faults)?;
        } else if path
            .extension()
            .is_some_and(|end| endings.iter().any(|ending| end == *ending))
            && LISTS.iter().all(|list| path != Path::new(list))
        {
            look(&path, faults)?;
        }
    }
    Ok(())
}

fn look(page: &Path, faults: &mut Vec<String>) -> Result<()> {
    let text = std::fs::read_to_string(page).with_context(|| page.display().to_string())?;
    for (number, line) in (1..).zip(text.lines()) {
        let page = page.display();
        faults.extend(used(line).map(|(phrase, instead)| {
            format!("{page}: line {number}: `{phrase}`: write {instead}")
        }));
    }
    Ok(())
}

/// The phrases in a line, as whole words.
fn used(line: &str) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let words = |text: &str| {
        let words = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty());
        format!(" {} ", words.collect::<Vec<_>>().join(" ").to_lowercase())
    };
    let line = words(line);
    PHRASES
        .iter()
        // Most lines have none: the text that is between spaces is only made for those that might.
        .filter(move |(phrase, _)| line.contains(phrase) && line.contains(&format!(" {phrase} ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_found_in_any_case() {
        let found = |line| used(line).map(|(phrase, _)| *phrase).collect::<Vec<_>>();
        assert_eq!(found("## Flash: Mend it now"), ["mend"]);
        assert_eq!(
            found("the table was made\tanew, and paid in the same coin"),
            ["anew", "same coin"]
        );
        assert_eq!(found("recommended: amend the table"), Vec::<&str>::new());
    }

    #[test]
    fn the_vocabulary_gives_the_reason_of_each() {
        let [vocabulary, _] = LISTS;
        let page = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("..")
            .join(vocabulary);
        let page = std::fs::read_to_string(page).expect("the vocabulary");
        let marked: Vec<&str> = page.lines().filter(|line| line.contains('✗')).collect();
        let marked = marked.join("\n");
        for (phrase, _) in PHRASES {
            let stem = if phrase.starts_with("mend") {
                "mend"
            } else {
                *phrase
            };
            assert!(marked.contains(stem), "`{phrase}` is not in {vocabulary}");
        }
    }
}
