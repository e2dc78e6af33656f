# What changes on the disks when the bytes that a report was asked for are written: `NAME START+LENGTH` for each run, data,
# copies and parities joined, in the order of names; and `NAME WHY` for what the report cannot place.
.targets[0] as $it
| ([$it.places[].written[]
    | select($it.stack[.layer].below == [])
    | { name: $it.stack[.layer].name, start: .extent.start, end: (.extent.start + .extent.len) }]
  | sort_by(.name, .start)
  | reduce .[] as $run ([];
      if length > 0 and .[-1].name == $run.name and .[-1].end >= $run.start
      then .[-1].end = ([.[-1].end, $run.end] | max)
      else . + [$run] end)
  | .[] | "\(.name) \(.start)+\(.end - .start)"),
  ([$it.places[].gaps[]
    | "\($it.stack[.layer].name) \(if .beside then "on \($it.stack[.beside].name)" else "" end): \(.why)"]
  | unique | .[] | "? " + .)
