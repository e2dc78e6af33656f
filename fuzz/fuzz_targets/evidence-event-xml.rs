#![no_main]
straddle_fuzz::reader!("event-xml");
