"""The Python package against the C++ library: results, memory, errors, loading. Comments say how a test
would fail."""
import copy
import ctypes
import decimal
import dis
import inspect
import itertools
import os
import pathlib
import pickle
import selectors
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zlib

import python_support as support

np = support.np

import ocellus
from ocellus import Error, Operator, Status
from ocellus import _library, _operator

WIDTH, HEIGHT = 64, 48
FRAMES = support.moving_frames(WIDTH, HEIGHT, 5, 1.0, -0.5)


def flow(**options):
    return Operator("flow", size=(WIDTH, HEIGHT), backend="cpu", workers=2, **options)


class Results(unittest.TestCase):
    # Fails when a struct differs from the one in ocellus_c.h, or when the package has not all of them.
    def test_layouts(self):
        in_c = support.layouts(support.environment("C_LAYOUT"))
        structs = support.structs_of(_library)
        self.assertEqual(set(in_c), set(structs))
        for name, struct in structs.items():
            with self.subTest(name):
                size, fields = in_c[name]
                self.assertEqual(ctypes.sizeof(struct), size)
                self.assertEqual(support.layout_of(struct), fields)

    # Fails when an operator gives other bytes than OperatorHandle in C++, or when it is not in the list.
    def test_every_operator_gives_the_bytes_of_cpp(self):
        with tempfile.TemporaryDirectory() as folder:
            frames = pathlib.Path(folder, "frames")
            frames.write_bytes(b"".join(frame.tobytes() for frame in FRAMES))
            results = pathlib.Path(folder, "results")
            results.mkdir()
            command = [support.environment("CPP_OPERATORS"), "results", frames, str(WIDTH), str(HEIGHT), "5", results]
            subprocess.run(command, check=True)
            expected = {path.name: path.read_bytes() for path in results.iterdir()}
        self.assertEqual(set(ocellus.operators()), set(expected))
        self.assertGreater(len(expected), 5)
        for name, summary in ocellus.operators().items():
            with self.subTest(name), Operator(name, size=(WIDTH, HEIGHT), backend="cpu") as operator:
                self.assertGreater(len(summary), 10)
                for frame in FRAMES:
                    result = operator(frame)
                planes = b"".join(plane.tobytes() for plane in result)
                self.assertEqual(planes, expected[name][: len(planes)])
                self.check_record(operator, result, expected[name][len(planes) :])
                for plane, info in zip(result, operator.info.planes):
                    self.assertIs(getattr(result, info.name), plane)
                    self.assertEqual((plane.shape, plane.dtype), (info.size[::-1], info.dtype))

    def check_record(self, operator, result, expected):
        if not operator.info.fields:
            self.assertIsNone(result.record)
            self.assertEqual(expected, b"")
            return
        self.assertEqual([field.name for field in operator.info.fields], list(result.record))
        for field, (info, offset) in zip(operator.info.fields, operator._fields):
            value = np.atleast_1d(np.asarray(result.record[field.name], field.dtype))
            self.assertEqual(value.size, field.capacity)
            end = offset + field.capacity * field.dtype.itemsize
            self.assertEqual(value.tobytes(), expected[offset:end], field.name)
            self.assertGreater(len(info.help), 0)

    # Fails when the motion of a texture is not the known one: planes in a wrong order would pass a
    # comparison of bytes with a program that has the same error.
    def test_flow_is_the_known_motion(self):
        operator = flow()
        for frame in FRAMES:
            u, v, confidence = operator(frame)
        self.assertAlmostEqual(float(np.nanmedian(u)), 1.0, delta=0.1)
        self.assertAlmostEqual(float(np.nanmedian(v)), -0.5, delta=0.1)
        self.assertGreater(float(confidence.max()), 0.0)

    # Fails when a frame or a plane is copied, or when a row's padding is taken for pixels.
    def test_nothing_is_copied(self):
        wide = np.full((HEIGHT, WIDTH + 40), 7, np.uint8)
        inside = wide[:, 3 : 3 + WIDTH]
        first, second = flow(), flow()
        for frame in FRAMES:
            inside[:] = frame
            ticket = first.submit(inside)
            self.assertTrue(np.shares_memory(ticket._frame, wide))
            result = first.wait(ticket)
            expected = second(frame)
        for plane, same, memory in zip(result, expected, ticket._lease.memory.arrays):
            self.assertTrue(np.shares_memory(plane, memory))
            np.testing.assert_array_equal(plane, same)

    # Fails when 16-bit or float frames are read as 8-bit ones.
    def test_every_type_of_frames(self):
        for kind, factor in ((np.uint16, 257), (np.float32, 1)):
            with self.subTest(kind.__name__):
                other = flow(dtype=kind)
                same = flow()
                for frame in FRAMES:
                    result = other(frame.astype(kind) * kind(factor))
                    expected = same(frame)
                self.assertEqual(other.info.dtype, kind)
                np.testing.assert_allclose(result.u, expected.u, atol=1e-3)

    # Fails when the bytes of a color are taken in another order, or when the result is not that of the luma.
    def test_frames_with_color(self):
        weights = {"b": 7471, "g": 38470, "r": 19595}  # ocellus/luma.h
        random = np.random.default_rng(3)
        for color in ("bgr", "rgb", "bgrx", "rgbx", "yuy2", "uyvy"):
            with self.subTest(color):
                channels = len(color) if "u" not in color else 2
                other, same = flow(color=color), flow()
                self.assertEqual((other.info.pixel_format, same.info.pixel_format), (color, "gray8"))
                for gray in FRAMES:
                    frame = random.integers(0, 256, (HEIGHT, WIDTH, channels), np.uint8)
                    if channels == 2:
                        frame[..., color.index("y") % 2] = gray
                        luma = gray
                    else:
                        frame[..., :3] //= 8
                        frame[..., :3] += (gray // 2)[..., None]
                        parts = [(frame[..., i].astype(np.uint32) * weights[c]) >> 8 for i, c in enumerate(color[:3])]
                        luma = ((sum(parts) + 128) >> 8).astype(np.uint8)
                    result, expected = other(frame), same(luma)
                for plane, wanted in zip(result, expected):
                    np.testing.assert_array_equal(plane, wanted)

    # Fails when a picture that keeps the color has not the shape of the frame, or when its pixels do not change by as
    # much as the luma. A halftone is gray unless the option says otherwise.
    def test_pictures_with_color(self):
        random = np.random.default_rng(5)
        frame = random.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
        parts = [(frame[..., i].astype(np.uint32) * weight) >> 8 for i, weight in enumerate((19595, 38470, 7471))]
        luma = ((sum(parts) + 128) >> 8).astype(np.uint8)
        for name, options in (("restore", {}), ("halftone", {"chroma": "keep"})):
            with self.subTest(name):
                size = (WIDTH, HEIGHT)
                gray = Operator(name, size, backend="cpu", **options)(luma).image
                other = Operator(name, size, color="rgb", backend="cpu", **options)
                self.assertEqual(other.info.planes[0].channels, 3)
                picture = other(frame).image
                change = gray.astype(np.int32) - luma
                wanted = np.clip(frame.astype(np.int32) + change[..., None], 0, 255)
                np.testing.assert_array_equal(picture, wanted)
        dots = Operator("halftone", (WIDTH, HEIGHT), color="rgb", backend="cpu")(frame).image
        self.assertEqual(dots.shape, (HEIGHT, WIDTH))

    # Fails when a result changes while somebody holds it, or when the memory of results is not used again.
    def test_results_stay_and_their_memory_returns(self):
        operator = flow()
        operator(FRAMES[0])
        kept = operator(FRAMES[1]).u
        copy = kept.copy()
        addresses = set()
        for number in range(20):
            u, v, confidence = operator(FRAMES[number % 5])
            addresses.add(u.ctypes.data)
        np.testing.assert_array_equal(kept, copy)
        self.assertNotIn(kept.ctypes.data, addresses)
        self.assertLessEqual(len(addresses), 2)

    # Fails when a result is lost with its operator.
    def test_results_outlive_the_operator(self):
        operator = flow()
        operator(FRAMES[0])
        result = operator(FRAMES[1])
        copies = [plane.copy() for plane in result]
        operator.close()
        del operator
        for plane, copy in zip(result, copies):
            np.testing.assert_array_equal(plane, copy)

    # Fails when planes that are not wanted are computed, or the wrong ones are left out.
    # Fails when a call without an operator gives another result than an operator, or loses the color.
    def test_one_call(self):
        first, second = support.moving_frames(WIDTH, HEIGHT, 2, 1.0, -0.5)
        operator = ocellus.Operator("flow", size=(WIDTH, HEIGHT), window=9)
        operator(first)
        expected = operator(second)
        result = ocellus.flow(first, second, window=9)
        for plane, wanted in zip(result, expected):
            np.testing.assert_array_equal(plane, wanted)
        color = np.stack([first, second, first], axis=2)
        self.assertEqual(ocellus.restore(color).shape, color.shape)
        self.assertFalse((ocellus.restore(color) == color).all())
        np.testing.assert_array_equal(ocellus.restore(first), ocellus.apply("restore", first)[0])
        self.assertEqual(sorted(set(ocellus.halftone(first).flat)), [0, 255])
        self.assertIsInstance(ocellus.digits(first).text, str)
        with self.assertRaisesRegex(ocellus.InvalidArgument, "give images"):
            ocellus.apply("flow")

    # Fails when a result prints numbers that it does not have, or cannot be printed at all.
    def test_results_print_themselves(self):
        frame = np.full((HEIGHT, WIDTH), 7, np.uint8)
        text = repr(ocellus.digits(frame))
        self.assertRegex(text, r"^Result\(scores=float32\[\d+, \d+\] .*, count=0, .*text=''\)$")
        text = repr(ocellus.apply("restore", frame))
        self.assertEqual(text, f"Result(image=uint8[{HEIGHT}, {WIDTH}] 7 to 7)")
        nothing = ocellus.flow(frame, frame, confidence_threshold=1e30)
        self.assertIn(f"u=float32[{HEIGHT}, {WIDTH}] without a value", repr(nothing))
        self.assertEqual(repr(ocellus.Result()), "Result()")

    # Fails when the program does not get what was given, when what it wrote is no model or filter, or when a
    # mistake does not say what is valid.
    def test_training_and_identification(self):
        if "OCELLUS_PROGRAM" not in os.environ:
            self.skipTest("the program is not built")
        sharp = np.zeros((96, 96), np.uint8)
        sharp[:, ::24] = sharp[::24] = sharp[20:60, 30:50] = 200
        with tempfile.TemporaryDirectory() as folder:
            blur, model = os.path.join(folder, "blur.ocellus"), os.path.join(folder, "model.ocellus")
            program = os.environ["OCELLUS_PROGRAM"]
            subprocess.run([program, "identify", "--psf", "gaussian:1.2", "--blur", "-o", blur],
                           check=True, stdout=subprocess.DEVNULL)
            blurred = ocellus.restore(sharp, filter=blur)
            report = ocellus.identify(blurred, sharp, os.path.join(folder, "lens.ocellus"), support=5)
            self.assertEqual(report["support"], 5)
            restored = ocellus.restore(blurred, filter=report["filter"])
            error = [np.mean((image.astype(float) - sharp) ** 2) for image in (restored, blurred)]
            self.assertLess(error[0], error[1] / 2)
            images = np.zeros((20, 28, 28), np.uint8)
            images[::2, 4:24, 12:16] = 255
            images[1::2, 4:24, 6:10] = images[1::2, 4:8, 6:20] = images[1::2, 20:24, 6:20] = 255
            report = ocellus.train_digits(images, np.arange(20) % 2, model, tuning_passes=0, planes="8,8")
            self.assertEqual((report["images"], report["model"]), (20, model))
            # Ctrl-C in a notebook, which only Python gets.
            before = sorted(os.listdir(folder))
            threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            with self.assertRaises(KeyboardInterrupt):
                ocellus.train_digits(np.tile(images, (100, 1, 1)), np.arange(2000) % 2, f"{folder}/2.ocellus", copies=100)
            self.assertEqual(sorted(os.listdir(folder)), before)
            with self.assertRaisesRegex(ocellus.Error, "train digits ended with 2"):
                ocellus.train_digits(images, np.arange(20) % 2, model, nonsense=1)
        with self.assertRaisesRegex(ocellus.InvalidArgument, r"labels \[19\]"):
            ocellus.train_digits(images, np.zeros(19), "x")
        with self.assertRaisesRegex(ocellus.InvalidArgument, "labels are -1 to 0"):
            ocellus.train_digits(images, np.arange(20) % 2 - 1, "x")
        with self.assertRaisesRegex(ocellus.InvalidArgument, "it must be gray"):
            ocellus.identify(images, images, "x")

    def test_planes_may_be_left_out(self):
        some = flow(planes=["v", "u"])
        result, expected = some(FRAMES[0]), flow()(FRAMES[0])
        u, v = result
        np.testing.assert_array_equal(u, expected.u)
        np.testing.assert_array_equal(v, expected.v)
        with self.assertRaisesRegex(AttributeError, "no plane 'confidence'; there are u, v"):
            result.confidence
        with self.assertRaisesRegex(Error, "there is no plane 'w'; there are u, v, confidence"):
            flow(planes=["w"])


class Flight(unittest.TestCase):
    # Fails when frames in flight get the results of other frames, or in a wrong order of waiting.
    def test_frames_in_flight(self):
        operator, one = flow(depth=3), flow()
        expected = [[plane.copy() for plane in one(frame)] for frame in FRAMES[:3]]
        tickets = [operator.submit(frame, timestamp_ns=10 * i) for i, frame in enumerate(FRAMES[:3])]
        with self.assertRaisesRegex(Error, "3 frames are in flight, which is the depth") as caught:
            operator.submit(FRAMES[3])
        self.assertEqual(caught.exception.status, Status.QUEUE_FULL)
        for number in (2, 0, 1):
            result = operator.wait(tickets[number], timeout=60)
            self.assertEqual((result.frame.sequence, result.frame.timestamp_ns), (number, 10 * number))
            self.assertEqual(tickets[number].number, number + 1)
            for plane, same in zip(result, expected[number]):
                np.testing.assert_array_equal(plane, same)

    # Fails when frames together give other results than one by one, or when fewer or more are in flight than the depth.
    def test_map(self):
        one = flow()
        expected = [[plane.copy() for plane in one(frame)] for frame in FRAMES]
        for depth in (1, 2, 3, 8):
            operator = flow(depth=depth)
            asked = []

            def source():
                for frame in FRAMES:
                    asked.append(len(operator.in_flight))
                    yield frame

            for frames in (np.stack(FRAMES), FRAMES, source()):
                operator.reset()
                results = list(operator.map(frames))
                self.assertEqual(len(results), len(FRAMES))
                for result, planes in zip(results, expected):
                    for plane, same in zip(result, planes):
                        np.testing.assert_array_equal(plane, same)
            self.assertEqual(asked, [min(number, depth - 1) for number in range(len(FRAMES))])
            self.assertEqual(list(operator.map([])), [])
        color = Operator("restore", size=(WIDTH, HEIGHT), color="rgb", depth=2)
        stack = np.random.default_rng(1).integers(0, 256, (3, HEIGHT, WIDTH, 3), np.uint8)
        images = [result.image.copy() for result in map(color, stack)]
        np.testing.assert_array_equal([result.image for result in color.map(stack)], images)

    # Fails when frames stay in flight after the caller asked for no more, or after a wrong frame.
    def test_map_that_ends_early(self):
        operator = flow(depth=3)
        results = operator.map(FRAMES)
        self.assertEqual(next(results).frame.sequence, 0)
        self.assertEqual(len(operator.in_flight), 2)
        results.close()
        self.assertEqual(operator.in_flight, ())
        for wrong, text in ((np.zeros((9, 9), np.uint8), "9x9"), (FRAMES[0] / 255, "float64"), ([], "shape")):
            with self.assertRaisesRegex(ocellus.InvalidArgument, text):
                list(operator.map([FRAMES[0], FRAMES[1], wrong]))
            self.assertEqual(operator.in_flight, ())
        with self.assertRaisesRegex(ocellus.InvalidArgument, "map takes frames in a stack"):
            operator(np.stack(FRAMES))
        results = operator.map(FRAMES)
        next(results)
        operator.stop()
        with self.assertRaises(Error) as caught:
            list(results)
        self.assertEqual(caught.exception.status, Status.STOPPED)
        operator.reset()
        results = operator.map(FRAMES)
        next(results)
        operator.close()
        with self.assertRaisesRegex(ocellus.InvalidArgument, "closed"):
            next(results)

    # Fails when the memory of a frame in flight is freed or used again although its ticket was dropped.
    def test_a_dropped_ticket_keeps_its_memory(self):
        operator = flow(depth=2)
        operator.submit(FRAMES[0].copy())
        self.assertEqual(len(operator._in_flight), 1)
        dropped = next(iter(operator._in_flight.values()))._lease.memory
        ticket = operator.submit(FRAMES[1].copy())
        operator.wait(ticket)
        self.assertIsNot(ticket._lease.memory, dropped)
        operator.reset()
        self.assertEqual(len(operator._in_flight), 0)

    # Fails when a ticket works twice or after reset.
    def test_stale_tickets(self):
        operator = flow()
        ticket = operator.submit(FRAMES[0])
        operator.wait(ticket)
        with self.assertRaisesRegex(Error, "^ticket 1 is not in flight$") as caught:
            operator.wait(ticket)
        self.assertEqual(caught.exception.status, Status.INVALID_TICKET)
        dropped = operator.submit(FRAMES[1])
        operator.reset()
        with self.assertRaisesRegex(Error, "^ticket 2 is not in flight$"):
            operator.wait(dropped)

    # Fails when a frame that would take minutes does not end after stop, which another thread calls; when its
    # memory stays in use; or when the operator takes no frame after reset.
    def test_stop(self):
        operator = Operator("cnn", size=(320, 240), backend="cpu", workers=2, template="hlf5(sweeps=100000)",
                            update="synchronous", max_sweeps=1000000)
        frame = support.moving_frames(320, 240, 1, 0, 0)[0]
        ticket = operator.submit(frame)
        threading.Timer(0.2, operator.stop).start()
        begin = time.monotonic()
        with self.assertRaisesRegex(Error, "was stopped before ticket 1 was done") as caught:
            operator.wait(ticket)
        self.assertLess(time.monotonic() - begin, 20)
        self.assertEqual(caught.exception.status, Status.STOPPED)
        self.assertEqual(len(operator._in_flight), 0)
        with self.assertRaisesRegex(Error, "call reset before the next frame"):
            operator.submit(frame)
        operator.reset()
        operator.submit(frame)
        begin = time.monotonic()
        operator.close()
        self.assertLess(time.monotonic() - begin, 20)

    # Fails when the record does not tell that the limit of its sweeps ended a frame.
    def test_finished(self):
        for sweeps, finished in ((3, False), (4096, True)):
            operator = Operator("cnn", size=(WIDTH, HEIGHT), backend="cpu", template="hlf5(sweeps=5)",
                                update="synchronous", max_sweeps=sweeps)
            self.assertEqual(operator(FRAMES[0]).record["finished"], finished)

    # Fails when the text is not that of the record's labels, or a part is taken from another field.
    def test_text(self):
        operator = Operator("digits", size=(WIDTH, HEIGHT), backend="cpu", layout="tiles", tile_width=16,
                            tile_height=16, min_confidence=0.0)
        result = operator(FRAMES[0])
        names = operator.info.class_names
        self.assertEqual(names, tuple("0123456789"))
        labels = ["" if label < 0 else names[label] for label in result.record["label"]]
        labels = [text or " " for text in labels[: result.record["count"]]]
        self.assertEqual(len(labels), 12)
        self.assertEqual(operator.text(result), "".join(labels))
        self.assertEqual(operator.text(result, 0), operator.text(result))
        with self.assertRaisesRegex(ocellus.Error, "part is 1; the text of .* has 1 parts"):
            operator.text(result, 1)
        with self.assertRaisesRegex(ocellus.Error, "part is -1; it must not be negative"):
            operator.text(result, -1)
        self.assertEqual(flow().text(flow()(FRAMES[0])), "")
        other = Operator("cortex", size=(WIDTH, HEIGHT), backend="cpu")
        with self.assertRaisesRegex(ocellus.Error, "the result is not one of the operator"):
            operator.text(other(FRAMES[0]))
        roles = {field.name: field.role for field in operator.info.fields}
        self.assertEqual(roles["label"], ocellus.FieldRole.LABEL)

    # Fails when wait blocks although its time is over, when the frame is lost then, or when a look
    # counts as a missed deadline.
    def test_deadline(self):
        big = support.moving_frames(1024, 768, 1, 0, 0)[0]
        operator = Operator("flow", size=(1024, 768), backend="cpu")

        def miss(timeout):
            # On a busy machine the frame may be done before this thread runs again.
            nonlocal ticket
            for _ in range(50):
                ticket = operator.submit(big)
                operator.wait(ticket, timeout=timeout)

        for timeout, missed in ((0, 0), (1e-6, 1)):
            ticket = None
            with self.assertRaisesRegex(ocellus.DeadlineMissed, "the frame still belongs to the operator") as caught:
                miss(timeout)
            self.assertEqual(caught.exception.status, Status.DEADLINE_MISSED)
            self.assertEqual(operator.wait(ticket).u.shape, (768, 1024))
            self.assertEqual(operator.stats.missed_deadlines, missed)
            self.assertEqual(operator.stats.overflow, 0)

    # Fails when wait holds Python's lock: the other thread would never submit.
    def test_wait_beside_submit(self):
        operator = flow(depth=2)
        tickets = []
        ready = threading.Semaphore(0)

        def send():
            for number in range(200):
                while len(operator._in_flight) == 2:
                    time.sleep(0.0001)
                tickets.append(operator.submit(FRAMES[number % 5]))
                ready.release()

        thread = threading.Thread(target=send)
        thread.start()
        for number in range(200):
            self.assertTrue(ready.acquire(timeout=60))
            self.assertEqual(operator.wait(tickets[number]).frame.sequence, number)
        thread.join()
        self.assertEqual(operator.stats.frames, 200)

    # Fails when a selector is not told of a frame that is done, when a canceled frame comes back or
    # keeps its memory, or when one that is done is dropped.
    def test_event_loop_and_cancel(self):
        operators = [flow(depth=2), flow(depth=2)]
        one = flow()
        expected = [[plane.copy() for plane in one(frame)] for frame in FRAMES[:4]]
        for operator in operators:
            canceled = 0
            with selectors.DefaultSelector() as selector:
                selector.register(operator, selectors.EVENT_READ)
                self.assertEqual(operator.fileno(), operator.fileno())
                self.assertEqual(selector.select(timeout=0), [])
                for number, frame in enumerate(FRAMES[:4]):
                    ticket = operator.submit(frame)
                    wrong = operator.submit(FRAMES[4])
                    outcome = operator.cancel(wrong)
                    self.assertEqual(selector.select(timeout=60)[0][0].fileobj, operator)
                    result = operator.wait(ticket, timeout=0)
                    if outcome is ocellus.CancelOutcome.CANCELED:
                        canceled += 1
                        with self.assertRaisesRegex(Error, "is not in flight"):
                            operator.wait(wrong)
                    else:
                        operator.wait(wrong)
                    self.assertEqual(selector.select(timeout=0), [])
                    self.assertEqual(len(operator._in_flight), 0)
                    if canceled == number + 1:
                        for plane, same in zip(result, expected[number]):
                            np.testing.assert_array_equal(plane, same)
                ticket = operator.submit(FRAMES[0])
                self.assertEqual(len(selector.select(timeout=60)), 1)
                self.assertIs(operator.cancel(ticket), ocellus.CancelOutcome.DONE)
                operator.wait(ticket, timeout=0)
            self.assertEqual(operator.stats.canceled_frames, canceled)
            self.assertEqual(operator.stats.frames, 9 - canceled)

    # Fails when reset keeps the past.
    def test_reset(self):
        operator = flow()
        first = operator(FRAMES[0]).u.copy()
        operator(FRAMES[1])
        operator.reset()
        result = operator(FRAMES[0])
        np.testing.assert_array_equal(result.u, first)
        self.assertTrue(result.frame.warming_up)

    # Fails when NaN in a frame is not told.
    def test_bad_pixels(self):
        operator = flow(dtype=np.float32)
        frame = FRAMES[0].astype(np.float32)
        self.assertFalse(operator(frame).frame.bad_pixels)
        frame[3, 4] = np.nan
        self.assertTrue(operator(frame).frame.bad_pixels)
        self.assertEqual(operator.stats.bad_frames, 1)


class Foreign:
    """An array of another library that has only DLPack."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


class OnDevice:
    """An array of another library that says it is in the memory of a CUDA device."""

    def __init__(self, shape, kind="|u1", address=0x7F0000000000, **more):
        self.__cuda_array_interface__ = {
            "shape": shape, "typestr": kind, "data": (address, False), "version": 3, **more
        }


class Arrays(unittest.TestCase):
    # Fails when an array of another library is copied or refused, or when the memory of a result that another
    # library holds is used again.
    def test_dlpack(self):
        operator, same = flow(), flow()
        for frame in FRAMES[:2]:
            ticket = operator.submit(Foreign(frame))
            self.assertTrue(np.shares_memory(ticket._frame, frame))
            result, expected = operator.wait(ticket), same(frame)
        np.testing.assert_array_equal(result.u, expected.u)
        self.assertEqual(result.u.__dlpack_device__(), (1, 0))
        held = np.from_dlpack(result.u)
        self.assertTrue(np.shares_memory(held, result.u))
        del result, ticket
        for frame in FRAMES * 3:
            operator(frame)
        np.testing.assert_array_equal(held, expected.u)
        picture = ocellus.halftone(FRAMES[0])
        self.assertTrue(np.shares_memory(np.from_dlpack(picture), picture))

    # Fails when the memory of a device is read as that of the host, or the error does not say what to do.
    def test_device_memory_on_the_cpu(self):
        operator = flow()
        where = r"\.get\(\) of CuPy.*cudaMemcpy"
        with self.assertRaisesRegex(ocellus.InvalidArgument, f"frame is in CUDA memory, .* backend is cpu; .*{where}"):
            operator(OnDevice((HEIGHT, WIDTH)))
        with self.assertRaisesRegex(ocellus.InvalidArgument, rf"out\['u'\] is in CUDA memory.*{where}"):
            operator(FRAMES[0], out={"u": OnDevice((HEIGHT, WIDTH), "<f4")})
        with self.assertRaisesRegex(ocellus.InvalidArgument, f"device type 2 of DLPack; .*{where}"):
            operator(Foreign(FRAMES[0], (2, 0)))
        with self.assertRaisesRegex(ocellus.InvalidArgument, where):
            ocellus.halftone(OnDevice((HEIGHT, WIDTH)), backend="cpu")
        operator(FRAMES[0])
        self.assertEqual(operator.stats.frames, 1)

    # Fails when the address, the rows or the stream of an array on a device does not reach the library.
    def test_device_memory_reaches_the_library(self):
        operator = flow()
        seen = []

        class Library:
            def ocellus_operator_submit(self, op, frame, planes, count, record, ticket, error):
                def of(one):
                    return one.data, one.width, one.height, one.stride, one.format, one.memory, one.stream

                seen.append((of(frame), [of(plane) for plane in planes[:count]]))
                return int(Status.QUEUE_FULL)

        info, library = operator.info, operator._lib
        operator.info, operator._lib = info._replace(backend="cuda"), Library()
        out = {
            name: OnDevice((HEIGHT, WIDTH), "<f4", address=4096 * number, strides=(512, 4), stream=7)
            for number, name in enumerate(("u", "v", "confidence"), 1)
        }
        with self.assertRaises(Error):
            operator.submit(OnDevice((HEIGHT, WIDTH), strides=None, stream=2), out=out)
        frame, planes = seen.pop()
        self.assertEqual(frame, (0x7F0000000000, WIDTH, HEIGHT, WIDTH, 0, 2, 2))
        self.assertEqual(planes[:3], [(4096 * n, WIDTH, HEIGHT, 512, 2, 2, 7) for n in (1, 2, 3)])
        with self.assertRaises(Error):
            operator.submit(OnDevice((HEIGHT, WIDTH), strides=(WIDTH + 8, 1)))
        self.assertEqual(seen.pop()[0], (0x7F0000000000, WIDTH, HEIGHT, WIDTH + 8, 0, 2, None))
        for bad, text in (
            (OnDevice((HEIGHT, WIDTH), strides=(2 * WIDTH, 2)), "side by side"),
            (OnDevice((HEIGHT, WIDTH), mask=1), "has a mask"),
            (OnDevice((HEIGHT, WIDTH + 1, 2)), "must be a gray image"),
            (OnDevice((HEIGHT, WIDTH), ">f4"), "must be uint8"),
        ):
            with self.assertRaisesRegex(ocellus.InvalidArgument, text):
                operator.submit(bad)
        self.assertEqual(seen, [])
        operator.info, operator._lib = info, library

    # Fails when the result is in other memory than that of the caller, or the caller's memory is used again.
    def test_output_of_the_caller(self):
        operator, same = flow(), flow()
        wide = np.zeros((3, HEIGHT, WIDTH + 16), np.float32)
        inside = wide[:, :, 8 : 8 + WIDTH]
        for frame in FRAMES[:2]:
            result, expected = operator(frame, out=dict(zip(("u", "v", "confidence"), inside))), same(frame)
        for plane, wanted, memory in zip(result, expected, inside):
            np.testing.assert_array_equal(plane, wanted)
            self.assertTrue(np.shares_memory(plane, memory))
        self.assertEqual(wide[:, :, :8].any() or wide[:, :, 8 + WIDTH :].any(), False)
        mine = np.zeros((HEIGHT, WIDTH), np.float32)
        result, expected = operator(FRAMES[2], out={"v": mine}), same(FRAMES[2])
        self.assertIs(result.v, mine)
        np.testing.assert_array_equal(mine, expected.v)
        np.testing.assert_array_equal(result.u, expected.u)
        before = mine.copy()
        operator(FRAMES[4])
        np.testing.assert_array_equal(mine, before)
        fixed = np.zeros((HEIGHT, WIDTH), np.float32)
        fixed.flags.writeable = False
        for name, bad, text in (
            ("u", mine.T, r"it must be an array of float32\[48, 64\]"),
            ("u", mine.astype(np.float64), "is float64"),
            ("u", np.zeros((HEIGHT, 2 * WIDTH), np.float32)[:, ::2], "side by side"),
            ("u", fixed, "and read-only"),
            ("w", mine, "out has the plane 'w'; there are u, v, confidence"),
        ):
            with self.assertRaisesRegex(ocellus.InvalidArgument, text):
                operator(FRAMES[0], out={name: bad})

    # The same on a device, where there are one and CuPy. Fails when the library reads or writes other memory.
    def test_device(self):
        try:
            import cupy
            cupy.cuda.runtime.getDeviceCount()
        except Exception as error:
            self.skipTest(f"no CuPy with a device: {error}")
        operator, same = Operator("flow", size=(WIDTH, HEIGHT), backend="cuda"), flow()
        out = {name: cupy.zeros((HEIGHT, WIDTH), "f4") for name in ("u", "v", "confidence")}
        for frame in FRAMES[:2]:
            result, expected = operator(cupy.asarray(frame), out=out), same(frame)
        self.assertIs(result.u, out["u"])
        np.testing.assert_allclose(result.u.get(), expected.u, atol=1e-3)


def png_pixels(png):
    """The pixels of a PNG file that the package wrote."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, bits, color = struct.unpack(">2I2B", png[16:26])
    assert (bits, color) == (8, 2)
    chunks, at = {}, 8
    while at < len(png):
        length = struct.unpack(">I", png[at : at + 4])[0]
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + data) == struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0]
        chunks[kind] = data
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


