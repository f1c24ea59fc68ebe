"""toolchains/cluster-links ROOT PROGRAM: two ranks over a link of 1 Gbit/s. Fails when the link is not limited, when a rank is not
on it, or when toolchains/cluster-tables does not read the report. Skipped where there are no network namespaces.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

root, program = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run([f"{root}/toolchains/cluster-links", "--rate", "1gbit", "--ranks", "2", "--fan-out", "0", "--size", "96x64",
                           "--rounds", "1", "--frames", "5", "--program", program, "-o", folder], check=False)
    if done.returncode == 77:
        sys.exit(77)
    assert done.returncode == 0
    [path] = pathlib.Path(folder).iterdir()
    assert path.name == "links-1gbit-fanout-0.json", path
    report = json.loads(path.read_text())
    assert 30e6 < report["link"]["bytes_per_second"] < 130e6, report["link"]
    assert report["ranks_on_host"] == 1, report["ranks_on_host"]
    table = subprocess.run([f"{root}/toolchains/cluster-tables", "--links", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "| 1gbit | root | 2 |" in table and "| 1gbit | ranks | 2 |" in table, table
