echo done; whether it helped: straddle fix --verify, with the plan that --json printed before
exit /b 0

:dry
echo everything is as the plan expects; run it again with /yes /contents-are-backed-up
exit /b 0

:contents
set "why=what is on its volumes will be gone; copy it away, try the copy, and say /contents-are-backed-up"
goto refuse
