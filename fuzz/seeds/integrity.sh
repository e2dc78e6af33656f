# dm-integrity, superblocks as integritysetup (Debian package cryptsetup-bin) writes them. It needs a kernel with the target,
# so the fields are put by hand: what it wrote to a device of 32 MiB first.
integrity() { # INTERLEAVE TAG SECTIONS SECTORS FLAGS BLOCK
    blank 64K
    put 0 "696e74656772740005$(le 1 "$1")$(le 2 "$2")$(le 4 "$3")$(le 8 "$4")$(le 4 "$5")$(le 1 "$6")0f"
}
integrity 15 4 2 64664 24 0; truncate -s 1M "$image"; thin integrity integritysetup
integrity 3 4 1 8 24 0; thin integrity interleave-8; thin inspect integrity
integrity 3 4 0 24 8 0; thin integrity three-areas
integrity 3 32 0 8 8 3; thin integrity blocks-of-4096
integrity 3 32 1 8 1 3; thin integrity padding-of-128k
integrity 0 4 1 100 8 0; thin integrity tags-apart
integrity 15 4 1 100 32 0; thin integrity inline
integrity 31 65535 4294967295 18446744073709551615 0 3 2>/dev/null || :
put 16 ffffffffffffffff; thin integrity all-max
integrity 3 1 0 0 8 0; put 16 ffffffffffff0000; thin integrity many-areas
integrity 15 4 1 100 6 0; thin integrity recalculating-bitmap
put 8 ff; thin integrity version-255
