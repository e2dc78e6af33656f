//! Systems of the simplest kind: members that serve, and nothing that gets in the way.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::time::Duration;
use straddle_geometry::{Bytes, Unit};
use straddle_predict::profile::Profile;
use straddle_predict::{Arrivals, Scenario};
use straddle_workload::{Pattern, Percent, Workload};

/// What all services take, on average, in seconds.
pub(crate) const SERVICE: f64 = 0.005;
/// Length of all requests and of all stripe units.
pub(crate) const IO: u64 = 8192;

/// Stations that each have so many servers behind one queue; requests go to one of them at random.
pub(crate) fn stations(count: u32, servers: u32, distribution: &str) -> Profile {
    let text = format!(
        r#"
        title = "Stations"
        summary = "Stations."
        [server]
        service = {{ value = "{SERVICE} s", assumed = "of the test" }}
        distribution = {{ value = "{distribution}", assumed = "of the test" }}
        servers = {{ value = {servers}, assumed = "of the test" }}
        capacity = {{ value = "1 GiB", assumed = "of the test" }}
        [array]
        level = {{ value = "raid0", assumed = "of the test" }}
        members = {{ value = {count}, assumed = "of the test" }}
        stripe_unit = {{ value = "{IO}", assumed = "of the test" }}
        "#
    );
    Profile::read("stations", &text).expect("a profile")
}

/// A closed loop of so many requests.
pub(crate) fn closed(profile: Profile, requests: u32, think: f64) -> Scenario {
    Scenario {
        profile,
        workload: Workload {
            reads: Percent::ALL,
            pattern: Pattern::Random,
            sizes: vec![(Unit::new(IO).expect("not zero"), 1)],
            workers: 1,
            outstanding: requests,
            think: Duration::from_secs_f64(think),
            rate: None,
        },
        script: None,
        arrivals: Arrivals::Random,
        offset: Bytes::ZERO,
        span: None,
    }
}

/// Poisson arrivals.
pub(crate) fn open(profile: Profile, rate: f64) -> Scenario {
    let mut scenario = closed(profile, 1, 0.0);
    scenario.workload.rate = Some(rate);
    scenario
}
