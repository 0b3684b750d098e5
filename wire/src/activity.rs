//! Records of what the GPU and the driver did, and of a program's ranges.
//!
//! Events of the GPU are written after they happened, by whichever thread collects them; their times are nanoseconds
//! of the driver's clock ([`KIND_GPU_CLOCK`] brings them to the file's). Numbers and enumerations are those of CUPTI.
//! Each layout below is a whole record: slots of 48 bytes, the head's `extra` those after the first. Where a layout
//! has an `extra` that may be missing, it says so.

use crate::record::Head;

/// The next call record of this chunk submitted work: `a` says how many of the words from 3 on are pointers among a
/// kernel's parameters ([`POINTERS_MAX`] at most, [`POINTERS_CUT`] set if there were more), `b` is the correlation id of
/// the work, zero if it is not known. Word 1 is the call's start, ticks; word 2 the graph node or zero.
pub const KIND_SUBMIT: u8 = 5;
/// One moment by two clocks: word 1 ticks (the middle of the bracket), word 2 the driver's nanoseconds, word 3 the
/// bracket's width in ticks, all ones if nobody knows how well the two agree. Word 4, if not zero: all work that had ended
/// by then (driver's ns) has been written. Holds for the records after it in its chunk.
pub const KIND_GPU_CLOCK: u8 = 6;
/// From here on some evidence is recorded, or is not: `a` is `EVIDENCE_*`, `b` is `WHY_*`. Word 1 ticks, word 2 string
/// id of a detail (the library, who else is there), word 3 CUPTI's result | driver version << 32, word 4 CUPTI's
/// version.
pub const KIND_EVIDENCE: u8 = 7;
/// Events of the GPU were lost: word 1 ticks, word 2 how many, all ones if nobody knows.
pub const KIND_DROPPED: u8 = 8;
/// A sum of unified memory that an import knows without the events behind it: `a` is `UNIFIED_*`, `b` the device or
/// [`NONE`]. Word 1 ticks, word 2 how many, word 3 bytes, word 4 how long in all, ns.
pub const KIND_SUM: u8 = 9;

/// Pointers that a submit record holds at most.
pub const POINTERS_MAX: u16 = 33;
/// Bit of a submit record's `a`: there were more pointers.
pub const POINTERS_CUT: u16 = 1 << 15;

/// A kernel, [`Kernel`].
pub const KIND_KERNEL: u8 = 32;
/// A copy, [`Copied`].
pub const KIND_COPY: u8 = 33;
/// Memory set to a value, [`Set`].
pub const KIND_SET: u8 = 34;
/// The host or a stream waited, [`Wait`].
pub const KIND_WAIT: u8 = 35;
/// An event was recorded on a stream, [`EventRecorded`].
pub const KIND_EVENT: u8 = 36;
/// Time that the driver or the profiling interface took, [`Overhead`].
pub const KIND_OVERHEAD: u8 = 37;
/// Unified memory: a migration, fault, thrashing, throttling or remote mapping, [`Unified`].
pub const KIND_UNIFIED: u8 = 38;
/// A whole graph's run, [`GraphRun`].
pub const KIND_GRAPH: u8 = 39;
/// Memory was allocated or released, [`Memory`].
pub const KIND_MEMORY: u8 = 40;

/// A range was pushed on the thread's stack: [`Range`].
pub const KIND_RANGE_PUSH: u8 = 64;
/// The thread's innermost range of the domain ended: [`Range`], of which only ticks and domain count.
pub const KIND_RANGE_POP: u8 = 65;
/// A range began that any thread may end: [`Range`] with an id.
pub const KIND_RANGE_START: u8 = 66;
/// It ended: [`Range`], of which only ticks, domain and id count.
pub const KIND_RANGE_END: u8 = 67;
/// A moment with a name: [`Range`].
pub const KIND_MARK: u8 = 68;

/// Kernels, copies, sets and waits.
pub const EVIDENCE_ACTIVITY: u16 = 1;
/// Migrations.
pub const EVIDENCE_MIGRATIONS: u16 = 2;
/// Page faults, thrashing, throttling and remote mappings.
pub const EVIDENCE_FAULTS: u16 = 3;
/// Which call submitted a kernel, copy or set, exactly.
pub const EVIDENCE_CORRELATION: u16 = 4;
/// Pointers among the parameters of kernels.
pub const EVIDENCE_POINTERS: u16 = 5;
/// Ranges and marks.
pub const EVIDENCE_RANGES: u16 = 6;
/// Allocations as the driver sees them.
pub const EVIDENCE_MEMORY: u16 = 7;
/// Waits and events as the driver sees them.
pub const EVIDENCE_WAITS: u16 = 8;

