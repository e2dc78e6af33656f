need() { command -v "$1" > /dev/null 2>&1 || die "$1 is not installed (Debian package $2)"; }

# size_is DEVICE BYTES
size_is() {
    [ -e "$1" ] || die "$1 does not exist"
    if [ -b "$1" ]; then size=$(blockdev --getsize64 "$1"); else size=$(stat -L -c %s "$1"); fi
    [ "$size" = "$2" ] || die "$1 has $size bytes, the plan was made for $2: it is another disk"
}

# bytes_are DEVICE OFFSET HEX WHAT
bytes_are() {
    have=$(od -An -v -tx1 -j "$2" -N $((${#3} / 2)) "$1" | tr -d ' \n')
    [ "$have" = "$3" ] || die "$1 has $have as its $4 (byte $2), the plan was made for $3: it is another disk, or it was changed"
}

# number FILE BYTE LENGTH: an unsigned number there, lowest byte first
number() { od -An -v --endian=little -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' \n'; }

# as_plain FILE: sets `named` to a name of it in which no tool finds anything but a name: those of e2fsprogs read what follows a `?`
as_plain() {
    named=$1
    case $1 in
    *[!A-Za-z0-9/._-]*)
        if [ -z "$names" ]; then names=$(TMPDIR=/tmp mktemp -d) || die 'cannot make a folder in /tmp'; fi
        count_of_names=$((count_of_names + 1))
        named=$names/$count_of_names
        ln -s "$(readlink -f "$1")" "$named"
        ;;
    esac
}
names=
count_of_names=0
forget_names() { if [ -n "$names" ]; then rm -rf "$names"; fi; }
at_end forget_names

# tag NAME FILE: sets `tagged` to what blkid says of it, as it stands there
tag() {
    tagged=$(blkid -p -o value -s "$1" "$2" 2> /dev/null || :; echo .)
    tagged=${tagged%.}
    tagged=${tagged%"$line_break"}
}
line_break='
'

# serial_is DEVICE SERIAL
serial_is() {
    sys=/sys/dev/block/$(number_of "$1")
    have=
    for file in "$sys/serial" "$sys/device/serial"; do
        if [ -r "$file" ]; then have=$(cat "$file"); fi
    done
    [ "$(printf '%s' "$have" | tr -d ' ')" = "$(printf '%s' "$2" | tr -d ' ')" ] || die "$1 has the serial number $have, the plan was made for $2: it is another disk"
}

# contents_may_go WHAT: it is not empty, or nobody knows whether it is.
contents_may_go() {
    [ "$backed_up" = 1 ] || die "$1 may hold files, which would be lost; with a backup that was test-restored, add --contents-are-backed-up"
}

# slot_is MD NUMBER DEVICE: the member of this number in sysfs
slot_is() {
    slot=$(readlink -f "$1/rd$2/block") || slot=
    member=$(readlink -f "$3")
    [ "${slot##*/}" = "${member##*/}" ] || die "$3 is not member $2 of the array"
}

# room_for BYTES: in the folder, for what is copied away
room_for() {
    free=$(df -P -k -- "$folder" | awk 'NR == 2 { print $4 }')
    [ "$free" -gt $(($1 / 1024)) ] || die "$folder has room for $free KiB, and $1 bytes are copied away meanwhile: give another folder"
}

# keep DEVICE OFFSET BYTES FILE: copies them away, and reads both again
keep() {
    say "copying $3 bytes from byte $2 to $4"
    dd if="$1" of="$4" bs=1M iflag=skip_bytes,count_bytes,fullblock skip="$2" count="$3" conv=sparse,fsync status=none || die "byte $2 of $1 could not be copied to $4"
    cmp -s -i "$2:0" -n "$3" "$1" "$4" || die "$4 is not what is at byte $2 of $1"
}

# put FILE DEVICE OFFSET BYTES: copies them back, and reads both again
put() {
    say "copying $1 to byte $3"
    [ "$(stat -c %s "$1")" = "$4" ]
    dd if="$1" of="$2" bs=1M oflag=seek_bytes seek="$3" conv=notrunc,fsync status=none
    if [ -b "$2" ]; then blockdev --flushbufs "$2"; fi
    cmp -i "0:$3" -n "$4" "$1" "$2"
}

# as_raw SOURCE FILE: a virtual disk as the bytes that its guest sees
as_raw() {
    say "copying the virtual disk to $2, as raw bytes"
    qemu-img convert --image-opts -O raw "$1" "$2" || die 'it could not be read, or there is no room for it: give another folder'
}

# as_new FILE FORMAT OPTIONS NEW: raw bytes as a virtual disk
as_new() {
    say "writing $4"
    if ! qemu-img convert -f raw -O "$2" ${3:+-o "$3"} "$1" "$4"; then
        rm -f "$4"
        fail "$4 could not be written; the changed disk is $1, as raw bytes"
    fi
    new_disk=$(printf '%s' "$4" | sed 's/,/,,/g')
    raw_disk=$(printf '%s' "$1" | sed 's/,/,,/g')
    qemu-img compare --image-opts "driver=raw,file.driver=file,file.filename=$raw_disk" "driver=$2,file.driver=file,file.filename=$new_disk" ||
        fail "$4 differs from $1, which is the changed disk as raw bytes: do not use $4"
}
