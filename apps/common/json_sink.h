// JsonSink: where --json-to sends lines of JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "apps/common/sockets.h"
#include "core/file_writer.h"

namespace ocellus::app {

/// A file, a pipe, a device, standard output or a stream socket that takes lines. A regular file
/// grows: lines are appended to it. Each line is written at once, in one call. A reader that is
/// slow delays the program. All calls throw InputError that names the target.
class JsonSink {
 public:
  explicit JsonSink(const std::string& target);

  void write(const nlohmann::ordered_json& object);

 private:
  [[noreturn]] void fail(const std::string& reason) const;

  std::string target_;
  detail::FileWriter writer_;  ///< of what is no regular file and no socket
  Descriptor own_;
  bool socket_ = false;
};

/// The target of --json-to, or "".
const std::string& json_target();
void set_json_target(const std::string& target);
/// The sink of --json-to, or null if the option is not given. Opens it at the first call, which
/// comes behind the inputs: none of them may be the target. Throws InputError.
JsonSink* json_sink();

}  // namespace ocellus::app
