#include "apps/io/run_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "apps/common/json_text.h"

namespace ocellus::app {
namespace {

void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

/// The text of an object that stands `levels` levels deep in another one.
std::string indented(std::string text, int levels) {
  const std::string indent(static_cast<std::size_t>(2 * levels), ' ');
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += indent.size() + 1)
    text.insert(at + 1, indent);
  return text;
}

/// The members of an object without its braces; empty if it has none.
std::string members_of(const nlohmann::ordered_json& object) {
  if (object.empty()) return "";
  const std::string text = json_text(object);
  return text.substr(2, text.size() - 4);  // "{\n" and "\n}"
}

}  // namespace

void RunReport::begin(nlohmann::ordered_json head) {
  if (form_ == Form::kJsonLines) head_ = std::move(head);
  if (form_ != Form::kJson) return;
  const std::string members = members_of(head);
  write("{\n" + members + (members.empty() ? "" : ",\n") + "  \"frames\": [");
  flush();
}

void RunReport::frame(const nlohmann::ordered_json& frame) {
  if (form_ == Form::kJson)
    write((first_ ? "\n    " : ",\n    ") + indented(json_text(frame), 2));
  else
    write(json_line(frame) + "\n");
  first_ = false;
  flush();
}

void RunReport::end(const nlohmann::ordered_json& totals) {
  if (form_ == Form::kJson) {
    const std::string members = members_of(totals);
    write((first_ ? "]" : "\n  ]") + (members.empty() ? "" : ",\n" + members) + "\n}\n");
  } else {
    head_.update(totals);
    write(json_line(head_) + "\n");
  }
  flush();
}

void RunReport::flush() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw InputError("standard output could not be written");
}

void FrameTimes::add(double ms) {
  histogram_->record(std::llround(ms * 1e6));
}

double FrameTimes::percentile(double percent) const {
  const std::int64_t longest = histogram_->max_ns();
  const std::int64_t ns = histogram_->percentile_ns(percent);
  return 1e-6 *
         static_cast<double>(ns > LatencyHistogram::kHighestNs ? longest : std::min(ns, longest));
}

}  // namespace ocellus::app
