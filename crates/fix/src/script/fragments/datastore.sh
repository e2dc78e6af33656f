need esxcli
need vim-cmd
need vmkfstools
label=__label__
# One extent, and it is this one.
extents=$(esxcli --formatter=csv --format-param=fields=VolumeName,DeviceName,Partition storage vmfs extent list) || die 'esxcli lists no extents'
of_label=$(printf '%s\n' "$extents" | want="$label" awk -F, 'NR > 1 { for (i = 1; i <= NF; i++) if ($i == ENVIRON["want"]) n++ } END { print n + 0 }')
[ "$of_label" = 1 ] || die "$label has $of_label extents, not one"
printf '%s\n' "$extents" | grep -F "$label" | grep -F "${__name__##*/}" > /dev/null || die "$label is not on $__name__"
vms=$(vim-cmd vmsvc/getallvms) || die 'vim-cmd lists no virtual machines'
if printf '%s\n' "$vms" | grep -F "[$label]" > /dev/null; then
    die "virtual machines are registered on $label: move them to another datastore first (Storage vMotion)"
fi
# What the filesystem keeps for itself begins with a dot and ends in .sf.
left=$(ls -A "/vmfs/volumes/$label") || die "/vmfs/volumes/$label is not mounted"
left=$(printf '%s\n' "$left" | grep -v -e '^\..*\.sf$' -e '^$' || :)
[ -z "$left" ] || [ "$backed_up" = 1 ] || die "$label is not empty: $left; move it away, or say --yes --contents-are-backed-up"
# VMFS-6 is made by 6.5 and later.
case $(vmware -v) in
*' ESXi 5.'* | *' ESXi 6.0'*) version=vmfs5 ;;
*' ESXi '*) version=vmfs6 ;;
*) die 'this is not ESXi 5.0 or later' ;;
esac
