//! Predictions in JSON.
//!
//! Times are seconds or nanoseconds, as the names of the members say; sizes and places are bytes.

use schemars::JsonSchema;
use serde::Serialize;

use straddle_geometry::Bytes;
use straddle_predict::Resource;
use straddle_predict::decision::{self, Decision, Quantity, Recommendation, Turn};
use straddle_predict::design::Comparison;
use straddle_predict::experiment::{Case, Trials};
use straddle_predict::mechanism::{Cause, Mechanism};
use straddle_predict::outline::{Place, Taken};
use straddle_predict::prediction::{Prediction, Question, gain, keeps_up, quantity};
use straddle_predict::sensitivity::{Corner, NotKnown, Sensitivity, tells};
use straddle_predict::study::Missed;
use straddle_workload::interval::{Interval, Verdict};
use straddle_workload::offset::Offset;

use super::profile::ProfileOut;
use crate::bench::document::{LatencyOut, WorkloadOut, latency, workload};

/// Name and version of the JSON document that `predict` prints. The number changes when a reader would have to.
pub const SCHEMA: &str = "straddle.predict/1";

/// Predictions, or a comparison of variants.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "straddle predict")]
pub struct Document<'a> {
    /// Name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// One for each partition or volume in question; one without a stack. Empty where variants are compared.
    predictions: Vec<PredictionOut<'a>>,
    /// Variants compared with each other; `null` without `--compare`.
    comparison: Option<ComparisonOut<'a>>,
}

/// What each offset would deliver, and what to do about it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Prediction")]
struct PredictionOut<'a> {
    /// The partition or volume that it is about; `null` without a stack.
    place: Option<PlaceOut<'a>>,
    /// What was asked, and how much was simulated.
    asked: AskedOut,
    /// One for each offset, the baseline first.
    offsets: Vec<OffsetOut<'a>>,
    /// Index of the offset to move to; 0 when there is only the baseline.
    best: usize,
    /// Why that one differs from the baseline.
    cause: Option<&'a Cause>,
    /// How far its gain rests on assumptions.
    sensitivity: SensitivityOut<'a>,
    /// What to do; `null` when there is only the baseline.
    decision: Option<DecisionOut>,
    /// Studies in which the profile is out of tolerance.
    missed: &'a [Missed],
    /// The same for reads, writes and 70% reads, where no mix was given. Where their calls differ, the workload decides.
    mixes: Vec<MixOut>,
}

/// A partition or volume.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Place")]
struct PlaceOut<'a> {
    /// What it is called.
    name: &'a str,
    /// The array or device that it lies on.
    base: &'a str,
    /// Where it begins there.
    offset_bytes: Bytes,
    /// How that is known.
    offset_from: &'a str,
    /// How long it is.
    length_bytes: Option<Bytes>,
    /// The filesystem on it.
    filesystem: Option<&'a str>,
    /// What that allocates at once.
    allocation_unit_bytes: Option<Bytes>,
    /// Figures of the stack that stand for ones of the profile.
    taken: &'a [Taken],
}

/// What was asked, and how much was simulated.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Asked")]
struct AskedOut {
    /// The system, with every parameter as it was simulated.
    profile: ProfileOut,
    /// What is asked of it; of a scenario or a recording, its summary.
    workload: WorkloadOut,
    /// The scenario or recording that is asked in its place.
    scenario: Option<String>,
    /// Working set in bytes.
    span_bytes: Option<Bytes>,
    /// Replicates of each scenario.
    replicates: u32,
    /// Requests that count in each.
    requests: u64,
    /// Requests before them that do not.
    warm_up: u64,
    /// Half the width of the 95% interval of a gain at which it is narrow enough: 0.005 is 0.5%.
    precision: f64,
    /// Seeds everything that is random.
    seed: u64,
}

/// What an offset would deliver.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OffsetResult")]
struct OffsetOut<'a> {
    /// As the user called it.
    name: &'a str,
    /// In bytes.
    bytes: Bytes,
    /// The figures.
    #[serde(flatten)]
    case: CaseOut<'a>,
    /// What it gains over the baseline; `null` for the baseline.
    gain: Option<GainOut>,
}

/// What was simulated of one scenario.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Case")]
struct CaseOut<'a> {
    /// Requests each second, with the interval of the replicates' mean.
    requests_per_second: Interval,
    /// Reads each second.
    reads_per_second: f64,
    /// Writes each second.
    writes_per_second: f64,
    /// Bytes each second, both directions.
    bytes_per_second: f64,
    /// Mean latency of all requests in seconds, with its interval.
    latency_seconds: Interval,
    /// Latency of reads.
    read_latency: Option<LatencyOut>,
    /// Latency of writes.
    write_latency: Option<LatencyOut>,
    /// Requests under way on average.
    mean_outstanding: f64,
    /// What was done for each request.
    mechanism: Mechanism,
    /// How busy each kind of resource was.
    resources: &'a [Resource],
    /// False in an open loop that offers more than is served: requests pile up for as long as the run lasts.
    keeps_up: bool,
}

