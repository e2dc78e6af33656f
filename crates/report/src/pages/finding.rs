//! A finding as documents of `check` and `evidence` have it, and in words.

use serde::Deserialize;
use straddle_geometry::Unit;

use super::block::{self, Table};
use super::read::Ratio;
use crate::bench::wording::percent;

/// What a rule found.
#[derive(Deserialize)]
pub(crate) struct Finding {
    pub(crate) code: String,
    pub(crate) severity: String,
    pub(crate) title: String,
    pub(crate) layer: usize,
    #[serde(default)]
    evidence: Vec<Evidence>,
    #[serde(default)]
    arithmetic: Vec<String>,
    pub(crate) prices: Option<Prices>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    help: Vec<String>,
}

impl Finding {
    /// What it costs for the worst of the request sizes asked for.
    pub(crate) fn worst_price(&self) -> f64 {
        let rows = self.prices.iter().flat_map(|prices| &prices.rows);
        rows.map(|row| row.extra.value).fold(0.0, f64::max)
    }

    /// The request size that pays most.
    pub(super) fn worst_size(&self) -> Option<Unit> {
        let rows = self.prices.as_ref()?.rows.iter();
        rows.max_by(|a, b| a.extra.value.total_cmp(&b.extra.value))
            .map(|row| row.io)
    }

    /// True where a fact that it rests on was assumed.
    pub(super) fn is_assumed(&self) -> bool {
        let mut sources = self.evidence.iter().map(|evidence| &evidence.source);
        sources.any(|source| source.kind == "assumption")
    }
}

#[derive(Deserialize)]
struct Evidence {
    source: Source,
    label: String,
}

/// Where a fact was read; each kind has some of these.
#[derive(Deserialize)]
struct Source {
    kind: String,
    offset: Option<u64>,
    bytes: Option<String>,
    path: Option<String>,
    call: Option<String>,
    file: Option<String>,
    line: Option<u64>,
    flag: Option<String>,
    reason: Option<String>,
    from: Option<String>,
    text: Option<String>,
}

impl Source {
    fn words(&self) -> String {
        let text = self.text.as_deref().unwrap_or_default();
        let said = |place: String| format!("{place}: {text}");
        match self.kind.as_str() {
            "image" => format!(
                "byte {:#x}: {}",
                self.offset.unwrap_or_default(),
                self.bytes.as_deref().unwrap_or_default()
            ),
            "host-file" => said(self.path.clone().unwrap_or_default()),
            "call" => said(self.call.clone().unwrap_or_default()),
            "captured" => said(format!(
                "{}, line {}",
                self.file.as_deref().unwrap_or_default(),
                self.line.unwrap_or_default()
            )),
            "flag" => format!(
                "command line: {} {text}",
                self.flag.as_deref().unwrap_or_default()
            ),
            "assumption" => format!("assumed: {}", self.reason.as_deref().unwrap_or_default()),
            _ => format!("derived: {}", self.from.as_deref().unwrap_or(text)),
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct Prices {
    role: String,
    pub(crate) unit: Unit,
    rows: Vec<PriceRow>,
}

#[derive(Deserialize)]
struct PriceRow {
    io: Unit,
    straddling: Ratio,
    read_now: Ratio,
    read_aligned: Ratio,
    write_now: Ratio,
    write_aligned: Ratio,
    extra: Ratio,
}

/// A finding in words.
pub(crate) fn told(finding: &Finding, layer: &str) -> block::Finding {
    let evidence = finding.evidence.iter();
    block::Finding {
        code: finding.code.clone(),
        severity: finding.severity.clone(),
        title: finding.title.clone(),
        layer: layer.to_owned(),
        evidence: evidence
            .map(|e| (e.source.words(), e.label.clone()))
            .collect(),
        arithmetic: finding.arithmetic.clone(),
        prices: finding.prices.as_ref().map(prices),
        notes: finding.notes.clone(),
        help: finding.help.clone(),
    }
}

fn prices(prices: &Prices) -> Table {
    let mut table = Table::new(
        format!(
            "Cost on boundaries of the {} every {} (computed)",
            prices.role.replace('-', " "),
            prices.unit
        ),
        &[
            ">request size",
            ">straddle",
            ">extra",
            ">operations a read",
            ">when aligned",
            ">operations a write",
            ">when aligned",
        ],
    );
    let mean = |ratio: Ratio| {
        let text = format!("{:.3}", ratio.value);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    for row in &prices.rows {
        table.row([
            row.io.to_string(),
            percent(row.straddling.value, 1),
            format!("+{}", percent(row.extra.value, 1)),
            mean(row.read_now),
            mean(row.read_aligned),
            mean(row.write_now),
            mean(row.write_aligned),
        ]);
    }
    table
}
