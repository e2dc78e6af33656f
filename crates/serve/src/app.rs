use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::token::Token;

/// Longest file that is taken for checking: text of a whole server, or the beginning of an image.
pub const MAX_UPLOAD: usize = 64 << 20;

/// What is served, and to whom.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen.
    pub bind: SocketAddr,
    /// What every request has to come with; `None` lets everybody in, and is for the loopback address only.
    pub token: Option<Token>,
    /// The history.
    pub history: Option<PathBuf>,
    /// Names under which clients may ask, besides the address itself.
    pub names: Vec<String>,
}

/// What all answers share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) token: Option<Token>,
    pub(crate) history: Option<PathBuf>,
    /// What `Host` may say.
    pub(crate) hosts: Vec<String>,
    pub(crate) at: SocketAddr,
    /// Reports of files that were handed in, the latest last; looked at once more or not at all.
    checked: Mutex<VecDeque<(String, String)>>,
}

/// Reports of files that are kept, in memory only.
const MAX_CHECKED: usize = 8;

impl App {
    pub(crate) fn new(options: Options, at: SocketAddr) -> Arc<App> {
        let port = at.port();
        let mut hosts = vec![at.to_string()];
        if at.ip().is_loopback() {
            hosts.extend([
                format!("localhost:{port}"),
                format!("127.0.0.1:{port}"),
                format!("[::1]:{port}"),
            ]);
        }
        hosts.extend(
            options
                .names
                .iter()
                .flat_map(|name| [name.clone(), format!("{name}:{port}")]),
        );
        Arc::new(App {
            token: options.token,
            history: options.history,
            hosts,
            at,
            checked: Mutex::new(VecDeque::new()),
        })
    }

    /// Keeps a report for whoever handed in its file.
    pub(crate) fn keep(&self, id: String, html: String) {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked.len() >= MAX_CHECKED {
            checked.pop_front();
        }
        checked.push_back((id, html));
    }

    pub(crate) fn kept(&self, id: &str) -> Option<String> {
        let checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        checked
            .iter()
            .find(|(other, _)| other == id)
            .map(|(_, html)| html.clone())
    }

    /// Where the page is, with what lets a browser in.
    pub(crate) fn address(&self) -> String {
        let token = self.token.as_ref().map(|token| format!("?token={token}"));
        format!("http://{}/{}", self.at, token.unwrap_or_default())
    }
}
