//! Packs what only a page with a long series needs: it is half of all that a page is made of.

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;

const SERIES: &str = "src/pages/assets/uPlot.iife.min.js";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={SERIES}");
    let packed = Path::new(&std::env::var("OUT_DIR")?).join("uPlot.iife.min.js");
    let mut packer = DeflateEncoder::new(File::create(packed)?, Compression::best());
    packer.write_all(&fs::read(SERIES)?)?;
    packer.finish()?;
    Ok(())
}
