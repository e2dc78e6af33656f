//! Runs that are kept: where, by which verbs, and how one is named.

use anyhow::{Context as _, bail};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use straddle::bench::results::Machine;
use straddle::history::{Baseline, Entry, Error, Filter, Process, Progress, Run, Store, Trouble};
use straddle::report::compare::{self, Compared};
use straddle::report::pages::{self, About};

use crate::args::history::Keeping;
use crate::exit::FOUND;
use crate::output;
use crate::settings::{Kind, folder, settings};

/// Longest document that is kept.
pub(crate) const MAX_DOCUMENT: usize = 256 << 20;

/// Where a history is, and whether somebody asked for it.
struct Place {
    path: Option<PathBuf>,
    /// By a flag, by the environment, or for `check` by a setting.
    is_asked: bool,
}

fn place(flag: Option<&str>) -> anyhow::Result<Place> {
    let named = |name: &str, is_asked: bool| Place {
        path: (name != "none").then(|| PathBuf::from(name)),
        is_asked: is_asked && name != "none",
    };
    if let Some(name) = flag {
        return Ok(named(name, true));
    }
    if let Ok(name) = std::env::var("STRADDLE_HISTORY")
        && !name.is_empty()
    {
        return Ok(named(&name, true));
    }
    let settings = settings()?.history;
    let place = settings.path.map_or_else(
        || Place {
            path: folder(Kind::Data).map(|folder| folder.join("history.sqlite")),
            is_asked: false,
        },
        |name| named(&name, false),
    );
    Ok(Place {
        is_asked: settings.check && place.path.is_some(),
        ..place
    })
}

/// The database that is meant, for verbs that read it.
pub(crate) fn path(flag: Option<&str>) -> anyhow::Result<PathBuf> {
    place(flag)?
        .path
        .context("no history is kept (`none`); name a database with --history PATH")
}

/// Keeps what a verb made.
pub(crate) struct Keeper {
    verb: &'static str,
    path: Option<PathBuf>,
    baseline: Option<String>,
    began: SystemTime,
}

impl Keeper {
    /// For a verb that keeps every run.
    pub(crate) fn new(args: &Keeping, verb: &'static str) -> anyhow::Result<Keeper> {
        Keeper::of(args, verb, |_| true)
    }

    /// For a verb that keeps a run only when somebody asks for it.
    pub(crate) fn when_asked(args: &Keeping, verb: &'static str) -> anyhow::Result<Keeper> {
        Keeper::of(args, verb, |place| {
            place.is_asked || args.baseline.is_some()
        })
    }

    fn of(
        args: &Keeping,
        verb: &'static str,
        wants: impl Fn(&Place) -> bool,
    ) -> anyhow::Result<Keeper> {
        let place = place(args.history.as_deref())?;
        if args.baseline.is_some() && place.path.is_none() {
            bail!(
                "a baseline is in a history, and none is kept; name a database with --history PATH"
            );
        }
        // Before a run that may take hours.
        if let (Some(name), Some(path)) = (&args.baseline, &place.path) {
            baseline(&Store::read(path)?, name)?;
        }
        Ok(Keeper {
            verb,
            path: place.path.clone().filter(|_| wants(&place)),
            baseline: args.baseline.clone(),
            began: SystemTime::now(),
        })
    }

    /// Whether the document of the run is needed.
    pub(crate) fn wants(&self) -> bool {
        self.path.is_some()
    }

    /// Says in the history that a run is under way, which whoever looks on finds by its journal. Where that cannot be written, nobody can look
    /// on; what is wrong is said when the run is kept.
    pub(crate) fn under_way(&self, target: &str, journal: Option<&Path>) -> UnderWay {
        let said = (|| {
            let mut store = Store::open(self.path.as_deref()?).ok()?;
            let journal = std::fs::canonicalize(journal?).ok()?;
            let since = self.began.duration_since(UNIX_EPOCH).unwrap_or_default();
            let run = Progress {
                id: 0,
                process: Process::this(),
                verb: self.verb.to_owned(),
                target: target.to_owned(),
                journal: journal.to_str()?.to_owned(),
                began: i64::try_from(since.as_micros()).ok()?,
            };
            let id = store.under_way(&run).ok()?;
            Some((store, id))
        })();
        UnderWay(said)
    }

