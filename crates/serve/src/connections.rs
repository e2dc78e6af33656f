//! Connections: so many at once, each request in bounded time, and an end that lets what is under way finish.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

/// Connections at once; others wait before they are taken.
const MOST: usize = 256;
/// Time for the head of a request.
const HEAD: Duration = Duration::from_secs(10);
/// Longest head.
const MAX_HEAD: usize = 16 << 10;
/// Time that what is under way gets at the end.
const FAREWELL: Duration = Duration::from_secs(5);
/// How often it is looked whether to stop.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) async fn answer(
    listener: TcpListener,
    router: Router,
    stop: &Arc<AtomicBool>,
) -> io::Result<()> {
    let room = Arc::new(Semaphore::new(MOST));
    let (ending, ended) = watch::channel(false);
    loop {
        let permit = tokio::select! {
            permit = Arc::clone(&room).acquire_owned() => permit,
            () = until(stop) => break,
        };
        let Ok(permit) = permit else { break };
        let stream = tokio::select! {
            accepted = listener.accept() => accepted,
            () = until(stop) => break,
        };
        let stream = match stream {
            Ok((stream, _)) => stream,
            // No descriptor is left, or the client is gone: neither is the end.
            Err(_) => {
                sleep(LOOK).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(router.clone());
        let mut ended = ended.clone();
        tokio::spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .max_buf_size(MAX_HEAD)
                .serve_connection(TokioIo::new(stream), service);
            tokio::pin!(connection);
            tokio::select! {
                _ = connection.as_mut() => {}
                _ = ended.changed() => {
                    connection.as_mut().graceful_shutdown();
                    let _ = timeout(FAREWELL, connection).await;
                }
            }
            drop(permit);
        });
    }
    drop(listener);
    let _ = ending.send(true);
    let all = u32::try_from(MOST).unwrap_or(u32::MAX);
    let _ = timeout(FAREWELL + LOOK, room.acquire_many(all)).await;
    Ok(())
}

async fn until(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        sleep(LOOK).await;
    }
}
