//! BitLocker volumes without anything in them, as "BitLocker Drive Encryption (BDE) format specification" of libbde
//! describes them: there is no maker outside Windows. What cryptsetup and dislocker say of them is in
//! `real_tools_volumes_crypt.rs`.
//!
//! ```text
//! volume header
//!     3  "-FVE-FS-", removable: "MSWIN4.1"
//!    11  u16 bytes per sector, u8 sectors per cluster
//!    40  u64 sectors of the volume
//!    56  Vista: u64 cluster of the first metadata
//!   160  from Windows 7 on: GUID, then u64 × 3 places of the metadata; removable: at 424
//! metadata, three copies
//!     0  "-FVE-FS-", u16 size (bytes, or 16 bytes from version 2 on), u16 version, u16 state, u16 next state
//!    16  u64 bytes that are encrypted, u32, u32 moved sectors, u64 × 3 places of the metadata, u64 place of the moved sectors
//!    64  u32 size, u32 1, u32 48, u32 size, GUID of the volume, u32 nonce, u16 method, u16 method, u64 time
//!   112  entries: u16 size, u16 type, u16 type of the value, u16 1, value
//!        u16 8, u16 version, u32 CRC-32 of all before
//! ```

/// Which Windows made a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    Vista,
    Seven,
    ToGo,
}

/// A volume to be made.
#[derive(Clone, Debug)]
pub struct Volume {
    pub maker: Maker,
    pub size: u64,
    pub sector: u16,
    pub sectors_per_cluster: u8,
    pub method: u16,
    pub state: (u16, u16),
    pub encrypted: u64,
    pub moved_sectors: u32,
    pub metadata: [u64; 3],
    pub moved_to: u64,
}

impl Volume {
    /// As Windows 7 makes one of 8 MiB.
    pub fn new(maker: Maker) -> Volume {
        let size = 8 << 20;
        Volume {
            maker,
            size,
            sector: 512,
            sectors_per_cluster: 8,
            method: if maker == Maker::Vista {
                0x8000
            } else {
                0x8004
            },
            state: (4, 4),
            encrypted: size,
            moved_sectors: 16,
            metadata: [0x10_0000, 0x30_0000, 0x50_0000],
            moved_to: 0x11_0000,
        }
    }

    /// One copy of the metadata, with its checksum.
    fn metadata(&self) -> Vec<u8> {
        let mut entries = Vec::new();
        let mut entry = |kind: u16, value_kind: u16, value: &[u8]| {
            let size = u16::try_from(value.len() + 8).expect("short");
            for word in [size, kind, value_kind, 1] {
                entries.extend(word.to_le_bytes());
            }
            entries.extend(value);
        };
        let words: Vec<u8> = "HOST C: 01/01/2010\0"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        entry(7, 2, &words);
        // The full volume encryption key: nonce, MAC and data.
        entry(3, 5, &[0; 8 + 4 + 16 + 44]);
        // Where the first sectors of the volume lie.
        if self.maker != Maker::Vista {
            let len = u64::from(self.moved_sectors) * u64::from(self.sector);
            let value = [self.moved_to.to_le_bytes(), len.to_le_bytes()].concat();
            entry(15, 15, &value);
        }
        // A volume master key: GUID, time, and how it is protected (a password).
        let mut key = vec![0x11; 16];
        key.extend([0; 8 + 2]);
        key.extend(0x2000_u16.to_le_bytes());
        entry(2, 8, &key);

        let version: u16 = if self.maker == Maker::Vista { 1 } else { 2 };
        // From version 2 on, the size is in 16 bytes.
        entries.resize(entries.len().next_multiple_of(16), 0);
        let size = 112 + u64::try_from(entries.len()).expect("short");
        let short = if version == 1 { size } else { size / 16 };
        let mut out = b"-FVE-FS-".to_vec();
        let words = [
            u16::try_from(short).expect("short"),
            version,
            self.state.0,
            self.state.1,
        ];
        words.iter().for_each(|word| out.extend(word.to_le_bytes()));
        out.extend(self.encrypted.to_le_bytes());
        out.extend(0_u32.to_le_bytes());
        out.extend(self.moved_sectors.to_le_bytes());
        for at in self.metadata {
            out.extend(at.to_le_bytes());
        }
        out.extend(self.moved_to.to_le_bytes());
        let inner = u32::try_from(size - 64).expect("short");
        for word in [inner, 1, 48, inner] {
            out.extend(word.to_le_bytes());
        }
        out.extend([0x22; 16]);
        out.extend(1_u32.to_le_bytes());
        out.extend(self.method.to_le_bytes());
        out.extend(self.method.to_le_bytes());
        out.extend(0x01ca_8a75_5c63_0000_u64.to_le_bytes());
        out.extend(entries);
        let sum = crc32fast::hash(&out);
        out.extend(8_u16.to_le_bytes());
        out.extend(version.to_le_bytes());
        out.extend(sum.to_le_bytes());
        out
    }

    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = vec![0; usize::try_from(self.size).expect("small")];
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        let guid = [
            0x3b, 0xd6, 0x67, 0x49, 0x29, 0x2e, 0xd8, 0x4a, 0x83, 0x99, 0xf6, 0xa3, 0x39, 0xe3,
            0xd0, 0x01,
        ];
        put(
            0,
            &[
                0xeb,
                if self.maker == Maker::Vista {
                    0x52
                } else {
                    0x58
                },
                0x90,
            ],
        );
        put(
            3,
            if self.maker == Maker::ToGo {
                b"MSWIN4.1"
            } else {
                b"-FVE-FS-"
            },
        );
        put(11, &self.sector.to_le_bytes());
        put(13, &[self.sectors_per_cluster]);
        put(40, &(self.size / u64::from(self.sector)).to_le_bytes());
        let places: Vec<u8> = self
            .metadata
            .iter()
            .flat_map(|at| at.to_le_bytes())
            .collect();
        match self.maker {
            Maker::Vista => {
                let cluster = u64::from(self.sector) * u64::from(self.sectors_per_cluster);
                put(56, &(self.metadata[0] / cluster).to_le_bytes());
            }
            Maker::Seven => {
                put(160, &guid);
                put(176, &places);
            }
            Maker::ToGo => {
                put(424, &guid);
                put(440, &places);
            }
        }
        put(510, &[0x55, 0xaa]);
        let metadata = self.metadata();
        for at in self.metadata {
            put(usize::try_from(at).expect("small"), &metadata);
        }
        out
    }
}
