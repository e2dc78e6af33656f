set "yes="
set "backed="
__preset__

:options
if "%~1"=="" goto checks
if /i "%~1"=="/yes" goto option_yes
if /i "%~1"=="/contents-are-backed-up" goto option_backed
__test__
goto usage

:option_yes
set "yes=1"
shift
goto options

:option_backed
set "backed=1"
shift
goto options

__option_disk__
:usage
echo usage: %~nx0 __usage__[/yes /contents-are-backed-up]
exit /b 2

:refuse
echo refused, nothing was written: disk %disk%: %why%
exit /b 2

:failed
echo FAILED: disk %disk%: %why%
echo The disk is as the last command left it: look at it in Disk Management before anything else is done.
exit /b 1

:checks
__given__
set "work=%TEMP%\straddle-fix-%RANDOM%"
set "why=no folder for what is noted down could be made in TEMP"
md "%work%"
if errorlevel 1 goto refuse
