#include <fmt/format.h>

#include "apps/common/common.h"
#include "apps/io/video.h"

namespace ocellus::app {
namespace {

[[noreturn]] void not_built(const std::string& path, const char* what) {
  throw InputError(
      fmt::format("{}: {} need GStreamer, which this build does not include (configure with "
                  "OCELLUS_GSTREAMER=ON); numbered images need no extra library",
                  path, what));
}

}  // namespace

std::unique_ptr<FrameSource> open_video(const std::string& path, const SourceOptions&) {
  not_built(path, "video files");
}
std::unique_ptr<FrameSource> open_camera(const std::string& device, const SourceOptions&) {
  not_built(device, "cameras");
}
std::unique_ptr<FrameSource> open_pipeline(const std::string& text, const SourceOptions&) {
  not_built(text, "pipelines");
}
bool source_left_behind() {
  return false;
}
std::unique_ptr<VideoWriter> make_video_writer(const std::string& path, ImageSize, double) {
  not_built(path, "video files");
}

std::unique_ptr<VideoWriter> make_pipeline_writer(const std::string& text, ImageSize, double) {
  not_built(text, "pipelines");
}

}  // namespace ocellus::app
