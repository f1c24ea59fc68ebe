// ChromeTrace: a file in the trace format of Chrome, which Perfetto reads.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace ocellus::app {

class ChromeTrace {
 public:
  void name_process(int process, const std::string& name);
  void name_thread(int process, std::size_t thread, const std::string& name);
  /// `args`: what a click on the span shows; null: nothing.
  void add_span(int process, std::size_t thread, const char* category, const std::string& name,
                std::int64_t begin_ns, std::int64_t end_ns, nlohmann::ordered_json args = nullptr);
  /// An arrow at a time of a thread.
  void add_instant(int process, std::size_t thread, const std::string& name, std::int64_t ns);
  /// Throws InputError.
  void write(const std::string& path) const;

 private:
  nlohmann::ordered_json events_ = nlohmann::ordered_json::array();
};

}  // namespace ocellus::app
