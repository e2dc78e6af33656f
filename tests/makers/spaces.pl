#!/usr/bin/perl
# Makes the heads of disks of a pool of Windows' Storage Spaces, for tests: header and database, without slabs, which begin
# at 512 MiB. Needs nothing but perl-base.
#
#   perl spaces.pl DIRECTORY < DESCRIPTION
#
# writes DIRECTORY/NAME.img for each disk, 64 KiB as they stand at the beginning of the pool's partition. The description:
#
#   pool NAME [guid=…] [sequence=5] [record=17]
#   disk NAME [guid=…] [missing=1] [database=0]
#   space NAME size=BYTES [resiliency=1] [redundancy=0] [copies=1] [columns=1] [interleave=18] [thin=0] [role=2]
#   slabs disk=NAME [first=0] [count=1] [column=0] [copy=0] [physical=0] [stale=4294967295]
#   tier NAME
#
# `slabs` and `tier` belong to the space before them. What is written follows the description of the format in the project
# ms-storage-spaces-linux (docs/storage-spaces-format.md), of which it takes facts; what that leaves unknown is zero.
use strict;
use warnings;
no warnings 'portable'; # 64-bit constants

my ($directory) = @ARGV;
defined $directory or die "perl spaces.pl DIRECTORY < DESCRIPTION\n";
my %pool = (name => 'Pool1', guid => '9001c0de-0000-4000-8000-000000000001', sequence => 5, record => 17);
my (@disks, @spaces, %disk);
while (my $line = <STDIN>) {
    $line =~ s/#.*//;
    my ($what, @words) = split ' ', $line;
    defined $what or next;
    my %is;
    for my $word (@words) {
        if ($word =~ /^(\w+)=(.*)$/) { $is{$1} = $2 } else { $is{name} = $word }
    }
    if ($what eq 'pool') { %pool = (%pool, %is) }
    elsif ($what eq 'disk') {
        my $this = {id => 1 + @disks, guid => sprintf('d15c0000-0000-4000-8000-%012x', 1 + @disks), %is};
        push @disks, $this;
        $disk{$this->{name}} = $this;
    }
    elsif ($what eq 'space') {
        push @spaces, {id => 100 + @spaces, size => 268435456, resiliency => 1, redundancy => 0, copies => 1, columns => 1,
            interleave => 18, thin => 0, role => 2, slabs => [], tiers => [], %is};
    }
    elsif ($what eq 'slabs') { push @{$spaces[-1]{slabs}}, {first => 0, count => 1, column => 0, copy => 0, physical => 0, stale => 0xffffffff, %is} }
    elsif ($what eq 'tier') { push @{$spaces[-1]{tiers}}, {id => 200 + @spaces, %is} }
    else { die "what is a $what?\n" }
}

sub number {
    my ($n) = @_;
    my $raw = pack 'Q>', $n;
    $raw =~ s/^\0+//;
    return pack('C', length $raw) . $raw;
}
sub text { my $raw = join '', map { pack 'n', ord } split(//, $_[0]), "\0"; return pack('n', length($raw) / 2) . $raw }
sub guid { my $hex = $_[0]; $hex =~ s/-//g; return pack 'H*', $hex }
sub record { my ($type, $version, $body) = @_; return pack('C C x2 N', $type, $version, length $body) . $body }
my @crc = map { my $c = $_; $c = $c & 1 ? 0xedb88320 ^ ($c >> 1) : $c >> 1 for 1 .. 8; $c } 0 .. 255;
sub seal { # The checksum of the first 512 bytes, high byte first.
    my ($bytes) = @_;
    my $c = 0xffffffff;
    $c = $crc[($c ^ $_) & 0xff] ^ ($c >> 8) for unpack 'C*', substr $bytes, 0, 512;
    substr($bytes, 12, 4) = pack 'N', $c ^ 0xffffffff;
    return $bytes;
}

my $now = number($pool{sequence});
my @records = (record(1, 1, number(1) . $now . guid($pool{guid}) . text($pool{name}) . text('') . number(0) . pack('n C C', 29, 9, 12)));
push @records, record(2, 1, number($_->{id}) . $now . guid($_->{guid}) . text($_->{name}) . text('') . pack('C C C', 0, 2, 1)) for @disks;
my $prefix = $pool{record} == 17 ? pack('H*', '0100010000') : pack('H*', '01010000');
for my $s (@spaces) {
    my $policy = pack('C', $s->{resiliency}) . number($s->{redundancy}) . number($s->{copies}) . number(1) . number($s->{columns})
        . pack('C', $s->{interleave});
    push @records, record(3, $pool{record}, number($s->{id}) . $now . guid(sprintf '5bace000-0000-4000-8000-%012x', $s->{id})
        . text($s->{name}) . text('') . pack('C C C', 0, 0, $s->{role}) . number($s->{size}) . number(0) . pack('C', $s->{thin} ? 1 : 2)
        . number(268435456) . pack('C', 0) . $prefix . $policy . number(0) x 4 . pack('C', 0) . number(1) . number(0));
    push @records, record(6, $pool{record} == 17 ? 5 : 16, number($_->{id}) . $now . guid($pool{guid}) . text($_->{name}) . text('')
        . pack('C C C', 0, 0, 0) . pack('C', 2) . number(268435456) . pack('C', 2) . $prefix . $policy . number(0) . number($s->{id}))
        for @{$s->{tiers}};
    for my $e (@{$s->{slabs}}) {
        my $on = $disk{$e->{disk}} or die "no disk $e->{disk}\n";
        push @records, record(4, 1, number(0) . $now . number(0) . pack('C', 0)
            . join '', map { number($_) } $e->{count}, $s->{id}, $e->{first}, $e->{column}, $e->{copy}, $e->{stale}, $on->{id}, $e->{physical});
    }
}

my $slots = '';
my $slot = 8;
for my $record (@records) {
    my @pieces = unpack '(a48)*', $record;
    my $number = $slot;
    $slots .= pack 'a4 N N n n a48', 'SDBB', $slot++, $number, $_, scalar @pieces, $pieces[$_] for 0 .. $#pieces;
}
$slots .= pack 'a4 N N n n a48', 'SDBB', $slot++, 0, 0, 0, '';
my $head = pack 'a8 x4 N a16 x4 N N x12 Q> Q> x432', 'SDBC    ', 0, guid($pool{guid}), 64, $slot, $pool{sequence}, $pool{sequence};
my $database = seal($head . "\0" x (512 - length $head)) . $slots;

for my $d (@disks) {
    next if $d->{missing};
    open my $out, '>:raw', "$directory/$d->{name}.img" or die "$directory: $!\n";
    my $header = pack 'a8 n n N x8 Q> a16 a16', 'SPACEDB ', 3, 0x200, 0, 0x01d8000000000000, guid($pool{guid}), guid($d->{guid});
    my $bytes = seal($header . "\0" x (4096 - length $header));
    $bytes .= $database unless defined $d->{database} && !$d->{database};
    print {$out} $bytes . "\0" x (65536 - length $bytes);
}
