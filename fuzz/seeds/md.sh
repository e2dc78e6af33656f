# md, superblocks as mdadm writes them. It insists on block devices, so the fields are put by hand, as `struct mdp_superblock_1`
# and `mdp_super_t` have them, and the checksum is corrected; tests/lab/cases/md-metadata.sh compares the reader with mdadm itself.

# md_sum BASE BYTES [big]: the sum of words that md takes of itself, with the checksum's own bytes zero.
md_sum() {
    dd if="$image" bs=1 skip="$1" count="$2" status=none | perl -e '
        local $/; binmode STDIN; my $sum = 0; $sum += $_ for unpack(($ARGV[0] // "") eq "big" ? "N*" : "V*", <STDIN>);
        printf "%u", (($sum & 0xffffffff) + ($sum >> 32)) & 0xffffffff' ${3:-}
}
# md_seal BASE: mends the checksum of a superblock of version 1 with roles of 8 devices.
md_seal() { put $(($1 + 216)) 00000000; put $(($1 + 216)) "$(le 4 "$(md_sum "$1" 272)")"; }
# md1 MINOR LEVEL LAYOUT CHUNK-SECTORS DISKS NUMBER [DATA-OFFSET]: one member of 64 KiB.
md1() {
    case $1 in 0) md_base=57344 ;; 1) md_base=0 ;; *) md_base=4096 ;; esac
    case $1 in 0) md_data=0 ;; *) md_data=${7:-32} ;; esac
    blank 64K
    put $md_base fc4e2ba901000000
    put $((md_base + 16)) 11111111222233334444555555555555
    put $((md_base + 32)) 686f73743a30
    put $((md_base + 72)) "$(le 4 "$2")$(le 4 "$3")$(le 8 64)$(le 4 "$4")$(le 4 "$5")"
    put $((md_base + 128)) "$(le 8 $md_data)$(le 8 64)$(le 8 $((md_base / 512)))"
    put $((md_base + 160)) "$(le 4 "$6")00000000"
    put $((md_base + 168)) "66666666777788889999aaaaaaaaaa$(le 1 "$6")"
    put $((md_base + 200)) "$(le 8 17)ffffffffffffffff"
    put $((md_base + 220)) "$(le 4 8)"
    put $((md_base + 256)) 0000010002000300ffffffffffffffff
    md_seal $md_base
}
# md_keep NAME: what is not zero of the image.
md_keep() {
    mkdir -p corpus/md
    md_sparse >"corpus/md/$1"
}
md_sparse() {
    perl -e '
        my ($name) = @ARGV; local $/; open my $file, "<:raw", $name or die; my $bytes = <$file>; binmode STDOUT;
        print "sparse- ", pack("Q<", length $bytes);
        while ($bytes =~ /\G(?:\0{16})*+/gc && $bytes =~ /\G((?:(?!\0{16}).{16}){1,4000})/gcs) { print pack("L<S<", $-[0], length $1), $1 }
    ' "$image"
}
# md_set NAME: the members that were put aside with md_member become one seed.
md_member() { md_sparse >"$work/member.$((md_count += 1))"; }
md_set() {
    mkdir -p corpus/md
    { printf 'members '
      for md_n in $(seq "$md_count"); do
          printf %s "$(le 4 "$(wc -c <"$work/member.$md_n")")" | xxd -r -p
          cat "$work/member.$md_n"
          rm "$work/member.$md_n"
      done; } >"corpus/md/$1"
    md_count=0
}
md_count=0
for minor in 0 1 2; do md1 $minor 1 0 0 2 0; md_keep mirror-1.$minor; done
for spec in 'linear 4294967295 0 0' 'raid0 0 0 8' 'raid4 4 0 8' 'raid5 5 2 8' 'raid6 6 16 8' 'near 10 258 8' 'far 10 513 8' 'offset 10 66049 8' 'sets 10 262657 8'; do
    set -- $spec
    for number in 0 1 2 3; do md1 2 "$2" "$3" "$4" 4 $number; md_member; done
    md_set "$1"
