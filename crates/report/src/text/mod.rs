//! Text for terminals: findings, the stack as a tree, the ruler, lines for many targets.

mod below;
pub(crate) mod finding;
mod hosts;
mod opening;
pub(crate) mod page;
mod places;
mod ruler;
pub(crate) mod snippet;
mod stack;
pub(crate) mod style;
pub(crate) mod summary;
pub(crate) mod table;

use std::fmt::Write;

use crate::fold::fold;
use crate::{Checked, Next};

pub use page::{folklore, rule_list, rule_page, topic, topics};
pub use style::{ERROR, severity_style};
pub use summary::{below_lines, fleet, line, unchecked};

/// The whole report on one target: its findings, then the stack with its arithmetic, then a ruler, and what to do `next`. A long
/// one begins with what its findings come to.
#[must_use]
pub fn report(checked: &Checked, next: Option<Next<'_>>) -> String {
    let mut body = String::new();
    let (findings, more) = fold(&checked.findings);
    for finding in findings {
        finding::render(checked, finding, &mut body);
        body.push('\n');
    }
    for folded in more {
        finding::render_folded(&folded, &mut body);
    }
    stack::render(checked, &mut body);
    places::render(checked, &mut body);
    ruler::render(checked, &mut body);
    if let Some(files) = &checked.files {
        below::files(files, &mut body);
    }
    let mut out = checked
        .taken
        .as_deref()
        .map_or_else(String::new, below::taken);
    out.push_str(&opening::opening(checked, next.map(|next| next.fix), &body));
    out.push_str(&body);
    let _ = writeln!(out, "\n{}", summary::verdict(checked));
    if let Some(next) = next {
        let _ = writeln!(out, "is it worth fixing, and how: {}", next.fix);
        if let Some(realign) = next.realign {
            let _ = writeln!(out, "if it is, this moves the partitions: {realign}");
        }
    }
    out
}
