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
        self.text.trim()
    }
}
