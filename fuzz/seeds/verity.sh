# dm-verity by veritysetup (Debian package cryptsetup-bin).
verity() {
    truncate -s 1M "$work/data"; blank 0
    veritysetup format --uuid $uuid --salt 00 "$@" "$work/data" "$image" >/dev/null
}
verity; keep verity sha256 4096; keep inspect verity 4096
verity --hash sha512 --data-block-size 512; keep verity sha512 1024
put 64 00000000; keep verity block-0 1024
put 64 00100000ffffffffffffffff; keep verity blocks-max 1024
put 8 ffffffff; keep verity version-max 1024
