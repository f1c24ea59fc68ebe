// The C interface: every operator against OperatorHandle, byte for byte, and the texts of errors.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "c_driver.h"
#include "ocellus/luma.h"
#include "realtime/interpose.h"
#include "support/file_targets.h"
#include "support/operator_cases.h"

namespace ocellus {
namespace {

using test::must;

constexpr ImageSize kSize{64, 48};
constexpr int kFrames = 5;

/// A configuration that can be written as texts.
struct TextCase {
  std::string name;
  const char* operator_name;
  std::vector<OptionSetting> settings;
};

void PrintTo(const TextCase& made, std::ostream* out) {
  *out << made.name;
}

std::vector<TextCase> text_cases() {
  std::vector<TextCase> cases;
  for (const OperatorDescription& description : operators()) {
    cases.push_back({description.name, description.name, {}});
    for (const test::OperatorPath& path : test::operator_paths()) {
      if (std::strcmp(path.operator_name, description.name) != 0) continue;
      if (path.change != nullptr || path.fit != nullptr) continue;
      cases.push_back(
          {std::string(path.operator_name) + "_" + path.name, description.name, path.settings});
    }
  }
  return cases;
}

/// The settings as C options. The texts of the cases are literals, so they end with a NUL.
std::vector<ocellus_option> c_options(const std::vector<OptionSetting>& settings) {
  std::vector<ocellus_option> options;
  for (const OptionSetting& setting : settings)
    options.push_back({setting.name.data(), setting.value.data()});
  return options;
}

ocellus_operator_config c_config(const char* name, const std::vector<ocellus_option>& options = {},
                                 ImageSize size = kSize, ocellus_format format = OCELLUS_GRAY8) {
  ocellus_operator_config config{};
  config.name = name;
  config.width = size.width;
  config.height = size.height;
  config.format = format;
  config.options = options.data();
  config.option_count = options.size();
  return config;
}

std::vector<ocellus_plane> c_planes(const OperatorOutput& out, int count) {
  std::vector<ocellus_plane> planes;
  for (int p = 0; p < count; ++p) {
    const ImageView& view = out.planes[static_cast<std::size_t>(p)];
    planes.push_back({view.data, view.size.width, view.size.height, view.stride,
                      static_cast<ocellus_format>(view.format),
                      static_cast<ocellus_memory>(view.space), view.stream});
  }
  return planes;
}

/// Frames of a moving texture without padding, one behind the other.
std::vector<std::uint8_t> frame_bytes() {
  std::vector<std::uint8_t> bytes;
  for (const test::FrameBuffer& buffer :
       test::moving_frames(kSize, PixelFormat::kGray8, kFrames, true)) {
    const Frame frame = buffer.frame(0);
    for (int y = 0; y < kSize.height; ++y) {
      const auto* const row = static_cast<const std::uint8_t*>(frame.data) + y * frame.stride;
      bytes.insert(bytes.end(), row, row + kSize.width);
    }
  }
  return bytes;
}

/// Numbers that no enumeration has. As a byte, 256 is 0.
constexpr std::int32_t kNoEnumerators[] = {-1, 9, 77, 255, 256, 258, INT32_MAX, INT32_MIN};
constexpr const char* kFormats =
    "OCELLUS_GRAY8, OCELLUS_GRAY16, OCELLUS_FLOAT32, OCELLUS_YUY2, OCELLUS_UYVY, OCELLUS_BGR, "
    "OCELLUS_RGB, OCELLUS_BGRX or OCELLUS_RGBX";
constexpr const char* kMemories =
    "OCELLUS_MEMORY_HOST, OCELLUS_MEMORY_PINNED or OCELLUS_MEMORY_CUDA";

std::string no_enumerator(const std::string& name, std::int32_t number, const char* valid) {
  return name + " is " + std::to_string(number) + "; it must be " + valid;
}

class CInterface : public testing::TestWithParam<TextCase> {};

// Fails when the C interface passes an option, a frame, a plane or a record on wrongly, or tells
// something else of an operator than OperatorHandle does.
// Promises: RES-009.
TEST_P(CInterface, GivesTheResultsOfOperatorHandle) {
  const std::vector<std::uint8_t> frames = frame_bytes();
  OperatorConfig config(*find_operator(GetParam().operator_name));
  must(config.set_options(GetParam().settings));
  config.set_input(kSize, PixelFormat::kGray8);
  auto rig = test::make_rig(config);
  const OperatorInfo& info = rig.op.info();

  std::vector<char> expected(test::out_bytes(info), 0x55), got(test::out_bytes(info), 0x55);
  std::vector<std::uint64_t> expected_record(kMaxRecordBytes / 8), got_record(kMaxRecordBytes / 8);
  void* const no_record = nullptr;
  OperatorOutput out = test::output_at(expected.data(), info);
  out.record = info.record == nullptr ? no_record : expected_record.data();
  std::vector<FrameInfo> infos;
  for (int f = 0; f < kFrames; ++f) {
    const Frame frame{.data = frames.data() + f * kSize.width * kSize.height,
                      .size = kSize,
                      .stride = kSize.width,
                      .sequence = static_cast<std::uint64_t>(f) + 10,
                      .timestamp_ns = 1000 * f};
    infos.push_back(must(rig.op.wait(must(rig.op.submit(frame, out)), Deadline::never())));
  }

  driver made{};
  ocellus_error error{};
  const std::vector<ocellus_option> options = c_options(GetParam().settings);
  const ocellus_operator_config c = c_config(GetParam().operator_name, options);
  ASSERT_EQ(driver_create(&made, &c, &error), OCELLUS_OK) << error.text;
  const auto planes = c_planes(test::output_at(got.data(), info), info.plane_count);
  std::vector<ocellus_frame_info> c_infos(kFrames);
  ASSERT_EQ(
      driver_run(&made, frames.data(), kFrames, planes.data(),
                 info.record == nullptr ? no_record : got_record.data(), c_infos.data(), &error),
      OCELLUS_OK)
      << error.text;
  EXPECT_EQ(std::memcmp(expected.data(), got.data(), got.size()), 0) << "the planes differ";
  EXPECT_EQ(expected_record, got_record);
  EXPECT_EQ(std::count(got.begin(), got.end(), 0x55) == static_cast<std::ptrdiff_t>(got.size()),
            false)
      << "nothing was written";
  for (std::size_t f = 0; f < kFrames; ++f) {
    EXPECT_EQ(c_infos[f].sequence, infos[f].sequence);
    EXPECT_EQ(c_infos[f].timestamp_ns, infos[f].timestamp_ns);
    EXPECT_EQ(c_infos[f].described_sequence, infos[f].described_sequence);
    EXPECT_EQ(c_infos[f].described_timestamp_ns, infos[f].described_timestamp_ns);
    EXPECT_EQ(c_infos[f].delay_frames, infos[f].delay_frames);
    EXPECT_EQ(c_infos[f].flags, infos[f].flags);
    EXPECT_GT(c_infos[f].compute_ns, 0);
  }

  EXPECT_STREQ(made.info.name, info.name);
  EXPECT_EQ(made.info.width, info.size.width);
  EXPECT_EQ(made.info.height, info.size.height);
  EXPECT_EQ(made.info.format, OCELLUS_GRAY8);
  ASSERT_EQ(made.info.plane_count, info.plane_count);
  for (std::size_t p = 0; p < static_cast<std::size_t>(info.plane_count); ++p) {
    EXPECT_STREQ(made.info.planes[p].name, info.planes[p].name);
    EXPECT_EQ(made.info.planes[p].width, info.planes[p].size.width);
    EXPECT_EQ(made.info.planes[p].height, info.planes[p].size.height);
    EXPECT_EQ(made.info.planes[p].format, static_cast<ocellus_format>(info.planes[p].format));
    EXPECT_EQ(made.info.planes[p].optional != 0, info.planes[p].optional);
    EXPECT_EQ(made.info.planes[p].levels, info.planes[p].levels);
    EXPECT_EQ(made.info.planes[p].follows_frame != 0, info.planes[p].follows_frame);
    EXPECT_EQ(made.info.planes[p].keeps_color != 0, info.planes[p].color == PictureColor::kKept);
  }
  EXPECT_EQ(made.info.depth, info.depth);
  EXPECT_EQ(made.info.support_frames, info.support_frames);
  EXPECT_EQ(made.info.delay_frames, info.delay_frames);
  EXPECT_EQ(made.info.keeps_state != 0, info.keeps_state);
  EXPECT_EQ(made.info.learns != 0, info.learns);
  EXPECT_STREQ(made.info.summary, info.summary);
  EXPECT_EQ(made.info.record_bytes, info.record == nullptr ? 0 : info.record->bytes);
  EXPECT_EQ(made.info.field_count, info.record == nullptr ? 0 : info.record->field_count);

  for (int f = 0; f < made.info.field_count; ++f) {
    const RecordField& field = info.record->fields[f];
    ocellus_field_info read{};
    ASSERT_EQ(ocellus_operator_get_field(made.op, static_cast<std::size_t>(f), &read, &error),
              OCELLUS_OK);
    EXPECT_STREQ(read.name, field.name);
    EXPECT_STREQ(read.help, field.help);
    EXPECT_EQ(read.type, static_cast<ocellus_field_type>(field.type));
    EXPECT_EQ(read.capacity, field.capacity);
    EXPECT_EQ(read.offset, field.offset);
    EXPECT_EQ(read.role, static_cast<ocellus_field_role>(field.role));
    for (std::size_t i = 0; i < field.capacity; ++i) {
      const char* const at = reinterpret_cast<const char*>(expected_record.data()) + field.offset;
      const double value = field.type == FieldType::kBool
                               ? (reinterpret_cast<const bool*>(at)[i] ? 1.0 : 0.0)
                           : field.type == FieldType::kFloat
                               ? static_cast<double>(reinterpret_cast<const float*>(at)[i])
                           : field.type == FieldType::kInt32
                               ? static_cast<double>(reinterpret_cast<const std::int32_t*>(at)[i])
                               : static_cast<double>(reinterpret_cast<const std::uint32_t*>(at)[i]);
      double given = -1e300;
      ASSERT_EQ(
          ocellus_operator_read_field(made.op, got_record.data(), field.name, i, &given, &error),
          OCELLUS_OK)
          << error.text;
      EXPECT_EQ(given, value) << field.name << " " << i;
    }
  }

  ocellus_stats stats{};
  ASSERT_EQ(ocellus_operator_get_stats(made.op, &stats, &error), OCELLUS_OK);
  EXPECT_EQ(stats.frames, static_cast<std::uint64_t>(kFrames));
  EXPECT_EQ(stats.missed_deadlines, 0u);
  EXPECT_GT(stats.p50_ns, 0);
  EXPECT_GE(stats.max_ns, stats.p50_ns);

  // Without its past, the operator gives the result of the first frame again.
  if (info.keeps_state && !info.learns) {
    std::vector<char> first(got.size(), 0x55);
    const auto first_planes = c_planes(test::output_at(first.data(), info), info.plane_count);
    ASSERT_EQ(ocellus_operator_reset(made.op, &error), OCELLUS_OK);
    ASSERT_EQ(
        driver_run(&made, frames.data(), 1, first_planes.data(), nullptr, c_infos.data(), &error),
        OCELLUS_OK);
    rig.op.reset();
    std::vector<char> first_expected(got.size(), 0x55);
    const Frame frame{.data = frames.data(), .size = kSize, .stride = kSize.width};
    must(rig.op.wait(must(rig.op.submit(frame, test::output_at(first_expected.data(), info))),
                     Deadline::never()));
    EXPECT_EQ(first, first_expected);
  }
  driver_destroy(&made);
}

INSTANTIATE_TEST_SUITE_P(Operators, CInterface, testing::ValuesIn(text_cases()),
                         [](const auto& made) { return made.param.name; });

// Fails when the list from C is not the list of the library, or a text is missing.
// Promises: INS-003.
TEST(CList, IsTheLibrarysList) {
  ASSERT_EQ(driver_count_operators(), operators().size());
  for (std::size_t i = 0; i < operators().size(); ++i) {
    EXPECT_STREQ(ocellus_operator_name(i), operators()[i].name);
    EXPECT_STREQ(ocellus_operator_summary(i), operators()[i].summary);
  }
  EXPECT_EQ(ocellus_operator_name(operators().size()), nullptr);
  EXPECT_EQ(ocellus_operator_summary(operators().size()), nullptr);
  EXPECT_STREQ(ocellus_version(), version());
  EXPECT_STREQ(ocellus_status_name(OCELLUS_DEADLINE_MISSED), "DeadlineMissed");
  for (const std::int32_t bad : {-1, 200, 255, 256, 256 + OCELLUS_SYSTEM})
    EXPECT_STREQ(ocellus_status_name(bad), "Unknown");
}

/// An operator of a C program and what is needed to send it a frame.
class COperator : public testing::Test {
 protected:
  void SetUp() override { make({{"depth", "2"}}); }
  void TearDown() override { driver_destroy(&made_); }

