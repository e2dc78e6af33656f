# Firmware RAID, DDF: members made by tests/makers/firmware-raid.pl, whose description stands before each seed. Hostile ones
# have bytes put in afterwards; their CRCs are then wrong, which is told and not believed.
# firmware_seed TARGET NAME DISK...: the members become a seed.
firmware_seed() {
    target=$1 name=$2
    shift 2
    mkdir -p "corpus/$target"
    perl -e '
        print "members ";
        for my $path (@ARGV) {
            local $/;
            open my $in, "<:raw", $path or die "$path: $!";
            my $bytes = <$in>;
            my $seed = "sparse- " . pack "Q<", length $bytes;
            while ($bytes =~ /([^\0](?:\0{0,7}[^\0])*)/g) {
                my ($at, $run) = ($-[0], $1);
                while (length $run) {
                    my $piece = substr $run, 0, 65535, "";
                    $seed .= pack("L<S<", $at, length $piece) . $piece;
                    $at += length $piece;
                }
            }
            print pack("L<", length $seed), $seed;
        }' $(for disk; do echo "$work/firmware/$disk.img"; done) >"corpus/$target/$name"
}
# firmware LINE...: makes disks.
firmware() {
    rm -rf "$work/firmware"
    mkdir "$work/firmware"
    printf '%s\n' "$@" | perl ../tests/makers/firmware-raid.pl "$work/firmware"
}
ddf() { firmware 'set ddf' 'disk a size=96' 'disk b size=96' 'disk c size=96' 'disk d size=96' "$@"; }
ddf 'volume v level=5 qualifier=3 strip=8 used=32 disks=a,b,c' 'volume w level=0 strip=2 used=16 start=32 disks=c,a,b,d'
firmware_seed ddf raid5-raid0 a b c d
firmware_seed ddf one-member b
ddf 'volume v level=6 qualifier=2 strip=8 used=32 disks=d,c,b,a state=17' 'volume m level=1 strip=8 used=16 start=32 disks=a,b'
firmware_seed ddf raid6-raid1 d b
ddf 'volume v level=5 qualifier=2 parts=a,b/c,d strip=4 used=32 secondary=0' 'volume x level=1 parts=a,b/c,d strip=4 used=16 start=32 secondary=3'
firmware_seed ddf spans a b c d
firmware_seed ddf span-missing a b
ddf 'volume v level=31 strip=8 used=32 disks=b,a' 'volume e level=17 qualifier=1 strip=8 used=16 start=32 disks=a,b,c'
firmware_seed ddf concatenated-1e a b c
firmware 'set ddf sector=4096' 'disk a size=64' 'disk b size=64' 'volume v level=0 strip=2 used=16 disks=b,a'
firmware_seed ddf blocks-4096 a b
# The headers stand 32 sectors before the end (byte 32768), the configuration records 7 sectors further.
ddf 'volume v level=0 strip=8 used=4611686018427387904 start=9223372036854775807 disks=a,b'; firmware_seed ddf starts-2p63 a b
for count in ffff 0000 1000; do
    ddf 'volume v level=5 qualifier=3 strip=8 used=32 disks=a,b' "put a $((36352 + 64)) $count"; firmware_seed ddf elements-$count a b
done
ddf 'volume v level=5 qualifier=3 strip=8 used=32 disks=a,b' "put a $((36352 + 66)) ff" "put b $((36352 + 66)) ff"; firmware_seed ddf stripe-2p255 a b
ddf 'volume v level=5 qualifier=3 strip=8 used=32 disks=a,b' "put a $((36352 + 69)) ffff" "put b $((36352 + 69)) ff00"; firmware_seed ddf secondary-255 a b
ddf 'volume v level=1 strip=8 used=32 disks=a,b' "put a $((32768 + 134)) ffff"; firmware_seed ddf record-length-65535 a
ddf 'volume v level=1 strip=8 used=32 disks=a,b' "put a $((32768 + 134)) 0000"; firmware_seed ddf record-length-0 a
ddf 'volume v level=1 strip=8 used=32 disks=a,b' "put a $((32768 + 192)) ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"; firmware_seed ddf sections-max a b
ddf 'volume v level=1 strip=8 used=32 disks=a,b' "put a $((32768 + 208)) 00000000ffffffff00000000ffffffff"; firmware_seed ddf sections-on-the-header a
ddf 'volume v level=1 strip=8 used=32 disks=a,b' "put a -416 ffffffffffffff00"; firmware_seed ddf primary-beyond a
ddf 'volume v level=1 strip=8 used=32 disks=a,b' "put a -416 000000000000005f000000000000005f"; firmware_seed ddf headers-are-the-anchor a
