esxcli storage filesystem unmount -l "$label" || die "$label cannot be unmounted: something uses it"
# From here on the datastore is gone; the old table, should it be needed:
printf '%s\n' "$table"
failed() {
    printf 'FAILED: %s; %s is unmounted, and has to be made by hand: see the last command\n' "$1" "$label" >&2
    exit 1
}
