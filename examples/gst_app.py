"""A GStreamer application: reads the metas of two elements in a pad probe, and their messages on the bus.

    python3 gst_app.py v4l2src ! videoconvert
    python3 gst_app.py videotestsrc num-buffers=30 pattern=ball
"""

import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402
import ocellus.gst  # noqa: E402

Gst.init(None)
source = " ".join(sys.argv[1:]) or "v4l2src ! videoconvert"
pipeline = Gst.parse_launch(
    f"{source} ! ocellusflow objects=16 budget=33000000 on-miss=reuse ! ocellusdigits ! fakesink name=end"
)
loop = GLib.MainLoop()
failed = False


def on_buffer(pad: Gst.Pad, info: Gst.PadProbeInfo) -> Gst.PadProbeReturn:
    """On the streaming thread: short, and no call that changes the pipeline."""
    buffer = info.get_buffer()
    motion = ocellus.gst.result(buffer, "flow")
    digits = ocellus.gst.result(buffer, "digits")
    if motion is not None and digits is not None:
        boxes = [moving["box"] for moving in motion.items]
        print(f"{buffer.pts / Gst.SECOND:7.3f} s: moving objects {boxes}, digits {digits.string!r}")
    return Gst.PadProbeReturn.OK


def on_message(bus: Gst.Bus, message: Gst.Message) -> None:
    global failed
    if message.type == Gst.MessageType.ERROR:
        error, _ = message.parse_error()
        print(f"{message.src.get_name()}: {error.message}", file=sys.stderr)
        failed = True
    elif message.type == Gst.MessageType.QOS:
        print(f"{message.src.get_name()}: a frame missed its budget")
    if message.type in (Gst.MessageType.ERROR, Gst.MessageType.EOS):
        loop.quit()


pipeline.get_by_name("end").get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, on_buffer)
bus = pipeline.get_bus()
bus.add_signal_watch()
bus.connect("message", on_message)
pipeline.set_state(Gst.State.PLAYING)
try:
    loop.run()
finally:
    pipeline.set_state(Gst.State.NULL)
sys.exit(failed)
