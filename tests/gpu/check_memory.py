"""Holds what a report says of memory against the lines of memory.cu and places.cu.

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
    elif words[:1] == ["staged"]:
        staged = [one for one in report["transfers"]["staged"] if [one["from_device"], one["to_device"]] == list(map(int, words[1:3]))]
        check(f"{words[3]} bytes went from {words[1]} to {words[2]} through the host", [one["bytes"] for one in staged], [int(words[3])])
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