/// What an offset gains over the baseline.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Gain")]
struct GainOut {
    /// What is measured in it.
    quantity: Quantity,
    /// As a multiple of the baseline's, with its 95% interval; above 1 is better.
    ratio: Interval,
    /// What that means.
    verdict: Verdict,
}

/// How far a gain rests on assumptions.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Sensitivity")]
struct SensitivityOut<'a> {
    /// The gain with the assumptions as in the profile: that of the best offset.
    nominal: Option<f64>,
    /// Parameters that were varied, the one that moves the gain most first.
    varied: Vec<VariedOut<'a>>,
    /// The strongest of them moved together.
    corners: Vec<CornerOut>,
    /// Assumptions with a range that were not varied.
    left_out: &'a [String],
    /// Assumptions for which the profile gives no range.
    without_range: &'a [String],
}

/// Several parameters moved together.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Corner")]
struct CornerOut {
    /// Those that are not as in the profile.
    values: Vec<ParameterOut>,
    /// The gain there.
    gain: f64,
}

/// A parameter at a value.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Parameter")]
struct ParameterOut {
    /// `section.key`.
    path: String,
    /// The value, with its unit.
    value: String,
    /// The command or the measurement that tells it.
    found_by: &'static str,
}

/// A parameter at the other values that it may have.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Varied")]
struct VariedOut<'a> {
    /// `section.key`.
    path: &'a str,
    /// As in the profile, with its unit.
    value: &'a str,
    /// At the least and at the largest value; of a word, at every other one.
    ends: Vec<EndOut<'a>>,
}

/// Another value of a parameter.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "End")]
struct EndOut<'a> {
    /// The value there, with its unit.
    value: &'a str,
    /// The gain there; `null` where it cannot be simulated.
    gain: Option<f64>,
    /// Half the width of the 95% interval of how far the gain moved; a movement within it may be chance.
    half_width: Option<f64>,
    /// Why it cannot.
    refused: Option<&'a str>,
}

/// What to do.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Decision")]
struct DecisionOut {
    /// What to do.
    call: Recommendation,
    /// What it would be if every assumption held.
    as_assumed: Recommendation,
    /// Where it depends on assumptions: those that decide, each at the value that makes it another call.
    depends: Vec<TurnOut>,
    /// Bytes to move; `null` where nobody says.
    data_bytes: Option<Bytes>,
    /// How often each is copied: 2 when they are copied away and back.
    passes: u64,
    /// Bytes moved each second.
    move_rate: f64,
    /// How long that takes.
    outage_seconds: Option<f64>,
    /// Time of full load after which the work lost meanwhile is made up.
    paid_back_seconds: Option<f64>,
    /// What it would be with the assumptions at their worst, where that differs.
    at_worst: Option<Recommendation>,
    /// The same at their best.
    at_best: Option<Recommendation>,
}

/// Assumptions at values that make it another call.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Turn")]
struct TurnOut {
    /// The parameter, or several that do so only together.
    values: Vec<ParameterOut>,
    /// The gain there.
    gain: f64,
    /// The call there.
    call: Recommendation,
}

/// What to do with one mix of reads and writes.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Mix")]
struct MixOut {
    /// Share of reads in percent.
    reads_percent: u8,
    /// What the requests gain, with its interval.
    gain: Interval,
    /// What to do.
    call: Recommendation,
}

/// Variants compared with each other.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Comparison")]
struct ComparisonOut<'a> {
    /// What was asked; each variant differs from it as it says.
    asked: AskedOut,
    /// Keys that vary.
    keys: Vec<&'a str>,
    /// The variants; the first at its first offset is the baseline of every gain.
    variants: Vec<VariantOut<'a>>,
}

/// A variant.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Variant")]
struct VariantOut<'a> {
    /// Values of the keys, in their order.
    values: &'a [String],
    /// One for each offset.
    offsets: Vec<OffsetOut<'a>>,
}

impl<'a> Document<'a> {
    /// Predictions as `predict --json` prints them.
    #[must_use]
    pub fn new(predictions: &'a [Prediction]) -> Document<'a> {
        Document {
            schema: SCHEMA,
            predictions: predictions.iter().map(prediction).collect(),
            comparison: None,
        }
    }

    /// A comparison as `predict --compare --json` prints it.
    #[must_use]
    pub fn compared(question: &'a Question, comparison: &'a Comparison) -> Document<'a> {
        let variants = comparison.variants.iter().enumerate();
        let variants = variants.map(|(index, variant)| VariantOut {
            values: &variant.values,
            offsets: offsets(question, &comparison.offsets, |offset| {
                comparison.case((index, offset))
            }),
        });
        Document {
            schema: SCHEMA,
            predictions: Vec::new(),
            comparison: Some(ComparisonOut {
                asked: asked(question, &comparison.trials),
                keys: comparison
                    .axes
                    .iter()
                    .map(|axis| axis.key.as_str())
                    .collect(),
                variants: variants.collect(),
            }),
        }
    }
}

