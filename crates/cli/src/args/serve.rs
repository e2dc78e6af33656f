use clap::Args;
use std::net::SocketAddr;
use straddle_serve::Token;

/// A page on this machine: the history, comparisons, benches that are under way, and files to be checked.
///
/// Only this machine can open it, with the address that is printed, which has a token in it. Ctrl-C ends it.
#[derive(Debug, Args)]
#[command(after_help = concat!(
    "Examples:",
    "\n  straddle serve                                  prints an address; open it in a browser",
    "\n  straddle serve --bind 127.0.0.1:8080            always the same port",
    "\n  straddle serve --bind 10.0.0.5:8080 --expose --name db1:8080",
))]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) place: super::history::Place,

    /// Address and port; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub(crate) bind: SocketAddr,

    /// Let other machines in: needed for an address that is not a loopback address. The token is always asked for then, and nothing is
    /// encrypted: put it behind something that does that
    #[arg(long, conflicts_with = "no_token")]
    pub(crate) expose: bool,

    /// Names under which clients may ask besides the address, such as db1 or db1:8080; may be repeated
    #[arg(long = "name", value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// The token, at least 16 letters and digits [default: a new random one]
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<Token>,

    /// Ask for no token: every program on this machine may then read the history
    #[arg(long, conflicts_with = "token")]
    pub(crate) no_token: bool,
}
