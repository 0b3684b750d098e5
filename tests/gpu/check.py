"""Holds a report against what a program's source says it called ("expect" lines), and beside CUPTI's counts.

check.py NAME REPORT.json EXPECT.txt LAYERS [CUPTI.txt]      LAYERS: runtime,driver or driver
"""
import json
import re
import sys

name, report_path, expect_path, layers = sys.argv[1:5]
report = json.load(open(report_path))
calls, failed = {}, {}
for api in report["apis"]:
    calls[(api["layer"], api["name"])] = calls.get((api["layer"], api["name"]), 0) + api["calls"]
    failed[api["name"]] = failed.get(api["name"], 0) + api["failed"]
LAUNCH = re.compile(r"^(__cudaLaunchKernel|cudaLaunchKernel|cudaLaunchKernelExC|cuLaunchKernel|cuLaunchKernelEx)(_pt[sd][zs])?$")


def count(layer, wanted):
    names = [n for (l, n) in calls if l == layer and (LAUNCH.match(n) if wanted == "launch" else re.sub(r"_pt[sd][zs]$", "", n) == wanted)]
    return sum(calls[(layer, n)] for n in names)


wrong = 0
if report["trace"]["lost"]:
    print(f"{name}: lost {report['trace']['lost']}")
    wrong += 1
for line in open(expect_path):
    words = line.split()
    if not words or words[0] != "expect":
        continue
    if words[1] in ("runtime", "driver"):
        if words[1] not in layers.split(","):
            continue
        got, want = count(words[1], words[2]), int(words[3])
    elif words[1] == "failed":
        if not any(n == words[2] for (_, n) in calls):
            continue
        got, want = failed.get(words[2], 0), int(words[3])
    elif words[1] == "threads":
        got, want = report["trace"]["threads"], int(words[2])
    else:
        continue
    ok = got == want
    wrong += not ok
    print(f"{name}: {'ok  ' if ok else 'WRONG'} {' '.join(words[1:])}" + ("" if ok else f", recorded {got}"))

if len(sys.argv) > 5:
    theirs = {}
    for line in open(sys.argv[5]):
        layer, function, number = line.split()
        function = re.sub(r"_v\d{4,5}$", "", re.sub(r"(_pt[sd][zs])?_v\d{4,5}$", "", function))
        theirs[(layer, function)] = theirs.get((layer, function), 0) + int(number)
    for layer in ("runtime", "driver"):
        ours = sum(n for (l, _), n in calls.items() if l == layer)
        cupti = sum(n for (l, _), n in theirs.items() if l == layer)
        print(f"{name}: {layer} calls: hook {ours}, CUPTI callbacks {cupti}, difference {cupti - ours}")
        strip = lambda n: re.sub(r"(_v\d)?(_pt[sd][zs])?$", "", n)
        mine, other = {}, {}
        for (l, n), c in calls.items():
            if l == layer:
                mine[strip(n)] = mine.get(strip(n), 0) + c
        for (l, n), c in theirs.items():
            if l == layer:
                other[strip(n)] = other.get(strip(n), 0) + c
        gaps = {n: (mine.get(n, 0), other.get(n, 0)) for n in sorted(set(mine) | set(other)) if mine.get(n, 0) != other.get(n, 0)}
        if ours:
            print(f"{name}: {layer} by name, hook and CUPTI differ in {gaps}")
sys.exit(1 if wrong else 0)
