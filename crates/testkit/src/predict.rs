//! What `predict`, `profile` and `study` read.

use std::time::Duration;
use straddle_geometry::{Bytes, Unit};
use straddle_predict::fit::Measured;
use straddle_predict::outline::Outline;
use straddle_predict::profile::Profile;
use straddle_predict::study::Study;
use straddle_predict::{Arrivals, Length, Scenario};
use straddle_workload::{Pattern, Percent, Workload};

/// Reads a profile; one that is taken is set to work: it answers what it is asked, or says which parameter is in the way.
pub fn profile(data: &[u8]) {
    let Ok(profile) = Profile::read("profile", &String::from_utf8_lossy(data)) else {
        return;
    };
    let sizes = [4_096, 65_536].into_iter().filter_map(Unit::new);
    let scenario = Scenario {
        profile,
        workload: Workload {
            reads: Percent::new(70).unwrap_or(Percent::ALL),
            pattern: Pattern::Random,
            sizes: sizes.map(|size| (size, 1)).collect(),
            workers: 2,
            outstanding: 8,
            think: Duration::ZERO,
            rate: None,
        },
        script: None,
        arrivals: Arrivals::Even,
        offset: Bytes::new(32_256),
        span: None,
    };
    let length = Length {
        warm_up: 10,
        measured: 200,
    };
    if let Ok(outcome) = scenario.simulate(1, length) {
        assert!(outcome.requests() <= 200, "more answers than requests");
    }
}

/// Reads a study.
pub fn study(data: &[u8]) {
    let _ = Study::read("study", &String::from_utf8_lossy(data));
}

/// Reads what `check --format json` prints.
pub fn outline(data: &[u8]) {
    let _ = Outline::read("stack.json", &String::from_utf8_lossy(data));
}

/// Reads what `bench --format json` prints.
pub fn measured(data: &[u8]) {
    let _ = Measured::read("bench.json", &String::from_utf8_lossy(data));
}
