//! `iostat -o JSON`.

use super::sysstat_json::{Statistics, Tool};
use crate::format::{Format, Shape};

pub(crate) static FORMAT: Format = Format {
    name: "iostat-json",
    commands: &["iostat -o JSON", "iostat -x -o JSON"],
    says: "what iostat says, as JSON",
    shape: Shape::Json {
        begins: || Statistics::begins(Tool::Iostat),
    },
};
