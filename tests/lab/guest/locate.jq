# Where the bytes that a report was asked for lie at the end of their ways: `OFFSET NAME PLACE`.
.targets[0] as $it
| $it.places[]
| .ends as $ends | .steps[0] as $asked | .steps[-1] as $last
| if $ends then error("byte \($asked.offset) of \($it.stack[$asked.layer].name): \($ends)") else . end
| "\($asked.offset) \($it.stack[$last.layer].name) \($last.offset)"
