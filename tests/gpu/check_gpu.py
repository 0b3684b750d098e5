"""Holds the GPU's part of a report against what must be, and against a program's "expect" lines.

check_gpu.py NAME REPORT.json EXPECT.txt [WORD...]
Ends with 3 if nothing is wrong but bytes of migrations are short in a run with page faults.
WORD: stepped-aside, taken, no-faults, nothing: what evidence must be missing; ranges=a,b: ranges that must be there
"""
import json
import sys

name, report_path, expect_path = sys.argv[1:4]
words = sys.argv[4:]
report = json.load(open(report_path))
wrong = 0
short = 0


def check(what, got, want, may_be_short=False):
    """Of bytes that may be short because CUPTI lost records, a shortage is counted apart."""
    global wrong, short
    ok = want(got) if callable(want) else got == want
    if not ok and may_be_short and got < want:
        short += 1
    else:
        wrong += not ok
    print(f"{name}: {'ok  ' if ok else 'WRONG'} {what}" + ("" if ok else f": {got}"))


missing = {one["what"]: one["why"] for one in report["evidence_missing"]}
if "taken" in words or "nothing" in words:
    check("no kernels are claimed", report["kernels"], None)
    check("no migrations are claimed", report["migrations"], None)
    check("no faults are claimed", report["faults"], None)
    check("the reason is said", missing.get("kernels and copies"), lambda why: bool(why))
    sys.exit(wrong > 0)
order = report["gpu_order"]
check("nothing was dropped", report["dropped"], 0)
check("every kernel, copy and set is tied to a call", order["work"] - order["joined"], 0)
check(f"none of {order['work']} began before its call (error {report['gpu_clock_error_ns']} ns)", order["early"], 0)
check(f"none of {order['waits']} waits returned before its work had ended", order["late"], 0)
if "stepped-aside" in words:
    check("the reason is said", missing.get("kernels and copies"), lambda why: bool(why))
# With page faults on, plain CUPTI loses migrations as well, and counts none.
lossy = report["faults"] is not None
for line in open(expect_path):
    words_of = line.split()
    if len(words_of) != 3 or words_of[0] != "expect":
        continue
    _, what, number = words_of
    if what == "bytes_each_way":
        check(f"{number} bytes went to the device", report["migrations"]["h2d"]["bytes"], int(number), lossy)
        check(f"{number} bytes came back", report["migrations"]["d2h"]["bytes"], int(number), lossy)
    elif what == "user_bytes":
        causes = report["migrations"]["by_cause"]
        check(f"{number} bytes were moved by prefetches", causes["user"]["bytes"], int(number), lossy)
    elif what == "kernels":
        check(f"{number} kernels ran", sum(kernel["launches"] for kernel in report["kernels"]), int(number))
if "no-faults" in words:
    check("faults that were not asked for are null", report["faults"], None)
elif report["migrations"] and report["migrations"]["h2d"]["count"]:
    check("the CPU's faults are there", report["faults"]["cpu"], lambda faults: faults > 0)
for word in words:
    if word.startswith("ranges="):
        have = {one["name"] for one in report.get("ranges") or []}
        for wanted in word.split("=", 1)[1].split(","):
            check(f"range {wanted}", wanted in have, True)
sys.exit(1 if wrong else 3 if short else 0)
