//! Systems whose answer a formula knows: the simulated intervals hold it as often as they promise.
//!
//! L. Kleinrock, *Queueing Systems* 1 (1975): M/M/c by Erlang's second formula, M/D/1 by Pollaczek and Khinchine. M. Reiser
//! and S. S. Lavenberg, *Mean-value analysis of closed multichain queuing networks*, Journal of the ACM 27 (1980): closed
//! networks of exponential servers. A write-back cache of k pages in front of c servers is M/M/c of which only the part beyond k is waited for.

use crate::common::{SERVICE, closed, open, stations};
use straddle_predict::Scenario;
use straddle_predict::experiment::{Case, Effort, compare};
use straddle_predict::profile::{Origin, Profile};
use straddle_workload::Percent;

/// Experiments of each system, each with its own random numbers.
const SEEDS: u64 = 20;
/// Of 20 intervals that each hold the truth in 95% of cases, fewer do in one of 400 cases.
const LEAST: usize = 16;

/// Standard errors of the mean of all experiments by which it may be off: by chance in one of 370 cases.
const ERRORS: f64 = 3.0;

/// Asserts that intervals of `figure` hold the truth, that they are at most so wide to either side, as a share, and that the
/// mean of all experiments is off by no more than chance.
fn assert_holds(
    name: &str,
    scenario: &Scenario,
    requests: u64,
    truth: f64,
    width: f64,
    figure: impl Fn(&Case) -> straddle_workload::interval::Interval,
) {
    let mut held = 0;
    let mut shares = Vec::new();
    for experiment in 0..SEEDS {
        let effort = Effort {
            requests,
            least: 6,
            most: 6,
            precision: 1.0,
            seed: 1 + 1000 * experiment,
        };
        let trials = compare(std::slice::from_ref(scenario), effort).expect("it runs");
        let found = figure(&trials.cases[0]);
        held += usize::from(found.low <= truth && truth <= found.high);
        shares.push(found.mean / truth);
        let half = (found.high - found.mean) / truth;
        assert!(half < width, "{name}: {found:?}");
    }
    #[expect(clippy::cast_precision_loss, reason = "a few")]
    let count = SEEDS as f64;
    let mean = shares.iter().sum::<f64>() / count;
    let squares = shares.iter().map(|share| (share - mean).powi(2));
    let error = (squares.sum::<f64>() / (count - 1.0) / count).sqrt();
    assert!(
        held >= LEAST,
        "{name}: {held} of {SEEDS} hold {truth}, mean {mean}"
    );
    let off = (mean - 1.0).abs();
    assert!(off <= ERRORS * error, "{name}: mean {mean} ± {error}");
    assert!(error < width / 15.0, "{name}: mean {mean} ± {error}");
}

/// The chance that all of `servers` are busy, each of which is for a share `load` of the time (Erlang 1917).
fn erlang(servers: u32, load: f64) -> f64 {
    let offered = f64::from(servers) * load;
    let mut blocked = 1.0;
    for n in 1..=servers {
        blocked = offered * blocked / (f64::from(n) + offered * blocked);
    }
    blocked / (1.0 - load * (1.0 - blocked))
}

#[test]
fn one_exponential_server() {
    for load in [0.3, 0.7] {
        let scenario = open(stations(1, 1, "exponential"), load / SERVICE);
        let truth = SERVICE / (1.0 - load);
        assert_holds("M/M/1", &scenario, 10_000, truth, 0.18, |case| case.latency);
    }
}

#[test]
fn several_exponential_servers_behind_one_queue() {
    for (servers, load) in [(2, 0.5), (4, 0.8)] {
        let rate = load * f64::from(servers) / SERVICE;
        let scenario = open(stations(1, servers, "exponential"), rate);
        let wait = erlang(servers, load) * SERVICE / (f64::from(servers) * (1.0 - load));
        let truth = SERVICE + wait;
        assert_holds("M/M/c", &scenario, 10_000, truth, 0.18, |case| case.latency);
    }
}

/// Mean time for which a write waits for one of `room` pages in front of servers that are each busy for a share `load`: Σ over
/// n ≥ room of P(n)·(n − room + 1) services of all servers together.
fn wait_for_room(servers: u32, load: f64, room: u32) -> f64 {
    let offered = f64::from(servers) * load;
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..servers {
        term *= offered / f64::from(n);
        sum += term;
    }
    let full = term * offered / f64::from(servers);
    let at_room = full * load.powf(f64::from(room - servers)) / (sum + full / (1.0 - load));
    at_room * SERVICE / (f64::from(servers) * (1.0 - load).powf(2.0))
}

