use straddle::report::text;
use straddle::rules::search::{Topic, nearest, questions, topics};

use crate::args::Explain;
use crate::exit::{CLEAN, FAILED};
use crate::output;

pub(crate) fn run(args: &Explain) -> anyhow::Result<u8> {
    if args.words.is_empty() {
        output::print(&text::rule_list())?;
        return Ok(CLEAN);
    }
    let mut code = CLEAN;
    let mut is_first = true;
    for query in questions(&args.words) {
        let found = match topics(&query).as_slice() {
            [] => {
                output::error(&missing(&query));
                code = FAILED;
                continue;
            }
            [topic] => text::topic(*topic),
            several => text::topics(several),
        };
        if !is_first {
            output::print("\n")?;
        }
        is_first = false;
        output::print(&found)?;
    }
    Ok(code)
}

/// That there is no page, and which are near.
fn missing(query: &str) -> String {
    let names: Vec<String> = nearest(query).into_iter().map(named).collect();
    let near = match names.is_empty() {
        true => String::new(),
        false => format!("; nearest: {}", names.join(", ")),
    };
    format!("there is no page on `{query}`{near}; `straddle explain` lists all codes and beliefs")
}

/// What to type, and what it is called.
fn named(topic: Topic) -> String {
    match topic {
        Topic::Rule(rule) => format!("{} ({})", rule.code, rule.name),
        Topic::Folklore(page) => page.name.to_owned(),
    }
}