/// It is recorded.
pub const WHY_RECORDED: u32 = 0;
/// It was not asked for.
pub const WHY_NOT_ASKED: u32 = 1;
/// There is no libcupti.
pub const WHY_NO_LIBRARY: u32 = 2;
/// The libcupti that was found lacks functions: the detail names it. Of [`EVIDENCE_POINTERS`]: the driver does.
pub const WHY_UNUSABLE_LIBRARY: u32 = 3;
/// CUPTI refused: word 3 has its result.
pub const WHY_REFUSED: u32 = 4;
/// Somebody else uses CUPTI: the detail names it where that is known.
pub const WHY_TAKEN: u32 = 5;
/// Somebody else began to use CUPTI, and we stepped aside.
pub const WHY_STEPPED_ASIDE: u32 = 6;
/// The process was forked from one that had begun to use the GPU.
pub const WHY_FORKED: u32 = 7;
/// No thread could be made to collect it.
pub const WHY_NO_THREAD: u32 = 8;
/// There is no device.
pub const WHY_NO_DEVICE: u32 = 9;
/// A variable that would bring it to us belongs to another tool: the detail names it.
pub const WHY_VARIABLE_TAKEN: u32 = 10;
/// Said of what was imported: its format, which the detail names, never has it.
pub const WHY_NOT_IN_FORMAT: u32 = 11;
/// Likewise: this input has none of it.
pub const WHY_NOT_IN_INPUT: u32 = 12;

/// No device, context or stream.
pub const NONE: u32 = u32::MAX;

macro_rules! record {
    ($(#[$doc:meta])* $name:ident, $slots:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(
            feature = "zerocopy",
            derive(zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)
        )]
        #[repr(C)]
        pub struct $name {
            /// [`Head`]. Of kernels, copies, sets, waits, events, graphs: `a` the device, `b` the correlation id.
            pub head: u64,
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $name {
            /// Slots of the record.
            pub const SLOTS: usize = $slots;

            /// Its head, of this kind.
            #[must_use]
            pub const fn head(kind: u8, a: u16, b: u32) -> u64 {
                Head { kind, extra: $slots - 1, a, b }.word()
            }
        }

        const _: () = assert!(size_of::<$name>() == $slots * crate::record::SLOT_BYTES);
    };
}

record! {
    /// A kernel.
    Kernel, 2 {
        /// Start, driver's ns.
        start: u64,
        /// End, driver's ns.
        end: u64,
        /// String id of the name, as compiled.
        name: u32,
        /// CUPTI's id of the context.
        context: u32,
        /// CUPTI's id of the stream.
        stream: u32,
        /// Registers of a thread.
        registers: u16,
        /// 0 ordinary, 1 cooperative, 2 cooperative on several devices, 3 launched by the device.
        launch: u8,
        /// Zero.
        reserved: u8,
        /// Blocks of the grid, x, y, z.
        grid: [u32; 3],
        /// Threads of a block, x, y, z.
        block: [u16; 3],
        /// Zero.
        reserved2: [u8; 2],
        /// Bytes of shared memory that the kernel declares.
        static_shared: u32,
        /// Bytes of shared memory that the launch adds.
        dynamic_shared: u32,
        /// Bytes of local memory of a thread.
        local: u32,
        /// The graph it is a node of, or zero.
        graph: u32,
        /// Zero.
        reserved3: u32,
        /// That node.
        node: u64,
        /// Zero.
        reserved4: u64,
    }
}

record! {
    /// A copy. Without the second slot if no graph is behind it.
    Copied, 2 {
        /// Start, driver's ns.
        start: u64,
        /// End, driver's ns.
        end: u64,
        /// Bytes.
        bytes: u64,
        /// CUPTI's id of the context.
        context: u32,
        /// CUPTI's id of the stream.
        stream: u32,
        /// 1 to the device, 2 to the host, 8 within a device, 9 within the host, 10 between devices; 3 to 7 with arrays.
        kind: u8,
        /// What it was copied from: 1 pageable, 2 pinned, 3 device, 4 array, 5 managed, 6 device static, 7 managed static.
        from: u8,
        /// Likewise what to.
        to: u8,
        /// Bit 0: asynchronous.
        flags: u8,
        /// Device copied from, of copies between devices.
        from_device: u16,
        /// Device copied to.
        to_device: u16,
        /// The graph it is a node of.
        graph: u32,
        /// Zero.
        reserved: u32,
        /// That node.
        node: u64,
        /// Copies of a batch.
        count: u64,
        /// Zero.
        reserved2: [u64; 3],
    }
}

