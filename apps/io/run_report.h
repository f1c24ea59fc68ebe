// RunReport: what a command tells about its frames, as they come, and about all of them at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/common/common.h"

namespace ocellus::app {

/// Writes the report of a run on standard output, each frame at once. It keeps no frame, so a run
/// may last for ever.
///
/// --json: one object, whose member "frames" grows while frames come. Members about all frames
/// stand behind it. If the run fails, the end of the object is missing. --json-lines: an
/// object for each frame on a line of its own, and a last one with all other members. Text is
/// printed by the command itself.
class RunReport {
 public:
  explicit RunReport(const CommonOptions& common)
      : form_(common.json         ? Form::kJson
              : common.json_lines ? Form::kJsonLines
                                  : Form::kText) {}

  bool is_text() const { return form_ == Form::kText; }

  /// Called before the first frame. `head`: the members that are known then.
  void begin(nlohmann::ordered_json head);
  void frame(const nlohmann::ordered_json& frame);
  /// Called behind the last frame. `totals`: the other members.
  void end(const nlohmann::ordered_json& totals);

  /// Text of a frame must not wait for the next one. Throws InputError if nobody can read it.
  static void flush();

 private:
  enum class Form { kText, kJson, kJsonLines };

  Form form_;
  bool first_ = true;
  nlohmann::ordered_json head_;
};

/// The times of a run's frames, in constant memory.
class FrameTimes {
 public:
  void add(double ms);
  std::uint64_t count() const { return histogram_->count(); }
  /// In milliseconds, at most 0.1 % too long; exact for one frame. 0 without frames.
  double percentile(double percent) const;

 private:
  std::unique_ptr<LatencyHistogram> histogram_ = std::make_unique<LatencyHistogram>();
};

}  // namespace ocellus::app
