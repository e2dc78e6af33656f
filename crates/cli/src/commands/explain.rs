use anyhow::bail;
use straddle::report::text;
use straddle::rules::search::{Topic, nearest, topics};

use crate::args::Explain;
use crate::exit::CLEAN;
use crate::output;

pub(crate) fn run(args: &Explain) -> anyhow::Result<u8> {
    if args.words.is_empty() {
        output::print(&text::rule_list())?;
        return Ok(CLEAN);
    }
    let query = args.words.join(" ");
    match topics(&query).as_slice() {
        [] => {
            let names: Vec<String> = nearest(&query).into_iter().map(named).collect();
            if names.is_empty() {
                bail!(
                    "there is no page on `{query}`; `straddle explain` lists all codes and beliefs"
                );
            }
            bail!(
                "there is no page on `{query}`; nearest: {}; `straddle explain` lists all codes and beliefs",
                names.join(", ")
            );
        }
        [topic] => output::print(&text::topic(*topic))?,
        several => output::print(&text::topics(several))?,
    }
    Ok(CLEAN)
}

/// What to type, and what it is called.
fn named(topic: Topic) -> String {
    match topic {
        Topic::Rule(rule) => format!("{} ({})", rule.code, rule.name),
        Topic::Folklore(page) => page.name.to_owned(),
    }
}
