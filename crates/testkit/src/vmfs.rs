//! Makes the metadata of VMFS devices, from the published structures (see `probe/src/volume/vmfs/mod.rs`): there is no tool here
//! that does. Only what is read is there: no files, no bitmaps, no table of extents.

/// What is to be made; changed field by field.
#[derive(Clone)]
pub struct Vmfs {
    /// Version of the volume manager: 3, 5, 6.
    pub lvm: u32,
    /// Major and minor number of the filesystem: (13, 46), (14, 61), (24, 82).
    pub version: (u32, u8),
    /// Number of the device, and of devices.
    pub device: (u8, u32),
    /// First extent on it, and how many.
    pub extents: (u64, u32),
    /// Where data start.
    pub data: u64,
    /// Block and sub-block.
    pub blocks: (u64, u32),
    /// The filesystem's magic.
    pub magic: u32,
    /// Name of the datastore.
    pub label: &'static str,
}

impl Default for Vmfs {
    fn default() -> Vmfs {
        Vmfs {
            lvm: 5,
            version: (14, 61),
            device: (1, 1),
            extents: (0, 4),
            data: 0x110_0000,
            blocks: (1 << 20, 8192),
            magic: 0x2fab_f15e,
            label: "datastore1",
        }
    }
}

/// UUID of the volume, of device `n`, and of the filesystem, as they are stored.
pub fn uuid(n: u8) -> [u8; 16] {
    [
        0x3c, 0x1b, 0x2a, 0x4f, 0x80, 0x7f, 0x6e, 0x5d, n, 0x9a, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55,
    ]
}

impl Vmfs {
    /// The first 20 MiB of the device.
    pub fn image(&self) -> Vec<u8> {
        let mut bytes = vec![0; 20 << 20];
        let mut put = |at: usize, what: &[u8]| {
            if let Some(place) = bytes.get_mut(at..at.saturating_add(what.len())) {
                place.copy_from_slice(what);
            }
        };
        let device = 1 << 20;
        put(device, &0xc001_d00d_u32.to_le_bytes());
        put(device + 4, &self.lvm.to_le_bytes());
        put(device + 0x5a, &512_u32.to_le_bytes());
        put(device + 0x5e, &(20_u64 << 20).to_le_bytes());
        put(device + 0x66, &1_u32.to_le_bytes());
        put(device + 0x6a, &self.extents.1.to_le_bytes());
        put(device + 0x7a, &self.data.to_le_bytes());
        put(device + 0x82, &uuid(self.device.0));
        let volume = match self.lvm {
            6 => {
                put(device + 0xca, &4096_u32.to_le_bytes());
                device + 4096
            }
            _ => device + 512,
        };
        let (first, count) = self.extents;
        put(volume, &(u64::from(count) << 28).to_le_bytes());
        put(volume + 0x14, b"4f2a1b3c-5d6e7f80-9a00-001122334455");
        put(volume + 0x54, &uuid(0));
        put(volume + 0x64, &1_u32.to_le_bytes());
        put(volume + 0x74, &count.to_le_bytes());
        put(volume + 0x78, &first.to_le_bytes());
        let last = first.wrapping_add(u64::from(count)).wrapping_sub(1);
        put(volume + 0x80, &last.to_le_bytes());
        put(volume + 0x90, &self.device.1.to_le_bytes());
        if first == 0 {
            let header = usize::try_from(self.data)
                .unwrap_or(usize::MAX)
                .saturating_add(2 << 20);
            put(header, &self.magic.to_le_bytes());
            let header = header.min(1 << 40);
            put(header + 4, &self.version.0.to_le_bytes());
            put(header + 8, &[self.version.1]);
            put(header + 9, &uuid(0xff));
            put(header + 0x1d, self.label.as_bytes());
            put(header + 0x9d, &512_u32.to_le_bytes());
            put(header + 0xa1, &self.blocks.0.to_le_bytes());
            put(header + 0xb1, &uuid(0));
            put(header + 0xd9, &self.blocks.1.to_le_bytes());
        }
        bytes
    }
}
