#![no_main]
straddle_fuzz::reader!("diskspd-xml");
