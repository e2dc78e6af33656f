#![no_main]
straddle_fuzz::reader!("node-exporter");
