need qemu-img qemu-utils
new=__new__
[ ! -e "$new" ] || die "$new is there already; move it away, or delete it"
source=__source__
if ! qemu-img convert -p --image-opts -O __format__ -o __options__ "$source" "$new"; then
    rm -f "$new"
    fail 'not converted; the old file was only read'
fi
# Byte by byte, as a guest sees them; the old file is only read.
target=$(printf '%s' "$new" | sed 's/,/,,/g')
qemu-img compare --image-opts "$source" "driver=__format__,file.driver=file,file.filename=$target" ||
    fail "the copy differs from the old file: do not use $new"
say "$new has the same contents; delete the old file when the guest has started from the new one"
