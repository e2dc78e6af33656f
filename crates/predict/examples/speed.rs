//! How fast systems are simulated: one line with requests each second of processor time and the most memory resident, in
//! KiB. `speed PROFILE KEY=VALUE… -- count|time IO OFFSET READS OUTSTANDING REQUESTS`: random requests of `IO` bytes, the
//! lattice beginning at byte `OFFSET`, `READS` percent of them reads, `OUTSTANDING` under way.
//!
//! Processor time is that of the one thread, from the kernel's scheduler: it stands still while other programs run.

use std::time::Duration;
use straddle_geometry::{Bytes, Unit};
use straddle_predict::profile::{Origin, Profile, registry};
use straddle_predict::{Arrivals, Length, Scenario, count};
use straddle_workload::{Pattern, Percent, Workload};

/// Seconds that this thread has been on a processor.
fn on_processor() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds = text.split(' ').next().expect("three figures");
    nanoseconds.parse::<f64>().expect("a number") / 1e9
}

fn peak_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find(|line| line.starts_with("VmHWM:"));
    let figure = line.and_then(|line| line.split_whitespace().nth(1));
    figure.expect("a figure").parse().expect("a number")
}

fn profile(words: &[String]) -> Profile {
    let (name, settings) = words.split_first().expect("a profile");
    let mut profile = registry::load(name).expect("one of ours");
    for setting in settings {
        let (key, text) = setting.split_once('=').expect("KEY=VALUE");
        let value = match text.parse::<i64>() {
            Ok(number) => toml::Value::Integer(number),
            Err(_) => toml::Value::String(text.to_owned()),
        };
        profile = profile.with(key, &value, Origin::Flag).expect("a setting");
    }
    profile
}

#[expect(clippy::print_stdout, reason = "a program")]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut parts = words.split(|word| word == "--");
    let (what, how) = (parts.next().expect("a profile"), parts.next().expect("--"));
    let figure = |at: usize| how[at].parse::<u64>().expect("a number");
    let (io, offset, requests) = (figure(1), figure(2), figure(5));
    let scenario = Scenario {
        profile: profile(what),
        workload: Workload {
            reads: Percent::new(u8::try_from(figure(3)).expect("a share")).expect("a share"),
            pattern: Pattern::Random,
            sizes: vec![(Unit::new(io).expect("not zero"), 1)],
            workers: 1,
            outstanding: u32::try_from(figure(4)).expect("a few"),
            think: Duration::ZERO,
            rate: None,
        },
        script: None,
        arrivals: Arrivals::Even,
        offset: Bytes::new(offset),
        span: None,
    };
    let before = on_processor();
    let said = match how[0].as_str() {
        "count" => {
            let counts = count(&scenario, 1, requests).expect("it can be counted");
            format!("{} units", counts.units)
        }
        _ => {
            let length = Length {
                warm_up: requests / 10,
                measured: requests - requests / 10,
            };
            let outcome = scenario.simulate(1, length).expect("it can be simulated");
            let latency = outcome.mean_latency() * 1e3;
            format!("{:.1}/s simulated, {latency:.3} ms", outcome.rate())
        }
    };
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rate = requests as f64 / (on_processor() - before);
    println!("{rate:.0} {} {said}", peak_kib());
}
