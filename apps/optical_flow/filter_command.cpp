// ocellus filter: convolutions of frames with spatio-temporal kernels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "apps/common/printable.h"
#include "apps/io/flow_file.h"
#include "apps/io/frame_job.h"

namespace ocellus::app {
namespace {

struct FilterCommand : FrameCommand {
  FilterCommand() : FrameCommand("filter") {}

  std::string plane;  ///< empty: the first one
};

/// Writes one plane of each frame, and reports about all planes.
class FilterJob : public FrameJob {
 public:
  explicit FilterJob(const FilterCommand& command)
      : FrameJob(command, {".pfm"}, false), command_(command) {}

 private:
  void begin(const InputFrame&) override {
    const OperatorInfo& info = frame_run().info();
    std::vector<std::string> names;
    for (int p = 0; p < info.plane_count; ++p) {
      names.emplace_back(info.planes[static_cast<std::size_t>(p)].name);
      if (names.back() == command_.plane) plane_ = static_cast<std::size_t>(p);
    }
    if (!command_.plane.empty() && names[plane_] != command_.plane) {
      throw InputError(fmt::format("--plane {}: there is no such plane; there are {}",
                                   printable(command_.plane, kMostOfValue),
                                   fmt::join(names, ", ")));
    }
  }

  void write(const ProcessedFrame& work, const std::string& path) override {
    const ImageView& plane = work.results.front().output.planes[plane_];
    copy_plane(plane, values_);
    write_pfm(path, plane.size, values_);
  }

  void add_head(nlohmann::ordered_json& json) const override {
    json["support_frames"] = frame_run().info().support_frames;
    json["delay_frames"] = frame_run().info().delay_frames;
  }

  void add_frame(const ProcessedFrame& work, nlohmann::ordered_json& json) override {
    json["warming_up"] = (work.flags & kWarmingUp) != 0;
    const OperatorInfo& info = frame_run().info();
    for (std::size_t p = 0; p < static_cast<std::size_t>(info.plane_count); ++p) {
      double sum = 0.0;
      double squares = 0.0;
      copy_plane(work.results.front().output.planes[p], values_);
      for (const float value : values_) {
        sum += static_cast<double>(value);
        squares += static_cast<double>(value) * static_cast<double>(value);
      }
      const auto count = static_cast<double>(values_.size());
      json["planes"][info.planes[p].name] = {{"mean", sum / count},
                                             {"rms", std::sqrt(squares / count)}};
    }
  }

  const FilterCommand& command_;
  std::size_t plane_ = 0;
  std::vector<float> values_;  // of the plane that is reported or written
};

}  // namespace

void add_filter_command(CLI::App& program, int& exit_code) {
  CLI::App* const command = program.add_subcommand(
      "filter", "Convolutions of frames with spatio-temporal kernels, such as derivatives");
  const auto o = std::make_shared<FilterCommand>();
  add_frame_options(*command, o->frames, "out.pfm: one frame; out_%03d.pfm: all frames", 1);
  command->remove_option(command->get_option("--fps"));
  command->add_option("--plane", o->plane, "The plane to write; without it, the first one");
  add_job_options(*command, *o);
  command->footer(
      "--json has mean and root mean square of each plane. A plane describes an earlier moment\n"
      "than its frame: `delay_frames` tells how much. The first frames are `warming_up`: their\n"
      "kernels reach before the first frame. docs/optical_flow_method.md has the kernels.");
  command->callback([command, o, &exit_code] {
    check_options(*command,
                  {{o->frames.output.empty(), {"--plane"}, "without -o, nothing is written"}});
    exit_code = FilterJob(*o).run();
  });
}

}  // namespace ocellus::app
