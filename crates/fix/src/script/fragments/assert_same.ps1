function Assert-Same {
    param([string] $What, $Have, $Want)
    if ($Have -ne $Want) {
        throw "refused, nothing was written: its $What is $Have, the plan was made for ${Want}: it is another disk, or it was changed"
    }
}
