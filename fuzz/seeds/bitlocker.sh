# BitLocker, built here from the format's description: there is no maker outside Windows.
places=$(le 8 $((0x100000)))$(le 8 $((0x120000)))$(le 8 $((0x140000)))
# One copy of the metadata: version, size of it, state, method
metadata() {
    head -c 8 /dev/zero >"$work/zero"
    {
        printf -- '-FVE-FS-' | xxd -p
        le 2 "$2"; le 2 "$1"; le 2 "$3"; le 2 4; le 8 $((0x200000)); le 4 0; le 4 16; echo "$places"; le 8 $((0x110000))
        le 4 112; le 4 1; le 4 48; le 4 112; echo 22222222222222222222222222222222; le 4 1; le 2 "$4"; le 2 "$4"; le 8 0
        # The first sectors of the volume; the end.
        le 2 24; le 2 15; le 2 15; le 2 1; le 8 $((0x110000)); le 8 8192
        echo 00000000000000000000000000000000000000000000000000000000000000000000000000000000
    } | tr -d '\n' | xxd -r -p >"$work/metadata"
    {
        cat "$work/metadata"
        printf '\010\000\002\000'
        gzip -c "$work/metadata" | tail -c8 | head -c4
    } >"$work/copy"
}
bitlocker() { # seven | to-go | vista
    blank 2M
    put 0 eb5890; put 11 0002; put 13 08; put 40 "$(le 8 4096)"
    case $1 in
    seven) put 3 2d4656452d46532d; put 160 3bd66749292ed84a8399f6a339e3d001; put 176 "$places" ;;
    to-go) put 3 4d5357494e342e31; put 424 3bd66749292ed84a8399f6a339e3d001; put 440 "$places" ;;
    vista) put 3 2d4656452d46532d; put 56 "$(le 8 256)" ;;
    esac
    for at in 256 288 320; do dd if="$work/copy" of="$image" bs=4096 seek=$at conv=notrunc status=none; done
}
metadata 2 11 4 32772
bitlocker seven; thin bitlocker seven; thin inspect bitlocker
put $((0x100000 + 60)) 01; thin bitlocker first-damaged
put 176 ffffffffffffffffffffffffffffffffffffffffffffffff; thin bitlocker places-max
bitlocker to-go; thin bitlocker to-go
bitlocker seven; put 160 3b4da89280dd0e4d9e4eb1e3284eaed8; thin bitlocker on-write
bitlocker seven; put 11 0010; put $((0x100000 + 120)) ffffffffffffffffffffffffffffffff; put 184 "$(le 8 0)$(le 8 0)"; thin bitlocker moved-max
metadata 2 11 5 32768; bitlocker seven; thin bitlocker paused
metadata 1 176 4 32768; bitlocker vista; thin bitlocker vista
metadata 2 65535 4 32772; bitlocker seven; thin bitlocker size-max
metadata 9 11 4 32772; bitlocker seven; thin bitlocker version-9
