//! One line: `api:cudaMem* -thread:memory_monitor dur>=100us`.
//!
//! | written | means |
//! |---|---|
//! | `a b` | both, but plain terms (`field:value`, `field~regex`, words) of one field are alternatives |
//! | `a and b`, `a & b` | both, whatever they are |
//! | `a or b`, `a \| b` | one of both; binds least, standing side by side most |
//! | `-a`, `!a`, `not a` | not |
//! | `(...)`, `children-of(...)`, `under(...)`, `callers-of(...)` | |
//! | `field:value`, `field:value,value` | a glob, a quantity, `A..B`; one of them |
//! | `field~regex` | a regular expression that is found in the text |
//! | `dur>=1ms`, also `>`, `<=`, `<`, `=` | comparisons; all of them must hold |
//! | `failed`, `everything`, `nothing` | |
//! | `word` | a function of this name, or a kernel with this in its name |
//! | `'...'` | as it stands; `"..."` with `\"`, `\\`, `\n`, `\r`, `\t`, `\u{...}` |

mod read;
mod words;
mod write;

pub use read::read;
pub use write::write;

#[cfg(test)]
mod tests {
    use super::*;

    fn again(text: &str) -> String {
        write(&read("", text).unwrap())
    }

    fn wrong(text: &str) -> String {
        read("", text).unwrap_err().to_string()
    }

    #[test]
    fn the_example_of_the_manual() {
        let text = "api:cudaMem* -thread:memory_monitor dur>=100us size>=1MiB device:1 kind:managed cause:coherence \
                    range:\"forward*\" site:train.cu:42 failed";
        let written = "api:cudaMem* device:1 range:forward* site:train.cu:42 kind:managed cause:coherence size>=1MiB \
                       duration>=100us failed -thread:memory_monitor";
        assert_eq!(again(text), written);
        assert_eq!(again(written), written);
    }

    #[test]
    fn plain_terms_of_one_field_are_alternatives() {
        assert_eq!(again("api:b api:a"), "api:a,b");
        assert_eq!(again("api:a,b api~^c dur>=1ms"), "api:a,b api~^c duration>=1ms");
        assert_eq!(again("api:a and api:b"), "api:a (api:b)");
        assert_eq!(again("(api:a) (api:b)"), "api:a (api:b)");
        assert_eq!(again("api:a dur>=1ms and api:b"), "api:a duration>=1ms (api:b)");
        assert_eq!(again("time:1s..2s time:5s.."), "time>=5s or time>=1s time<=2s");
        assert_eq!(again("addr:0x10+16 addr:0x100"), "address:0x10-0x1f,0x100");
    }

    #[test]
    fn words_are_functions_or_kernels() {
        assert_eq!(again("cudaFree"), "api:cudaFree or kernel:*cudaFree*");
        assert_eq!(again("*gemm* failed"), "failed (api:*gemm* or kernel:*gemm*)");
        assert_eq!(again("ns::kernel<int>"), "api:ns::kernel<int> or kernel:*ns::kernel<int>*");
        assert_eq!(again("'failed' or \"a b\""), "api:'a b',failed or kernel:'*a b*',*failed*");
        assert_eq!(again("cudaFree cudaMalloc"), again("cudaFree or cudaMalloc"));
    }

    #[test]
    fn and_or_not_and_parentheses() {
        assert_eq!(again("-(api:a or kernel:b)"), "-api:a -kernel:b");
        assert_eq!(again("not (api:a failed)"), "-api:a or -failed");
        assert_eq!(again("!!failed"), "failed");
        assert_eq!(again("failed | device:1 & stream:2"), "failed or stream:2 device:1");
        assert_eq!(
            again("under(api:a or range:x) -callers-of(kernel:k)"),
            "children-of(api:a or range:x) -callers-of(kernel:k)"
        );
        assert_eq!(again(""), "everything");
        assert_eq!(again("nothing"), "nothing");
        assert_eq!(again("api:a or everything"), "everything");
        assert_eq!(again("-api:a,b"), "-api:a -api:b");
    }

    #[test]
    fn quotes_and_regular_expressions() {
        assert_eq!(again(r#"range:"a \"b\" \u{e9}\n""#), "range:\"a \\\"b\\\" \u{e9}\\n\"");
        assert_eq!(again(r"range:'a\n'"), r"range:a\n");
        assert_eq!(again("api~(foo|bar)+ (api~x)"), "api~(foo|bar)+ (api~x)");
        assert_eq!(again("(api~a(b) or failed)"), "api~a(b) or failed");
        assert_eq!(again("api~'a b' kernel~a,b"), "api~'a b' kernel~a,b");
        assert_eq!(again("kernel:'scale(float*, int)'"), "kernel:'scale(float*, int)'");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, expected) in [
            ("apii:x", "filter, column 1: no field `apii`; did you mean api?"),
            ("failed kernl~x", "filter, column 8: no field `kernl`; did you mean kernel?"),
            (
                "dur>=5",
                "filter, column 6: expected a duration, such as 100us or 1.5ms, found no unit; known are ns, us, ms, s, m",
            ),
            (
                "dur>=5 usec",
                "filter, column 6: expected a duration, such as 100us or 1.5ms, found no unit; known are ns, us, ms, s, m",
            ),
            (
                "size>1XB",
                "filter, column 6: expected a size, such as 64KiB or 1.5MiB, found the unit `XB`; known are B, KiB, MiB, GiB, TiB; did you mean B?",
            ),
            ("api:", "filter, column 5: expected a pattern after api:"),
            ("api:a,", "filter, column 7: expected a pattern after the comma"),
            ("(failed", "filter, column 8: expected ) for the ( in column 1"),
            ("failed)", "filter, column 7: no ( before this )"),
            ("failed or", "filter, column 10: expected a term"),
            ("or failed", "filter, column 1: expected a term before or"),
            ("range:\"x", "filter, column 7: the quote is not closed"),
            ("range:\"\\q\"", "filter, column 8: no escape `\\q`; write \\\\ for a backslash, or use single quotes"),
            ("api~(", "filter, column 5: no regular expression: unclosed group"),
            ("api>=3", "filter, column 4: api is not compared by size; expected api:..."),
            ("size~3", "filter, column 6: size is compared by size, not by a regular expression"),
            (
                "scale(float)",
                "filter, column 6: expected children-of(...) or callers-of(...) before this; a name with ( in it needs quotes",
            ),
            ("time:3s..1s", "filter, column 6: `3s..1s` ends before it begins"),
            ("-", "filter, column 2: expected a term"),
            ("api:\"\"", "filter, column 5: a pattern cannot be empty; * fits everything"),
        ] {
            assert_eq!(wrong(text), expected, "{text}");
        }
        assert!(wrong(&"(".repeat(100_000)).contains("deep"));
        assert!(wrong(&"-".repeat(100_000)).contains("deep"));
        assert!(wrong(&"a ".repeat(100_000)).contains("more than 2048 terms"));
    }
}
