"""A camera loop in Python: moving objects and digits from the newest frames, by a deadline.

    gst-launch-1.0 -q v4l2src ! videoconvert ! video/x-raw,format=GRAY8,width=640,height=480 ! fdsink |
        python3 camera.py 640 480 33
"""

import sys

import numpy as np
import ocellus

width, height, milliseconds = (int(text) for text in sys.argv[1:4])
size = (width, height)
with ocellus.Operator("flow", size, objects=16) as flow, ocellus.Operator("digits", size) as digits:
    print(f"{flow.info.summary}; {digits.info.summary}; on {flow.info.backend}")
    number = 0
    while len(pixels := sys.stdin.buffer.read(width * height)) == width * height:
        frame = np.frombuffer(pixels, np.uint8).reshape(height, width)
        tickets = [(op, op.submit(frame, sequence=number)) for op in (flow, digits)]
        results = []
        for op, ticket in tickets:
            try:
                results.append(op.wait(ticket, timeout=milliseconds / 1000))
            except ocellus.DeadlineMissed:
                print(f"frame {number}: {op.info.name} is late")
                results.append(op.wait(ticket))  # until then the frame is in use
        motion, text = results
        if not motion.frame.warming_up:
            right, down = np.nanmean(motion.u), np.nanmean(motion.v)
            print(
                f"frame {number}: {motion.record['count']} moving objects, mean motion ({right:.2f}, {down:.2f}), "
                f"digits {digits.text(text)!r}"
            )
        number += 1
    print(f"flow: 99 % of {flow.stats.frames} frames within {flow.stats.p99_ns / 1e6:.1f} ms")