class Drawing(unittest.TestCase):
    # Fails when the planes change their places, the colors their order, or the file is no PNG of the drawing.
    def test_flow(self):
        operator = flow()
        for frame in FRAMES:
            result = operator(frame)
        wheel = result.draw()
        self.assertEqual((wheel.shape, wheel.dtype), ((HEIGHT, WIDTH, 3), np.uint8))
        red, green, blue = wheel.reshape(-1, 3).mean(axis=0)  # to the right and up: between red and magenta
        self.assertGreater(red, blue + 20)
        self.assertGreater(blue, green + 20)
        np.testing.assert_array_equal(png_pixels(result._repr_png_()), wheel)
        over = result.draw(FRAMES[-1])
        changed = (over != FRAMES[-1][:, :, None]).any(axis=2).mean()
        self.assertTrue(0.02 < changed < 0.9, changed)
        region = ocellus.flow(*FRAMES[:2], roi="8,8,32,16")
        self.assertEqual(region.draw(FRAMES[1]).shape, (16, 32, 3))

    # Fails when the boxes are elsewhere, cover the ink, or are left out without an error.
    def test_items(self):
        y, x = np.mgrid[0:120, 0:160]
        frame = np.where((abs(x - 50) < 4) & (abs(y - 60) < 24), 20, 235).astype(np.uint8)
        with Operator("digits", size=(160, 120), backend="cpu") as operator:
            result = operator(frame)
            self.assertEqual(result.record["count"], 1)
            box = [result.record[name][0] for name in ("x", "y", "width", "height")]
            over, alone = result.draw(frame), result.draw()
            copied = copy.copy(result)
        with self.assertRaisesRegex(ocellus.InvalidArgument, "the operator is closed, or the result is a copy"):
            result.draw(frame)
        with self.assertRaisesRegex(ocellus.InvalidArgument, "is a copy"):
            copied.draw()
        self.assertIsNone(result._repr_png_())
        self.assertIn("<code>Result(scores=", result._repr_html_())
        ink = np.s_[box[1] : box[1] + box[3], box[0] : box[0] + box[2]]
        np.testing.assert_array_equal(over[ink], np.repeat(frame[ink][:, :, None], 3, axis=2))
        self.assertTrue((alone[ink] == 255).all())
        for image in (over, alone):
            red, green, blue = (image[box[1] - 2, box[0] + box[2] // 2].astype(int))
            self.assertGreater(green, red + 50)
        np.testing.assert_array_equal(over[:, 100:], np.repeat(frame[:, 100:, None], 3, axis=2))
        # That of one call is over its image, although its operator is closed.
        np.testing.assert_array_equal(png_pixels(ocellus.digits(frame)._repr_png_()), over)
        objects = [np.full((120, 160), 90, np.uint8) for _ in range(4)]
        for time, image in enumerate(objects):
            image[40:80, 20 + 2 * time : 60 + 2 * time] = support.moving_frames(40, 40, 1, 0, 0)[0]
        with Operator("flow", size=(160, 120), backend="cpu", objects=4) as operator:
            for image in objects:
                result = operator(image)
            yellow = (result.draw(image) == (255, 220, 0)).all(axis=2)
            near = np.abs(result.draw(image).astype(int) - (255, 220, 0)).max(axis=2) < 12
        self.assertGreater(yellow.sum() + near.sum(), 50)

    # Fails when a picture is shown in the wrong colors, or is no array any more.
    def test_pictures(self):
        gray = ocellus.halftone(FRAMES[0])
        self.assertIsInstance(gray, np.ndarray)
        np.testing.assert_array_equal(png_pixels(gray._repr_png_())[:, :, 1], gray)
        color = np.stack([FRAMES[0], FRAMES[1] // 2, FRAMES[2] // 4], axis=2)
        for order, axis in (("rgb", slice(None)), ("bgr", slice(None, None, -1))):
            picture = ocellus.restore(color, color=order)
            np.testing.assert_array_equal(png_pixels(picture._repr_png_()), np.asarray(picture)[:, :, axis])
        self.assertIs(type(picture + 1), np.ndarray)
        self.assertIsInstance(picture.mean(), float)
        self.assertIsNone(picture[0, 0]._repr_png_())
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(gray)), gray)
        with Operator("restore", size=(WIDTH, HEIGHT), color="bgr", backend="cpu") as operator:
            result = operator(color)
        np.testing.assert_array_equal(result.draw(), result[0][:, :, ::-1])
        with Operator("halftone", size=(WIDTH, HEIGHT), dtype=np.uint16, backend="cpu") as operator:
            self.assertEqual(set(operator(FRAMES[0].astype(np.uint16) * 257).draw().flat), {0, 255})

    # Fails when the library draws beside an image, or on something that is no image.
    def test_errors_of_the_library(self):
        u, image = np.zeros((HEIGHT, WIDTH), np.float32), np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        plane, record = _library.CPlane, np.zeros(65536, np.uint8).ctypes.data
        right = plane(u.ctypes.data, WIDTH, HEIGHT, 4 * WIDTH, 2, 0, None)
        on = plane(image.ctypes.data, WIDTH, HEIGHT, 3 * WIDTH, 6, 0, None)
        operator = Operator("digits", size=(WIDTH, HEIGHT), backend="cpu")
        _library.call("draw_flow", right, right, 0, on)
        _library.call("operator_draw", operator._operator, record, on)
        for changes, text in (
            ({"width": WIDTH - 1}, "image is 63x48; it must be 64x48"),
            ({"width": 0}, "image is 0x48; both sides must be 1 to 16384"),
            ({"format": 0}, "image.format must be OCELLUS_RGB"),
            ({"format": 9}, "must be OCELLUS_GRAY8"),
            ({"stride": 3 * WIDTH - 1}, "image.stride is 191 bytes; it must be at least 192"),
            ({"memory": 2}, "image is in device memory"),
            ({"data": None}, "image.data is null"),
        ):
            bad = plane(*(changes.get(name, getattr(on, name)) for name, _ in plane._fields_))
            with self.subTest(text):
                with self.assertRaisesRegex(ocellus.InvalidArgument, text):
                    _library.call("draw_flow", right, right, 0, bad)
                with self.assertRaisesRegex(ocellus.InvalidArgument, text):
                    _library.call("operator_draw", operator._operator, record, bad)
        with self.assertRaisesRegex(ocellus.InvalidArgument, "u and v must be OCELLUS_FLOAT32"):
            _library.call("draw_flow", right, on, 0, on)
        for arguments in ((None, right, 0, on), (right, right, 0, None)):
            with self.assertRaisesRegex(ocellus.InvalidArgument, "is null"):
                _library.call("draw_flow", *arguments)
        with self.assertRaisesRegex(ocellus.InvalidArgument, "record is null"):
            _library.call("operator_draw", operator._operator, None, on)

    # Fails when an operator's result breaks a notebook, or has neither a picture nor its numbers.
    def test_every_operator(self):
        drawn = set()
        for name in ocellus.operators():
            with self.subTest(name):
                result = ocellus.apply(name, *FRAMES[:2], backend="cpu")
                text = result._repr_html_()
                self.assertIn("Result(", text)
                png = result._repr_png_()
                self.assertEqual("<img" in text, png is not None)
                if png is None:
                    with self.assertRaisesRegex(ocellus.InvalidArgument, f"{name} has no picture and no items"):
                        result.draw()
                else:
                    self.assertEqual(png_pixels(png).shape, (HEIGHT, WIDTH, 3))
                    drawn.add(name)
        self.assertNotIn("filter", drawn)
        self.assertLessEqual({"flow", "restore", "halftone", "cnn", "digits", "cortex", "network"}, drawn)


class Interrupted(Exception):
    pass


def interrupt(call, at):
    """Calls a function. At its step number `at` in the package, an exception comes as from a signal handler.
    Returns the result, or None and whether the exception came."""
    steps = itertools.count()

    def trace(frame, event, _):
        if os.path.dirname(frame.f_code.co_filename) != os.path.dirname(_operator.__file__):
            return None
        if frame.f_code.co_name == "__del__":
            return None  # Python prints exceptions there and goes on
        frame.f_trace_opcodes = True
        # CPython runs signal handlers after calls and in loops, and never just before a return.
        returns = dis.opname[frame.f_code.co_code[max(frame.f_lasti, 0)]].startswith("RETURN")
        if event == "opcode" and not returns and next(steps) == at:
            raise Interrupted
        return trace

    # CPython 3.12 traces the steps of no frame when none asked for it before settrace.
    sys._getframe().f_trace_opcodes = True
    sys.settrace(trace)
    try:
        return call(), False
    except Interrupted:
        return None, True
    finally:
        sys.settrace(None)


class Signals(unittest.TestCase):
    def setUp(self):
        self.operator = Operator("halftone", size=(WIDTH, HEIGHT), backend="cpu", workers=1, depth=1)
        self.expected = [self.operator(frame)[0].copy() for frame in FRAMES]

    def check_result(self, result, number):
        np.testing.assert_array_equal(result[0], self.expected[number])
        self.assertEqual(self.operator.in_flight, ())
        self.assertEqual(len(self.operator._in_flight), 0)

    # Fails when an exception at any step of submit loses the frame, keeps one that was not taken, or lets
    # the memory of a frame in flight go.
    def test_submit(self):
        taken = not_taken = 0
        for at in itertools.count():
            number = at % len(FRAMES)
            ticket, interrupted = interrupt(lambda: self.operator.submit(FRAMES[number]), at)
            flight = self.operator.in_flight
            if not interrupted:
                self.assertEqual(flight, (ticket,))
                self.check_result(self.operator.wait(ticket), number)
                break
            if flight:
                taken += 1
                self.assertNotIn(flight[0]._lease.memory, self.operator._pool)
                self.check_result(self.operator.wait(flight[0]), number)
            else:
                not_taken += 1
                self.check_result(self.operator(FRAMES[number]), number)
        self.assertGreater(taken, 3)
        self.assertGreater(not_taken, 30)

    # Fails when an exception at any step of wait loses the result.
    def test_wait(self):
        done = 0
        for at in itertools.count():
            number = at % len(FRAMES)
            ticket = self.operator.submit(FRAMES[number], timestamp_ns=at)
            result, interrupted = interrupt(lambda: self.operator.wait(ticket), at)
            if not interrupted:
                self.check_result(result, number)
                break
            self.assertEqual(self.operator.in_flight, (ticket,))
            done += ticket._info.flags == 0
            result = self.operator.wait(ticket)
            self.assertEqual(result.frame.timestamp_ns, at)
            self.check_result(result, number)
            with self.assertRaisesRegex(Error, "is not in flight"):
                self.operator.wait(ticket)
        self.assertGreater(done, 30)

    # Fails when a call that was interrupted leaves a frame in the list that cannot be waited for.
    def test_cancel_and_reset(self):
        for name in ("cancel", "reset"):
            for at in itertools.count():
                ticket = self.operator.submit(FRAMES[0])
                call = self.operator.reset if name == "reset" else lambda: self.operator.cancel(ticket)
                if not interrupt(call, at)[1]:
                    break
                for one in self.operator.in_flight:
                    try:
                        self.operator.wait(one)
                    except Error as error:
                        self.assertEqual(error.status, Status.INVALID_TICKET)
                self.check_result(self.operator(FRAMES[1]), 1)
            self.operator.reset()
            self.assertGreater(at, 5)

    # Fails when an exception during close destroys an object twice or never, or frees memory that the
    # library still writes to.
    def test_close(self):
        closes = 0
        handles = set(_library._handles)
        for at in itertools.count():
            operator = Operator("halftone", size=(WIDTH, HEIGHT), backend="cpu", workers=1)
            operator.submit(FRAMES[0])
            interrupted = interrupt(operator.close, at)[1]
            if operator._handle:
                self.assertEqual(len(operator._in_flight), 1)
                self.assertIn(operator._handle, _library._handles)
            else:
                closes += 1
                with self.assertRaisesRegex(Error, "the operator is closed"):
                    operator.submit(FRAMES[0])
            operator.close()
            self.assertFalse(operator._handle or operator._engine_handle)
            if not interrupted:
                break
        self.assertGreater(closes, 3)
        self.assertGreater(at, closes)
        # An exception may keep the empty handle, which is destroyed.
        self.assertFalse(any(_library._handles - handles))

    # Fails when the steps that the other tests try are not those at which real signals come.
    def test_timer(self):
        frames = hits = 0
        armed = False

        def strike(*_):
            if armed:
                raise Interrupted

        before = signal.signal(signal.SIGALRM, strike)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.001, 0.00037)
            while frames < 200 and hits < 50:
                number = frames % len(FRAMES)
                ticket = None
                try:
                    armed = True
                    ticket = self.operator.submit(FRAMES[number])
                    result = self.operator.wait(ticket)
                    armed = False
                except Interrupted:
                    armed = False
                    hits += 1
                    flight = self.operator.in_flight
                    if not flight:  # the caller may have lost the result, or submit did not begin
                        continue
                    self.assertIn(ticket, (None, flight[0]))
                    result = self.operator.wait(flight[0])
                self.check_result(result, number)
                frames += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.check_result(self.operator(FRAMES[0]), 0)


class Ownership(unittest.TestCase):
    # Fails when a copy of what owns memory of the library exists: both would give it back.
    def test_owners_are_not_copied(self):
        operator = flow()
        ticket = operator.submit(FRAMES[0])
        for owner in (operator, ticket, ticket._lease, operator._handle):
            name = type(owner).__name__
            copies = [copy.copy, copy.deepcopy]
            copies += [lambda one, p=protocol: pickle.dumps(one, p) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
            for make in copies:
                with self.subTest(name), self.assertRaisesRegex(TypeError, f"{name} cannot be copied or pickled"):
                    make(owner)
        with self.assertRaisesRegex(TypeError, "exists already; make another one"):
            operator.__init__("flow", size=(8, 8))
        self.assertEqual(operator.wait(ticket).u.shape, (HEIGHT, WIDTH))

    # Fails when a class is added that owns memory and can be copied.
    def test_every_class_with_a_destructor_is_an_owner(self):
        found = set()
        for module in (_library, _operator):
            for name, one in vars(module).items():
                if inspect.isclass(one) and ("__del__" in vars(one) or name == "Handle"):
                    self.assertTrue(issubclass(one, _library.NotCopied), name)
                    found.add(name)
        self.assertEqual(found, {"Handle", "Operator", "_Lease"})

    # Fails when a copy of a result shares the memory that the operator writes again, or loses a value.
    def test_results_are_copied_with_their_memory(self):
        operator = Operator("digits", size=(WIDTH, HEIGHT), backend="cpu")
        result = operator(FRAMES[0], timestamp_ns=7)
        self.assertEqual(copy.copy(result).scores.ctypes.data, result.scores.ctypes.data)
        for made in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
            self.assertFalse(np.shares_memory(made.scores, result.scores))
            np.testing.assert_array_equal(made.scores, result.scores)
            self.assertEqual(made.frame, result.frame)
            self.assertEqual(set(made.record), set(result.record))
            for name, value in result.record.items():
                np.testing.assert_array_equal(made.record[name], value)
        self.assertEqual(pickle.loads(pickle.dumps(flow()(FRAMES[0]))).record, None)

    # Fails when an error cannot leave a process of multiprocessing.
    def test_errors_are_pickled(self):
        for kind in (Error, ocellus.DeadlineMissed, ocellus.InvalidArgument):
            made = pickle.loads(pickle.dumps(kind(Status.SYSTEM, "text")))
            self.assertIs(type(made), kind)
            self.assertEqual((made.status, made.text, str(made)), (Status.SYSTEM, "text", "text"))


class Numbers(unittest.TestCase):
    # Fails when a number that does not fit loses its upper bits.
    def test_numbers_that_do_not_fit(self):
        operator = flow()
        wide = np.lib.stride_tricks.as_strided(FRAMES[0], (HEIGHT, 2**32 + WIDTH), (WIDTH, 1))
        for make, text in (
            (lambda: Operator("flow", size=(2**32 + 64, 48)), "the width of size is 4294967360; it must fit in 32 bits"),
            (lambda: Operator("flow", size=(64, -(2**31) - 1)), "the height of size is -2147483649; it must fit in 32"),
            (lambda: flow(window=2**32 + 9), "window is 4294967305; it must be odd, 3 to 31 pixels"),
            (lambda: Operator("flow", size=(64, 48), workers=2**32 + 1), "workers is 4294967297; it must fit in 32 bits"),
            (
                lambda: Operator("flow", size=(64, 48), engine_options={"zero_copy": "yes"}),
                'zero_copy is "yes"; it must be auto, on or off',
            ),
            (lambda: Operator("flow", size=(64, 48), workers=65), "workers is 65; it must be 0 (as many as the process may use) to 64"),
            (
                lambda: Operator("flow", size=(64, 48), realtime_priority=2**32),
                "realtime_priority is 4294967296; it must fit in 32 bits",
            ),
            (lambda: Operator("flow", size=(64,)), "size is (64,); it must be (width, height)"),
            (lambda: Operator("flow", size=64), "size is 64; it must be (width, height)"),
            (lambda: operator.submit(wide), "the width of frame is 4294967360; it must fit in 32 bits"),
            (
                lambda: operator.submit(FRAMES[0], sequence=-1),
                "sequence is -1; it must not be negative and must fit in 64 bits",
            ),
            (lambda: operator.submit(FRAMES[0], sequence=2**64), "sequence is 18446744073709551616; it must not"),
            (
                lambda: operator.submit(FRAMES[0], timestamp_ns=2**63),
                "timestamp_ns is 9223372036854775808; it must fit in 64 bits",
            ),
        ):
            with self.subTest(text), self.assertRaises(ValueError) as caught:
                make()
            self.assertIsInstance(caught.exception, ocellus.InvalidArgument)
            self.assertEqual(str(caught.exception)[: len(text)], text)
            self.assertEqual(caught.exception.status, Status.INVALID_ARGUMENT)
        for make, text in (
            (lambda: Operator("flow", size=(64.0, 48)), "the width of size is 64.0; it must be a whole number"),
            (lambda: operator.submit(FRAMES[0], sequence="1"), "sequence is '1'; it must be a whole number"),
        ):
            with self.assertRaises(TypeError) as caught:
                make()
            self.assertEqual(str(caught.exception), text)
        self.assertEqual(operator.in_flight, ())
        first = operator(FRAMES[0], sequence=2**64 - 1, timestamp_ns=-(2**63))
        self.assertEqual((first.frame.sequence, first.frame.timestamp_ns), (2**64 - 1, -(2**63)))
        self.assertEqual(operator(FRAMES[0]).frame.sequence, 0)
        self.assertEqual(Operator("flow", size=(np.int64(64), np.uint8(48))).info.size, (64, 48))

    # Fails when a long timeout wraps to the past, or one that is over blocks.
    def test_timeouts(self):
        operator = flow()
        for timeout in (60, 9.2e9, 9.3e9, 1e10, 1e30, float("inf"), 10**400, np.float32(60), decimal.Decimal(60)):
            ticket = operator.submit(FRAMES[0])
            self.assertEqual(operator.wait(ticket, timeout=timeout).u.shape, (HEIGHT, WIDTH))
        big = support.moving_frames(1024, 768, 1, 0, 0)[0]
        slow = Operator("flow", size=(1024, 768), backend="cpu")
        for timeout in (0, 0.0, -1, -1e-9, -1e30, -float("inf"), -(10**400)):
            for _ in range(50):  # on a busy machine the frame may be done before this thread runs again
                ticket = slow.submit(big)
                try:
                    slow.wait(ticket, timeout=timeout)
                except ocellus.DeadlineMissed:
                    slow.wait(ticket)
                    break
            else:
                self.fail(f"timeout={timeout} waits")
        ticket = operator.submit(FRAMES[0])
        with self.assertRaisesRegex(ValueError, "timeout is nan; it must be a number of seconds, or None"):
            operator.wait(ticket, timeout=float("nan"))
        with self.assertRaises(TypeError):
            operator.wait(ticket, timeout=[1])
        self.assertEqual(operator.wait(ticket).u.shape, (HEIGHT, WIDTH))


class Interface(unittest.TestCase):
    # Fails when info or stats are not those of the operator.
    def test_info_and_stats(self):
        operator = flow(preset="quality", depth=2)
        info = operator.info
        self.assertEqual((info.name, info.size, info.dtype), ("flow", (WIDTH, HEIGHT), np.uint8))
        self.assertEqual([plane.name for plane in info.planes], ["u", "v", "confidence"])
        self.assertEqual([plane.optional for plane in info.planes], [False, False, True])
        self.assertEqual((info.depth, info.backend, info.workers, info.keeps_state), (2, "cpu", 2, True))
        self.assertIn("2 frames", info.summary)
        operator(FRAMES[0])
        self.assertEqual(operator.stats.frames, 1)
        self.assertGreater(operator.stats.p50_ns, 0)

    # Fails when a text of the library is lost, or when a value is passed on in another form.
    def test_errors_have_the_texts_of_the_library(self):
        names = ", ".join(ocellus.operators())
        for make, text in (
            (lambda: Operator("flows", size=(64, 48)), f'there is no operator "flows"; there are {names}'),
            (lambda: flow(window=8), "window is 8; it must be odd, 3 to 31 pixels"),
            (lambda: flow(window=9.5), 'window is "9.5"; it must be a whole number, 3 to 31'),
            (lambda: flow(window=np.int64(8)), "window is 8; it must be odd, 3 to 31 pixels"),
            (lambda: flow(preset="slow"), 'preset is "slow"; it must be '),
            (lambda: flow(deviation=3), 'deviation is "3"; it must be true or false'),
            (lambda: flow(windows=9), 'there is no option "windows"; the nearest is window'),
            (lambda: flow(colors=9), 'there is no option "colors"; there are method, preset'),
            (lambda: flow(roi="1\0"), "roi: the text holds a NUL; none is allowed"),
            (lambda: flow(dtype=np.int32), "dtype is int32; it must be uint8, uint16 or float32"),
            (lambda: flow(color="yuv"), "color is 'yuv'; it must be None or one of yuy2, uyvy, bgr"),
            (lambda: flow(color="bgr", dtype=np.uint16), "dtype is uint16; with a color it must be uint8"),
            (lambda: flow(color="bgr")(FRAMES[0]), "frame has the shape (48, 64); it must be an image in bgr of shape (48, 64, 3)"),
            (lambda: Operator("flow", size=(64, 48), backend="gpu"), 'backend is "gpu"'),
            (lambda: Operator("flow", size=(64, 0)), "size is 64x0"),
            (lambda: flow()(FRAMES[0][:-1]), "frame.size is 64x47; the operator was made for 64x48"),
            (lambda: flow()(FRAMES[0].astype(np.float32)), "frame.format is kFloat32; the operator was made for kGray8"),
            (lambda: flow()(FRAMES[0].astype(np.int16)), "frame has the type int16; it must be uint8"),
            (lambda: flow()(FRAMES[0][::-1]), "frame.stride is -64 bytes; it must be at least 64"),
            (lambda: flow()(np.zeros((48, 64, 3), np.uint8)), "frame has the shape (48, 64, 3); it must be a gray"),
            (lambda: flow()(np.zeros((48, 128), np.uint8)[:, ::2]), "the pixels of a row of frame do not lie side"),
            (lambda: flow().save_model("x"), "flow does not learn"),
        ):
            with self.subTest(text), self.assertRaises(Error) as caught:
                make()
            self.assertEqual(str(caught.exception)[: len(text)], text)
            self.assertIsInstance(caught.exception.status, Status)
        with self.assertRaisesRegex(TypeError, "window is .*; an option is a str, a bool, an int or a float"):
            flow(window=[9])

    # Fails when a value is not written as the library reads it.
    def test_values_of_options(self):
        frames = FRAMES[:2]

        def last(**options):
            operator = flow(**options)
            return [operator(frame) for frame in frames][-1].u

        for values in (
            {"window": 9, "confidence_threshold": 1e-5, "deviation": True},
            {"window": np.int32(9), "confidence_threshold": np.float64(1e-5), "deviation": np.bool_(True)},
        ):
            texts = {"window": "9", "confidence_threshold": "0.00001", "deviation": "true"}
            np.testing.assert_array_equal(last(**values), last(**texts))

    # Fails when an option has the name of a parameter of Operator: it could not be set.
    def test_no_option_is_a_parameter(self):
        command = [support.environment("CPP_OPERATORS"), "options"]
        options = set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
        self.assertIn("window", options)
        self.assertEqual(options & set(inspect.signature(Operator.__init__).parameters), set())

    # Fails when the types of the package are from an earlier table of options.
    def test_types_are_up_to_date(self):
        if "OCELLUS_PROGRAM" not in os.environ:
            self.skipTest("the program is not built")
        package = pathlib.Path(support.environment("PACKAGE"))
        script = package.parent.parent / "toolchains" / "python-stubs"
        command = [sys.executable, script, os.environ["OCELLUS_PROGRAM"]]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        written = (package / "ocellus" / "__init__.pyi").read_text()
        self.assertTrue(printed == written, "write apps/python/ocellus/__init__.pyi with toolchains/options-page")

    # Fails when an operator that was left or closed can be used, or closing twice fails.
    def test_close(self):
        with flow() as operator:
            operator.submit(FRAMES[0])
        operator.close()
        for call in (lambda: operator(FRAMES[0]), operator.reset, lambda: operator.stats):
            with self.assertRaisesRegex(Error, "the operator is closed"):
                call()

    # Fails when what was learned cannot be saved and handed over.
    def test_learning(self):
        operator = Operator("cortex", size=(WIDTH, HEIGHT), backend="cpu", learn=True)
        operator(FRAMES[0])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "model.ocellus")
            operator.save_model(path)
            again = Operator("cortex", size=(WIDTH, HEIGHT), backend="cpu", learn=True, model=path)
            again.take_learned(operator)
            self.assertTrue(again.info.learns)


class Objects(unittest.TestCase):
    # Fails when the square that moves is not found with its motion, or when the noise is not left out.
    def test_moving_square(self):
        frames = [np.full((96, 128), 90, np.uint8) for _ in range(4)]
        texture = support.moving_frames(40, 40, 1, 0, 0)[0]
        for time, frame in enumerate(frames):
            frame[30:70, 20 + 2 * time : 60 + 2 * time] = texture
        flow = Operator("flow", size=(128, 96), deviation=True, objects=4, backend="cpu")
        for frame in frames:
            record = flow(frame).record
        self.assertEqual((record["objects_found"], record["count"]), (1, 1))
        # The mean holds vectors of the ground at the edges, which are shorter.
        self.assertAlmostEqual(record["mean_u"][0], 2.0, delta=0.4)
        self.assertAlmostEqual(record["mean_v"][0], 0.0, delta=0.2)
        left, top, width, height = (int(record[side][0]) for side in ("x", "y", "width", "height"))
        self.assertLessEqual(left, 30)
        self.assertLessEqual(top, 34)
        self.assertGreaterEqual(left + width, 62)
        self.assertGreaterEqual(top + height, 66)
        self.assertGreater(record["area"][0], 40 * 30)
        large = Operator("flow", size=(128, 96), objects=4, min_area=128 * 96, backend="cpu")
        for frame in frames:
            self.assertEqual(large(frame).record["count"], 0)

    # Fails when a wrong number gives no clear error.
    def test_errors(self):
        with self.assertRaisesRegex(Error, "objects is 65; it must be 0 to 64"):
            Operator("flow", size=(128, 96), objects=65)


class Loading(unittest.TestCase):
    def load(self, **variables):
        """What a process without the library of this test prints."""
        code = "import ocellus\ntry: print(ocellus.operators())\nexcept ocellus.Error as error: print(error)"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OCELLUS_LIBRARY")}
        return subprocess.run(
            [sys.executable, "-c", code], env={**clean, **variables}, check=True, capture_output=True, text=True
        ).stdout

    # Fails when a library that is not there gives no clear error.
    def test_missing_library(self):
        text = self.load(OCELLUS_LIBRARY="/nowhere/libocellus_c.so")
        self.assertIn("the shared library of Ocellus was not found; OCELLUS_LIBRARY gave: /nowhere", text)
        self.assertIn("Set OCELLUS_LIBRARY to the path of libocellus_c.so", text)

    # Fails when another library is taken for Ocellus.
    def test_another_library(self):
        self.assertIn("libm.so.6 has no function ocellus_", self.load(OCELLUS_LIBRARY="libm.so.6"))

    # Fails when the system's loader is not asked.
    def test_system_loader(self):
        folder = os.path.dirname(os.environ["OCELLUS_LIBRARY"])
        self.assertIn("Dense optical flow", self.load(LD_LIBRARY_PATH=folder))

    # Fails when a library of another version, whose structs may differ, is used.
    def test_another_version(self):
        code = (
            "import ocellus._library as library\nlibrary.__version__ = '9.0.0'\n"
            "try: library.library()\nexcept library.Error as error: print(error)"
        )
        text = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
        self.assertIn(f"has version {ocellus.library_version()}; this package needs version 9.0.0", text)

    # Fails when the package and the library that was built with it have different versions.
    def test_version(self):
        self.assertEqual(ocellus.__version__, ocellus.library_version())
        self.assertEqual(ocellus.__version__, support.environment("VERSION"))
        project = pathlib.Path(support.environment("PACKAGE"), "pyproject.toml").read_text()
        self.assertIn(f'\nversion = "{ocellus.__version__}"\n', project)
        self.assertEqual(ocellus.library_path(), os.environ["OCELLUS_LIBRARY"])


class Programs(unittest.TestCase):
    # Fails when the program of docs/bindings.md does not tell the motion of a video.
    def test_flow_video(self):
        video = b"".join(frame.tobytes() for frame in support.moving_frames(160, 120, 6, 1.5, -1.0))
        command = [sys.executable, support.environment("FLOW_VIDEO"), "160", "120"]
        lines = subprocess.run(command, input=video, check=True, capture_output=True).stdout.decode().splitlines()
        self.assertEqual(len(lines), 6)
        self.assertRegex(lines[-1], r"^right 1\.[45]\d, down -(0\.9|1\.0)\d pixels$")


if __name__ == "__main__":
    support.main()
