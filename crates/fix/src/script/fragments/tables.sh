# areas_of FILE: where its table lies, a line for each piece: the byte and the length
areas_of() {
    echo "0 $sector"
    if [ "$table" = gpt ]; then
        for header in "$sector" $(($(number "$1" $((sector + 32)) 8) * sector)); do
            length=$(($(number "$1" $((header + 80)) 4) * $(number "$1" $((header + 84)) 4)))
            if [ "$length" -le 0 ] || [ "$length" -gt 4194304 ]; then die 'its table is damaged'; fi
            echo "$header $sector"
            echo "$(($(number "$1" $((header + 72)) 8) * sector)) $(((length + sector - 1) / sector * sector))"
        done
    else
        for n in $(logical_in "$1"); do echo "$((n - 446)) $sector"; done
    fi
}

# copy_areas FROM TO: the pieces that lines of input name
copy_areas() {
    while read -r at length; do
        dd if="$1" of="$2" bs=1M iflag=skip_bytes,count_bytes,fullblock oflag=seek_bytes skip="$at" seek="$at" count="$length" conv=notrunc,fsync status=none
    done
}

# logical_in FILE: the byte of the entry in each boot record of its extended partition, in their order
logical_in() {
    extended=
    for n in 450 466 482 498; do
        case $(number "$1" "$n" 1) in 5 | 15 | 133) extended=$(number "$1" $((n + 4)) 4) ;; esac
    done
    [ -n "$extended" ] || return 0
    n=$extended
    count=0
    while :; do
        count=$((count + 1))
        [ "$count" -le 128 ] || die 'its logical partitions do not end'
        echo $((n * sector + 446))
        next=$(number "$1" $((n * sector + 446 + 16 + 8)) 4)
        [ "$next" != 0 ] || break
        n=$((extended + next))
    done
}

# entry_at FILE NUMBER [HEADER]: the byte of the entry of a partition
entry_at() {
    if [ "$table" = gpt ]; then
        header=${3:-$sector}
        echo $(($(number "$1" $((header + 72)) 8) * sector + ($2 - 1) * $(number "$1" $((header + 84)) 4)))
    elif [ "$2" -le 4 ]; then
        echo $((446 + ($2 - 1) * 16))
    else
        logical_in "$1" | sed -n "$(($2 - 4))p"
    fi
}

# place_in FILE NUMBER: first sector and number of sectors of a partition
place_in() {
    at=$(entry_at "$1" "$2")
    [ -n "$at" ] || die "partition $2 is not in the table"
    if [ "$table" = gpt ]; then
        first=$(number "$1" $((at + 32)) 8)
        echo "$first $(($(number "$1" $((at + 40)) 8) - first + 1))"
    else
        base=0
        if [ "$2" -gt 4 ]; then base=$(((at - 446) / sector)); fi
        echo "$((base + $(number "$1" $((at + 8)) 4))) $(number "$1" $((at + 12)) 4)"
    fi
}

# identity_in FILE NUMBER: all else that is said of it: type, GUID, attributes, name; or type and flag
identity_in() {
    at=$(entry_at "$1" "$2")
    if [ "$table" = gpt ]; then
        od -An -v -tx1 -j "$at" -N 32 "$1"
        od -An -v -tx1 -j $((at + 48)) -N 80 "$1"
    else
        number "$1" "$at" 1
        echo " $(number "$1" $((at + 4)) 1)"
    fi
}

# partitions_in FILE: how many there are
partitions_in() {
    if [ "$table" = gpt ]; then
        length=$(number "$1" $((sector + 84)) 4)
        od -An -v -tx1 -w"$length" -j "$(entry_at "$1" 1)" -N $((length * $(number "$1" $((sector + 80)) 4))) "$1" | cut -c 1-48 | grep -c '[1-9a-f]' || :
    else
        { echo 446 462 478 494; logical_in "$1"; } | tr ' ' '\n' | {
            count=0
            while read -r n; do
                case $(number "$1" $((n + 4)) 1) in 0) ;; *) count=$((count + 1)) ;; esac
            done
            echo "$count"
        }
    fi
}

# copy_of_table DISK: a sparse file of the same size that holds the table and nothing else. `tables` is what tools edit it as
copy_of_table() {
    size=$(size_of "$1")
    tables=$work/table.new
    areas_of "$1" > "$work/areas"
    for file in "$work/table.before" "$tables"; do
        truncate -s "$size" "$file" || die "$folder takes no sparse file of $size bytes: give another folder"
        copy_areas "$1" "$file" < "$work/areas"
    done
    counts_in "$tables" "$sector"
    tables=$attached
}

