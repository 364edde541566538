#!/usr/bin/env python3
"""Holds this harness against criterion and divan on the same bodies, and writes docs/PEERS.md.

    scripts/peers/compare.py [--rounds N] [--seconds S] [--out FILE]

A round measures every row twice under each harness, as an old and as a new version. The versions are the
same program; in the new one the rows `slowed/*` take 2 % more steps. Rows `same/*` that are called changed
are false alarms. Every row gets about S seconds on each side under each harness.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAME = 10
SLOWED = 5
ROWS = SAME + SLOWED + 1


def build():
    """The three bench programs, by name. The dev profile optimises as release does, and is already built."""
    command = ["cargo", "bench", "--profile", "dev", "-p", "peers", "--no-run", "--message-format", "json"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    programs = {}
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message.get("executable"):
            programs[message["target"]["name"]] = message["executable"]
    return programs


def run(command, side, folder):
    environment = {**os.environ, "PEER_SIDE": side, "NO_COLOR": "1", "CRITERION_HOME": str(folder / "criterion")}
    start = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{command} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout, time.monotonic() - start


def own(program, seconds, folder):
    """Verdicts, relative interval half-widths, empty body in ns, seconds a row."""
    spent = 0.0
    widths, empty = [], None
    for side in ("old", "new"):
        budget = str(seconds * ROWS)
        command = [program, "--no-band", "--no-alloc", "--json", "--budget", budget, "--record", f"{side}.json"]
        out, took = run(command, side, folder)
        spent += took
        for row in json.loads(out):
            if row["name"] == "empty":
                empty = row["p50_us"] and row["p50_us"] * 1e3
            elif row["p50_interval_us"]:
                low, high = row["p50_interval_us"]
                widths.append((high - low) / 2 / row["p50_us"])
    out, _ = run([program, "compare", "old.json", "new.json", "--json"], "new", folder)
    report = json.loads(out)
    verdicts = {row["name"].replace("/", "_"): row["verdict"] for row in report["rows"]}
    return verdicts, widths, empty, spent / 2 / ROWS


def criterion(program, seconds, folder):
    warm, measure = seconds * 0.25, seconds * 0.75
    common = [program, "--bench", "--noplot", "--warm-up-time", f"{warm:.3f}", "--measurement-time", f"{measure:.3f}"]
    _, first = run(common + ["--save-baseline", "old"], "old", folder)
    out, second = run(common + ["--baseline", "old"], "new", folder)
    verdicts, row = {}, None
    for line in out.splitlines():
        named = re.match(r"(?:Benchmarking )?((?:same|slowed)_\d+|empty)\b", line)
        if named:
            row = named.group(1)
        for text, verdict in [
            ("Performance has regressed", "slower"),
            ("Performance has improved", "faster"),
            ("No change in performance detected", "unresolved"),
            ("Change within noise threshold", "unresolved"),
        ]:
            if text in line and row:
                verdicts[row] = verdict
    widths, empty = [], None
    for estimates in (folder / "criterion").glob("*/old/estimates.json"):
        median = json.loads(estimates.read_text())["median"]
        interval = median["confidence_interval"]
        if estimates.parts[-3] == "empty":
            empty = median["point_estimate"]
        else:
            widths.append((interval["upper_bound"] - interval["lower_bound"]) / 2 / median["point_estimate"])
    return verdicts, widths, empty, (first + second) / 2 / ROWS


UNITS = {"ns": 1.0, "µs": 1e3, "μs": 1e3, "us": 1e3, "ms": 1e6, "s": 1e9}


def divan(program, seconds, folder):
    """divan gives no verdict: the medians of both sides, by row, and the empty body."""
    medians, spent, empty = [], 0.0, None
    for side in ("old", "new"):
        out, took = run([program, "--bench", "--min-time", f"{seconds:.3f}", "--max-time", f"{seconds:.3f}"], side, folder)
        spent += took
        found, group = {}, None
        for line in out.splitlines():
            columns = re.split(r"\s*│\s*", line)
            figures = re.findall(r"([\d.]+)\s*(ns|µs|μs|us|ms|s)\b", line)
            name = re.search(r"[├╰]─\s*(\S+)", line)
            if not name:
                continue
            if name.group(1) in ("same", "slowed") and len(figures) < 4:
                group = name.group(1)
            elif len(figures) >= 4 and len(columns) >= 4:
                value, unit = figures[2]
                row = name.group(1) if name.group(1) == "empty" else f"{group}_{name.group(1)}"
                found[row] = float(value) * UNITS[unit]
        empty = found.pop("empty", None)
        medians.append(found)
    return medians[0], medians[1], empty, spent / 2 / ROWS


def rate(count, total):
    return f"{count} of {total} ({100 * count / total:.1f} %)" if total else "—"


def number(value, digits=2, unit=""):
    return "—" if value is None else f"{value:.{digits}f}{unit}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10, help=f"rounds of {SAME} A/A comparisons [10]")
    parser.add_argument("--seconds", type=float, default=0.35, help="wall time a row, side and harness [0.35]")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs/PEERS.md")
    arguments = parser.parse_args()
    programs = build()
    alarms = {"own": [0, 0], "criterion": [0, 0]}
    found = {"own": [0, 0], "criterion": [0, 0]}
    withdrawn = 0
    widths = {"own": [], "criterion": []}
    empties = {"own": [], "criterion": [], "divan": []}
    took = {"own": [], "criterion": [], "divan": []}
    divan_same, divan_slowed = [], []
    for index in range(arguments.rounds):
        print(f"round {index + 1} of {arguments.rounds}", file=sys.stderr, flush=True)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="peers-"))
        for name, measure in (("own", own), ("criterion", criterion)):
            program = programs["own" if name == "own" else "by_criterion"]
            verdicts, row_widths, empty, seconds = measure(program, arguments.seconds, folder)
            for row, verdict in verdicts.items():
                if row.startswith("same"):
                    alarms[name][0] += verdict in ("slower", "faster")
                    alarms[name][1] += 1
                elif row.startswith("slowed"):
                    found[name][0] += verdict == "slower"
                    found[name][1] += 1
                    withdrawn += verdict == "withdrawn"
            widths[name] += row_widths
            empties[name] += [empty] if empty is not None else []
            took[name].append(seconds)
        old, new, empty, seconds = divan(programs["by_divan"], arguments.seconds, folder)
        for row in old:
            if row in new:
                (divan_same if row.startswith("same") else divan_slowed).append(new[row] / old[row] - 1)
        empties["divan"] += [empty] if empty is not None else []
        took["divan"].append(seconds)
        shutil.rmtree(folder)
    middle = lambda values: statistics.median(values) if values else None
    width = lambda name: number(middle(widths[name]) and 100 * middle(widths[name]), 2, " %")
    divan_wide = None
    if divan_same:
        ordered = sorted(abs(change) for change in divan_same)
        divan_wide = 100 * ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    divan_seen = None
    if divan_slowed and divan_wide is not None:
        divan_seen = sum(100 * change > divan_wide for change in divan_slowed)
    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.machine())
    load = os.getloadavg()[0]
    divan_found = "—" if divan_seen is None else rate(divan_seen, len(divan_slowed))
    text = f"""# Beside criterion and divan

