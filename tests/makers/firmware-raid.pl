#!/usr/bin/perl
# Makes disks with the metadata of firmware RAID, for tests: what mdadm makes only with a kernel, or not at all (spans,
# secondary levels, a migration under way, any strip size or start, 4K sectors, metadata that disagree). Needs nothing but
# perl-base.
#
#   perl firmware-raid.pl DIRECTORY < DESCRIPTION
#
# writes DIRECTORY/NAME.img for each disk that is not missing. The description has a line for each thing; sizes, starts and
# strips are in sectors:
#
#   set imsm|ddf [sector=512] [family=0a0b0c0d] [generation=3]
#   disk NAME size=… [serial=…] [state=N] [missing=1] [generation=…] [break=OFFSET]
#   volume NAME level=… disks=a,b,c [strip=128] [start=0] [used=…] [size=…] [state=N] …
#     imsm: [migrate=TYPE] [was=LEVEL:STRIP:DISK,DISK,…] [was-state=N] [dirty=1] [failed=N] [stale=SLOT]
#     ddf:  [qualifier=0] [init=2] [secondary=LEVEL] [parts=a,b/c,d] [block=512] [starts=0,8,…]
#   put DISK OFFSET HEX     bytes of a disk, after everything else and without correcting a checksum
#
# `disks` are those of the slots in order. `break` flips a byte of the metadata. With `parts` a virtual disk consists of
# basic ones, one for each list between slashes. The first sector of each volume is written where its level has it, and says
# `volume NAME`, for levels without parity before the first data; tests that need more write through maps of their own.
#
# What is written follows published descriptions, of which it takes facts. IMSM: the structures and offsets that mdadm
# documents in super-intel.c; the MPB's first sector is the last but one, the rest stands before it; all numbers low byte
# first; the checksum is the sum of all other words. DDF: SNIA, Common RAID Disk Data Format Specification 1.2; all
# numbers high byte first; CRC-32 with 0xffffffff in its own place, from zero and not inverted, as mdadm has it.
#
#   DDF, blocks from the primary header   0 header, 1 controller, 2 physical disks (2), 4 virtual disks (2),
#                                         6 this disk, 7 configuration records, and the anchor in the last block
use strict;
use warnings;
no warnings 'portable'; # 64-bit constants

my ($directory) = @ARGV;
defined $directory or die "perl firmware-raid.pl DIRECTORY < DESCRIPTION\n";

my (%set, @disks, %disk, @volumes, @puts);
while (my $line = <STDIN>) {
    $line =~ s/#.*//;
    my ($what, $name, @words) = split ' ', $line;
    defined $what or next;
    if ($what eq 'put') {
        push @puts, [$name, @words];
        next;
    }
    my %it = (name => $name);
    for (@words) { /^([a-z-]+)=(.*)$/ or die "line $.: $_\n"; $it{$1} = $2; }
    if ($what eq 'set') { %set = (sector => 512, family => '0a0b0c0d', generation => 3, %it, kind => $name); }
    elsif ($what eq 'disk') { $it{number} = @disks; $it{bytes} = {}; push @disks, \%it; $disk{$name} = \%it; }
    elsif ($what eq 'volume') { push @volumes, { strip => 128, start => 0, state => 0, %it }; }
    else { die "line $.: $what\n"; }
}
my $sector = $set{sector};

# put_at DISK OFFSET BYTES: notes what is written.
sub put_at { my ($disk, $at, $bytes) = @_; $disk->{bytes}{$at} = $bytes; }
sub slots { map { $disk{$_} or die "no disk $_\n" } split /,/, $_[0]; }

# --- IMSM ---

sub imsm_map {
    my ($v, $level, $strip, $state, @slots) = @_;
    my $data = $level == 0 ? @slots : $level == 5 ? @slots - 1 : 1;
    $data = @slots / 2 if $level == 10 || ($level == 1 && @slots > 2);
    my $stripes = int($v->{used} / ($strip || 1));
    my $failed = defined $v->{failed} ? $v->{failed} : 255;
    my @entries = map { $_->{number} } @slots;
    $entries[$v->{stale}] |= 1 << 24 if defined $v->{stale};
    return pack('VVVvCCCCCCVVVx16', $v->{start} & 0xffffffff, $v->{used} & 0xffffffff, $stripes & 0xffffffff, $strip, $state,
        $level, scalar @slots, $level == 10 ? 2 : 1, $failed, 1, $v->{start} >> 32, $v->{used} >> 32, $stripes >> 32)
        . pack('V*', @entries);
}

