//! Pieces of scripts that are files of their own, which editors and shellcheck read.

/// A fragment with its values, each in place of `__name__`. A line that is nothing else is for whole lines, or none.
pub(super) fn filled(fragment: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(fragment.len());
    let mut rest = fragment;
    while let Some((before, behind)) = rest.split_once("__") {
        let name = behind.split_once("__").map(|(name, _)| name);
        let value = values.iter().find(|(known, _)| Some(*known) == name);
        debug_assert!(value.is_some(), "nothing to fill in: __{behind}");
        let Some((name, value)) = value else { break };
        out += before;
        rest = &behind[name.len() + 2..];
        if (out.is_empty() || out.ends_with('\n')) && (value.is_empty() || value.ends_with('\n')) {
            rest = rest.strip_prefix('\n').unwrap_or(rest);
        }
        out += value;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("a folder");
        let paths = entries.map(|entry| entry.expect("readable").path());
        let mut paths: Vec<PathBuf> = paths
            .filter(|path| path.extension().is_some_and(|found| found == extension))
            .collect();
        paths.sort();
        paths
    }

    fn scripts() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/script")
    }

    #[test]
    fn values_are_filled_in_once() {
        let text = filled("__a__ and __b__, a__b__\n", &[("a", "__b__"), ("b", "x")]);
        assert_eq!(text, "__b__ and x, ax\n");
        let lines = "1\n__more__\n2\n";
        assert_eq!(filled(lines, &[("more", "")]), "1\n2\n");
        assert_eq!(filled(lines, &[("more", "x\ny\n")]), "1\nx\ny\n2\n");
        assert_eq!(filled(lines, &[("more", "x")]), "1\nx\n2\n");
    }

    #[test]
    #[should_panic(expected = "nothing to fill in: __b__")]
    fn a_value_that_is_missing_is_noticed() {
        filled("__a__ __b__", &[("a", "x")]);
    }

    #[test]
    fn every_fragment_is_part_of_a_script() {
        let sources = files(&scripts(), "rs");
        let sources: String = sources
            .iter()
            .map(|path| fs::read_to_string(path).expect("text"))
            .collect();
        for entry in fs::read_dir(scripts().join("fragments")).expect("a folder") {
            let name = entry.expect("readable").file_name();
            let name = name.to_str().expect("a plain name");
            let used = format!("include_str!(\"fragments/{name}\")");
            assert!(sources.contains(&used), "{name} is in no script");
        }
    }

    /// Variables that other parts of a script set or use, and numbers that are filled in, are looked at in whole scripts only.
    #[test]
    fn shellcheck_finds_nothing_in_fragments() {
        let said = Command::new("shellcheck")
            .args(["--shell=sh", "--exclude=SC2034,SC2154,SC2170"])
            .args(files(&scripts().join("fragments"), "sh"))
            .output()
            .expect("shellcheck, of the Debian package of that name");
        assert_eq!(String::from_utf8_lossy(&said.stdout), "");
        assert!(said.status.success());
    }
}
