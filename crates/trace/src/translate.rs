/// Where recorded requests lie in what is judged: the partitions of a disk, the volumes below a volume, the file of a virtual disk.
pub trait Translate: Send + Sync {
    /// Hands over the pieces of `len` bytes from `start` of a recorded device: the name of what each lies in, where it begins there,
    /// and how long it is. Nothing for addresses that lie nowhere, such as blocks that a virtual disk does not hold.
    ///
    /// `false` when the device is not known: its requests are judged as they were recorded.
    fn translate(
        &self,
        device: &[u8],
        start: u64,
        len: u64,
        piece: &mut dyn FnMut(&[u8], u64, u64),
    ) -> bool;
}