  void make(const std::vector<ocellus_option>& options, const char* name = "flow") {
    driver_destroy(&made_);
    const ocellus_operator_config config = c_config(name, options);
    ASSERT_EQ(driver_create(&made_, &config, &error_), OCELLUS_OK) << error_.text;
    const OperatorConfig same(*find_operator(name));
    OperatorInfo info;
    info.plane_count = made_.info.plane_count;
    std::size_t bytes = 0;
    for (std::size_t p = 0; p < static_cast<std::size_t>(info.plane_count); ++p) {
      info.planes[p].size = {made_.info.planes[p].width, made_.info.planes[p].height};
      info.planes[p].format = static_cast<PixelFormat>(made_.info.planes[p].format);
    }
    bytes = test::out_bytes(info);
    memory_.resize(bytes);
    planes_ = c_planes(test::output_at(memory_.data(), info), info.plane_count);
    gray_.assign(kSize.width * kSize.height, 100);
    frame_ = {};
    frame_.data = gray_.data();
    frame_.width = kSize.width;
    frame_.height = kSize.height;
    frame_.stride = kSize.width;
  }

  ocellus_status submit() {
    return ocellus_operator_submit(made_.op, &frame_, planes_.data(), planes_.size(), nullptr,
                                   &ticket_, &error_);
  }
  void expect(ocellus_status got, ocellus_status status, const std::string& text) {
    EXPECT_EQ(got, status) << ocellus_status_name(got);
    EXPECT_EQ(error_.status, status);
    EXPECT_EQ(std::string(error_.text), text);
    error_ = {};
  }

