# Requests of members for each request, as /proc/diskstats counts them, beside what geometry says: RAID 0, 10 and 5 over six
# disks with a chunk of 64 KiB, a partition at sector 63, at 2,048 (on a chunk) and at 11,520 (on a full stripe), requests of
# 8 KiB, 64 KiB and a full stripe, in sequence and in random order. Merging is off, but for writes to RAID 5, which md hands
# down in pages of 4 KiB. What differs, and why, is on docs/models/array.md ("What md does, counted").
. "$LAB/helpers.sh"
need mdadm=mdadm sfdisk=fdisk perl=perl-base jq=jq
modules raid0 raid10 raid456
report=/tmp/report.json

# near WHAT PREDICTED FOUND: prints the prediction; within 2%, in operations of so many requests.
near() {
    # In thousandths, which operations may have that are means.
    local whole fraction apart
    IFS=. read -r whole fraction <<< "$2"
    fraction=${fraction:-0}000
    whole=$((whole * 1000 + 10#${fraction:0:3}))
    apart=$(($3 * 1000 - whole))
    [ $((${apart#-} * 50)) -le $whole ] ||
        { printf '%s: %s: expected %s within 2%%, found %s\n' "$0" "$1" "$2" "$3" >&2; exit 1; }
    printf '%s: %s\n' "$1" "$2"
}

# requests DEVICE read|write SIZE STEP COUNT sequential|random: direct requests of SIZE bytes, one after the other. READ and
# WRITTEN are what the members did: operations; READ_BYTES, WRITTEN_BYTES.
requests() {
    lab-blocks requests "$@" "${DISKS[@]}" > /tmp/did
    read -r READ WRITTEN READ_BYTES WRITTEN_BYTES < /tmp/did
}

# Operations that STR201 states for COUNT requests of SIZE bytes; where it has nothing to say, each chunk is one.
priced() { # read|write SIZE COUNT
    jq -r --arg access "$1_now" --argjson size "$2" --argjson count "$3" '
        [.targets[0].findings[] | select(.code == "STR201") | .prices.rows[] | select(.io == $size) | .[$access]]
        | if length == 0 then ($size / 65536 | ceil) * $count else .[0].numerator * $count / .[0].denominator end' $report
}

# Operations of members and pages of 4 KiB of a write to RAID 5, for requests at multiples of STEP from START bytes, by the
# arithmetic of docs/models/array.md: `READS WRITES PAGES-READ PAGES-WRITTEN`.
parity() { # START SIZE STEP COUNT
    perl -e '
        my ($start, $size, $step, $count) = @ARGV;
        my ($unit, $page, $data) = (65536, 4096, 5);
        my @sum = (0) x 4;
        for my $request (0 .. $count - 1) {
            my ($from, $to) = ($start + $request * $step, $start + $request * $step + $size);
            my $row = $unit * $data;
            my @done = ({}, {});
            for my $r (int($from / $row) .. int(($to - 1) / $row)) {
                my (%read, %written);
                for my $p (0 .. $unit / $page - 1) {
                    my (@touched, %whole);
                    for my $column (0 .. $data - 1) {
                        my $at = $r * $row + $column * $unit + $p * $page;
                        my $begin = $from > $at ? $from : $at;
                        my $end = $to < $at + $page ? $to : $at + $page;
                        next if $begin >= $end;
                        push @touched, $column;
                        $whole{$column} = 1 if $end - $begin == $page;
                    }
                    my $m = @touched or next;
                    my %is = map { $_ => 1 } @touched;
                    my $partly = $m - keys %whole;
                    my @from = $m + 1 < $data - $m + $partly
                        ? (@touched, "parity")
                        : grep { !$whole{$_} } 0 .. $data - 1;
                    push @{$read{$_}}, $p for @from;
                    push @{$written{$_}}, $p for @touched, "parity";
                }
                # On the members, in the order of left-symmetric.
                my $last = 5 - $r % 6;
                for my $kind (0, 1) {
                    my $pages = $kind ? \%written : \%read;
                    for my $column (keys %$pages) {
                        my $member = $column eq "parity" ? $last : ($last + 1 + $column) % 6;
                        push @{$done[$kind]{$member}}, map { $r * 16 + $_ } @{$pages->{$column}};
                    }
                }
            }
            for my $kind (0, 1) {
                for my $pages (values %{$done[$kind]}) {
                    my @pages = sort { $a <=> $b } @$pages;
                    $sum[$kind + 2] += @pages;
                    # Pages that follow each other are one operation.
                    $sum[$kind] += 1 + grep { $pages[$_] != $pages[$_ - 1] + 1 } 1 .. $#pages;
                }
            }
        }
        print "@sum\n"' "$@"
}

# cold: md's stripe cache forgets the rows that are looked at: only a few pages far behind them are left in it.
cold() {
    local cache=/sys/block/md0/md/stripe_cache_size
    echo 17 > $cache
    quiet dd if=/dev/zero of=/dev/md0 bs=64K count=2 seek=544 oflag=direct
    echo 256 > $cache
}

# parity_writes WHAT START SIZE STEP COUNT ORDER: pages that members read and write, and operations.
parity_writes() {
    local reads writes pages_read pages_written
    cold
    requests /dev/md0p1 write "$3" "$4" "$5" "$6"
    read -r reads writes pages_read pages_written < <(parity $(($2 * 512)) "$3" "$4" "$5")
    near "$1: pages written" $pages_written $((WRITTEN_BYTES / 4096))
    if [ "$4" = "$3" ]; then
        # Rows are shared by requests, and md keeps what it has read and written of them.
        same "$1: more pages read than that" no "$([ $((READ_BYTES / 4096)) -le $pages_read ] && echo no || echo yes)"
        return
    fi
    near "$1: pages read" $pages_read $((READ_BYTES / 4096))
    if [ "$3" = 8192 ]; then
        near "$1: reads" $reads $READ
        near "$1: writes" $writes $WRITTEN
    else
        # Eight pages of a row are handled at once: what one batch hands down is not merged with the next.
        same "$1: fewer operations than that" no \
            "$([ $READ -ge $reads ] && [ $WRITTEN -ge $writes ] && echo no || echo yes)"
        same "$1: more than one for each 8 pages, and two for each piece" no "$([ $((READ + WRITTEN)) -le \
            $(((pages_read + pages_written) / 8 + 2 * (reads + writes))) ] && echo no || echo yes)"
    fi
}

disks 6
for level in 0 10 5; do
    echo "== RAID $level"
    options=(--assume-clean --bitmap=none)
    copies=1 full=384
    case $level in
        0) options=() ;;
        10) copies=2 full=192 ;;
        5) full=320 ;;
    esac
    array md0 --level=$level --raid-devices=6 --chunk=64 "${options[@]}" "${DISKS[@]}"
    for start in 63 2048 11520; do
        partitions /dev/md0 start=$start
        judge $report --io 8K,64K,${full}K /dev/md0
        countable "${DISKS[@]}"
        mark /dev/md0p1 0 # Makes the array dirty, which is written down once.
        for kib in 8 64 $full; do
            size=$((kib * 1024))
            count=$((1920 / kib))
            # The kernel cuts requests to a RAID 0 after each chunk's length, wherever they begin.
            piece=$size pieces=$count
            if [ $level = 0 ] && [ $kib = $full ]; then piece=65536 pieces=$((count * full / 64)); fi
            for order in sequential random; do
                what="sector $start, $count requests of $kib KiB, $order"
                requests /dev/md0p1 read $size $size $count $order
                near "$what: reads" "$(priced read $piece $pieces)" $READ
                [ $level != 5 ] || continue
                requests /dev/md0p1 write $size $size $count $order
                near "$what: writes" $(($(priced write $piece $pieces) * copies)) $WRITTEN
            done
            [ $level = 5 ] || continue
            mergeable "${DISKS[@]}"
            # Requests with rows of their own, at all places in a row in turn; and end to end.
            case $kib in
                8) set -- $((328 * 1024)) 40 ;;
                64) set -- $((384 * 1024)) 25 ;;
                *) set -- $((640 * 1024)) 10 ;;
            esac
            for order in sequential random; do
                parity_writes "sector $start, $2 writes of $kib KiB, rows of their own, $order" $start $size $1 $2 $order
                parity_writes "sector $start, $count writes of $kib KiB, end to end, $order" \
                    $start $size $size $count $order
            done
            countable "${DISKS[@]}"
        done
    done
    forget "${DISKS[@]}"
done
