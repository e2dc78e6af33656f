//! A page as one HTML file that needs nothing else: style, script and data are in it.

use std::io::Read;

use flate2::read::DeflateDecoder;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Error, Value, context};

use super::{Block, Page, chart};
use crate::escape::is_unprintable;

const TEMPLATES: [(&str, &str); 3] = [
    ("page", include_str!("assets/page.html")),
    ("section", include_str!("assets/section.html")),
    ("parts", include_str!("assets/parts.html")),
];
const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");
/// A chart of long series that can be zoomed (MIT, see assets/uPlot.LICENSE), only in pages that have one. The build packed it.
const SERIES_SCRIPT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/uPlot.iife.min.js"));
const SERIES_STYLE: &str = include_str!("assets/uPlot.min.css");

/// The page.
///
/// # Errors
/// Where a template is wrong, which tests exclude.
pub fn html(page: &Page) -> Result<String, Error> {
    let blocks = || {
        page.parts
            .iter()
            .flat_map(|part| &part.sections)
            .flat_map(|section| &section.blocks)
    };
    let has_series =
        blocks().any(|block| matches!(block, Block::Figure(figure) if figure.series.is_some()));
    let moves = blocks().any(|block| match block {
        Block::Ruler(_) => true,
        Block::Fleet(fleet) => fleet.all.is_some(),
        Block::Figure(figure) => figure.series.is_some(),
        _ => false,
    });
    let environment = environment()?;
    environment.get_template("page")?.render(context! {
        page => Value::from(Serde(page)),
        style => STYLE,
        chart_style => chart::STYLE,
        series_style => has_series.then_some(SERIES_STYLE),
        series_script => has_series.then(series_script).transpose()?,
        script => moves.then_some(SCRIPT),
        version => env!("CARGO_PKG_VERSION"),
    })
}

fn series_script() -> Result<String, Error> {
    let mut script = String::new();
    let read = DeflateDecoder::new(SERIES_SCRIPT).read_to_string(&mut script);
    read.map_err(|error| Error::new(minijinja::ErrorKind::InvalidOperation, error.to_string()))?;
    Ok(script)
}

fn environment() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let mut syntax = SyntaxConfig::builder();
    environment.set_syntax(syntax.trim_blocks(true).lstrip_blocks(true).build()?);
    for (name, text) in TEMPLATES {
        environment.add_template(name, text)?;
    }
    environment.add_filter("count", super::fleet::count);
    environment.add_filter("shown", |text: &str| shown(text));
    environment.add_filter("data", |value: Value| data(&value));
    Ok(environment)
}

/// Text without what would change the direction of what stands beside it, or not be seen.
fn shown(text: &str) -> String {
    text.chars()
        .map(|c| {
            if is_unprintable(c) && c != '\n' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

/// A value as JSON that may stand in a `script` element: no `<` can end it.
fn data(value: &Value) -> Result<Value, Error> {
    let text = serde_json::to_string(value)
        .map_err(|error| Error::new(minijinja::ErrorKind::BadSerialization, error.to_string()))?;
    Ok(Value::from_safe_string(text.replace('<', "\\u003c")))
}
