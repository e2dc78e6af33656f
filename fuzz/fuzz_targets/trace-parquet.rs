#![no_main]
straddle_fuzz::trace!("parquet");