# copy_bytes FROM TO LENGTH: of the table as it was to the new one
copy_bytes() { dd if="$work/table.before" of="$tables" bs=1M iflag=skip_bytes,count_bytes,fullblock oflag=seek_bytes skip="$1" seek="$2" count="$3" conv=notrunc status=none; }

# crc32 FILE BYTE LENGTH: gzip writes this sum before the length, at its end
crc32() {
    dd if="$1" bs=1M iflag=skip_bytes,count_bytes,fullblock skip="$2" count="$3" status=none |
        gzip -1 -c | tail -c 8 | od -An -v --endian=little -t u4 -N 4 | tr -d ' \n'
}

# as_before NUMBER…: what tools change of a table beside places is made what it was: boot code, identifiers, types, flags, names
as_before() {
    if [ "$table" != gpt ]; then
        copy_bytes 0 0 446
        for n in "$@"; do
            from=$(entry_at "$work/table.before" "$n")
            at=$(entry_at "$tables" "$n")
            if [ -z "$from" ] || [ -z "$at" ]; then die "rehearsed on a copy of the table, partition $n was lost"; fi
            copy_bytes "$from" "$at" 1
            copy_bytes $((from + 4)) $((at + 4)) 1
        done
        return
    fi
    copy_bytes 0 0 440
    for header in "$sector" $(($(number "$tables" $((sector + 32)) 8) * sector)); do
        for n in "$@"; do
            from=$(entry_at "$work/table.before" "$n")
            at=$(entry_at "$tables" "$n" "$header")
            copy_bytes "$from" "$at" 32
            copy_bytes $((from + 48)) $((at + 48)) 80
        done
        copy_bytes $((sector + 56)) $((header + 56)) 16
        first=$(entry_at "$tables" 1 "$header")
        length=$(($(number "$tables" $((header + 80)) 4) * $(number "$tables" $((header + 84)) 4)))
        put_number "$(crc32 "$tables" "$first" "$length")" 4 "$tables" $((header + 88))
        put_number 0 4 "$tables" $((header + 16))
        put_number "$(crc32 "$tables" "$header" "$(number "$tables" $((header + 12)) 4)")" 4 "$tables" $((header + 16))
    done
}

# is_planned NUMBER START SECTORS: the partition lies there in the new table, and nothing else about it is new
is_planned() {
    [ "$(place_in "$tables" "$1")" = "$2 $3" ] || die "rehearsed on a copy of the table, partition $1 came to lie at sector and length $(place_in "$tables" "$1"), not $2 $3"
    [ "$(identity_in "$tables" "$1")" = "$(identity_in "$work/table.before" "$1")" ] || die "rehearsed on a copy of the table, partition $1 lost its type or its name"
}

# rehearsed PARTITIONS: the new table is the planned one; it is kept for when it is written
rehearsed() {
    [ "$(partitions_in "$tables")" = "$1" ] || die "rehearsed on a copy of the table, there are not $1 partitions any more"
    areas_of "$tables" > "$work/areas.after"
    if [ "$tables" != "$work/table.new" ]; then
        blockdev --flushbufs "$tables"
        partx --delete "$tables" > /dev/null 2>&1 || :
    fi
    say "the new table was rehearsed on a copy; the one that is there: $work/table.before"
}

# old_or_new DISK: whether its table is the one that was there, or the new one, or partly each
old_or_new() {
    if [ "$table" = gpt ]; then cat "$work/areas"; else echo "0 $sector"; fi | while read -r at length; do
        length=$((at + length))
        while [ "$at" -lt "$length" ]; do
            cmp -s -i "$at" -n 512 "$work/table.before" "$1" || cmp -s -i "$at" -n 512 "$work/table.new" "$1" || exit 1
            at=$((at + 512))
        done
    done
}

# write_table DISK: the one that was rehearsed
write_table() {
    copy_areas "$work/table.new" "$1" < "$work/areas.after"
    if [ -b "$1" ]; then blockdev --flushbufs "$1"; fi
    while read -r at length; do cmp -i "$at" -n "$length" "$work/table.new" "$1"; done < "$work/areas.after"
}
