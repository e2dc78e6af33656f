//! `straddle serve`: a local page.

use anyhow::{Context as _, bail};
use straddle_serve::{Options, Token, serve};

use super::kept;
use crate::args::serve::Serve;
use crate::exit::CLEAN;
use crate::output;

pub(crate) fn run(args: &Serve) -> anyhow::Result<u8> {
    if !args.bind.ip().is_loopback() && !args.expose {
        bail!(
            "{} can be reached from other machines; say --expose to let them in, or bind to 127.0.0.1",
            args.bind
        );
    }
    let token = match (&args.token, args.no_token) {
        (Some(token), _) => Some(token.clone()),
        (None, true) => None,
        (None, false) => {
            Some(Token::random().context("no random numbers for a token; give one with --token")?)
        }
    };
    let options = Options {
        bind: args.bind,
        token,
        history: kept::path(args.place.history.as_deref()).ok(),
        names: args.names.clone(),
    };
    let stop = crate::interrupts::interrupts()?;
    let mut said = Ok(());
    serve(options, &stop, |address| {
        said = output::print(&format!("{address}\n"));
    })
    .with_context(|| format!("cannot listen on {}", args.bind))?;
    said?;
    Ok(CLEAN)
}
