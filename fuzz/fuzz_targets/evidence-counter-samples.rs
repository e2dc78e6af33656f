#![no_main]
straddle_fuzz::reader!("counter-samples");
