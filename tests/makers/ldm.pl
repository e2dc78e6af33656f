#!/usr/bin/perl
# Makes disks of Windows' Logical Disk Manager (dynamic disks), for tests: there is no tool that makes them outside of
# Windows. Needs nothing but perl-base.
#
#   perl ldm.pl DIRECTORY < DESCRIPTION
#
# writes DIRECTORY/NAME.img for each disk. The description has a line for each thing; sizes and places are in sectors:
#
#   group NAME [guid=…] [minor=12] [vblk=128] [sequence=7] [pending=7] [state=1] [blanks=8] [records=disks,volumes,…]
#   disk NAME size=131072 [table=mbr|gpt] [first=63] [file=NAME] [missing=1] [revision=3|4] [sector=512] [fill=255]
#   volume NAME size=… [kind=gen|raid5] [type=07] [hint=D:] [id1=…] [id2=…] [size2=…] [data=FILE]
#   component kind=spanned|striped|raid [stripe=128] [columns=3] [state=ACTIVE]
#   part disk=NAME start=… size=… [offset=…] [index=0] [name=…]
#
# A component belongs to the volume before it, a part to the component before it; `start` counts from where the disk's
# data area begins (`first`), `offset` from the beginning of the column. `data` is a file that is written to where the
# volume has it: by this program's own reckoning, which the tests compare with that of the program that they test.
#
# What is written follows published descriptions, of which it takes facts: the LDM documentation of the Linux-NTFS project
# (structures, variable-length fields, the places of the copies), Linux Documentation/admin-guide/ldm.rst and the
# description at the head of libldm (GPT, versions). All numbers are high byte first. What these leave unknown is zero.
#
#   sector 6 of an MBR disk            PRIVHEAD   place of data area and database; GUIDs of disk, host and group
#   database + 1, 2, 2045, 2046        TOCBLOCK   where in the database `config` and `log` lie
#   database + 17                      VMDB       group, sequence numbers, how many records there are
#   database + 18 …                    VBLK       records of 128 bytes, long ones in several
#   database + 1856, 2047              PRIVHEAD   copies; on GPT the last is the only other one
use strict;
use warnings;
no warnings 'portable'; # 64-bit constants

my ($directory) = @ARGV;
defined $directory or die "perl ldm.pl DIRECTORY < DESCRIPTION\n";

my %group = (name => 'Dg0', guid => '0a0b0c0d-1111-2222-3333-444455556666', minor => 12, vblk => 128,
    sequence => 7, state => 1, blanks => 8);
my (@disks, @volumes, %disk);
while (my $line = <STDIN>) {
    $line =~ s/#.*//;
    my ($what, @words) = split ' ', $line;
    defined $what or next;
    my %is;
    for my $word (@words) {
        if ($word =~ /^(\w+)=(.*)$/) { $is{$1} = $2 } else { $is{name} = $word }
    }
    if ($what eq 'group') { %group = (%group, %is) }
    elsif ($what eq 'disk') {
        my $number = @disks + 1;
        my $this = {table => 'mbr', first => 63, sector => 512, revision => $number % 2 ? 3 : 4, size => 131072,
            guid => sprintf('d15c0000-0000-4000-8000-%012x', $number), %is};
        push @disks, $this;
        $disk{$this->{name}} = $this;
    }
    elsif ($what eq 'volume') { push @volumes, {kind => 'gen', type => '07', components => [], %is} }
    elsif ($what eq 'component') {
        push @{$volumes[-1]{components}}, {kind => 'spanned', state => 'ACTIVE', parts => [], %is};
    }
    elsif ($what eq 'part') { push @{$volumes[-1]{components}[-1]{parts}}, {offset => 0, %is} }
    else { die "what is a $what?\n" }
}

# Object numbers in the order in which Windows gives them is not known: one after the other will do.
my $objects = 1024;
my $group_id = ++$objects;
$_->{id} = ++$objects for @disks;
for my $volume (@volumes) {
    $volume->{id} = ++$objects;
    for my $component (@{$volume->{components}}) {
        $component->{id} = ++$objects;
        $_->{id} = ++$objects for @{$component->{parts}};
    }
}

# --- fields and records

