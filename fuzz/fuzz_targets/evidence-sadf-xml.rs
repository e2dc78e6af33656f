#![no_main]
straddle_fuzz::reader!("sadf-xml");
