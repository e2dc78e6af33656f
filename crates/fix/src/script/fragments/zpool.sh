need zpool zfsutils-linux
need zfs zfsutils-linux
pool=__name__
snapshot=straddle-fix-$(date +%s)
imported=no
# Refused, or failed while the pool was still there: it is left as it was found.
leave() {
    if [ "$status" != 0 ] && [ -z "$doing" ]; then
        zfs destroy -r "$pool@$snapshot" > /dev/null 2>&1 || :
        [ "$imported" = no ] || zpool export "$pool"
    fi
}
at_end leave
if ! zpool list -H -o name "$pool" > /dev/null 2>&1; then
    zpool import__folders__ "$pool" || die "the pool $pool cannot be imported"
    imported=yes
fi
[ "$(zpool list -H -o guid "$pool")" = __guid__ ] || die "the pool $pool that is imported is another: export it first"
[ "$(zpool list -H -o health "$pool")" = ONLINE ] || die "the pool $pool is not ONLINE"
work=$(mktemp -d "$folder/straddle-fix.XXXXXX") || die "cannot make a folder in $folder"
zfs snapshot -r "$pool@$snapshot" || die 'no snapshot could be made'
zfs send -R "$pool@$snapshot" > "$work/stream" || die "the stream could not be written to $work/stream"
sync
# A stream of the same snapshot is the same.
zfs send -R "$pool@$snapshot" | cmp -s - "$work/stream" || die "$work/stream is not what the pool holds"
zfs get -H -o property,value -s local all "$pool" > "$work/properties"
say "the pool as a stream: $work/stream; zfs receive -F -d POOL brings it back"
# What was mounted of it a moment ago may still be busy.
tries=5
until zpool destroy "$pool"; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || die "the pool $pool is in use"
    sleep 2
done
doing="making the pool $pool again"
way_back="its data are in $work/stream: zpool create, zfs receive -F -u -d $pool < $work/stream"
zpool create -f -m none -o ashift=__ashift__ "$pool"__vdevs__
zfs receive -F -u -d "$pool" < "$work/stream"
zpool export "$pool"
doing=
say "the pool is exported; zpool import, look at it, then remove $work and the snapshots @$snapshot"