    /// Keeps a run, and compares it with a baseline; gives the exit status. A history that cannot be written is said, and costs the verb
    /// nothing else.
    pub(crate) fn keep(&self, document: &str, code: u8) -> anyhow::Result<u8> {
        let Some(path) = &self.path else {
            return Ok(code);
        };
        let kept = self.run(document, code).and_then(|run| {
            Store::open(path)
                .and_then(|mut store| store.add(&run))
                .map_err(anyhow::Error::from)
        });
        let number = match kept {
            Ok((number, _)) => Some(number),
            Err(error) => {
                output::remark(&format!("this run is not kept: {}", output::chain(&error)));
                None
            }
        };
        match &self.baseline {
            Some(name) => self.compare(path, name, number, document, code),
            None => Ok(code),
        }
    }

    fn run(&self, document: &str, code: u8) -> anyhow::Result<Run> {
        if document.len() > MAX_DOCUMENT {
            bail!(
                "its document has {} bytes, expected at most {MAX_DOCUMENT}",
                document.len()
            );
        }
        let found = pages::summary(document.as_bytes())?;
        let since = self.began.duration_since(UNIX_EPOCH).unwrap_or_default();
        let words = std::env::args_os().map(|word| shell_word(&word.to_string_lossy()));
        Ok(Run {
            verb: self.verb.to_owned(),
            target: found.target,
            headline: found.headline,
            began: i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            machine: Machine::this().host,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: words
                .skip(1)
                .fold("straddle".to_owned(), |all, word| all + " " + &word),
            status: code,
            document: document.to_owned(),
        })
    }

    fn compare(
        &self,
        path: &Path,
        name: &str,
        number: Option<i64>,
        document: &str,
        code: u8,
    ) -> anyhow::Result<u8> {
        let store = Store::read(path)?;
        let baseline = baseline(&store, name)?;
        let entry = store.entry(baseline.run)?;
        let before = store.document(baseline.run)?;
        let now = Compared {
            name: number.map_or("this run".to_owned(), |number| format!("run {number}")),
            began: self
                .began
                .duration_since(UNIX_EPOCH)
                .ok()
                .map(|since| since.as_secs_f64()),
            machine: Some(Machine::this().host),
            document: document.as_bytes(),
        };
        let comparison = compare::compare(
            Compared::kept(&entry, before.as_bytes()),
            now,
            Some(baseline.worse),
        )?;
        output::aside(&compare::text(&comparison, output::width()));
        Ok(if comparison.worse.is_empty() {
            code
        } else {
            code.max(FOUND)
        })
    }
}

fn baseline(store: &Store, name: &str) -> anyhow::Result<Baseline> {
    store.baseline(name)?.with_context(|| {
        format!(
            "there is no baseline {name}; `straddle baseline list` shows them, `straddle baseline set --name {name}` makes one"
        )
    })
}

/// A run that the history says is under way.
pub(crate) struct UnderWay(Option<(Store, i64)>);

impl UnderWay {
    /// Says that it has ended.
    pub(crate) fn end(self) {
        if let Some((mut store, id)) = self.0 {
            // It is known by its process, too, which ends.
            let _ = store.ended(id);
        }
    }
}

/// A word as a shell would take it again.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,%+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A run that was named: of the history, or a document.
pub(crate) struct Named {
    /// Of the history: what is known of it.
    pub(crate) entry: Option<Entry>,
    /// Of a baseline: by how much a later run may be worse.
    pub(crate) worse: Option<f64>,
    /// What it is called.
    pub(crate) name: String,
    document: Document,
}

enum Document {
    Text(String),
    File(PathBuf),
    Stdin,
}