Made by `scripts/peers/compare.py --rounds {arguments.rounds} --seconds {arguments.seconds}` on {cpu}, {os.cpu_count()} cores,
load {load:.1f} at the end. One body, a chain of 6,000 multiplications; every row gets about {arguments.seconds} s of wall
time on each side under each harness, everything else at its default. Both sides are the same program: whatever is called
changed among the unchanged rows is a false alarm.

| | this harness | criterion 0.8 | divan 0.1 |
|---|---:|---:|---:|
| false alarms, unchanged code | {rate(*alarms["own"])} | {rate(*alarms["criterion"])} | gives no verdict |
| 2 % slow-down found | {rate(*found["own"])} | {rate(*found["criterion"])} | gives no verdict |
| half-width of the 95 % interval of the median, median over rows | {width("own")} | {width("criterion")} | gives none |
| seconds a row and side | {number(middle(took["own"]))} | {number(middle(took["criterion"]))} | {number(middle(took["divan"]))} |
| an empty body reads, ns an iteration | {number(middle(empties["own"]), 3)} | {number(middle(empties["criterion"]), 3)} | {number(middle(empties["divan"]), 3)} |

divan prints medians and leaves the judgement to its reader. Between two runs of the same code they differ by up to
{number(divan_wide, 2, " %")} in 95 of 100 rows; a reader who calls anything beyond that a change would have found the 2 % in
{divan_found}.

How to read it: an interval from one process is narrower than one over ten processes and describes less: it leaves out
what differs between processes, which is what makes unchanged code look changed. {withdrawn} of this harness's verdicts on slowed
rows were withdrawn because its A/A row had moved between the two runs.
"""
    arguments.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
