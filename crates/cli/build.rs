//! Gives the program for Windows its manifest: long paths, UTF-8 for calls without wide characters, no elevation asked for.

use embed_manifest::manifest::{ActiveCodePage, Setting, SupportedOS};
use embed_manifest::{embed_manifest, new_manifest};

fn main() -> Result<(), embed_manifest::Error> {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_CFG_WINDOWS").is_none() {
        return Ok(());
    }
    let manifest = new_manifest("Straddle")
        // That is for programs with windows.
        .remove_dependency("Microsoft.Windows.Common-Controls")
        .supported_os(SupportedOS::Windows10..=SupportedOS::Windows10)
        .long_path_aware(Setting::Enabled)
        .active_code_page(ActiveCodePage::Utf8);
    embed_manifest(manifest)
}
