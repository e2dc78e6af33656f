empty=no
super=$(btrfs inspect-internal dump-super "$part" 2> /dev/null) || super=''
tree=$(btrfs inspect-internal dump-tree -t fs "$part" 2> /dev/null) || tree='DIR_ITEM'
subvolumes=$(btrfs inspect-internal dump-tree -t root "$part" 2> /dev/null) || subvolumes='ROOT_REF'
super=$(printf '%s\n' "$super" | grep -c -E '^(log_root|num_devices)[[:space:]]+[01]$') || :
inodes=$(printf '%s\n' "$tree" | grep -c INODE_ITEM) || :
case $subvolumes in *ROOT_REF*) tree='DIR_ITEM' ;; esac
case $tree in
*DIR_ITEM* | *DIR_INDEX*) ;;
*) if [ "$super $inodes" = '2 1' ]; then empty=yes; fi ;;
esac
