"""The program as a service: metrics for Prometheus, notifications with a watchdog, lines of JSON for any reader, times."""
import contextlib
import glob
import http.client
import json
import os
import queue
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

PROGRAM = os.environ["OCELLUS_PROGRAM"]
CPU = ["--backend", "cpu", "--threads", "1"]
SECONDS = 60  # the longest wait for anything
INPUT = "standard input"  # the name of frames from "-"
socket.setdefaulttimeout(SECONDS)
# A chain of sweeps that does not converge: its frame lasts as long as --max-sweeps lets it.
ENDLESS = {
    "group_stages": 1, "max_passes": 100000, "sweeps": 100000, "update": "synchronous",
    "a": [[0, 0, 0], [0, -3, 0], [0, 0, 0]],
}


def pnm(number, side=32):
    return b"P5 %d %d 255\n" % (side, side) + bytes((i * i * 7 + number * 31) % 251 for i in range(side * side))


class Run:
    """The program as a child process, with its lines as they come."""

    def __init__(self, *arguments, environment=None, stdin=subprocess.DEVNULL):
        self.process = subprocess.Popen(
            [PROGRAM, *arguments], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**{k: v for k, v in os.environ.items() if k not in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")},
                 **(environment or {})})
        self.lines, self.errors = queue.Queue(), queue.Queue()
        self.readers = []
        for stream, lines in ((self.process.stdout, self.lines), (self.process.stderr, self.errors)):
            self.readers.append(threading.Thread(target=self._read, args=(stream, lines), daemon=True))
            self.readers[-1].start()

    @staticmethod
    def _read(stream, lines):
        with stream:
            for line in stream:
                lines.put(line.decode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for reader in self.readers:
            reader.join()
        if self.process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()

    def line(self):
        return self.lines.get(timeout=SECONDS)

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def finish(self):
        if self.process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        return self.process.wait(SECONDS)

    def address(self):
        """The address in the message of --metrics 0."""
        found = re.fullmatch(r"ocellus: metrics at http://(127\.0\.0\.1):(\d+)/metrics\n", self.errors.get(timeout=SECONDS))
        return found.group(1), int(found.group(2))


def result(*arguments, **more):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=SECONDS, **more)


def ask(address, target="/metrics", method="GET"):
    connection = http.client.HTTPConnection(*address, timeout=SECONDS)
    connection.request(method, target)
    answer = connection.getresponse()
    return answer.status, answer.getheader("Content-Type"), answer.read().decode()


def parse(text):
    """The samples of the text format 0.0.4, by name and labels. Raises ValueError for anything that it does not allow."""
    label = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
    sample = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{(%s(?:,%s)*)\} (\S+)" % (label, label))
    if not text.endswith("\n"):
        raise ValueError("the last line has no end")
    samples, types, helped, family = {}, {}, set(), None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            family = line.split(" ")[2]
            if family in helped:
                raise ValueError(f"a second help of {family}")
            helped.add(family)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            if name != family or name in types or kind not in ("counter", "gauge", "histogram"):
                raise ValueError(line)
            types[name] = kind
            if kind == "counter" and not name.endswith("_total"):
                raise ValueError(f"the counter {name} does not end in _total")
        else:
            found = sample.fullmatch(line)
            if not found:
                raise ValueError(line)
            name, labels, value = found.group(1), found.group(2), float(found.group(3))
            endings = ("_bucket", "_sum", "_count") if types[family] == "histogram" else ("",)
            if name not in [family + ending for ending in endings]:
                raise ValueError(f"{line} is in the family {family}")
            if (name, labels) in samples:
                raise ValueError(f"a second {line}")
            samples[name, labels] = value
    for (name, labels), value in samples.items():
        if name.endswith("_count"):
            start = name[: -len("count")] + "bucket"
            buckets = [(key[1], of) for key, of in samples.items() if key[0] == start and key[1].startswith(labels + ",le=")]
            counts = [of for _, of in buckets]
            bounds = [float(key.rsplit('le="', 1)[1][:-1]) for key, _ in buckets]
            if counts != sorted(counts) or bounds != sorted(bounds) or bounds[-1] != float("inf") or counts[-1] != value:
                raise ValueError(f"the buckets of {name} are {buckets}")
    return samples


