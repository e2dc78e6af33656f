# Oracle files by hand: block 0 and the head of block 1, after dumps that people published. oracle SIZE FORMAT TYPE
oracle() {
    blank 64K
    put 0 "00$2"; put 20 "$(le 4 "$1")$(le 4 $((65536 / $1 - 1)))7d7c7b7a"; put "$1" "$3$2"; put $(($1 + 4)) 01004000
}
oracle 8192 a2 0b; thin oracle data-8192; thin inspect oracle-8192
put 20 ffffffff; thin oracle block-size-max
oracle 512 22 01; thin oracle redo-512
oracle 16384 c2 15; thin oracle control-16384
oracle 8192 a2 0b; put 20 00002000000000077a7b7c7d; put 8196 00400001; thin oracle high-byte-first
oracle 32768 e2 0b; put 32769 00; thin oracle formats-differ
keep oracle truncated 40
