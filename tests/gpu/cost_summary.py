"""Medians over rounds, and what each way adds to the untraced one of its round.

cost_summary.py call FILE    lines "ROUND WAY NS": untraced, hook, cupti; exits 1 if the hook adds more than CUPTI
cost_summary.py step FILE    lines "ROUND WAY MS": untraced, hook; exits 1 if the hook slows a step by 1 % or more
"""
import statistics
import sys

kind, path = sys.argv[1:]
rounds = {}
for line in open(path):
    number, way, value = line.split()
    rounds.setdefault(number, {})[way] = float(value)
ways = ["untraced", "hook"] + (["cupti"] if kind == "call" else [])
whole = [times for times in rounds.values() if all(way in times for way in ways)]
if not whole:
    sys.exit(f"{kind}: no round has all of {', '.join(ways)}")
unit = "ns" if kind == "call" else "ms"
middle = {way: statistics.median(times[way] for times in whole) for way in ways}
added = {way: [times[way] - times["untraced"] for times in whole] for way in ways[1:]}
print(f"{kind}: {len(whole)} rounds, untraced {middle['untraced']:.2f} {unit}")
for way in ways[1:]:
    extra = statistics.median(added[way])
    print(f"{kind}: {way} {middle[way]:.2f} {unit}, adds {extra:.2f} {unit} (from {min(added[way]):.2f} to {max(added[way]):.2f})")
if kind == "call":
    hook, cupti = statistics.median(added["hook"]), statistics.median(added["cupti"])
    ratio = hook / cupti if cupti > 0 else float("inf")
    print(f"call: the hook adds {ratio:.2f} of what an empty pair of CUPTI callbacks adds (must be under 1, aim 0.5)")
    sys.exit(ratio >= 1)
percent = statistics.median(100 * (times["hook"] / times["untraced"] - 1) for times in whole)
print(f"step: {percent:+.2f} % (must be under 1)")
sys.exit(percent >= 1)
