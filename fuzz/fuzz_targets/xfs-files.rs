#![no_main]
straddle_fuzz::files!("xfs");
