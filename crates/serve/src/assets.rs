//! Pages of the server itself, and what they load from it.

use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::{AutoEscape, Environment, Value};

use crate::error::Failure;

/// What a page of this server may load: from this server only.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const FRAME: &str = include_str!("assets/frame.html");
const STYLE: &str = include_str!("assets/serve.css");
const SCRIPT: &str = include_str!("assets/live.js");

/// A file that pages load.
pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    let (type_, text) = match name.as_str() {
        "serve.css" => ("text/css", STYLE),
        "live.js" => ("text/javascript", SCRIPT),
        _ => {
            return Failure::new(StatusCode::NOT_FOUND, format!("there is no asset {name}"))
                .into_response();
        }
    };
    ([(header::CONTENT_TYPE, type_)], text).into_response()
}

/// A page of this server.
pub(crate) fn page(title: &str, body: &str, context: Value) -> Result<Response, Failure> {
    let made = (|| {
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment.add_template("body", body)?;
        environment.add_template("frame", FRAME)?;
        let body = environment.get_template("body")?.render(context)?;
        let body = Value::from_safe_string(body);
        environment
            .get_template("frame")?
            .render(minijinja::context! { title => title, body => body })
    })();
    let html =
        made.map_err(|error| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(with(html, POLICY))
}

/// A page of the report, which has its style and its scripts in it: those and no others may run.
pub(crate) fn report(html: String) -> Response {
    let mut hashes = String::new();
    for script in html.split("<script>").skip(1) {
        let script = script.split("</script>").next().unwrap_or_default();
        let hash = STANDARD.encode(hmac_sha256::Hash::hash(script.as_bytes()));
        hashes.push_str(&format!(" 'sha256-{hash}'"));
    }
    let scripts = if hashes.is_empty() {
        " 'none'"
    } else {
        &hashes
    };
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src{scripts}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    with(html, &policy)
}

fn with(html: String, policy: &str) -> Response {
    let mut response = ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response();
    if let Ok(policy) = HeaderValue::from_str(policy) {
        response
            .headers_mut()
            .insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// JSON as it is.
pub(crate) fn json(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}
