# Dynamic disks, made by tests/makers/ldm.pl from published descriptions: Windows is the only real maker.

# ldm_pack IMAGE…: the members of a set, of each what is not zero
ldm_pack() {
    perl -e '
        print "members ";
        for my $path (@ARGV) {
            open my $in, "<:raw", $path or die "$path: $!\n";
            local $/;
            my $bytes = <$in>;
            my $seed = "sparse- " . pack("Q<", length $bytes);
            while ($bytes =~ /[^\0](?:\0{0,7}[^\0])*/g) {
                my ($at, $piece) = ($-[0], $&);
                while (length $piece) {
                    my $part = substr $piece, 0, 60000, "";
                    $seed .= pack("L< S<", $at, length $part) . $part;
                    $at += length $part;
                }
            }
            print pack("L<", length $seed), $seed;
        }' "$@"
}
# ldm NAME [OFFSET HEX]…: a seed of the disks that standard input describes, with bytes of the first changed
ldm() {
    rm -rf "$work/ldm"; mkdir "$work/ldm" corpus/ldm 2>/dev/null || mkdir -p "$work/ldm"
    perl ../tests/makers/ldm.pl "$work/ldm"
    seed=$1; shift
    image=$work/ldm/Disk1.img
    while [ $# -gt 0 ]; do put "$1" "$2"; shift 2; done
    ldm_pack "$work"/ldm/*.img >"corpus/ldm/$seed"
    image=$work/image
}
ldm_config() { sed 's/size=\(16384\|20480\|40960\)\b/size=16384/; s/^\(disk .*\)size=[0-9]*/\1size=16384/' "../tests/makers/ldm/$1.txt"; }
for name in simple-63 simple-gpt spanned-3 spanned-back-and-forth striped-3 striped-mixed mirror-2 raid5-4 long-records records-backwards raid5-without-2; do
    ldm_config $name | ldm $name
done

one='disk Disk1 size=8192
volume Volume1 size=4096 hint=D:
component kind=spanned
part disk=Disk1 start=0 size=4096'
database=$(((8192 - 2048) * 512))
vmdb=$((database + 17 * 512))
ldm_one() { echo "$one" | ldm "$@"; }
ldm_one header-lost $((6 * 512)) 00
ldm_one header-elsewhere $((6 * 512 + 0x12b)) ffffffffffffffff
ldm_one header-data-max $((6 * 512 + 0x11b)) ffffffffffffffffffffffffffffffff
ldm_one header-config-size-max $((6 * 512 + 0x133)) ffffffffffffffff
ldm_one contents-elsewhere $((database + 512 + 0x2e)) ffffffffffffffff $((database + 1024 + 0x2e)) ffffffffffffffff
ldm_one last-block-max $((vmdb + 4)) ffffffff
ldm_one block-size-max $((vmdb + 8)) ffffffff
ldm_one block-size-0 $((vmdb + 8)) 00000000
ldm_one block-size-32 $((vmdb + 8)) 00000020
ldm_one first-block-max $((vmdb + 12)) ffffffff
ldm_one counts-max $((vmdb + 0x85)) ffffffffffffffffffffffffffffffff
ldm_one unfinished $((vmdb + 0x10)) 0002
ldm_one pieces-endless $((vmdb + 512 + 14)) ffff
ldm_one pieces-one-missing $((vmdb + 512 + 14)) 0002
ldm_one record-length-max $((vmdb + 512 + 2 * 128 + 16 + 4)) ffffffff
ldm_one record-number-255 $((vmdb + 512 + 2 * 128 + 24)) ff
echo "$one" | sed 's/^\(volume.*\)size=4096/\1size=18446744073709551615/' | ldm volume-2p64
echo "$one" | sed 's/start=0/start=18446744073709551615/' | ldm part-start-2p64
echo "$one" | sed 's/start=0 size=4096/start=0 size=18446744073709551615/' | ldm part-size-2p64
printf '%s\n' "$one" 'volume Volume2 size=4096' 'component kind=spanned' 'part disk=Disk1 start=1 size=4096' | ldm parts-overlap
printf '%s\n' 'disk Disk1 size=8192' 'volume Volume1 size=1024' 'component kind=striped stripe=128 columns=4294967295' \
    'part disk=Disk1 start=0 size=1024 index=4294967295' 'part disk=Disk1 start=1024 size=1024 index=0' | ldm columns-2p32
printf '%s\n' 'disk Disk1 size=8192' 'volume Volume1 size=1024' 'component kind=raid stripe=18446744073709551615 columns=3' \
    'part disk=Disk1 start=0 size=1024 index=0' 'part disk=Disk1 start=1024 size=1024 index=1' 'part disk=Disk1 start=2048 size=1024 index=2' | ldm stripe-2p64
printf '%s\n' 'disk Disk1 size=8192' 'volume Volume1 size=1024' 'component kind=spanned' 'part disk=Disk1 start=0 size=1024 offset=18446744073709551615' \
    'part disk=Disk1 start=1024 size=1024 offset=5' | ldm offset-2p64
# Column parts and spanned copies: layers between.
printf '%s\n' 'disk Disk1 size=8192' 'disk Disk2 size=8192' 'volume Stripe1 size=4096' 'component kind=striped stripe=128 columns=2' \
    'part disk=Disk1 start=0 size=1024 index=0' 'part disk=Disk1 start=4096 size=1024 offset=1024 index=0' 'part disk=Disk2 start=0 size=2048 index=1' \
    'volume Mirror1 size=1024' 'component kind=spanned' 'part disk=Disk1 start=2048 size=512' 'part disk=Disk1 start=3072 size=512 offset=512 index=1' \
    'component kind=spanned' 'part disk=Disk2 start=2048 size=1024' | ldm layers-between
