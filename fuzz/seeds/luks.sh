# LUKS by cryptsetup (Debian package cryptsetup-bin), without key material, and with metadata that it would not write.
printf pw >"$work/pw"
quick='-q --key-file pw --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --uuid '$uuid
luks() { # SIZE OPTIONS
    blank "$1"; shift
    (cd "$work" && cryptsetup luksFormat $quick "$@" image)
}
# without FROM TO: zeroes there
without() { dd if=/dev/zero of="$image" bs=512 seek=$(($1 / 512)) count=$((($2 - $1) / 512)) conv=notrunc status=none; }
small='--type luks2 --luks2-keyslots-size 256k --offset 576'
luks 4M --type luks1; without 4096 2097152; thin luks luks1; thin inspect luks1
put 104 00000000; thin luks luks1-apart
put 104 ffffffff; thin luks luks1-offset-max
luks 4M --type luks1 --align-payload 63; without 4096 2097152; thin luks luks1-align-63
luks 1M $small; without 32768 294912; thin luks luks2; thin inspect luks2
cp "$image" "$work/luks2"
put 600 01; thin luks luks2-first-damaged
without 0 4096; thin luks luks2-first-gone
cp "$work/luks2" "$image"; put 8 ffffffffffffffff; put $((16384 + 8)) "$(printf %016x 4096)"; thin luks luks2-sizes
luks 1M $small --sector-size 4096 --label 'a b'; without 32768 294912; thin luks luks2-4096
luks 2M --type luks2 --luks2-keyslots-size 512k --offset 2048 --luks2-metadata-size 64k; without 131072 655360; thin luks luks2-64k
luks 8M --type luks2 --luks2-keyslots-size 800k --offset 2048; (cd "$work" && cryptsetup reencrypt -q --key-file pw --init-only --force-offline-reencrypt \
    --resilience none --sector-size 4096 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 image >/dev/null 2>&1) || :
without 32768 1048576; thin luks luks2-reencrypt
# json TEXT NAME: the metadata of both headers; the checksums are wrong then, and the first header is read all the same
json() {
    cp "$work/luks2" "$image"
    without 4096 16384; without 20480 32768
    printf %s "$1" | dd of="$image" bs=1 seek=4096 conv=notrunc status=none
    thin luks "$2"
}
max=18446744073709551615
json '{"segments":{"0":{"type":"linear","offset":"'$max'","size":"'$max'"},"1":{"type":"linear","offset":"0","size":"'$max'"}}}' json-max
json '{"segments":{"0":{"type":"linear","offset":"4096","size":"8192"},"3":{"type":"crypt","offset":"65536","size":"dynamic","sector_size":512,"encryption":"aes-xts-plain64"},"1":{"type":"linear","offset":"16384","size":"4096","flags":["in-reencryption"]}},"config":{"requirements":{"mandatory":["online-reencrypt-v2"]}}}' json-three
json '{"segments":{"0":{"type":"crypt","offset":"65536","size":"dynamic","sector_size":4096,"integrity":{"type":"hmac(sha256)"}}}}' json-integrity
put 65536 696e746567727400050320000100000010000000000000000800000003000000; thin luks integrity-behind
json '{"tokens":'"$(perl -e 'print "[" x 3000')" json-deep
json "$(perl -e 'print "{\"segments\":{", join(",", map { "\"$_\":{\"type\":\"linear\",\"offset\":\"$_\",\"size\":\"1\"}" } 0 .. 220), "}}"')" json-220-segments
json "$(perl -e 'print "{\"segments\":{", join(",", map { "\"$_\":{}" } 0 .. 900), "}}"')" json-many-empty
json '{"segments":{"0":{"type":["crypt"],"offset":1e99,"size":{}}},"keyslots":[]}' json-types
json '{"segments":{"0":{"type":"crypt","offset":"65536","offset":"1","size":"dynamic"}}}' json-twice
