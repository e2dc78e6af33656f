#![no_main]
straddle_fuzz::captured!("wmi-script");
