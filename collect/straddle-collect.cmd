@echo off
rem Collects what Windows says about its disks, partitions and volumes, for `straddle check`.
rem For Windows Server 2003 to today, where PowerShell is missing or may not run scripts; with PowerShell 3 or
rem later use straddle-collect.ps1, which finds out more.
rem
rem It runs commands that only read, prints their list before it runs them, and writes into one new folder and
rem nowhere else. Text is UTF-8 from Windows Vista on, before that the code page of the console.
setlocal EnableExtensions DisableDelayedExpansion

set "NOSERIALS="
set "OUT="
:arguments
if "%~1"=="" goto named
if /i "%~1"=="-NoSerials" (
    set "NOSERIALS=1"
    shift
    goto arguments
)
if /i "%~1"=="/NoSerials" (
    set "NOSERIALS=1"
    shift
    goto arguments
)
if "%~1"=="/?" goto usage
if not "%OUT%"=="" goto usage
set "OUT=%~1"
shift
goto arguments

:named
if not "%OUT%"=="" goto checked
rem The date as this Windows writes it, without what no file name may have.
set "TODAY=%DATE%"
set "TODAY=%TODAY:/=-%"
set "TODAY=%TODAY:.=-%"
set "TODAY=%TODAY::=-%"
set "TODAY=%TODAY: =-%"
set "OUT=straddle-%COMPUTERNAME%-%TODAY%"

:checked
if exist "%OUT%" (
    echo %OUT% exists already. Nothing was run. Name another folder: straddle-collect.cmd FOLDER
    exit /b 2
)

rem Where a serial number is asked for. All properties otherwise: older systems have fewer, and refuse a list
rem with one that they do not know.
set "DRIVES=wmic diskdrive get /value"
if defined NOSERIALS set "DRIVES=wmic diskdrive get BytesPerSector,Caption,DeviceID,Index,InterfaceType,MediaType,Model,Partitions,SectorsPerTrack,Signature,Size,TotalCylinders,TotalHeads,TracksPerCylinder /value"
set "MAPPING=wmic path Win32_LogicalDiskToPartition get /value"

echo straddle-collect: what this Windows says about its disks, partitions and volumes.
echo.
echo These commands will be run. All of them only read:
echo     ver
echo     %DRIVES%
if defined NOSERIALS echo     wmic diskdrive where "Index=N" get SerialNumber /value, for each disk N, to be hashed by certutil
echo     wmic partition get /value
echo     wmic volume get /value
echo     %MAPPING%
echo     mountvol
echo     mountvol X: /L, for each drive letter X from C to Z
echo     fsutil fsinfo ntfsinfo X: and fsutil fsinfo sectorinfo X:, for each of those that is a volume
echo     fsutil dirty query %SystemDrive%, to learn whether this console is elevated
echo     diskpart /s SCRIPT, with: list disk, list volume, select disk N, detail disk, list partition,
echo         select partition N, detail partition
echo     chcp 65001, so that text is UTF-8; the code page is set back at the end
echo.
echo They write one file each into this new folder, and nothing anywhere else:
echo     %OUT%
echo.
if defined NOSERIALS (
    echo Serial numbers of disks are replaced by the beginning of their SHA-256.
) else (
    echo Serial numbers of disks are NOT hidden. straddle-collect.cmd -NoSerials replaces them by the beginning of
    echo their SHA-256, which is the same wherever the same disk is seen.
)
echo.

mkdir "%OUT%"
if errorlevel 1 (
    echo The folder cannot be made. Nothing was run.
    exit /b 2
)
set "TEMPORARY=%OUT%\running.tmp"
set "SCRIPT=%OUT%\diskpart-script.txt"
set "FAILED="

rem Batch files of Windows 2000 to 2003 stop where the code page is 65001.
set "OLDPAGE="
ver | find " 5." >nul
if not errorlevel 1 goto page_set
for /f "tokens=2 delims=:" %%p in ('chcp') do set "OLDPAGE=%%p"
chcp 65001 >nul 2>&1
:page_set

set "LINE=ver"
call :run ver
set "LINE=%DRIVES%"
call :run wmic-diskdrive
if defined NOSERIALS call :serials
set "LINE=wmic partition get /value"
call :run wmic-partition
set "LINE=wmic volume get /value"
call :run wmic-volume
set "LINE=%MAPPING%"
call :run wmic-logicaldisktopartition
set "LINE=mountvol"
call :run mountvol

for %%d in (C D E F G H I J K L M N O P Q R S T U V W X Y Z) do call :volume %%d

call fsutil dirty query %SystemDrive% >nul 2>&1
set "ELEVATED=1"
if errorlevel 1 set "ELEVATED="
if defined ELEVATED (call :diskpart) else (set "FAILED=1")

if not "%OLDPAGE%"=="" chcp %OLDPAGE% >nul 2>&1
if exist "%TEMPORARY%" del "%TEMPORARY%"
if exist "%SCRIPT%" del "%SCRIPT%"

echo.
if not defined ELEVATED (
    echo This console is not elevated: diskpart was left out, and fsutil may have refused. The offsets of partitions
    echo are in wmic-partition.txt all the same. For the rest, run it again as administrator.
)
if defined FAILED echo Some commands failed. What they said is in their files, behind "### error".
echo Done. What to do next: copy the folder to a machine with straddle and run
echo     straddle check "%OUT%"
exit /b 0

:usage
echo straddle-collect.cmd [-NoSerials] [FOLDER]
echo     Writes what Windows says about its disks into FOLDER, straddle-%COMPUTERNAME%-DATE if none is named.
exit /b 2

