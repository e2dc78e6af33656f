//! Prints the stack of a host (or of one file on it), or its captured tree: `host [--tree] [ROOT [PATH]]`.
#![allow(clippy::print_stdout)]

use std::path::Path;
use straddle_sources::linux::Root;
use straddle_sources::{CaptureOptions, capture_tree, file, host};
use straddle_sources::{Settings, SourceError};

fn main() -> Result<(), SourceError> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let tree = args.first().is_some_and(|arg| arg == "--tree");
    if tree {
        args.remove(0);
    }
    let root = Root::open(Path::new(args.first().map_or("/", String::as_str)))?;
    let settings = Settings::default();
    if tree {
        let files = args.get(1..).unwrap_or(&[]).to_vec();
        print!(
            "{}",
            capture_tree(
                &root,
                &CaptureOptions {
                    files,
                    ..CaptureOptions::default()
                }
            )?
        );
        return Ok(());
    }
    let stack = match args.get(1) {
        Some(path) => file(&root, path, &settings)?,
        None => host(&root, &settings)?,
    };
    for (id, layer) in stack.iter() {
        let below: Vec<usize> = layer.below.iter().map(|below| below.index()).collect();
        println!(
            "#{} {} {} {:?} on {below:?} {:?} size {:?}",
            id.index(),
            layer.kind.name(),
            layer.name,
            layer.format,
            layer.map,
            layer.size.as_ref().map(|size| size.value.get())
        );
        for grid in &layer.grids {
            let g = grid.grid.value;
            println!(
                "    grid {} {} phase {}",
                grid.role.name(),
                g.unit(),
                g.phase()
            );
        }
        for attribute in &layer.attributes {
            println!("    {} = {}", attribute.key.name(), attribute.value.value);
        }
        for anomaly in &layer.anomalies {
            println!("    ! {:?}: {}", anomaly.kind, anomaly.detail);
        }
    }
    Ok(())
}
