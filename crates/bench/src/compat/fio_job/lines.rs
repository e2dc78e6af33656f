//! The lines of a job file: sections, the files that it includes, and variables.

use super::terms::Surroundings;
use crate::compat::Refused;

/// How deep included files may include others: fio's own limit.
const MAX_DEPTH: usize = 16;
/// Most lines, those of included files too: a file that includes another twice, sixteen deep, has 65,536 of them.
const MAX_LINES: usize = 65_536;

/// A section with what holds for it: the lines of `[global]` first, then its own.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) name: String,
    /// Where it begins: `line 3`.
    pub(super) at: String,
    pub(super) entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// `line 3`, `line 3 of common.fio`.
    pub(super) at: String,
    pub(super) key: String,
    /// What stands behind `=`, variables put in; `None` without one.
    pub(super) value: Option<String>,
    /// The same as it was written.
    written: String,
}

impl Entry {
    pub(super) fn refused(&self, why: impl Into<String>, instead: impl Into<String>) -> Refused {
        Refused::new(format!("{}: {}", self.at, self.written), why, instead)
    }
}

/// What a file comes to, as far as it can be read.
#[derive(Debug, Default)]
pub(super) struct Lines {
    global: Vec<Entry>,
    pub(super) sections: Vec<Section>,
    /// Where lines go: nowhere yet, to `[global]`, or to the last section.
    at: Option<bool>,
    pub(super) obstacles: Vec<Refused>,
    number: usize,
}

impl Lines {
    /// Reads a file, and those that it includes. `file` is the name of an included one.
    pub(super) fn read(
        &mut self,
        text: &str,
        file: Option<&str>,
        depth: usize,
        around: &Surroundings<'_>,
    ) {
        for (index, line) in text.lines().enumerate() {
            self.number += 1;
            if self.number > MAX_LINES {
                if self.number == MAX_LINES + 1 {
                    self.obstacles.push(Refused::new(
                        "the job file",
                        format!("it has more than {MAX_LINES} lines, those of included files too"),
                        "write a shorter one",
                    ));
                }
                return;
            }
            let at = match file {
                Some(file) => format!("line {} of {file}", index + 1),
                None => format!("line {}", index + 1),
            };
            // A file that was saved on Windows may begin with a mark of its encoding.
            let line = line.trim_start_matches('\u{feff}');
            let line = line.split([';', '#']).next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            if let Err(refused) = self.line(at, line, depth, around) {
                self.obstacles.push(refused);
            }
        }
    }

    fn line(
        &mut self,
        at: String,
        line: &str,
        depth: usize,
        around: &Surroundings<'_>,
    ) -> Result<(), Refused> {
        if let Some(name) = line.strip_prefix('[') {
            if depth > 0 {
                return Err(Refused::new(
                    format!("{at}: {line}"),
                    "fio lets no section begin in an included file",
                    "write it into the job file itself",
                ));
            }
            return self.section(at, line, name);
        }
        let included = line
            .strip_prefix("include")
            .filter(|rest| rest.starts_with(char::is_whitespace));
        if let Some(name) = included {
            return self.include(at, line, name.trim(), depth, around);
        }
        let entry = entry(at, line, around)?;
        match (self.at, self.sections.last_mut()) {
            (Some(true), _) => self.global.push(entry),
            (Some(false), Some(section)) => section.entries.push(entry),
            _ => {
                return Err(entry.refused(
                    "it stands before the first section",
                    "put it behind [global]",
                ));
            }
        }
        Ok(())
    }

    fn section(&mut self, at: String, line: &str, name: &str) -> Result<(), Refused> {
        let Some(name) = name.strip_suffix(']').filter(|name| !name.is_empty()) else {
            return Err(Refused::new(
                format!("{at}: {line}"),
                "it begins a section and does not end it",
                "write [NAME]",
            ));
        };
        self.at = Some(name == "global");
        if name != "global" {
            self.sections.push(Section {
                name: name.to_owned(),
                at,
                entries: self.global.clone(),
            });
        }
        Ok(())
    }

    fn include(
        &mut self,
        at: String,
        line: &str,
        name: &str,
        depth: usize,
        around: &Surroundings<'_>,
    ) -> Result<(), Refused> {
        let refused =
            |why: String, instead: &str| Refused::new(format!("{at}: {line}"), why, instead);
        if self.at.is_none() {
            return Err(refused(
                "it stands before the first section".to_owned(),
                "put it behind [global]",
            ));
        }
        if depth >= MAX_DEPTH {
            return Err(refused(
                format!("files include each other more than {MAX_DEPTH} deep"),
                "copy its lines",
            ));
        }
        let name = put_in(name, around).map_err(|(why, instead)| refused(why, &instead))?;
        let text = (around.include)(&name)
            .map_err(|why| refused(why, "name a file that can be read, or copy its lines"))?;
        self.read(&text, Some(&name), depth + 1, around);
        Ok(())
    }
}

fn entry(at: String, text: &str, around: &Surroundings<'_>) -> Result<Entry, Refused> {
    let (key, value) = match text.split_once('=') {
        Some((key, value)) => (key.trim_end(), Some(value)),
        None => (text, None),
    };
    let mut entry = Entry {
        at,
        key: key.to_owned(),
        value: value.map(str::to_owned),
        written: match value {
            Some(value) => format!("{key}={value}"),
            None => text.to_owned(),
        },
    };
    let Some(value) = value else {
        return Ok(entry);
    };
    if value.starts_with(char::is_whitespace) {
        return Err(entry.refused(
            "a blank stands behind `=`, with which fio reads a size without its suffix",
            format!("write {key}={}", value.trim_start()),
        ));
    }
    if value.contains('$') {
        let value = put_in(value, around).map_err(|(why, instead)| entry.refused(why, instead))?;
        entry.value = Some(value);
    }
    Ok(entry)
}

/// A value with variables of the environment (`${NAME}`) and fio's three words (`$ncpus`, `$pagesize`, `$mb_memory`) put in; why not,
/// and what to do, otherwise.
fn put_in(value: &str, around: &Surroundings<'_>) -> Result<String, (String, String)> {
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, behind)) = rest.split_once('$') {
        out.push_str(before);
        if let Some((name, behind)) = behind
            .strip_prefix('{')
            .and_then(|behind| behind.split_once('}'))
        {
            // fio puts in nothing for a variable that is not set, and then has another experiment.
            let found = (around.variable)(name).ok_or_else(|| {
                (
                    format!("the environment has no {name}"),
                    format!("write the value, or set it: {name}=… straddle bench …"),
                )
            })?;
            out.push_str(&found);
            rest = behind;
            continue;
        }
        let words = [
            ("ncpus", around.processors),
            ("pagesize", around.page),
            ("mb_memory", around.memory >> 20),
        ];
        let word = words
            .iter()
            .find(|(word, _)| behind.starts_with(word))
            .ok_or_else(|| {
                (
                    "a `$` that begins no variable".to_owned(),
                    "write ${NAME}, $ncpus, $pagesize or $mb_memory, or the value".to_owned(),
                )
            })?;
        out.push_str(&word.1.to_string());
        rest = behind.get(word.0.len()..).unwrap_or_default();
    }
    out.push_str(rest);
    Ok(out)
}
