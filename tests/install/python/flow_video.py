"""Prints the mean motion between the frames of gray video that comes in on the standard input."""
import sys

import numpy as np
import ocellus

width, height = int(sys.argv[1]), int(sys.argv[2])
with ocellus.Operator("flow", size=(width, height), preset="fast") as flow:
    while len(pixels := sys.stdin.buffer.read(width * height)) == width * height:
        frame = np.frombuffer(pixels, np.uint8).reshape(height, width)
        u, v, confidence = flow(frame)
        print(f"right {np.nanmean(u):.2f}, down {np.nanmean(v):.2f} pixels")
