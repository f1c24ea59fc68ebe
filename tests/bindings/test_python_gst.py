"""ocellus.gst: the metas of buffers, against the operators that made them."""
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


def digit_frames():
    """A frame with dark strokes on white paper: a bar and a ring."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    radius = np.hypot((x - 100) / 14.0, (y - 60) / 22.0)
    ink = ((abs(x - 50) < 4) & (abs(y - 60) < 24)) | (abs(radius - 1.0) < 0.22)
    return [np.where(ink, 20, 235).astype(np.uint8)]


class Metas(unittest.TestCase):
    # Fails when a struct differs from the one in the headers of the metas.
    def test_layouts(self):
        in_c = support.layouts(support.environment("GST_LAYOUT"))
        self.assertEqual(in_c["GstOcellusFlowMeta"][0], ocellus.gst.FLOW_VERSION)
        self.assertEqual(in_c["GstOcellusDigitsMeta"][0], ocellus.gst.DIGITS_VERSION)
        for name, struct in (
            ("GstOcellusFlowMeta", ocellus.gst.CFlowMeta),
            ("GstOcellusDigit", ocellus.gst.CDigit),
            ("GstOcellusDigitsMeta", ocellus.gst.CDigitsMeta),
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
            meta = ocellus.gst.flow(buffer)
            u, v, confidence = operator(frame)
            np.testing.assert_array_equal(meta.u, u)
            np.testing.assert_array_equal(meta.v, v)
            np.testing.assert_array_equal(meta.confidence, confidence)
            self.assertEqual((meta.x, meta.y, meta.source), (0, 0, "motion"))
            self.assertEqual(meta.pts, number * 40000000)
            self.assertEqual(meta.flags & 1, number == 0)
            self.assertGreater(meta.compute_time, 0)
            with self.assertRaises(ValueError):
                meta.u[0, 0] = 1.0
        self.assertIsNone(ocellus.gst.digits(buffers[0]))

    # Fails when a plane does not keep its buffer: the element would use the memory again.
    def test_planes_keep_the_buffer(self):
        frames = support.moving_frames(WIDTH, HEIGHT, 3, 1.0, -0.5)
        buffers = run("ocellusflow backend=cpu", frames)
        u = ocellus.gst.flow(buffers[2]).u
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
        meta = ocellus.gst.digits(buffer)
        record = ocellus.Operator("digits", size=(WIDTH, HEIGHT), backend="cpu")(frames[0]).record
        self.assertEqual(len(meta.digits), record["count"])
        self.assertEqual(len(meta.digits), 2)
        self.assertEqual(len(meta.string), 2)
        self.assertEqual((meta.truncated, meta.source, meta.pts), (False, "reader", 0))
        for number, digit in enumerate(meta.digits):
            self.assertEqual(digit.label, record["label"][number])
            self.assertEqual(digit.name, str(digit.label))
            box = tuple(record[name][number] for name in ("x", "y", "width", "height"))
            self.assertEqual(digit.box, box)
            self.assertEqual(digit.confidence, record["confidence"][number])
        self.assertIsNone(ocellus.gst.flow(buffer))

    # Fails when the values of a message are lost, above all those of its arrays.
    def test_values_of_messages(self):
        frames = [np.full((HEIGHT, WIDTH), 90, np.uint8) for _ in range(4)]
        texture = support.moving_frames(40, 40, 1, 0, 0)[0]
        for time, frame in enumerate(frames):
            frame[40:80, 20 + 2 * time : 60 + 2 * time] = texture
        messages = []
        buffers = run("ocellusflow name=motion backend=cpu align=false objects=true post-messages=true", frames, messages)
        found = [values for message in messages if (values := ocellus.gst.values(message)) is not None]
        self.assertEqual(len(found), len(buffers))
        self.assertEqual([values["timestamp"] for values in found], [buffer.pts for buffer in buffers])
        self.assertEqual([values["warming-up"] for values in found], [True, False, False, False])
        motion = ocellus.gst.flow(buffers[3])
        self.assertAlmostEqual(found[3]["mean-u"], float(np.nanmean(motion.u)), places=4)
        square = max(found[3]["objects"], key=lambda moving: moving["area"])
        self.assertEqual(square["source"], "motion")
        self.assertAlmostEqual(square["mean-u"], 2.0, delta=0.6)
        self.assertLess(square["x"], 40)
        self.assertGreater(square["x"] + square["width"], 50)
        self.assertEqual(found[0]["objects"], [])
        # Of another element, and without a structure.
        element = Gst.ElementFactory.make("fakesink")
        other = Gst.Message.new_element(element, Gst.Structure.new_empty("level"))
        self.assertIsNone(ocellus.gst.values(other))
        self.assertIsNone(ocellus.gst.values(Gst.Message.new_eos(element)))

    # Fails when a buffer without a meta, or something else, is read.
    def test_no_meta(self):
        self.assertIsNone(ocellus.gst.flow(Gst.Buffer.new_allocate(None, 10, None)))
        with self.assertRaisesRegex(TypeError, "3 is not a Gst.Buffer"):
            ocellus.gst.flow(3)


if __name__ == "__main__":
    support.main()
