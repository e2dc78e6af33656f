# md arrays of every layout: where parity goes around and copies lie, for even and odd numbers of members.
# Takes long.
# For every commit: of each level one layout of each direction and place of parity, and of copies those whose rows do not fill.
# More in a soak.
. "$LAB/helpers.sh"
. "$LAB/md.sh"

for layout in la ra ls rs parity-first parity-last; do
    case $layout in la | rs | parity-first) every= ;; *) every=in_soak ;; esac
    $every try 1.2 5 3 --chunk=16 --layout=$layout
done
for layout in la ra ls rs parity-first ddf-zero-restart ddf-N-restart ddf-N-continue \
    left-asymmetric-6 right-asymmetric-6 left-symmetric-6 right-symmetric-6 parity-first-6; do
    case $layout in ra | ls | ddf-zero-restart | ddf-N-continue | right-symmetric-6 | parity-first-6) every= ;; *) every=in_soak ;; esac
    $every try 1.2 6 5 --chunk=8 --layout=$layout
done
for layout in n2 n3 f2 f3 o2 o3; do
    for count in 4 5; do
        case $layout$count in n25 | n34 | f25 | o24 | o35) every= ;; *) every=in_soak ;; esac
        $every try 1.2 10 $count --chunk=8 --layout=$layout
    done
done
in_soak try 1.2 5 3 --chunk=64 --data-offset=3M
try 1.1 10 3 --chunk=32 --layout=n2 --data-offset=2050s
try 1.0 6 6 --chunk=128 --bitmap=internal
echo "$compared configurations, $blocks blocks"
