# VMFS, from the published structures: the device's part of a volume, and the filesystem's header in it.
mkdir -p corpus/vmfs
perl -e '
    sub device {
        my %o = (lvm => 5, device => 1, devices => 1, first => 0, count => 4, data => 0x1100000, block => 1 << 20, sub => 8192,
            major => 14, minor => 61, magic => 0x2fabf15e, align => 4096, @_);
        my %pieces;
        my $uuid = sub { pack("C16", 0x3c, 0x1b, 0x2a, 0x4f, 0x80, 0x7f, 0x6e, 0x5d, $_[0], 0x9a, 0, 0x11, 0x22, 0x33, 0x44, 0x55) };
        my $head = pack("VV", 0xc001d00d, $o{lvm}) . "\0" x 82 . pack("VQ<VV", 512, 20 << 20, 1, $o{count});
        $head .= "\0" x (0x7a - length $head) . pack("Q<", $o{data}) . $uuid->($o{device});
        $head .= "\0" x (0xca - length $head) . pack("V", $o{lvm} == 6 ? $o{align} : 0);
        my $volume = pack("Q<", $o{count} << 28) . "\0" x 0x4c . $uuid->(0) . pack("V", 1) . "\0" x 12;
        $volume .= pack("VQ<Q<Q<V", $o{count}, $o{first}, $o{first} + $o{count} - 1, 0, $o{devices});
        $pieces{1 << 20} = $head;
        $pieces{(1 << 20) + ($o{lvm} == 6 ? $o{align} : 512)} = $volume;
        if ($o{first} == 0 && $o{data} < 1 << 30) {
            my $fs = pack("VVC", $o{magic}, $o{major}, $o{minor}) . $uuid->(255) . pack("V", 0) . pack("a128", "datastore1");
            $fs .= pack("VQ<VV", 512, $o{block}, 0, 0) . $uuid->(0) . "\0" x 16 . pack("VVV", 0, 0, $o{sub});
            $pieces{$o{data} + (2 << 20)} = $fs;
        }
        my $out = "sparse- " . pack("Q<", $o{size} || 10 << 20);
        $out .= pack("VS<", $_, length $pieces{$_}) . $pieces{$_} for sort { $a <=> $b } keys %pieces;
        return $out;
    }
    sub keep {
        my ($name, @members) = @_;
        open my $file, ">:raw", "corpus/vmfs/$name" or die $!;
        print $file @members == 1 ? $members[0] : "members " . join "", map { pack("V", length) . $_ } @members;
    }
    # Seeds unpack to 16 MiB at most, so that data start at 4 MiB where a header is to be found.
    my @near = (data => 4 << 20);
    keep("vmfs3", device(@near, lvm => 3, major => 13, minor => 46, block => 8 << 20, sub => 65536));
    keep("vmfs5", device(@near));
    keep("vmfs5-upgraded", device(@near, block => 2 << 20, sub => 65536));
    keep("vmfs6", device(@near, lvm => 6, major => 24, minor => 82, sub => 65536));
    keep("vmfs-l", device(@near, lvm => 6, magic => 0x2fabf15f));
    keep("usual-data-start", device());
    keep("three-devices", device(@near, devices => 3), device(device => 2, devices => 3, first => 4), device(device => 3, devices => 3, first => 8));
    keep("first-missing", device(device => 2, devices => 2, first => 4));
    keep("same-extents-twice", device(@near, devices => 2), device(@near, device => 2, devices => 2));
    keep("extents-max", device(@near, first => 18446744073709551614, count => 4294967295));
    keep("extents-0", device(@near, count => 0));
    keep("devices-max", device(@near, devices => 4294967295));
    keep("data-start-max", device(data => 18446744073709551615));
    keep("alignment-0", device(@near, lvm => 6, align => 512));
    keep("block-0", device(@near, block => 0));
    keep("block-max", device(@near, block => 18446744073709551615));
'
