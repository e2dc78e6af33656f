# What changes on the disks when the bytes that a report was asked for are written: `NAME START+LENGTH` for each run, data,
# copies and parities joined, in the order of names; and `? NAME: WHY` for what the report cannot place. With $each, a line
# for each extent that was asked for: `OFFSET+LENGTH: RUN, RUN`.
.targets[0] as $it
| def runs: [.written[] | select($it.stack[.layer].below == [])
      | { name: $it.stack[.layer].name, start: .extent.start, end: (.extent.start + .extent.len) }];
  def gaps: .gaps[] | "? \($it.stack[.layer].name)\(if .beside then " on \($it.stack[.beside].name)" else "" end): \(.why)";
  def joined:
    sort_by(.name, .start)
    | reduce .[] as $run ([];
        if length > 0 and .[-1].name == $run.name and .[-1].end >= $run.start
        then .[-1].end = ([.[-1].end, $run.end] | max)
        else . + [$run] end)
    | map("\(.name) \(.start)+\(.end - .start)");
  if $each == "yes"
  then $it.places[] | "\(.steps[0].offset)+\(.length): \((runs | joined) + ([gaps] | unique) | join(", "))"
  else ([$it.places[] | runs] | add // [] | joined) + ([$it.places[] | gaps] | unique) | .[] end
