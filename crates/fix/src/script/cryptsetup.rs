//! `cryptsetup`, which re-creates LUKS headers with the same key, and re-encrypts in larger sectors.

use std::fmt::Write;
use std::path::Path;

use super::fragment::filled;
use super::words::quoted;
use super::{Language, Refusal, Tool, Writer, shell};
use crate::change::Change;
use crate::change::encryption::{Payload, Sector};
use crate::{How, Step};

pub(super) static TOOL: Tool = Tool {
    name: "cryptsetup",
    title: "cryptsetup 2.4 or later",
    language: Language::Shell,
    does: |change| matches!(change, Change::Payload(_) | Change::EncryptionSector(_)),
    script: |order| shell::script(order, step),
};

fn step(writer: &Writer<'_>, step: &Step) -> Result<String, Refusal> {
    writer.first(step)?;
    match &step.change {
        Change::Payload(change) => payload(writer, step, change),
        Change::EncryptionSector(change) => sector(writer, change),
        _ => Ok(String::new()),
    }
}

/// A passphrase is asked for, or taken from the file that `LUKS_KEY_FILE` names.
const SECRET: &str = "\
need cryptsetup cryptsetup-bin
if [ -n \"${LUKS_KEY_FILE-}\" ]; then set -- --key-file \"$LUKS_KEY_FILE\"; else set --; fi
";

/// An open volume is not touched.
const CLOSED: &str = "\
if [ -b \"$part\" ] && [ -n \"$(ls \"/sys/class/block/$(basename \"$(readlink -f \"$part\")\")/holders\")\" ]; then
    die 'it is open: close what is on it (umount, cryptsetup close)'
fi
";

fn payload(writer: &Writer<'_>, step: &Step, change: &Payload) -> Result<String, Refusal> {
    let name = &writer.job.stack.layer(change.layer).name;
    let what = quoted(Path::new(name))?;
    let cipher = quoted(Path::new(&change.cipher))?;
    let keeps = matches!(step.how, How::Restore { .. });
    let mut out = SECRET.to_owned();
    if !keeps {
        let _ = writeln!(out, "contents_may_go {what}");
    }
    out += &writer.reach(change.device)?;
    out += CLOSED;
    let label = match change.format.as_str() {
        "luks2" => "tag LABEL \"$part\"\nlabel=$tagged\n",
        _ => "",
    };
    let (from, to) = (change.from.start().get(), change.to.start().get());
    let len = change.from.len().get();
    let _ = write!(
        out,
        "# The volume key is kept in memory only, and only as long as the script runs.\n\
         keys=$(mktemp -d /dev/shm/straddle-fix.XXXXXX)\n\
         forget() {{ rm -rf \"$keys\"; }}\n\
         at_end forget\n\
         work=$(mktemp -d \"$folder/straddle-fix.XXXXXX\")\n\
         uuid=$(cryptsetup luksUUID \"$part\") || die 'it has no LUKS header'\n\
         {label}\
         cryptsetup luksDump -q --dump-volume-key --volume-key-file \"$keys/volume\" \"$@\" \"$part\" > /dev/null || die 'it does not open with that passphrase'\n\
         bits=$(($(stat -c %s \"$keys/volume\") * 8))\n\
         cryptsetup luksHeaderBackup -q --header-backup-file \"$work/header\" \"$part\" || die 'its header could not be copied'\n\
         say \"its header as it was: $work/header\"\n"
    );
    if keeps {
        let _ = write!(
            out,
            "dd if=\"$part\" of=\"$work/payload\" bs=1M iflag=skip_bytes,count_bytes,fullblock skip={from} count={len} conv=fsync status=none || die 'no room for a copy of it here'\n\
             cmp -n {len} -i 0:{from} \"$work/payload\" \"$part\" || die 'the copy is not the same'\n\
             say \"what is encrypted, as it was: $work/payload\"\n"
        );
    }
    let sector = match change.format.as_str() {
        "luks2" => format!(
            " --sector-size {} ${{label:+--label=\"$label\"}}",
            change.sector.get()
        ),
        _ => String::new(),
    };
    let _ = write!(
        out,
        "doing='making its header again'\n\
         way_back=\"its header as it was is in $work/header: cryptsetup luksHeaderRestore --header-backup-file brings it back{contents}\"\n\
         if ! cryptsetup luksFormat -q --type {} --cipher={cipher} --key-size \"$bits\" --volume-key-file \"$keys/volume\" --uuid \"$uuid\" --offset {}{sector} \"$@\" \"$part\"; then\n    \
             cryptsetup luksHeaderRestore -q --header-backup-file \"$work/header\" \"$part\" || fail \"no new header, and the old one is in $work/header\"\n    \
             doing=\n    \
             die 'no new header could be made; the old one was put back'\n\
         fi\n",
        change.format,
        to / 512,
        contents = match keeps {
            true => format!(
                "; what is encrypted is in $work/payload and belongs to byte {from} then, to byte {to} with the new header"
            ),
            false => String::new(),
        },
    );
    if keeps {
        let _ = write!(
            out,
            "dd if=\"$work/payload\" of=\"$part\" bs=1M oflag=seek_bytes seek={to} conv=notrunc,fsync status=none || fail \"the data are in $work/payload; write them to byte {to}\"\n\
             cmp -n {len} -i 0:{to} \"$work/payload\" \"$part\" || fail \"the data are in $work/payload; what was written to byte {to} is not the same\"\n\
             rm \"$work/payload\"\n"
        );
    }
    out += "doing=\nrm -rf \"$keys\"\n";
    out += writer.release(change.device)?;
    Ok(out)
}

fn sector(writer: &Writer<'_>, change: &Sector) -> Result<String, Refusal> {
    let encrypted = filled(
        include_str!("fragments/luks_sector.sh"),
        &[("to", &change.to.get().to_string())],
    );
    let reach = writer.reach(change.device)?;
    let release = writer.release(change.device)?;
    Ok([SECRET, &reach, CLOSED, &encrypted, release].concat())
}
