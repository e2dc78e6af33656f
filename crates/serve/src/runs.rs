//! The history: lists, pages, comparisons.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use minijinja::context;
use minijinja::value::Serde;
use serde::Deserialize;
use std::sync::Arc;
use straddle::history::{Entry, Filter, Store};
use straddle::report::compare::{self, Compared, Comparison};
use straddle::report::json;
use straddle::report::kept::{Document, Row};
use straddle::report::pages::{About, Page, html};

use crate::app::App;
use crate::assets;
use crate::error::{Failure, aside};

/// Runs on one page.
const MOST: u64 = 200;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Asked {
    verb: Option<String>,
    target: Option<String>,
    limit: Option<u64>,
}

impl Asked {
    fn filter(&self) -> Filter {
        let some = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        Filter {
            verb: some(&self.verb),
            target: some(&self.target),
            machine: None,
        }
    }

    fn limit(&self) -> u64 {
        self.limit.unwrap_or(MOST).min(MOST)
    }
}

pub(crate) fn store(app: &App) -> Result<Store, Failure> {
    let Some(path) = &app.history else {
        return Err(Failure::new(
            StatusCode::NOT_FOUND,
            "no history is kept here",
        ));
    };
    Ok(Store::read(path)?)
}

/// The latest runs; none where nothing was kept yet.
fn listed(app: &App, asked: &Asked) -> Result<(Vec<Entry>, u64), Failure> {
    match store(app) {
        Ok(store) => {
            let filter = asked.filter();
            Ok((store.list(&filter, asked.limit())?, store.count(&filter)?))
        }
        Err(failure) if failure.status == StatusCode::NOT_FOUND => Ok((Vec::new(), 0)),
        Err(failure) => Err(failure),
    }
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Query(asked): Query<Asked>,
) -> Result<Response, Failure> {
    let (asked, (entries, all)) = aside(move || {
        let found = listed(&app, &asked)?;
        Ok((asked, found))
    })
    .await?;
    let rows: Vec<Row<'_>> = entries.iter().map(Row::from).collect();
    assets::page(
        "Runs",
        include_str!("assets/list.html"),
        context! { rows => Serde(&rows), all => all, verb => asked.verb, target => asked.target },
    )
}

pub(crate) async fn list_json(
    State(app): State<Arc<App>>,
    Query(asked): Query<Asked>,
) -> Result<Response, Failure> {
    let (entries, all) = aside(move || listed(&app, &asked)).await?;
    let rows: Vec<Row<'_>> = entries.iter().map(Row::from).collect();
    text(json::line(&Document::new(&rows, all)))
}

pub(crate) async fn run_json(
    State(app): State<Arc<App>>,
    Path(run): Path<i64>,
) -> Result<Response, Failure> {
    let entry = aside(move || Ok(store(&app)?.entry(run)?)).await?;
    text(json::line(&Row::from(&entry)))
}

pub(crate) async fn document(
    State(app): State<Arc<App>>,
    Path(run): Path<i64>,
) -> Result<Response, Failure> {
    Ok(assets::json(
        aside(move || Ok(store(&app)?.document(run)?)).await?,
    ))
}

pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Path(run): Path<i64>,
) -> Result<Response, Failure> {
    let made = aside(move || {
        let store = store(&app)?;
        let entry = store.entry(run)?;
        rendered(About::kept(&entry), &store.document(run)?)
    });
    Ok(assets::report(made.await?))
}

/// A document as a page.
pub(crate) fn rendered(about: About, document: &str) -> Result<String, Failure> {
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
    };
    let mut page = Page {
        home: Some("/".to_owned()),
        ..Page::default()
    };
    page.add(about, document.as_bytes())
        .map_err(|error| wrong(&error))?;
    html(&page).map_err(|error| wrong(&error))
}

#[derive(Debug, Deserialize)]
pub(crate) struct Two {
    one: i64,
    other: i64,
}

fn compared(app: &App, two: &Two) -> Result<Comparison, Failure> {
    let store = store(app)?;
    let side = |run: i64| -> Result<Compared<std::io::Cursor<String>>, Failure> {
        let entry = store.entry(run)?;
        Ok(Compared::kept(
            &entry,
            std::io::Cursor::new(store.document(run)?),
        ))
    };
    compare::compare(side(two.one)?, side(two.other)?, None)
        .map_err(|error| Failure::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))
}

pub(crate) async fn compare(
    State(app): State<Arc<App>>,
    Query(two): Query<Two>,
) -> Result<Response, Failure> {
    let comparison = aside(move || compared(&app, &two)).await?;
    let page = Page {
        home: Some("/".to_owned()),
        ..Page::of(compare::section(&comparison))
    };
    let made = html(&page)
        .map_err(|error| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()));
    Ok(assets::report(made?))
}

pub(crate) async fn compare_json(
    State(app): State<Arc<App>>,
    Query(two): Query<Two>,
) -> Result<Response, Failure> {
    text(json::line(&aside(move || compared(&app, &two)).await?))
}

pub(crate) fn text(made: serde_json::Result<String>) -> Result<Response, Failure> {
    made.map(assets::json)
        .map_err(|error| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}