sub imsm_volume {
    my ($v) = @_;
    my @slots = slots($v->{disks});
    my $level = $v->{level};
    my $data = $level == 0 ? @slots : $level == 5 ? @slots - 1 : $level == 10 || @slots > 2 ? @slots / 2 : 1;
    my $size = defined $v->{size} ? $v->{size} : $data * $v->{used};
    my $is_changing = defined $v->{migrate};
    my $bytes = pack('a16VVVVx36', $v->{name}, $size & 0xffffffff, $size >> 32, 0, 0);
    $bytes .= "\0" x (80 - length $bytes);
    $bytes .= pack('VVCCCCvvVx12', 0, 0, $is_changing ? 1 : 0, $is_changing ? $v->{migrate} : 0, $v->{dirty} ? 1 : 0, 255, 0, 0, 0);
    $bytes .= imsm_map($v, $level, $v->{strip}, $v->{state}, @slots);
    if ($is_changing) {
        my ($was, $strip, $disks) = split /:/, defined $v->{was} ? $v->{was} : "$level:$v->{strip}:$v->{disks}";
        $bytes .= imsm_map($v, $was, $strip, $v->{'was-state'} || 0, slots($disks));
    }
    return $bytes;
}

sub imsm {
    for my $v (@volumes) { defined $v->{used} or die "$v->{name}: used=?\n"; }
    for my $of (@disks) {
        my $generation = defined $of->{generation} ? $of->{generation} : $set{generation};
        my $table = join '', map {
            my $state = defined $_->{state} ? $_->{state} : 2;
            pack('a16VVVVVx12', defined $_->{serial} ? $_->{serial} : $_->{name}, $_->{size} & 0xffffffff, $_->{number}, $state, 0,
                $_->{size} >> 32)
        } @disks;
        my $rest = $table . join '', map { imsm_volume($_) } @volumes;
        my $family = hex $set{family};
        my $size = 0xd8 + length $rest;
        $size = ($size + 3) & ~3;
        my $mpb = pack('a24a8VVVVVVCCCCVVx148', 'Intel Raid ISM Cfg Sig. ', '1.3.00', 0, $size, $family, $generation, 0, 0xa0000057,
            scalar @disks, scalar @volumes, 0, 0, 0, $family) . $rest;
        $mpb .= "\0" x ($size - length $mpb);
        my $sum = 0;
        $sum = ($sum + $_) & 0xffffffff for unpack 'V*', $mpb;
        substr($mpb, 0x20, 4) = pack 'V', $sum;
        substr($mpb, $of->{break}, 1) ^= "\x01" if defined $of->{break};
        my $more = int((length($mpb) + $sector - 1) / $sector) - 1;
        my $anchor = ($of->{size} - 2) * $sector;
        put_at($of, $anchor, substr($mpb, 0, $sector));
        put_at($of, $anchor - $more * $sector, substr($mpb, $sector)) if $more > 0;
    }
}

# --- DDF ---

my @crc = map { my $c = $_; $c = ($c >> 1) ^ ($c & 1 ? 0xedb88320 : 0) for 1 .. 8; $c } 0 .. 255;
# seal BYTES: with its CRC.
sub seal {
    my ($bytes) = @_;
    substr($bytes, 4, 4) = "\xff" x 4;
    my $crc = 0;
    $crc = ($crc >> 8) ^ $crc[($crc ^ $_) & 255] for unpack 'C*', $bytes;
    substr($bytes, 4, 4) = pack 'N', $crc;
    return $bytes;
}
sub padded { my ($bytes, $len) = @_; return $bytes . "\xff" x ($len - length $bytes); }
# zeroed BYTES LENGTH: what no field stands in is zero here, so that seeds of fuzz targets stay small.
sub zeroed { my ($bytes, $len) = @_; return $bytes . "\0" x ($len - length $bytes); }
sub guid { my ($number, $what) = @_; return pack 'a8a12N', 'MAKER', sprintf('%-12s', $what), $number; }
sub wide { return pack 'NN', $_[0] >> 32, $_[0] & 0xffffffff; }

use constant ELEMENTS => 16;
use constant RECORDS => 4;

# The records of a virtual disk: for each basic one a record and its disks.
sub ddf_records {
    my ($v, $number) = @_;
    my @parts = defined $v->{parts} ? map { [slots($_)] } split m{/}, $v->{parts} : [slots($v->{disks})];
    my @starts = defined $v->{starts} ? split /,/, $v->{starts} : ();
    my $shift = 0;
    $shift++ while (1 << $shift) < $v->{strip};
    my $seen = 0;
    my @records;
    for my $index (0 .. $#parts) {
        my @slots = @{ $parts[$index] };
        my $bytes = pack('Na4a24NNx24', 0xeeeeeeee, '', guid($number, 'volume'), 0, 7);
        substr($bytes, 40, 24) = "\xff" x 24;
        $bytes .= pack('nCCCCCC', scalar @slots, $shift, $v->{level}, $v->{qualifier} || 0, scalar @parts, $index,
            $v->{secondary} || 0);
        $bytes .= wide($v->{used}) . wide(defined $v->{size} ? $v->{size} : 0xffffffffffffffff);
        $bytes .= pack 'n', defined $v->{block} ? $v->{block} : 0xffff;
        $bytes = padded($bytes, 512);
        $bytes .= padded(pack('N*', map { 0x1000 + $_->{number} } @slots), 4 * ELEMENTS);
        $bytes .= join '', map { wide(defined $starts[$seen + $_] ? $starts[$seen + $_] : $v->{start}) } 0 .. $#slots;
        $seen += @slots;
        my $len = 2 * $sector;
        push @records, [seal(zeroed($bytes, $len)), @slots];
    }
    return @records;
}