#[test]
fn waiting_for_room_in_front_of_one_server_is_a_geometric_sum() {
    // P(n) = (1 − load)·loadⁿ.
    let (load, room) = (0.6_f64, 3_u32);
    let mut sum = 0.0;
    for n in room..200 {
        let chance = (1.0 - load) * load.powf(f64::from(n));
        sum += chance * f64::from(n - room + 1) * SERVICE;
    }
    assert!((wait_for_room(1, load, room) / sum - 1.0).abs() < 1e-9);
}

#[test]
fn several_exponential_servers_behind_a_finite_write_buffer() {
    for (servers, load, room) in [(1, 0.7, 4), (2, 0.8, 8)] {
        let set = |profile: Profile, path: &str, value: toml::Value| {
            profile
                .with(path, &value, Origin::Flag)
                .expect("it is allowed")
        };
        let mut profile = stations(1, servers, "exponential");
        profile = set(profile, "cache.size", "128 KiB".into());
        profile = set(profile, "cache.page", "8 KiB".into());
        profile = set(profile, "cache.high", (f64::from(room) / 16.0).into());
        profile = set(profile, "cache.destages", i64::from(room).into());
        let mut scenario = open(profile, load * f64::from(servers) / SERVICE);
        scenario.workload.reads = Percent::new(0).expect("a share");
        let truth = wait_for_room(servers, load, room);
        assert_holds("a write buffer", &scenario, 40_000, truth, 0.4, |case| {
            case.latency
        });
    }
}

#[test]
fn one_server_with_a_fixed_time() {
    for load in [0.3, 0.8] {
        let scenario = open(stations(1, 1, "fixed"), load / SERVICE);
        let truth = SERVICE * (1.0 + load / (2.0 * (1.0 - load)));
        assert_holds("M/D/1", &scenario, 10_000, truth, 0.12, |case| case.latency);
    }
}

#[test]
fn poisson_arrivals_that_are_spread_over_stations_are_poisson() {
    let load = 0.6;
    let scenario = open(stations(8, 1, "exponential"), 8.0 * load / SERVICE);
    let truth = SERVICE / (1.0 - load);
    assert_holds("8 M/M/1", &scenario, 10_000, truth, 0.12, |case| {
        case.latency
    });
}

/// Rate of a closed network of so many requests and balanced stations, with a pause of `think` seconds.
fn mean_value_analysis(requests: u32, stations: u32, think: f64) -> f64 {
    let share = 1.0 / f64::from(stations);
    let (mut queue, mut rate) = (0.0, 0.0);
    for n in 1..=requests {
        let response = SERVICE * (1.0 + queue);
        rate = f64::from(n) / (think + response);
        queue = rate * share * response;
    }
    rate
}

#[test]
fn mean_value_analysis_of_balanced_stations_is_the_known_quotient() {
    for (n, k) in [(1, 1), (5, 1), (32, 8), (100, 150)] {
        let (n_, k_) = (f64::from(n), f64::from(k));
        let truth = k_ / SERVICE * n_ / (n_ + k_ - 1.0);
        assert!((mean_value_analysis(n, k, 0.0) / truth - 1.0).abs() < 1e-12);
    }
}

#[test]
fn closed_networks_of_exponential_servers() {
    for (requests, count) in [(4, 3), (32, 8), (32, 150)] {
        let scenario = closed(stations(count, 1, "exponential"), requests, 0.0);
        let truth = mean_value_analysis(requests, count, 0.0);
        assert_holds("closed", &scenario, 10_000, truth, 0.04, |case| case.rate);
        // Little's law: the latency says the same as the queue.
        let latency = f64::from(requests) / truth;
        assert_holds("closed", &scenario, 10_000, latency, 0.03, |case| {
            case.latency
        });
    }
}

/// How many are under repair does not depend on how the time between is distributed, only on its mean.
#[test]
fn machines_that_run_a_while_and_wait_for_repair() {
    for (requests, count, think) in [(10, 1, 0.04), (20, 4, 0.02)] {
        let scenario = closed(stations(count, 1, "exponential"), requests, think);
        let truth = mean_value_analysis(requests, count, think);
        assert_holds("think", &scenario, 10_000, truth, 0.04, |case| case.rate);
        let latency = f64::from(requests) / truth - think;
        assert_holds("think", &scenario, 10_000, latency, 0.08, |case| {
            case.latency
        });
    }
}
