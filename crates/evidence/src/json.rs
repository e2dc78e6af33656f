//! JSON as it comes, line by line: nothing is held but the path, so that a document may be of any length, and cut anywhere.

/// A step from an object or a list to something in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// What was met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Met<'t> {
    /// An object or a list begins.
    Open,
    /// An object or a list ends.
    Close,
    /// A string, as it is written but for its escapes of quotes and backslashes.
    Text(&'t str),
    /// A number.
    Number(f64),
}

/// Something met in a document.
#[derive(Debug)]
pub(crate) struct Event<'t> {
    /// From the outermost object to it.
    pub(crate) path: &'t [Step],
    pub(crate) met: Met<'t>,
    /// The line's number.
    pub(crate) line: crate::line::Line<'t>,
}

impl Event<'_> {
    /// The last step's key.
    pub(crate) fn key(&self) -> &str {
        match self.path.last() {
            Some(Step::Key(key)) => key,
            _ => "",
        }
    }

    /// A number, also one that is written as a string.
    pub(crate) fn number(&self) -> Option<f64> {
        match self.met {
            Met::Number(number) => Some(number),
            Met::Text(text) => crate::number::plain(text),
            Met::Open | Met::Close => None,
        }
    }

    /// A string.
    pub(crate) fn text(&self) -> Option<&str> {
        match self.met {
            Met::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// How far a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It goes on.
    Open,
    /// It has ended.
    Ended,
    /// What follows is no JSON.
    Broken,
}

/// Walks through one document.
#[derive(Debug, Default)]
pub(crate) struct Walker {
    path: Vec<Step>,
    /// For each object or list that is open: whether it is a list.
    open: Vec<bool>,
    /// The key of the value that comes next.
    key: Option<String>,
    /// Keys that were left, whose memory is used again.
    spare: Vec<String>,
    begun: bool,
    /// The word or the string in which a client broke the line.
    broken: String,
}

/// Deeper documents are forged, and so are longer keys.
const DEEPEST: usize = 64;
const LONGEST_KEY: usize = 1024;
/// Clients that break a document into lines break it at 256 characters (sqlcmd), at 2,033 (Management Studio) and longer ones.
const BREAKS_FROM: usize = 256;
const MAX_BROKEN_LEN: usize = 1 << 16;

impl Walker {
    /// Walks through another document from here on.
    pub(crate) fn begin(&mut self) {
        for step in self.path.drain(..) {
            if let Step::Key(key) = step {
                self.spare.push(key);
            }
        }
        self.spare.truncate(DEEPEST);
        self.open.clear();
        self.key = None;
        self.begun = false;
        self.broken.clear();
    }

    /// Takes a line, and tells what it meets in it.
    pub(crate) fn line(
        &mut self,
        line: &crate::line::Line<'_>,
        mut tell: impl FnMut(&Event<'_>),
    ) -> State {
        let joined;
        let may_be_broken = line.text.len() >= BREAKS_FROM;
        let text = match self.broken.is_empty() {
            true => line.text,
            false => {
                joined = std::mem::take(&mut self.broken) + line.text;
                joined.as_str()
            }
        };
        if text.len() > line.text.len() + MAX_BROKEN_LEN {
            return State::Broken;
        }
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b' ' | b'\t' | b'\r' | b',' => {
                    at += 1;
                    while bytes.get(at) == Some(&b' ') {
                        at += 1;
                    }
                }
                b':' if self.key.is_some() => at += 1,
                b'{' | b'[' => {
                    if self.open.len() >= DEEPEST || self.begun && self.open.is_empty() {
                        return State::Broken;
                    }
                    if !self.step() {
                        return State::Broken;
                    }
                    self.begun = true;
                    tell(&self.event(Met::Open, line));
                    self.open.push(*byte == b'[');
                    if *byte == b'[' {
                        self.path.push(Step::Index(0));
                    }
                    at += 1;
                }
                b'}' | b']' => {
                    let Some(list) = self.open.pop() else {
                        return State::Broken;
                    };
                    if list != (*byte == b']') || self.key.is_some() {
                        return State::Broken;
                    }
                    if list {
                        self.path.pop();
                    }
                    tell(&self.event(Met::Close, line));
                    self.after();
                    if self.open.is_empty() {
                        return State::Ended;
                    }
                    at += 1;
                }
                b'"' => {
                    let Some(len) = string_end(&bytes[at + 1..]) else {
                        return self.breaks(&text[at..], may_be_broken);
                    };
                    let raw = &text[at + 1..at + 1 + len];
                    let plain;
                    let value = match raw.contains('\\') {
                        true => {
                            plain = unescaped(raw);
                            plain.as_str()
                        }
                        false => raw,
                    };
                    at += len + 2;
                    let in_object = self.open.last() == Some(&false);
                    if in_object && self.key.is_none() {
                        if value.len() > LONGEST_KEY {
                            return State::Broken;
                        }
                        let mut key = self.spare.pop().unwrap_or_default();
                        value.clone_into(&mut key);
                        self.key = Some(key);
                    } else if !self.value(Met::Text(value), line, &mut tell) {
                        return State::Broken;
                    }
                }
                _ => {
                    let rest = &text[at..];
                    let other = |byte: &u8| {
                        !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'-' | b'.')
                    };
                    let end = bytes[at..].iter().position(other).unwrap_or(rest.len());
                    let word = &rest[..end];
                    if may_be_broken && end == rest.len() && end > 0 {
                        return self.breaks(word, true);
                    }
                    let told = match word {
                        "null" | "true" | "false" | "nan" | "-nan" | "inf" => {
                            let stepped = self.step();
                            self.after();
                            stepped
                        }
                        word => match crate::number::plain(word) {
                            Some(number) => self.value(Met::Number(number), line, &mut tell),
                            None => false,
                        },
                    };
                    if !told || end == 0 {
                        return State::Broken;
                    }
                    at += end;
                }
            }
        }
        State::Open
    }

    /// Keeps what a client may have broken, until the next line.
    fn breaks(&mut self, part: &str, may_be_broken: bool) -> State {
        if !may_be_broken {
            return State::Broken;
        }
        part.clone_into(&mut self.broken);
        State::Open
    }

    /// Goes to the value that begins; false where none can.
    fn step(&mut self) -> bool {
        match (self.open.last(), self.key.take()) {
            (Some(false), Some(key)) => self.path.push(Step::Key(key)),
            (Some(true), None) => {}
            (None, None) => return !self.begun,
            _ => return false,
        }
        true
    }

    /// Leaves the value that ended.
    fn after(&mut self) {
        match self.open.last() {
            Some(false) => {
                if let Some(Step::Key(key)) = self.path.pop() {
                    self.spare.push(key);
                }
            }
            Some(true) => {
                if let Some(Step::Index(index)) = self.path.last_mut() {
                    *index += 1;
                }
            }
            None => {}
        }
    }

    fn value(
        &mut self,
        met: Met<'_>,
        line: &crate::line::Line<'_>,
        tell: &mut impl FnMut(&Event<'_>),
    ) -> bool {
        if self.open.is_empty() || !self.step() {
            return false;
        }
        tell(&self.event(met, line));
        self.after();
        true
    }

    fn event<'t>(&'t self, met: Met<'t>, line: &crate::line::Line<'t>) -> Event<'t> {
        Event {
            path: &self.path,
            met,
            line: *line,
        }
    }
}

