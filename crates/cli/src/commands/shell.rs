use anyhow::Context;
use clap::CommandFactory;

use crate::args::{Cli, Completions, Man};
use crate::exit::CLEAN;
use crate::output;

pub(crate) fn completions(args: &Completions) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "straddle", &mut script);
    output::print(&String::from_utf8(script)?)?;
    Ok(CLEAN)
}

pub(crate) fn man(args: &Man) -> anyhow::Result<u8> {
    let mut command = Cli::command();
    command.build();
    let command = match &args.command {
        None => command,
        Some(name) => command
            .find_subcommand(name)
            .with_context(|| format!("there is no command `{name}`; `straddle --help` lists them"))?
            .clone(),
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    output::print(&String::from_utf8(page)?)?;
    Ok(CLEAN)
}
