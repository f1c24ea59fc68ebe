// Frames through pipes and files without a codec: YUV4MPEG2 (Y4M), and PNM images one after the
// other.
//
// Source of the format: the manual page yuv4mpeg(5) of MJPEG Tools.
#pragma once

#include <memory>
#include <string>

#include "apps/io/frames.h"
#include "apps/io/video.h"

namespace ocellus::app {

/// Reads Y4M with 8 bits per sample (C420 with any position of the chroma, C422, C444, Cmono), or
/// PBM, PGM and PPM images. `path`: a file, or "-" for standard input. Luma has limited range
/// unless the header has XCOLORRANGE=FULL. Pixels that are not square are ignored, which is told on
/// stderr. Throws InputError that names the stream and the mistake.
std::unique_ptr<FrameSource> open_frame_stream(const std::string& path,
                                               const SourceOptions& options);

/// Whether the file begins as Y4M does.
bool is_y4m_file(const std::string& path);

/// Writes Y4M (C420jpeg, limited range) to a file, or, for "-", to standard output. Each frame is
/// passed on when it is written. The format has one frame rate and no times of frames. Throws
/// InputError.
std::unique_ptr<VideoWriter> make_y4m_writer(const std::string& path, ImageSize size, double fps);

}  // namespace ocellus::app
