# Where bytes of the layer called $name lie on a disk, by composing the maps of the layers below it.
.targets[0].stack as $stack
| def down($layer; $offset):
    $stack[$layer] as $it
    | $it.map as $map
    | if $map == null then "\($it.name) \($offset)"
      elif $map.shape == "linear" then down($it.below[0]; $map.start + $offset)
      elif $map.shape == "striped" then
        ($offset / $map.stripe_unit | floor) as $chunk
        | ($map.starts | length) as $columns
        | ($chunk % $columns) as $column
        | ($chunk / $columns | floor) as $row
        | down($it.below[$column]; $map.starts[$column] + $row * $map.stripe_unit + $offset % $map.stripe_unit)
      else
        [$map.first_segments[] | select(.upper.start <= $offset and $offset < .upper.start + .upper.len)]
        | if length == 0 then error("byte \($offset) of \($it.name) is not mapped") else .[0] end
        | down($it.below[.target]; .lower + $offset - .upper.start)
      end;
  [$stack | to_entries[] | select(.value.name == $name) | .key]
  | if length == 1 then .[0] else error("\(length) layers are called \($name)") end
  | . as $layer
  | $ARGS.positional[] | "\(.) \(down($layer; .))"
