@echo off
>> calls.log echo %~n0 %*
find "list volume" "%~2" >nul
if not errorlevel 1 (
    echo.
    echo   Disk ###  Status         Size     Free     Dyn  Gpt
    echo   --------  -------------  -------  -------  ---  ---
    echo   Disk 0    Online          466 GB      0 B
    exit /b 0
)
find "list partition" "%~2" >nul
if not errorlevel 1 (
    echo Disk 0 is now the selected disk.
    echo.
    echo AT^&T Disk
    echo   Volume ###  Ltr  Label        Fs     Type        Size     Status     Info
    echo   ----------  ---  -----------  -----  ----------  -------  ---------  --------
    echo   Volume 7     C                NTFS   Partition     68 GB  Healthy    System
    echo.
    echo   Partition ###  Type              Size     Offset
    echo   -------------  ----------------  -------  -------
    echo   Partition 1    Primary             68 GB    32 KB
    exit /b 0
)
type "%~2"
echo Partition 1 is now the selected partition.
echo Offset in Bytes: 32256
exit /b 0
