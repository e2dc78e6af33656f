//! Runs that are kept: by which verbs, where, and how they come back.

use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::support::{in_memory, sh};

struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// A user with a home of its own, and no variable that says where a history is.
struct User {
    folder: tempfile::TempDir,
}

impl User {
    fn new() -> User {
        let folder = in_memory();
        sh(
            folder.path(),
            "mkdir home work; cd work; truncate -s 64M legacy.img aligned.img
             printf 'label: dos\nlabel-id: 0x12345678\nstart=63, size=100000, type=7\n' | sfdisk --quiet legacy.img
             printf 'label: dos\nlabel-id: 0x12345678\nstart=2048, size=100000, type=7\n' | sfdisk --quiet aligned.img",
        );
        User { folder }
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Where the history of this user is, when nobody says otherwise.
    fn usual(&self) -> PathBuf {
        self.home().join(".local/share/straddle/history.sqlite")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_straddle"));
        command
            .current_dir(self.work())
            .env("HOME", self.home())
            .env_remove("STRADDLE_HISTORY")
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CONFIG_HOME");
        command
    }

    fn run<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Run {
        self.finish(self.command().args(words))
    }

    fn finish(&self, command: &mut Command) -> Run {
        let output = command.output().expect("straddle runs");
        let shown = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
            text.replace(self.folder.path().to_str().expect("UTF-8"), "…")
        };
        Run {
            code: output.status.code(),
            stdout: shown(&output.stdout),
            stderr: shown(&output.stderr),
        }
    }

    fn typed(&self, line: &str) -> Run {
        self.run(line.split(' '))
    }

    /// Numbers, verbs and targets of all runs, the first one first.
    fn kept(&self) -> Vec<String> {
        let list = self.typed("history list --format json");
        let list: Value = serde_json::from_str(&list.stdout).expect("JSON");
        let runs = list["runs"].as_array().expect("runs").iter().rev();
        runs.map(|run| format!("{} {}", run["run"], run["verb"].as_str().expect("a verb")))
            .collect()
    }
}

#[test]
fn every_run_of_four_verbs_is_kept_as_it_was_printed() {
    let user = User::new();
    let predict = user.typed("predict --profile fixed-service --json");
    let fix = user.typed("fix legacy.img --json");
    let study = user.typed("study fixed-service --quick --json");
    let bench = user.typed("bench . --engine null --size 64M --runtime 20ms --warm-up 0s --blocks 3-3 --offsets 1M,31.5K --json");
    let printed = [&predict, &fix, &study, &bench];
    for run in printed {
        assert!(matches!(run.code, Some(0 | 1)), "{}", run.stderr);
    }
    assert_eq!(user.kept(), ["1 predict", "2 fix", "3 study", "4 bench"]);
    for (number, run) in (1..).zip(printed) {
        let shown = user.run(["history", "show", &number.to_string(), "--json"]);
        assert_eq!(shown.stdout, run.stdout, "{number}");
    }
    // The same whatever form was printed, and when nothing was.
    user.typed("fix legacy.img");
    user.typed("predict --profile fixed-service");
    user.typed("study fixed-service --quick --quiet");
    assert_eq!(user.kept().len(), 7, "{:?}", user.kept());
    let text = user.typed("history show 5 --json").stdout;
    assert_eq!(text, fix.stdout);
}

#[test]
fn what_makes_no_run_keeps_none() {
    let user = User::new();
    for line in [
        "check legacy.img",
        "bench . --dry-run",
        "fix legacy.img --script sfdisk --stripe-unit 64K --physical-sector 4096",
        "study --list",
        "explain STR101",
        "history list",
        "baseline list",
        "fix missing.img",
    ] {
        user.typed(line);
        assert!(!user.home().join(".local").exists(), "{line}");
    }
    let none = user.typed("history list");
    assert_eq!(
        (none.code, none.stdout.as_str()),
        (Some(0), "no run is kept that this asks for\n")
    );
    user.typed("predict --profile fixed-service --history none");
    assert!(!user.home().join(".local").exists());
}

