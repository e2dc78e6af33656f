#![no_main]
straddle_fuzz::container!("dmg");
