//! Nelder and Mead's search for a minimum (Computer Journal 7, 1965) inside a box: deterministic, without derivatives.

/// Reflection, expansion, contraction, shrinkage: the authors' own.
const REFLECT: f64 = 1.0;
const EXPAND: f64 = 2.0;
const CONTRACT: f64 = 0.5;
const SHRINK: f64 = 0.5;
/// A simplex is small enough when its values differ by less than this share and its corners by less than this much.
const SMALL: f64 = 1e-4;

struct Corner {
    at: Vec<f64>,
    value: f64,
}

/// The place with the least value that was found, from `start`, with every coordinate between its ends.
pub(super) fn minimise(
    mut value: impl FnMut(&[f64]) -> f64,
    start: &[f64],
    least: &[f64],
    most: &[f64],
    evaluations: u32,
) -> Vec<f64> {
    let mut left = evaluations;
    let mut evaluate = |mut at: Vec<f64>| {
        for ((x, least), most) in at.iter_mut().zip(least).zip(most) {
            *x = x.max(*least).min(*most);
        }
        left = left.saturating_sub(1);
        let value = value(&at);
        // What is no number is no minimum.
        let value = if value.is_nan() { f64::INFINITY } else { value };
        (Corner { at, value }, left)
    };
    let mut corners = vec![evaluate(start.to_vec()).0];
    for index in 0..start.len() {
        let mut at = start.to_vec();
        if let (Some(x), Some(least), Some(most)) =
            (at.get_mut(index), least.get(index), most.get(index))
        {
            // A quarter of the box, towards the end that is farther.
            let step = (most - least) / 4.0;
            *x += if most - *x >= *x - least { step } else { -step };
        }
        corners.push(evaluate(at).0);
    }
    loop {
        // Stable: of equal corners the older one is the better.
        corners.sort_by(|a, b| a.value.total_cmp(&b.value));
        let Some((worst, others)) = corners.split_last() else {
            return start.to_vec();
        };
        let Some(best) = others.first() else {
            return worst.at.clone();
        };
        let (best_value, worst_value) = (best.value, worst.value);
        let width = corners.iter().flat_map(|corner| {
            corner
                .at
                .iter()
                .zip(&best.at)
                .map(|(x, best)| (x - best).abs())
        });
        let width = width.fold(0.0, f64::max);
        if width < SMALL && worst_value - best_value <= SMALL * best_value.abs() {
            return best.at.clone();
        }
        let centre = centre(others);
        let second = others.last().map_or(best_value, |corner| corner.value);
        let along = |by: f64| -> Vec<f64> {
            let pairs = centre.iter().zip(&worst.at);
            pairs.map(|(c, w)| c + by * (c - w)).collect()
        };
        let (reflected, mut left) = evaluate(along(REFLECT));
        let new = if reflected.value < best_value {
            let (expanded, now) = evaluate(along(EXPAND));
            left = now;
            if expanded.value < reflected.value {
                Some(expanded)
            } else {
                Some(reflected)
            }
        } else if reflected.value < second {
            Some(reflected)
        } else {
            let outside = reflected.value < worst_value;
            let (contracted, now) = evaluate(along(if outside { CONTRACT } else { -CONTRACT }));
            left = now;
            let limit = if outside {
                reflected.value
            } else {
                worst_value
            };
            (contracted.value < limit).then_some(contracted)
        };
        match new {
            Some(new) => {
                corners.pop();
                corners.push(new);
            }
            None => {
                let best = best.at.clone();
                for corner in corners.iter_mut().skip(1) {
                    let pairs = corner.at.iter().zip(&best);
                    let at = pairs.map(|(x, best)| best + SHRINK * (x - best)).collect();
                    (*corner, left) = evaluate(at);
                }
            }
        }
        if left == 0 {
            let best = corners.iter().min_by(|a, b| a.value.total_cmp(&b.value));
            return best.map_or_else(|| start.to_vec(), |corner| corner.at.clone());
        }
    }
}

fn centre(corners: &[Corner]) -> Vec<f64> {
    let mut sum: Vec<f64> = Vec::new();
    for corner in corners {
        if sum.is_empty() {
            sum.clone_from(&corner.at);
        } else {
            sum.iter_mut().zip(&corner.at).for_each(|(s, x)| *s += x);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "corners are few")]
    let count = corners.len() as f64;
    sum.iter_mut().for_each(|s| *s /= count);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valley_is_followed_to_its_end() {
        // Rosenbrock's, whose minimum is at (1, 1).
        let value = |at: &[f64]| {
            let [x, y] = at else { panic!("two of them") };
            (1.0 - x) * (1.0 - x) + 100.0 * (y - x * x) * (y - x * x)
        };
        let best = minimise(value, &[-1.2, 1.0], &[-5.0, -5.0], &[5.0, 5.0], 1_000);
        assert!(value(&best) < 1e-4, "{best:?}");
    }

    #[test]
    fn a_minimum_outside_is_looked_for_at_the_edge() {
        let value = |at: &[f64]| at.iter().map(|x| (x - 9.0) * (x - 9.0)).sum();
        let best = minimise(value, &[0.0, 0.5], &[-1.0, 0.0], &[1.0, 2.0], 400);
        assert!((best[0] - 1.0).abs() < 0.01 && (best[1] - 2.0).abs() < 0.01);
    }

    #[test]
    fn the_number_of_evaluations_is_bounded() {
        let mut made = 0;
        minimise(
            |at| {
                made += 1;
                at[0] * 1e-9
            },
            &[5.0],
            &[0.0],
            &[10.0],
            20,
        );
        assert!(made <= 22, "{made}");
    }
}
