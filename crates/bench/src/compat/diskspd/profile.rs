//! diskspd's profiles in XML (`-X`): the same as switches, an element each.
//!
//! Source: `diskspd.xsd` and the wiki of diskspd (<https://github.com/microsoft/diskspd>, MIT licence). A profile is turned into the
//! switches that mean the same, and these are read as if they had been typed, so that nothing is known twice.

use quick_xml::events::Event;
use quick_xml::reader::Reader;

use super::{Command, parse};
use crate::compat::{Argument, Refused, argument};

/// Deepest element: those of `Affinity` are seven deep.
const MAX_DEPTH: usize = 16;
/// Most elements: 256 targets have 30 each.
const MAX_ELEMENTS: usize = 16_384;

/// The file that a command line names with `-X`.
#[must_use]
pub fn profile<S: AsRef<str>>(arguments: &[S]) -> Option<&str> {
    arguments
        .iter()
        .find_map(|text| match argument(text.as_ref()) {
            Ok(Argument::Switch('X', file)) if !file.is_empty() => Some(file),
            _ => None,
        })
}

/// Reads arguments that name a profile, with the text of it.
///
/// # Errors
/// [`Refused`] with the element, for what makes no sense and for what is not done.
pub fn parse_profile<S: AsRef<str>>(arguments: &[S], text: &str) -> Result<Command, Refused> {
    let mut switches: Vec<(String, String)> = Vec::new();
    let mut names = Vec::new();
    let mut typed = Vec::new();
    for text in arguments.iter().map(AsRef::as_ref) {
        match argument(text)? {
            Argument::Switch('X', _) => {}
            Argument::Switch(letter @ ('d' | 'W' | 'C' | 'R' | 'v' | 'z'), _) => {
                typed.push(letter);
                switches.push((text.to_owned(), format!("`{text}`")));
            }
            Argument::Switch(..) => {
                return Err(Refused::new(
                    format!("`{text}`"),
                    "beside a profile diskspd takes -d, -W, -C, -R, -v and -z only",
                    "write it into the profile, or leave -X out and type all switches",
                ));
            }
            Argument::Name(name) => names.push(name.to_owned()),
        }
    }
    let read = read(text)?;
    for (switch, element) in read.switches {
        // What was typed counts.
        let letter = switch.chars().nth(1);
        if !letter.is_some_and(|letter| typed.contains(&letter)) {
            switches.push((switch, element));
        }
    }
    let mut words: Vec<String> = switches.iter().map(|(switch, _)| switch.clone()).collect();
    words.extend(filled(read.paths, &names)?);
    parse(&words).map_err(|refused| {
        let element = switches
            .iter()
            .find(|(switch, _)| format!("`{switch}`") == refused.what);
        match element {
            Some((_, element)) => Refused {
                what: element.clone(),
                ..refused
            },
            None => refused,
        }
    })
}

/// Paths of targets, templates (`*1`) replaced by the names that were typed.
fn filled(paths: Vec<String>, names: &[String]) -> Result<Vec<String>, Refused> {
    let mut used = 0;
    let mut out = Vec::new();
    for path in paths {
        let Some(number) = path.strip_prefix('*') else {
            out.push(path);
            continue;
        };
        let index: Option<usize> = number.parse().ok();
        let name = index
            .and_then(|index| index.checked_sub(1))
            .and_then(|index| names.get(index));
        let name = name.ok_or_else(|| {
            Refused::new(
                format!("<Path>{path}</Path>"),
                format!("{} names were typed for the targets", names.len()),
                "type a file for each of *1, *2 and so on behind the switches",
            )
        })?;
        used += 1;
        out.push(name.clone());
    }
    if used == 0 && !names.is_empty() {
        return Err(Refused::new(
            format!("`{}` beside -X", names.join(" ")),
            "the profile names its targets",
            "leave it out, or write <Path>*1</Path> into the profile",
        ));
    }
    Ok(out)
}

