//! Text for terminals: findings, the stack as a tree, the ruler, lines for many targets.

mod finding;
pub(crate) mod page;
mod places;
mod ruler;
pub(crate) mod snippet;
mod stack;
pub(crate) mod style;
mod summary;
pub(crate) mod table;

use std::fmt::Write;

use crate::Checked;
use crate::fold::fold;

pub use page::{folklore, rule_list, rule_page};
pub use style::{ERROR, severity_style};
pub use summary::{below_lines, fleet, line, unchecked};

/// The whole report on one target: its findings, then the stack with its arithmetic, then a ruler.
#[must_use]
pub fn report(checked: &Checked) -> String {
    let mut out = String::new();
    let (findings, more) = fold(&checked.findings);
    for finding in findings {
        finding::render(checked, finding, &mut out);
        out.push('\n');
    }
    for folded in more {
        finding::render_folded(&folded, &mut out);
    }
    stack::render(checked, &mut out);
    places::render(checked, &mut out);
    ruler::render(checked, &mut out);
    let _ = writeln!(out, "\n{}", summary::verdict(checked));
    out
}
