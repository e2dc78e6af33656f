//! Studies from TOML.

use super::fields::{Fields, positive};
use super::metric::{self, Metric};
use super::{Band, Cell, Mark, Published, Study, workload};
use crate::profile::Refusal;
use crate::script::{self, Kind, Phase, Script};
use crate::{document, model};

/// Most requests that count in each replicate.
const MAX_REQUESTS: u32 = 10_000_000;

/// Keys of a study.
const STUDY: &[&str] = &[
    "title",
    "source",
    "configuration",
    "profile",
    "within",
    "identifies",
    "requests",
    "set",
    "without",
    "workload",
    "phase",
    "cell",
];
/// Keys of a cell besides those of the workload.
const CELL: &[&str] = &[
    "id",
    "mark",
    "profile",
    "set",
    "without",
    "metric",
    "operations",
    "phase",
    "against",
    "published",
    "within",
    "fitted",
    "assumed",
    "note",
    "misses",
];

impl Study {
    /// Reads a study.
    ///
    /// # Errors
    /// Anything that is not TOML, an unknown key, something that is missing or makes no sense. Profiles are not looked at.
    pub fn read(name: &str, text: &str) -> Result<Study, Refusal> {
        read(name, text).map_err(|refusal| refusal.of(name))
    }
}

fn read(name: &str, text: &str) -> Result<Study, Refusal> {
    let table = document::table(text)?;
    let fields = Fields::new("", &table, &[STUDY])?;
    let empty = toml::Table::new();
    let workload = sub(&fields, "workload", &empty)?;
    Fields::new("workload", workload, &[workload::KEYS])?;
    let common = Common {
        profile: fields.text("profile")?,
        within: fields.number("within")?,
        set: settings(&fields)?,
        without: sections(&fields)?,
        workload,
        phases: script::phases(&fields)?,
    };
    let cells = fields
        .with("cell", "tables, each [[cell]]", |value| {
            let cells = value.as_array()?.iter().map(toml::Value::as_table);
            cells.collect::<Option<Vec<_>>>()
        })?
        .filter(|cells| !cells.is_empty())
        .ok_or_else(|| fields.refuse("cell", "at least one [[cell]]"))?;
    let mut study = Study {
        name: name.to_owned(),
        title: fields.text("title")?,
        source: fields.text("source")?,
        configuration: fields.text("configuration")?,
        profile: common.profile.clone(),
        identifies: fields.optional_text("identifies")?,
        requests: fields.whole("requests", 1, MAX_REQUESTS)?.map(u64::from),
        cells: Vec::with_capacity(cells.len()),
    };
    let ids: Vec<Option<&str>> = cells
        .iter()
        .map(|cell| cell.get("id").and_then(toml::Value::as_str))
        .collect();
    for (index, table) in cells.into_iter().enumerate() {
        let path = match ids.get(index) {
            Some(Some(id)) => (*id).to_owned(),
            _ => format!("cell {}", index + 1),
        };
        let cell = cell(&path, table, &common, &ids)?;
        if ids
            .iter()
            .filter(|id| **id == Some(cell.id.as_str()))
            .count()
            > 1
        {
            return Err(Refusal::new(
                format!("{path}.id"),
                "that of two cells",
                "one of its own",
            ));
        }
        study.cells.push(cell);
    }
    Ok(study)
}

/// What all cells share.
struct Common<'a> {
    profile: String,
    within: Option<f64>,
    set: Vec<(String, toml::Value)>,
    without: Vec<String>,
    workload: &'a toml::Table,
    phases: Option<Vec<Phase>>,
}

