use std::io;
use std::sync::Arc;
use straddle_geometry::Bytes;

use crate::ReadAt;

/// A stretch of something longer, as if it were all there is: a member of an archive, where it lies.
pub struct Part {
    whole: Arc<dyn ReadAt>,
    start: Bytes,
    size: Bytes,
}

impl Part {
    /// The `size` bytes of `whole` from `start` on, or as many as there are.
    #[must_use]
    pub fn new(whole: Arc<dyn ReadAt>, start: Bytes, size: Bytes) -> Part {
        let rest = whole.size().get().saturating_sub(start.get());
        Part {
            start,
            size: size.min(Bytes::new(rest)),
            whole,
        }
    }
}

impl ReadAt for Part {
    fn size(&self) -> Bytes {
        self.size
    }

    fn read_at(&self, offset: Bytes, buf: &mut [u8]) -> io::Result<usize> {
        let rest = self.size.get().saturating_sub(offset.get());
        let rest = usize::try_from(rest).unwrap_or(usize::MAX);
        let wanted = rest.min(buf.len());
        match self.start.checked_add(offset) {
            Some(at) if wanted > 0 => self.whole.read_at(at, &mut buf[..wanted]),
            _ => Ok(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_ends_where_it_ends() {
        let whole: Arc<dyn ReadAt> = Arc::new((0..100_u8).collect::<Vec<_>>());
        let part = Part::new(Arc::clone(&whole), Bytes::new(10), Bytes::new(20));
        let mut buf = [0; 8];
        let read =
            |part: &Part, at, buf: &mut [u8]| part.read_at(Bytes::new(at), buf).expect("memory");
        assert_eq!((read(&part, 15, &mut buf), buf[0], buf[4]), (5, 25, 29));
        assert_eq!(read(&part, 20, &mut buf), 0);
        assert_eq!(read(&part, u64::MAX, &mut buf), 0);
        let cut = Part::new(whole, Bytes::new(90), Bytes::new(20));
        assert_eq!((cut.size(), read(&cut, 5, &mut buf)), (Bytes::new(10), 5));
    }
}
