/// The page of a rule, in fixed sections; `straddle explain CODE` prints it and the documentation is made from it.
///
/// Sections are Markdown paragraphs.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// What it checks.
    pub checks: &'static str,
    /// Why it costs.
    pub why: &'static str,
    /// Where the evidence comes from and how far it can be trusted.
    pub evidence: &'static str,
    /// An example, with its arithmetic.
    pub example: &'static str,
    /// How to fix it.
    pub fix: &'static str,
    /// What can go wrong while fixing it.
    pub fix_safety: &'static str,
    /// Where the facts come from.
    pub references: &'static [&'static str],
}

impl Page {
    /// The sections with their headings, in order: what the reader pays comes first.
    #[must_use]
    pub const fn sections(&self) -> [(&'static str, &'static str); 6] {
        [
            ("Why it costs", self.why),
            ("What it checks", self.checks),
            ("Evidence", self.evidence),
            ("Example", self.example),
            ("Fix", self.fix),
            ("Fix safety", self.fix_safety),
        ]
    }
}

/// A belief that people hold, and what is true of it: pages without a rule, `straddle explain tracks`.
#[derive(Clone, Copy, Debug)]
pub struct Folklore {
    /// The word to ask for.
    pub name: &'static str,
    /// The belief, as people say it.
    pub belief: &'static str,
    /// What is true of it, in Markdown.
    pub truth: &'static str,
    /// Where the facts come from.
    pub references: &'static [&'static str],
}