fn cell(
    path: &str,
    table: &toml::Table,
    common: &Common<'_>,
    ids: &[Option<&str>],
) -> Result<Cell, Refusal> {
    let fields = Fields::new(path, table, &[CELL, workload::KEYS])?;
    let mut all = common.workload.clone();
    let own = table
        .iter()
        .filter(|(key, _)| workload::KEYS.contains(&key.as_str()));
    all.extend(own.map(|(key, value)| (key.clone(), value.clone())));
    let script = script::phases(&fields)?.or_else(|| common.phases.clone());
    let script = script.map(|phases| Script {
        title: path.to_owned(),
        kind: Kind::Phases(phases),
    });
    if script.is_some() {
        // What streams do, they say themselves; where they lie is the cell's.
        all.entry("io").or_insert("4K".into());
        all.entry("rw").or_insert("read".into());
    }
    let mut asked = workload::read(&Fields::new(path, &all, &[workload::KEYS])?)?;
    if let Some(script) = &script {
        asked.workload = script.summary(1);
    }
    let mark = fields
        .with("mark", "calibration or validation", |value| {
            match value.as_str()? {
                "calibration" => Some(Mark::Calibration),
                "validation" => Some(Mark::Validation),
                _ => None,
            }
        })?
        .ok_or_else(|| fields.refuse("mark", "calibration or validation"))?;
    let operations = fields.number("operations")?;
    let metric = fields
        .with("metric", metric::NAMES, |value| {
            Metric::parse(value.as_str()?, operations)
        })?
        .ok_or_else(|| fields.refuse("metric", metric::NAMES))?;
    let mut set = common.set.clone();
    set.extend(settings(&fields)?);
    let mut without = common.without.clone();
    without.extend(sections(&fields)?);
    let published = published(&fields)?;
    let is_validation = mark == Mark::Validation;
    let cell = Cell {
        id: fields.text("id")?,
        mark,
        profile: fields
            .optional_text("profile")?
            .unwrap_or_else(|| common.profile.clone()),
        set,
        without,
        workload: asked.workload,
        script,
        arrivals: asked.arrivals,
        offset_name: asked.offset_name,
        offset: asked.offset,
        span: asked.span,
        metric,
        against: against(&fields, metric, ids)?,
        published,
        band: match fields
            .number("within")?
            .or(common.within.filter(|_| !is_validation))
        {
            Some(percent) => Band::Percent(percent),
            None if is_validation => Band::fixed(metric, published),
            None => return Err(fields.refuse("within", "percent that it may be off")),
        },
        fitted: fields.truth("fitted")?,
        assumed: fields.optional_text("assumed")?,
        note: fields.optional_text("note")?,
        misses: fields.optional_text("misses")?,
    };
    if cell.fitted && mark == Mark::Validation {
        return Err(fields.refuse(
            "fitted",
            "false: nothing is fitted on cells marked validation",
        ));
    }
    if operations.is_some() != matches!(metric, Metric::Elapsed(..)) {
        return Err(fields.refuse("operations", "with elapsed_ms and elapsed_s only"));
    }
    Ok(cell)
}

fn against(
    fields: &Fields<'_>,
    metric: Metric,
    ids: &[Option<&str>],
) -> Result<Option<usize>, Refusal> {
    let found = fields.with("against", "the id of another cell", |value| {
        let wanted = value.as_str()?;
        let itself = fields.get("id").and_then(toml::Value::as_str) == Some(wanted);
        let at = ids.iter().position(|id| *id == Some(wanted));
        at.filter(|_| !itself)
    })?;
    if found.is_some() == metric.is_ratio() {
        Ok(found)
    } else {
        Err(fields.refuse("against", "another cell's id, with a ratio only"))
    }
}

fn published(fields: &Fields<'_>) -> Result<Published, Refusal> {
    let expected = "a number above zero, [least, largest], or a bound: \">9\", \"<1\", or of an order \">=1\", \"<=1\"";
    let found = fields.with("published", expected, |value| match value {
        toml::Value::Array(ends) => {
            let [least, most] = ends.as_slice() else {
                return None;
            };
            let (least, most) = (positive(least)?, positive(most)?);
            (least <= most).then_some(Published {
                least,
                most,
                is_order: false,
            })
        }
        toml::Value::String(text) => bound(text),
        one => positive(one).map(Published::exactly),
    })?;
    found.ok_or_else(|| fields.refuse("published", expected))
}

/// `>9`, `<=1`.
fn bound(text: &str) -> Option<Published> {
    let (is_above, rest) = match text.trim().split_at_checked(1)? {
        (">", rest) => (true, rest),
        ("<", rest) => (false, rest),
        _ => return None,
    };
    let number = rest.strip_prefix('=').unwrap_or(rest).trim();
    let number = positive(&toml::Value::Float(number.parse().ok()?))?;
    Some(Published {
        least: if is_above { number } else { 0.0 },
        most: if is_above { f64::INFINITY } else { number },
        is_order: rest.starts_with('='),
    })
}

fn sub<'a>(
    fields: &Fields<'a>,
    key: &str,
    empty: &'a toml::Table,
) -> Result<&'a toml::Table, Refusal> {
    let found = fields.with(key, "a table", toml::Value::as_table)?;
    Ok(found.unwrap_or(empty))
}

/// `set`: `"array.stripe_unit" = "64 KiB"`, or the same as a table in a table.
fn settings(fields: &Fields<'_>) -> Result<Vec<(String, toml::Value)>, Refusal> {
    let empty = toml::Table::new();
    let mut settings = Vec::new();
    for (key, value) in sub(fields, "set", &empty)? {
        match value {
            toml::Value::Table(inner) => {
                let inner = inner.iter();
                settings
                    .extend(inner.map(|(name, value)| (format!("{key}.{name}"), value.clone())));
            }
            value => settings.push((key.clone(), value.clone())),
        }
    }
    Ok(settings)
}