record! {
    /// Memory was set. Without the second slot if no graph is behind it.
    Set, 2 {
        /// Start, driver's ns.
        start: u64,
        /// End, driver's ns.
        end: u64,
        /// Bytes.
        bytes: u64,
        /// CUPTI's id of the context.
        context: u32,
        /// CUPTI's id of the stream.
        stream: u32,
        /// Zero.
        reserved: u8,
        /// What memory, as in [`Copied::from`].
        memory: u8,
        /// Zero.
        reserved2: u8,
        /// Bit 0: asynchronous.
        flags: u8,
        /// The value.
        value: u32,
        /// The graph it is a node of.
        graph: u32,
        /// Zero.
        reserved3: u32,
        /// That node.
        node: u64,
        /// Zero.
        reserved4: [u64; 4],
    }
}

record! {
    /// A synchronisation.
    Wait, 1 {
        /// Start, driver's ns.
        start: u64,
        /// End, driver's ns.
        end: u64,
        /// CUPTI's id of the context.
        context: u32,
        /// CUPTI's id of the stream, [`NONE`] if it concerns none.
        stream: u32,
        /// 1 for an event, 2 a stream for an event, 3 for a stream, 4 for the context.
        kind: u32,
        /// CUPTI's id of the event, [`NONE`] if it concerns none.
        event: u32,
        /// Which recording of the event is waited for; zero if that is not known.
        event_sync: u64,
    }
}

record! {
    /// An event was recorded on a stream.
    EventRecorded, 1 {
        /// When, driver's ns; zero if that is not known.
        time: u64,
        /// Which recording of the event it is; zero if that is not known.
        event_sync: u64,
        /// CUPTI's id of the context.
        context: u32,
        /// CUPTI's id of the stream.
        stream: u32,
        /// CUPTI's id of the event.
        event: u32,
        /// Zero.
        reserved: u32,
        /// Zero.
        reserved2: u64,
    }
}

record! {
    /// Time that went elsewhere. `a` is zero, `b` the correlation id if there is one.
    Overhead, 1 {
        /// Start, driver's ns.
        start: u64,
        /// End, driver's ns.
        end: u64,
        /// `CUpti_ActivityOverheadKind`.
        kind: u32,
        /// `CUpti_ActivityObjectKind`.
        object: u32,
        /// Process or device of the object.
        first: u32,
        /// Thread, context or stream of it.
        second: u32,
        /// Zero.
        reserved: u64,
    }
}

record! {
    /// Unified memory. `a` is `UNIFIED_*`, `b` the flags: a migration's cause, a fault's access, a mapping's cause.
    /// Without the second slot if `processors` is not known.
    Unified, 2 {
        /// Start, driver's ns.
        start: u64,
        /// End, driver's ns; zero for a moment.
        end: u64,
        /// Bytes moved or concerned; for a CPU fault the address of the instruction; for a GPU fault how many groups.
        value: u64,
        /// Address of the pages.
        address: u64,
        /// Device from, or concerned; of thrashing a bit for each device.
        from: u32,
        /// Device to.
        to: u32,
        /// Devices concerned, a bit for each.
        processors: [u64; 5],
        /// Zero.
        reserved: u64,
    }
}

/// `a` of [`Unified`]: pages moved to a device.
pub const UNIFIED_TO_DEVICE: u16 = 1;
/// Pages moved to the host.
pub const UNIFIED_TO_HOST: u16 = 2;
/// The CPU met a page that was elsewhere.
pub const UNIFIED_CPU_FAULT: u16 = 3;
/// A device did.
pub const UNIFIED_GPU_FAULT: u16 = 4;
/// Pages are wanted at several places again and again.
pub const UNIFIED_THRASHING: u16 = 5;
/// A processor was made to wait for them.
pub const UNIFIED_THROTTLING: u16 = 6;
/// Pages were mapped where they are, for another processor.
pub const UNIFIED_REMOTE_MAP: u16 = 7;
/// Pages moved from device to device.
pub const UNIFIED_BETWEEN_DEVICES: u16 = 8;