sub number { # As few bytes as it needs, after their count.
    my ($n) = @_;
    my $raw = pack 'Q>', $n;
    $raw =~ s/^\0+//;
    $raw = "\0" if $raw eq '';
    return pack('C', length $raw) . $raw;
}
sub text { return pack('C/a*', $_[0]) }
sub bytes_of { my $hex = $_[0]; $hex =~ s/-//g; return pack 'H*', $hex }
sub commit { return pack 'Q>', $group{sequence} }
sub record { # Type and revision, flags, body.
    my ($type, $flags, $body) = @_;
    return pack('n C C N', 0, $flags, $type, length $body) . $body;
}

sub disk_record {
    my ($d) = @_;
    return record(0x34, 0, number($d->{id}) . text($d->{name}) . text($d->{guid}) . text('') . pack('x4') . commit())
        if $d->{revision} == 3;
    return record(0x44, 0, number($d->{id}) . text($d->{name}) . bytes_of($d->{guid}) . pack('x21') . commit());
}
sub group_record {
    return record(0x35, 0, number($group_id) . text($group{name}) . text($group{guid}) . pack('x4') . commit());
}
sub volume_record {
    my ($v) = @_;
    my ($flags, $more) = (0, '');
    if (defined $v->{id1}) { $flags |= 0x08; $more .= text($v->{id1}) }
    if (defined $v->{id2}) { $flags |= 0x20; $more .= text($v->{id2}) }
    if (defined $v->{size2}) { $flags |= 0x80; $more .= number($v->{size2}) }
    if (defined $v->{hint}) { $flags |= 0x02; $more .= text($v->{hint}) }
    my $raid = $v->{kind} eq 'raid5';
    return record(0x51, $flags, number($v->{id}) . text($v->{name}) . text($raid ? 'raid5' : 'gen') . text('')
        . pack('a14', $v->{state} // 'ACTIVE') . pack('C', $v->{code} // ($raid ? 4 : 3)) . pack('C', 0x15) . pack('C', 1) . pack('x3')
        . pack('C', 0x11) . number($v->{children} // scalar @{$v->{components}}) . commit() . pack('Q>', 0) . number($v->{size})
        . pack('x4') . pack('H2', $v->{type}) . bytes_of(sprintf '70100000-0000-4000-8000-%012x', $v->{id}) . $more);
}
sub component_record {
    my ($v, $c) = @_;
    my %code = (striped => 1, spanned => 2, raid => 3);
    my $flags = defined $c->{stripe} ? 0x10 : 0;
    my $more = $flags ? number($c->{stripe}) . number($c->{columns}) : '';
    return record(0x32, $flags, number($c->{id}) . text("$v->{name}-01") . text($c->{state})
        . pack('C', $c->{code} // $code{$c->{kind}}) . pack('x4') . number($c->{children} // scalar @{$c->{parts}}) . commit() . pack('x8')
        . number($c->{parent} // $v->{id}) . pack('x') . $more);
}
sub part_record {
    my ($c, $p) = @_;
    my $flags = defined $p->{index} ? 0x08 : 0;
    my $on = $disk{$p->{disk}} or die "no disk $p->{disk}\n";
    return record(0x33, $flags, number($p->{id}) . text($p->{name} // "$p->{disk}-$p->{id}") . pack('x4') . commit()
        . pack('Q> Q>', $p->{start}, $p->{offset}) . number($p->{size}) . number($p->{parent} // $c->{id}) . number($on->{id})
        . ($flags ? number($p->{index}) : ''));
}

my %records = (group => [group_record()], disks => [map { disk_record($_) } @disks], volumes => [], components => [], parts => []);
for my $volume (@volumes) {
    push @{$records{volumes}}, volume_record($volume);
    for my $component (@{$volume->{components}}) {
        push @{$records{components}}, component_record($volume, $component);
        push @{$records{parts}}, part_record($component, $_) for @{$component->{parts}};
    }
}

# --- the database

my $per_block = $group{vblk} - 16;
sub database {
    my ($sector) = @_;
    my $first = $sector / $group{vblk} > 1 ? $sector / $group{vblk} : 1;
    my ($serial, $set, $blocks) = ($first, 0, '');
    my $block = sub {
        my ($set, $index, $count, $piece) = @_;
        $blocks .= pack("a4 N N n n a$per_block", 'VBLK', $serial++, $set, $index, $count, $piece);
    };
    for my $kind (split /,/, $group{records} // 'group,disks,volumes,components,parts') {
        for my $record (@{$records{$kind}}) {
            my @pieces = unpack "(a$per_block)*", $record;
            $set++;
            # Those of a long record stand wherever there was room: the later pieces behind the first of the next.
            $block->($set, $_, scalar @pieces, $pieces[$_]) for reverse 0 .. $#pieces;
        }
    }
    $block->(0, 0, 0, '') for 1 .. $group{blanks};
    $block->(0, 0, 0, '') while length($blocks) % $sector;
    my %count = map { $_ => $group{"count_$_"} // scalar @{$records{$_}} } keys %records;
    my $vmdb = pack 'a4 N N N n n n a31 a64 Q> Q>', 'VMDB', $group{last} // $serial, $group{vblk}, $sector, $group{state}, 4, 10,
        $group{name}, $group{guid}, $group{sequence}, $group{pending} // $group{sequence};
    $vmdb .= pack 'N N N N x12', @count{qw(volumes components parts disks)} for 1, 2;
    $vmdb .= pack 'Q>', 0x01c8000000000000;
    $vmdb .= "\0" x ($sector - length $vmdb);
    my $toc = pack 'a8 N x4 N x16 a8 n Q> Q> Q> a8 n Q> Q> Q>', 'TOCBLOCK', 1, 1,
        'config', 0, 17, 1481, 0, 'log', 0, 1498, 224, 0;
    my @at = ([1 * $sector, $toc], [2 * $sector, $toc], [2045 * $sector, $toc], [2046 * $sector, $toc],
        [17 * $sector, $vmdb . $blocks]);
    die "the database is full\n" if length($vmdb . $blocks) > 1481 * $sector;
    return @at;
}

sub privhead {
    my ($d) = @_;
    return pack 'a8 N n n Q> Q> Q> Q> a64 a64 a64 a32 n x9 Q> Q> Q> Q> Q> Q> N N Q> Q> N', 'PRIVHEAD', 1, 2, $group{minor},
        0x01c8000000000000, 1, 2046, 0, $d->{guid}, '1b77da20-c717-11d0-a5be-00a0c91db73c', $group{guid}, $group{name}, 0,
        $d->{first}, $d->{data}, $d->{config}, 2048, 2, 2046, 1, 1, 1481, 224, 0;
}

# --- partition tables

sub mbr {
    my (@entries) = @_; # type, first, count
    my $table = join '', map { pack 'C H6 C H6 V V', 0, '000200', $_->[0], 'feffff', $_->[1], $_->[2] } @entries;
    return pack('x440 V x2', 0x4c444d31) . $table . "\0" x (64 - length $table) . "\x55\xaa";
}
my @crc = map { my $c = $_; $c = $c & 1 ? 0xedb88320 ^ ($c >> 1) : $c >> 1 for 1 .. 8; $c } 0 .. 255;
sub crc32 {
    my $c = 0xffffffff;
    $c = $crc[($c ^ $_) & 0xff] ^ ($c >> 8) for unpack 'C*', $_[0];
    return $c ^ 0xffffffff;
}
sub mixed { # As GPT stores a GUID.
    my @g = split /-/, $_[0];
    return pack('V v v', hex $g[0], hex $g[1], hex $g[2]) . pack('H*', "$g[3]$g[4]");
}
sub gpt {
    my ($d, @entries) = @_; # type, first, last
    my $number = 0;
    my $array = join '', map {
        pack 'a16 a16 Q< Q< x8 x72', mixed($_->[0]), mixed(sprintf '9a270000-0000-4000-8000-%012x', ++$number), $_->[1], $_->[2]
    } @entries;
    $array .= "\0" x (128 * 128 - length $array);
    my $last = $d->{size} - 1;
    my $rows = 128 * 128 / $d->{sector};
    my @at;
    for my $copy ([1, $last, 2], [$last, 1, $last - $rows]) {
        my $header = pack 'a8 V V V V Q< Q< Q< Q< a16 Q< V V V', 'EFI PART', 0x10000, 92, 0, 0, $copy->[0], $copy->[1], 2 + $rows,
            $last - $rows - 1, mixed('6c646d00-0000-4000-8000-000000000000'), $copy->[2], 128, 128, crc32($array);
        substr($header, 16, 4) = pack 'V', crc32($header);
        push @at, [$copy->[0] * $d->{sector}, $header], [$copy->[2] * $d->{sector}, $array];
    }
    return @at;
}

# --- disks

sub write_at {
    my ($d, $at, $bytes) = @_;
    return if $d->{missing};
    seek $d->{handle}, $at, 0 or die "$d->{name}: $!\n";
    print {$d->{handle}} $bytes or die "$d->{name}: $!\n";
}
for my $d (@disks) {
    my $sector = $d->{sector};
    if ($d->{table} eq 'gpt') {
        my $entries = 2 + 128 * 128 / $sector;
        $d->{config} //= $entries;
        $d->{first} = $d->{config} + 2048 if $d->{first} == 63;
        $d->{data} //= $d->{size} - $entries + 1 - $d->{first};
    } else {
        $d->{config} //= $d->{size} - 2048;
        $d->{data} //= $d->{config} - $d->{first};
    }
    next if $d->{missing};
    my $path = "$directory/" . ($d->{file} // "$d->{name}.img");
    unlink $path;
    open $d->{handle}, '+>:raw', $path or die "$path: $!\n";
    truncate $d->{handle}, $d->{size} * $sector or die "$path: $!\n";
    my $head = privhead($d);
    if ($d->{table} eq 'gpt') {
        write_at($d, 0, mbr([0xee, 1, $d->{size} - 1]));
        write_at($d, @$_) for gpt($d,
            ['5808c8aa-7e8f-42e0-85d2-e1e90434cfb3', $d->{config}, $d->{config} + 2047],
            ['af9b60a0-1431-4f62-bc68-3311714a69ad', $d->{first}, $d->{first} + $d->{data} - 1]);
    } else {
        write_at($d, 0, mbr([0x42, $d->{entry} // $d->{first}, $d->{data}]));
        write_at($d, 6 * $sector, $head);
    }
    my $base = $d->{config} * $sector;
    write_at($d, $base + 1856 * $sector, $head);
    write_at($d, $base + 2047 * $sector, $head);
    write_at($d, $base + $_->[0], $_->[1]) for database($sector);
}

# --- data

# The (disk, byte) where each piece of a component lies, by its own rule; each is `unit` bytes long.
sub write_volume {
    my ($volume, $data) = @_;
    for my $component (@{$volume->{components}}) {
        my %columns;
        push @{$columns{$_->{index} // 0}}, $_ for @{$component->{parts}};
        my @columns = map { [sort { $a->{offset} <=> $b->{offset} } @{$columns{$_}}] } sort { $a <=> $b } keys %columns;
        if ($component->{kind} eq 'spanned') {
            @columns = ([sort { $a->{offset} <=> $b->{offset} } @{$component->{parts}}]);
        }
        my $put = sub { # Column, byte in it, bytes: which may lie in several parts.
            my ($column, $at, $bytes) = @_;
            for my $part (@{$columns[$column]}) {
                my $d = $disk{$part->{disk}};
                my ($from, $len) = ($part->{offset} * $d->{sector}, $part->{size} * $d->{sector});
                my $within = $at - $from;
                next if $within < 0 || $within >= $len || $bytes eq '';
                my $piece = substr $bytes, 0, $len - $within, '';
                write_at($d, ($d->{first} + $part->{start}) * $d->{sector} + $within, $piece);
                $at += length $piece;
            }
        };
        if ($component->{kind} eq 'spanned') {
            $put->(0, 0, $data);
            next;
        }
        my $unit = $component->{stripe} * 512;
        my $parity = $component->{kind} eq 'raid' ? 1 : 0;
        my $width = @columns - $parity;
        for (my $row = 0; $row * $width * $unit < length $data; $row++) {
            my @units = map { substr($data . '', ($row * $width + $_) * $unit, $unit) // '' } 0 .. $width - 1;
            @units = map { $_ . "\0" x ($unit - length $_) } @units;
            # Parity goes from the last column to the first; data go on behind it.
            my $p = @columns - 1 - $row % @columns;
            for my $n (0 .. $width - 1) {
                $put->($parity ? ($p + 1 + $n) % @columns : $n, $row * $unit, $units[$n]);
            }
            next unless $parity;
            my $sum = "\0" x $unit;
            $sum ^= $_ for @units;
            $put->($p, $row * $unit, $sum);
        }
    }
}
for my $volume (@volumes) {
    next unless defined $volume->{data};
    open my $from, '<:raw', $volume->{data} or die "$volume->{data}: $!\n";
    local $/;
    write_volume($volume, scalar <$from>);
}
