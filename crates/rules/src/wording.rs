//! Arithmetic and quantities in words, the same in every finding.

use schemars::JsonSchema;
use serde::Serialize;
use straddle_geometry::{Bytes, Extent, Grid, Ratio, Unit, both_ways};
use straddle_stack::{Fact, GridRole, Key, Layer, Source, Value};

use crate::context::start_sector;

/// `63 × 512 = 32,256 = 7 × 4,096 + 3,584`, or without the sectors where none are recorded; for a grid that does not
/// start at 0, `32,256 = 3,584 + 7 × 4,096 + 0`.
pub(crate) fn remainder_line(layer: &Layer, start: Bytes, grid: Grid) -> String {
    format!("{}{}", sectors_prefix(layer, start), division(start, grid))
}

/// `32,256 = 7 × 4,096 + 3,584`: how `start` divides by a grid.
#[must_use]
pub fn division(start: Bytes, grid: Grid) -> String {
    let unit = grid.unit();
    let rest = grid.remainder(start);
    let phase = grid.phase();
    let whole = start.checked_sub(rest).and_then(|on| on.checked_sub(phase));
    match whole {
        Some(whole) if phase == Bytes::ZERO => {
            let quotient = Bytes::new(whole.div_rem(unit).0).grouped();
            format!(
                "{} = {quotient} × {} + {}",
                start.grouped(),
                unit.bytes().grouped(),
                rest.grouped()
            )
        }
        Some(whole) => format!(
            "{} = {} (first boundary) + {} × {} + {}",
            start.grouped(),
            phase.grouped(),
            Bytes::new(whole.div_rem(unit).0).grouped(),
            unit.bytes().grouped(),
            rest.grouped()
        ),
        // Before the first boundary.
        None => format!(
            "{} lies before the first boundary at {} (unit {})",
            start.grouped(),
            phase.grouped(),
            unit.bytes().grouped()
        ),
    }
}

fn sectors_prefix(layer: &Layer, start: Bytes) -> String {
    // The recorded sector counts from the layer right below; what starts elsewhere is not its multiple, or by chance only.
    let is_recorded = |p: &Fact<Extent>| p.value.start() == start;
    let (Some(count), true) = (
        start_sector(layer),
        layer.placement.as_ref().is_some_and(is_recorded),
    ) else {
        return String::new();
    };
    match start.get().checked_div(count) {
        Some(size) if size.checked_mul(count) == Some(start.get()) => {
            format!(
                "{} × {} = ",
                Bytes::new(count).grouped(),
                Bytes::new(size).grouped()
            )
        }
        _ => String::new(),
    }
}

/// `first sector = 63`, or `start = 32,256 B` where no sector is recorded. A logical partition's entry counts from its own
/// boot record, and a reader who compares the bytes with the number must be told.
pub(crate) fn start_label(layer: &Layer, start: Bytes) -> String {
    let Some(count) = start_sector(layer) else {
        return format!("start = {} B", start.grouped());
    };
    let label = format!("first sector = {}", Bytes::new(count).grouped());
    match recorded_number(layer) {
        Some(written) if written != count => format!(
            "{label}: {} from its boot record",
            Bytes::new(written).grouped()
        ),
        _ => label,
    }
}

/// The number in the bytes that say where a layer is placed.
fn recorded_number(layer: &Layer) -> Option<u64> {
    let Source::Image(evidence) = &layer.placement.as_ref()?.source else {
        return None;
    };
    let mut bytes = [0; 8];
    let field = evidence.field();
    bytes.get_mut(..field.len())?.copy_from_slice(field);
    Some(u64::from_le_bytes(bytes))
}

/// `a stripe unit`, `an indirection unit`.
pub(crate) fn with_article(role: GridRole) -> String {
    let name = role.name();
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {name}")
}

/// The value of a fact about `layer` in words, for evidence labels: `hidden sectors = 2,048`.
pub(crate) fn label(key: Key, value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => format!("{} = {}", key.name(), both_ways(*bytes)),
        other => format!("{} = {other}", key.name()),
    }
}

