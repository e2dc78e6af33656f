//! A local page: the history, comparisons, benches that are under way, and captures to be checked.
//!
//! One thread answers, and nothing but the loopback address is listened on unless somebody says so. Every request has to come with the token
//! that was made for this server, to a name that is this machine's, and one that changes or checks something from a page of this server
//! (`guard.rs`). What is read from a client is bounded in length and time (`connections.rs`). Pages are those of `straddle::report::pages`.

mod app;
mod assets;
mod connections;
mod error;
mod guard;
mod live;
mod openapi;
mod router;
mod runs;
mod token;
mod upload;

pub use app::{MAX_UPLOAD, Options};
pub use token::Token;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Answers until `stop` is set, then finishes what is under way. `ready` is told where the page is.
///
/// # Errors
/// Where the address cannot be listened on.
pub fn serve(options: Options, stop: &Arc<AtomicBool>, ready: impl FnOnce(&str)) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(8)
        .build()?;
    let address: SocketAddr = options.bind;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let app = app::App::new(options, address);
        ready(&app.address());
        connections::answer(listener, router::router(app), stop).await
    })
}
