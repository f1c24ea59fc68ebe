#include <fmt/format.h>

#include "apps/common/common.h"
#include "apps/common/input_error.h"
#include "apps/common/interrupt.h"
#include "apps/io/frames.h"

namespace ocellus::app {
namespace {

const char* format_name(PixelFormat format) {
  return format == PixelFormat::kGray16 ? "16 bits" : "8 bits";
}

}  // namespace

bool FrameSource::next(InputFrame& frame) {
  frame.interlaced = false;
  frame.timestamp_ns = 0;
  frame.running_ns.reset();
  frame.color.clear();
  frame.chroma_u.clear();
  frame.chroma_v.clear();
  if (!read(frame)) {
    if (!started_ && stop_signal() == 0)
      throw InputError(fmt::format("{}: contains no frame", name_));
    return false;
  }
  frame.wall_clock_ns = wall_clock_ns();
  if (frame.interlaced) {
    throw InputError(fmt::format(
        "{}: frame {} is interlaced: its two fields are of different times; deinterlace the video "
        "first, such as with \"ffmpeg -i IN -vf yadif OUT\"",
        name_, frame.number));
  }
  if (!started_) {
    started_ = true;
    size_ = frame.image.size;
    format_ = frame.image.format;
    range_ = frame.range;
  } else if (frame.image.size != size_) {
    throw InputError(fmt::format(
        "{}: frame {} is {}x{}, the frames before it are {}x{}; all must have the same size", name_,
        frame.number, frame.image.size.width, frame.image.size.height, size_.width, size_.height));
  } else if (frame.image.format != format_) {
    throw InputError(
        fmt::format("{}: frame {} has {} per pixel, the frames before it have {}; all must have "
                    "the same format",
                    name_, frame.number, format_name(frame.image.format), format_name(format_)));
  } else if (frame.range != range_) {
    throw InputError(fmt::format(
        "{}: frame {} has luma from {:g} to {:g}, the frames before it from {:g} to {:g}; all must "
        "have the same range",
        name_, frame.number, frame.range.black, frame.range.white, range_.black, range_.white));
  }
  return true;
}

}  // namespace ocellus::app
