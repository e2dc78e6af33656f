#![no_main]
straddle_fuzz::captured!("win32-volume");
