//! Starts and figures in words, for the terminal and for pages.

use straddle_geometry::Bytes;
use straddle_rules::figures::percent;

/// More or less than something, as a share of it; what could not be shown is nothing.
pub(crate) fn signed(part: f64) -> String {
    match part {
        // Nothing that could be shown.
        part if part.abs() < 0.0005 => percent(0.0),
        part if part < 0.0 => format!("-{}", percent(-part)),
        part => format!("+{}", percent(part)),
    }
}

/// In the unit of sizes and in sectors: what partitioning tools show.
pub(crate) fn place(start: Bytes) -> String {
    match start.get() / 512 {
        0 => "0".to_owned(),
        1 => format!("{start} = 1 sector"),
        sectors => format!("{start} = {} sectors", grouped(sectors)),
    }
}

/// A count with its thousands apart.
pub(crate) fn grouped(count: u64) -> String {
    Bytes::new(count).grouped().to_string()
}

/// A start is as good as any that lies a multiple of all units further on.
pub(crate) fn best_place(best: u64, common: Option<u64>) -> String {
    match (best, common) {
        (0, Some(common)) => format!("multiples of {}", Bytes::new(common)),
        (best, Some(common)) => {
            format!("{} + multiples of {}", Bytes::new(best), Bytes::new(common))
        }
        (best, None) => Bytes::new(best).to_string(),
    }
}
