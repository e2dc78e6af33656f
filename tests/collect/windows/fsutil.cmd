@echo off
>> calls.log echo %~n0 %*
if "%~1"=="dirty" exit /b 0
if "%~2"=="sectorinfo" (
    echo Error:  Access is denied.
    exit /b 1
)
echo NTFS Volume Serial Number :       0x3a16ff9d16ff5879
echo Bytes Per Sector  :               512
echo Bytes Per Cluster :               4096
exit /b 0
