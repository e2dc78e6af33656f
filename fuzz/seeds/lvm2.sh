# LVM2: labels, headers and metadata areas put together here, as LVM 2.03 writes them (compared with those of the lab), with
# checksums, around texts of our own. Sizes are small, so that a seed has few bytes.
lvm2_group=GROUPG-GGGG-GGGG-GGGG-GGGG-GGGG-GGGGGG
# lvm2_pv NUMBER [KEY=VALUE...]: the image becomes physical volume NUMBER, with the text in $work/text. Keys: size of the image,
# start of data, area and length of the metadata, at: place of the text in it, sector of the label, in_use, boot, sum: added to
# the checksum of the text, claim: length of the text as it is recorded.
lvm2_pv() {
    perl -e '
        my ($image, $text, $number, @keys) = @ARGV;
        my %o = (size => 4 << 20, start => 1 << 20, area => 4096, length => 1044480, at => 512, sector => 1, in_use => 1,
            boot => 0, sum => 0, areas => 1, extra => "", map { split /=/, $_, 2 } @keys);
        my @table = map { my $c = $_; $c = $c & 1 ? $c >> 1 ^ 0xedb88320 : $c >> 1 for 1 .. 8; $c } 0 .. 255;
        sub crc { my $c = 0xf597a6cf; $c = $table[($c ^ $_) & 255] ^ $c >> 8 for unpack "C*", $_[0]; $c }
        local $/; open my $in, "<:raw", $text or die; my $words = <$in>; close $in;
        my $id = sprintf "PV%030d", $number;
        my $areas = pack("Q<4", $o{start}, 0, 0, 0);
        $areas .= pack("Q<2", $o{area}, $o{length}) x $o{areas} . pack("Q<2", 0, 0);
        $areas .= pack("L<2", 2, $o{in_use}) . ($o{boot} ? pack("Q<2", split /,/, $o{boot}) : "") . pack("Q<2", 0, 0);
        my $rest = pack("L<a8a32Q<", 32, "LVM2 001", $id, $o{size}) . $areas;
        $rest = substr $rest . "\0" x 512, 0, 492;
        my $label = pack("a8Q<L<", "LABELONE", $o{sector}, crc($rest)) . $rest;
        open my $out, "+<:raw", $image or die;
        sub put { seek $out, $_[0], 0; print $out $_[1] }
        put($o{sector} * 512, $label);
        exit unless $o{areas};
        my $claim = $o{claim} // length $words;
        my $where = length $words ? pack("Q<2L<2", $o{at}, $claim, (crc($words) + $o{sum}) & 0xffffffff, 0) : "";
        my $head = substr pack("a16L<Q<2", " LVM2 x[5A%r0N*>", 1, $o{area}, $o{length}) . $where . "\0" x 512, 0, 508;
        put($o{area}, pack("L<", crc($head)) . $head);
        my $first = substr $words, 0, $o{length} - $o{at};
        put($o{area} + $o{at}, $first);
        put($o{area} + 512, substr $words, length $first) if length $first < length $words;
    ' "$image" "$work/text" "$@"
}
# lvm2_text REVISION COUNT [LINE...]: a group of COUNT physical volumes with extents of 64 KiB; the lines describe the logical
# volumes.
lvm2_text() {
    {
        printf 'vg {\nid = "%s"\nseqno = %s\nformat = "lvm2"\nstatus = ["RESIZEABLE", "READ", "WRITE"]\nflags = []\nextent_size = 128\n' $lvm2_group "$1"
        echo 'physical_volumes {'
        number=0
        while [ $number -lt "$2" ]; do
            printf 'pv%s {\nid = "PV0000-0000-0000-0000-0000-0000-%06d"\ndevice = "/dev/sda"\nstatus = ["ALLOCATABLE"]\ndev_size = 8192\npe_start = 2048\npe_count = 48\n}\n' $number $number
            number=$((number + 1))
        done
        printf '}\nlogical_volumes {\n'
        shift 2
        for line; do printf '%s\n' "$line"; done
        printf '}\n}\n# Generated\ncontents = "Text Format Volume Group"\nversion = 1\n'
    } >"$work/text"
}
# lvm2_lv NAME SEGMENT...: a visible volume; a segment is START COUNT TYPE and the rest of it.
lvm2_lv() {
    printf '%s {\nid = "LV"\nstatus = [%s]\nsegment_count = %s\n' "$1" "${lvm2_status-\"READ\", \"VISIBLE\"}" $(($# - 1))
    shift
    number=1
    for segment; do
        set -f; set -- $segment; set +f
        printf 'segment%s {\nstart_extent = %s\nextent_count = %s\ntype = "%s"\n' $number "$1" "$2" "$3"
        shift 3
        printf '%s\n}\n' "$*"
        number=$((number + 1))
    done
    echo '}'
}
lvm2_hidden() { lvm2_status='"READ"' lvm2_lv "$@"; }
linear() { echo "$1 $2 striped stripe_count = 1 stripes = [\"$3\", $4]"; }
# lvm2_keep NAME COUNT [KEY=VALUE...]: a seed of COUNT physical volumes with that text.
lvm2_keep() {
    name=$1 count=$2
    shift 2
    mkdir -p corpus/lvm2
    rm -f "$work"/member.*
    number=0
    while [ $number -lt "$count" ]; do
        blank 4M; lvm2_pv $number "$@"; cp "$image" "$work/member.$number"
        number=$((number + 1))
    done
    lvm2_members "$name" "$work"/member.*
}
lvm2_members() {
    perl -e '
        my ($name, @members) = @ARGV; local $/; binmode STDOUT; my $out = "";
        for (@members) {
            open my $file, "<:raw", $_ or die; my $bytes = <$file>;
            my $kept = "sparse- " . pack "Q<", length $bytes;
            while ($bytes =~ /\G(?:\0{16})*+/gc && $bytes =~ /\G((?:(?!\0{16}).{16}){1,4000})/gcs) { $kept .= pack("L<S<", $-[0], length $1) . $1 }
            $out .= @members > 1 ? pack("L<", length $kept) . $kept : $kept;
        }
        print @members > 1 ? "members $out" : $out;
    ' "$@" >"corpus/lvm2/$1"
}
: >"$work/text"; lvm2_keep orphan 1 in_use=0
lvm2_keep without-metadata 1 areas=0
lvm2_keep many-areas 1 areas=20
lvm2_keep boot-area 1 in_use=0 boot=1048576,65536 start=2097152
lvm2_keep label-in-sector-3 1 sector=3
lvm2_keep area-beyond-the-end 1 area=18446744073709551104
lvm2_keep area-of-2p64 1 length=18446744073709551615
lvm2_text 1 1 "$(lvm2_lv lv "$(linear 0 4 pv0 0)")"
lvm2_keep linear 1
lvm2_keep text-wraps 1 length=2048 at=1800
lvm2_keep checksum-wrong 1 sum=1
lvm2_keep text-of-1-gib 1 claim=1073741824 length=2147483648
lvm2_keep text-beyond-the-area 1 at=1044000 claim=1043000
lvm2_keep text-cut 1 claim=400
lvm2_keep start-differs 1 start=2097152
head -c 300 "$work/text" >"$work/cut"; mv "$work/cut" "$work/text"; lvm2_keep text-ends-early 1
lvm2_text 18446744073709551615 1 "$(lvm2_lv lv "$(linear 0 18446744073709551615 pv0 18446744073709551615)")"
lvm2_keep extents-2p64 1
lvm2_text 1 1 "$(lvm2_lv lv "$(linear 0 40 pv0 0)" "$(linear 20 40 pv0 30)")" "$(lvm2_lv other "$(linear 5 8 pv0 2)")"
lvm2_keep segments-overlap 1
lvm2_text 1 1 "$(lvm2_lv a "$(linear 0 4 b 0)")" "$(lvm2_lv b "$(linear 0 4 c 0)")" "$(lvm2_lv c "$(linear 0 4 a 0)")" "$(lvm2_lv self "$(linear 0 4 self 0)")"
lvm2_keep cycle 1
lvm2_text 1 1 "$(lvm2_lv a "0 4 thin thin_pool = \"b\"")" "$(lvm2_lv b "0 4 thin-pool chunk_size = 384 pool = \"a\" metadata = \"b\"")" "$(lvm2_lv c '0 4 cache origin = "c" cache_pool = "c" chunk_size = 18446744073709551615')" \
    "$(lvm2_lv d '0 4 raid5 device_count = 2 stripe_size = 18446744073709551615 raids = ["d", "d", "a", "a"]')"
lvm2_keep cycle-of-pools 1
lvm2_text 1 1 "$(lvm2_lv lv '0 4 striped stripe_count = 18446744073709551615 stripe_size = 128 stripes = ["pv0", 0]')" "$(lvm2_lv none '0 4 striped stripes = []')" "$(lvm2_lv zero '0 4 striped stripe_size = 0 stripes = ["pv0", 0, "pv0", 2]')" "$(lvm2_lv lost "$(linear 0 4 gone 0)")"
lvm2_keep stripes-that-are-not 1
lvm2_text 1 1 "$(perl -e 'print "a { " x 40')"
lvm2_keep deep 1
lvm2_text 1 1 "$(perl -e 'print "lv$_ { status = [\"VISIBLE\"] segment1 { start_extent = 0 extent_count = 1 type = \"striped\" stripes = [\"pv0\", 0] } }\n" for 1 .. 300')"
lvm2_keep many-volumes 1
lvm2_text 1 1 "$(lvm2_lv lv "$(perl -e 'print "0 2048 striped stripe_count = 1025 stripe_size = 8 stripes = [", join(",", ("\"pv0\", 0") x 1025), "]"')")"
lvm2_keep many-stripes 1
lvm2_text 3 3 "$(lvm2_lv striped '0 6 striped stripe_count = 3 stripe_size = 128 stripes = ["pv0", 0, "pv1", 0, "pv2", 0]' '6 4 striped stripe_count = 2 stripe_size = 32 stripes = ["pv0", 2, "pv1", 2]' "$(linear 10 3 pv2 5)")"
lvm2_keep stripes-of-three 3
lvm2_keep one-of-three 1
images=
for number in 0 1 2; do
    lvm2_hidden r_rimage_$number "$(linear 0 4 pv$number $((20 + number)))"; lvm2_hidden r_rmeta_$number "$(linear 0 1 pv$number 10)"
    images="$images${images:+, }\"r_rmeta_$number\", \"r_rimage_$number\""
done >"$work/images"
for kind in raid1 raid4 raid5 raid5_n raid6_ls_6 raid10; do
    lvm2_text 4 3 "$(cat "$work/images")" "$(lvm2_lv r "0 8 $kind device_count = 3 stripe_size = 32 raids = [$images]")"
    lvm2_keep $kind 3
done
lvm2_text 4 3 "$(cat "$work/images")" "$(lvm2_lv r "0 6 raid5+RESHAPE reshape_count = 1 device_count = 3 stripe_size = 32 raids = [$images]")"
lvm2_keep reshape-without-superblocks 3
blank 4M; lvm2_pv 0
put $((1048576 + 10 * 65536)) "446d526401000000$(le 4 3)$(le 4 0)"; put $((1048576 + 10 * 65536 + 96)) "$(le 8 128)"
cp "$image" "$work/member.0"; lvm2_members reshaped "$work"/member.*
put $((1048576 + 10 * 65536 + 96)) ffffffffffffffff; cp "$image" "$work/member.0"; lvm2_members reshaped-to-2p64 "$work"/member.*
put $((1048576 + 10 * 65536 + 60)) 01000000; cp "$image" "$work/member.0"; lvm2_members reshaping "$work"/member.*
lvm2_text 5 2 "$(lvm2_hidden pool_tdata "$(linear 0 12 pv0 0)")" "$(lvm2_hidden pool_tmeta "$(linear 0 1 pv1 0)")" "$(lvm2_lv pool '0 12 thin-pool metadata = "pool_tmeta" pool = "pool_tdata" chunk_size = 384')" \
    "$(lvm2_lv thin '0 90 thin thin_pool = "pool" device_id = 1')" "$(lvm2_lv origin "$(linear 0 3 pv0 20)")" "$(lvm2_hidden snap "$(linear 0 2 pv0 30)")" \
    "$(lvm2_lv snapshot0 '0 3 snapshot chunk_size = 16 origin = "origin" cow_store = "snap"')" "$(lvm2_hidden c_corig "$(linear 0 3 pv1 5)")" "$(lvm2_hidden fast "$(linear 0 3 pv1 10)")" \
    "$(lvm2_lv c '0 3 cache+CACHE_USES_CACHEVOL cache_pool = "fast" origin = "c_corig" chunk_size = 128 cache_mode = "writeback"')" "$(lvm2_lv moved '0 3 striped stripes = ["pvmove0", 0]')" \
    "$(lvm2_hidden pvmove0 '0 3 mirror mirror_count = 2 mirrors = ["pv0", 40, "pv1", 40]')" "$(lvm2_lv nothing '0 1 error' '1 1 zero')" "$(lvm2_lv strange '0 1 hologram')"
lvm2_keep pools-caches-snapshots 2
cp "$work/member.0" "$work/new.0"
lvm2_text 4 2 "$(lvm2_lv old "$(linear 0 3 pv0 0)")"; blank 4M; lvm2_pv 1; cp "$image" "$work/new.1"; lvm2_members revisions-differ "$work"/new.0 "$work"/new.1
