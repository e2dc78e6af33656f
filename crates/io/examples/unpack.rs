//! What unpacking costs alone: `unpack FILE` throws away what is in a packed file. `cargo xtask bench evidence` and `bench hosts` measure
//! reading packed logs and archives beside it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use straddle_io::Packing;

fn main() {
    let path = std::env::args_os().nth(1).expect("a packed file");
    let mut file = File::open(path).expect("readable");
    let mut head = [0; 8];
    file.read_exact(&mut head).expect("a packed file");
    file.seek(SeekFrom::Start(0)).expect("a file");
    let packing = Packing::of(&head).expect("a packed file");
    let mut unpacked = packing.unpack(file);
    let mut block = vec![0; 256 << 10];
    while unpacked.read(&mut block).expect("sound") > 0 {}
}
