# Which sectors of the disks named differ from the copies that `remember` made of them: `NAME START+LENGTH` for each run.
# What lies within a line `NAME START END` of $BESIDES is left out.
use strict;
use warnings;

my @besides = map { [split] } split /\n/, $ENV{BESIDES} // "";
for my $disk (@ARGV) {
    my ($name) = $disk =~ m{([^/]+)$};
    my ($at, $begin, $end) = (0, 0, 0);
    my $put = sub {
        return if $begin == $end;
        my $left_out = grep { $_->[0] eq $name && $begin >= $_->[1] && $end <= $_->[2] } @besides;
        printf "%s %d+%d\n", $name, $begin, $end - $begin unless $left_out;
    };
    open my $now, "<:raw", $disk or die "$disk: $!";
    open my $before, "<:raw", "/tmp/before/$name" or die "/tmp/before/$name: $!";
    while (my $read = sysread $now, my $new, 1 << 16) {
        (sysread $before, my $old, $read) == $read or die "$disk has grown";
        next if $new eq $old;
        for (my $sector = 0; $sector < $read; $sector += 512) {
            next if substr($new, $sector, 512) eq substr($old, $sector, 512);
            my $here = $at + $sector;
            if ($here != $end) { $put->(); $begin = $here }
            $end = $here + 512;
        }
    } continue {
        $at += $read;
    }
    $put->();
}
