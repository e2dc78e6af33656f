//! Generated parts of files that people write: what stands between a marker and the end that follows it, each on a line by itself.

use anyhow::{Result, bail, ensure};

/// The end of a region in Markdown.
pub(super) const END: &str = "<!-- end -->";
/// The end of a region in TOML.
pub(super) const END_TOML: &str = "# end";

/// `text` with `new` between the line `marker` and the next line that is its end.
pub(super) fn replaced(text: &str, marker: &str, new: &str) -> Result<String> {
    let (comment, end) = if marker.starts_with('#') {
        ("# ", END_TOML)
    } else {
        ("<!-- ", END)
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut places = (0..).zip(&lines).filter(|(_, line)| line.trim() == marker);
    let Some((begin, _)) = places.next() else {
        bail!("{marker} is missing");
    };
    ensure!(places.next().is_none(), "{marker} is there twice");
    let (before, rest) = lines.split_at(begin + 1);
    // What is generated has no comment of its own, so the next one closes the region or begins another inside it.
    let next = (0..).zip(rest).find(|(_, line)| line.starts_with(comment));
    match next {
        Some((at, line)) if line.trim() == end => Ok(format!(
            "{}\n{}\n{}",
            before.concat(),
            new,
            rest[at..].concat()
        )),
        Some((_, line)) => bail!("{marker} has {} before its {end}", line.trim()),
        None => bail!("{marker} has no {end}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Page\n<!-- a -->\n\nold\n\n<!-- end -->\nprose\n<!-- b -->\n<!-- end -->\nlast `<!-- a -->`\n";

    #[test]
    fn what_stands_between_is_replaced_and_all_else_stays() {
        let page = replaced(PAGE, "<!-- a -->", "new\n").expect("a region");
        assert_eq!(page, PAGE.replace("old", "new"));
        assert_eq!(replaced(&page, "<!-- a -->", "new\n").ok(), Some(page));
        let filled = replaced(PAGE, "<!-- b -->", "new\n").expect("an empty region");
        assert_eq!(
            filled,
            PAGE.replace("<!-- b -->\n", "<!-- b -->\n\nnew\n\n")
        );
    }

    #[test]
    fn toml_has_comments_of_its_own() {
        let text = "x = 1\n# a\n[[old]]\n# end\n[last]\n";
        let new = replaced(text, "# a", "[[new]]\n").expect("a region");
        assert_eq!(new, "x = 1\n# a\n\n[[new]]\n\n# end\n[last]\n");
    }

    #[test]
    fn a_region_that_is_not_closed_missing_double_or_nested_is_refused() {
        for (text, fault) in [
            ("prose `<!-- a -->` <!-- a -->\n", "<!-- a --> is missing"),
            ("<!-- a -->\nold\n", "<!-- a --> has no <!-- end -->"),
            (
                "<!-- a -->\n<!-- b -->\n<!-- end -->\n<!-- end -->\n",
                "<!-- a --> has <!-- b --> before its <!-- end -->",
            ),
            (
                "<!-- a -->\n<!-- end -->\n<!-- a -->\n<!-- end -->\n",
                "<!-- a --> is there twice",
            ),
        ] {
            let error = replaced(text, "<!-- a -->", "new").expect_err(text);
            assert_eq!(error.to_string(), fault);
        }
    }
}
