#include "apps/measure/miss_trace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>

#include "apps/io/chrome_trace.h"

namespace ocellus::app {
namespace {

// 20 MB for the parts of a second: of ten operators with 20,000 each.
constexpr std::size_t kMostParts = 400'000;
constexpr std::size_t kMostWorks = 20'000;
constexpr std::int64_t kShownNs = 1'000'000'000;
constexpr int kTracedProcess = 1;

}  // namespace

MissTrace::MissTrace(std::string path, const char* marker)
    : path_(std::move(path)),
      marker_(open(marker, O_WRONLY | O_CLOEXEC)),
      parts_(kMostParts),
      work_(kMostWorks) {}

MissTrace::~MissTrace() {
  if (marker_ >= 0) close(marker_);
}

void MissTrace::start(Engine& engine) {
  engine_ = &engine;
  works_ = 0;
  record_trace(engine, parts_);
}

void MissTrace::stop() {
  if (engine_ != nullptr) record_trace(*std::exchange(engine_, nullptr), {});
}

void MissTrace::add(std::size_t op, std::int64_t frame, std::int64_t begin_ns, std::int64_t end_ns,
                    const FrameInfo& times) {
  work_[works_++ % work_.size()] = {
      op, frame, begin_ns, end_ns, times.queue_ns, times.copy_ns, times.compute_ns};
}

void MissTrace::mark(const LatencyTimes& missed, std::int64_t budget_ns) {
  if (marker_ < 0) return;
  char text[128];
  const char* const end =
      fmt::format_to(text, "ocellus: frame {} took {} ns, its budget is {} ns\n", missed.frame,
                     missed.latency, budget_ns);
  // Where it fails there is no note.
  [[maybe_unused]] const ssize_t written =
      ::write(marker_, text, static_cast<std::size_t>(end - text));
}

void MissTrace::write(const LatencyTimes& missed, std::int64_t start_ns, std::int64_t sequence,
                      const std::vector<std::string>& operators) {
  const std::uint64_t recorded = record_trace(*std::exchange(engine_, nullptr), {});
  const auto ms = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-6; };
  const std::int64_t due = start_ns + missed.due;
  const std::int64_t end = due + missed.latency;
  const auto is_shown = [&](std::int64_t end_ns) { return end_ns >= end - kShownNs; };
  ChromeTrace trace;
  trace.name_process(kTracedProcess, "ocellus latency");
  trace.name_thread(kTracedProcess, 0, "measuring thread");
  for (const Work& work : std::span(work_).first(std::min<std::uint64_t>(works_, work_.size()))) {
    if (!is_shown(work.end_ns)) continue;
    trace.add_span(kTracedProcess, 0, "operator", operators[work.op], work.begin_ns, work.end_ns,
                   {{"frame", work.frame},
                    {"queue_ms", ms(work.queue_ns)},
                    {"copy_ms", ms(work.copy_ns)},
                    {"compute_ms", ms(work.compute_ns)}});
  }
  trace.add_instant(kTracedProcess, 0, fmt::format("frame {} is due", missed.frame), due);
  trace.add_instant(kTracedProcess, 0,
                    fmt::format("frame {} has missed its deadline", missed.frame), end);
  int workers = 0;
  for (const TraceEvent& part :
       std::span(parts_).first(std::min<std::uint64_t>(recorded, parts_.size()))) {
    if (!is_shown(part.end_ns)) continue;
    workers = std::max(workers, part.worker + 1);
    trace.add_span(kTracedProcess, static_cast<std::size_t>(part.worker) + 1, part.operator_name,
                   fmt::format("{}, step {}", part.operator_name, part.step), part.begin_ns,
                   part.end_ns,
                   {{"frame", static_cast<std::int64_t>(part.sequence) - sequence + missed.frame},
                    {"part", part.part}});
  }
  for (int worker = 0; worker < workers; ++worker)
    trace.name_thread(kTracedProcess, static_cast<std::size_t>(worker) + 1,
                      fmt::format("worker {}", worker));
  trace.write(path_);
}

}  // namespace ocellus::app
