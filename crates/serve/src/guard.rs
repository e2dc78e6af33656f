//! Who is let in: a name of this machine, the token, and for what changes something a page of this server.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use std::sync::Arc;

use crate::app::App;
use crate::error::Failure;

/// What a browser keeps after the first page, so that links need no token.
const COOKIE: &str = "straddle";

/// Lets a request through, or says why not; what comes back may do no more than it needs.
pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let mut response = match admitted(&app, &request) {
        Ok(None) => next.run(request).await,
        Ok(Some(first)) => first,
        Err(failure) => failure.into_response(),
    };
    let headers = response.headers_mut();
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(
            "default-src 'none'; frame-ancestors 'none'",
        ));
    response
}

/// `Some` answer for the first page of a browser, which takes the token out of the address.
fn admitted(app: &App, request: &Request) -> Result<Option<Response>, Failure> {
    let headers = request.headers();
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    // A page elsewhere whose name was made to lead here asks under its own name.
    if !app
        .hosts
        .iter()
        .any(|known| known.eq_ignore_ascii_case(host))
    {
        return Err(Failure::new(
            StatusCode::MISDIRECTED_REQUEST,
            format!("this server is not called {host}; it is {}", app.at),
        ));
    }
    let is_reading = matches!(*request.method(), Method::GET | Method::HEAD);
    if !is_reading {
        same_origin(app, headers)?;
    }
    let Some(token) = &app.token else {
        return Ok(None);
    };
    let bearer = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
    if bearer
        .or(cookie(headers))
        .is_some_and(|given| token.is(given))
    {
        return Ok(None);
    }
    let query = request.uri().query().unwrap_or_default();
    let given = query
        .split('&')
        .find_map(|part| part.strip_prefix("token="));
    match given {
        Some(given) if is_reading && token.is(given) => {
            let mut first = Redirect::to(request.uri().path()).into_response();
            let kept = format!("{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/");
            if let Ok(kept) = HeaderValue::from_str(&kept) {
                first.headers_mut().insert(header::SET_COOKIE, kept);
            }
            Ok(Some(first))
        }
        _ => Err(Failure::new(
            StatusCode::UNAUTHORIZED,
            "this page is opened with the address that `straddle serve` printed; programs send it as `Authorization: Bearer TOKEN`",
        )),
    }
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(';'))
        .find_map(|one| one.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

/// What changes or checks something comes from a page of this server, or from a program, which says no origin.
fn same_origin(app: &App, headers: &HeaderMap) -> Result<(), Failure> {
    let site = headers
        .get("sec-fetch-site")
        .and_then(|value| value.to_str().ok());
    let origin = headers
        .get(header::ORIGIN)
        .and_then(|value| value.to_str().ok());
    let is_own = |origin: &str| {
        let host = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(|host| {
            app.hosts
                .iter()
                .any(|known| known.eq_ignore_ascii_case(host))
        })
    };
    let allowed =
        site.is_none_or(|site| matches!(site, "same-origin" | "none")) && origin.is_none_or(is_own);
    if allowed {
        return Ok(());
    }
    Err(Failure::new(
        StatusCode::FORBIDDEN,
        "this was asked for by a page of another site",
    ))
}
