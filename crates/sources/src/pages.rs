//! The pages of a database file, which a capture keeps as a text: `format=NAME page=N`, and no byte of the file.

use straddle_geometry::{Grid, Unit};
use straddle_stack::{Fact, GridRole, Layer, LayerId, LayerKind, Stack};

use crate::linux::words::word;

/// What a capture keeps of a file of this machine.
///
/// # Errors
/// Those of the system; also when it is no database file that is known.
#[cfg(any(target_os = "linux", windows))]
pub(crate) fn asked(path: &str) -> std::io::Result<String> {
    use straddle_io::{OpenError, Reader, Target};
    use straddle_probe::{Limits, inspect};

    let opened = Target::open(std::path::Path::new(path));
    let target = opened.map_err(|error| match error {
        OpenError::Os { source, .. } => source,
        other => std::io::Error::other(other),
    })?;
    let mut stack = Stack::new();
    let base = stack.push(Layer::new(LayerKind::File, path));
    let reader = Reader::new(&target);
    inspect(&mut stack, base, &reader, None, Limits::default());
    let mut layers = stack.layers().iter();
    let pages = layers.find(|layer| layer.kind == LayerKind::DatabasePage);
    let found =
        pages.and_then(|layer| Some((layer.name.as_str(), layer.grid(GridRole::DatabasePage)?)));
    match found {
        Some((name, page)) => Ok(format!("format={name} page={}", page.value.unit().get())),
        None => Err(std::io::Error::other(
            "it is no database file that is known",
        )),
    }
}

/// The layer of which a capture kept that, on the layer of the file; `call` is what it was read by.
pub(crate) fn remembered(
    stack: &Stack,
    file: LayerId,
    call: &'static str,
    text: &str,
) -> Option<Layer> {
    let unit = word(text, "page").and_then(|n| Unit::new(n.parse().ok()?))?;
    let format = word(text, "format")?;
    let mut layer = Layer::new(LayerKind::DatabasePage, format);
    layer.format = Some(format.to_owned().into());
    layer.below = vec![file];
    layer.size = stack.layer(file).size.clone();
    // What else a text may have is nobody's answer.
    let text = format!("format={format} page={}", unit.get());
    let page = Fact::answered(Grid::new(unit), call, text);
    layer.add_grid(GridRole::DatabasePage, page);
    Some(layer)
}