record! {
    /// A graph ran, recorded as a whole.
    GraphRun, 1 {
        /// Start, driver's ns.
        start: u64,
        /// End, driver's ns.
        end: u64,
        /// CUPTI's id of the graph.
        graph: u32,
        /// CUPTI's id of the context.
        context: u32,
        /// CUPTI's id of the stream.
        stream: u32,
        /// Device on which it ended.
        end_device: u32,
        /// Zero.
        reserved: u64,
    }
}

record! {
    /// Memory as the driver sees it. `a` is the device, `b` the correlation id.
    Memory, 2 {
        /// When, driver's ns.
        time: u64,
        /// Address.
        address: u64,
        /// Bytes.
        bytes: u64,
        /// Address of the code that asked.
        code: u64,
        /// CUPTI's id of the context.
        context: u32,
        /// CUPTI's id of the stream.
        stream: u32,
        /// 1 allocated, 2 released.
        operation: u8,
        /// As in [`Copied::from`].
        kind: u8,
        /// Bit 0: in order of a stream.
        flags: u8,
        /// Zero.
        reserved: u8,
        /// String id of a variable's name.
        name: u32,
        /// Pool it comes from, or zero.
        pool: u64,
        /// Zero.
        reserved2: [u64; 4],
    }
}

/// Bit of the payload type of a mark that is a sample of a counter. Below it stands the type of the value, one of
/// [`PAYLOAD_UNSIGNED`], [`PAYLOAD_SIGNED`] and [`PAYLOAD_DOUBLE`]; the mark's id is how many bytes of its name are the
/// counter's, zero for all of them. What comes after these and a space is the name of the series.
pub const PAYLOAD_SAMPLE: u32 = 1 << 8;
/// `NVTX_PAYLOAD_TYPE_UNSIGNED_INT64`.
pub const PAYLOAD_UNSIGNED: u32 = 1;
/// `NVTX_PAYLOAD_TYPE_INT64`.
pub const PAYLOAD_SIGNED: u32 = 2;
/// `NVTX_PAYLOAD_TYPE_DOUBLE`.
pub const PAYLOAD_DOUBLE: u32 = 3;

record! {
    /// A range or a mark. `a` is its level in the thread, `b` the category.
    Range, 1 {
        /// When, ticks.
        ticks: u64,
        /// String id of the name.
        name: u32,
        /// String id of the domain; zero for the default one.
        domain: u32,
        /// 0xAARRGGBB, zero if none was given.
        color: u32,
        /// `nvtxPayloadType_t`, zero for none.
        payload_type: u32,
        /// The payload's bits.
        payload: u64,
        /// Id of a range that any thread may end.
        id: u64,
    }
}

record! {
    /// A range or a mark of which an import knows more: [`Range`], whose slot is the first one.
    SaidRange, 2 {
        /// When, ticks.
        ticks: u64,
        /// As in [`Range`].
        name: u32,
        /// As in [`Range`].
        domain: u32,
        /// As in [`Range`].
        color: u32,
        /// As in [`Range`].
        payload_type: u32,
        /// As in [`Range`].
        payload: u64,
        /// As in [`Range`].
        id: u64,
        /// String id of what else the input says of it: an object in JSON, or text.
        said: u32,
        /// Zero.
        reserved: u32,
        /// Zero.
        reserved2: [u64; 5],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{KIND_GPU_FIRST, KIND_RANGE_FIRST, SLOT_BYTES};

    #[test]
    fn fields_lie_in_the_first_slot_if_the_second_may_be_missing() {
        assert!(core::mem::offset_of!(Copied, to_device) + 2 <= SLOT_BYTES);
        assert!(core::mem::offset_of!(Set, value) + 4 <= SLOT_BYTES);
        assert!(core::mem::offset_of!(Unified, to) + 4 <= SLOT_BYTES);
    }

    #[test]
    fn events_are_told_from_what_describes_them() {
        const { assert!(KIND_SUBMIT < KIND_GPU_FIRST && KIND_DROPPED < KIND_GPU_FIRST) };
        const { assert!(KIND_KERNEL == KIND_GPU_FIRST && KIND_RANGE_PUSH == KIND_RANGE_FIRST) };
        assert_eq!(Kernel::head(KIND_KERNEL, 1, 7), 0x0000_0007_0001_0120);
    }
}
