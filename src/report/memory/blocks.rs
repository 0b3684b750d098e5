//! Blocks inside what caching allocators keep, in the report.

use std::fmt::Write as _;

use serde::Serialize;

use super::{Found, KEPT, LISTED, more, since};
use crate::report::table::Table;
use crate::report::text::{duration, grouped};
use crate::session::Loaded;
use crate::trace::value::size;

/// An address inside a segment of a caching allocator that kernels, copies and sets were given: a block, or something in one.
/// Times are ns since the trace's first event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Block {
    /// Process id.
    pub process: u32,
    /// The allocator.
    pub allocator: &'static str,
    /// First address of the segment.
    pub segment: u64,
    /// When the segment was allocated: its address may have been that of others before.
    pub segment_made_ns: u64,
    /// Bytes from there to the block.
    pub offset: u64,
    /// Bytes that it has at least, by the copies and sets that named it; `None`: none did.
    pub bytes_at_least: Option<u64>,
    /// Bytes to the next address that was given in the segment; `None`: there is none.
    pub next_in: Option<u64>,
    /// When it was used first.
    pub first_use_ns: u64,
    /// When the last use was over.
    pub last_use_ns: u64,
    /// How often it was given.
    pub uses: u32,
    /// Whether a copy or set used it: else kernels or graphs were given it, which may use it.
    pub is_certain: bool,
}

/// The blocks that were given most, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Blocks {
    /// All of them.
    pub count: u64,
    /// There were more, of which nothing is known.
    pub cut: bool,
    /// Those that were given most.
    pub list: Vec<Block>,
}

pub(super) fn of(loaded: &mut Loaded, found: &[Found]) -> Blocks {
    let mut blocks = Blocks::default();
    for (found, index, one) in super::uses::selected(loaded, found) {
        let all = found.usage.blocks(index);
        if all.len() == 0 {
            continue;
        }
        let Some((allocator, _)) = loaded.allocator(one.site).filter(|_| one.kind.adds_memory()) else { continue };
        blocks.count += all.len() as u64;
        blocks.cut |= found.usage.evidence().blocks_cut;
        let mut next = found.usage.blocks(index).skip(1);
        for block in all {
            let next_in = next.next().map(|next| next.address - block.address);
            blocks.list.push(Block {
                process: found.pid,
                allocator: allocator.name(),
                segment: one.address,
                segment_made_ns: since(loaded, one.made_ns),
                offset: block.address - one.address,
                bytes_at_least: Some(block.bytes).filter(|&bytes| bytes > 1),
                next_in,
                first_use_ns: since(loaded, block.span.first.at_ns),
                last_use_ns: since(loaded, block.span.last.at_ns),
                uses: block.uses,
                is_certain: block.is_certain,
            });
        }
        if blocks.list.len() > 64 * KEPT {
            keep(&mut blocks.list);
        }
    }
    keep(&mut blocks.list);
    blocks
}

fn keep(list: &mut Vec<Block>) {
    list.sort_by_key(|one| (std::cmp::Reverse(one.uses), one.process, one.segment, one.segment_made_ns, one.offset));
    list.truncate(KEPT);
}

/// A table of the first of them.
pub(super) fn write(blocks: &Blocks, out: &mut String) {
    if blocks.list.is_empty() {
        return;
    }
    out.push('\n');
    let headings = ["given inside a segment", "at least", "next in", "process", "first use", "last use", "times"];
    let mut table = Table::new(&headings);
    let or_dash = |bytes: Option<u64>| super::or_dash(bytes.map(size));
    for one in blocks.list.iter().take(LISTED) {
        table.row(vec![
            format!("{} {:#x}+{:#x}", one.allocator, one.segment, one.offset),
            or_dash(one.bytes_at_least),
            or_dash(one.next_in),
            one.process.to_string(),
            duration(one.first_use_ns),
            duration(one.last_use_ns),
            grouped(u64::from(one.uses)),
        ]);
    }
    table.write(out);
    more(out, usize::try_from(blocks.count).unwrap_or(usize::MAX));
    if blocks.cut {
        let _ = writeln!(out, "there were more addresses than are told apart");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;
    use std::path::Path;

    #[test]
    fn what_kernels_were_given_inside_a_segment_is_a_block() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/h200-bounce.log");
        let text = std::fs::read_to_string(path).unwrap();
        // As if the array were a segment of PyTorch's, of which the second launch is given another block.
        let text = text.replace("path=\"/tmp/bounce\"", "path=\"/tmp/libc10_cuda.so\"");
        let text = text.replace("4/0x0 (0x7f7d9e000000)", "4/0x0 (0x7f7d9e000200)");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("torch.log");
        std::fs::write(&path, text).unwrap();
        let report = Report::of(&mut Loaded::load_all(&[path]).unwrap());
        let memory = report.memory.unwrap();
        let [segments] = memory.segments.as_slice() else { panic!("{:?}", memory.segments) };
        assert_eq!(
            (segments.allocator, segments.count, segments.live_bytes, segments.addresses),
            ("PyTorch", 1, 1 << 20, 2)
        );
        let [first, second] = memory.blocks.list.as_slice() else { panic!("{:?}", memory.blocks) };
        assert_eq!((memory.blocks.count, memory.blocks.cut), (2, false));
        assert_eq!(
            (first.segment, first.offset, first.bytes_at_least, first.next_in),
            (0x7f7d_9e00_0000, 0, None, Some(512))
        );
        assert_eq!((second.offset, second.next_in, second.uses, second.is_certain), (512, None, 1, false));
        assert!(first.last_use_ns < second.first_use_ns && second.first_use_ns < second.last_use_ns);
        let mut out = String::new();
        write(&memory.blocks, &mut out);
        assert!(out.contains("PyTorch 0x7f7d9e000000+0x200 "), "{out}");
    }
}