#[test]
fn a_flag_is_above_the_environment_above_the_settings() {
    let user = User::new();
    let settings = user.home().join(".config/straddle/settings.toml");
    fs::create_dir_all(settings.parent().expect("a folder")).expect("made");
    fs::write(&settings, "[history]\npath = \"settings.sqlite\"\n").expect("written");
    let run = |flag: &[&str], environment: Option<&str>| {
        let mut command = user.command();
        command
            .args(["predict", "--profile", "fixed-service"])
            .args(flag);
        if let Some(place) = environment {
            command.env("STRADDLE_HISTORY", place);
        }
        let run = user.finish(&mut command);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        let made: Vec<String> = fs::read_dir(user.work())
            .expect("there")
            .map(|entry| {
                entry
                    .expect("there")
                    .file_name()
                    .into_string()
                    .expect("UTF-8")
            })
            .filter(|name| name.ends_with(".sqlite"))
            .collect();
        for name in &made {
            fs::remove_file(user.work().join(name)).expect("there");
        }
        made
    };
    assert_eq!(run(&[], None), ["settings.sqlite"]);
    assert_eq!(run(&[], Some("environment.sqlite")), ["environment.sqlite"]);
    assert_eq!(
        run(&["--history", "flag.sqlite"], Some("environment.sqlite")),
        ["flag.sqlite"]
    );
    assert_eq!(
        run(&["--history", "none"], Some("environment.sqlite")),
        [""; 0]
    );
    assert_eq!(run(&[], Some("none")), [""; 0]);
    assert!(!user.usual().exists());
    fs::write(&settings, "[history]\nplace = 1\n").expect("written");
    let wrong = user.typed("history list");
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong
            .stderr
            .contains("settings.toml: expected [history] with path"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn check_is_kept_only_when_it_is_asked_for() {
    let user = User::new();
    let printed = user.typed("check legacy.img --json");
    assert!(!user.usual().exists());
    let path = user.work().join("h.sqlite");
    for line in [
        "check legacy.img --history h.sqlite",
        "check legacy.img aligned.img --summary --history h.sqlite",
    ] {
        assert_eq!(user.typed(line).code, Some(1), "{line}");
    }
    let list = user.typed("history list --history h.sqlite").stdout;
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 3, "{list}");
    assert!(
        lines[1].contains(" 2 ") && lines[1].contains("2 targets"),
        "{list}"
    );
    assert!(
        lines[2].contains(" 1 ") && lines[2].contains("legacy.img"),
        "{list}"
    );
    let shown = user.typed("history show 1 --json --history h.sqlite");
    assert_eq!(shown.stdout, printed.stdout);
    let of_two: Value = serde_json::from_str(
        &user
            .typed("history show 2 --json --history h.sqlite")
            .stdout,
    )
    .expect("JSON");
    let whole: Value =
        serde_json::from_str(&user.typed("check legacy.img aligned.img --json").stdout)
            .expect("JSON");
    assert_eq!(of_two, whole, "a summary keeps the whole document");
    let mut command = user.command();
    command
        .args(["check", "legacy.img"])
        .env("STRADDLE_HISTORY", &path);
    user.finish(&mut command);
    assert_eq!(
        user.typed("history list --history h.sqlite --format csv")
            .stdout
            .lines()
            .count(),
        4
    );
    let settings = user.home().join(".config/straddle/settings.toml");
    fs::create_dir_all(settings.parent().expect("a folder")).expect("made");
    fs::write(&settings, "[history]\ncheck = true\n").expect("written");
    user.typed("check legacy.img");
    assert_eq!(user.kept(), ["1 check"]);
}

/// Without a wish nothing of a history is looked at but whether there are settings.
#[test]
fn check_opens_no_database() {
    let user = User::new();
    user.typed("predict --profile fixed-service");
    assert!(user.usual().exists());
    let log = user.folder.path().join("log");
    let status = Command::new("strace")
        .args(["-f", "-e", "trace=%file", "-o"])
        .arg(&log)
        .arg(env!("CARGO_BIN_EXE_straddle"))
        .args(["check", "legacy.img"])
        .current_dir(user.work())
        .env("HOME", user.home())
        .env_remove("STRADDLE_HISTORY")
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .expect("strace: `cargo xtask test` installs it")
        .status;
    assert_eq!(status.code(), Some(1));
    let log = fs::read_to_string(log).expect("there");
    let home = user.home().display().to_string();
    let touched: Vec<&str> = log.lines().filter(|line| line.contains(&home)).collect();
    assert_eq!(touched.len(), 1, "{touched:?}");
    assert!(
        touched[0].contains("settings.toml") && touched[0].contains("ENOENT"),
        "{touched:?}"
    );
}

#[test]
fn a_history_that_cannot_be_used_costs_the_verb_nothing() {
    let user = User::new();
    let whole = user.typed("predict --profile fixed-service --history none");
    let other = user.work().join("other.sqlite");
    fs::write(&other, "somebody's diary").expect("written");
    let mut said = String::new();
    for place in [
        "other.sqlite",
        "legacy.img",
        "/proc/history.sqlite",
        "/dev/full",
        ".",
    ] {
        let run = user.run(["predict", "--profile", "fixed-service", "--history", place]);
        assert_eq!((run.code, &run.stdout), (Some(0), &whole.stdout), "{place}");
        said.push_str(&run.stderr);
    }
    insta::assert_snapshot!("unusable", said);
    assert_eq!(
        fs::read_to_string(other).expect("there"),
        "somebody's diary"
    );
    for verb in ["list", "show last", "export"] {
        let run = user.typed(&format!("history {verb} --history other.sqlite"));
        assert_eq!(run.code, Some(2), "{verb}");
        assert!(
            run.stderr.contains("is no history of straddle"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn runs_are_shown_removed_exported_and_imported() {
    let user = User::new();
    user.typed("fix legacy.img");
    user.typed("fix legacy.img");
    user.typed("predict --profile fixed-service");
    let shown = user.typed("history show last:fix");
    insta::with_settings!({filters => vec![(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "[time]"), (r"machine  \S+", "machine  [machine]"), (r"key      [0-9a-f]{32}", "key      [key]")]}, {
        insta::assert_snapshot!("show", shown.stdout);
    });
    let all = user.typed("history export").stdout;
    assert_eq!(user.typed("history export -o all.jsonl").code, Some(0));
    let again = user.typed("history export -o all.jsonl");
    assert_eq!(again.code, Some(2), "a file that is there is not replaced");
    assert_eq!(
        fs::read_to_string(user.work().join("all.jsonl")).expect("there"),
        all
    );
    let count = all.lines().count();
    let imported = user.typed("history import all.jsonl --history second.sqlite");
    assert_eq!(
        imported.stdout,
        format!("all.jsonl: {count} new, 0 known already, 0 refused\n")
    );
    let imported = user.typed("history import all.jsonl --history second.sqlite");
    assert_eq!(
        imported.stdout,
        format!("all.jsonl: 0 new, {count} known already, 0 refused\n")
    );
    assert_eq!(
        user.typed("history export --history second.sqlite").stdout,
        all
    );
    // What commands printed, pretty or not, and something else.
    fs::write(
        user.work().join("check.json"),
        user.typed("check legacy.img --json").stdout,
    )
    .expect("written");
    fs::write(
        user.work().join("fix.json"),
        user.typed("fix legacy.img --json --history none").stdout,
    )
    .expect("written");
    fs::write(user.work().join("bad.json"), "{\"a\": 1}\n").expect("written");
    let imported =
        user.typed("history import check.json fix.json bad.json --history second.sqlite");
    assert_eq!(imported.code, Some(2));
    assert_eq!(
        imported.stdout,
        "check.json: 1 new, 0 known already, 0 refused\nfix.json: 1 new, 0 known already, 0 refused\nbad.json: 0 new, 0 known already, 1 refused\n"
    );
    assert!(
        imported
            .stderr
            .starts_with("error: bad.json, line 1: no exported run"),
        "{}",
        imported.stderr
    );
    let gone = user.typed("history rm 1 99");
    assert_eq!(gone.code, Some(2));
    assert_eq!(user.kept().len(), count, "all or none");
    assert_eq!(user.typed("history rm 1 last").code, Some(0));
    assert_eq!(user.kept().len(), count - 2);
}

#[test]
fn names_of_runs_that_lead_nowhere_are_errors() {
    let user = User::new();
    user.typed("predict --profile fixed-service");
    let mut said = String::new();
    for line in [
        "history show 7",
        "history show last:bench",
        "history show nobody",
        "compare last",
        "compare nowhere.json last",
        "compare last work",
        "report 9 -o x.html",
        "baseline set last --name last",
        "baseline set last --name 12",
        "baseline set 1 2",
        "baseline set before after",
        "baseline set 1 2 --name good",
        "baseline set nobody --name good",
        "baseline rm nobody",
        "predict --profile fixed-service --baseline nobody",
        "predict --profile fixed-service --baseline x --history none",
    ] {
        let run = user.typed(line);
        assert_eq!(run.code, Some(2), "{line}");
        said.push_str(&format!("$ straddle {line}\n{}", run.stderr));
    }
    insta::assert_snapshot!("names", said);
}

#[test]
fn a_later_run_that_is_worse_than_its_baseline_fails() {
    let user = User::new();
    user.typed("check aligned.img --history h.sqlite");
    assert_eq!(
        user.typed("baseline set --name good --worse 5% --history h.sqlite")
            .code,
        Some(0)
    );
    // As people type it, in either order.
    for (line, says) in [
        ("baseline set", "baseline is run 1: "),
        ("baseline set before", "before is run 1: "),
        ("baseline set 1 first", "first is run 1: "),
        ("baseline set first last:check", "first is run 1: "),
        ("baseline set first --name second", "second is run 1: "),
    ] {
        let run = user.typed(&format!("{line} --history h.sqlite"));
        assert!(
            run.stdout.starts_with(says),
            "{line}: {}{}",
            run.stdout,
            run.stderr
        );
    }
    // Neither needs to be told to list.
    for verb in ["baseline", "history"] {
        let [short, long] =
            ["", " list"].map(|action| user.typed(&format!("{verb}{action} --history h.sqlite")));
        assert_eq!(
            (short.code, &short.stdout),
            (Some(0), &long.stdout),
            "{verb}"
        );
        assert!(long.stdout.contains("aligned.img"), "{}", long.stdout);
    }
    let same = user.typed("check aligned.img --quiet --baseline good --history h.sqlite");
    assert_eq!(same.code, Some(0), "{}", same.stderr);
    let worse =
        user.typed("check legacy.img --quiet --fail-on never --baseline good --history h.sqlite");
    assert_eq!(worse.code, Some(1));
    insta::with_settings!({filters => vec![(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC on \S+:", "[time, machine]:")]}, {
        insta::assert_snapshot!("worse", worse.stderr);
    });
    // The same by two documents, and only when somebody says how much worse is too much.
    fs::write(
        user.work().join("a.json"),
        user.typed("check aligned.img --json").stdout,
    )
    .expect("written");
    fs::write(
        user.work().join("b.json"),
        user.typed("check legacy.img --json").stdout,
    )
    .expect("written");
    assert_eq!(user.typed("compare a.json b.json").code, Some(0));
    assert_eq!(user.typed("compare a.json b.json --worse 5%").code, Some(1));
    assert_eq!(
        user.typed("compare b.json a.json --worse 5%").code,
        Some(0),
        "it became better"
    );
    assert_eq!(
        user.typed("compare a.json b.json --worse 400%").code,
        Some(0)
    );
}

/// Silence is no pass: a target of which nothing was checked has no finding either.
#[test]
fn a_later_run_that_checked_less_is_worse() {
    let user = User::new();
    let check = |targets: &str, out: &str| {
        let run = user.typed(&format!("check {targets} --json --fail-on never"));
        fs::write(user.work().join(out), run.stdout).expect("written");
    };
    fs::write(user.work().join("blank.img"), vec![0; 1 << 20]).expect("written");
    check("aligned.img blank.img", "half.json");
    check("aligned.img nothere.img", "gone.json");
    check("aligned.img", "all.json");
    for (earlier, later, code, said) in [
        ("all", "half", 1, "nothing was checked of 1, earlier of 0"),
        ("all", "gone", 1, "nothing was checked of 1, earlier of 0"),
        ("half", "all", 0, ""),
        ("half", "gone", 0, ""),
    ] {
        let run = user.typed(&format!("compare {earlier}.json {later}.json --worse 400%"));
        assert_eq!(run.code, Some(code), "{earlier} {later}: {}", run.stdout);
        assert!(
            run.stderr.contains(said) || run.stdout.contains(said),
            "{}{}",
            run.stdout,
            run.stderr
        );
        // Without a limit nothing fails.
        let run = user.typed(&format!("compare {earlier}.json {later}.json"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
}

/// Errors of a study are shares: from 1% to 3% is two points, not three times as much.
#[test]
fn errors_of_studies_are_compared_in_points() {
    let user = User::new();
    let first = user.typed("study n17-ssdaligntest --json").stdout;
    let mut document: Value = serde_json::from_str(&first).expect("JSON");
    let cells = document
        .pointer_mut("/studies/0/cells")
        .and_then(Value::as_array_mut)
        .expect("cells");
    let cell = cells
        .iter_mut()
        .find(|cell| cell["simulated"]["error_percent"].is_number())
        .expect("a simulated one");
    let id = cell["id"].clone();
    let error = cell["simulated"]["error_percent"]
        .as_f64()
        .expect("a figure");
    let more = error + 2.0_f64.copysign(error);
    cell["simulated"]["error_percent"] = more.into();
    fs::write(user.work().join("one.json"), &first).expect("written");
    fs::write(user.work().join("other.json"), document.to_string()).expect("written");
    let run = user.typed("compare one.json other.json --json --worse 1%");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let compared: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let changed: Vec<&Value> = compared["figures"]
        .as_array()
        .expect("figures")
        .iter()
        .filter(|figure| figure["change"] != 0.0)
        .collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert_eq!(changed[0]["what"], id);
    assert_eq!(changed[0]["scale"], "points");
    let change = changed[0]["change"].as_f64().expect("points");
    assert!((change - 0.02).abs() < 1e-9, "{change}");
    assert_eq!(
        user.typed("compare one.json other.json --worse 3%").code,
        Some(0)
    );
}

#[test]
fn a_comparison_obeys_its_schema_and_verbs_are_not_mixed() {
    let user = User::new();
    fs::write(
        user.work().join("a.json"),
        user.typed("check aligned.img --json").stdout,
    )
    .expect("written");
    fs::write(
        user.work().join("b.json"),
        user.typed("check legacy.img --json").stdout,
    )
    .expect("written");
    fs::write(
        user.work().join("fix.json"),
        user.typed("fix legacy.img --json").stdout,
    )
    .expect("written");
    let schema: Value = serde_json::from_str(&user.typed("schema compare").stdout).expect("JSON");
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler
        .add_resource("schema.json", schema)
        .expect("a schema");
    let compiled = compiler
        .compile("schema.json", &mut schemas)
        .expect("a schema");
    let compared = user.typed("compare a.json b.json --json --worse 1%").stdout;
    let compared: Value = serde_json::from_str(&compared).expect("JSON");
    schemas.validate(&compared, compiled).expect("obeys");
    assert_eq!(compared["new"][0]["what"], "STR101 on partition 1");
    assert_eq!(compared["worse"][0], "STR101 on partition 1: new");
    let starts = &compared["differs"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|one| one["name"] == "layer partition 1");
    assert_eq!(
        starts.expect("it moved")["later"],
        "partition, starts at 32,256 B, 51,200,000 B long"
    );
    let mixed = user.typed("compare a.json fix.json");
    assert_eq!(
        (mixed.code, mixed.stderr.as_str()),
        (
            Some(2),
            "error: a.json is of `check` and fix.json of `fix`; runs of one verb can be compared\n"
        )
    );
}

/// Rates of runs that differ by a tenth are told apart, those of the same are not.
#[test]
fn rates_are_compared_with_their_intervals() {
    use straddle::report::compare::{Compared, Proven, compare};
    use straddle_testkit::experiments::Recipe;
    let document = |speed: f64| {
        let recipe = Recipe::classical();
        let speed = recipe.speed.iter().map(|one| one * speed).collect();
        let experiment = Recipe { speed, ..recipe }.make();
        serde_json::to_string(&straddle::report::bench::Document::new(&experiment)).expect("JSON")
    };
    let verdicts = |one: &str, other: &str| {
        let side = |name: &str, text: &str, began| Compared {
            name: name.to_owned(),
            began: Some(began),
            machine: None,
            document: std::io::Cursor::new(text.to_owned()),
        };
        let compared =
            compare(side("one", one, 1.0), side("other", other, 2.0), Some(0.05)).expect("alike");
        let rates = compared
            .figures
            .iter()
            .filter(|one| one.quantity == "requests each second");
        let rates: Vec<Proven> = rates.map(|one| one.verdict).collect();
        (rates, compared.worse.len())
    };
    let (whole, slow) = (document(1.0), document(0.9));
    let (rates, worse) = verdicts(&whole, &whole);
    assert_eq!(rates.len(), 30);
    assert!(
        rates.iter().all(|one| *one == Proven::NoChange),
        "{rates:?}"
    );
    assert_eq!(worse, 0);
    let (rates, worse) = verdicts(&whole, &slow);
    assert!(rates.iter().all(|one| *one == Proven::Worse), "{rates:?}");
    assert!(worse >= 25, "{worse}");
    let (rates, worse) = verdicts(&slow, &whole);
    assert!(rates.iter().all(|one| *one == Proven::Better), "{rates:?}");
    assert_eq!(worse, 0);
}
