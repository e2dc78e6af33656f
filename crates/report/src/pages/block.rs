//! What a page is made of, whatever it is written as.

use serde::Serialize;

/// One document on a page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Section {
    /// The verb that made it.
    pub verb: &'static str,
    /// What it is about: a target, a profile, a study.
    pub title: String,
    /// The answer in one sentence.
    pub answer: String,
    /// How that is to be taken: `good`, `bad`, `open`, or nothing.
    pub tone: &'static str,
    /// What it shows.
    pub blocks: Vec<Block>,
}

impl Section {
    /// A section without contents.
    #[must_use]
    pub fn new(verb: &'static str, title: impl Into<String>) -> Section {
        Section {
            verb,
            title: title.into(),
            answer: String::new(),
            tone: "",
            blocks: Vec::new(),
        }
    }

    /// Adds a heading.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Heading(text.into()));
    }

    /// Adds a paragraph.
    pub fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into()));
    }

    /// Adds a table, unless it has no row.
    pub fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }
}

/// A part of a section.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "of")]
pub enum Block {
    /// A heading below the section's.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// Names and what they are.
    Facts(Vec<(String, String)>),
    /// Figures in rows.
    Table(Table),
    /// A picture, and the same figures in rows.
    Figure(Figure),
    /// Questions with their answers.
    Answers(Vec<Answer>),
    /// What to type next: what it is for, and the command.
    Commands(Vec<(String, String)>),
    /// What a rule found.
    Finding(Box<Finding>),
    /// A request on the grids below.
    Ruler(Box<Ruler>),
    /// Every target of a fleet.
    Fleet(Box<Fleet>),
}

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// What is asked.
    pub question: String,
    /// What can be said.
    pub answer: String,
    /// What would answer the rest.
    pub needs: Option<String>,
}

/// Rows under names of columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Names of the columns.
    pub columns: Vec<Column>,
    /// As many cells in each as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    /// Its name, with the unit.
    pub name: String,
    /// Figures stand to the right.
    pub right: bool,
}

impl Table {
    /// A table without rows; a column whose name begins with `>` has figures.
    #[must_use]
    pub fn new(caption: impl Into<String>, columns: &[&str]) -> Table {
        let column = |name: &&str| Column {
            name: name.trim_start_matches('>').to_owned(),
            right: name.starts_with('>'),
        };
        Table {
            caption: caption.into(),
            columns: columns.iter().map(column).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

/// A picture with its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// What to see in it.
    pub caption: String,
    /// The picture.
    pub picture: Picture,
    /// Its figures.
    pub table: Table,
    /// A long series over time for a picture that can be zoomed, where scripts run.
    pub series: Option<Series>,
}

/// The same figures drawn twice, each an `svg` element: what is legible on a desk is cut off or too small on a phone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Picture {
    /// Where there is room.
    pub wide: String,
    /// On a phone.
    pub narrow: String,
}

/// Columns over time, as uPlot takes them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Name of the time axis, with its unit.
    pub x: String,
    /// Name of the other axis, with its unit.
    pub y: String,
    /// Names of the columns.
    pub names: Vec<String>,
    /// The places in time, then a column for each name; `null` where it has no figure.
    pub data: Vec<Vec<Option<f64>>>,
}

/// What a rule found, in words.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Finding {
    /// Its code.
    pub code: String,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// What is the case.
    pub title: String,
    /// The layer it is about.
    pub layer: String,
    /// Where each fact was read, and what it says.
    pub evidence: Vec<(String, String)>,
    /// The arithmetic.
    pub arithmetic: Vec<String>,
    /// What it costs.
    pub prices: Option<Table>,
    /// What else must be known.
    pub notes: Vec<String>,
    /// What to do next.
    pub help: Vec<String>,
}

/// A request on the grids below a layer, as it is and as it would be from a boundary of all of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ruler {
    /// The layer at which requests begin.
    pub layer: String,
    /// The picture with the request at its first place.
    pub picture: Picture,
    /// The arithmetic of that request.
    pub table: Table,
    /// What the script needs to move it.
    pub data: RulerData,
}

/// What the script of a ruler needs; sizes and places are decimal numbers as text, since they may have 64 bits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RulerData {
    /// Bytes that each panel shows.
    pub window: String,
    /// The panels: those of the wide picture, then those of the narrow one.
    pub panels: Vec<RulerPanel>,
    /// Smallest step of an offset.
    pub step: String,
    /// Sizes of requests to choose from.
    pub sizes: Vec<(String, String)>,
    /// The size that is shown first: an index into `sizes`.
    pub size: usize,
    /// The grids, in the order of the picture's rows.
    pub grids: Vec<RulerGrid>,
}

/// A row of grids on a ruler.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RulerPanel {
    /// The place of its first byte, in the picture's own units.
    pub left: f64,
    /// The place of its last byte.
    pub right: f64,
    /// True where the layer begins on a boundary of every grid.
    pub aligned: bool,
}

/// A grid on a ruler.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RulerGrid {
    /// `stripe unit of md0`.
    pub name: String,
    /// Distance of its boundaries.
    pub unit: String,
    /// The same, as people write it.
    pub size: String,
    /// The layer's first byte in the unit that it lies in.
    pub start: String,
    /// True where a unit that is covered in part is read before it is written.
    pub rewrites: bool,
    /// Where its row is drawn in each panel: top and height.
    pub rows: Vec<(f64, f64)>,
}

/// Every target of a fleet, worst first.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Fleet {
    /// How many there are.
    pub count: usize,
    /// Rules that found something: code, severity of the worst, targets, findings.
    pub rules: Vec<(String, String, usize, usize)>,
    /// The worst targets against the rules: name, and the severity at each rule.
    pub heat: Vec<(String, Vec<String>)>,
    /// The rows that can be read without scripts.
    pub worst: Table,
    /// All rows for the script; empty where `worst` has all of them.
    pub all: Option<FleetRows>,
}

/// The rows of a fleet by columns, which repeat no names.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FleetRows {
    /// The folder that all of them are in, which their names leave out.
    pub folder: String,
    /// Codes that `code` counts into.
    pub codes: Vec<String>,
    /// Names of targets.
    pub names: Vec<String>,
    /// Severity of the worst finding: 3 error, 2 warning, 1 note, 0 none.
    pub severity: Vec<u8>,
    /// Its rule: an index into `codes`, -1 without one.
    pub code: Vec<i32>,
    /// What it costs, in tenths of a percent.
    pub cost: Vec<u64>,
    /// Findings.
    pub findings: Vec<usize>,
}
