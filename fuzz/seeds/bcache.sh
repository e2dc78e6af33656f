# bcache, superblocks by make-bcache (Debian package bcache-tools). It insists on a block device, so the fields are put by
# hand, as `struct cache_sb_disk` has them.
bcache() { # VERSION
    blank 32K
    put $((4096 + 8)) "$(le 8 8)"
    put $((4096 + 16)) "$(le 8 "$1")"
    put $((4096 + 24)) c68573f64e1a45ca8265f57f48ba6d81
    put $((4096 + 40)) 11111111222233334444555555555555
    put $((4096 + 56)) 66666666777788889999aaaaaaaaaaaa
    put $((4096 + 192)) "$(le 8 16)"
    put $((4096 + 200)) "$(le 2 1)"
    put $((4096 + 202)) "$(le 2 1024)"
}
bcache 1; keep bcache backing
bcache 4; put $((4096 + 192)) "$(le 8 17)"; keep bcache backing-offset-17
put $((4096 + 192)) ffffffffffffffff; keep bcache backing-offset-max
bcache 3; keep bcache cache
