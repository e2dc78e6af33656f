//! What the fuzz targets share: each runs one prober, or the whole inspection, over the bytes it is given.

use straddle_geometry::Bytes;
use straddle_io::Reader;
use straddle_probe::{Limits, Window, inspect, registry};
use straddle_stack::{Layer, LayerKind, Stack};

#[doc(hidden)]
pub use libfuzzer_sys;

/// What one target may cost: the same as in the replay of the corpora, `crates/probe/tests/corpora.rs`.
const BUDGET: Bytes = Bytes::mib(2);

/// Runs the probers of one format over `data` as the whole of a target.
pub fn fuzz_prober(name: &str, data: &[u8]) {
    for prober in registry::by_name(name) {
        let reader = Reader::with_budget(&data, BUDGET);
        let _ = prober.run(&Window::whole(&reader, None));
    }
}

/// Inspects `data` as the whole of a target.
pub fn fuzz_inspect(data: &[u8]) {
    let reader = Reader::with_budget(&data, BUDGET);
    let mut stack = Stack::new();
    let base = stack.push(Layer::new(LayerKind::Device, "fuzz"));
    inspect(&mut stack, base, &reader, None, Limits::default());
}

/// The whole of a target file for one prober.
#[macro_export]
macro_rules! prober {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::fuzz_prober($name, data));
    };
}
