<#
.SYNOPSIS
    Collects what Windows says about its disks, partitions, volumes and virtual disks, for `straddle check`.

.DESCRIPTION
    Runs commands that only read, prints their list before it runs them, and writes one file for each into one new
    folder and nothing anywhere else. It needs no administrator, but finds out more as one, and says what is missing.

    For Windows PowerShell 3 to 5.1 and PowerShell 7. Where the Storage module is missing (Windows 7, Server 2008 R2)
    WMI is asked alone. Without PowerShell 3 use straddle-collect.cmd.

    Serial numbers of disks are written as they are, so that disks can be told apart and known again in other captures.

.PARAMETER OutputFolder
    The folder to make. It must not exist. Default: straddle-HOST-DATE in the current folder.

.PARAMETER NoSerials
    Replaces the serial numbers of disks, wherever they occur, by the beginning of their SHA-256. The same disk has the
    same replacement in every capture, so that captures can still be joined.

.EXAMPLE
    powershell -ExecutionPolicy Bypass -File straddle-collect.ps1 -NoSerials
#>
[CmdletBinding()]
param(
    [string] $OutputFolder,
    [switch] $NoSerials
)

Set-StrictMode -Version 2
$ErrorActionPreference = 'Continue'
# Format-List shows four elements of a list otherwise; a volume may be mounted in more places.
$FormatEnumerationLimit = 64

if ($env:OS -ne 'Windows_NT') {
    Write-Host 'This script is for Windows. On Linux use straddle-collect.sh.'
    exit 2
}

# One command: the file it is written to, what is run, and whether it gives objects or text.
function New-Step {
    param([string] $File, [string] $Command, [bool] $Objects)
    New-Object -TypeName PSObject -Property @{ File = $File; Command = $Command; Objects = $Objects }
}

function Test-Cmdlet {
    param([string] $Name)
    $null -ne (Get-Command -Name $Name -ErrorAction SilentlyContinue)
}

# The commands, in their order. Nothing is run here but what tells which of them exist and which letters there are.
function Get-Steps {
    $storage = @(
        @('get-disk', 'Get-Disk'),
        @('get-physicaldisk', 'Get-PhysicalDisk'),
        @('get-partition', 'Get-Partition'),
        @('get-volume', 'Get-Volume'),
        @('get-virtualdisk', 'Get-VirtualDisk')
    )
    foreach ($pair in $storage) {
        if (Test-Cmdlet -Name $pair[1]) {
            New-Step -File $pair[0] -Command $pair[1] -Objects $true
        }
    }
    if ((Test-Cmdlet -Name 'Get-VHD') -and (Test-Cmdlet -Name 'Get-VM')) {
        $command = 'Get-VM | Get-VMHardDiskDrive | Where-Object { $_.Path } | ForEach-Object { Get-VHD -Path $_.Path }'
        New-Step -File 'get-vhd' -Command $command -Objects $true
    }
    # PowerShell 7 has no Get-WmiObject; Get-CimInstance wants a service that may be turned off before 2012.
    $ask = 'Get-WmiObject -Class'
    if (Test-Cmdlet -Name 'Get-CimInstance') {
        $ask = 'Get-CimInstance -ClassName'
    }
    foreach ($class in 'DiskDrive', 'DiskPartition', 'Volume', 'LogicalDiskToPartition') {
        New-Step -File ('win32-' + $class.ToLowerInvariant()) -Command "$ask Win32_$class" -Objects $true
    }
    foreach ($letter in Get-FixedLetters) {
        New-Step -File "fsutil-ntfsinfo-$letter" -Command "fsutil fsinfo ntfsinfo ${letter}:" -Objects $false
        New-Step -File "fsutil-sectorinfo-$letter" -Command "fsutil fsinfo sectorinfo ${letter}:" -Objects $false
    }
    New-Step -File 'mountvol' -Command 'mountvol' -Objects $false
}

