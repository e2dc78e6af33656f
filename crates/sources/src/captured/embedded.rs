//! What tools printed, in the strings of JSON that other programs made of it: `"stdout": "Name  Offset\\r\\n…"`, `"msg": ["Name", …]`.

use std::borrow::Cow;

use super::json::Json;

/// Most values that are looked at.
const MAX_VALUES: usize = 10_000;
/// Fewest strings of a list that are the lines of a text.
const MIN_LINES: usize = 3;

/// The lines in its strings, as one text, and the number of the line in which each stands.
pub(super) fn lines(json: &Json<'_>) -> Option<(String, Vec<u64>)> {
    let mut found = Found::default();
    if let Some(value) = logged(json)
        && let Some(text) = value.text()
    {
        found.add(text.trim_end_matches(['\n', '\r']), value.line().number);
        return Some((found.text, found.numbers));
    }
    let mut open = vec![json.object().map_or_else(
        || json.items(),
        |object| object.members().map(|(_, value)| value).collect(),
    )];
    let mut seen = 0;
    // Documents that nest deeper than anything does are no JSON here.
    while let Some(values) = open.pop() {
        let strings: Vec<Cow<'_, str>> = values.iter().filter_map(Json::text).collect();
        let is_text = values.len() >= MIN_LINES && strings.len() == values.len();
        for (value, text) in values.iter().zip(&strings).filter(|_| is_text) {
            found.add(text, value.line().number);
        }
        let mut inner = Vec::new();
        for value in values.iter().filter(|_| !is_text) {
            seen += 1;
            if seen > MAX_VALUES {
                break;
            }
            if let Some(text) = value.text() {
                if text.contains('\n') {
                    found.add(&text, value.line().number);
                }
            } else if let Some(object) = value.object() {
                inner.push(object.members().map(|(_, value)| value).collect());
            } else {
                inner.push(value.items());
            }
        }
        // In the order in which they stand: what is said may have its name above it.
        open.extend(inner.into_iter().rev());
        found.end();
    }
    (!found.numbers.is_empty()).then_some((found.text, found.numbers))
}

/// What a line of a log says, when the object is one: a message, and nothing that has parts.
fn logged<'t>(json: &Json<'t>) -> Option<Json<'t>> {
    const MESSAGES: [&str; 4] = ["message", "msg", "MESSAGE", "log"];
    let mut said = None;
    let object = json.object()?;
    for (key, value) in object.members() {
        if value.object().is_some() || !value.items().is_empty() {
            return None;
        }
        if MESSAGES.contains(&key) && value.text().is_some() {
            said = Some(value);
        }
    }
    said.filter(|said| {
        let lines = said
            .text()
            .map_or(0, |text| text.trim_end().split('\n').count());
        lines == 1
    })
}

#[derive(Default)]
struct Found {
    text: String,
    numbers: Vec<u64>,
}

impl Found {
    fn add(&mut self, text: &str, number: u64) {
        for line in text.split('\n') {
            // Chats put the marks of what is shown as it is beside it.
            let line = line.trim_end_matches('\r');
            let line = line.strip_prefix("```").unwrap_or(line);
            self.text.push_str(line.strip_suffix("```").unwrap_or(line));
            self.text.push('\n');
            self.numbers.push(number);
        }
    }

    /// A blank line keeps one text apart from the next.
    fn end(&mut self) {
        if let Some(last) = self.numbers.last().copied()
            && !self.text.ends_with("\n\n")
        {
            self.text.push('\n');
            self.numbers.push(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_in_strings_and_lists_of_strings() {
        let of = |whole: &str| {
            let json = Json::new(whole, &[], &[]).expect("sound");
            lines(&json).map(|(text, _)| text)
        };
        let one = r#"{"rc": 0, "stdout": "a\r\nb\n", "list": ["x"]}"#;
        assert_eq!(of(one).as_deref(), Some("a\nb\n\n"));
        let many = r#"{"msg": ["a", "", "b"], "n": [1, [2]]}"#;
        assert_eq!(of(many).as_deref(), Some("a\n\nb\n\n"));
        assert_eq!(of(r#"{"a": "b", "c": {"d": ["e", "f"]}}"#), None);
        let log = r#"{"@timestamp": "12:00", "n": 3, "message": "a  b\n"}"#;
        assert_eq!(of(log).as_deref(), Some("a  b\n"));
        assert_eq!(of(r#"{"msg": "a", "c": {"d": 1}}"#), None);
    }
}
