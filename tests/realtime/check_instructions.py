"""check_instructions.py VALGRIND FRAMES STORED [--twice] [--write]: the instructions of a frame of each operator.

Callgrind counts them, and the number is the same however busy the machine is. An operator fails when it needs more than
MOST times what is stored, or so much less that twice its work would pass. --twice computes each frame twice, which must
fail for every operator. --write stores what was counted."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

# Compilers differ by up to a fifth; half the way to twice the work.
MOST = 1.5


# A thread that waits looks again and again, for a time.
WAITS = re.compile(r"::Scheduler::|^ocellus::detail::now_ns|steady_clock::now|^clock_gettime|^(__)?pthread_|futex")


def counted(text):
    """The sum of what functions need themselves, in the format of callgrind, without those that wait."""
    names, name, after_call, total = {}, None, False, 0
    for line in text.splitlines():
        if function := re.match(r"c?fn=\((\d+)\)(?: (.*))?$", line):
            number, known = function.groups()
            if known:
                names[number] = known
            if line.startswith("fn="):
                name = names[number]
        elif line.startswith("calls="):
            after_call = True
        elif name and re.match(r"[+*\d-]\S* \d+$", line):
            if not after_call and not WAITS.search(name):
                total += int(line.split()[1])
            after_call = False
    return total


def count(valgrind, frames, repeats):
    """The instruction set, and the instructions of two frames by operator."""
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            [valgrind, "--tool=callgrind", "--combine-dumps=no", f"--callgrind-out-file={folder}/out", frames, str(repeats)],
            capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(f"{valgrind} ended with {ran.returncode}: {ran.stderr}")
        found = {}
        for file in pathlib.Path(folder).iterdir():
            text = file.read_text()
            name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.M)
            if name:
                found[name[1]] = counted(text)
        return ran.stdout.split()[0], found


def main():
    valgrind, frames, path = sys.argv[1:4]
    simd, found = count(valgrind, frames, 2 if "--twice" in sys.argv else 1)
    stored = json.loads(pathlib.Path(path).read_text())
    if "--write" in sys.argv:
        stored[simd] = dict(sorted(found.items()))
        pathlib.Path(path).write_text(json.dumps(stored, indent=1) + "\n")
        return
    if simd not in stored:
        print(f"skipped: no instructions are stored for {simd}")
        return
    if found.keys() != stored[simd].keys():
        sys.exit(f"computed are {sorted(found)}, stored are {sorted(stored[simd])}; --write stores them again")
    ratios = {name: found[name] / stored[simd][name] for name in found}
    for name, ratio in sorted(ratios.items()):
        print(f"{name:24} {found[name]:12,} instructions, {ratio:.3f} of what is stored")
    slow = [name for name in ratios if ratios[name] > MOST]
    if "--twice" in sys.argv:
        unseen = sorted(set(ratios) - set(slow))
        if unseen:
            sys.exit(f"twice the work is not seen of: {', '.join(unseen)}")
    elif slow:
        sys.exit(f"more than {MOST} times the instructions: {', '.join(slow)}")
    elif fast := [name for name in ratios if ratios[name] < MOST / 2]:
        sys.exit(f"{', '.join(fast)}: less than {MOST / 2} of the instructions; --write stores the new number")


main()
