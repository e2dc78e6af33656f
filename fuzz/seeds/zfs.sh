# ZFS: labels built here, because four of them and their rings are 1 MiB, of which a seed holds what is not zero; most have
# only the first. The checksum of every configuration and of one uberblock in each ring is right unless the name says otherwise.
mkdir -p corpus/zfs
perl -MDigest::SHA=sha256 -e '
    sub pair {
        my ($name, $kind, $count, $value) = @_;
        my $body = pack("N", length $name) . $name . "\0" x (-length($name) % 4) . pack("NN", $kind, $count) . $value;
        return pack("NN", 8 + length $body, 64) . $body;
    }
    sub num { my ($name, $n) = @_; return pair($name, 8, 1, pack("Q>", $n)) }
    sub txt { my ($name, $t) = @_; return pair($name, 9, 1, pack("N", length $t) . $t . "\0" x (-length($t) % 4)) }
    sub list { return pack("NN", 0, 1) . join("", @_) . "\0" x 8 }
    sub tree { my $name = shift; return pair($name, 19, 1, list(@_)) }
    sub children { return pair("children", 20, scalar @_, join "", map { list(@$_) } @_) }
    sub numbers { my $name = shift; return pair($name, 16, scalar @_, pack("N", scalar @_) . pack("Q>*", @_)) }
    sub sealed {
        my ($bytes, $at) = @_;
        my $seal = pack("Q<", 0x0210da7ab10c7a11);
        my $own = substr($bytes, 0, -40) . $seal . pack("Q<", $at) . "\0" x 24;
        return substr($own, 0, -32) . pack("Q<4", unpack "Q>4", sha256 $own);
    }
    # A device with the configuration in the labels of the numbers given.
    sub device {
        my ($config, $shift, @labels) = @_;
        my $image = "\0" x (1 << 20);
        $shift ||= 12;
        @labels = (0) unless @labels;
        for my $label (@labels) {
            my $at = $label * 262144 + 16384;
            my $area = $config . "\0" x (114688 - length $config);
            substr($image, $at, 114688) = sealed($area, $at);
            my $step = 1 << ($shift < 10 ? 10 : $shift > 13 ? 13 : $shift);
            my $slot = $label * 262144 + 131072 + 4 * $step;
            my $uberblock = pack("Q<5", 0xbab10c, 5000, 77, 1, 1700000000);
            substr($image, $slot, $step) = sealed($uberblock . "\0" x ($step - length $uberblock), $slot);
        }
        return $image;
    }
    sub sparse {
        my $bytes = shift;
        my $out = "sparse- " . pack("Q<", length $bytes);
        for (my $at = 0; $at < length $bytes; $at += 512) {
            my $piece = substr $bytes, $at, 512;
            $piece =~ s/\0+\z//;
            $out .= pack("VS<", $at, length $piece) . $piece if length $piece;
        }
        return $out;
    }
    sub keep {
        my ($name, @members) = @_;
        open my $file, ">:raw", "corpus/zfs/$name" or die $!;
        my @packed = map { sparse($_) } @members;
        print $file @packed == 1 ? $packed[0] : "members " . join "", map { pack("V", length) . $_ } @packed;
    }
    # Configuration of a leaf: its GUID, the top-level vdev, more pairs.
    sub config {
        my ($guid, $top, @more) = @_;
        return pack("C4", 1, 1, 0, 0)
            . list(num("version", 5000), txt("name", "tank"), num("state", 0), num("txg", 9), num("pool_guid", 1000),
                num("top_guid", 100), num("guid", $guid), num("vdev_children", 1), @more, $top);
    }
    sub leaf { my ($id, $guid, @more) = @_; return [txt("type", "disk"), num("id", $id), num("guid", $guid), txt("path", "/dev/sd$id"), @more] }
    sub top {
        my ($kind, $ashift, @more) = @_;
        return tree("vdev_tree", txt("type", $kind), num("id", 0), num("guid", 100), num("metaslab_array", 34), num("metaslab_shift", 29),
            num("ashift", $ashift), num("asize", 1 << 40), num("is_log", 0), num("create_txg", 4), @more);
    }
    sub group {
        my ($kind, $ashift, $count, @more) = @_;
        return top($kind, $ashift, @more, children(map { leaf($_, 200 + $_) } 0 .. $count - 1));
    }
    sub devices { my ($top, $shift, @which) = @_; return map { device(config(200 + $_, $top), $shift) } @which }

    my $disk = tree("vdev_tree", txt("type", "disk"), num("id", 0), num("guid", 200), txt("path", "/dev/sda1"), num("whole_disk", 1),
        num("metaslab_shift", 29), num("ashift", 12), num("asize", 1 << 30));
    keep("disk", device(config(200, $disk), 12, 0 .. 3));
    keep("mirror", devices(group("mirror", 9, 2), 9, 0, 1));
    keep("raidz1-one-missing", devices(group("raidz", 12, 4, num("nparity", 1)), 12, 0, 2, 3));
    keep("raidz3-one-given", devices(group("raidz", 13, 7, num("nparity", 3)), 13, 5));
    keep("raidz2-expanding", devices(group("raidz", 12, 5, num("nparity", 2), pair("raidz_expanding", 1, 0, "")), 12, 0, 1, 2, 3, 4));
    keep("draid", devices(group("draid", 12, 6, num("nparity", 1), num("draid_ndata", 4), num("draid_nspares", 1), num("draid_ngroups", 5)), 12, 0 .. 5));
    my $log = tree("vdev_tree", txt("type", "disk"), num("id", 1), num("guid", 300), num("ashift", 9), num("asize", 1 << 30), num("is_log", 1));
    keep("log-and-disk", device(config(200, $disk, num("vdev_children", 2))), device(config(300, $log), 9));
    keep("replacing", map { device(config($_, top("mirror", 12, children(leaf(0, 200),
        [txt("type", "replacing"), num("id", 1), num("guid", 400), children(leaf(0, 201), leaf(1, 202))])))) } 200, 201, 202);
    keep("spare", device(pack("C4", 1, 1, 0, 0) . list(num("version", 5000), num("state", 3), num("guid", 7))));
    keep("cache", device(pack("C4", 1, 1, 0, 0) . list(num("version", 5000), num("state", 4), num("guid", 8))));
    keep("features-and-holes", device(config(200, $disk, numbers("hole_array", 1, 2),
        tree("features_for_read", pair("com.delphix:hole_birth", 1, 0, ""), pair("com.delphix:embedded_data", 1, 0, "")))));
    keep("destroyed", device(pack("C4", 1, 0, 0, 0) . list(num("version", 23), txt("name", "old"), num("state", 2), num("txg", 9), num("pool_guid", 1000),
        num("guid", 200), num("vdev_children", 1), $disk)));
    keep("labels-at-the-end-only", device(config(200, $disk), 12, 2, 3));
    my $mixed = device(config(200, $disk), 12, 0 .. 3);
    substr($mixed, 262144, 262144) = substr(device(config(999, $disk), 12, 0 .. 3), 262144, 262144);
    keep("labels-differ", $mixed);
    my $wrong = device(config(200, $disk));
    substr($wrong, 16384 + 60, 1) = "x";
    keep("checksum-wrong", $wrong);

    my $deep = list();
    $deep = list(pair("x", 19, 1, $deep)) for 1 .. 60;
    keep("deep", device(pack("C4", 1, 1, 0, 0) . $deep));
    my $nested = [txt("type", "mirror"), num("guid", 1)];
    $nested = [txt("type", "mirror"), num("guid", $_), children($nested, $nested)] for 2 .. 7;
    keep("tree-of-mirrors", device(config(200, top("mirror", 12, children($nested)))));
    keep("count-max", device(config(200, pair("vdev_tree", 20, 4294967295, list()))));
    keep("text-length-max", device(config(200, pair("name", 9, 1, pack("N", 4294967295) . "tank"))));
    keep("numbers-count-max", device(config(200, pair("hole_array", 16, 4294967295, pack("N", 4294967295)))));
    keep("pair-length-0", device(pack("C4", 1, 1, 0, 0) . pack("NN", 0, 1) . pack("NN", 0, 64) . "\0" x 64));
    keep("ashift-max", device(config(200, top("disk", 18446744073709551615))));
    keep("ashift-18", device(config(200, top("disk", 18)), 18));
    keep("sizes-max", device(config(200, tree("vdev_tree", txt("type", "raidz"), num("nparity", 18446744073709551615), num("ashift", 30),
        num("asize", 18446744073709551615), num("metaslab_shift", 18446744073709551615), children(leaf(0, 200), leaf(0, 200))))));
    keep("children-max", device(config(200, $disk, num("vdev_children", 18446744073709551615))));
    keep("one-device-often", device(config(200, top("raidz", 12, num("nparity", 1), children(map { [num("guid", 200)] } 1 .. 40)))));
    keep("name-with-escape", device(config(200, $disk, txt("name", "\e[2J\0tank"))));
    keep("end-not-found", device(config(200, pack("NN", 200000, 64) . pack("N", 1) . "x\0\0\0" . pack("NN", 10, 4))));
'
