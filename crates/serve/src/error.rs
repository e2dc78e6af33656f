//! Answers that are none: a status, and why, in JSON for the API and as a page for people.

use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) why: String,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, why: impl Into<String>) -> Failure {
        Failure {
            status,
            why: why.into(),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        // Text, so that nothing in it is obeyed by a browser.
        let type_ = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
        (self.status, type_, format!("{}\n", self.why)).into_response()
    }
}

impl From<straddle::history::Error> for Failure {
    fn from(error: straddle::history::Error) -> Failure {
        use straddle::history::Trouble;
        let status = match error.trouble {
            Trouble::NoRun(_) | Trouble::Missing => StatusCode::NOT_FOUND,
            Trouble::Busy { .. } => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Failure::new(status, error.to_string())
    }
}

pub(crate) async fn unknown(uri: Uri) -> Failure {
    Failure::new(
        StatusCode::NOT_FOUND,
        format!("there is nothing at {}", uri.path()),
    )
}

pub(crate) async fn wrong_method() -> Failure {
    Failure::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "this is asked for in another way: see /api/openapi.json",
    )
}

/// Runs what reads a database or files, off the thread that answers.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| {
            Err(Failure::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                error.to_string(),
            ))
        })
}
