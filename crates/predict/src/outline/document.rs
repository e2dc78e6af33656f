//! The few members of `straddle check`'s document that are needed here. What else it says is passed over.

use serde::Deserialize;

use crate::profile::Refusal;

/// Name and version of the documents that are read.
const SCHEMA: &str = "straddle.check/1";

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    schema: String,
    #[serde(default)]
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    stack: Vec<Layer>,
}

/// A layer of a stack.
#[derive(Debug, Deserialize)]
pub(super) struct Layer {
    pub(super) kind: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) format: Option<String>,
    #[serde(default)]
    pub(super) size: Option<Fact<u64>>,
    #[serde(default)]
    pub(super) below: Vec<usize>,
    #[serde(default)]
    pub(super) map: Option<Map>,
    #[serde(default)]
    pub(super) placement: Option<Fact<serde_json::Value>>,
    #[serde(default)]
    grids: Vec<GridFact>,
    #[serde(default)]
    attributes: Vec<Attribute>,
}

/// A value and where it came from.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Fact<T> {
    pub(super) value: T,
    #[serde(default)]
    source: Source,
    #[serde(default)]
    trust: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Source {
    kind: String,
    path: String,
    file: String,
    call: String,
    flag: String,
    from: String,
    text: String,
    reason: String,
    line: u64,
    offset: u64,
}

#[derive(Debug, Deserialize)]
struct GridFact {
    role: String,
    grid: Fact<Grid>,
}

#[derive(Clone, Debug, Deserialize)]
struct Grid {
    unit: u64,
}

#[derive(Debug, Deserialize)]
struct Attribute {
    key: String,
    value: Fact<serde_json::Value>,
}

/// How addresses reach the layers below.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "shape")]
pub(super) enum Map {
    Linear {
        start: u64,
    },
    Segments {
        first_segments: Vec<Segment>,
    },
    Striped {},
    Raid {},
    Blocks {
        block: u64,
    },
    /// A shape that later versions know.
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(super) struct Segment {
    pub(super) upper: Upper,
    pub(super) target: usize,
    pub(super) lower: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Upper {
    pub(super) start: u64,
    pub(super) len: u64,
}

/// The stacks of a document.
pub(super) fn targets(name: &str, text: &str) -> Result<Vec<Vec<Layer>>, Refusal> {
    let expected = "a document that `straddle check --format json` printed";
    let document: Document = serde_json::from_str(text)
        .map_err(|error| Refusal::new(name, error.to_string().replace('\n', " "), expected))?;
    if document.schema != SCHEMA {
        let found = format!("schema `{}`", document.schema);
        return Err(Refusal::new(name, found, format!("{expected} ({SCHEMA})")));
    }
    Ok(document.targets.into_iter().map(|t| t.stack).collect())
}

impl Layer {
    /// The unit of a grid.
    pub(super) fn grid(&self, role: &str) -> Option<Fact<u64>> {
        let grid = self.grids.iter().find(|grid| grid.role == role)?;
        let fact = &grid.grid;
        (fact.value.unit > 0).then(|| Fact {
            value: fact.value.unit,
            source: fact.source.clone(),
            trust: fact.trust.clone(),
        })
    }

    pub(super) fn attribute(&self, key: &str) -> Option<&Fact<serde_json::Value>> {
        let found = self.attributes.iter().find(|a| a.key == key);
        found.map(|attribute| &attribute.value)
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.attribute(key)?.value.get("flag")?.as_bool()
    }

    pub(super) fn count(&self, key: &str) -> Option<Fact<u64>> {
        let fact = self.attribute(key)?;
        Some(Fact {
            value: fact.value.get("count")?.as_u64()?,
            source: fact.source.clone(),
            trust: fact.trust.clone(),
        })
    }

    pub(super) fn bytes(&self, key: &str) -> Option<Fact<u64>> {
        let fact = self.attribute(key)?;
        Some(Fact {
            value: fact.value.get("bytes")?.as_u64()?,
            source: fact.source.clone(),
            trust: fact.trust.clone(),
        })
    }

    /// A text, and where it was found.
    pub(super) fn text(&self, key: &str) -> Option<(String, String)> {
        let fact = self.attribute(key)?;
        let text = fact.value.get("text")?.as_str()?;
        Some((text.to_owned(), fact.from()))
    }
}

impl<T> Fact<T> {
    /// True for what was found, not for what was taken for granted or is known to be wrong often.
    pub(super) fn is_known(&self) -> bool {
        !matches!(self.trust.as_str(), "assumed" | "doubtful")
    }

    /// Where it was found, in words.
    pub(super) fn from(&self) -> String {
        let source = &self.source;
        match source.kind.as_str() {
            "image" => format!("byte {} of the image", source.offset),
            "host-file" => source.path.clone(),
            "call" => format!("{}: {}", source.call, source.text),
            "captured" => format!("{}, line {}", source.file, source.line),
            "flag" => format!("{} {}", source.flag, source.text),
            "assumption" => format!("assumed: {}", source.reason),
            "derived" => source.from.clone(),
            _ => "the stack".to_owned(),
        }
    }
}