fn prediction(of: &Prediction) -> PredictionOut<'_> {
    PredictionOut {
        place: of
            .place
            .as_ref()
            .map(|(place, taken)| self::place(place, taken)),
        asked: asked(&of.question, &of.trials),
        offsets: offsets(&of.question, &of.question.offsets, |offset| {
            of.trials.cases.get(offset)
        }),
        best: of.best,
        cause: of.cause.as_ref(),
        sensitivity: sensitivity(&of.sensitivity),
        decision: of
            .decision
            .as_ref()
            .map(|decision| decided(decision, &decision.turns(&of.sensitivity))),
        missed: &of.missed,
        mixes: of
            .mixes
            .iter()
            .map(|mix| MixOut {
                reads_percent: mix.reads.get(),
                gain: mix.decision.evidence.gain,
                call: mix.decision.call,
            })
            .collect(),
    }
}

fn place<'a>(place: &'a Place, taken: &'a [Taken]) -> PlaceOut<'a> {
    PlaceOut {
        name: &place.name,
        base: &place.base,
        offset_bytes: place.offset.value,
        offset_from: &place.offset.from,
        length_bytes: place.length.as_ref().map(|known| known.value),
        filesystem: place.filesystem.as_deref(),
        allocation_unit_bytes: place.allocation_unit.as_ref().map(|known| known.value),
        taken,
    }
}

fn asked(question: &Question, trials: &Trials) -> AskedOut {
    AskedOut {
        profile: ProfileOut::new(&question.profile),
        workload: workload(&question.workload),
        scenario: question.script.as_ref().map(|script| script.title.clone()),
        span_bytes: question.span,
        replicates: trials.replicates,
        requests: trials.length.measured,
        warm_up: trials.length.warm_up,
        precision: question.effort.precision,
        seed: question.effort.seed,
    }
}

fn offsets<'a>(
    question: &Question,
    offsets: &'a [Offset],
    case: impl Fn(usize) -> Option<&'a Case>,
) -> Vec<OffsetOut<'a>> {
    let quantity = quantity(&question.workload);
    let each = offsets.iter().enumerate().filter_map(|(index, offset)| {
        let case = case(index)?;
        Some(OffsetOut {
            name: &offset.name,
            bytes: offset.bytes,
            gain: gain(case, quantity).map(|ratio| GainOut {
                quantity,
                ratio,
                verdict: decision::verdict(ratio, question.effort.precision),
            }),
            case: self::case(case, question),
        })
    });
    each.collect()
}

fn case<'a>(case: &'a Case, question: &Question) -> CaseOut<'a> {
    CaseOut {
        requests_per_second: case.rate,
        reads_per_second: case.reads_per_second,
        writes_per_second: case.writes_per_second,
        bytes_per_second: case.bytes_per_second,
        latency_seconds: case.latency,
        read_latency: case.read_latency.map(latency),
        write_latency: case.write_latency.map(latency),
        mean_outstanding: case.mean_outstanding,
        mechanism: Mechanism::of(case, &question.workload),
        resources: &case.resources,
        keeps_up: keeps_up(case, &question.workload),
    }
}

fn sensitivity(of: &Sensitivity) -> SensitivityOut<'_> {
    let varied = of.varied.iter().map(|varied| VariedOut {
        path: &varied.path,
        value: &varied.value,
        ends: varied
            .ends
            .iter()
            .map(|end| EndOut {
                value: &end.value,
                gain: end.gain.as_ref().ok().map(|moved| moved.gain),
                half_width: end.gain.as_ref().ok().map(|moved| moved.half_width),
                refused: end.gain.as_ref().err().map(NotKnown::text),
            })
            .collect(),
    });
    SensitivityOut {
        nominal: (!of.varied.is_empty()).then_some(of.nominal),
        varied: varied.collect(),
        corners: of.corners.iter().map(corner).collect(),
        left_out: &of.left_out,
        without_range: &of.without_range,
    }
}

fn values(values: &[(String, String)]) -> Vec<ParameterOut> {
    let each = values.iter().map(|(path, value)| ParameterOut {
        path: path.clone(),
        value: value.clone(),
        found_by: tells(path),
    });
    each.collect()
}

fn corner(corner: &Corner) -> CornerOut {
    CornerOut {
        values: values(&corner.values),
        gain: corner.gain.gain,
    }
}

fn decided(decision: &Decision, turns: &[Turn]) -> DecisionOut {
    let turns = turns.iter().map(|turn| TurnOut {
        values: values(&turn.values),
        gain: turn.gain,
        call: turn.call,
    });
    DecisionOut {
        call: decision.call,
        as_assumed: decision.as_assumed,
        depends: turns.collect(),
        data_bytes: decision.data,
        passes: decision.passes,
        move_rate: decision.move_rate,
        outage_seconds: decision.outage.map(|time| time.as_secs_f64()),
        paid_back_seconds: decision.paid_back.map(|time| time.as_secs_f64()),
        at_worst: decision.at_worst,
        at_best: decision.at_best,
    }
}
