#![no_main]
straddle_fuzz::captured!("dumpe2fs");
