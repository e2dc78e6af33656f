use crate::fields;

/// A line of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'t> {
    /// Its number, from 1; the first one when a line was wrapped.
    pub(crate) number: u64,
    /// Without its end.
    pub(crate) text: &'t str,
}

impl<'t> Line<'t> {
    /// Without blanks around it.
    pub(crate) fn trimmed(&self) -> &'t str {
        fields::trimmed(self.text)
    }
}

/// Without the fence of Markdown that stands in the first or the last line of an output.
pub(crate) fn without_fence(text: &str) -> &str {
    const FENCE: &str = "```";
    if !text.starts_with('`') && !text.ends_with('`') {
        return text;
    }
    let inner = text.strip_suffix(FENCE).unwrap_or(text);
    match inner.strip_prefix(FENCE) {
        // A word alone is the name of a language.
        Some(rest) if rest.contains([' ', ',', ';', '{', '<', '\t']) => rest,
        _ if inner.is_empty() => text,
        _ => inner,
    }
}

/// A line of a SQL Server ERRORLOG: its times have two digits behind the point, and a blank behind them.
pub(crate) fn is_errorlog(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [
            b'0'..=b'9',
            b'0'..=b'9',
            b'0'..=b'9',
            b'0'..=b'9',
            b'-',
            _,
            _,
            b'-',
            _,
            _,
            b' ',
            _,
            _,
            b':',
            _,
            _,
            b':',
            _,
            _,
            b'.',
            b'0'..=b'9',
            b'0'..=b'9',
            b' ',
            ..
        ]
    )
}
