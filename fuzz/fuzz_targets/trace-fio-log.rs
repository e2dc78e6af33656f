#![no_main]
straddle_fuzz::trace!("fio-log");
