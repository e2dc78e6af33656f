@echo off
>> calls.log echo %~n0 %*
if "%~1"=="" (
    echo     \\?\Volume{c3a1b0d2-4f5e-11db-9a10-806e6f6e6963}\
    echo         C:\
    exit /b 0
)
if /i not "%~1"=="C:" exit /b 1
echo     \\?\Volume{c3a1b0d2-4f5e-11db-9a10-806e6f6e6963}\
exit /b 0
