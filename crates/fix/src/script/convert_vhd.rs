//! `Convert-VHD` of Hyper-V, which makes a VHDX of a VHD.

use std::fmt::Write;
use std::path::Path;

use super::power::{Frame, Parts, quoted};
use super::{Guard, Job, Language, Refusal, Tool, power};
use crate::Step;
use crate::change::Change;
use crate::change::image::Format;

pub(super) static TOOL: Tool = Tool {
    name: "convert-vhd",
    title: "Convert-VHD of Hyper-V (Windows 8, Server 2012 or later), into a new file beside the old one",
    language: Language::PowerShell,
    does: |change| matches!(change, Change::Image(image) if image.to == Format::Vhdx),
    script: |order| power::script(order, &FRAME),
};

static FRAME: Frame = Frame {
    module: "Hyper-V",
    warning: "# It writes a new file beside the old one, which stays. Shut the guest down first.\n\
              # Run it with -WhatIf to see what it would do; it asks before each step unless -Confirm:$false says otherwise.\n",
    needs_backup: false,
    parts,
};

fn parts(job: &Job<'_>, step: &Step, index: usize) -> Result<Parts, Refusal> {
    let Change::Image(image) = &step.change else {
        return Err(Refusal::Unknown(
            "the step is about no virtual disk".to_owned(),
        ));
    };
    // By its name alone, in the folder in which the script is run: the plan may come from another machine.
    let old = job.path(image.file)?;
    let old = Path::new(".").join(old.file_name().unwrap_or(old.as_os_str()));
    let old = quoted(super::safe(&old)?)?;
    let (path, new, stream) = (
        format!("$path{}", index + 1),
        format!("$new{}", index + 1),
        format!("$file{}", index + 1),
    );
    let guard = Guard::of(job.stack, image.file);
    let mut checks = format!(
        "{path} = (Resolve-Path -LiteralPath {old}).ProviderPath\n\
         {new} = [System.IO.Path]::ChangeExtension({path}, 'vhdx')\n\
         if (Test-Path -LiteralPath {new}) {{ throw \"refused, nothing was written: ${{new{n}}} is there already\" }}\n\
         {stream} = [System.IO.File]::OpenRead({path})\n\
         try {{\n",
        n = index + 1,
    );
    if let Some(size) = guard.size {
        let _ = writeln!(
            checks,
            "    Assert-Same -What 'size' -Have {stream}.Length -Want {}",
            size.get()
        );
    }
    for mark in &guard.marks {
        let hex: String = mark
            .bytes
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect();
        let _ = write!(
            checks,
            "    $bytes = New-Object -TypeName 'byte[]' -ArgumentList {len}\n\
             \x20   $null = {stream}.Seek({at}, [System.IO.SeekOrigin]::Begin)\n\
             \x20   $null = {stream}.Read($bytes, 0, {len})\n\
             \x20   Assert-Same -What {what} -Have ([System.BitConverter]::ToString($bytes) -replace '-', '') -Want '{hex}'\n",
            len = mark.bytes.len(),
            at = mark.at.get(),
            what = quoted(mark.what)?,
        );
    }
    if guard.marks.is_empty() {
        return Err(Refusal::Unknown(
            "nothing was read that tells the file from others; make the plan from the file itself"
                .to_owned(),
        ));
    }
    let _ = writeln!(checks, "}} finally {{\n    {stream}.Dispose()\n}}");
    Ok(Parts {
        asks_number: false,
        takes_empty: false,
        checks,
        writes: format!(
            "if ($PSCmdlet.ShouldProcess({path}, 'convert to VHDX')) {{\n\
             \x20   Convert-VHD -Path {path} -DestinationPath {new} -VHDType Dynamic\n\
             \x20   # What a guest sees has the same size; the old file is kept until it has started from the new one.\n\
             \x20   if ((Get-VHD -Path {path}).Size -ne (Get-VHD -Path {new}).Size) {{\n\
             \x20       throw \"the copy has another size than the old disk: do not use ${{new{n}}}\"\n\
             \x20   }}\n\
             \x20   Write-Output -InputObject \"delete ${{path{n}}} when the guest has started from ${{new{n}}}\"\n\
             }}\n",
            n = index + 1,
        ),
    })
}
