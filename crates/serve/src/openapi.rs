//! What programs can ask, in OpenAPI's words.

use axum::response::Response;

use crate::app::MAX_UPLOAD;
use crate::assets;

pub(crate) async fn document() -> Response {
    assets::json(text())
}

/// The description; its paths are those of the router, which a test compares it with.
pub(crate) fn text() -> String {
    let run = serde_json::json!({ "name": "run", "in": "path", "required": true, "schema": { "type": "integer" }, "description": "Number of a run of the history." });
    let query = |name: &str, kind: &str, what: &str| serde_json::json!({ "name": name, "in": "query", "schema": { "type": kind }, "description": what });
    let answers = |what: &str| {
        serde_json::json!({
            "200": { "description": what, "content": { "application/json": {} } },
            "401": { "description": "Without the token." },
            "404": { "description": "There is none." },
            "421": { "description": "Asked under a name that is not this server's." },
        })
    };
    let document = serde_json::json!({
        "openapi": "3.1.0",
        "info": { "title": "straddle serve", "version": env!("CARGO_PKG_VERSION"), "license": { "name": "MIT OR Apache-2.0" } },
        "security": [{ "token": [] }],
        "components": { "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } } },
        "paths": {
            "/api/runs": { "get": { "summary": "The latest runs of the history.", "parameters": [
                query("verb", "string", "Only runs of this verb."), query("target", "string", "Only runs about what has this in its name."),
                query("limit", "integer", "How many at most, up to 200.") ], "responses": answers("Runs, the latest first, and how many there are.") } },
            "/api/runs/{run}": { "get": { "summary": "A run without its document.", "parameters": [run], "responses": answers("The run.") } },
            "/api/runs/{run}/document": { "get": { "summary": "The document of a run, as it was printed; `straddle schema VERB` describes it.", "parameters": [run], "responses": answers("The document.") } },
            "/api/compare": { "get": { "summary": "Two runs compared; `straddle schema compare` describes it.", "parameters": [
                query("one", "integer", "A run."), query("other", "integer", "Another run of the same verb.") ], "responses": answers("The comparison.") } },
            "/api/live": { "get": { "summary": "Benches that are under way, by their journals.", "responses": answers("What each has made so far.") } },
            "/api/check": { "post": { "summary": "Checks what tools printed, or the beginning of an image; nothing of it is kept.",
                "parameters": [query("name", "string", "What to call it."), query("size", "integer", "How long an image is of which only the beginning is sent.")],
                "requestBody": { "required": true, "description": format!("The file, at most {} MiB.", MAX_UPLOAD >> 20), "content": { "application/octet-stream": {} } },
                "responses": answers("The document of the check; `straddle schema check` describes it.") } },
        },
    });
    document.to_string()
}
