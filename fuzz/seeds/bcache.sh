# bcache, superblocks as make-bcache (Debian package bcache-tools) writes them. It insists on a block device, so the fields
# are put by hand, as `struct cache_sb_disk` has them; the first two with the checksums that it wrote.
bcache() { # VERSION
    blank 32K
    put $((4096 + 8)) "$(le 8 8)"
    put $((4096 + 16)) "$(le 8 "$1")"
    put $((4096 + 24)) c68573f64e1a45ca8265f57f48ba6d81
    put $((4096 + 40)) 11111111222233334444555555555555
    put $((4096 + 56)) 66666666777788889999aaaaaaaaaaaa
    put $((4096 + 184)) "$(le 8 16)"
    put $((4096 + 192)) "$(le 2 1)"
    put $((4096 + 194)) "$(le 2 1024)"
}
bcache 4
put 4096 0d9a79cc5ea35510
put $((4096 + 40)) a483bc283ec1480dbea6cb3940529b5c1413abf66d9841ddb60df06eb62003a4
put $((4096 + 104)) 01; put $((4096 + 184)) "$(le 8 24)"
thin bcache make-bcache-backing; thin inspect bcache
bcache 0
put 4096 3f0adaf2cb3c8780
put $((4096 + 40)) de0f69bf878f4afbb7230212257002f60380fd520e994d2d86a1941b85eb1748
put $((4096 + 184)) 000800000000000008002000010000000000000001000000
thin bcache make-bcache-cache
bcache 1; thin bcache backing
bcache 4; put $((4096 + 184)) "$(le 8 17)"; thin bcache backing-offset-17
put $((4096 + 184)) ffffffffffffffff; thin bcache backing-offset-max
bcache 4; put $((4096 + 111)) 40; thin bcache backing-dirty
put $((4096 + 206)) ffff; thin bcache keys-max
bcache 3; thin bcache cache
# A set: each member with its length before it.
bcache 3; thin bcache set-cache
bcache 4; put $((4096 + 40)) 22222222222222222222222222222222; put $((4096 + 111)) 20; thin bcache set-backing
perl -e '
    local $/; binmode STDOUT; print "members ";
    for (@ARGV) { open my $file, "<:raw", $_ or die; my $bytes = <$file>; print pack("L<", length $bytes), $bytes }
' corpus/bcache/set-cache corpus/bcache/set-backing >corpus/bcache/set
rm corpus/bcache/set-cache corpus/bcache/set-backing
