use std::io::Read;

use flate2::read::DeflateDecoder;

use crate::args::{Schema, Verb};
use crate::exit::CLEAN;
use crate::output;

/// A file of `docs/schemas/`, which the build packed.
macro_rules! packed {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".json"))
    };
}

pub(crate) fn run(args: &Schema) -> anyhow::Result<u8> {
    let packed: &[u8] = match args.verb {
        Verb::Check => packed!("check"),
        Verb::Bench => packed!("bench"),
        Verb::Predict => packed!("predict"),
        Verb::Fix => packed!("fix"),
        Verb::Realign => packed!("realign"),
        Verb::Evidence => packed!("evidence"),
        Verb::Trace => packed!("trace"),
        Verb::Profile => packed!("profile"),
        Verb::Compare => packed!("compare"),
        Verb::History => packed!("history"),
        Verb::Study => packed!("study"),
    };
    let mut text = String::new();
    DeflateDecoder::new(packed).read_to_string(&mut text)?;
    output::print(&text)?;
    Ok(CLEAN)
}
