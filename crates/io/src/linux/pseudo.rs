use std::path::Path;

/// `f_type` of the filesystems that the kernel makes up: nothing in them lies anywhere. Source: `include/uapi/linux/magic.h`.
const PSEUDO: [u64; 17] = [
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x1cd1,      // devpts
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x7363_6673, // securityfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0xcafe_4a11, // bpf
    0x6165_676c, // pstore
    0x6265_6570, // configfs
    0x6573_5543, // fusectl
    0x1980_0202, // mqueue
    0xde5e_81e4, // efivarfs
    0x4249_4e4d, // binfmt_misc
    0x0187,      // autofs
    0xf97c_ff8c, // selinuxfs
];

/// True for a directory on a filesystem that the kernel makes up, such as /proc. False also where that cannot be asked.
#[must_use]
pub fn is_pseudo(path: &Path) -> bool {
    let Ok(about) = rustix::fs::statfs(path) else {
        return false;
    };
    // The field is signed on some machines, and as wide as a word.
    let kind = u64::try_from(about.f_type).unwrap_or(0) & 0xffff_ffff;
    PSEUDO.contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_makes_up_is_told_from_files() {
        assert!(is_pseudo(Path::new("/proc")));
        assert!(is_pseudo(Path::new("/proc/self")));
        assert!(!is_pseudo(Path::new("/usr")));
        assert!(!is_pseudo(Path::new("/no/such/directory")));
    }
}
