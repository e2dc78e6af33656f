# Oracle ASM by hand, after listings of kfed that people published. asm UNIT
asm() {
    blank 64M; put 0 01820101; put 32 4f52434c4449534b; put 64 0000100a; put 70 0103
    put 72 41534d30315f30303030; put 104 41534d3031; put 136 41534d30315f30303030
    put 216 "$(le 2 512)$(le 2 4096)$(le 4 "$1")"; put 228 "$(le 4 8)"
}
for mib in 1 4 64; do asm $((mib * 1048576)); thin asm unit-$mib-mib; done
thin inspect asm
put 0 00; thin asm high-byte-first
asm 0; thin asm unit-0
asm 4294967295; put 228 ffffffff; thin asm sizes-max
asm 1048576; put 104 00; thin asm no-group
put 104 ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff; thin asm group-unprintable
blank 1M; put 32 4f52434c4449534b4441544131; thin asm label-only
