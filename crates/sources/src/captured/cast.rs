//! Sessions that asciinema recorded: a head, then an event in each line, `[1.03, "o", "Disk /dev/sdb: …"]`. An event is what the
//! terminal got at once, which may be a part of a line.

use std::borrow::Cow;

/// What was shown in a recorded session; any other text as it is.
pub(super) fn shown(text: Cow<'_, str>) -> Cow<'_, str> {
    let Some((_, events)) = text.split_once('\n').filter(|(head, _)| is_head(head)) else {
        return text;
    };
    let output = |line: &str| {
        let (_, code, data): (f64, Cow<'_, str>, String) = serde_json::from_str(line).ok()?;
        (code == "o").then_some(data)
    };
    Cow::Owned(events.lines().filter_map(output).collect())
}

/// `{"version": 2, "width": 100, "height": 30}`, and in version 3 the terminal as an object.
fn is_head(line: &str) -> bool {
    let has = |key: &str| line.contains(key);
    line.starts_with('{')
        && has("\"version\"")
        && (has("\"width\"") && has("\"height\"") || has("\"term\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_as_the_terminal_showed_them() {
        let of = |text: &str| shown(text.to_owned().into()).into_owned();
        let session = "{\"version\": 2, \"width\": 80, \"height\": 24}\n\
                       [0.1, \"o\", \"Disk /dev\"]\n[0.2, \"i\", \"x\"]\n[0.3, \"o\", \"/sdb: 1\\r\\n\"]\n[0.4, \"o";
        assert_eq!(of(session), "Disk /dev/sdb: 1\r\n");
        let third = "{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n[0.1,\"o\",\"a\"]\n[1,\"x\",\"0\"]\n";
        assert_eq!(of(third), "a");
        for other in [
            "{\"version\": 2}\n[1, \"o\", \"a\"]\n",
            "a\n{\"version\"",
            "",
        ] {
            assert_eq!(of(other), other);
        }
    }
}
