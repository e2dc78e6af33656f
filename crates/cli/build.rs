//! Packs the schemas of documents for `straddle schema`, and gives the program for Windows its manifest: long paths, UTF-8 for calls without
//! wide characters, no elevation asked for. A debug build for Linux lies at addresses of its own.

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use embed_manifest::manifest::{ActiveCodePage, Setting, SupportedOS};
use embed_manifest::{embed_manifest, new_manifest};
use flate2::Compression;
use flate2::write::DeflateEncoder;

const SCHEMAS: &str = "../../docs/schemas";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={SCHEMAS}");
    pack_schemas(Path::new(&std::env::var("OUT_DIR")?))?;
    if std::env::var_os("CARGO_CFG_WINDOWS").is_some() {
        embed()?;
    }
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    // Tests start a debug build thousands of times, some of them under a tracer or in a guest. One that may lie anywhere has 200,000
    // addresses to put down first, in 600 pages of its own: nearly half of the time that a short run takes, and half of it in a guest.
    if is("PROFILE", "debug")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
    if is("CARGO_CFG_TARGET_ARCH", "x86_64") && is("CARGO_CFG_TARGET_ENV", "musl") {
        // As `io` has them, in `memory.rs`.
        for name in ["memcpy", "memmove", "memcmp", "bcmp"] {
            println!("cargo:rustc-link-arg-bins=-Wl,--wrap={name}");
        }
    }
    Ok(())
}

fn pack_schemas(into: &Path) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(SCHEMAS)? {
        let entry = entry?;
        let packed = File::create(into.join(entry.file_name()))?;
        let mut packer = DeflateEncoder::new(packed, Compression::best());
        packer.write_all(&fs::read(entry.path())?)?;
        packer.finish()?;
    }
    Ok(())
}

fn embed() -> Result<(), embed_manifest::Error> {
    let manifest = new_manifest("Straddle")
        // That is for programs with windows.
        .remove_dependency("Microsoft.Windows.Common-Controls")
        .supported_os(SupportedOS::Windows10..=SupportedOS::Windows10)
        .long_path_aware(Setting::Enabled)
        .active_code_page(ActiveCodePage::Utf8);
    embed_manifest(manifest)
}
