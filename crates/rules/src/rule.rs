//! What a rule is; it knows none of them.

use crate::context::Findings;
use crate::{Code, Context, Page, Repair, Status};

/// A rule: its permanent code, its page, and the function that applies it.
pub struct Rule {
    /// Permanent code.
    pub code: Code,
    /// Name in kebab case, as used in file names.
    pub name: &'static str,
    /// One line: what is wrong when it fires.
    pub summary: &'static str,
    /// How settled it is.
    pub status: Status,
    /// What repairs what it finds, or why nothing does.
    pub repair: Repair,
    /// The page that `explain` prints.
    pub page: Page,
    /// Looks at a stack and adds findings.
    pub check: fn(&Context<'_>, &mut Findings),
}
