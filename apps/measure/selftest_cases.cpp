#include "apps/measure/selftest_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "apps/measure/fixed_work.h"

namespace ocellus::detail {
std::span<const std::uint8_t> selftest_results() noexcept;
}

namespace ocellus::app {
namespace {

using SelfTestJson = nlohmann::ordered_json;

constexpr int kMostPresets = 2;
/// The values of a plane that are stored are those at the crossings of so many columns and rows.
constexpr int kGrid = 5;
/// Allowed difference of floats, as a share of the largest value beside them.
constexpr double kWithin = 1e-3;

/// FRAMES for an operator: a scene with motion, unless it needs another content.
const char* input_of(const std::string& op) {
  return op == "digits" ? "test:digits,size=160x120,digits=2" : "test:96x64";
}

/// FNV-1a, 64 bits.
class Checksum {
 public:
  void add(const void* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      value_ = (value_ ^ static_cast<const std::uint8_t*>(bytes)[i]) * 0x100000001b3u;
  }
  void add(const ImageView& plane) {
    const auto row = static_cast<std::size_t>(row_bytes(plane.format, plane.size.width));
    for (int y = 0; y < plane.size.height; ++y)
      add(static_cast<const char*>(plane.data) + y * plane.stride, row);
  }
  std::uint64_t value() const { return value_; }
  std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

/// A value of a plane of one channel.
double plane_value(const ImageView& plane, int x, int y) {
  const char* const at = static_cast<const char*>(plane.data) + y * plane.stride +
                         std::ptrdiff_t{x} * bytes_per_pixel(plane.format);
  const auto read = [at](auto value) {
    std::memcpy(&value, at, sizeof(value));
    return static_cast<double>(value);
  };
  switch (plane.format) {
    case PixelFormat::kFloat32:
      return read(0.0f);
    case PixelFormat::kGray16:
      return read(std::uint16_t{0});
    default:
      return read(std::uint8_t{0});
  }
}

/// Numbers of six digits, which JSON shows as short as they are; null for NaN. `least`: of the
/// difference that is allowed.
SelfTestJson numbers_within(const std::vector<double>& values, double least) {
  SelfTestJson numbers = SelfTestJson::array();
  double largest = 0.0;
  const auto rounded = [](double value) { return std::stod(fmt::format("{:.6g}", value)); };
  for (const double value : values) {
    numbers.push_back(std::isfinite(value) ? SelfTestJson(rounded(value)) : SelfTestJson(nullptr));
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return {{"within", rounded(std::max(kWithin * largest, least))}, {"values", numbers}};
}

SelfTestJson plane_json(const PlaneInfo& info, const ImageView& plane) {
  if (info.levels > 0) {
    Checksum sum;
    sum.add(plane);
    return sum.text();
  }
  std::vector<double> values;
  for (int j = 0; j < kGrid; ++j) {
    for (int i = 0; i < kGrid; ++i)
      values.push_back(plane_value(plane, (2 * i + 1) * plane.size.width / (2 * kGrid),
                                   (2 * j + 1) * plane.size.height / (2 * kGrid)));
  }
  // Of all values: the mean, the root of the mean square, and how many are no number.
  double sum = 0.0;
  double squares = 0.0;
  double count = 0.0;
  const auto pixels = static_cast<double>(pixels_of(plane.size));
  for (int y = 0; y < plane.size.height; ++y) {
    for (int x = 0; x < plane.size.width; ++x) {
      const double value = plane_value(plane, x, y);
      if (!std::isfinite(value)) continue;
      sum += value;
      squares += value * value;
      ++count;
    }
  }
  values.insert(values.end(), {sum / count, std::sqrt(squares / count), 1.0 - count / pixels});
  // Integers are rounded from floats.
  return numbers_within(values, plane.format == PixelFormat::kFloat32 ? 1e-6 : 1.0);
}

SelfTestJson selftest_record(const OperatorInfo& info, const void* record) {
  SelfTestJson json = SelfTestJson::object();
  const int items = RecordItems(info, record).count();
  for (const RecordField& field : info.record->all()) {
    std::vector<double> values;
    for (int i = 0; i < (field.capacity > 1 ? items : 1); ++i)
      values.push_back(field_value(field, record, i));
    if (field.type == FieldType::kFloat)
      json[field.name] = numbers_within(values, 1e-6);
    else
      json[field.name] = std::vector<std::int64_t>(values.begin(), values.end());
  }
  return json;
}

FrameInfo step_of(OperatorRun& run, const SelfTestCase& tested, std::size_t frame,
                  std::uint64_t number) {
  return run.op().step(
      tested.clip.frames[frame].view(number, static_cast<std::int64_t>(number) * 33'333'333));
}

void add_case(std::vector<SelfTestCase>& cases, std::string name, OperatorConfig config) {
  const char* const input = input_of(config.description().name);
  Clip clip = read_clip(input, {}, {.first = {}, .frames = 1});
  config.set_input(clip.size(), clip.format());
  const auto frames = static_cast<std::size_t>(info_of(config).support_frames) + 1;
  clip = read_clip(input, {}, {.first = {}, .frames = frames});
  cases.push_back({std::move(name), config, std::move(clip)});
}

double low_quantile(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 20];
}

}  // namespace

std::vector<SelfTestCase> selftest_cases() {
  std::vector<SelfTestCase> cases;
  for (const OperatorDescription& op : operators()) {
    const OperatorConfig by_default(op);
    add_case(cases, op.name, by_default);
    const auto add_with = [&](const char* option, const char* value, const std::string& name) {
      OperatorConfig config = by_default;
      take(config.set_option(option, value));
      add_case(cases, fmt::format("{}-{}", op.name, name), config);
    };
    if (find_option(op.options, "learn") != nullptr) add_with("learn", "true", "learn");
    const Option* const preset = find_option(op.options, "preset");
    if (preset == nullptr) continue;
    int added = 0;
    for (const OptionChoice& choice : preset->choices) {
      if (choice.word == by_default.get_option(*preset).view() || added == kMostPresets) continue;
      add_with("preset", choice.word, choice.word);
      ++added;
    }
  }
  return cases;
}

std::string selftest_frames(const std::vector<SelfTestCase>& cases) {
  Checksum sum;
  for (const SelfTestCase& tested : cases)
    for (const GrayImage& frame : tested.clip.frames)
      sum.add(frame.pixels.data(), frame.pixels.size());
  return sum.text();
}

SelfTestResult selftest_result(const SelfTestCase& tested, const EngineConfig& engine) {
  OperatorRun run(engine, tested.config);
  for (std::size_t i = 0; i < tested.clip.frames.size(); ++i) step_of(run, tested, i, i);
  const RunningOperator& op = run.op();
  SelfTestResult result;
  Checksum sum;
  for (int p = 0; p < op.info().plane_count; ++p) {
    const PlaneInfo& plane = op.info().planes[static_cast<std::size_t>(p)];
    sum.add(op.plane(p));
    result.values[plane.name] = plane_json(plane, op.plane(p));
  }
  if (const RecordInfo* record = op.info().record) {
    sum.add(op.record(), record->bytes);
    result.values["record"] = selftest_record(op.info(), op.record());
  }
  result.checksum = sum.value();
  return result;
}

std::string selftest_difference(const SelfTestJson& stored, const SelfTestJson& found,
                                const std::string& name) {
  if (stored.is_object() && found.is_object() && stored.size() == found.size()) {
    if (const auto within = stored.find("within"); within != stored.end()) {
      const SelfTestJson& a = stored.at("values");
      const SelfTestJson& b = found.value("values", SelfTestJson());
      for (std::size_t i = 0; i < a.size() && a.size() == b.size(); ++i) {
        const bool numbers = a[i].is_number() && b[i].is_number();
        if (numbers ? std::abs(a[i].get<double>() - b[i].get<double>()) <= within->get<double>()
                    : a[i] == b[i])
          continue;
        return fmt::format("{}: value {} is {}, stored is {} within {}", name, i, b[i].dump(),
                           a[i].dump(), within->dump());
      }
      return a.size() == b.size() ? "" : name + ": another number of values is stored";
    }
    for (const auto& [key, value] : stored.items()) {
      const std::string inside = name + "." + key;
      std::string text = found.contains(key) ? selftest_difference(value, found.at(key), inside)
                                             : inside + " is missing";
      if (!text.empty()) return text;
    }
    return "";
  }
  return stored == found ? ""
                         : fmt::format("{} is {}, stored is {}", name, found.dump(), stored.dump());
}

double selftest_ratio(const SelfTestCase& tested) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 80;
  constexpr std::chrono::microseconds kTurn{1500};  // short, so that some are undisturbed
  EngineConfig engine;
  engine.backend.choice = BackendChoice::kCpu;
  engine.workers = 1;
  OperatorRun run(engine, tested.config);
  const auto fixed = std::make_unique<FixedWork>();
  std::uint64_t number = 0;
  for (; number < 2 * tested.clip.frames.size(); ++number)
    step_of(run, tested, number % tested.clip.frames.size(), number);
  std::vector<double> frames;
  std::vector<double> works;
  // Two frames in turn: an operator may do less where nothing moves.
  for (int round = 0; round < kRounds; ++round) {
    const Clock::time_point begin = Clock::now();
    Clock::time_point end = begin;
    int pairs = 0;
    for (; pairs == 0 || end - begin < kTurn; ++pairs, end = Clock::now())
      for (int i = 0; i < 2; ++i, ++number) step_of(run, tested, number % 2, number);
    frames.push_back(std::chrono::duration<double>(end - begin).count() / (2 * pairs));
    fixed->run();
    works.push_back(std::chrono::duration<double>(Clock::now() - end).count());
  }
  return low_quantile(frames) / low_quantile(works);
}

SelfTestJson stored_selftest_results() {
  const std::span<const std::uint8_t> text = detail::selftest_results();
  return SelfTestJson::parse(text.begin(), text.end());
}

}  // namespace ocellus::app
