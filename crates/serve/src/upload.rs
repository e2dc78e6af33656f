//! Files that are handed in to be checked: what tools printed, or the beginning of an image.

use axum::body::Bytes;
use axum::extract::{Path, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{RequestExt, body};
use minijinja::context;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use straddle::check::{Outcome, handed_in, nothing_known};
use straddle::report::json;
use straddle::report::pages::About;
use tokio::time::timeout;

use crate::app::{App, MAX_UPLOAD};
use crate::error::{Failure, aside};
use crate::token::Token;
use crate::{assets, runs};

/// Time for all of a file.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Deserialize)]
pub(crate) struct Named {
    /// What the file is called; only shown.
    name: Option<String>,
    /// How long an image is of which the beginning is sent.
    size: Option<u64>,
}

pub(crate) async fn form() -> Result<Response, Failure> {
    assets::page(
        "Check a file",
        include_str!("assets/check.html"),
        context! { most => MAX_UPLOAD >> 20 },
    )
}

/// Checks a file, and says where its report is.
pub(crate) async fn check_page(
    State(app): State<Arc<App>>,
    Query(named): Query<Named>,
    request: Request,
) -> Result<Response, Failure> {
    let (name, document) = checked(named, request).await?;
    let about = About {
        name,
        facts: Vec::new(),
    };
    let html = aside(move || runs::rendered(about, &document)).await?;
    let failed =
        |error: std::io::Error| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    let id = Token::random().map_err(failed)?.to_string();
    let at = format!("/checked/{id}");
    app.keep(id, html);
    Ok((StatusCode::CREATED, [(header::LOCATION, at)]).into_response())
}

pub(crate) async fn kept(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let html = app.kept(&id);
    html.map(assets::report).ok_or_else(|| {
        Failure::new(
            StatusCode::NOT_FOUND,
            "this report is not kept any more; check the file again",
        )
    })
}

pub(crate) async fn check_json(
    Query(named): Query<Named>,
    request: Request,
) -> Result<Response, Failure> {
    Ok(assets::json(checked(named, request).await?.1))
}

/// The name of a file, and the document of its check. Nothing of it stays.
async fn checked(named: Named, request: Request) -> Result<(String, String), Failure> {
    let bytes = timeout(PATIENCE, whole(request)).await;
    let bytes = bytes.map_err(|_| {
        Failure::new(
            StatusCode::REQUEST_TIMEOUT,
            "the file took longer than a minute to arrive",
        )
    })??;
    if bytes.is_empty() {
        return Err(Failure::new(
            StatusCode::BAD_REQUEST,
            "an empty file; send it as the body of the request",
        ));
    }
    // The last part of a path, whatever the client says: it is only shown.
    let name = named.name.unwrap_or_else(|| "uploaded file".to_owned());
    let name = name
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or_default()
        .to_owned();
    aside(move || {
        let document = check(&name, bytes.into(), named.size)?;
        Ok((name, document))
    })
    .await
}

async fn whole(request: Request) -> Result<Bytes, Failure> {
    let said = request.headers().get(header::CONTENT_LENGTH);
    let said: Option<u64> = said.and_then(|length| length.to_str().ok()?.parse().ok());
    let too_long = || {
        Failure::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "expected at most {} MiB; of an image the first MiB has its partition table: head -c 1M disk.img",
                MAX_UPLOAD >> 20
            ),
        )
    };
    if said.is_some_and(|length| length > MAX_UPLOAD as u64) {
        return Err(too_long());
    }
    let body = request.into_limited_body();
    body::to_bytes(body, MAX_UPLOAD)
        .await
        .map_err(|_| too_long())
}

/// The document of a check of bytes, in memory.
fn check(name: &str, bytes: Vec<u8>, size: Option<u64>) -> Result<String, Failure> {
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::new(StatusCode::UNPROCESSABLE_ENTITY, format!("{name}: {error}"))
    };
    let mut targets = Vec::new();
    for report in handed_in(name, bytes, size) {
        match report.outcome.map_err(|error| wrong(&error))? {
            Outcome::Checked(checked) => {
                targets.push(json::line(&checked.document()).map_err(|error| wrong(&error))?);
            }
            Outcome::Unrecognised(why) => return Err(wrong(&nothing_known(why))),
        }
    }
    let (schema, version) = (straddle::report::SCHEMA, env!("CARGO_PKG_VERSION"));
    Ok(format!(
        "{{\"schema\":\"{schema}\",\"straddle\":\"{version}\",\"targets\":[{}],\"failures\":[]}}",
        targets.join(",")
    ))
}