def value(samples, metric, **labels):
    found = [of for key, of in samples.items() if key[0] == metric and all(f'{k}="{v}"' in key[1] for k, v in labels.items())]
    if len(found) != 1:
        raise ValueError(f"{len(found)} samples of {metric} {labels}")
    return found[0]


class Temporary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name, data=None):
        path = os.path.join(self.folder, name)
        if data is not None:
            with open(path, "wb") as file:
                file.write(data)
        return path

    def endless(self):
        made = result("template", "make", self.path("endless.json", json.dumps(ENDLESS).encode()), "-o", self.path("e.ocellus"))
        self.assertEqual(made.returncode, 0, made.stderr)
        return self.path("e.ocellus")


class Metrics(Temporary):
    # Fails when the numbers are those of an earlier frame, or the text is not what Prometheus reads.
    def test_endpoint_tells_of_each_frame(self):
        with Run("halftone", "-", "--json-lines", "--metrics", "0", *CPU, stdin=subprocess.PIPE) as run:
            for frame in range(3):
                run.send(pnm(frame))
                if frame == 0:
                    address = run.address()
                self.assertEqual(json.loads(run.line())["frame"], frame)
                # The frame is counted behind its report.
                end = time.monotonic() + SECONDS
                while True:
                    status, kind, text = ask(address)
                    self.assertEqual((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"))
                    samples = parse(text)
                    if value(samples, "ocellus_frames_read_total", name=INPUT) == frame + 1:
                        break
                    self.assertLess(time.monotonic(), end, text)
                labels = {"operator": "halftone", "backend": "cpu", "name": INPUT}
                self.assertEqual(value(samples, "ocellus_frames_total", **labels), frame + 1)
                self.assertEqual(value(samples, "ocellus_latency_seconds_count", **labels), frame + 1)
                self.assertGreater(value(samples, "ocellus_latency_seconds_sum", **labels), 0)
                self.assertLess(value(samples, "ocellus_latency_seconds_sum", **labels), SECONDS)
                self.assertGreater(value(samples, "ocellus_compute_seconds_total", **labels), 0)
                self.assertEqual(value(samples, "ocellus_bad_frames_total", **labels), 0)
                self.assertAlmostEqual(value(samples, "ocellus_last_result_timestamp_seconds"), time.time(), delta=SECONDS)
            self.assertEqual(run.finish(), 0)

    # Fails when another page or method gives metrics, or a client that says nothing blocks the others for ever.
    def test_endpoint_refuses_other_requests(self):
        with Run("halftone", "-", "--json-lines", "--metrics", "127.0.0.1:0", *CPU, stdin=subprocess.PIPE) as run:
            run.send(pnm(0))
            address = run.address()
            with socket.create_connection(address):
                self.assertEqual(ask(address, "/")[0], 404)
                self.assertEqual(ask(address, "/metrics2")[0], 404)
                self.assertEqual(ask(address, "/metrics?a=b")[0], 200)
                self.assertEqual(ask(address, method="POST")[0], 405)
                with socket.create_connection(address) as long:
                    with contextlib.suppress(ConnectionError):
                        long.sendall(b"GET /" + b"x" * 100000)
                        self.assertEqual(long.recv(100), b"")
                self.assertEqual(ask(address)[0], 200)
            run.line()
            self.assertEqual(run.finish(), 0)

    # Fails when the endpoint is open to other machines without being asked for.
    def test_port_is_that_of_this_machine_alone(self):
        with Run("halftone", "-", "--metrics", "0", *CPU, stdin=subprocess.PIPE) as run:
            run.send(pnm(0))
            _, port = run.address()
            with open("/proc/net/tcp") as table:
                local = [row.split()[1] for row in table if row.split()[1].endswith(":%04X" % port) and row.split()[3] == "0A"]
            self.assertEqual([one.split(":")[0] for one in local], ["0100007F"])

    # Fails when a port that is taken is no error, or the error does not name it.
    def test_bad_targets_are_errors(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            for target, text in (
                (port, f"--metrics {port}: 127.0.0.1:{port}: another process has this port"),
                ("host.invalid:1", "--metrics host.invalid:1"),
                ("70000", "a port is 0 to 65535; a file of this name is ./70000"),
                ("127.0.0.1:70000", "a port is 0 to 65535"),
                (self.path("none/m.prom"), "none/m.prom: cannot be written"),
                (self.path("none/m:70000"), "none/m:70000: cannot be written"),
                ("/dev/null", "--metrics is '/dev/null'; it must be a regular file or a port"),
                (self.path("in.pgm"), "is an input of this command"),
            ):
                self.path("in.pgm", pnm(0))
                run = result("halftone", self.path("in.pgm"), "--metrics", target, *CPU)
                self.assertEqual(run.returncode, 2, target)
                self.assertIn(text, run.stderr)

    # Fails when a reader finds a part of the file, or the file is not written again.
    def test_file_is_always_whole(self):
        path, name = self.path("m.prom"), 'a"b\\c.pgm'
        with Run("latency", "--pipeline", "halftone ! flow", "--size", "64x48", "--fps", "200", "--frames", "700", "--metrics",
                 path, *CPU) as run:
            counts, reads = set(), 0
            while run.process.poll() is None:
                with contextlib.suppress(FileNotFoundError):
                    with open(path) as file:
                        samples = parse(file.read())
                    reads += 1
                    if ("ocellus_latency_seconds_count", 'operator="flow",backend="cpu",name="flow"') in samples:
                        counts.add(value(samples, "ocellus_frames_total", operator="flow"))
            self.assertGreater(reads, 100)
            self.assertGreater(len(counts), 1)
        with open(path) as file:
            samples = parse(file.read())
        self.assertEqual(value(samples, "ocellus_frames_total", operator="flow"), 700)
        self.assertEqual(value(samples, "ocellus_frames_total", operator="halftone"), 700)
        self.assertEqual(value(samples, "ocellus_frames_read_total"), 700)
        self.assertEqual(glob.glob(self.path("*.part")), [])
        # A name has characters that a label has not.
        self.assertEqual(result("halftone", self.path(name, pnm(0)), "--metrics", path, *CPU).returncode, 0)
        with open(path) as file:
            samples = parse(file.read())
        self.assertEqual(value(samples, "ocellus_frames_total", name=self.path('a\\"b\\\\c.pgm')), 1)

    # Fails when two operators have the same labels, which Prometheus refuses, or frames of one are not counted.
    def test_several_devices_and_misses(self):
        path = self.path("m.prom")
        self.assertEqual(result("halftone", "test:32x32,frames=5", "--devices", "cpu cpu", "--metrics", path).returncode, 0)
        with open(path) as file:
            self.assertEqual(value(parse(file.read()), "ocellus_frames_total"), 5)
        late = result("latency", "--size", "64x48", "--frames", "20", "--fps", "100", "--budget-ms", "0.001", "--metrics", path)
        self.assertEqual(late.returncode, 1, late.stderr)
        with open(path) as file:
            self.assertEqual(value(parse(file.read()), "ocellus_missed_deadlines_total"), 20)


class Notifications(Temporary):
    def manager(self, name):
        """A socket as a service manager has it."""
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind("\0" + name[1:] if name.startswith("@") else name)
        manager.settimeout(SECONDS)
        return manager

    @staticmethod
    def received(manager, seconds):
        """What comes in this time."""
        states, end = [], time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            manager.settimeout(left)
            with contextlib.suppress(socket.timeout, BlockingIOError):
                states.append(manager.recv(4096).decode())
        manager.settimeout(SECONDS)
        return states

    # Fails when the program is ready before it can take a frame, the watchdog gets nothing, or the end is not told.
    def test_a_service_tells_its_life(self):
        for name in (self.path("notify"), f"@ocellus-test-{os.getpid()}"):
            manager = self.manager(name)
            environment = {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "400000"}
            with Run("halftone", "-", "--json-lines", *CPU, environment=environment, stdin=subprocess.PIPE) as run:
                # The size of frames is known from the first one.
                self.assertEqual(self.received(manager, 0.5), [])
                run.send(pnm(0))
                self.assertEqual(manager.recv(4096).decode(), f"READY=1\nSTATUS=Processes {INPUT}")
                begin, states = time.monotonic(), []
                for frame in range(1, 60):
                    run.send(pnm(frame))
                    run.line()
                    states += self.received(manager, 0.02)
                seconds = time.monotonic() - begin
                states += self.received(manager, 0.3)
                for state in states:
                    self.assertRegex(state, r"\AWATCHDOG=1\nSTATUS=\d+ frames of standard input, 0 dropped\Z")
                # Twice in the time of the watchdog, and no more: it costs a system call.
                self.assertGreaterEqual(len(states), min(59, seconds / 0.4))
                self.assertLessEqual(len(states), seconds / 0.2 + 1)
                self.assertEqual(self.received(manager, 0.6), [])  # no frames, no sign of life
                self.assertEqual(run.finish(), 0)
            self.assertEqual(manager.recv(4096).decode(), "STOPPING=1")

    # Fails when a thread that is no part of the work tells the watchdog that all is well.
    def test_an_operator_that_hangs_is_not_hidden(self):
        endless = self.endless()
        for command in (["cnn", "test:640x480,frames=3", "--template", endless, "--max-sweeps", "1000000", "--metrics", "0"],
                        ["latency", "--pipeline", f"cnn max_sweeps=1000000 template={endless}", "--warm-up", "0",
                         "--metrics", "0"]):
            manager = self.manager(self.path(command[0]))
            environment = {"NOTIFY_SOCKET": self.path(command[0]), "WATCHDOG_USEC": "200000"}
            with Run(*command, *CPU, environment=environment) as run:
                address = run.address()
                self.assertTrue(manager.recv(4096).decode().startswith("READY=1\n"))
                self.assertEqual(self.received(manager, 2), [])
                self.assertEqual(ask(address)[0], 200)  # the process lives
                run.process.send_signal(signal.SIGTERM)
                self.assertEqual(run.finish(), -signal.SIGTERM)
            self.assertEqual(manager.recv(4096).decode(), "STOPPING=1")

    # Fails when the watchdog of another process, or none, is told something.
    def test_only_its_own_watchdog(self):
        manager = self.manager(self.path("notify"))
        for more in ({}, {"WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "x"}):
            with Run("latency", "--size", "32x32", "--fps", "100", "--frames", "100", "--budget-ms", "10000", *CPU,
                     environment={"NOTIFY_SOCKET": self.path("notify"), **more}) as run:
                self.assertEqual(run.finish(), 0)
            states = self.received(manager, 0.2)
            self.assertEqual((states[0][:8], states[-1]), ("READY=1\n", "STOPPING=1"))
            self.assertNotIn("WATCHDOG", "".join(states))

    # Fails when a service manager that is gone ends or delays the program.
    def test_a_manager_may_be_gone(self):
        for name in ("/none/notify", "x" * 300, "", "vsock:1:2"):
            with Run("halftone", "test:32x32,frames=3", *CPU,
                     environment={"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "1"}) as run:
                self.assertEqual(run.finish(), 0)


class Lines(Temporary):
    FRAMES = ["halftone", "test:32x32@25,frames=3", *CPU]

    def check(self, text):
        lines = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([line.get("frame") for line in lines], [0, 1, 2, None])
        self.assertEqual(lines[-1]["frames_read"], 3)

    # Fails when a file is not appended to, or a report goes to standard output, too.
    def test_file(self):
        path = self.path("lines.jsonl")
        for _ in range(2):
            run = result(*self.FRAMES, "--json-to", path)
            self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
        with open(path) as file:
            text = file.read()
        half = len(text.splitlines()) // 2
        self.check("\n".join(text.splitlines()[:half]))
        self.check("\n".join(text.splitlines()[half:]))

    # Fails when a line waits for the next one.
    def test_each_line_comes_at_once(self):
        path = self.path("pipe")
        os.mkfifo(path)
        with Run("halftone", "-", "--json-to", path, *CPU, stdin=subprocess.PIPE) as run:
            run.send(pnm(0))
            with open(path) as pipe:
                for frame in range(3):
                    if frame > 0:
                        run.send(pnm(frame))
                    self.assertEqual(json.loads(pipe.readline())["frame"], frame)
                self.assertEqual(run.finish(), 0)
                self.assertEqual(json.loads(pipe.readline())["frames_read"], 3)

    # Fails when a kind of socket gets nothing, or a line that is not whole.
    def test_sockets(self):
        abstract = f"@ocellus-lines-{os.getpid()}"
        for family, address, target in (
            (socket.AF_UNIX, self.path("s"), "unix:" + self.path("s")),
            (socket.AF_UNIX, "\0" + abstract[1:], "unix:" + abstract),
            (socket.AF_INET, ("127.0.0.1", 0), "tcp:127.0.0.1:"),
        ):
            with socket.socket(family) as server:
                server.bind(address)
                server.listen()
                if family == socket.AF_INET:
                    target += str(server.getsockname()[1])
                with Run(*self.FRAMES, "--json-to", target) as run:
                    with server.accept()[0] as reader:
                        self.check(reader.makefile().read())
                    self.assertEqual(run.finish(), 0, target)

    # Fails when standard output gets something else than with --json-lines.
    def test_standard_output(self):
        self.check(result(*self.FRAMES, "--json-to", "-").stdout)
        self.check(result(*self.FRAMES, "--json-lines").stdout)

    # Fails when an input is changed, a bad target is found late, or a reader that is gone goes unnoticed.
    def test_bad_targets_are_errors(self):
        picture = self.path("in.pgm", pnm(0))
        for target, text in (
            (picture, "is an input of this command"),
            (self.path("none/lines"), "cannot be written: No such file"),
            ("unix:" + self.path("none"), "cannot be connected: No such file"),
            ("unix:", "is no name of a socket"),
            ("unix:" + "x" * 200, "is no name of a socket"),
            ("tcp:x", "is no address"),
            ("tcp:127.0.0.1:1", "cannot be connected: Connection refused"),
        ):
            run = result("halftone", picture, "--json-to", target)
            self.assertEqual((run.returncode, run.stdout), (2, ""), target)
            self.assertIn(text, run.stderr)
        with open(picture, "rb") as file:
            self.assertEqual(file.read(), pnm(0))
        same = result("halftone", picture, "-o", self.path("o.png"), "--json-to", self.path("o.png"))
        self.assertIn("-o and --json-to name the same file", same.stderr)
        self.assertEqual(result(*self.FRAMES, "--json", "--json-to", "-").returncode, 2)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(self.path("s"))
            server.listen()
            with Run("halftone", "-", "--json-to", "unix:" + self.path("s"), *CPU, stdin=subprocess.PIPE) as run:
                run.send(pnm(0))
                server.accept()[0].close()
                with contextlib.suppress(BrokenPipeError):
                    run.send(pnm(1))
                self.assertEqual(run.finish(), 2)
                self.assertIn("cannot be written: Broken pipe", run.errors.get(timeout=SECONDS))

    # Fails when a command prints JSON that no sink can get.
    def test_every_command_that_prints_json(self):
        def commands(path=()):
            text = result(*path, "--help").stdout
            listed = re.search(r"^Subcommands:\n((?:  .*\n|\n(?=  ))*)", text, re.MULTILINE)
            names = re.findall(r"^  ([a-z][a-z-]*)", listed.group(1), re.MULTILINE) if listed else []
            yield path, text
            for name in names:
                if (*path, name) not in [("bench",), ("compare", "latency"), ("cortex", "plan")]:  # another program
                    yield from commands((*path, name))

        found = [(path, text) for path, text in commands() if re.search(r"^  --json ", text, re.MULTILINE)]
        self.assertGreater(len(found), 15)
        for path, text in found:
            self.assertIn("--json-to TARGET", text, path)
        picture, bank, lines = self.path("a.pgm", pnm(0)), self.path("k.ocellus"), self.path("lines")
        self.assertEqual(result("kernels", "make", "--taps", "5x5x4", "-o", bank).returncode, 0)
        for number, command in enumerate((
            ["devices"], ["options", "flow"], ["template", "list"], ["template", "show", "edge"],
            ["compare", "image", picture, picture], ["kernels", "info", bank], ["identify", "--show", "gaussian-1"],
            ["kernels", "decompose", bank, "--rank", "1", "-o", self.path("d.ocellus")],
            ["latency", "--size", "32x32", "--frames", "3", "--budget-ms", "10000", *CPU],
        )):
            begin = time.time_ns()
            run = result(*command, "--json-to", lines)
            self.assertEqual((run.returncode, run.stdout), (0, ""), run.stderr)
            with open(lines) as file:
                written = file.read().splitlines()
            self.assertEqual(len(written), number + 1, command)
            self.assertTrue(begin <= json.loads(written[-1])["wall_clock_ns"] <= time.time_ns(), command)


class Times(Temporary):
    def lines(self, *arguments):
        begin = time.time_ns()
        run = result(*arguments, "--json-lines", *CPU)
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = [json.loads(line) for line in run.stdout.splitlines()]
        walls = [line["wall_clock_ns"] for line in lines]
        self.assertEqual(walls, sorted(walls))
        self.assertTrue(begin <= walls[0] and walls[-1] <= time.time_ns())
        return [(line["pts_ns"], line["running_time_ns"]) for line in lines]

    # Fails when a line lacks a time, or has that of another frame.
    def test_every_line_has_three_times(self):
        at_25 = [(frame * 40_000_000,) * 2 for frame in (0, 1, 2)]
        self.assertEqual(self.lines("halftone", "test:32x32@25,frames=3"), at_25 + at_25[-1:])
        y4m = self.path("a.y4m")
        self.assertEqual(result("halftone", "test:32x32@25,frames=3", "-o", y4m).returncode, 0)
        self.assertEqual(self.lines("halftone", y4m), at_25 + at_25[-1:])
        # The field from a frame to the next one has the times of the first of them.
        self.assertEqual(self.lines("flow", "test:32x32@25,frames=4"), at_25 + at_25[-1:])
        self.assertEqual(self.lines("halftone", self.path("a.pgm", pnm(0))), [(None, None)] * 2)

    # Fails when the times of a video are not those of its container.
    def test_videos(self):
        video = self.path("a.webm")
        if result("halftone", "test:64x48@25,frames=3", "-o", video).returncode != 0:
            self.skipTest("this build writes no video")
        times = self.lines("halftone", video)
        self.assertEqual(len(times), 4)
        for (pts, running), expected in zip(times, (0, 40_000_000, 80_000_000, 80_000_000)):
            self.assertAlmostEqual(pts, expected, delta=1_000_000)
            self.assertEqual(pts, running)


if __name__ == "__main__":
    unittest.main()
