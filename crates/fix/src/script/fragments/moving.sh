work=
loops=
# When it was refused, copies are of no use; what tools said about it stays. What a tool told the kernel of a loop device would
# outlive it.
tidy() {
    if [ "$status" = 2 ] && [ -z "$doing" ] && [ -n "$work" ] && [ ! -e "$work/ready" ]; then
        rm -f "$work"/partition-*[0-9] "$work"/table.* "$work"/areas* "$work"/sum-* "$work"/at-*
        rmdir "$work" "$run" 2> /dev/null || :
    fi
    for loop in $loops; do
        partx --delete "$loop" > /dev/null 2>&1 || :
        losetup --detach "$loop" || :
    done
}
at_end tidy

# begin STEP: its folder in that of this run
begin() {
    if [ -z "$run" ]; then run=$(mktemp -d "$folder/straddle-fix.XXXXXX") || die "cannot make a folder in $folder"; fi
    work=$run/step-$1
    mkdir -p "$work"
}

# is_begun STEP: whether the folder of the run that this one goes on with has all that this step needs
is_begun() {
    [ -n "$run" ] && [ -e "$run/step-$1/ready" ] || return 1
    work=$run/step-$1
}

# size_of FILE
size_of() { if [ -b "$1" ]; then blockdev --getsize64 "$1"; else stat -L -c %s "$1"; fi; }

# counts_in DISK SECTOR: what the tools count in must be what the table counts in; sets what the disk is reached as
counts_in() {
    attached=$1
    if [ ! -b "$1" ] && [ "$2" != 512 ]; then
        need losetup mount
        attached=$(losetup --find --show --sector-size "$2" "$1") || die "$1 counts in $2 bytes and cannot be attached to a loop device"
        loops="$loops $attached"
    fi
    if [ -b "$attached" ]; then
        counted=$(blockdev --getss "$attached")
        [ "$counted" = "$2" ] || die "$1 has sectors of $counted bytes, its table counts in $2"
    fi
}

# sum_of FILE START BYTES
sum_of() { dd if="$1" bs=1M iflag=skip_bytes,count_bytes,fullblock skip="$2" count="$3" status=none | sha256sum; }

# lay PIECE DISK BYTE
lay() { dd if="$1" of="$2" bs=1M oflag=seek_bytes seek="$3" conv=notrunc,fsync status=none; }

# forward DISK FROM TO BYTES NUMBER: the last piece first, so that each is read before something is written over it. Each is on stable
# storage in a file of its own while it is written, and where that belongs stands in another, so that this goes on where it was stopped
forward() {
    [ ! -e "$work/moved-$5" ] || return 0
    say "moving partition $5: $4 bytes from byte $2 to byte $3"
    left=$4
    piece=a
    if [ -s "$work/at-$5" ]; then
        read -r left length piece < "$work/at-$5"
        [ "$(stat -c %s "$work/piece-$piece")" = "$length" ]
        lay "$work/piece-$piece" "$1" $(($3 + left))
    fi
    while [ "$left" -gt 0 ]; do
        length=16777216
        [ "$left" -gt "$length" ] || length=$left
        left=$((left - length))
        case $piece in a) piece=b ;; *) piece=a ;; esac
        dd if="$1" of="$work/piece-$piece" bs=1M iflag=skip_bytes,count_bytes,fullblock skip=$(($2 + left)) count="$length" conv=fsync status=none
        [ "$(stat -c %s "$work/piece-$piece")" = "$length" ]
        printf '%20d %20d %s\n' "$left" "$length" "$piece" | dd of="$work/at-$5" conv=notrunc,fsync status=none
        lay "$work/piece-$piece" "$1" $(($3 + left))
    done
    [ "$(sum_of "$1" "$3" "$4")" = "$(cat "$work/sum-$5")" ] || fail "partition $5 is not what it was before it was moved"
    : > "$work/moved-$5"
    sync "$work/moved-$5" "$work"
}

# shorten KIND FILE BYTES: the copy of a filesystem, so that nothing is lost when it has no room for that
shorten() {
    say "making $2 $3 bytes long"
    case $1 in
    ext)
        e2fsck -f -p "$2" > "$2.log" 2>&1 || [ $? = 1 ] || die "e2fsck finds fault with it: $2.log"
        resize2fs "$2" "$(($3 / 1024))K" >> "$2.log" 2>&1 || die "resize2fs cannot make it shorter: $2.log"
        ;;
    ntfs)
        ntfsresize --force --no-progress-bar --size "$3" "$2" > "$2.log" 2>&1 || die "ntfsresize cannot make it shorter: $2.log"
        ;;
    esac
    truncate -s "$3" "$2" || die "$2 cannot be shortened"
}

# put_number NUMBER LENGTH FILE BYTE: the same, written
put_number() {
    value=$1
    left=$2
    escaped=
    while [ "$left" -gt 0 ]; do
        escaped=$escaped$(printf '\\0%03o' $((value & 255)))
        value=$((value >> 8))
        left=$((left - 1))
    done
    printf '%b' "$escaped" | dd of="$3" bs=1 seek="$4" conv=notrunc status=none
}

# records_start KIND FILE BYTE SECTORS: the filesystem that begins at that byte says in which sector its partition begins
records_start() {
    per=512
    case $1 in
    fat)
        per=$(number "$2" $(($3 + 11)) 2)
        second=0
        # Only FAT32 has no 16-bit length of its table, and has a second boot sector.
        [ "$(number "$2" $(($3 + 22)) 2)" != 0 ] || second=$(number "$2" $(($3 + 50)) 2)
        ;;
    ntfs)
        per=$(number "$2" $(($3 + 11)) 2)
        second=$(number "$2" $(($3 + 40)) 8)
        ;;
    exfat)
        per=$((1 << $(number "$2" $(($3 + 108)) 1)))
        for region in "$3" $(($3 + 12 * per)); do
            put_number "$4" 8 "$2" $((region + 64))
            boot_checksum "$2" "$region" "$per"
        done
        return
        ;;
    esac
    second=$(($3 + second * per))
    if [ "$second" != "$3" ] && cmp -s -i "$3:$second" -n 512 "$2" "$2"; then
        put_number "$4" 4 "$2" $((second + 28))
    fi
    put_number "$4" 4 "$2" $(($3 + 28))
}

# boot_checksum FILE BYTE SECTOR: that of exFAT, over eleven sectors but for three bytes, fills the twelfth
boot_checksum() {
    sum=0
    at=0
    for byte in $(od -An -v -tu1 -j "$2" -N $((11 * $3)) "$1"); do
        case $at in
        106 | 107 | 112) ;;
        *) sum=$(((((sum & 1) << 31) + (sum >> 1) + byte) & 0xffffffff)) ;;
        esac
        at=$((at + 1))
    done
    put_number "$sum" 4 "$1" $(($2 + 11 * $3))
    at=4
    while [ "$at" -lt "$3" ]; do
        dd if="$1" of="$1" bs="$at" count=1 iflag=skip_bytes oflag=seek_bytes skip=$(($2 + 11 * $3)) seek=$(($2 + 11 * $3 + at)) conv=notrunc status=none
        at=$((at * 2))
    done
}

# reread DISK: where the kernel knows partitions of it
reread() {
    real=$(readlink -f "$1")
    for known in "/sys/class/block/${real##*/}"/*/partition; do
        [ -e "$known" ] || continue
        blockdev --rereadpt "$1" || say 'the kernel keeps the table as it was until it is started again'
        break
    done
}
