@echo off
>> calls.log echo %~n0 %*
if "%~1"=="diskdrive" goto diskdrive
if "%~1"=="partition" goto partition
if "%~1"=="volume" (
    echo ERROR:
    echo Description = Invalid class
    exit /b 44032
)
echo.
echo Antecedent=\\OLD\root\cimv2:Win32_DiskPartition.DeviceID="Disk #0, Partition #0"
echo Dependent=\\OLD\root\cimv2:Win32_LogicalDisk.DeviceID="C:"
echo EndingAddress=
echo StartingAddress=
exit /b 0
:diskdrive
if "%~2"=="where" goto one
echo.
echo BytesPerSector=512
echo DeviceID=\\.\PHYSICALDRIVE0
echo Index=0
echo InterfaceType=IDE
echo Model=WDC WD5003ABYX-01WERA1
if not "%~3"=="BytesPerSector" echo SerialNumber=     WD-WMAYP4852917
echo Size=500105249280
exit /b 0
:one
if not "%~3"=="Index=0" exit /b 0
echo.
echo BytesPerSector=512
echo SerialNumber=     WD-WMAYP4852917
exit /b 0
:partition
echo.
echo BlockSize=512
echo DeviceID=Disk #0, Partition #0
echo DiskIndex=0
echo Index=0
echo Size=73397214720
echo StartingOffset=32256
exit /b 0
