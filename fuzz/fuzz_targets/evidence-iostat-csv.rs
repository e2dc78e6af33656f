#![no_main]
straddle_fuzz::reader!("iostat-csv");
