//! What PyTorch's profiler writes of steps whose operators launch kernels: first the operators of a while, thread by
//! thread, then the calls with their flows and kernels.

use std::io::Write as _;

/// Steps of a while.
const STEPS: u64 = 2000;
const THREADS: u64 = 3;
const OPERATORS: [&str; 4] =
    ["aten::add_", "aten::linear", "autograd::engine::evaluate_function: AddmmBackward0", "aten::copy_"];
const KERNELS: [&str; 3] = [
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
    "void (anonymous namespace)::softmax_warp_backward<float, float, float, 3, true, false>(float*, float const*, float const*, int, int, int, bool const*)",
    "ampere_sgemm_128x64_tn",
];

/// Makes events.
#[derive(Default)]
pub struct Kineto {
    number: u64,
}

impl Kineto {
    /// What goes before all events.
    pub const BEGIN: &[u8] = b"{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n";
    /// What goes after them.
    pub const END: &[u8] = b"  {\n    \"name\": \"process_name\", \"ph\": \"M\", \"ts\": 0, \"pid\": 1670242, \"tid\": 0,\n    \"args\": {\n      \"name\": \"python3\"\n    }\n  }\n  ],\n  \"traceName\": \"a.json\", \"baseTimeNanoseconds\": 1727743122000000000\n}\n";

    /// Adds those of a while, about 3 MB.
    pub fn more(&mut self, out: &mut Vec<u8>) {
        let first = self.number + 1;
        self.number += STEPS;
        let steps = first..=self.number;
        for thread in 0..THREADS {
            for step in steps.clone().filter(|step| step % THREADS == thread) {
                operator(step, thread, out);
            }
        }
        for step in steps {
            launch(step, out);
        }
    }
}

fn name(list: &[&'static str], step: u64) -> &'static str {
    list[(step / 3) as usize % list.len()]
}

/// Writing into memory does not fail.
macro_rules! put {
    ($out:expr, $($words:tt)*) => {
        let _ = write!($out, $($words)*);
    };
}

fn operator(step: u64, thread: u64, out: &mut Vec<u8>) {
    let (ts, tid, sub) = (5_187_822_121_745 + step * 20, 1_670_242 + thread, step * 7 % 1000);
    put!(
        out,
        r#"  {{
    "ph": "X", "cat": "cpu_op", "name": "{}", "pid": 1670242, "tid": {tid},
    "ts": {ts}.{sub:03}, "dur": {}.{sub:03},
    "args": {{
      "External id": {step},"Record function id": 0, "Concrete Inputs": ["", "", "1"], "Input type": ["float", "float", "Scalar"], "Input Strides": [[{}, 1], [1], []], "Input Dims": [[32, {}], [1024], []], "Ev Idx": {step}
    }}
  }},
"#,
        name(&OPERATORS, step),
        15 + step % 30,
        step % 4096,
        step % 4096,
    );
}

fn launch(step: u64, out: &mut Vec<u8>) {
    let (ts, tid, sub) = (5_187_822_121_750 + step * 20, 1_670_242 + step % THREADS, step * 7 % 1000);
    put!(
        out,
        r#"  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1670242, "tid": {tid},
    "ts": {ts}.{sub:03}, "dur": {}.125,
    "args": {{
      "External id": {step}, "cbid": 211, "correlation": {step}
    }}
  }},
  {{
    "ph": "s", "id": {step}, "pid": 1670242, "tid": {tid}, "ts": {ts}.{sub:03},
    "cat": "ac2g", "name": "ac2g"
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "{}", "pid": 0, "tid": 7,
    "ts": {}.{sub:03}, "dur": {}.112,
    "args": {{
      "External id": {step},      "queued": 0, "device": 0, "context": 1,      "stream": 7, "correlation": {step},      "registers per thread": 32,      "shared memory": 0,      "blocks per SM": 0.007576,      "warps per SM": 0.030303,      "grid": [{}, 1, 1],      "block": [128, 1, 1],      "est. achieved occupancy %": 0
    }}
  }},
  {{
    "ph": "f", "id": {step}, "pid": 0, "tid": 7, "ts": {}.{sub:03},
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  }},
"#,
        3 + step % 5,
        name(&KERNELS, step),
        ts + 9,
        2 + step % 9,
        1 + step % 700,
        ts + 9,
    );
}
