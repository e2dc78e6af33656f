#![no_main]
straddle_fuzz::trace!("file-offsets");