function Get-FixedLetters {
    foreach ($drive in [System.IO.DriveInfo]::GetDrives()) {
        if ($drive.DriveType -eq [System.IO.DriveType]::Fixed) {
            $drive.Name.Substring(0, 1)
        }
    }
}

# What the file's heading and the list say is run.
function Get-Shown {
    param($Step)
    if ($Step.Objects) {
        $Step.Command + ' | Format-List -Property *'
    } else {
        $Step.Command
    }
}

function Test-Elevated {
    $identity = [System.Security.Principal.WindowsIdentity]::GetCurrent()
    $principal = New-Object -TypeName System.Security.Principal.WindowsPrincipal -ArgumentList $identity
    $principal.IsInRole([System.Security.Principal.WindowsBuiltInRole]::Administrator)
}

# The text of one command and of what went wrong. It never stops the script.
function Invoke-Step {
    param($Step)
    $said = ''
    $result = @()
    $failures = @()
    $global:LASTEXITCODE = 0
    $Error.Clear()
    try {
        $block = [scriptblock]::Create($Step.Command)
        $result = @(& $block 2>$null)
        if ($Step.Objects) {
            $said = $result | Format-List -Property * | Out-String -Width 4096
        } else {
            $said = $result | Out-String -Width 4096
        }
    } catch {
        $failures += $_.Exception.Message
    }
    foreach ($problem in $Error) {
        $text = "$problem"
        if ($failures -notcontains $text) {
            $failures += $text
        }
    }
    if ((-not $Step.Objects) -and ($global:LASTEXITCODE -ne 0)) {
        $failures += "the command ended with code $global:LASTEXITCODE"
    }
    $Error.Clear()
    # The letter of a partition that has none is the character 0.
    $said = $said.Replace([string][char]0, '')
    New-Object -TypeName PSObject -Property @{ Text = $said; Failures = $failures; Objects = $result }
}

function Get-Sha256 {
    param([string] $Text)
    $algorithm = [System.Security.Cryptography.SHA256]::Create()
    $bytes = $algorithm.ComputeHash([System.Text.Encoding]::UTF8.GetBytes($Text))
    $hex = foreach ($byte in $bytes) { $byte.ToString('x2') }
    'sha256-' + (-join $hex).Substring(0, 16)
}

# Serial numbers and the spellings in which they occur: as they are; without the underscores of NVMe, as in unique
# identifiers; in hexadecimal, as in the paths of USB disks; and what is in hexadecimal, with its bytes swapped.
function Get-Spellings {
    param([string] $Serial)
    $plain = $Serial.Trim().TrimEnd('.').Trim()
    if ($plain.Length -lt 4) {
        return
    }
    $plain
    if ($plain.Contains('_')) {
        $plain.Replace('_', '')
    }
    $hex = foreach ($byte in [System.Text.Encoding]::ASCII.GetBytes($plain)) { $byte.ToString('x2') }
    -join $hex
    if ($plain -match '^([0-9A-Fa-f]{4})+$' -and $plain.Length -eq 40) {
        $characters = for ($at = 0; $at -lt 40; $at += 4) {
            [char][Convert]::ToInt32($plain.Substring($at + 2, 2), 16)
            [char][Convert]::ToInt32($plain.Substring($at, 2), 16)
        }
        (-join $characters).Trim()
    }
}

# What each spelling is replaced by: the hash of the number as it is printed on the disk, the last of the spellings
# of one in hexadecimal, the first of any other.
function Add-Serials {
    param($Objects, [hashtable] $Table)
    foreach ($object in $Objects) {
        foreach ($name in 'SerialNumber', 'AdapterSerialNumber') {
            $property = $object.PSObject.Properties[$name]
            if (($null -eq $property) -or ($property.Value -isnot [string])) {
                continue
            }
            $spellings = @(Get-Spellings -Serial $property.Value)
            if ($spellings.Count -eq 0) {
                continue
            }
            $printed = $spellings[0]
            if ($printed.Length -eq 40) {
                $printed = $spellings[-1]
            }
            $hash = Get-Sha256 -Text $printed
            foreach ($spelling in $spellings) {
                if ($spelling.Length -ge 4) {
                    $Table[$spelling] = $hash
                }
            }
        }
    }
}

