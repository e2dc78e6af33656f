//! Questions of design: the same workload on variants of a system, each at every offset.
//!
//! An axis is a parameter and the values that it takes. Several axes make all combinations. Every combination is simulated
//! with the same random numbers, so that six disks that are aligned can be compared with eight that are not.

use straddle_geometry::{Bytes, Unit};
use straddle_workload::Workload;
use straddle_workload::interval::Verdict;
use straddle_workload::offset::Offset;

use crate::decision;
use crate::experiment::{Case, Trials, compare};
use crate::mechanism::Mechanism;
use crate::prediction::{Question, scenarios, span};
use crate::profile::{Origin, Profile, Refusal};

/// Most variants of one comparison.
pub const MAX_VARIANTS: usize = 32;
/// Most threads of a workload.
pub const MAX_THREADS: u32 = 1024;
/// Most outstanding requests of each of them.
pub const MAX_OUTSTANDING: u32 = 4096;

/// A parameter and the values that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// `section.key` of a profile, or `io`, `threads`, `outstanding`.
    pub key: String,
    /// As they were typed.
    pub values: Vec<String>,
}

/// The key of allocation units.
const ALLOCATION_UNIT: &str = "blocks.allocation_unit";
/// Bytes of a file's pieces where allocation units are compared and nobody says.
pub const PIECE: &str = "64 MiB";

/// Keys of the workload.
const IO: &str = "io";
const THREADS: &str = "threads";
const OUTSTANDING: &str = "outstanding";

/// Short names of what is compared most.
const SHORT: &[(&str, &str)] = &[
    ("members", "array.members"),
    ("disks", "array.members"),
    ("level", "array.level"),
    ("stripe-unit", "array.stripe_unit"),
    ("allocation-unit", ALLOCATION_UNIT),
];

