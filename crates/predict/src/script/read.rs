//! Scripts from TOML.

use straddle_geometry::Bytes;

use super::{Kind, Phase, Script, Stream};
use crate::document;
use crate::profile::Refusal;
use crate::study::fields::Fields;
use crate::study::workload;

/// Requests of a phase where it does not say.
const REQUESTS: u32 = 5_000;
/// Most phases, and most streams of one.
const MANY: usize = 64;

/// Keys of a phase besides those of its only stream.
const PHASE: &[&str] = &["requests", "stream"];
/// Keys of a stream besides those of its workload.
const STREAM: &[&str] = &["name", "part"];
/// Keys of a workload that a stream may have: where it lies follows from the offset, and closed loops have no rate.
const WORKLOAD: &[&str] = &["io", "rw", "pattern", "threads", "outstanding", "think"];

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// Anything that is not TOML, an unknown key, something that is missing or makes no sense.
    pub fn read(name: &str, text: &str) -> Result<Script, Refusal> {
        read(name, text).map_err(|refusal| refusal.of(name))
    }
}

fn read(name: &str, text: &str) -> Result<Script, Refusal> {
    let table = document::table(text)?;
    let fields = Fields::new("", &table, &[&["title", "summary", "phase"]])?;
    let title = fields
        .optional_text("title")?
        .unwrap_or_else(|| name.to_owned());
    let phases =
        phases(&fields)?.ok_or_else(|| fields.refuse("phase", "at least one [[phase]]"))?;
    Ok(Script {
        title,
        kind: Kind::Phases(phases),
    })
}

/// The list `[[phase]]` of a table; `None` where it has none.
pub(crate) fn phases(fields: &Fields<'_>) -> Result<Option<Vec<Phase>>, Refusal> {
    let expected = format!("tables, each [[phase]], at most {MANY}");
    let tables = fields.with("phase", &expected, tables)?;
    let Some(tables) = tables else {
        return Ok(None);
    };
    let each = tables.iter().enumerate();
    let phases = each.map(|(index, table)| phase(&format!("phase {}", index + 1), table));
    phases.collect::<Result<_, _>>().map(Some)
}

fn tables(value: &toml::Value) -> Option<Vec<&toml::Table>> {
    let tables: Vec<_> = value
        .as_array()?
        .iter()
        .map(toml::Value::as_table)
        .collect::<Option<_>>()?;
    (1..=MANY).contains(&tables.len()).then_some(tables)
}

fn phase(path: &str, table: &toml::Table) -> Result<Phase, Refusal> {
    let fields = Fields::new(path, table, &[PHASE, STREAM, WORKLOAD])?;
    let requests = fields
        .whole("requests", 1, 1_000_000_000)?
        .unwrap_or(REQUESTS);
    let expected = format!("tables, each [[phase.stream]], at most {MANY}");
    let streams = match fields.with("stream", &expected, tables)? {
        Some(tables) => {
            let each = tables.iter().enumerate();
            let streams =
                each.map(|(index, table)| stream(&format!("{path}, stream {}", index + 1), table));
            streams.collect::<Result<_, _>>()?
        }
        // A phase of one stream says itself what it does.
        None => {
            let own = table
                .iter()
                .filter(|(key, _)| !PHASE.contains(&key.as_str()));
            let own: toml::Table = own
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            vec![stream(path, &own)?]
        }
    };
    Ok(Phase {
        requests: u64::from(requests),
        streams,
    })
}

fn stream(path: &str, table: &toml::Table) -> Result<Stream, Refusal> {
    let fields = Fields::new(path, table, &[STREAM, WORKLOAD])?;
    let expected = "[from, to], shares of the region from 0 to 1";
    let part = fields.with("part", expected, |value| {
        let ends = value.as_array()?.iter().map(|end| {
            #[expect(clippy::cast_precision_loss, reason = "0 or 1")]
            let end = end
                .as_float()
                .or_else(|| end.as_integer().map(|n| n as f64));
            end.filter(|end| (0.0..=1.0).contains(end))
        });
        match ends.collect::<Option<Vec<f64>>>()?.as_slice() {
            [from, to] if from < to => Some((*from, *to)),
            _ => None,
        }
    })?;
    let mut own: toml::Table = table
        .iter()
        .filter(|(key, _)| WORKLOAD.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    // Where it lies is said once, for all.
    own.insert("offset".to_owned(), toml::Value::Integer(0));
    let asked = workload::read(&Fields::new(path, &own, &[workload::KEYS])?)?;
    debug_assert_eq!(asked.offset, Bytes::ZERO);
    Ok(Stream {
        name: fields
            .optional_text("name")?
            .unwrap_or_else(|| path.to_owned()),
        workload: asked.workload,
        part: part.unwrap_or((0.0, 1.0)),
    })
}
