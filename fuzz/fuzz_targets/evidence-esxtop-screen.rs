#![no_main]
straddle_fuzz::reader!("esxtop-screen");
