//! What is answered at which address.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{get, post};
use std::sync::Arc;

use crate::app::{App, MAX_UPLOAD};
use crate::{assets, guard, live, openapi, runs, upload};

pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(runs::list))
        .route("/runs/{run}", get(runs::page))
        .route("/compare", get(runs::compare))
        .route("/live", get(live::list))
        .route("/live/{run}", get(live::page))
        .route("/live/{run}/events", get(live::events))
        .route("/check", get(upload::form).post(upload::check_page))
        .route("/checked/{id}", get(upload::kept))
        .route("/assets/{name}", get(assets::asset))
        .route("/api/runs", get(runs::list_json))
        .route("/api/runs/{run}", get(runs::run_json))
        .route("/api/runs/{run}/document", get(runs::document))
        .route("/api/compare", get(runs::compare_json))
        .route("/api/live", get(live::list_json))
        .route("/api/check", post(upload::check_json))
        .route("/api/openapi.json", get(openapi::document))
        .fallback(crate::error::unknown)
        .method_not_allowed_fallback(crate::error::wrong_method)
        .layer(DefaultBodyLimit::max(MAX_UPLOAD))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            guard::guard,
        ))
        .with_state(app)
}
