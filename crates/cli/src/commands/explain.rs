use anyhow::bail;
use straddle::report::text;
use straddle::rules::{Code, FOLKLORE, RULES, by_code};

use crate::args::Explain;
use crate::exit::CLEAN;
use crate::output;

pub(crate) fn run(args: &Explain) -> anyhow::Result<u8> {
    let Some(topic) = &args.topic else {
        output::print(&text::rule_list())?;
        return Ok(CLEAN);
    };
    if let Some(rule) = topic.parse::<Code>().ok().and_then(by_code) {
        output::print(&text::rule_page(rule))?;
        return Ok(CLEAN);
    }
    if let Some(page) = FOLKLORE
        .iter()
        .find(|page| page.name.eq_ignore_ascii_case(topic.trim()))
    {
        output::print(&text::folklore(page))?;
        return Ok(CLEAN);
    }
    // A rule's name is as good as its code.
    if let Some(rule) = RULES.iter().find(|rule| rule.name == topic.trim()) {
        output::print(&text::rule_page(rule))?;
        return Ok(CLEAN);
    }
    bail!("there is no page on `{topic}`; `straddle explain` lists all codes and beliefs")
}