impl Axis {
    /// Reads `members=6,8`.
    ///
    /// # Errors
    /// In words, what it should look like.
    pub fn read(text: &str) -> Result<Axis, String> {
        let (key, values) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` has no values; write it like members=6,8"))?;
        let long = SHORT.iter().find(|(short, _)| *short == key.trim());
        let key = long.map_or(key.trim(), |(_, long)| long).to_owned();
        let values: Vec<String> = values.split(',').map(|v| v.trim().to_owned()).collect();
        if values.len() < 2 || values.iter().any(String::is_empty) {
            return Err(format!(
                "`{text}` compares nothing; give at least two values, such as members=6,8"
            ));
        }
        Ok(Axis { key, values })
    }

    /// Numbers of threads, where several are asked for.
    #[must_use]
    pub fn threads(values: &[u32]) -> Option<Axis> {
        Axis::of_numbers(THREADS, values)
    }

    /// Outstanding requests per thread, where several numbers are asked for.
    #[must_use]
    pub fn outstanding(values: &[u32]) -> Option<Axis> {
        Axis::of_numbers(OUTSTANDING, values)
    }

    fn of_numbers(key: &str, values: &[u32]) -> Option<Axis> {
        (values.len() > 1).then(|| Axis {
            key: key.to_owned(),
            values: values.iter().map(u32::to_string).collect(),
        })
    }

    /// Its name in tables.
    #[must_use]
    pub fn label(&self) -> &str {
        let short = SHORT.iter().find(|(_, long)| *long == self.key);
        short.map_or(&self.key, |(short, _)| short)
    }
}

/// One combination of values.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its values, in the order of the axes.
    pub values: Vec<String>,
    /// The system.
    pub profile: Profile,
    /// What is asked of it.
    pub workload: Workload,
}

/// Variants compared with each other.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What varies.
    pub axes: Vec<Axis>,
    /// All combinations, the first axis slowest.
    pub variants: Vec<Variant>,
    /// The offsets.
    pub offsets: Vec<Offset>,
    /// Working set of each variant, in bytes: all that it holds unless asked otherwise.
    pub spans: Vec<Bytes>,
    /// Variant after variant, in each offset after offset; the first of all is the baseline of every gain.
    pub trials: Trials,
    /// What is worth saying.
    pub remarks: Vec<Remark>,
}

/// A variant at an offset: indices.
pub type Cell = (usize, usize);

/// Something in a comparison that is easily overlooked.
#[derive(Clone, Debug, PartialEq)]
pub enum Remark {
    /// Fewer members that are aligned do more than more members that are not.
    FewerDoMore {
        /// Fewer members, at an offset that does better.
        fewer: Cell,
        /// More members, at an offset that does worse.
        more: Cell,
        /// How many times as many requests each second.
        ratio: f64,
    },
    /// A larger request moves fewer bytes each second, or takes more operations for each byte, at the same offset.
    LargerIsSlower {
        /// The smaller request.
        smaller: Cell,
        /// The larger one.
        larger: Cell,
        /// Bytes each second of the larger as a multiple of those of the smaller.
        bytes: f64,
        /// Share of the larger requests that touch several stripe units.
        straddling: f64,
        /// Operations of members for each byte, as a multiple of those of the smaller.
        operations_per_byte: f64,
    },
}

/// All combinations of the values of axes.
///
/// # Errors
/// A key or a value that is not allowed, or too many combinations.
pub fn variants(axes: &[Axis], question: &Question) -> Result<Vec<Variant>, Refusal> {
    let mut others = axes.iter().enumerate();
    if let Some((_, axis)) =
        others.find(|(at, axis)| axes[..*at].iter().any(|other| other.key == axis.key))
    {
        return Err(Refusal::new(
            axis.label(),
            "it is compared twice",
            "each parameter once, with all its values",
        ));
    }
    let count = axes
        .iter()
        .try_fold(1_usize, |n, axis| n.checked_mul(axis.values.len()));
    if count.is_none_or(|count| count > MAX_VARIANTS) {
        return Err(Refusal::new(
            "--compare",
            "too many combinations",
            format!("at most {MAX_VARIANTS}"),
        ));
    }
    let mut variants = vec![Variant {
        values: Vec::new(),
        profile: in_pieces(axes, &question.profile)?,
        workload: question.workload.clone(),
    }];
    for axis in axes {
        let mut next = Vec::new();
        for variant in &variants {
            for value in &axis.values {
                next.push(variant.with(axis, value)?);
            }
        }
        variants = next;
    }
    Ok(variants)
}

/// Allocation units matter where files are in pieces: pieces of [`PIECE`] where nobody says how long they are.
fn in_pieces(axes: &[Axis], profile: &Profile) -> Result<Profile, Refusal> {
    let is_asked = axes.iter().any(|axis| axis.key == ALLOCATION_UNIT);
    let figures = || {
        profile
            .figures()
            .map(|(model, key, _)| (model.section, key.name))
    };
    if !is_asked || figures().any(|path| path == ("blocks", "fragment")) {
        return Ok(profile.clone());
    }
    let why = "files are in pieces that begin at arbitrary allocation units";
    let piece = toml::Value::String(PIECE.to_owned());
    let origin = Origin::Assumed(why.to_owned());
    profile.clone().with("blocks.fragment", &piece, origin)
}

impl Variant {
    fn with(&self, axis: &Axis, value: &str) -> Result<Variant, Refusal> {
        let mut variant = self.clone();
        variant.values.push(value.to_owned());
        let number = |most: u32| {
            let number = value.parse().ok().filter(|n| (1..=most).contains(n));
            number
                .ok_or_else(|| Refusal::new(&axis.key, value, format!("a number from 1 to {most}")))
        };
        match axis.key.as_str() {
            IO => {
                let refuse = || Refusal::new(IO, value, "a size above zero, such as 64K");
                let size: Bytes = value.parse().map_err(|_| refuse())?;
                let size = Unit::try_from(size).map_err(|_| refuse())?;
                variant.workload.sizes = vec![(size, 1)];
            }
            THREADS => variant.workload.workers = number(MAX_THREADS)?,
            OUTSTANDING => variant.workload.outstanding = number(MAX_OUTSTANDING)?,
            _ => {
                let text = plain(value);
                variant.profile = variant.profile.with(&axis.key, &text, Origin::Flag)?;
            }
        }
        Ok(variant)
    }
}

/// A value as it is typed on a command line: a number where it is one.
#[must_use]
pub fn plain(text: &str) -> toml::Value {
    // What begins with a zero is a name: RAID 01.
    let is_name = text.len() > 1 && text.starts_with('0') && !text.contains(['.', 'x']);
    if is_name {
        return toml::Value::String(text.to_owned());
    }
    if let Ok(whole) = text.parse() {
        return toml::Value::Integer(whole);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => toml::Value::Float(number),
        _ => toml::Value::String(text.to_owned()),
    }
}

/// Holds variants against each other.
///
/// # Errors
/// A variant that cannot be simulated.
pub fn compare_variants(axes: Vec<Axis>, question: &Question) -> Result<Comparison, Refusal> {
    let variants = variants(&axes, question)?;
    let (mut all, mut spans) = (Vec::new(), Vec::new());
    // Each is asked what it would be asked alone, so that it answers the same.
    for variant in &variants {
        let mut question = Question {
            profile: variant.profile.clone(),
            workload: variant.workload.clone(),
            ..question.clone()
        };
        let span = span(&question).map_err(|refusal| refusal.of(variant.name(&axes)))?;
        question.span = Some(span);
        spans.push(span);
        all.extend(scenarios(&question));
    }
    let trials = compare(&all, question.effort)?;
    let mut comparison = Comparison {
        axes,
        variants,
        offsets: question.offsets.clone(),
        spans,
        trials,
        remarks: Vec::new(),
    };
    comparison.remarks = comparison.notable();
    Ok(comparison)
}

impl Variant {
    /// `members 6, level raid10`.
    #[must_use]
    pub fn name(&self, axes: &[Axis]) -> String {
        let pairs = axes.iter().zip(&self.values);
        let parts: Vec<String> = pairs
            .map(|(axis, value)| format!("{} {value}", axis.label()))
            .collect();
        parts.join(", ")
    }
}

impl Comparison {
    /// What a variant does at an offset.
    #[must_use]
    pub fn case(&self, (variant, offset): Cell) -> Option<&Case> {
        let index = variant * self.offsets.len() + offset;
        self.trials
            .cases
            .get(index)
            .filter(|_| offset < self.offsets.len())
    }

    /// A rate as a multiple of another's.
    #[must_use]
    pub fn ratio(&self, of: Cell, to: Cell) -> Option<f64> {
        let (of, to) = (self.case(of)?, self.case(to)?);
        (to.rate.mean > 0.0).then(|| of.rate.mean / to.rate.mean)
    }

    fn notable(&self) -> Vec<Remark> {
        let mut out = Vec::new();
        let axis = |key: &str| self.axes.iter().position(|axis| axis.key == key);
        if let Some(axis) = axis("array.members") {
            out.extend(self.fewer_do_more(axis));
        }
        if let Some(axis) = axis("io") {
            for (smaller, larger) in self.neighbours(axis) {
                let offsets = 0..self.offsets.len();
                let mut remarks =
                    offsets.filter_map(|o| self.larger_is_slower((smaller, o), (larger, o)));
                // Once is enough: the same at the offset that does best.
                out.extend(remarks.next_back());
            }
        }
        out
    }

    /// Pairs of variants that differ in this axis only, by rising value.
    fn neighbours(&self, axis: usize) -> Vec<(usize, usize)> {
        let amount = |variant: &Variant| match self.axes.get(axis) {
            Some(found) if found.key == "io" => Some(variant.workload.largest().get()),
            _ => variant.values.get(axis)?.parse().ok(),
        };
        let mut out = Vec::new();
        for (a, left) in self.variants.iter().enumerate() {
            for (b, right) in self.variants.iter().enumerate() {
                let mut pairs = left.values.iter().zip(&right.values).enumerate();
                let alike = pairs.all(|(at, (l, r))| at == axis || l == r);
                if alike && amount(left) < amount(right) {
                    out.push((a, b));
                }
            }
        }
        out
    }

    /// The most striking pair.
    fn fewer_do_more(&self, axis: usize) -> Option<Remark> {
        let mut best: Option<(Cell, Cell, f64)> = None;
        for (fewer, more) in self.neighbours(axis) {
            for good in 0..self.offsets.len() {
                for bad in (0..self.offsets.len()).filter(|bad| *bad != good) {
                    let cells = ((fewer, good), (more, bad));
                    let Some(ratio) = self.ratio(cells.0, cells.1) else {
                        continue;
                    };
                    let beats = best.is_none_or(|(_, _, most)| ratio > most);
                    if ratio > 1.0 + decision::NO_DIFFERENCE && beats {
                        best = Some((cells.0, cells.1, ratio));
                    }
                }
            }
        }
        best.map(|(fewer, more, ratio)| Remark::FewerDoMore { fewer, more, ratio })
    }

    fn larger_is_slower(&self, smaller: Cell, larger: Cell) -> Option<Remark> {
        let (few, many) = (self.case(smaller)?, self.case(larger)?);
        let bytes = many.bytes_per_second / few.bytes_per_second;
        let of = |cell: Cell, case: &Case| {
            let variant = self.variants.get(cell.0)?;
            Some(Mechanism::of(case, &variant.workload))
        };
        let (of, to) = (of(larger, many)?, of(smaller, few)?);
        let per_byte = |case: &Case, mechanism: &Mechanism| {
            mechanism.member_operations * case.rate.mean / case.bytes_per_second
        };
        let operations_per_byte = per_byte(many, &of) / per_byte(few, &to);
        let is_slower = bytes < 1.0 - decision::NO_DIFFERENCE;
        let is_dearer = operations_per_byte > 1.0 + decision::NO_DIFFERENCE;
        (is_slower || is_dearer).then_some(Remark::LargerIsSlower {
            smaller,
            larger,
            bytes,
            straddling: of.straddling,
            operations_per_byte,
        })
    }

    /// The verdict on a case against the first of all.
    #[must_use]
    pub fn verdict(&self, cell: Cell, precision: f64) -> Option<Verdict> {
        let gain = self.case(cell)?.gain?;
        Some(decision::verdict(gain, precision))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_read_with_their_short_names() {
        let axis = Axis::read("members=6,8").expect("an axis");
        assert_eq!(
            (axis.key.as_str(), axis.label()),
            ("array.members", "members")
        );
        for text in ["members", "members=", "members=6", "members=6,,8"] {
            Axis::read(text).expect_err(text);
        }
    }
}
