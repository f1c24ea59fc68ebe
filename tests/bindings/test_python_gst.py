"""ocellus.gst: the meta of buffers, against the operators that made them."""
import ctypes
import gc
import unittest

import python_support as support

np = support.np

try:
    import gi

    gi.require_version("Gst", "1.0")
    from gi.repository import Gst
except (ImportError, ValueError):
    support.skip("GStreamer's Python binding was not found (python3-gi, gir1.2-gstreamer-1.0)")

import ocellus
import ocellus.gst

Gst.init(None)
for needed in ("appsrc", "appsink"):
    if Gst.ElementFactory.find(needed) is None:
        support.skip(f"the element {needed} was not found (gstreamer1.0-plugins-base)")

WIDTH, HEIGHT = 160, 120


def run(elements, frames, messages=None):
    """Sends gray frames through elements and returns the buffers that come out. Appends the messages."""
    caps = f"video/x-raw,format=GRAY8,width={WIDTH},height={HEIGHT},framerate=25/1"
    pipeline = Gst.parse_launch(f"appsrc name=in format=time caps={caps} ! {elements} ! appsink name=out sync=false")
    source, sink = pipeline.get_by_name("in"), pipeline.get_by_name("out")
    pipeline.set_state(Gst.State.PLAYING)
    for number, frame in enumerate(frames):
        buffer = Gst.Buffer.new_wrapped(frame.tobytes())
        buffer.pts, buffer.duration = number * 40000000, 40000000
        source.emit("push-buffer", buffer)
    source.emit("end-of-stream")
    buffers = []
    while (sample := sink.emit("try-pull-sample", 60 * Gst.SECOND)) is not None:
        buffers.append(sample.get_buffer())
    while messages is not None and (message := pipeline.get_bus().pop()) is not None:
        messages.append(message)
    pipeline.set_state(Gst.State.NULL)
    return buffers


def test_video(count):
    """The gray frames of GStreamer's moving ball."""
    caps = f"video/x-raw,format=GRAY8,width={WIDTH},height={HEIGHT},framerate=25/1"
    pipeline = Gst.parse_launch(f"videotestsrc pattern=ball num-buffers={count} ! {caps} ! appsink name=out sync=false")
    pipeline.set_state(Gst.State.PLAYING)
    frames = []
    while (sample := pipeline.get_by_name("out").emit("try-pull-sample", 60 * Gst.SECOND)) is not None:
        buffer = sample.get_buffer()
        frames.append(np.frombuffer(buffer.extract_dup(0, buffer.get_size()), np.uint8).reshape(HEIGHT, WIDTH))
    pipeline.set_state(Gst.State.NULL)
    return frames