/// A profile as switches, each with the element that it stands for.
#[derive(Debug, Default)]
struct Read {
    switches: Vec<(String, String)>,
    paths: Vec<String>,
}

/// An element without others in it: where it stands, and what is in it.
#[derive(Debug)]
struct Leaf {
    path: Vec<String>,
    text: String,
}

fn read(text: &str) -> Result<Read, Refused> {
    let mut out = Read::default();
    // Those of the target that is being read, and of the first one.
    let mut target: Vec<(String, String)> = Vec::new();
    let mut first: Option<Vec<(String, String)>> = None;
    let (mut spans, mut order) = (0, Order::default());
    let mut is_profile = false;
    let mut finish = |target: &mut Vec<(String, String)>, order: &mut Order| {
        let mut these = std::mem::take(target);
        these.extend(std::mem::take(order).switch());
        match &first {
            None => {
                first = Some(these);
                Ok(())
            }
            Some(first) if *first == these => Ok(()),
            Some(_) => Err(Refused::new(
                "<Target>",
                "its settings are not those of the first target; all targets of a run are asked the same here",
                "write a profile for each",
            )),
        }
    };
    walk(text, |step| {
        match step {
            Step::Begin(path) => {
                is_profile |= path.last().is_some_and(|name| name == "Profile");
                if path.ends_with(&["TimeSpans".to_owned(), "TimeSpan".to_owned()]) {
                    spans += 1;
                }
                if spans > 1 {
                    return Err(Refused::new(
                        "<TimeSpan>",
                        "a run has one span of time here",
                        "write a profile for each of them",
                    ));
                }
            }
            Step::End(path) if path.ends_with(&["Targets".to_owned(), "Target".to_owned()]) => {
                finish(&mut target, &mut order)?;
            }
            Step::End(_) => {}
            // The results of a run have the profile in them, and figures behind it.
            Step::Leaf(leaf) if !leaf.path.iter().any(|name| name == "Profile") => {}
            Step::Leaf(leaf) => {
                let name = leaf.path.last().map_or("", String::as_str);
                let inside = |parent: &str| leaf.path.iter().any(|name| name == parent);
                let element = format!("<{name}>{}</{name}>", leaf.text);
                let in_target = inside("Target");
                match (in_target, name) {
                    (true, "Path") => out.paths.push(leaf.text.clone()),
                    (true, _) if order.take(name, &leaf.text) => {}
                    _ => {
                        let said = match in_target {
                            true => of_target(name, &leaf.text, &inside),
                            false => of_run(name, &leaf.text, &inside),
                        };
                        let switch = said.ok_or_else(|| {
                            Refused::new(
                                element.clone(),
                                "this element is not read",
                                "leave it out, if the run means the same without it; docs/compatibility.md lists what is read",
                            )
                        })?;
                        let list = if in_target {
                            &mut target
                        } else {
                            &mut out.switches
                        };
                        list.extend(switch.map(|switch| (switch, element)));
                    }
                }
            }
        }
        Ok(())
    })?;
    if !is_profile {
        return Err(Refused::new(
            "the profile",
            "it has no element <Profile>",
            "name a file that `diskspd -Rpxml` writes, or write one by diskspd.xsd",
        ));
    }
    out.switches.extend(first.unwrap_or_default());
    Ok(out)
}

/// Elements that say together which block is next, as -r, -s and -si do.
#[derive(Debug, Default)]
struct Order {
    random: Option<String>,
    stride: Option<String>,
    interlocked: bool,
    random_data: Option<String>,
    pattern: Option<String>,
    file: Option<String>,
}

impl Order {
    fn take(&mut self, name: &str, value: &str) -> bool {
        let value = value.to_owned();
        match name {
            "Random" => self.random = Some(value),
            "StrideSize" => self.stride = Some(value),
            "InterlockedSequential" => self.interlocked = value == "true",
            "Pattern" => self.pattern = Some(value),
            "SizeInBytes" => self.random_data = Some(value),
            "FilePath" => self.file = Some(value),
            _ => return false,
        }
        true
    }

