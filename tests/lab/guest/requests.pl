# Direct requests, one after the other: requests.pl DEVICE read|write SIZE STEP COUNT sequential|random: COUNT requests of SIZE
# bytes at multiples of STEP, in order or in a random order that is the same each time.
use strict;
use warnings;
use Fcntl qw(O_RDONLY O_WRONLY SEEK_SET);

my ($device, $access, $size, $step, $count, $order) = @ARGV;
my $direct = 040000; # O_DIRECT
sysopen my $file, $device, ($access eq "read" ? O_RDONLY : O_WRONLY) | $direct or die "$device: $!";
# A part of the buffer that begins at a page.
my $buffer = "\xa5" x ($size + 8192);
my $skip = -unpack("J", pack "P", $buffer) % 4096;
my @places = map { $_ * $step } 0 .. $count - 1;
if ($order eq "random") {
    srand 1;
    for (my $i = $#places; $i > 0; $i--) {
        my $j = int rand $i + 1;
        @places[$i, $j] = @places[$j, $i];
    }
}
for my $place (@places) {
    sysseek $file, $place, SEEK_SET or die "$device: $!";
    my $done = $access eq "read" ? sysread($file, $buffer, $size, $skip) : syswrite($file, $buffer, $size, $skip);
    ($done // -1) == $size or die "$access of $size at $place: $!";
}
