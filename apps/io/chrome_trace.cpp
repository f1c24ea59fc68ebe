#include "apps/io/chrome_trace.h"

#include <utility>

#include "apps/io/output_file.h"

namespace ocellus::app {
namespace {

double trace_us(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-3;
}

}  // namespace

void ChromeTrace::name_process(int process, const std::string& name) {
  events_.push_back(
      {{"ph", "M"}, {"name", "process_name"}, {"pid", process}, {"args", {{"name", name}}}});
}

void ChromeTrace::name_thread(int process, std::size_t thread, const std::string& name) {
  events_.push_back({{"ph", "M"},
                     {"name", "thread_name"},
                     {"pid", process},
                     {"tid", thread},
                     {"args", {{"name", name}}}});
}

void ChromeTrace::add_span(int process, std::size_t thread, const char* category,
                           const std::string& name, std::int64_t begin_ns, std::int64_t end_ns,
                           nlohmann::ordered_json args) {
  events_.push_back({{"ph", "X"},
                     {"name", name},
                     {"cat", category},
                     {"pid", process},
                     {"tid", thread},
                     {"ts", trace_us(begin_ns)},
                     {"dur", trace_us(end_ns - begin_ns)}});
  if (!args.is_null()) events_.back()["args"] = std::move(args);
}

void ChromeTrace::add_instant(int process, std::size_t thread, const std::string& name,
                              std::int64_t ns) {
  events_.push_back({{"ph", "i"},
                     {"s", "p"},
                     {"name", name},
                     {"pid", process},
                     {"tid", thread},
                     {"ts", trace_us(ns)}});
}

void ChromeTrace::write(const std::string& path) const {
  const std::string text =
      nlohmann::ordered_json{{"displayTimeUnit", "ms"}, {"traceEvents", events_}}.dump();
  OutputFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace ocellus::app