/// One of the two classical correlations: both must be integers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Correlation {
    /// `partition offset ÷ stripe unit`, or `stripe unit ÷ allocation unit`.
    pub name: &'static str,
    /// The number above.
    pub dividend: Bytes,
    /// The number below.
    pub divisor: Unit,
    /// True when the division has no remainder.
    pub integer: bool,
}

impl Correlation {
    /// `dividend ÷ divisor`.
    #[must_use]
    pub fn new(name: &'static str, dividend: Bytes, divisor: Unit) -> Correlation {
        Correlation {
            name,
            dividend,
            divisor,
            integer: dividend.is_multiple_of(divisor),
        }
    }

    /// `32,256 ÷ 65,536 = 0.492…`; `32,768 ÷ 65,536 = 0.5`.
    #[must_use]
    pub fn arithmetic(&self) -> String {
        format!(
            "{} ÷ {} = {}",
            self.dividend.grouped(),
            self.divisor.bytes().grouped(),
            self.quotient()
        )
    }

    fn quotient(&self) -> String {
        let (whole, rest) = self.dividend.div_rem(self.divisor);
        let fraction = Ratio::new(rest.get(), self.divisor.get()).unwrap_or(Ratio::ZERO);
        if fraction.is_zero() {
            return Bytes::new(whole).grouped().to_string();
        }
        let thousandths = u128::from(fraction.numerator()) * 1000;
        let denominator = u128::from(fraction.denominator());
        let digits = format!("{:03}", thousandths / denominator);
        let exact = thousandths % denominator == 0;
        let digits = if exact {
            digits.trim_end_matches('0')
        } else {
            &digits
        };
        format!(
            "{}.{digits}{}",
            Bytes::new(whole).grouped(),
            if exact { "" } else { "…" }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(n: u64) -> Unit {
        Unit::new(n).expect("not zero")
    }

    #[test]
    fn divisions_can_be_checked_by_hand() {
        assert_eq!(
            division(Bytes::new(32_256), Grid::new(unit(4096))),
            "32,256 = 7 × 4,096 + 3,584"
        );
        assert_eq!(
            division(
                Bytes::new(32_256),
                Grid::with_phase(unit(4096), Bytes::new(3584))
            ),
            "32,256 = 3,584 (first boundary) + 7 × 4,096 + 0"
        );
        assert_eq!(
            division(
                Bytes::new(512),
                Grid::with_phase(unit(4096), Bytes::new(3584))
            ),
            "512 lies before the first boundary at 3,584 (unit 4,096)"
        );
    }

    #[test]
    fn sectors_are_multiplied_only_where_they_count_from() {
        let mut lab = crate::testing::Lab::new();
        let disk = lab.disk(4096);
        let id = lab.partition(disk, 700);
        let layer = lab.stack.layer(id);
        let line = |start| remainder_line(layer, Bytes::new(start), Grid::new(unit(4096)));
        assert_eq!(line(358_400), "700 × 512 = 358,400 = 87 × 4,096 + 2,048");
        // A multiple of 700, by chance.
        assert_eq!(line(716_800), "716,800 = 175 × 4,096 + 0");
    }

    #[test]
    fn correlations_show_their_quotient() {
        let line = |a, b| Correlation::new("c", Bytes::new(a), unit(b)).arithmetic();
        assert_eq!(line(32_256, 65_536), "32,256 ÷ 65,536 = 0.492…");
        assert_eq!(line(32_768, 65_536), "32,768 ÷ 65,536 = 0.5");
        assert_eq!(line(1 << 20, 65_536), "1,048,576 ÷ 65,536 = 16");
        assert_eq!(line(1 << 20, 196_608), "1,048,576 ÷ 196,608 = 5.333…");
    }

    #[test]
    fn sizes_are_written_every_way() {
        assert_eq!(
            both_ways(Bytes::new(32_256)),
            "31.5 KiB = 63 sectors = 32,256 B"
        );
        assert_eq!(both_ways(Bytes::new(100)), "100 B");
    }
}