/// Where the string ends whose first byte this is.
fn string_end(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr::memchr2(b'"', b'\\', bytes.get(from..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        from = at + 2;
    }
}

fn unescaped(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n' | 'r' | 't') => out.push(' '),
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    let code = u32::from_str_radix(&digits, 16)
                        .ok()
                        .and_then(char::from_u32);
                    out.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                Some(c) => out.push(c),
                None => {}
            },
            (c, false) => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Line;

    fn walk(text: &str) -> (Vec<String>, State) {
        let mut walker = Walker::default();
        let mut met = Vec::new();
        let mut state = State::Open;
        for (number, text) in (1..).zip(text.lines()) {
            state = walker.line(&Line { number, text }, |event| {
                let path: Vec<String> = event
                    .path
                    .iter()
                    .map(|step| match step {
                        Step::Key(key) => key.clone(),
                        Step::Index(index) => index.to_string(),
                    })
                    .collect();
                let what = match event.met {
                    Met::Open => "<".to_owned(),
                    Met::Close => ">".to_owned(),
                    Met::Text(text) => format!("'{text}'"),
                    Met::Number(number) => number.to_string(),
                };
                met.push(format!("{}:{}={what}", event.line.number, path.join(".")));
            });
            if state != State::Open {
                break;
            }
        }
        (met, state)
    }

    #[test]
    fn a_path_leads_to_every_value() {
        let text = "{\"a\": [1, {\"b\": \"x\\\"y\"},\n null, 2.5], \"c\":{}}";
        let (met, state) = walk(text);
        let expected = [
            "1:=<",
            "1:a=<",
            "1:a.0=1",
            "1:a.1=<",
            "1:a.1.b='x\"y'",
            "1:a.1=>",
            "2:a.3=2.5",
            "2:a=>",
            "2:c=<",
            "2:c=>",
            "2:=>",
        ];
        assert_eq!(met, expected);
        assert_eq!(state, State::Ended);
    }

    #[test]
    fn a_client_breaks_long_lines_within_words_and_strings() {
        let long = "x".repeat(BREAKS_FROM);
        let text = format!("[{{\"{long}\": 12\n34, \"a\n b\": \"{long}\n{long}");
        let mut broken = text.clone();
        broken.push_str("\"}]");
        let (met, state) = walk(&broken);
        assert_eq!(
            state,
            State::Broken,
            "the second line is too short to be a broken one"
        );
        assert!(met.contains(&format!("2:0.{long}=1234")), "{met:?}");
        let text = format!("[{{\"b\": \"{long}\n{long}\", \"c\": 7}}]");
        let (met, state) = walk(&text);
        assert!(met.contains(&format!("2:0.b='{long}{long}'")), "{met:?}");
        assert!(met.contains(&"2:0.c=7".to_owned()), "{met:?}");
        assert_eq!(state, State::Ended);
    }

    #[test]
    fn what_is_no_json_ends_it() {
        for text in [
            "{\"a\" 1 2}",
            "{1}",
            "[}",
            "{\"a\": ]",
            "x",
            "{\"a\": \"b",
            "{\"a\":1 $",
        ] {
            assert_eq!(walk(text).1, State::Broken, "{text}");
        }
        assert_eq!(walk(&"[".repeat(100)).1, State::Broken);
        let key = "k".repeat(2000);
        assert_eq!(walk(&format!("{{\"{key}\": 1}}")).1, State::Broken);
        assert_eq!(walk("{\"a\": [1,").1, State::Open);
    }
}
