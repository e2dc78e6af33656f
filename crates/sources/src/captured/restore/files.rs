//! Files of sysfs that were shown without their names: `cat FILE FILE` above the values, `tail -n +1` with a line for each name. They
//! become what `grep . FILE FILE` prints: `/sys/block/sda/sda1/start:63`.

use std::borrow::Cow;

use super::lines::{Numbered, is_typed, words_from};

/// Most files of one command.
const MAX_FILES: usize = 256;
/// Longest value.
const MAX_LEN: usize = 200;

/// The lines, values with the names of their files before them.
pub(super) fn joined(lines: Vec<Numbered<'_>>) -> Vec<Numbered<'_>> {
    if !lines.iter().any(|(_, line)| line.contains("/sys/")) {
        return lines;
    }
    let mut out: Vec<Numbered<'_>> = Vec::with_capacity(lines.len());
    let mut lines = lines.into_iter().peekable();
    while let Some((number, line)) = lines.next() {
        let files = match heading(&line) {
            Some(file) => vec![file.to_owned()],
            None => shown(&line),
        };
        if heading(&line).is_none() {
            out.push((number, line));
        }
        for file in files {
            let is_value = |(_, line): &Numbered<'_>| {
                // Some show the name all the same.
                let named = line.trim_start().starts_with("/sys/");
                !is_typed(line) && heading(line).is_none() && !named && line.len() < MAX_LEN
            };
            let Some((number, value)) = lines.next_if(is_value) else {
                break;
            };
            out.push((number, Cow::Owned(format!("{file}:{}", value.trim()))));
        }
    }
    out
}

/// `==> /sys/block/sdb/sdb1/start <==`.
fn heading(line: &str) -> Option<&str> {
    let file = line.trim().strip_prefix("==> ")?.strip_suffix(" <==")?;
    file.starts_with("/sys/").then_some(file)
}

/// The files that a command shows without their names: those of `cat`, and the only one of `grep . FILE`.
fn shown(line: &str) -> Vec<String> {
    if !line.contains("/sys/") {
        return Vec::new();
    }
    let of = |words: Vec<&str>| -> Vec<String> {
        let words = words.into_iter().skip(1);
        words.flat_map(expanded).take(MAX_FILES).collect()
    };
    let are_files = |files: &[String]| {
        !files.is_empty()
            && files
                .iter()
                .all(|file| file.starts_with("/sys/") && !file.contains(['*', '?', '[', '$']))
    };
    if let Some(files) = words_from(line, &["cat"])
        .map(of)
        .filter(|files| are_files(files))
    {
        return files;
    }
    let Some(words) = words_from(line, &["grep"]) else {
        return Vec::new();
    };
    match words.as_slice() {
        [_, "." | "''" | "\"\"" | "^", file] => {
            let files = expanded(file);
            match files.len() == 1 && are_files(&files) {
                true => files,
                false => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// `a/{b,c}/d` is `a/b/d` and `a/c/d`.
fn expanded(word: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut rest = word;
    while let Some((before, (choices, behind))) = rest
        .split_once('{')
        .and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        let choices: Vec<&str> = choices.split(',').collect();
        if found.len().saturating_mul(choices.len()) > MAX_FILES {
            return Vec::new();
        }
        found = found
            .iter()
            .flat_map(|head| {
                choices
                    .iter()
                    .map(move |choice| format!("{head}{before}{choice}"))
            })
            .collect();
        rest = behind;
    }
    for file in &mut found {
        file.push_str(rest);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::{numbered, shown as text_of};
    use super::*;

    #[test]
    fn values_stand_behind_the_names_of_their_files() {
        let of = |text| text_of(&joined(numbered(text)));
        assert_eq!(
            of("$ cat /sys/block/sda/{sda1/start,queue/rotational}\n63\n1\n$ x"),
            "1 $ cat /sys/block/sda/{sda1/start,queue/rotational}\n\
             2 /sys/block/sda/sda1/start:63\n\
             3 /sys/block/sda/queue/rotational:1\n\
             4 $ x"
        );
        assert_eq!(
            of("==> /sys/block/sda/size <==\n9\n\n==> /sys/block/sdb/size <==\n7"),
            "2 /sys/block/sda/size:9\n3 \n5 /sys/block/sdb/size:7"
        );
        assert_eq!(
            of("# grep . /sys/block/sda/size\n9"),
            "1 # grep . /sys/block/sda/size\n2 /sys/block/sda/size:9"
        );
        for text in [
            "$ cat /sys/block/*/size\n9",
            "$ grep . /sys/block/a/size /sys/block/b/size\n/sys/block/a/size:9",
            "$ cat /sys/block/sda/size",
            "# grep . /sys/block/sda/size\n/sys/block/sda/size:9",
            "$ cat /sys/block/sda/size\n$ cat /sys/block/sda/size",
        ] {
            let before = numbered(text);
            assert_eq!(joined(before.clone()), before, "{text}");
        }
    }

    #[test]
    fn braces_are_not_followed_without_end() {
        let many = format!("/sys/{}", "{a,b,c,d}".repeat(20));
        assert_eq!(expanded(&many), Vec::<String>::new());
    }
}
