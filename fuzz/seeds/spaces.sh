# Disks of a pool of Storage Spaces, made by tests/makers/spaces.pl from a published description: Windows is the only real
# maker. Each seed is the members of a set, of each what is not zero.

# spaces NAME [OFFSET HEX]…: a seed of the disks that standard input describes, with bytes of the first changed
spaces() {
    rm -rf "$work/spaces"; mkdir -p "$work/spaces" corpus/spaces
    perl ../tests/makers/spaces.pl "$work/spaces"
    seed=$1; shift
    image=$work/spaces/Disk1.img
    while [ $# -gt 0 ]; do put "$1" "$2"; shift 2; done
    perl -e '
        print "members ";
        for my $path (@ARGV) {
            open my $in, "<:raw", $path or die "$path: $!\n";
            local $/;
            my $bytes = <$in>;
            my $packed = "sparse- " . pack("Q<", length $bytes);
            while ($bytes =~ /[^\0](?:\0{0,7}[^\0])*/g) { $packed .= pack("L< S<", $-[0], length $&) . $& }
            print pack("L<", length $packed), $packed;
        }' "$work"/spaces/*.img >"corpus/spaces/$seed"
    image=$work/image
}
mirror='disk Disk1
disk Disk2
space Data size=536870912 resiliency=2 redundancy=1 copies=2
slabs disk=Disk1 physical=3 count=2
slabs disk=Disk2 copy=1 physical=7 count=2'
echo "$mirror" | spaces mirror
(echo 'pool Pool1 record=16'; echo "$mirror") | spaces mirror-older
(echo 'pool Pool1 record=9'; echo "$mirror") | spaces unknown-records
echo 'disk Disk1 database=0' | spaces no-database
printf '%s\n' 'disk Disk1' 'disk Disk2 missing=1' 'space Fast size=1073741824 columns=2 interleave=16 thin=1' 'slabs disk=Disk1 physical=1' \
    'slabs disk=Disk2 column=1 physical=4' 'slabs disk=Disk1 first=2 physical=9' 'slabs disk=Disk2 column=1 first=2 physical=5' | spaces simple
printf '%s\n' 'disk Disk1' 'disk Disk2' 'disk Disk3' 'space Archive size=536870912 resiliency=3 redundancy=1 columns=3 interleave=15' \
    'slabs disk=Disk1' 'slabs disk=Disk2 column=1' 'slabs disk=Disk3 column=2' | spaces parity
printf '%s\n' 'disk Disk1' 'space Tiered columns=2' 'tier SSD' 'tier HDD' 'space Dual resiliency=3 redundancy=2 columns=7' | spaces tiers
echo "$mirror" | spaces header-checksum 100 01
echo "$mirror" | spaces slot-size-max $((4096 + 36)) ffffffff
echo "$mirror" | spaces slot-size-0 $((4096 + 36)) 00000000
echo "$mirror" | spaces slots-2p32 $((4096 + 40)) ffffffff
echo "$mirror" | spaces slot-number $((4096 + 512 + 4)) ffffffff
echo "$mirror" | spaces fragments-endless $((4096 + 512 + 14)) ffff
echo "$mirror" | spaces record-length-max $((4096 + 512 + 16 + 4)) ffffffff
echo "$mirror" | spaces name-length-max $((4096 + 512 + 16 + 8 + 20)) ffff
for limit in columns copies; do
    printf '%s\n' 'disk Disk1' "space Data $limit=18446744073709551615" 'slabs disk=Disk1' | spaces $limit-2p64
done
printf '%s\n' 'disk Disk1' 'space Data columns=2 interleave=255 size=18446744073709551615' 'slabs disk=Disk1' 'slabs disk=Disk1 column=1' | spaces interleave-2p255
for limit in first count physical; do
    printf '%s\n' 'disk Disk1' 'space Data' "slabs disk=Disk1 $limit=18446744073709551615" | spaces slabs-$limit-2p64
done
printf '%s\n' 'disk Disk1' 'space Data' 'slabs disk=Disk1' 'slabs disk=Disk1 physical=5' | spaces slabs-overlap
