#![no_main]
straddle_fuzz::captured!("esxcli-vmfs-extent");
