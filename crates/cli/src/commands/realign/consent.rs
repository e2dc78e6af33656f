//! Who agrees to what is written: an image needs a word, a device its name once more.

use std::path::Path;

use anyhow::bail;

use crate::args::realign::Realign;
use crate::commands::typed;

/// True for a block device.
pub(super) fn is_device(target: &Path) -> bool {
    #[cfg(unix)]
    return std::fs::metadata(target)
        .is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_block_device(&found.file_type()));
    #[cfg(not(unix))]
    return target.to_string_lossy().starts_with(r"\\.\");
}

/// The last component of a path.
fn name(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// What is typed to agree.
pub(super) fn words(target: &Path) -> anyhow::Result<String> {
    Ok(match is_device(target) {
        true => format!("--yes-move {}", typed::word(&name(target))),
        false => "--yes".to_owned(),
    })
}

/// Whether the target may be written to.
///
/// # Errors
/// When it was agreed to for something else.
pub(super) fn is_given(args: &Realign) -> anyhow::Result<bool> {
    let target = args.target.display();
    let expected = name(&args.target);
    match (is_device(&args.target), args.yes, &args.yes_move) {
        (_, false, None) => Ok(false),
        (true, true, _) => {
            bail!("{target} is a block device: name it once more, --yes-move {expected}")
        }
        (true, false, Some(given)) if *given == expected => Ok(true),
        (true, false, Some(given)) => bail!(
            "--yes-move {given} agrees to another device than {target}; expected --yes-move {expected}"
        ),
        (false, true, _) => Ok(true),
        (false, false, Some(_)) => bail!("{target} is no block device: agree with --yes"),
    }
}