# Longer spellings first: one may be a part of another.
function Hide-Serials {
    param([string] $Text, [hashtable] $Table)
    foreach ($spelling in ($Table.Keys | Sort-Object -Property Length -Descending)) {
        $Text = [regex]::Replace($Text, [regex]::Escape($spelling), $Table[$spelling], 'IgnoreCase')
    }
    $Text
}

$computer = $env:COMPUTERNAME
if (-not $OutputFolder) {
    $OutputFolder = "straddle-$computer-" + (Get-Date -Format 'yyyy-MM-dd')
}
$folder = $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($OutputFolder)
if (Test-Path -LiteralPath $folder) {
    Write-Host "$folder exists already. Nothing was run. Name another one with -OutputFolder."
    exit 2
}

$steps = @(Get-Steps)
$elevated = Test-Elevated

Write-Host 'straddle-collect: what this Windows says about its disks, partitions and volumes.'
Write-Host ''
Write-Host 'These commands will be run. All of them only read:'
foreach ($step in $steps) {
    Write-Host ('    ' + (Get-Shown -Step $step))
}
Write-Host ''
Write-Host 'They write one file each into this new folder, and nothing anywhere else:'
Write-Host "    $folder"
Write-Host ''
if ($NoSerials) {
    Write-Host 'Serial numbers of disks are replaced by the beginning of their SHA-256.'
} else {
    Write-Host 'Serial numbers of disks are NOT hidden. -NoSerials replaces them by the beginning of their SHA-256,'
    Write-Host 'which is the same wherever the same disk is seen.'
}
if (-not (Test-Cmdlet -Name 'Get-Disk')) {
    Write-Host 'The Storage module is missing here: WMI is asked alone, and physical sectors come from fsutil.'
}
if (-not $elevated) {
    Write-Host 'This PowerShell is not elevated. Without it fsutil and Get-VHD may refuse, and Get-PhysicalDisk may'
    Write-Host 'not show everything. Partitions and volumes are listed all the same.'
}
Write-Host ''

$null = New-Item -ItemType Directory -Path $folder -ErrorAction Stop
$encoding = New-Object -TypeName System.Text.UTF8Encoding -ArgumentList $false
$outputs = @()
$serials = @{}
$failed = 0

foreach ($step in $steps) {
    $output = Invoke-Step -Step $step
    if ($NoSerials) {
        # Every command is run before the first file is written: a number may occur before the disk it belongs to.
        Add-Serials -Objects $output.Objects -Table $serials
    }
    $lines = @("### host: $computer", ('### command: ' + (Get-Shown -Step $step)))
    if ($NoSerials) {
        $lines += '### serial numbers of disks are replaced by the beginning of their SHA-256'
    } else {
        $lines += '### serial numbers of disks are not hidden'
    }
    $text = ($lines -join "`r`n") + "`r`n" + $output.Text
    foreach ($failure in $output.Failures) {
        $text += '### error: ' + ($failure -replace '\s+', ' ') + "`r`n"
    }
    $outputs += New-Object -TypeName PSObject -Property @{ File = $step.File; Text = $text }
    if (@($output.Failures).Count -gt 0) {
        $failed += 1
        Write-Host "    $($step.File): failed"
    } else {
        Write-Host "    $($step.File)"
    }
}

foreach ($output in $outputs) {
    $text = $output.Text
    if ($NoSerials) {
        $text = Hide-Serials -Text $text -Table $serials
    }
    $file = Join-Path -Path $folder -ChildPath ($output.File + '.txt')
    [System.IO.File]::WriteAllText($file, $text, $encoding)
}

Write-Host ''
if ($failed -gt 0) {
    Write-Host "$failed of $($steps.Count) commands failed. What they said is in their files, behind '### error'."
}
Write-Host 'Done. What to do next: copy the folder to a machine with straddle and run'
Write-Host "    straddle check `"$folder`""
exit 0
