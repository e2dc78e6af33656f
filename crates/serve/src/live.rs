//! Benches under way: their journals are read as they grow, and what they say is pushed to whoever looks on.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use straddle::bench::journal;
use straddle::bench::plan::Schedule;
use straddle::bench::statistics::analyse;
use straddle::history::Progress;
use straddle::report::json;
use straddle::report::when;
use straddle::workload::interval::Interval;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::app::App;
use crate::error::{Failure, aside};
use crate::{assets, runs};

/// How often a journal is looked at.
const LOOK: Duration = Duration::from_millis(500);
/// Longest journal that is read.
const MAX_JOURNAL: u64 = 512 << 20;

/// A run under way, as far as its journal says.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Seen {
    run: i64,
    target: String,
    began: String,
    /// `running`, `stopped` (its process is gone, and its journal can be resumed) or `ended`.
    state: &'static str,
    runs_made: u64,
    runs_expected: u64,
    cells_done: usize,
    cells: usize,
    /// Seconds that what is left takes, by what a run took so far; `null` before the first.
    seconds_left: Option<f64>,
    gains: Vec<Gain>,
}

/// What an offset gains so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Gain {
    workload: String,
    offset: String,
    ratio: Option<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Span {
    mean: f64,
    low: f64,
    high: f64,
}

impl From<Interval> for Span {
    fn from(Interval { mean, low, high }: Interval) -> Span {
        Span { mean, low, high }
    }
}

fn under_way(app: &App) -> Result<Vec<Progress>, Failure> {
    match runs::store(app) {
        Ok(store) => Ok(store.all_under_way()?),
        Err(failure) if failure.status == StatusCode::NOT_FOUND => Ok(Vec::new()),
        Err(failure) => Err(failure),
    }
}

fn ended(run: i64) -> Seen {
    Seen {
        run,
        target: String::new(),
        began: String::new(),
        state: "ended",
        runs_made: 0,
        runs_expected: 0,
        cells_done: 0,
        cells: 0,
        seconds_left: None,
        gains: Vec::new(),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a few thousand runs, and microseconds of this millennium"
)]
fn look(run: &Progress) -> Result<Seen, Failure> {
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("{}: {error}", run.journal),
        )
    };
    let path = std::path::Path::new(&run.journal);
    let Ok(found) = std::fs::metadata(path) else {
        return Ok(ended(run.id));
    };
    if !found.is_file() || found.len() > MAX_JOURNAL {
        return Err(wrong(&"no journal, or a very long one"));
    }
    let bytes = std::fs::read(path).map_err(|error| wrong(&error))?;
    let recorded = journal::read(path, &bytes).map_err(|error| wrong(&error))?;
    let plan = recorded.header.plan;
    let mut schedule = Schedule::new(plan.clone()).map_err(|error| wrong(&error))?;
    for sample in &recorded.samples {
        schedule.record(sample.slot, sample.rate());
    }
    let progress = schedule.progress();
    let classes: Vec<usize> = (0..plan.offsets.len()).collect();
    let (cells, _) = analyse(&plan, &recorded.samples, &classes);
    let last = recorded
        .samples
        .last()
        .map(|sample| sample.began + sample.took);
    let each = last.map(|last| last.as_secs_f64() / progress.made.max(1) as f64);
    let left = progress.expected.saturating_sub(progress.made) as f64;
    let mut gains = Vec::new();
    for (cell, workload) in cells.iter().zip(&plan.cells) {
        let workload = straddle::report::bench::workload(workload);
        gains.extend(cell.gains.iter().map(|gain| {
            Gain {
                workload: workload.clone(),
                offset: plan
                    .offsets
                    .get(gain.offset)
                    .map(|offset| offset.name.clone())
                    .unwrap_or_default(),
                ratio: gain.ratio.map(Span::from),
            }
        }));
    }
    Ok(Seen {
        run: run.id,
        target: run.target.clone(),
        began: when(Some(run.began as f64 / 1e6)),
        state: if run.process.is_there() {
            "running"
        } else {
            "stopped"
        },
        runs_made: progress.made,
        runs_expected: progress.expected,
        cells_done: cells
            .iter()
            .filter(|cell| cell.blocks >= plan.least_blocks)
            .count(),
        cells: plan.cells.len(),
        seconds_left: each.map(|each| (each * left).round()),
        gains,
    })
}

fn all(app: &App) -> Result<Vec<Seen>, Failure> {
    let seen = under_way(app)?
        .into_iter()
        .filter_map(|run| look(&run).ok());
    Ok(seen.filter(|seen| seen.state != "ended").collect())
}

fn one(app: &App, run: i64) -> Result<Seen, Failure> {
    match under_way(app)?.into_iter().find(|one| one.id == run) {
        Some(found) => look(&found),
        None => Ok(ended(run)),
    }
}

pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    let seen = aside(move || all(&app)).await?;
    assets::page(
        "Under way",
        include_str!("assets/live_list.html"),
        context! { runs => Serde(&seen) },
    )
}

pub(crate) async fn list_json(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    runs::text(json::line(&aside(move || all(&app)).await?))
}

pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Path(run): Path<i64>,
) -> Result<Response, Failure> {
    let seen = aside(move || one(&app, run)).await?;
    assets::page(
        "Under way",
        include_str!("assets/live.html"),
        context! { run => Serde(&seen) },
    )
}

/// What the journal says, whenever that changes, until the run has ended or nobody looks on.
pub(crate) async fn events(State(app): State<Arc<App>>, Path(run): Path<i64>) -> impl IntoResponse {
    let (send, receive) = mpsc::channel(4);
    tokio::spawn(async move {
        let mut last = None;
        loop {
            let (app, had) = (Arc::clone(&app), last.clone());
            let Ok(seen) = aside(move || one(&app, run)).await else {
                return;
            };
            if had.as_ref() != Some(&seen) {
                let Ok(text) = json::line(&seen) else { return };
                if send.send(Ok(Event::default().data(text))).await.is_err()
                    || seen.state == "ended"
                {
                    return;
                }
                last = Some(seen);
            }
            tokio::select! {
                () = sleep(LOOK) => {}
                () = send.closed() => return,
            }
        }
    });
    Sse::new(Events(receive)).keep_alive(KeepAlive::new().interval(Duration::from_secs(5)))
}

/// What a task sends, as a stream.
pub(crate) struct Events(mpsc::Receiver<Result<Event, Infallible>>);

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}
