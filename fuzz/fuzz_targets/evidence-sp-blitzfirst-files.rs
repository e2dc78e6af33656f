#![no_main]
straddle_fuzz::reader!("sp-blitzfirst-files");