def digit_frames():
    """A frame with dark strokes on white paper: a bar and a ring."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    radius = np.hypot((x - 100) / 14.0, (y - 60) / 22.0)
    ink = ((abs(x - 50) < 4) & (abs(y - 60) < 24)) | (abs(radius - 1.0) < 0.22)
    return [np.where(ink, 20, 235).astype(np.uint8)]


class Metas(unittest.TestCase):
    # Fails when a struct differs from the one in the header of the meta.
    def test_layouts(self):
        in_c = support.layouts(support.environment("GST_LAYOUT"))
        self.assertEqual(in_c["GstOcellusMeta"][0], ocellus.gst.META_VERSION)
        for name, struct in (
            ("GstOcellusField", ocellus.gst.CField),
            ("GstOcellusResultInfo", ocellus.gst.CResultInfo),
            ("GstOcellusPlane", ocellus.gst.CPlane),
            ("GstOcellusMeta", ocellus.gst.CMeta),
        ):
            mine = support.layout_of(struct)
            mine.pop("meta_flags", None)
            mine.pop("meta_info", None)
            self.assertEqual(mine, in_c[name][1], name)

    # Fails when the planes of the meta are not those that the operator computes.
    def test_flow(self):
        frames = support.moving_frames(WIDTH, HEIGHT, 4, 1.0, -0.5)
        buffers = run("ocellusflow name=motion backend=cpu preset=fast align=false", frames)
        self.assertEqual(len(buffers), 4)
        operator = ocellus.Operator("flow", size=(WIDTH, HEIGHT), backend="cpu", preset="fast")
        for number, (buffer, frame) in enumerate(zip(buffers, frames)):
            meta = ocellus.gst.result(buffer, "flow")
            self.assertEqual(list(meta.planes), ["u", "v", "confidence"])
            for plane, expected in zip(meta.planes.values(), operator(frame)):
                np.testing.assert_array_equal(plane, expected)
            self.assertEqual((meta.operator, meta.source), ("flow", "motion"))
            self.assertEqual(meta.regions["u"], (0, 0, WIDTH, HEIGHT))
            self.assertEqual(meta.pts, number * 40000000)
            self.assertEqual(meta.described_pts, max(number - 1, 0) * 40000000)
            self.assertEqual(ocellus.gst.Flags.WARMING_UP in meta.flags, number == 0)
            self.assertGreater(meta.compute_time, 0)
            self.assertEqual((meta.record, meta.string, meta.parts, meta.items), ({}, None, (), ()))
            with self.assertRaises(ValueError):
                meta.planes["u"][0, 0] = 1.0
        self.assertIsNone(ocellus.gst.result(buffers[0], "digits"))

    # Fails when the region of the planes, or a plane that is optional, is lost.
    def test_region(self):
        frames = support.moving_frames(WIDTH, HEIGHT, 2, 1.0, -0.5)
        buffers = run("ocellusflow backend=cpu align=false roi=16,8,64,48 deviation=true", frames)
        meta = ocellus.gst.result(buffers[1])
        self.assertEqual(meta.regions["deviation"], (16, 8, 64, 48))
        self.assertEqual(meta.planes["deviation"].shape, (48, 64))

    # Fails when the planes are not those of the operator, or have other names or another region.
    def test_filter(self):
        frames = support.moving_frames(WIDTH, HEIGHT, 4, 1.0, -0.5)
        buffers = run("ocellusfilter backend=cpu align=false taps=5x5x3 roi=16,8,64,48", frames)
        operator = ocellus.Operator("filter", size=(WIDTH, HEIGHT), backend="cpu", taps="5x5x3", roi="16,8,64,48")
        for buffer, frame in zip(buffers, frames):
            meta = ocellus.gst.result(buffer, "filter")
            self.assertEqual(meta.regions, dict.fromkeys(("0", "1", "2"), (16, 8, 64, 48)))
            for plane, expected in zip(meta.planes.values(), operator(frame)):
                np.testing.assert_array_equal(plane, expected)

    # Fails when a plane does not keep its buffer: the element would use the memory again.
    def test_planes_keep_the_buffer(self):
        frames = support.moving_frames(WIDTH, HEIGHT, 3, 1.0, -0.5)
        buffers = run("ocellusflow backend=cpu", frames)
        u = ocellus.gst.result(buffers[2]).planes["u"]
        address = hash(buffers[2])
        refcount = ctypes.c_int.from_address(address + ctypes.sizeof(ctypes.c_size_t))
        buffers.clear()
        gc.collect()
        self.assertGreaterEqual(refcount.value, 1)
        self.assertAlmostEqual(float(np.nanmedian(u)), 1.0, delta=0.1)

    # Fails when the characters are not those of the operator.
    def test_digits(self):
        frames = digit_frames()
        (buffer,) = run("ocellusdigits name=reader backend=cpu", frames)
        meta = ocellus.gst.result(buffer, "digits")
        operator = ocellus.Operator("digits", size=(WIDTH, HEIGHT), backend="cpu")
        result = operator(frames[0])
        self.assertEqual(len(meta.items), 2)
        self.assertEqual((meta.string, meta.parts), (operator.text(result), (operator.text(result),)))
        self.assertEqual((meta.source, meta.pts), ("reader", 0))
        self.assertEqual(list(meta.record), list(result.record))
        for name, value in result.record.items():
            np.testing.assert_array_equal(meta.record[name], value)
        for number, digit in enumerate(meta.items):
            self.assertEqual(digit["label"], result.record["label"][number])
            self.assertEqual(digit["name"], str(digit["label"]))
            box = tuple(result.record[name][number] for name in ("x", "y", "width", "height"))
            self.assertEqual(digit["box"], box)
            self.assertEqual(digit["confidence"], result.record["confidence"][number])
            self.assertEqual(digit["flags"], ())
        np.testing.assert_array_equal(meta.planes["scores"][:2], result.scores[:2])
        self.assertEqual(meta.regions, {})
        self.assertIsNone(ocellus.gst.result(buffer, "flow"))

    # Fails when flags have no names, boxes do not follow the scale of the picture, or tiles have no box.
    def test_items(self):
        frames = digit_frames()
        (buffer,) = run("ocellusdigits backend=cpu min-confidence=1 ! videoscale ! video/x-raw,width=320,height=60", frames)
        (plain,) = run("ocellusdigits backend=cpu min-confidence=1", frames)
        items, unscaled = ocellus.gst.result(buffer).items, ocellus.gst.result(plain).items
        self.assertEqual([digit["flags"] for digit in items], [("rejected",)] * 2)
        for digit, before in zip(items, unscaled):
            x, y, width, height = before["box"]
            self.assertEqual(digit["box"], (2 * x, y // 2, 2 * width, height // 2))
        (tiles,) = run("ocelluscortex backend=cpu layout=tiles tile-width=40 tile-height=60", frames)
        self.assertEqual(ocellus.gst.result(tiles, "cortex").items[5]["box"], (40, 60, 40, 60))

    # Fails when an element whose result is the picture has no meta, or hides that of the one before it.
    def test_series(self):
        frames = support.moving_frames(WIDTH, HEIGHT, 2, 1.0, -0.5)
        buffers = run("ocellusflow backend=cpu align=false ! ocellushalftone backend=cpu", frames)
        last = ocellus.gst.result(buffers[1])
        self.assertEqual((last.operator, last.planes), ("halftone", {}))
        self.assertGreater(last.record["sweeps"], 0)
        self.assertIs(last.record["finished"], True)
        self.assertEqual(ocellus.gst.result(buffers[1], "flow").planes["u"].shape, (HEIGHT, WIDTH))

    # Fails when the values of a message are lost, above all those of its arrays.
    def test_values_of_messages(self):
        frames = [np.full((HEIGHT, WIDTH), 90, np.uint8) for _ in range(4)]
        texture = support.moving_frames(40, 40, 1, 0, 0)[0]
        for time, frame in enumerate(frames):
            frame[40:80, 20 + 2 * time : 60 + 2 * time] = texture
        messages = []
        buffers = run("ocellusflow name=motion backend=cpu align=false objects=8 post-messages=true", frames, messages)
        found = [values for message in messages if (values := ocellus.gst.values(message)) is not None]
        self.assertEqual(len(found), len(buffers))
        self.assertEqual([values["timestamp"] for values in found], [buffer.pts for buffer in buffers])
        self.assertEqual([values["warming-up"] for values in found], [True, False, False, False])
        motion = ocellus.gst.result(buffers[3])
        self.assertAlmostEqual(found[3]["mean-u"], float(np.nanmean(motion.planes["u"])), places=4)
        square = max(found[3]["objects"], key=lambda moving: moving["area"])
        self.assertAlmostEqual(square["mean-u"], 2.0, delta=0.6)
        self.assertLess(square["x"], 40)
        self.assertGreater(square["x"] + square["width"], 50)
        self.assertEqual(found[0]["objects"], [])
        # Of another element, and without a structure.
        element = Gst.ElementFactory.make("fakesink")
        other = Gst.Message.new_element(element, Gst.Structure.new_empty("level"))
        self.assertIsNone(ocellus.gst.values(other))
        self.assertIsNone(ocellus.gst.values(Gst.Message.new_eos(element)))

    # Fails when the reader does not know what an operator writes: a plane, a field, an item, or a value of the
    # message. A new operator is read without a change.
    def test_every_operator(self):
        options = {  # those that give an operator items
            "flow": {"objects": 8},
            "cortex": {"layout": "tiles", "tile_width": 40, "tile_height": 60},
        }
        frames = test_video(5)
        self.assertEqual(len(frames), 5)
        with_items = set()
        for name in ocellus.operators():
            with self.subTest(name):
                given = options.get(name, {})
                properties = " ".join(f"{key.replace('_', '-')}={value}" for key, value in given.items())
                if name in ("flow", "filter"):
                    properties += " align=false"
                messages = []
                buffers = run(f"ocellus{name} name=it backend=cpu post-messages=true {properties}", frames, messages)
                posted = [values for message in messages if (values := ocellus.gst.values(message)) is not None]
                self.assertEqual((len(buffers), len(posted)), (5, 5))
                operator = ocellus.Operator(name, size=(WIDTH, HEIGHT), backend="cpu", **given)
                for buffer, frame, values in zip(buffers, frames, posted):
                    meta, expected = ocellus.gst.result(buffer), operator(frame)
                    self.assertEqual((meta.operator, meta.source, meta.pts), (name, "it", buffer.pts))
                    self.assertEqual((values["timestamp"], values["compute-time"]), (buffer.pts, meta.compute_time))
                    is_picture = [plane.name for plane in operator.info.planes] == ["image"]
                    if is_picture:  # the buffer itself
                        pixels = np.frombuffer(buffer.extract_dup(0, WIDTH * HEIGHT), np.uint8)
                        np.testing.assert_array_equal(pixels, expected.image.ravel())
                    else:
                        self.assertEqual(list(meta.planes), [plane.name for plane in operator.info.planes])
                        for plane, wanted in zip(meta.planes.values(), expected):
                            np.testing.assert_array_equal(plane, wanted)
                    self.check_record(meta, values, operator, expected)
                    if meta.items:
                        with_items.add(name)
        self.assertLessEqual({"flow", "cortex", "network"}, with_items)

    def check_record(self, meta, values, operator, expected):
        fields = {field.name: field for field in operator.info.fields}
        self.assertEqual(list(meta.record), list(fields))
        for name, value in meta.record.items():
            np.testing.assert_array_equal(value, expected.record[name])
            if fields[name].capacity == 1:
                self.assertAlmostEqual(values[name.replace("_", "-")], value, places=5)
        self.assertEqual(meta.string, operator.text(expected) if operator.info.class_names else None)
        self.assertEqual(values.get("string"), meta.string)
        if not any(field.role == ocellus.FieldRole.COUNT for field in fields.values()):
            self.assertEqual(meta.items, ())
            return
        (lists,) = [value for name, value in values.items() if isinstance(value, list) and name != "fields"]
        self.assertEqual(len(meta.items), meta.record["count"])
        self.assertEqual(len(lists), len(meta.items))
        for number, (item, one) in enumerate(zip(meta.items, lists)):
            self.assertEqual(item["box"], tuple(one[side] for side in ("x", "y", "width", "height")))
            self.assertEqual(item["name"], one.get("name", ""))
            for name, field in fields.items():
                if field.capacity > 1 and field.role in (ocellus.FieldRole.VALUE, ocellus.FieldRole.CONFIDENCE):
                    self.assertEqual(item[name], expected.record[name][number])
                    self.assertAlmostEqual(one[name.replace("_", "-")], item[name], places=5)

    # Fails when a buffer without a meta, or something else, is read.
    def test_no_meta(self):
        self.assertIsNone(ocellus.gst.result(Gst.Buffer.new_allocate(None, 10, None)))
        with self.assertRaisesRegex(TypeError, "3 is not a Gst.Buffer"):
            ocellus.gst.result(3)


if __name__ == "__main__":
    support.main()