rem Runs LINE and puts what it prints into the file %1.
:run
set "FILE=%OUT%\%~1.txt"
> "%FILE%" echo ### host: %COMPUTERNAME%
>> "%FILE%" echo ### command: %LINE%
if defined NOSERIALS (
    >> "%FILE%" echo ### serial numbers of disks are replaced by the beginning of their SHA-256
) else (
    >> "%FILE%" echo ### serial numbers of disks are not hidden
)
call %LINE% > "%TEMPORARY%" 2>&1
set "CODE=%ERRORLEVEL%"
rem wmic writes UTF-16 into a file. `type` knows that by its mark and writes the console's code page.
type "%TEMPORARY%" >> "%FILE%"
if "%CODE%"=="0" (
    echo     %~1
) else (
    >> "%FILE%" echo ### error: the command ended with code %CODE%
    echo     %~1: failed
    set "FAILED=1"
)
exit /b 0

rem The volume with the letter %1, if it is one: network drives and what `subst` makes are none.
:volume
call mountvol %1: /L >nul 2>&1
if errorlevel 1 exit /b 0
set "LINE=fsutil fsinfo ntfsinfo %1:"
call :run fsutil-ntfsinfo-%1
set "LINE=fsutil fsinfo sectorinfo %1:"
call :run fsutil-sectorinfo-%1
exit /b 0

rem diskpart ends at the first command that fails, so each disk and its partitions have a run of their own.
:diskpart
> "%SCRIPT%" echo list disk
>> "%SCRIPT%" echo list volume
set "LINE=diskpart /s "%SCRIPT%""
call :run diskpart-list
rem `  Disk 0    Online …`: the second word is the number, in every language.
rem What diskpart prints goes through a variable: `call` would read signs in it as its own.
for /f "usebackq tokens=2" %%n in ("%OUT%\diskpart-list.txt") do (
    set "DISK=%%n"
    call :disk
)
exit /b 0

:disk
set "DIGITS=%DISK%"
call :number
if errorlevel 1 exit /b 0
if exist "%OUT%\diskpart-disk%DISK%.txt" exit /b 0
> "%SCRIPT%" echo select disk %DISK%
>> "%SCRIPT%" echo detail disk
>> "%SCRIPT%" echo list partition
set "LINE=diskpart /s "%SCRIPT%""
call :run diskpart-disk%DISK%
> "%SCRIPT%" echo select disk %DISK%
set "PARTITIONS="
set "AFTER="
for /f "usebackq tokens=1,2" %%a in ("%OUT%\diskpart-disk%DISK%.txt") do (
    set "WORD=%%a"
    set "DIGITS=%%b"
    call :partition
)
if not defined PARTITIONS exit /b 0
set "LINE=diskpart /s "%SCRIPT%""
call :run diskpart-partitions-disk%DISK%
exit /b 0

rem A line of `list partition`, behind the dashes under its heading. The volumes of `detail disk` stand before.
:partition
if "%WORD:~0,3%"=="---" (
    set "AFTER=1"
    > "%SCRIPT%" echo select disk %DISK%
    set "PARTITIONS="
    exit /b 0
)
if not defined AFTER exit /b 0
call :number
if errorlevel 1 exit /b 0
set "PARTITIONS=1"
>> "%SCRIPT%" echo select partition %DIGITS%
>> "%SCRIPT%" echo detail partition
exit /b 0

rem Succeeds when DIGITS is a number of at most three digits.
:number
if not defined DIGITS exit /b 1
if not "%DIGITS:~3%"=="" exit /b 1
for /f "delims=0123456789" %%x in ("%DIGITS%") do exit /b 1
exit /b 0

rem The serial number of each disk as the beginning of its SHA-256, which is the same for the same number everywhere.
:serials
set "FILE=%OUT%\wmic-diskdrive-serials.txt"
> "%FILE%" echo ### host: %COMPUTERNAME%
>> "%FILE%" echo ### command: wmic diskdrive get BytesPerSector,Index,SerialNumber /value
for /l %%n in (0,1,63) do call :serial %%n
exit /b 0

:serial
set "SERIAL="
set "BYTES="
rem A line of wmic ends in two carriage returns. The inner loop takes the second one off.
for /f "tokens=1,* delims==" %%a in ('wmic diskdrive where "Index=%1" get BytesPerSector^,SerialNumber /value 2^>nul') do (
    for /f "tokens=* delims= " %%c in ("%%b") do (
        if /i "%%a"=="SerialNumber" set "SERIAL=%%c"
        if /i "%%a"=="BytesPerSector" set "BYTES=%%c"
    )
)
if not defined SERIAL exit /b 0
:trim
if "%SERIAL:~-1%"=="." set "SERIAL=%SERIAL:~0,-1%" & goto trim
if "%SERIAL:~-1%"==" " set "SERIAL=%SERIAL:~0,-1%" & goto trim
<nul set /p "=%SERIAL%" > "%TEMPORARY%"
set "HASH="
for /f "skip=1 tokens=*" %%h in ('certutil -hashfile "%TEMPORARY%" SHA256 2^>nul') do if not defined HASH set "HASH=%%h"
if not defined HASH exit /b 0
set "HASH=%HASH: =%"
>> "%FILE%" echo.
if defined BYTES >> "%FILE%" echo BytesPerSector=%BYTES%
>> "%FILE%" echo Index=%1
>> "%FILE%" echo SerialNumber=sha256-%HASH:~0,16%
exit /b 0