done
# Members of several sizes, by the layout that counts from the zone.
for number in 0 1 2; do
    md1 2 0 2 8 3 $number
    put $((4096 + 8)) 00100000; put $((4096 + 136)) "$(le 8 $((24 + number * 16)))"; md_seal 4096; md_member
done
md_set zones
# One was left behind, one is of another opinion, one is being rebuilt.
for number in 0 1 2 3; do
    md1 2 5 2 8 4 $number
    case $number in
        1) put $((4096 + 200)) "$(le 8 3)" ;;
        2) put $((4096 + 88)) "$(le 4 16)" ;;
        3) put $((4096 + 8)) 02000000; put $((4096 + 152)) "$(le 8 8)" ;;
    esac
    md_seal 4096; md_member
done
md_set disagree
# Growing from three to four members.
for number in 0 1 2 3; do
    md1 2 5 2 8 4 $number
    put $((4096 + 8)) 04000000
    put $((4096 + 100)) "$(le 4 5)$(le 8 48)$(le 4 1)$(le 4 2)$(le 4 8)"
    md_seal 4096; md_member
done
md_set reshape
md1 2 5 2 8 4 0; put $((4096 + 8)) 04000000; put $((4096 + 100)) "$(le 4 6)$(le 8 48)000000800000000000000080"; md_seal 4096; md_keep reshape-hostile
md1 2 5 2 8 4 0; put $((4096 + 92)) ffffffff; md_seal 4096; md_keep disks-max
md1 2 5 2 8 4 0; put $((4096 + 88)) ffffffff; put $((4096 + 80)) ffffffffffffffff; md_seal 4096; md_keep chunk-and-size-max
md1 2 0 1 0 4 0; md_keep chunk-0
md1 2 5 2 8 4 0; put $((4096 + 220)) ffffffff; md_keep devices-max
md1 2 5 2 8 4 0; put $((4096 + 128)) ffffffffffffff7fffffffffffffffff; md_seal 4096; md_keep data-beyond
md1 2 5 2 8 4 0; put $((4096 + 160)) ffffffff; md_seal 4096; md_keep number-max
md1 2 5 2 8 4 0; put $((4096 + 216)) 00000000; md_keep checksum-wrong
md1 2 10 65535 8 4 0; md_keep copies-max
# Version 0.90, in both byte orders: a word is put as it is there.
md_word() { if [ "$md_order" = big ]; then put $(($1 * 4)) "$(printf %08x "$2")"; else put $(($1 * 4)) "$(le 4 "$2")"; fi; }
md0() { # LEVEL DISKS NUMBER
    blank 128K
    rm -f "$work/md0"; mv "$image" "$work/md0"; blank 4K
    for md_pair in 0:2838187772 2:90 5:286331153 7:$1 8:32 9:$2 10:$2 13:1 14:2 15:3 33:1 37:0 64:2 65:4096 992:$3 995:$3 996:6; do
        md_word "${md_pair%%:*}" "${md_pair#*:}"
    done
    if [ "$md_order" = big ]; then md_word 40 7; else md_word 39 7; fi
    for md_n in $(seq 0 $(($2 - 1))); do
        md_word $((128 + 32 * md_n)) "$md_n"; md_word $((128 + 32 * md_n + 3)) "$md_n"; md_word $((128 + 32 * md_n + 4)) 6
    done
    md_word 38 "$(md_sum 0 4096 $md_order)"
    dd if="$image" of="$work/md0" bs=1K seek=64 conv=notrunc status=none
    mv "$work/md0" "$image"
}
for md_order in little big; do
    md0 1 2 0; md_keep 0.90-$md_order
    for number in 0 1 2; do md0 5 3 $number; md_member; done
    md_set 0.90-raid5-$md_order
done
