#![no_main]
straddle_fuzz::captured!("sg3-utils");
