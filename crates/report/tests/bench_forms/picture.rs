use straddle_bench::results::End;
use straddle_report::bench::picture;
use straddle_workload::interval::Verdict;

use straddle_testkit::experiments::{Recipe, workload};

#[test]
fn the_classical_experiment() {
    let svg = picture::gains(&Recipe::classical().make()).expect("there are gains");
    insta::assert_snapshot!("gains.svg", svg);
}

#[test]
fn every_verdict_has_its_own_look() {
    let mut recipe = Recipe::classical();
    recipe.cells = vec![
        workload(100, 8192, 1, 8),
        workload(100, 8192, 8, 8),
        workload(0, 65_536, 8, 8),
    ];
    recipe.speed = vec![1.0, 0.97, 1.001, 1.05, 1.012];
    recipe.reached = 3;
    let mut experiment = recipe.make();
    let wide = &mut experiment.cells[1].gains[3];
    wide.verdict = Verdict::NotEnoughEvidence;
    wide.ratio.as_mut().expect("there is one").high = 9.0;
    experiment.plan.offsets[1].name = "<64K> & more".to_owned();
    let svg = picture::gains(&experiment).expect("there are gains");
    insta::assert_snapshot!("verdicts.svg", svg);
}

#[test]
fn without_intervals_there_is_no_picture() {
    let recipe = Recipe {
        reached: 0,
        blocks: 0,
        end: End::Stopped,
        ..Recipe::classical()
    };
    assert_eq!(picture::gains(&recipe.make()), None);
}
