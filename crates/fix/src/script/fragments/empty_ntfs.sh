empty=no
if names=$(ntfsls -a -i "$part" 2> /dev/null) && records=$(ntfscat -i 0 -a 0xb0 "$part" 2> /dev/null | od -An -v -t u1 -w1 | awk 'NR == 4 && $1 >= 8 || NR > 4 && $1 { bad = 1 } END { print (NR > 3 && !bad) }'); then
    names=$(printf '%s\n' "$names" | grep -v -x -E -e ' *5 \.\.?' -e '') || :
    if [ -z "$names" ] && [ "$records" = 1 ]; then empty=yes; fi
fi
