//! Questions that people bring to such files, each answered with figures, or said to be open with what would answer it.

mod ask;
mod databases;
mod latency;
mod load;
mod stalls;

use schemars::JsonSchema;
use serde::Serialize;

use self::ask::Said;
use super::joined::Evidence;

/// A question, and what the files say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The question.
    pub question: String,
    /// The answer, in words and with its figures.
    pub answer: String,
    /// What would answer what stays open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
}

/// One question: `None` where nothing in the files has to do with it.
type Ask = fn(&Evidence) -> Said;

const QUESTIONS: &[(&str, Ask)] = &[
    (
        "Which file stalls, on which volume, and how often?",
        stalls::which_file_stalls,
    ),
    (
        "Is the count the number of slow requests?",
        stalls::is_it_a_number_of_requests,
    ),
    (
        "Are 15 seconds the storage, or the clock?",
        stalls::storage_or_clock,
    ),
    (
        "What do I hand to the storage team?",
        stalls::what_to_hand_over,
    ),
    (
        "Which volume is slowest, and which database on it?",
        latency::slowest,
    ),
    (
        "Is it slow now, or on average since the start?",
        latency::now_or_since,
    ),
    ("Is a sum shown as a latency?", latency::sum_or_latency),
    (
        "Why do Performance Monitor and the file statistics disagree?",
        latency::why_they_disagree,
    ),
    (
        "Is the latency in large or in small requests?",
        load::large_or_small,
    ),
    (
        "What is the mix of reads and writes, and which boundaries matter for it?",
        load::mix,
    ),
    (
        "Does 100% utilization mean that it is full?",
        load::is_it_full,
    ),
    (
        "Which replica has which sector size?",
        stalls::which_sectors,
    ),
    (
        "What in a checkpoint is writing, what is syncing, and which is the disk?",
        databases::checkpoint,
    ),
    (
        "Is this 99th percentile of fsync too slow for etcd?",
        databases::etcd,
    ),
    ("Guest, host or array?", load::guest_host_array),
    (
        "How fast should this backup be, and what does a backup to NUL tell?",
        databases::backup,
    ),
];

/// All questions that the files have something to do with.
#[must_use]
pub fn answers(evidence: &Evidence) -> Vec<Answer> {
    let answered = QUESTIONS.iter().filter_map(|(question, ask)| {
        let (answer, needs) = ask(evidence)?;
        Some(Answer {
            question: (*question).to_owned(),
            answer,
            needs: needs.map(str::to_owned),
        })
    });
    answered.collect()
}
