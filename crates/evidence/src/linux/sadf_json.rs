//! `sadf -j`.

use super::sysstat_json::{Statistics, Tool};
use crate::format::{Format, Shape};

pub(crate) static FORMAT: Format = Format {
    name: "sadf-json",
    commands: &["sadf -j … -- -d"],
    says: "what `sar -d` says, as JSON",
    shape: Shape::Json {
        begins: || Statistics::begins(Tool::Sadf),
    },
};
