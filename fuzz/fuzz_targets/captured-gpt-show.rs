#![no_main]
straddle_fuzz::captured!("gpt-show");
