#![no_main]
straddle_fuzz::volume!("asm");
