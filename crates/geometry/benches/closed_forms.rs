//! How long one evaluation of each closed form takes: the target is 20 ns.
//!
//! `cargo bench -p straddle-geometry`. Inputs change from one evaluation to the next, so that nothing is computed
//! once and reused; the loop's own cost is measured as `empty` and belongs to every figure.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use straddle_geometry::{Access, Bytes, Family, Grid, Lattice, Unit};

fn unit(n: u64) -> Unit {
    Unit::new(n).expect("not zero")
}

/// (name, request size, step, grid unit): the usual powers of two, a 3 × 64 KiB stripe width, 520-byte sectors.
const SHAPES: [(&str, u64, u64, u64); 3] = [
    ("8K on 64K", 8192, 8192, 65_536),
    ("64K on 3x64K", 65_536, 65_536, 196_608),
    ("8K on 520", 8192, 8192, 520),
];

fn closed_forms(c: &mut Criterion) {
    let mut start = 0_u64;
    let mut next = move || {
        start = start.wrapping_add(512);
        Bytes::new(black_box(start & 0xff_ffff))
    };
    c.bench_function("empty", |b| b.iter(&mut next));
    for (name, len, step, u) in SHAPES {
        let (len, step, grid) = (
            black_box(unit(len)),
            black_box(unit(step)),
            black_box(Grid::new(unit(u))),
        );
        let mut next = next;
        let mut bench = |form: &str, f: &dyn Fn(Lattice) -> u64| {
            c.bench_function(&format!("{form}: {name}"), |b| {
                b.iter(|| f(Lattice::new(next(), step, len)))
            });
        };
        bench("mean boundaries crossed", &|l| {
            l.mean_crossings(grid).numerator()
        });
        bench("fraction straddling", &|l| l.straddling(grid).numerator());
        bench("partly covered granules", &|l| l.partial(grid).numerator());
        bench("mean units touched", &|l| l.mean_units(grid).numerator());
        bench("worst units touched", &|l| l.worst_units(grid));
        bench("price of a write", &|l| {
            Family::ReadModifyWrite
                .price(l, grid, Access::Write)
                .map_or(0, |p| p.extra.numerator())
        });
        c.bench_function(&format!("smallest offset on a grid: {name}"), |b| {
            b.iter(|| grid.first_at_or_after(next()));
        });
    }
    // The last two have their first boundaries where they meet only after some steps: the general case.
    let pairs = [
        ("64K and 1M", (65_536, 0), (1 << 20, 0)),
        ("3x64K and 1M", (196_608, 0), (1 << 20, 0)),
        ("520 and 4096", (520, 0), (4096, 0)),
        ("3x64K from 64K and 1M", (196_608, 65_536), (1 << 20, 0)),
        ("520 from 8 and 4096", (520, 8), (4096, 0)),
    ];
    for (name, x, y) in pairs {
        let grid = |(u, phase)| black_box(Grid::with_phase(unit(u), Bytes::new(phase)));
        let (x, y) = (grid(x), grid(y));
        let mut next = next;
        c.bench_function(&format!("smallest offset on two grids: {name}"), |b| {
            b.iter(|| {
                let at = next();
                x.intersect(y).and_then(|both| both.first_at_or_after(at))
            });
        });
    }
}

criterion_group!(benches, closed_forms);
criterion_main!(benches);