    fn switch(self) -> Vec<(String, String)> {
        let mut out = Vec::new();
        match (self.random, self.stride) {
            (Some(align), _) => {
                out.push((format!("-r{align}"), format!("<Random>{align}</Random>")));
            }
            (None, Some(stride)) => {
                let letters = if self.interlocked { "si" } else { "s" };
                let element = format!("<StrideSize>{stride}</StrideSize>");
                out.push((format!("-{letters}{stride}"), element));
            }
            (None, None) if self.interlocked => out.push((
                "-si".to_owned(),
                "<InterlockedSequential>true</InterlockedSequential>".to_owned(),
            )),
            (None, None) => {}
        }
        let pattern = self.pattern.as_deref();
        let element = format!("<Pattern>{}</Pattern>", pattern.unwrap_or_default());
        match (pattern, self.random_data, self.file) {
            (None | Some("sequential"), _, _) => {}
            (Some("random"), None, _) => out.push(("-Zr".to_owned(), element)),
            (Some("random"), Some(size), None) => out.push((format!("-Z{size}"), element)),
            (Some("random"), Some(size), Some(file)) => {
                out.push((
                    format!("-Z{size},{file}"),
                    format!("<FilePath>{file}</FilePath>"),
                ));
            }
            (Some(_), _, _) => out.push(("-Z".to_owned(), element)),
        }
        out
    }
}

/// The switch of an element of a target: `Some(None)` where it asks for what is done anyway, `None` where it is not known.
fn of_target(name: &str, value: &str, inside: &dyn Fn(&str) -> bool) -> Option<Option<String>> {
    let number = |switch: &str| Some(Some(format!("{switch}{value}")));
    let flag = |switch: &str| Some((value == "true").then(|| switch.to_owned()));
    // Zero is not set.
    let unless =
        |is_usual: bool, switch: &str| Some((!is_usual).then(|| format!("{switch}{value}")));
    if inside("ThreadTargets") || inside("Distribution") {
        return None;
    }
    match name {
        "BlockSize" => number("-b"),
        "BaseFileOffset" => unless(value == "0", "-B"),
        "RequestCount" => number("-o"),
        "ThreadsPerFile" => number("-t"),
        "WriteRatio" => number("-w"),
        "FileSize" => unless(value == "0", "-c"),
        "MaxFileSize" => unless(value == "0", "-f"),
        "ThreadStride" => unless(value == "0", "-T"),
        "DisableOSCache" => flag("-Su"),
        "DisableAllCache" => flag("-Sh"),
        "DisableLocalCache" => flag("-Sr"),
        "WriteThrough" => flag("-Sw"),
        "MemoryMappedIo" => flag("-Sm"),
        "SequentialScan" => flag("-fs"),
        "RandomAccess" => flag("-fr"),
        "TemporaryFile" => flag("-ft"),
        "UseLargePages" => flag("-l"),
        "ParallelAsyncIO" => flag("-p"),
        "RandomRatio" => unless(value == "100" || value == "0", "-rs"),
        "BurstSize" => unless(value == "0", "-i"),
        "ThinkTime" => unless(value == "0", "-j"),
        "Throughput" => unless(value == "0", "-g"),
        "IOPriority" => unless(value == "0", "-I"),
        "Weight" => unless(value == "1" || value == "0", "-O"),
        _ => None,
    }
}

