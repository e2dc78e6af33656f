use straddle_bench::results::{End, Experiment, Medium};
use straddle_bench::statistics::analyse;
use straddle_bench::validity::WarningKind;
use straddle_report::bench::text::report;

use straddle_testkit::experiments::{Recipe, warning, workload};

/// The report without its styles, which are the caller's to show or to strip.
fn plain(experiment: &Experiment, width: usize) -> String {
    let mut out = String::new();
    let report = report(experiment, width);
    let mut chars = report.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            let _ = chars.find(|c| *c == 'm');
        } else {
            out.push(c);
        }
    }
    for line in out.lines() {
        assert!(line.chars().count() <= width, "wider than {width}: {line}");
        assert_eq!(line, line.trim_end(), "blanks at the end of a line");
    }
    out
}

#[test]
fn the_classical_experiment() {
    let experiment = Recipe::classical().make();
    insta::assert_snapshot!("classical", plain(&experiment, 100));
    insta::assert_snapshot!("classical_80", plain(&experiment, 80));
}

#[test]
fn one_cell_of_reads() {
    insta::assert_snapshot!("one_cell", plain(&Recipe::one_cell().make(), 100));
}

#[test]
fn mixes_and_sizes_get_tables_of_their_own() {
    let mut recipe = Recipe::classical();
    recipe.cells = vec![
        workload(70, 8192, 4, 8),
        workload(0, 65_536, 4, 8),
        workload(0, 65_536, 8, 8),
    ];
    let (small, large) = (recipe.cells[0].sizes[0].0, recipe.cells[1].sizes[0].0);
    recipe.cells[0].sizes = vec![(small, 3), (large, 1)];
    recipe.sector = 4096;
    recipe.offsets.truncate(3);
    recipe.speed = vec![1.0, 0.97, 1.001];
    recipe.reached = 3;
    recipe.end = End::OutOfTime;
    insta::assert_snapshot!("mixes", plain(&recipe.make(), 100));
}

#[test]
fn grids_with_the_same_boundaries_are_told_once() {
    let recipe = Recipe {
        sector: 4096,
        ..Recipe::classical()
    };
    let text = plain(&recipe.make(), 100);
    let heading = "\n  physical sector and minimum I/O size 4 KiB of sda\n";
    assert_eq!(text.matches(heading).count(), 1, "{text}");
    assert_eq!(text.matches("minimum I/O size").count(), 1, "{text}");
    assert_eq!(text.matches("geometry: physical sectors of sda").count(), 1);
}

#[test]
fn counts_that_geometry_does_not_expect_are_explained() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<&str>>().join(" ");
    let agrees = words(&plain(&Recipe::classical().make(), 100));
    assert!(!agrees.contains("believe the count"), "{agrees}");
    // Half of what the stripe unit would split, on its members.
    let mut off = Recipe::classical().make();
    for offset in off.cells.iter_mut().flat_map(|cell| &mut cell.offsets) {
        for device in &mut offset.device_operations {
            device.reads /= 2.0;
        }
    }
    let text = words(&plain(&off, 100));
    assert!(
        text.contains("believe the count where these are the members"),
        "{text}"
    );
    // Sectors and commands are not the same.
    let mut sectors = Recipe::one_cell();
    sectors.sector = 4096;
    sectors.cells = vec![workload(100, 8192, 1, 8)];
    let text = words(&plain(&sectors.make(), 100));
    assert!(text.contains("do not contradict each other"), "{text}");
}

#[test]
fn what_was_stopped_or_failed_is_printed_as_far_as_it_goes() {
    let recipe = Recipe {
        reached: 2,
        end: End::Failed(
            "writing 8,192 bytes at byte 1,048,576 of /data/straddle.test: no space left on device"
                .to_owned(),
        ),
        ..Recipe::classical()
    };
    insta::assert_snapshot!("failed", plain(&recipe.make(), 100));
    let recipe = Recipe {
        reached: 0,
        blocks: 0,
        end: End::Stopped,
        ..Recipe::classical()
    };
    insta::assert_snapshot!("stopped_at_once", plain(&recipe.make(), 100));
}

