"""Holds what a report says of memory against the lines of memory.cu, lifetimes.cu, nodes.cu, places.cu, two.cu and torch_memory.py.

check_memory.py NAME REPORT.json SAID.txt [ROWS.txt]     ROWS.txt: what rows.c wrote of a run of the same program
"""
import json
import sys

name, report_path, said_path = sys.argv[1:4]
report = json.load(open(report_path))
allocations = report["allocations"]
wrong = 0


def check(what, got, want):
    global wrong
    ok = got == want
    wrong += not ok
    print(f"{name}: {'ok  ' if ok else 'WRONG'} {what}" + ("" if ok else f": {got} and not {want}"))


def within(what, got, lowest, highest):
    global wrong
    ok = got is not None and lowest <= got <= highest
    wrong += not ok
    print(f"{name}: {'ok  ' if ok else 'WRONG'} {what}" + ("" if ok else f": {got} and not {lowest} to {highest}"))


# The trace's clock and the program's may differ by so much, ns.
CLOCKS = 1_000_000
start = report["trace"]["start_unix_ns"]
memory = report["memory"]
kinds = {one["kind"]: one for one in allocations["by_kind"]}
places = []
flows = {}
base = 0
for line in open(said_path):
    words = line.split()
    if words[:1] == ["memory"]:
        kind, *numbers = words[1:]
        numbers = [None if number == "-" else int(number) for number in numbers]
        if kind == "refused":
            refused = allocations["failures"]
            check(f"refused {numbers[1]} bytes", [one["bytes"] for one in refused], numbers[1:2])
            continue
        found = kinds.get(kind)
        check(f"{kind} memory is there", found is not None, True)
        for key, number in zip(("count", "bytes", "live_count", "live_bytes"), numbers):
            if found and number is not None:
                check(f"{kind} {key} {number}", found[key], number)
    elif words[:1] == ["base"]:
        base = int(words[1], 16)
    elif words[:1] == ["flow"]:
        flows[tuple(words[1:4])] = int(words[4])
    elif words[:1] in (["staged"], ["staged_by_driver"]):
        staged = [one for one in report["transfers"][words[0]] if [one["from_device"], one["to_device"]] == list(map(int, words[1:3]))]
        check(f"{words[3]} bytes went from {words[1]} to {words[2]} through the host", [one["bytes"] for one in staged], [int(words[3])])
    elif words[:1] == ["life"]:
        kind, size, *moments = words[1:]
        size, (made, is_made, frees, freed) = int(size), map(int, moments)
        found = [one for one in memory["uses"]["list"] if (one["kind"], one["bytes"]) == (kind, size)]
        check(f"one {kind} allocation of {size} bytes", len(found), 1)
        if len(found) == 1:
            lived = [None if found[0][key] is None else start + found[0][key] for key in ("made_ns", "freed_ns")]
            within(f"{kind} of {size} bytes was made when the program made it", lived[0], made - CLOCKS, is_made + CLOCKS)
            within(f"{kind} of {size} bytes was released when the program did", lived[1], frees - CLOCKS, freed + CLOCKS)
            length = None if lived[1] is None else lived[1] - lived[0]
            within(f"{kind} of {size} bytes lived as long as there", length, frees - is_made - CLOCKS // 10, freed - made + CLOCKS // 10)
    elif words[:1] == ["graph"]:
        graphs = memory["graphs"]
        check("one process has memory of graphs", len(graphs), 1)
        if graphs:
            keys = ("allocations", "peak_bytes", "live_bytes", "unseen_launches", "at_least")
            check("memory of graphs by launch", [graphs[0][key] for key in keys], [*map(int, words[1:]), 0, 0])
    elif words[:1] == ["given"]:
        size, launches, begun, over = map(int, words[1:])
        found = [one for one in memory["uses"]["list"] if one["bytes"] == size]
        check(f"one allocation of {size} bytes", len(found), 1)
        if found:
            use = found[0]
            check("launches of graphs were given it", use["graph_launches"], launches)
            check("graphs alone", (use["first_use"], use["last_use"], use["kernels"]), ("graph", "graph", 0))
            check("its last use is by a record of the GPU", use["last_use_is_by_gpu"], True)
            check("no launch is unseen", use["last_use_may_be_later"], False)
            last = None if use["last_use_ns"] is None else start + use["last_use_ns"]
            within("the last launch was over when the program saw it", last, begun - CLOCKS, over + CLOCKS)
    elif words[:1] == ["reserved"]:
        kept = [one for one in memory["segments"] if one["allocator"] == "PyTorch"]
        check("PyTorch keeps what it says", sum(one["live_bytes"] for one in kept), int(words[1]))
    elif words[:1] == ["block"]:
        address, size, times = map(int, words[1:])
        found = [one for one in memory["blocks"]["list"] if one["segment"] + one["offset"] == address]
        check(f"one block at {address:#x}", len(found), 1)
        if found:
            within(f"it was given {times} times or more", found[0]["uses"], times, 1 << 32)
            if size:
                check(f"it has {size} bytes at least", found[0]["bytes_at_least"], size)
    elif words[:1] == ["place"]:
        places.append(tuple(map(int, words[1:])))
if places:
    # Pages are of 4 KiB. What was never prefetched the host has written, of which there is no record.
    pages = {where: sum(size for _, size, at in places if at == where) // 4096 for where in (0, -1, -2)}
    last = {one["address"]: one["last_pages"] for one in report["migrated"]}[base]
    for what, where in (("device", 0), ("host", -1), ("unknown", -2)):
        check(f"{pages[where]} pages are {what}", last[what], pages[where])
for (source, target, what), size in flows.items():
    def end(device):
        return None if device == "-1" else int(device)
    found = [one for one in report["transfers"]["flows"] if (one["from_device"], one["to_device"]) == (end(source), end(target))]
    check(f"{size} bytes from {source} to {target}: {what}", sum(one[what]["bytes"] for one in found if one[what]), size)
check("no call is unread", allocations["unread_calls"], 0)
if len(sys.argv) > 4:
    # Kinds 1 and 2 are bytes to the device and to the host.
    rows = [tuple(map(int, line.split()[:3])) for line in open(sys.argv[4])]
    to = {kind: sum(row[2] for row in rows if row[0] == kind) for kind in (1, 2)}
    check("as many bytes went to the device as plain CUPTI says", report["migrations"]["h2d"]["bytes"], to[1])
    check("as many bytes came back", report["migrations"]["d2h"]["bytes"], to[2])
    count = {kind: sum(1 for row in rows if row[0] == kind) for kind in (1, 2)}
    check("in as many records to the device", report["migrations"]["h2d"]["count"], count[1])
    check("and back", report["migrations"]["d2h"]["count"], count[2])
sys.exit(wrong > 0)
