#![no_main]
straddle_fuzz::captured!("unraid");
