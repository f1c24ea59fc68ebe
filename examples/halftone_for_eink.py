"""Frames for a panel of electronic ink: 16 gray levels, two pixels in a byte.

    python3 halftone_for_eink.py WIDTH HEIGHT <frames.gray >panel.bin

Reads frames of 8-bit gray pixels and writes each as the panel takes it: the left pixel of a pair in the
upper four bits, 0 is black. The network spreads the error of each pixel over its neighbors as the eye
sees them, so a photograph keeps its tones on 16 levels.
"""

import sys

import numpy as np
import ocellus

LEVELS = 16

width, height = int(sys.argv[1]), int(sys.argv[2])
if width % 2 != 0:
    sys.exit("the width must be even")
with ocellus.Operator("halftone", size=(width, height), preset="gray16", polarity="white") as halftone:
    while len(pixels := sys.stdin.buffer.read(width * height)) == width * height:
        frame = np.frombuffer(pixels, np.uint8).reshape(height, width)
        (image,) = halftone(frame)
        levels = image // (256 // LEVELS)  # 0, 17, ..., 255 are the 16 levels
        sys.stdout.buffer.write((levels[:, ::2] << 4 | levels[:, 1::2]).astype(np.uint8).tobytes())
    sys.stderr.write(f"{halftone.stats.frames} frames, median {halftone.stats.p50_ns / 1e6:.1f} ms\n")