/// `without`: sections of the profile that take no part.
fn sections(fields: &Fields<'_>) -> Result<Vec<String>, Refusal> {
    let expected = format!("a list of sections: {}", model::names());
    let found = fields.with("without", &expected, |value| {
        let names = value.as_array()?.iter();
        let names = names.map(|name| Some(model::find(name.as_str()?)?.section.to_owned()));
        names.collect::<Option<Vec<_>>>()
    })?;
    Ok(found.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = r#"
title = "A test"
source = "nobody"
configuration = "none"
profile = "fixed-service"
within = 4
[set]
"array.members" = 4
[workload]
io = "8K"
rw = "read"
offset = "64K"
[[cell]]
id = "A"
mark = "calibration"
metric = "iops"
published = 100
[[cell]]
id = "B"
mark = "validation"
offset = "unaligned"
set = { array.stripe_unit = "32 KiB" }
metric = "iops_ratio"
against = "A"
published = [1, 1.5]
within = 0.5
"#;

    #[test]
    fn cells_take_what_the_study_says_and_add_to_it() {
        let study = Study::read("test", STUDY).expect("it is one");
        let [a, b] = study.cells.as_slice() else {
            panic!("two cells");
        };
        assert_eq!((a.band, b.band), (Band::Percent(4.0), Band::Percent(0.5)));
        assert_eq!((a.offset.get(), b.offset.get()), (65_536, 32_256));
        assert_eq!((a.set.len(), b.set.len()), (1, 2));
        assert_eq!(b.against, Some(0));
        assert_eq!((b.published.least, b.published.most), (1.0, 1.5));
        study.scenario(b).expect("its profile is there");
    }

    #[test]
    fn phases_stand_for_a_workload() {
        let phases = "[[phase]]\nio = \"4K\"\nrw = \"write\"\noutstanding = 5\n[[cell]]";
        let text = STUDY.replacen("[[cell]]", phases, 1);
        let study = Study::read("test", &text).expect("it is one");
        for cell in &study.cells {
            let script = cell.script.as_ref().expect("the study's phases");
            assert!(matches!(&script.kind, Kind::Phases(phases) if phases.len() == 1));
            assert_eq!(cell.workload.outstanding, 5);
        }
        let scenario = study
            .scenario(&study.cells[0])
            .expect("its profile is there");
        assert_eq!(scenario.script, study.cells[0].script);
    }

    #[test]
    fn bounds_are_read_and_validation_has_the_fixed_bands() {
        for (written, least, most, is_order, band) in [
            ("\">9\"", 9.0, f64::INFINITY, false, "0.9 of it"),
            ("\"<= 1\"", 0.0, 1.0, true, "exact"),
            ("1.01", 1.01, 1.01, false, "1 point"),
        ] {
            let text = STUDY.replacen(
                "published = [1, 1.5]\nwithin = 0.5",
                &format!("published = {written}"),
                1,
            );
            let cell = Study::read("test", &text)
                .expect("it is one")
                .cells
                .remove(1);
            let expected = Published {
                least,
                most,
                is_order,
            };
            assert_eq!(cell.published, expected, "{written}");
            // The tolerance that holds for the whole study is of calibration cells.
            assert_eq!(cell.band.to_string(), band, "{written}");
        }
        for wrong in ["\"9\"", "\">\"", "\">-1\"", "\">nan\""] {
            let text = STUDY.replacen("published = 100", &format!("published = {wrong}"), 1);
            Study::read("test", &text).expect_err(wrong);
        }
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for (old, new, said) in [
            ("within = 4", "wthin = 4", "test: wthin is an unknown key"),
            ("io = \"8K\"", "", "test: A.io is missing"),
            ("io = \"8K\"", "io = \"8X\"", "test: A.io is \"8X\""),
            (
                "published = 100",
                "published = -1",
                "test: A.published is -1",
            ),
            (
                "published = 100",
                "published = nan",
                "test: A.published is nan",
            ),
            (
                "published = [1, 1.5]",
                "published = [2, 1]",
                "test: B.published is [2, 1]",
            ),
            (
                "against = \"A\"",
                "against = \"B\"",
                "test: B.against is \"B\"",
            ),
            ("against = \"A\"", "", "test: B.against is missing"),
            (
                "id = \"B\"",
                "id = \"A\"",
                "test: A.id is that of two cells",
            ),
            (
                "mark = \"validation\"",
                "mark = \"validation\"\nfitted = true",
                "test: B.fitted is true",
            ),
            (
                "metric = \"iops\"",
                "metric = \"elapsed_s\"",
                "test: A.metric is \"elapsed_s\"",
            ),
            (
                "rw = \"read\"",
                "rw = \"read\"\nspeed = 3",
                "test: workload.speed is an unknown key",
            ),
            ("[set]", "[set", "test: line 7 is"),
        ] {
            let text = STUDY.replacen(old, new, 1);
            assert_ne!(text, STUDY, "{old}");
            let refusal = Study::read("test", &text).expect_err(new).to_string();
            assert!(refusal.starts_with(said), "{refusal}");
        }
        for wrong in [
            "\"array.membrs\" = 4",
            "\"arry.members\" = 4",
            "\"array.members\" = -4",
            "members = 4",
        ] {
            let text = STUDY.replacen("\"array.members\" = 4", wrong, 1);
            let study = Study::read("test", &text).expect("read without its profile");
            study.scenario(&study.cells[0]).expect_err(wrong);
        }
    }
}
