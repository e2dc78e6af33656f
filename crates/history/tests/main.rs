//! A history by its public interface.

mod damage;
mod exchange;
mod kill;
mod store;

use straddle_history::Run;

/// The n-th run of a machine.
pub(crate) fn run(machine: &str, number: u64) -> Run {
    let verb = ["bench", "predict", "fix"][usize::try_from(number % 3).expect("small")];
    Run {
        verb: verb.to_owned(),
        target: format!("/data{}", number % 5),
        headline: format!("+{number}%"),
        began: 1_795_791_315_000_000 + i64::try_from(number).expect("small"),
        machine: machine.to_owned(),
        version: "0.1.0".to_owned(),
        command: format!("straddle {verb} /data{}", number % 5),
        status: 0,
        document: format!(
            "{{\"schema\":\"straddle.{verb}/1\",\"number\":{number},\"text\":\"µ \\\"x\\\"\"}}\n"
        ),
    }
}