impl Named {
    /// Its document, from the beginning.
    pub(crate) fn open(&self) -> anyhow::Result<Box<dyn Read + '_>> {
        Ok(match &self.document {
            Document::Text(text) => Box::new(text.as_bytes()),
            Document::File(path) => {
                let file = File::open(path).with_context(|| path.display().to_string())?;
                Box::new(file)
            }
            Document::Stdin => Box::new(std::io::stdin().lock()),
        })
    }

    pub(crate) fn compared(&self) -> anyhow::Result<Compared<Box<dyn Read + '_>>> {
        let document = self.open()?;
        Ok(match &self.entry {
            Some(entry) => Compared::kept(entry, document),
            None => Compared {
                name: self.name.clone(),
                began: None,
                machine: None,
                document,
            },
        })
    }

    /// What a page says of it besides its document.
    pub(crate) fn about(&self) -> About {
        match &self.entry {
            Some(entry) => About::kept(entry),
            None => About {
                name: self.name.clone(),
                facts: Vec::new(),
            },
        }
    }
}

/// The history behind names of runs, opened when the first of them needs it.
pub(crate) struct Runs<'a> {
    flag: Option<&'a str>,
    store: Option<Store>,
}

impl<'a> Runs<'a> {
    pub(crate) fn new(flag: Option<&'a str>) -> Runs<'a> {
        Runs { flag, store: None }
    }

    pub(crate) fn store(&mut self) -> anyhow::Result<&mut Store> {
        if self.store.is_none() {
            self.store = Some(Store::read(&path(self.flag)?)?);
        }
        self.store.as_mut().context("it was opened")
    }

    /// A run of the history, by number, `last`, `last:VERB` or the name of a baseline.
    pub(crate) fn entry(&mut self, name: &str) -> anyhow::Result<(Entry, Option<f64>)> {
        let store = self.store()?;
        if let Ok(number) = name.parse::<i64>() {
            return Ok((store.entry(number)?, None));
        }
        let verb = match name.split_once(':') {
            Some(("last", verb)) => Some(Some(verb.to_owned())),
            _ if name == "last" => Some(None),
            _ => None,
        };
        if let Some(verb) = verb {
            let filter = Filter {
                verb: verb.clone(),
                ..Filter::default()
            };
            let last = store.list(&filter, 1)?.pop();
            let what = verb.map_or_else(|| "run".to_owned(), |verb| format!("run of {verb}"));
            return last.map(|entry| (entry, None)).with_context(|| {
                format!("the history {} has no {what} yet", store.path().display())
            });
        }
        match store.baseline(name)? {
            Some(baseline) => Ok((store.entry(baseline.run)?, Some(baseline.worse))),
            None => bail!(
                "there is no run {name}; expected a number, last, last:VERB, a baseline (`straddle baseline list`), or a file with a JSON document"
            ),
        }
    }

    /// A run of the history or a document.
    pub(crate) fn named(&mut self, name: &str) -> anyhow::Result<Named> {
        let document = |name: &str, document| Named {
            entry: None,
            worse: None,
            name: name.to_owned(),
            document,
        };
        if name == "-" {
            return Ok(document("standard input", Document::Stdin));
        }
        // A number is a run, whatever files there are.
        if name.parse::<i64>().is_err() && Path::new(name).exists() {
            let path = PathBuf::from(name);
            if !std::fs::metadata(&path).is_ok_and(|found| found.is_file()) {
                bail!("{name} is not a file; expected what a command printed with --json");
            }
            return Ok(document(name, Document::File(path)));
        }
        let looks_like_a_file = name.contains(['/', '\\']) || name.ends_with(".json");
        if looks_like_a_file {
            bail!("{name}: no such file");
        }
        let (entry, worse) = self.entry(name)?;
        let text = self.store()?.document(entry.id)?;
        Ok(Named {
            name: format!("run {}", entry.id),
            entry: Some(entry),
            worse,
            document: Document::Text(text),
        })
    }
}

/// True where nothing was stored yet.
pub(crate) fn is_missing(error: &anyhow::Error) -> bool {
    let trouble = error.downcast_ref::<Error>().map(|error| &error.trouble);
    matches!(trouble, Some(Trouble::Missing))
}
