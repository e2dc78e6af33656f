use crate::format::{Detected, Format, Head};

/// Packets of a network, in which there may be requests.
pub(crate) static PCAP: Format = Format {
    name: "pcap",
    of: "tcpdump, Wireshark (pcap and pcapng)",
    says: "named, not read: iSCSI in packets is not taken apart. Record with blktrace where the disk is attached",
    detect,
};

fn detect(head: &Head<'_>) -> Option<Detected> {
    let is_packets = match head.bytes {
        // Of microseconds and nanoseconds, in both byte orders.
        [0xa1, 0xb2, 0xc3, 0xd4, ..]
        | [0xd4, 0xc3, 0xb2, 0xa1, ..]
        | [0xa1, 0xb2, 0x3c, 0x4d, ..]
        | [0x4d, 0x3c, 0xb2, 0xa1, ..] => true,
        // The first block of pcapng, with its mark of byte order.
        [0x0a, 0x0d, 0x0d, 0x0a, _, _, _, _, order @ ..] => matches!(
            order,
            [0x1a, 0x2b, 0x3c, 0x4d, ..] | [0x4d, 0x3c, 0x2b, 0x1a, ..]
        ),
        _ => false,
    };
    is_packets.then_some(Detected::Refused(
        "packets of a network: requests of iSCSI in them are not read. Record on the machine that has the disk: `blktrace -d /dev/DISK`, \
         or on Windows `xperf -on DISK_IO`",
    ))
}