  driver made_{};
  ocellus_error error_{};
  ocellus_ticket ticket_{};
  ocellus_frame frame_{};
  std::vector<std::uint8_t> gray_;
  std::vector<char> memory_;
  std::vector<ocellus_plane> planes_;
};

// Fails when a null argument is read, or when its error does not name it.
TEST_F(COperator, NullArgument) {
  const auto null = [this](ocellus_status got, const char* name) {
    expect(got, OCELLUS_INVALID_ARGUMENT, std::string(name) + " is null");
  };
  ocellus_error* const e = &error_;
  ocellus_operator* const op = made_.op;
  ocellus_engine* engine = nullptr;
  ocellus_operator* made = nullptr;
  const ocellus_operator_config config = c_config("flow");
  null(ocellus_engine_create(nullptr, &config, 1, nullptr, e), "engine");
  null(ocellus_engine_create(nullptr, nullptr, 1, &engine, e), "operators");
  EXPECT_EQ(engine, nullptr);
  ocellus_engine_info engine_info;
  null(ocellus_engine_get_info(nullptr, &engine_info, e), "engine");
  null(ocellus_engine_get_info(made_.engine, nullptr, e), "info");
  null(ocellus_operator_create(nullptr, &config, &made, e), "engine");
  null(ocellus_operator_create(made_.engine, nullptr, &made, e), "config");
  null(ocellus_operator_create(made_.engine, &config, nullptr, e), "op");
  EXPECT_EQ(made, nullptr);
  ocellus_operator_info info;
  null(ocellus_operator_get_info(nullptr, &info, e), "op");
  null(ocellus_operator_get_info(op, nullptr, e), "info");
  ocellus_field_info field;
  null(ocellus_operator_get_field(nullptr, 0, &field, e), "op");
  null(ocellus_operator_get_field(op, 0, nullptr, e), "field");
  double value = 0;
  null(ocellus_operator_read_field(nullptr, &value, "x", 0, &value, e), "op");
  null(ocellus_operator_read_field(op, nullptr, "x", 0, &value, e), "record");
  null(ocellus_operator_read_field(op, &value, nullptr, 0, &value, e), "field");
  null(ocellus_operator_read_field(op, &value, "x", 0, nullptr, e), "value");
  std::size_t length = 0;
  null(ocellus_operator_write_text(nullptr, &value, 0, nullptr, 0, &length, e), "op");
  null(ocellus_operator_write_text(op, nullptr, 0, nullptr, 0, &length, e), "record");
  null(ocellus_operator_write_text(op, &value, 0, nullptr, 1, &length, e), "text");
  null(ocellus_operator_write_text(op, &value, 0, nullptr, 0, nullptr, e), "length");
  null(ocellus_operator_submit(nullptr, &frame_, planes_.data(), 3, nullptr, &ticket_, e), "op");
  null(ocellus_operator_submit(op, nullptr, planes_.data(), 3, nullptr, &ticket_, e), "frame");
  null(ocellus_operator_submit(op, &frame_, nullptr, 3, nullptr, &ticket_, e), "planes");
  null(ocellus_operator_submit(op, &frame_, planes_.data(), 3, nullptr, nullptr, e), "ticket");
  null(ocellus_operator_wait(nullptr, ticket_, 0, nullptr, e), "op");
  ocellus_cancel_outcome outcome;
  null(ocellus_operator_cancel(nullptr, ticket_, &outcome, e), "op");
  null(ocellus_operator_cancel(op, ticket_, nullptr, e), "outcome");
  int fd = -1;
  null(ocellus_operator_create_event_fd(nullptr, &fd, e), "op");
  null(ocellus_operator_create_event_fd(op, nullptr, e), "fd");
  EXPECT_EQ(fd, -1);
  null(ocellus_operator_reset(nullptr, e), "op");
  null(ocellus_operator_save_model(nullptr, "x", e), "op");
  null(ocellus_operator_save_model(op, nullptr, e), "path");
  null(ocellus_operator_take_learned(nullptr, op, e), "op");
  null(ocellus_operator_take_learned(op, nullptr, e), "from");
  ocellus_stats stats;
  null(ocellus_operator_get_stats(nullptr, &stats, e), "op");
  null(ocellus_operator_get_stats(op, nullptr, e), "stats");
  // Where no error is wanted, the status alone tells.
  EXPECT_EQ(ocellus_operator_reset(nullptr, nullptr), OCELLUS_INVALID_ARGUMENT);
  ocellus_engine_destroy(nullptr);
  ocellus_operator_destroy(nullptr);
}

// Fails when the descriptor does not tell of a frame that is done, or when the outcome of `cancel`
// is another one than that of C++.
TEST_F(COperator, EventLoop) {
  int fd = -1;
  ASSERT_EQ(ocellus_operator_create_event_fd(made_.op, &fd, &error_), OCELLUS_OK) << error_.text;
  pollfd look{fd, POLLIN, 0};
  EXPECT_EQ(poll(&look, 1, 0), 0);
  ASSERT_EQ(submit(), OCELLUS_OK) << error_.text;
  const ocellus_ticket first = ticket_;
  ASSERT_EQ(submit(), OCELLUS_OK) << error_.text;
  const ocellus_ticket second = ticket_;
  ocellus_cancel_outcome outcome{};
  ASSERT_EQ(ocellus_operator_cancel(made_.op, second, &outcome, &error_), OCELLUS_OK);
  ASSERT_EQ(poll(&look, 1, 20'000), 1);
  ASSERT_EQ(ocellus_operator_wait(made_.op, first, 0, nullptr, &error_), OCELLUS_OK);
  ocellus_stats stats;
  ASSERT_EQ(ocellus_operator_get_stats(made_.op, &stats, &error_), OCELLUS_OK);
  EXPECT_EQ(stats.canceled_frames, outcome == OCELLUS_CANCELED ? 1u : 0u);
  EXPECT_EQ(ocellus_operator_wait(made_.op, second, OCELLUS_NEVER, nullptr, &error_),
            outcome == OCELLUS_CANCELED ? OCELLUS_INVALID_TICKET : OCELLUS_OK);
  EXPECT_EQ(poll(&look, 1, 0), 0);
  ASSERT_EQ(submit(), OCELLUS_OK) << error_.text;
  ASSERT_EQ(poll(&look, 1, 20'000), 1);
  ASSERT_EQ(ocellus_operator_cancel(made_.op, ticket_, &outcome, &error_), OCELLUS_OK);
  EXPECT_EQ(outcome, OCELLUS_CANCEL_DONE);
  ASSERT_EQ(ocellus_operator_wait(made_.op, ticket_, 0, nullptr, &error_), OCELLUS_OK);
  EXPECT_EQ(ocellus_operator_cancel(made_.op, ticket_, &outcome, &error_), OCELLUS_INVALID_TICKET);
}

// Fails when a bad configuration is accepted, or when its text is not the library's.
TEST_F(COperator, Configuration) {
  const auto refuse = [this](const ocellus_operator_config& config, const std::string& text) {
    ocellus_engine* engine = nullptr;
    expect(ocellus_engine_create(nullptr, &config, 1, &engine, &error_), OCELLUS_INVALID_ARGUMENT,
           text);
    EXPECT_EQ(engine, nullptr);
    ocellus_operator* op = nullptr;
    expect(ocellus_operator_create(made_.engine, &config, &op, &error_), OCELLUS_INVALID_ARGUMENT,
           text);
    EXPECT_EQ(op, nullptr);
  };
  const auto cpp_text = [](std::vector<OptionSetting> settings, ImageSize size,
                           PixelFormat format) {
    OperatorConfig config(*find_operator("flow"));
    if (Expected<void> set = config.set_options(settings); !set)
      return std::string(set.error().text);
    config.set_input(size, format);
    return std::string(config.info().error().text);
  };
  std::string names;
  for (const OperatorDescription& one : operators())
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  refuse(c_config("flows"), "there is no operator \"flows\"; there are " + names);
  refuse(c_config(nullptr), "the operator's name is null");
  refuse(c_config("flow", {{"windows", "9"}}),
         cpp_text({{"windows", "9"}}, kSize, PixelFormat::kGray8));
  refuse(c_config("flow", {{"window", "8"}}), "window is 8; it must be odd, 3 to 31 pixels");
  refuse(c_config("flow", {{"window", nullptr}}), "flow: the value of option 0 is null");
  refuse(c_config("flow", {{"window", "9"}, {nullptr, "9"}}), "flow: the name of option 1 is null");
  refuse(c_config("flow", {}, {64, -1}), cpp_text({}, {64, -1}, PixelFormat::kGray8));
  for (const std::int32_t bad : kNoEnumerators)
    refuse(c_config("flow", {}, kSize, bad), no_enumerator("format", bad, kFormats));
  refuse(c_config("flow", std::vector<ocellus_option>(65, {"window", "9"})),
         "flow: option_count is 65; it must be at most 64");
  ocellus_operator_config null_options = c_config("flow");
  null_options.options = nullptr;
  null_options.option_count = 1;
  refuse(null_options, "flow: options is null, but option_count is 1");

  const auto refuse_engine = [this](const ocellus_engine_config& config, const std::string& text) {
    ocellus_engine* engine = nullptr;
    expect(ocellus_engine_create(&config, nullptr, 0, &engine, &error_), OCELLUS_INVALID_ARGUMENT,
           text);
    EXPECT_EQ(engine, nullptr);
  };
  ocellus_engine_config engine{};
  engine.backend = "gpu";
  refuse_engine(engine, BackendSpec::parse("gpu").error().text);
  engine = {};
  engine.workers = 65;
  EngineConfig many;
  many.workers = 65;
  refuse_engine(engine, Engine::probe(many).error().text);
  engine = {};
  for (const std::int32_t bad : kNoEnumerators) {
    engine.device_wait = bad;
    refuse_engine(engine,
                  no_enumerator("device_wait", bad,
                                "OCELLUS_WAIT_SPIN, OCELLUS_WAIT_YIELD or OCELLUS_WAIT_BLOCK"));
  }
  engine = {};
  engine.affinity_count = 1;
  refuse_engine(engine, "affinity is null, but affinity_count is 1");
  const std::int16_t cpus[65] = {};
  engine.affinity = cpus;
  engine.affinity_count = 65;
  refuse_engine(engine, "affinity_count is 65; it must be at most 64");
  engine = {};
  engine.option_count = 1;
  refuse_engine(engine, "engine: options is null, but option_count is 1");
  const auto set = [](EngineConfig config, const char* name, const char* value) {
    return std::string(set_option(config, name, value).error().text);
  };
  for (const ocellus_option& option :
       {ocellus_option{"zero_copy", "yes"}, ocellus_option{"zero", "on"}}) {
    engine.options = &option;
    refuse_engine(engine, set({}, option.name, option.value));
  }
  const ocellus_option no_value{"zero_copy", nullptr};
  engine.options = &no_value;
  refuse_engine(engine, "engine: the value of option 0 is null");
  const ocellus_option on{"zero_copy", "on"};
  engine.options = &on;
  engine.backend = "cpu";
  ocellus_engine* on_cpu = nullptr;
  ASSERT_EQ(ocellus_engine_create(&engine, nullptr, 0, &on_cpu, &error_), OCELLUS_OK)
      << error_.text;
  ocellus_engine_info info{};
  EXPECT_EQ(ocellus_engine_get_info(on_cpu, &info, &error_), OCELLUS_OK);
  EXPECT_EQ(info.zero_copy, 0);
  EXPECT_EQ(info.integrated, 0);
  ocellus_engine_destroy(on_cpu);

  // The engine has memory for one operator only.
  ocellus_operator* op = nullptr;
  const ocellus_operator_config second = c_config("flow");
  EXPECT_EQ(ocellus_operator_create(made_.engine, &second, &op, &error_), OCELLUS_OUT_OF_MEMORY);
  EXPECT_NE(std::string(error_.text), "");
}

// Fails when a number of ocellus_format means another format than in C++, or when the luma of a
// frame with color is another one.
TEST(CColor, GivesTheResultsOfTheLuma) {
  const std::vector<std::uint8_t> gray = frame_bytes();
  const auto run = [](ocellus_format format, const std::vector<std::uint8_t>& frames) {
    driver made{};
    ocellus_error error{};
    const ocellus_operator_config config = c_config("flow", {}, kSize, format);
    std::vector<char> bytes;
    EXPECT_EQ(driver_create(&made, &config, &error), OCELLUS_OK) << error.text;
    if (made.op == nullptr) return bytes;
    EXPECT_EQ(made.info.format, format);
    OperatorConfig same(*find_operator("flow"));
    same.set_input(kSize, PixelFormat::kGray8);
    const OperatorInfo info = must(same.info());
    bytes.resize(test::out_bytes(info));
    const auto planes = c_planes(test::output_at(bytes.data(), info), info.plane_count);
    std::vector<ocellus_frame_info> infos(kFrames);
    EXPECT_EQ(
        driver_run(&made, frames.data(), kFrames, planes.data(), nullptr, infos.data(), &error),
        OCELLUS_OK)
        << error.text;
    driver_destroy(&made);
    return bytes;
  };
  const std::vector<char> expected = run(OCELLUS_GRAY8, gray);
  const struct {
    ocellus_format format;
    std::size_t bytes;
    int luma;  // the place of Y; -1: the pixels are gray in RGB
  } formats[] = {{OCELLUS_YUY2, 2, 0}, {OCELLUS_UYVY, 2, 1},  {OCELLUS_BGR, 3, -1},
                 {OCELLUS_RGB, 3, -1}, {OCELLUS_BGRX, 4, -1}, {OCELLUS_RGBX, 4, -1}};
  for (const auto& one : formats) {
    SCOPED_TRACE(one.format);
    std::vector<std::uint8_t> frames(one.bytes * gray.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const std::size_t byte = i % one.bytes;
      const bool luma = one.luma >= 0 ? byte == static_cast<std::size_t>(one.luma) : byte < 3;
      frames[i] = luma ? gray[i / one.bytes] : static_cast<std::uint8_t>(i * 31);
    }
    EXPECT_EQ(run(one.format, frames), expected);
  }
  // The order of red and blue: pure red is darker than pure green and brighter than pure blue.
  std::vector<std::uint8_t> red(3 * gray.size()), same(gray.size());
  for (std::size_t i = 0; i < gray.size(); ++i) {
    red[3 * i] = gray[i];
    same[i] = luma_of_rgb(gray[i], 0, 0);
  }
  EXPECT_EQ(run(OCELLUS_RGB, red), run(OCELLUS_GRAY8, same));
  EXPECT_NE(run(OCELLUS_BGR, red), run(OCELLUS_GRAY8, same));
}

// Fails when a bad frame or plane is accepted, or when its text is not the library's.
TEST_F(COperator, FrameAndPlanes) {
  const auto refuse = [this](const std::string& text) {
    expect(submit(), OCELLUS_INVALID_ARGUMENT, text);
  };
  const ocellus_frame frame = frame_;
  const std::vector<ocellus_plane> planes = planes_;
  frame_.width = 63;
  refuse("frame.size is 63x48; the operator was made for 64x48");
  frame_ = frame;
  frame_.data = nullptr;
  refuse("frame.data is null");
  frame_ = frame;
  frame_.stride = 63;
  refuse("frame.stride is 63 bytes; it must be at least 64");
  frame_ = frame;
  frame_.format = OCELLUS_GRAY16;
  refuse("frame.format is kGray16; the operator was made for kGray8");
  frame_ = frame;
  frame_.memory = OCELLUS_MEMORY_CUDA;
  refuse(
      "frame is in cuda and output in host memory; the backend cpu reads and writes host memory");
  frame_ = frame;

  for (const std::int32_t bad : kNoEnumerators) {
    frame_.format = bad;
    refuse(no_enumerator("frame.format", bad, kFormats));
    frame_ = frame;
    frame_.memory = bad;
    refuse(no_enumerator("frame.memory", bad, kMemories));
    frame_ = frame;
    for (std::size_t p = 0; p < planes.size(); ++p) {
      const std::string name = "planes[" + std::to_string(p) + "]";
      planes_[p].format = bad;
      refuse(no_enumerator(name + ".format", bad, kFormats));
      planes_[p] = planes[p];
      planes_[p].memory = bad;
      refuse(no_enumerator(name + ".memory", bad, kMemories));
      planes_ = planes;
    }
  }

  planes_.resize(1);
  refuse("output plane v is null");
  planes_ = planes;
  planes_.push_back(planes[0]);
  refuse("output has a plane 3; the operator has 3 planes");
  planes_.resize(9, planes[0]);
  refuse("plane_count is 9; flow has 3 planes");
  planes_ = planes;
  planes_[1].height = 47;
  refuse("output plane v is 64x47; it must be 64x48");
  planes_ = planes;
  planes_[1].data = planes[0].data;
  refuse("output planes u and v are the same; each needs memory of its own");
  planes_ = planes;
  char record[8];
  expect(ocellus_operator_submit(made_.op, &frame_, planes_.data(), 3, record, &ticket_, &error_),
         OCELLUS_INVALID_ARGUMENT, "output.record is not null, but the operator has no record");
  // The confidence is optional. Nothing else is read of a plane that is left out.
  planes_[2] = {nullptr, -1, -1, -1, -1, -1, nullptr};
  ASSERT_EQ(submit(), OCELLUS_OK);
  EXPECT_EQ(ocellus_operator_wait(made_.op, ticket_, OCELLUS_NEVER, nullptr, nullptr), OCELLUS_OK);
}

// Fails when a ticket works twice or at another operator, when more frames are in flight than the
// depth, or when a deadline is not kept.
TEST_F(COperator, TicketsAndDeadlines) {
  ASSERT_EQ(submit(), OCELLUS_OK);
  const ocellus_ticket first = ticket_;
  ASSERT_EQ(ocellus_operator_wait(made_.op, first, OCELLUS_NEVER, nullptr, &error_), OCELLUS_OK);
  expect(ocellus_operator_wait(made_.op, first, OCELLUS_NEVER, nullptr, &error_),
         OCELLUS_INVALID_TICKET, "ticket 1 is not in flight");
  ASSERT_EQ(submit(), OCELLUS_OK);
  const ocellus_ticket second = ticket_;
  ocellus_ticket of_another = second;
  ++of_another.issuer;
  expect(ocellus_operator_wait(made_.op, of_another, OCELLUS_NEVER, nullptr, &error_),
         OCELLUS_INVALID_TICKET, "ticket 2 is of another operator; flow did not give it out");
  ASSERT_EQ(submit(), OCELLUS_OK);
  expect(submit(), OCELLUS_QUEUE_FULL,
         "2 frames are in flight, which is the depth; wait for one of them first");
  ASSERT_EQ(ocellus_operator_wait(made_.op, ticket_,
                                  ocellus_deadline_after(std::int64_t{60} * 1000000000), nullptr,
                                  &error_),
            OCELLUS_OK)
      << error_.text;
  ASSERT_EQ(ocellus_operator_reset(made_.op, &error_), OCELLUS_OK);
  expect(ocellus_operator_wait(made_.op, second, OCELLUS_NEVER, nullptr, &error_),
         OCELLUS_INVALID_TICKET, "ticket 2 is not in flight");
  ocellus_operator_stop(nullptr);
  ocellus_operator_stop(made_.op);
  expect(submit(), OCELLUS_STOPPED, "flow was stopped; call reset before the next frame");
  ASSERT_EQ(ocellus_operator_reset(made_.op, &error_), OCELLUS_OK);
  EXPECT_EQ(submit(), OCELLUS_OK);
  EXPECT_EQ(ocellus_deadline_after(INT64_MAX), OCELLUS_NEVER);
  const std::int64_t before = ocellus_deadline_after(0);
  const std::int64_t deadline = ocellus_deadline_after(1000000000);
  EXPECT_GE(deadline, before + 1000000000);
  EXPECT_LE(deadline, ocellus_deadline_after(0) + 1000000000);
}

// Fails when `wait` blocks although the deadline has passed, or does not count the miss.
// Promises: RT-005.
TEST_F(COperator, MissedDeadline) {
  // A frame that takes long: several hundred thousand pixels.
  const ImageSize size{1024, 768};
  driver_destroy(&made_);
  const ocellus_operator_config config = c_config("flow", {}, size);
  ASSERT_EQ(driver_create(&made_, &config, &error_), OCELLUS_OK) << error_.text;
  std::vector<std::uint8_t> gray(size.width * size.height, 9);
  std::vector<float> u(gray.size()), v(gray.size());
  frame_ = {};
  frame_.data = gray.data();
  frame_.width = size.width;
  frame_.height = size.height;
  frame_.stride = size.width;
  planes_.clear();
  for (std::vector<float>* plane : {&u, &v}) {
    ocellus_plane one{};
    one.data = plane->data();
    one.width = size.width;
    one.height = size.height;
    one.stride = size.width * 4;
    one.format = OCELLUS_FLOAT32;
    planes_.push_back(one);
  }
  // On a busy machine the frame may be done before this thread runs again.
  ocellus_status status = OCELLUS_OK;
  for (int attempt = 0; attempt < 50 && status == OCELLUS_OK; ++attempt) {
    ASSERT_EQ(submit(), OCELLUS_OK);
    status = ocellus_operator_wait(made_.op, ticket_, 0, nullptr, &error_);
  }
  expect(status, OCELLUS_DEADLINE_MISSED,
         "ticket " + std::to_string(ticket_.number) +
             " is not done; the frame still belongs to the operator");
  ocellus_stats stats{};
  ASSERT_EQ(ocellus_operator_get_stats(made_.op, &stats, &error_), OCELLUS_OK);
  EXPECT_EQ(stats.missed_deadlines, 0u) << "a look counts";
  EXPECT_EQ(ocellus_operator_wait(made_.op, ticket_, OCELLUS_NEVER, nullptr, &error_), OCELLUS_OK);
  // A deadline after the submission counts.
  status = OCELLUS_OK;
  for (int attempt = 0; attempt < 50 && status == OCELLUS_OK; ++attempt) {
    ASSERT_EQ(submit(), OCELLUS_OK);
    status = ocellus_operator_wait(made_.op, ticket_, ocellus_deadline_after(1), nullptr, &error_);
  }
  EXPECT_EQ(status, OCELLUS_DEADLINE_MISSED);
  ASSERT_EQ(ocellus_operator_get_stats(made_.op, &stats, &error_), OCELLUS_OK);
  EXPECT_EQ(stats.missed_deadlines, 1u);
  EXPECT_EQ(stats.overflow, 0u);
  EXPECT_EQ(ocellus_operator_wait(made_.op, ticket_, OCELLUS_NEVER, nullptr, &error_), OCELLUS_OK);
}

// Fails when what C tells before creation is not what creation takes and makes, or when the memory
// for mailboxes, or `workers_only`, does not reach the engine.
TEST_F(COperator, TellsBeforeCreationWhatItTakes) {
  const ocellus_operator_config config = c_config("digits");
  ocellus_engine_config engine_config{};
  engine_config.backend = "cpu";
  engine_config.workers_only = 1;
  ocellus_footprint bytes{};
  ocellus_footprint mailbox_bytes{};
  ocellus_operator_info info{};
  ocellus_engine_info engine_info{};
  ASSERT_EQ(ocellus_operator_footprint(&engine_config, &config, &bytes, &error_), OCELLUS_OK);
  ASSERT_EQ(ocellus_operator_probe(&config, &info, &error_), OCELLUS_OK);
  ASSERT_EQ(ocellus_engine_probe(&engine_config, &engine_info, &error_), OCELLUS_OK);
  EXPECT_EQ(engine_info.workers_only, 1);
  EXPECT_STREQ(info.name, "digits");
  ASSERT_EQ(ocellus_mailbox_footprint(kSize.width, kSize.height, OCELLUS_BGR, OCELLUS_MEMORY_HOST,
                                      &mailbox_bytes, &error_),
            OCELLUS_OK);
  engine_config.memory = mailbox_bytes;
  ocellus_engine* engine = nullptr;
  ocellus_operator* op = nullptr;
  ocellus_mailbox* mailbox = nullptr;
  ocellus_memory_use use{};
  ASSERT_EQ(ocellus_engine_create(&engine_config, &config, 1, &engine, &error_), OCELLUS_OK);
  ASSERT_EQ(ocellus_operator_create(engine, &config, &op, &error_), OCELLUS_OK);
  ASSERT_EQ(ocellus_mailbox_create(engine, kSize.width, kSize.height, OCELLUS_BGR,
                                   OCELLUS_MEMORY_HOST, &mailbox, &error_),
            OCELLUS_OK)
      << error_.text;
  ASSERT_EQ(ocellus_engine_get_memory_use(engine, &use, &error_), OCELLUS_OK);
  EXPECT_EQ(use.capacity.host, bytes.host + mailbox_bytes.host);
  EXPECT_EQ(use.pieces, 2);
  EXPECT_GT(use.used.host, bytes.host);
  EXPECT_LE(use.used.host, use.peak.host);
  ocellus_mailbox_destroy(mailbox);
  ocellus_operator_destroy(op);
  ocellus_engine_destroy(engine);
  EXPECT_EQ(ocellus_row_bytes(OCELLUS_BGR, 5), 15);
  EXPECT_EQ(ocellus_row_bytes(77, 5), 0);
  expect(ocellus_mailbox_footprint(0, 4, OCELLUS_GRAY8, OCELLUS_MEMORY_HOST, &bytes, &error_),
         OCELLUS_INVALID_ARGUMENT, "size is 0x4; width and height must be 1 to 16384");
}

// Fails when C's mailbox hands on another frame than the newest, or when `wait_any` names an
// operator that has nothing.
TEST_F(COperator, TakesTheNewestFrameOfAMailbox) {
  ocellus_engine_config engine_config{};
  engine_config.backend = "cpu";
  ocellus_engine* engine = nullptr;
  ocellus_mailbox* mailbox = nullptr;
  ASSERT_EQ(ocellus_mailbox_footprint(kSize.width, kSize.height, OCELLUS_GRAY8, OCELLUS_MEMORY_HOST,
                                      &engine_config.memory, &error_),
            OCELLUS_OK);
  ASSERT_EQ(ocellus_engine_create(&engine_config, nullptr, 0, &engine, &error_), OCELLUS_OK);
  ASSERT_EQ(ocellus_mailbox_create(engine, kSize.width, kSize.height, OCELLUS_GRAY8,
                                   OCELLUS_MEMORY_HOST, &mailbox, &error_),
            OCELLUS_OK);
  ocellus_frame frame{};
  EXPECT_EQ(ocellus_mailbox_take(mailbox, 0, &frame, &error_), OCELLUS_DEADLINE_MISSED);
  for (std::uint64_t number = 1; number <= 2; ++number) {
    ocellus_plane back{};
    ASSERT_EQ(ocellus_mailbox_back(mailbox, &back, &error_), OCELLUS_OK);
    std::memset(back.data, static_cast<int>(number),
                static_cast<std::size_t>(back.stride * back.height));
    ASSERT_EQ(ocellus_mailbox_publish(mailbox, number, 40, &error_), OCELLUS_OK);
  }
  ocellus_mailbox_close(mailbox);
  ASSERT_EQ(ocellus_mailbox_take(mailbox, OCELLUS_NEVER, &frame, &error_), OCELLUS_OK);
  EXPECT_EQ(frame.sequence, 2u);
  EXPECT_EQ(frame.timestamp_ns, 40);
  EXPECT_EQ(*static_cast<const unsigned char*>(frame.data), 2);
  EXPECT_EQ(ocellus_mailbox_replaced(mailbox), 1u);

  frame_ = frame;
  ocellus_operator* const ops[] = {made_.op, made_.op};
  std::size_t index = 7;
  EXPECT_EQ(ocellus_wait_any(ops, 2, 0, 0, &index, &error_), OCELLUS_DEADLINE_MISSED);
  EXPECT_EQ(index, 7u);
  ASSERT_EQ(submit(), OCELLUS_OK) << error_.text;
  ASSERT_EQ(ocellus_wait_any(ops, 2, OCELLUS_NEVER, 0, &index, &error_), OCELLUS_OK);
  EXPECT_EQ(index, 1u);
  EXPECT_EQ(ocellus_operator_wait(made_.op, ticket_, 0, nullptr, &error_), OCELLUS_OK);
  EXPECT_EQ(ocellus_mailbox_take(mailbox, OCELLUS_NEVER, &frame, &error_), OCELLUS_STOPPED);
  ocellus_mailbox_destroy(mailbox);
  ocellus_engine_destroy(engine);
}

// Fails when a group of C sends a frame of a camera to another engine than C++ does, or gives
// another result.
TEST_F(COperator, GroupsShareTheFrames) {
  ocellus_engine_config engines[2] = {};
  engines[0].backend = engines[1].backend = "cpu";
  engines[0].workers = engines[1].workers = 1;
  const ocellus_operator_config config = c_config("flow");
  ocellus_group* group = nullptr;
  ASSERT_EQ(ocellus_group_create(engines, 2, &config, 2, &group, &error_), OCELLUS_OK);
  EXPECT_EQ(ocellus_group_engine_count(group), 2);
  EXPECT_EQ(ocellus_group_camera_count(group), 2);
  EXPECT_EQ(ocellus_group_frames_in_flight(group), 1);
  ocellus_operator_info info{};
  ocellus_engine_info engine_info{};
  ASSERT_EQ(ocellus_group_get_info(group, &info, &error_), OCELLUS_OK);
  EXPECT_STREQ(info.name, "flow");
  ASSERT_EQ(ocellus_group_get_engine_info(group, 1, &engine_info, &error_), OCELLUS_OK);
  EXPECT_EQ(engine_info.workers, 1);
  expect(ocellus_group_get_engine_info(group, 2, &engine_info, &error_), OCELLUS_INVALID_ARGUMENT,
         "number is 2; there are 2 engines");
  std::vector<char> expected;
  for (std::int32_t camera = 0; camera < 2; ++camera) {
    EXPECT_EQ(ocellus_group_next_engine(group, camera), camera);
    ASSERT_EQ(submit(), OCELLUS_OK);
    ASSERT_EQ(ocellus_operator_wait(made_.op, ticket_, OCELLUS_NEVER, nullptr, &error_),
              OCELLUS_OK);
    expected = memory_;
    memory_.assign(memory_.size(), 0x11);
    ASSERT_EQ(ocellus_group_submit(group, camera, &frame_, planes_.data(), planes_.size(), nullptr,
                                   &error_),
              OCELLUS_OK);
    ocellus_frame_info done{};
    std::int32_t engine = -1;
    ASSERT_EQ(ocellus_group_wait(group, camera, OCELLUS_NEVER, &done, &engine, &error_),
              OCELLUS_OK);
    EXPECT_EQ(engine, camera);
    EXPECT_EQ(memory_, expected);
    ASSERT_EQ(ocellus_operator_reset(made_.op, &error_), OCELLUS_OK);
  }
  expect(ocellus_group_save_model(group, 0, "x", &error_), OCELLUS_UNSUPPORTED,
         "flow does not learn, so there is nothing to save or to take over");
  ocellus_group_stop(group);
  EXPECT_EQ(
      ocellus_group_submit(group, 0, &frame_, planes_.data(), planes_.size(), nullptr, &error_),
      OCELLUS_STOPPED);
  EXPECT_EQ(ocellus_group_reset(group, &error_), OCELLUS_OK);
  ocellus_group_destroy(group);
}

// Fails when a field that is not there is read.
TEST_F(COperator, Fields) {
  ocellus_field_info field{};
  expect(ocellus_operator_get_field(made_.op, 0, &field, &error_), OCELLUS_INVALID_ARGUMENT,
         "there is no field 0; the record of flow has 0 fields");
  make({}, "digits");
  std::vector<std::uint64_t> record(kMaxRecordBytes / 8);
  double value = -1;
  const auto read = [&](const char* name, std::size_t index) {
    return ocellus_operator_read_field(made_.op, record.data(), name, index, &value, &error_);
  };
  EXPECT_EQ(read("count", 0), OCELLUS_OK);
  EXPECT_EQ(value, 0.0);
  expect(read("count", 1), OCELLUS_INVALID_ARGUMENT, "index is 1; the field count has 1 values");
  expect(read("counts", 0), OCELLUS_INVALID_ARGUMENT,
         std::string("the record of ") + made_.info.name + " has no field \"counts\"");
}

// Fails when C gets another text or other names than C++, when a text is written behind its memory,
// or when a part is read that is not there.
TEST_F(COperator, Text) {
  EXPECT_EQ(made_.info.classes, 0);
  EXPECT_STREQ(ocellus_operator_class_name(made_.op, 0), "");
  make({{"fields", "0,0,16,16;16,0,16,16"}}, "digits");
  EXPECT_EQ(made_.info.classes, 10);
  EXPECT_EQ(made_.info.text_parts, 2);
  EXPECT_STREQ(ocellus_operator_class_name(made_.op, 7), "7");
  EXPECT_STREQ(ocellus_operator_class_name(made_.op, 10), "");
  EXPECT_STREQ(ocellus_operator_class_name(made_.op, -1), "");
  NeocognitronRecord record;
  record.count = 3;
  record.label = {3, 4, 5};
  record.field = {0, 1, 1};
  char text[8] = "-------";
  std::size_t length = 0;
  const auto write = [&](std::int32_t part, std::size_t capacity) {
    return ocellus_operator_write_text(made_.op, &record, part, text, capacity, &length, &error_);
  };
  EXPECT_EQ(write(-1, sizeof(text)), OCELLUS_OK);
  EXPECT_STREQ(text, "3\n45");
  EXPECT_EQ(length, 4u);
  EXPECT_EQ(write(1, 2), OCELLUS_OK);
  EXPECT_STREQ(text, "4");
  EXPECT_EQ(length, 2u);
  EXPECT_EQ(text[2], '4') << "behind the memory";
  expect(write(2, 2), OCELLUS_INVALID_ARGUMENT,
         std::string("part is 2; the text of ") + made_.info.name +
             " has 2 parts, and -1 is all of them");
}

// Fails when learning operators cannot save or hand over what they have learned, or when others
// seem to.
TEST_F(COperator, Learning) {
  expect(ocellus_operator_save_model(made_.op, "model.ocellus", &error_), OCELLUS_UNSUPPORTED,
         std::string(made_.info.name) +
             " does not learn, so there is nothing to save or to take over");
  make({{"learn", "true"}}, "cortex");
  const std::string path = testing::TempDir() + "/c_interface.ocellus";
  ASSERT_EQ(submit(), OCELLUS_OK) << error_.text;
  ASSERT_EQ(ocellus_operator_wait(made_.op, ticket_, OCELLUS_NEVER, nullptr, &error_), OCELLUS_OK);
  ASSERT_EQ(ocellus_operator_save_model(made_.op, path.c_str(), &error_), OCELLUS_OK)
      << error_.text;
  driver other{};
  const std::vector<ocellus_option> options{{"model", path.c_str()}, {"learn", "true"}};
  const ocellus_operator_config config = c_config("cortex", options);
  ASSERT_EQ(driver_create(&other, &config, &error_), OCELLUS_OK) << error_.text;
  EXPECT_EQ(ocellus_operator_take_learned(other.op, made_.op, &error_), OCELLUS_OK) << error_.text;
  driver_destroy(&other);
  std::remove(path.c_str());
  test::expect_file_targets(
      {"ocellus_operator_save_model", ".ocellus", [&](const std::string& target) -> std::string {
         const auto saved = ocellus_operator_save_model(made_.op, target.c_str(), &error_);
         return saved == OCELLUS_OK ? "" : error_.text;
       }});
}

// Fails when a call after creation allocates or frees memory.
// Promises: RT-001.
TEST_F(COperator, AllocatesOnlyAtCreation) {
  if (!test::interposer_present()) GTEST_SKIP() << "a sanitizer has its own allocator";
  make({}, "digits");
  std::vector<std::uint64_t> record(kMaxRecordBytes / 8);
  int failed = 0;
  const auto one = [&] {
    ocellus_operator_info info;
    ocellus_field_info field;
    ocellus_frame_info frame;
    ocellus_stats stats;
    double value = 0.0;
    failed += ocellus_operator_submit(made_.op, &frame_, planes_.data(), planes_.size(),
                                      record.data(), &ticket_, &error_) != OCELLUS_OK;
    failed +=
        ocellus_operator_wait(made_.op, ticket_, OCELLUS_NEVER, &frame, &error_) != OCELLUS_OK;
    failed +=
        ocellus_operator_wait(made_.op, ticket_, OCELLUS_NEVER, &frame, &error_) == OCELLUS_OK;
    failed += ocellus_operator_get_info(made_.op, &info, &error_) != OCELLUS_OK;
    failed += ocellus_operator_get_field(made_.op, 0, &field, &error_) != OCELLUS_OK;
    failed += ocellus_operator_read_field(made_.op, record.data(), field.name, 0, &value,
                                          &error_) != OCELLUS_OK;
    failed += ocellus_operator_get_stats(made_.op, &stats, &error_) != OCELLUS_OK;
    failed += ocellus_operator_reset(made_.op, &error_) != OCELLUS_OK;
  };
  for (int f = 0; f < 10; ++f) one();
  test::arm_interposer();
  for (int f = 0; f < 200; ++f) one();
  const test::AllocationCounts counts = test::disarm_interposer();
  EXPECT_EQ(counts.allocations, 0u);
  EXPECT_EQ(counts.frees, 0u);
  EXPECT_EQ(failed, 0);
}

// Fails when the engine tells something else in C.
TEST_F(COperator, EngineInfo) {
  ocellus_engine_info info{};
  ASSERT_EQ(ocellus_engine_get_info(made_.engine, &info, &error_), OCELLUS_OK);
  EngineConfig config = test::engine_config(2);
  const ocellus::EngineInfo expected = must(Engine::probe(config));
  EXPECT_STREQ(info.backend, "cpu");
  EXPECT_EQ(info.device, -1);
  EXPECT_EQ(info.workers, expected.workers);
  EXPECT_STREQ(info.device_name, expected.device_name);
  EXPECT_STREQ(info.simd_target, expected.simd_target);
}

}  // namespace
}  // namespace ocellus
