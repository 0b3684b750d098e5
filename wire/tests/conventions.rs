//! Where arguments lie by each calling convention, and that a record is laid out alike by all.
#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "tests; each uses its part of the shared code")]

#[path = "../build/convention.rs"]
mod convention;
#[path = "../build/functions.rs"]
mod functions;

use convention::{Arguments, Class, Convention};
use functions::Function;
use umtui_wire::table::{self, FUNCTIONS};

const SOURCE: &str = include_str!("../functions.txt");
const BOTH: [Convention; 2] = [Convention::SystemV, Convention::Aapcs64];

fn taken(convention: Convention, classes: &[Class]) -> (Vec<Option<usize>>, usize) {
    let mut arguments = Arguments::new(convention, false);
    let words = classes.iter().map(|&class| arguments.take(class)).collect();
    (words, arguments.stack_bytes())
}

fn find<'a>(functions: &'a [Function], name: &str, major: u8) -> &'a Function {
    let fits = |function: &&Function| function.name == name && function.majors.0 <= major && major <= function.majors.1;
    functions.iter().find(fits).unwrap_or_else(|| panic!("no {name}"))
}

/// Words of the recorded arguments, in order.
fn words(convention: Convention, name: &str) -> Vec<usize> {
    let (functions, _) = functions::read(SOURCE, convention);
    find(&functions, name, 13).ops.iter().map(|op| op.word).collect()
}

fn stack_bytes(convention: Convention, name: &str) -> usize {
    find(&functions::read(SOURCE, convention).0, name, 13).stack_bytes
}

#[test]
fn a_record_is_laid_out_alike_whatever_the_machine() {
    let [system_v, aapcs64] = BOTH.map(|convention| functions::read(SOURCE, convention));
    assert_eq!(system_v.1, aapcs64.1);
    assert_eq!(system_v.0.len(), aapcs64.0.len());
    for (one, other) in system_v.0.iter().zip(&aapcs64.0) {
        assert_eq!((&one.name, one.majors), (&other.name, other.majors), "order, and so api ids");
        let shared = |function: &Function| {
            // Structures are words of the stack by the one convention, and lie behind an address by the other.
            let kind = |op: &functions::Op| match op.access {
                "Value8" | "Pointee8" => "8 bytes",
                "Digest" | "DigestAt" => "digest",
                other => other,
            };
            let step = |op: &functions::Op| (kind(op), op.at);
            let steps: Vec<_> = function.ops.iter().map(step).collect();
            (function.signature.clone(), function.extra, steps, function.known, function.returns, function.layer)
        };
        assert_eq!(shared(one), shared(other), "{}", one.name);
    }
}

#[test]
fn the_table_is_that_of_the_target() {
    let convention = Convention::of(std::env::consts::ARCH).unwrap();
    let (functions, _) = functions::read(SOURCE, convention);
    assert_eq!(table::REGISTER_WORDS, convention.registers());
    assert_eq!(table::FIRST_STACK_WORD, convention.first_stack_word());
    assert_eq!(functions.len(), FUNCTIONS.len());
    for (read, built) in functions.iter().zip(FUNCTIONS) {
        assert_eq!(read.name, built.name);
        assert_eq!(read.stack_bytes, usize::from(built.stack_bytes), "{}", read.name);
        let words: Vec<usize> = built.ops.iter().map(|op| usize::from(op.word)).collect();
        assert_eq!(read.ops.iter().map(|op| op.word).collect::<Vec<_>>(), words, "{}", read.name);
    }
}

#[test]
fn every_word_is_a_register_or_within_the_stack_arguments() {
    for convention in BOTH {
        for function in functions::read(SOURCE, convention).0 {
            let stack = convention.first_stack_word()..convention.first_stack_word() + function.stack_bytes / 8;
            for op in &function.ops {
                let is_register = op.word < convention.registers();
                assert!(is_register || stack.contains(&op.word), "{convention:?} {}: word {}", function.name, op.word);
            }
        }
    }
}

/// Measured with compilers: gcc on x86-64; on aarch64 the harness of tests/hook_aarch64.rs compiles and calls these.
#[test]
fn stack_bytes_that_were_measured() {
    for (name, system_v, aapcs64) in [
        ("cuLaunchKernel", 40, 24),
        ("cudaLaunchKernel", 16, 0),
        ("__cudaLaunchKernel", 16, 0),
        ("cudaMemset3D", 56, 0),
        ("cudaMemcpyAsync", 0, 0),
        ("cudaMemcpy2DAsync", 16, 0),
        ("cuParamSetf", 0, 0),
    ] {
        assert_eq!(stack_bytes(Convention::SystemV, name), system_v, "{name}");
        assert_eq!(stack_bytes(Convention::Aapcs64, name), aapcs64, "{name}");
    }
}

