#![no_main]
straddle_fuzz::prober!("oracle");
