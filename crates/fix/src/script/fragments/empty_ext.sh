empty=no
field() { number "$part" $((1024 + $1)) "$2"; }
own=$(field 84 4)
for inode in $(field 632 4) $(field 620 4); do if [ "$inode" -ge "$(field 84 4)" ]; then own=$((own + 1)); fi; done
used=$(($(field 0 4) - $(field 16 4)))
if [ "$(field 58 2)" = 1 ] && [ $(($(field 96 4) & 4)) = 0 ] && e2fsck -f -n "$part" > /dev/null 2>&1; then
    case $(debugfs -R "stat <$(field 84 4)>" "$part" 2> /dev/null | head -n 1) in
    *Type:\ directory*) if [ "$used" -le "$own" ]; then empty=yes; fi ;;
    *) if [ "$used" -lt "$own" ]; then empty=yes; fi ;;
    esac
fi