#[test]
fn without_a_stack_and_with_warnings() {
    let mut recipe = Recipe::one_cell();
    recipe.stack = false;
    recipe.counted = false;
    recipe.medium = Medium::FileBuffered;
    recipe.warnings = vec![
        warning(
            WarningKind::Buffered,
            "requests went through the page cache, which held the whole file of 2 GiB",
            "leave out --buffered, or use a file larger than the 16 GiB of memory",
        ),
        warning(
            WarningKind::OtherIo,
            "sda completed 14,200 requests during the runs that were not this program's, 3.1% of all",
            "stop what else uses it, or look for who did: iotop -o, pidstat -d 1; then run again",
        ),
    ];
    insta::assert_snapshot!("warnings", plain(&recipe.make(), 100));
}

/// What `analyse` says of samples, not what a recipe makes up: all parts fit each other.
#[test]
fn samples_that_were_analysed() {
    let recipe = || Recipe {
        blocks: 8,
        ..Recipe::classical()
    };
    for reached in [0, 2, 6] {
        let mut experiment = Recipe {
            reached,
            ..recipe()
        }
        .make();
        experiment.plan.least_blocks = 8;
        let places = experiment.setting.places.iter();
        let classes: Vec<usize> = places.map(|place| place.class).collect();
        let (cells, knees) = analyse(&experiment.plan, &experiment.samples, &classes);
        (experiment.cells, experiment.knees) = (cells, knees);
        for width in [60, 80, 100] {
            let text = plain(&experiment, width);
            let faster = text.matches(" faster by ").count();
            // One for each comparison, one for all of them.
            assert_eq!(faster, reached * 4 + usize::from(reached > 0), "{text}");
            assert_eq!(text.contains("Saturation"), reached == 6, "{text}");
            assert_eq!(text.contains("Nothing is proven."), reached == 0, "{text}");
        }
    }
}

/// One offset has no baseline beside it, and none is spoken of.
#[test]
fn one_offset_is_compared_with_nothing() {
    let mut experiment = Recipe::one_cell().make();
    experiment.plan.offsets.truncate(1);
    experiment.setting.places.truncate(1);
    for cell in &mut experiment.cells {
        cell.offsets.truncate(1);
        cell.gains.clear();
    }
    experiment.samples.retain(|sample| sample.slot.offset == 0);
    let text = plain(&experiment, 100);
    assert!(!text.contains("before, between"), "{text}");
    assert!(!text.contains("Gain over"), "{text}");
    assert!(text.contains("order      runs of 10 s"), "{text}");
}

#[test]
fn hostile_names_do_not_draw_on_the_terminal() {
    let mut recipe = Recipe::one_cell();
    recipe.offsets[1].name = "\u{1b}[31m1M".to_owned();
    let mut experiment = recipe.make();
    experiment.setting.target = "/tmp/\u{7}x\n".to_owned();
    let report = report(&experiment, 100);
    assert!(!report.contains("\u{1b}[31m1M") && !report.contains('\u{7}'));
}

/// Excerpts of the tutorial are from the archived run that it names.
#[test]
fn the_tutorial_shows_what_was_printed() {
    let page = include_str!("../../../../docs/reading-a-bench.md");
    let printed = include_str!("../../../../benches/2026-11-22-arrays/raid10-8-reads.txt");
    let mut shown = 0;
    for block in page.split("```text\n").skip(1) {
        let (block, _) = block.split_once("```").expect("blocks end");
        if block.starts_with("A  64K  A") {
            continue;
        }
        for part in block.trim_end().split("\n\n") {
            assert!(printed.contains(part), "not printed:\n{part}");
        }
        shown += 1;
    }
    assert_eq!(shown, 6);
}