/// The same outside of targets.
fn of_run(name: &str, value: &str, inside: &dyn Fn(&str) -> bool) -> Option<Option<String>> {
    let flag = |switch: &str| Some((value == "true").then(|| switch.to_owned()));
    let unless =
        |is_usual: bool, switch: &str| Some((!is_usual).then(|| format!("{switch}{value}")));
    if inside("Affinity") {
        return Some(Some("-a".to_owned()));
    }
    if inside("ETW") {
        return flag("-e");
    }
    match name {
        "Duration" => Some(Some(format!("-d{value}"))),
        "Warmup" => Some(Some(format!("-W{value}"))),
        "Cooldown" => Some(Some(format!("-C{value}"))),
        "RandSeed" => Some(Some(format!("-z{value}"))),
        "ResultFormat" => Some(Some(format!("-R{value}"))),
        "Verbose" => flag("-v"),
        "MeasureLatency" => flag("-L"),
        "DisableAffinity" => flag("-n"),
        "CompletionRoutines" => flag("-x"),
        "CalculateIopsStdDev" => flag("-D"),
        "Progress" => unless(value == "0", "-P"),
        "ThreadCount" => unless(value == "0", "-F"),
        "RequestCount" => unless(value == "0", "-O"),
        // Without -D it has no meaning; a missing file is made in any case.
        "IoBucketDuration" | "PrecreateFiles" | "GroupAffinity" | "Targets" | "Affinity"
        | "VerboseStats" => Some(None),
        _ => None,
    }
}

/// What is met on the way through a document.
enum Step<'a> {
    Begin(&'a [String]),
    End(&'a [String]),
    Leaf(&'a Leaf),
}

/// Goes through a document of bounded depth and length.
fn walk(text: &str, mut take: impl FnMut(Step<'_>) -> Result<(), Refused>) -> Result<(), Refused> {
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
    let mut leaf = Leaf {
        path: Vec::new(),
        text: String::new(),
    };
    // Whether the element that is open has had none in it so far.
    let mut is_leaf = false;
    let mut elements = 0;
    loop {
        let line = |reader: &Reader<&[u8]>| {
            let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
            let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
            before.iter().filter(|byte| **byte == b'\n').count() + 1
        };
        let wrong = |reader: &Reader<&[u8]>, why: String| {
            Refused::new(
                format!("line {} of the profile", line(reader)),
                why,
                "name a file that `diskspd -Rpxml` writes, or write one by diskspd.xsd",
            )
        };
        let event = reader.read_event();
        let begin = |name: &str, leaf: &mut Leaf| {
            // A prefix of a namespace is no part of the name.
            let name = name.rsplit(':').next().unwrap_or_default();
            leaf.path.push(name.to_owned());
            leaf.text.clear();
        };
        match event {
            Ok(Event::Start(tag)) => {
                elements += 1;
                if leaf.path.len() >= MAX_DEPTH || elements > MAX_ELEMENTS {
                    return Err(wrong(
                        &reader,
                        "more elements than a profile has".to_owned(),
                    ));
                }
                begin(tag.name().as_ref(), &mut leaf);
                is_leaf = true;
                take(Step::Begin(&leaf.path))?;
            }
            Ok(Event::Empty(tag)) => {
                elements += 1;
                if elements > MAX_ELEMENTS {
                    return Err(wrong(
                        &reader,
                        "more elements than a profile has".to_owned(),
                    ));
                }
                begin(tag.name().as_ref(), &mut leaf);
                take(Step::Begin(&leaf.path))?;
                take(Step::End(&leaf.path))?;
                leaf.path.pop();
                is_leaf = false;
            }
            Ok(Event::End(_)) => {
                if is_leaf {
                    leaf.text = leaf.text.trim().to_owned();
                    take(Step::Leaf(&leaf))?;
                }
                take(Step::End(&leaf.path))?;
                is_leaf = false;
                leaf.path.pop();
            }
            Ok(Event::Text(part)) => leaf.text.push_str(&part),
            Ok(Event::CData(part)) => leaf.text.push_str(&part),
            Ok(Event::GeneralRef(entity)) => {
                let name = entity.to_string();
                let found = quick_xml::escape::resolve_predefined_entity(&name);
                let found = found
                    .ok_or_else(|| wrong(&reader, format!("the entity `&{name};` is not known")))?;
                leaf.text.push_str(found);
            }
            Ok(Event::Eof) if leaf.path.is_empty() => return Ok(()),
            Ok(Event::Eof) => {
                return Err(wrong(&reader, "it ends in the middle".to_owned()));
            }
            Ok(_) => {}
            Err(error) => return Err(wrong(&reader, error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests;