sub ddf {
    my $entries = join '', map {
        my $state = defined $_->{state} ? $_->{state} : 1;
        padded(guid($_->{number}, defined $_->{serial} ? $_->{serial} : $_->{name}) . pack('Nnn', 0x1000 + $_->{number}, 2, $state)
            . wide($_->{size} - 64), 64)
    } @disks;
    my $disks = seal(zeroed(padded(pack('NNnn', 0x22222222, 0, scalar @disks, 15) . "\xff" x 52 . $entries, 1024), 2 * $sector));
    my $number = 0;
    my $list = join '', map {
        padded(guid($number, 'volume') . pack('nnnnCC', $number++, 0xffff, 0, 0, $_->{state}, defined $_->{init} ? $_->{init} : 2)
            . "\xff" x 14 . pack('A16', $_->{name}), 64)
    } @volumes;
    my $volumes = seal(zeroed(padded(pack('NNnn', 0xdddddddd, 0, scalar @volumes, 15) . "\xff" x 52 . $list, 1024), 2 * $sector));
    my $controller = seal(zeroed(pack('NN', 0xad111111, 0) . guid(1, 'controller') . pack('n4A16', 1, 2, 3, 4, 'test maker'), $sector));
    my @records = map { ddf_records($volumes[$_], $_) } 0 .. $#volumes;
    for my $of (@disks) {
        my $primary = $of->{size} - 32;
        my $header = sub {
            my ($kind) = @_;
            my $bytes = pack('NN', 0xde11de11, 0) . guid(hex $set{family}, 'set') . '01.02.00'
                . pack('NN', defined $of->{generation} ? $of->{generation} : $set{generation}, 0) . pack('CCC', $kind ? 0 : 255, 0, 0);
            $bytes = padded($bytes, 96) . wide($primary) . wide(0xffffffffffffffff) . pack('C', $kind);
            $bytes = padded($bytes, 128) . pack('nnnnn', 15, 15, RECORDS, 2, ELEMENTS);
            $bytes = padded($bytes, 192) . pack('N10', 1, 1, 2, 2, 4, 2, 7, 2 * RECORDS, 6, 1);
            return seal(padded($bytes, 512));
        };
        my $own = seal(zeroed(pack('NN', 0x33333333, 0) . guid($of->{number}, defined $of->{serial} ? $of->{serial} : $of->{name})
            . pack('N', 0x1000 + $of->{number}), 512));
        my @mine = map { $_->[0] } grep { my ($bytes, @slots) = @$_; grep { $_ == $of } @slots } @records;
        @mine <= RECORDS or die "too many volumes on $of->{name}\n";
        my $config = zeroed(join('', @mine), RECORDS * 2 * $sector);
        my $at = $primary * $sector;
        my @all = (zeroed($header->(1), $sector), $controller, $disks, $volumes, zeroed($own, $sector), $config);
        my $all = join '', @all;
        substr($all, $of->{break}, 1) ^= "\x01" if defined $of->{break};
        put_at($of, $at, $all);
        put_at($of, ($of->{size} - 1) * $sector, $header->(0));
    }
}

if ($set{kind} eq 'imsm') { imsm(); } elsif ($set{kind} eq 'ddf') { ddf(); } else { die "set: imsm or ddf\n"; }

for my $v (@volumes) {
    my $first = (split m{[,/]}, defined $v->{parts} ? $v->{parts} : $v->{disks})[0];
    my $start = defined $v->{starts} ? (split /,/, $v->{starts})[0] : $v->{start};
    my $of = $disk{$first};
    put_at($of, $start * $sector, "volume $v->{name}\n") if $start < $of->{size};
}
for my $of (@disks) {
    next if $of->{missing};
    my $path = "$directory/$of->{name}.img";
    open my $file, '>', $path or die "$path: $!\n";
    truncate $file, $of->{size} * $sector or die "$path: $!\n";
    for my $at (sort { $a <=> $b } keys %{ $of->{bytes} }) {
        seek $file, $at, 0 or die "$path: $!\n";
        print $file $of->{bytes}{$at};
    }
    for my $put (grep { $_->[0] eq $of->{name} } @puts) {
        seek $file, $put->[1] < 0 ? $of->{size} * $sector + $put->[1] : $put->[1], 0 or die "$path: $!\n";
        print $file pack 'H*', $put->[2];
    }
    close $file or die "$path: $!\n";
}