#[test]
fn structures_over_16_bytes_lie_on_the_stack_or_go_by_reference() {
    // cudaMemset3D(pitched, value, extent).
    assert_eq!(words(Convention::SystemV, "cudaMemset3D"), [0]);
    assert_eq!(words(Convention::Aapcs64, "cudaMemset3D"), [1]);
    // cudaIpcOpenMemHandle(pointer, digest of handle, flags).
    assert_eq!(words(Convention::SystemV, "cudaIpcOpenMemHandle"), [0, 8, 1]);
    assert_eq!(words(Convention::Aapcs64, "cudaIpcOpenMemHandle"), [0, 1, 2]);
}

#[test]
fn fields_of_a_structure_are_its_words_or_lie_behind_its_address() {
    // cudaMalloc3DArray(array, desc, extent, flags): array, flags, three of the extent, five of the descriptor.
    assert_eq!(words(Convention::SystemV, "cudaMalloc3DArray"), [0, 2, 8, 9, 10, 1, 1, 1, 1, 1]);
    assert_eq!(words(Convention::Aapcs64, "cudaMalloc3DArray"), [0, 3, 2, 2, 2, 1, 1, 1, 1, 1]);
    let (functions, _) = functions::read(SOURCE, Convention::Aapcs64);
    let fields = find(&functions, "cudaMalloc3DArray", 13).ops.iter().map(|op| op.field).collect::<Vec<_>>();
    assert_eq!(fields, [0, 0, 0, 8, 16, 0, 4, 8, 12, 16]);
}

#[test]
fn the_address_of_a_result_shifts_the_arguments_only_where_it_is_one() {
    assert_eq!(words(Convention::SystemV, "cudaCreateChannelDesc"), [1, 2, 3, 4, 5]);
    assert_eq!(words(Convention::Aapcs64, "cudaCreateChannelDesc"), [0, 1, 2, 3, 4]);
}

#[test]
fn launches() {
    // function, grid, block, (params), shared, stream; a dim3 is two steps of reading.
    assert_eq!(words(Convention::SystemV, "cudaLaunchKernel"), [0, 1, 2, 3, 4, 8, 9]);
    assert_eq!(words(Convention::Aapcs64, "cudaLaunchKernel"), [0, 1, 2, 3, 4, 6, 7]);
    // function, six sizes, shared, stream, (params), (extra).
    assert_eq!(words(Convention::SystemV, "cuLaunchKernel")[5..], [5, 8, 9, 10]);
    assert_eq!(words(Convention::Aapcs64, "cuLaunchKernel")[5..], [5, 6, 7, 10]);
}

#[test]
fn after_an_argument_without_room_only_system_v_fills_the_registers_up() {
    let classes = |before: usize| {
        let mut classes = vec![Class::Word; before];
        classes.extend([Class::TwoWords, Class::Word]);
        classes
    };
    let (words, bytes) = taken(Convention::SystemV, &classes(5));
    assert_eq!((&words[5..], bytes), (&[Some(8), Some(5)][..], 16));
    let (words, bytes) = taken(Convention::Aapcs64, &classes(7));
    assert_eq!((&words[7..], bytes), (&[Some(10), Some(12)][..], 24));
}

#[test]
fn floating_point_numbers_have_registers_of_their_own() {
    for convention in BOTH {
        let first = convention.first_stack_word();
        let mut classes = vec![Class::Vector; 8];
        classes.extend([Class::Word, Class::Vector, Class::Word]);
        let (words, bytes) = taken(convention, &classes);
        assert_eq!(words[..8], [None; 8], "{convention:?}");
        assert_eq!(words[8..], [Some(0), Some(first), Some(1)], "{convention:?}");
        assert_eq!(bytes, 8, "{convention:?}");
    }
}

#[test]
fn registers_of_open_calls_are_read_only_where_they_are_alike() {
    let [system_v, aapcs64] = BOTH.map(|convention| functions::read(SOURCE, convention).0);
    let mut moved = Vec::new();
    for (index, (one, other)) in system_v.iter().zip(&aapcs64).enumerate() {
        if !table::registers_are_alike(index) {
            moved.push(one.name.as_str());
            continue;
        }
        for (one, other) in one.ops.iter().zip(&other.ops) {
            assert!(one.word == other.word || (one.word >= 3 && other.word >= 3), "{one:?} {other:?}");
        }
    }
    assert!(moved.contains(&"cudaMemset3D") && moved.contains(&"cudaCreateChannelDesc"), "{moved:?}");
    assert!(!moved.contains(&"cudaMalloc") && moved.len() < 20, "{moved:?}");
    assert!(!table::registers_are_alike(usize::MAX));
}

#[test]
fn other_machines_are_refused() {
    assert_eq!(Convention::of("riscv64"), None);
}
