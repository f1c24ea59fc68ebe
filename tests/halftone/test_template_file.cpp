// Template files: they are read as they were written, and every damaged byte is detected.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "cell_library_generated.h"
#include "cell_templates_generated.h"
#include "core/model_file.h"
#include "fuzz/memory_file.h"
#include "halftone/template_file.h"
#include "ocellus/cell_templates.h"
#include "support/files.h"

namespace ocellus {
namespace {

struct CellTemplates {
  std::vector<CellStage> stages;
  std::string note;
};
using Bytes = std::vector<char>;
using Stages = std::array<CellStage, kMaxCellStages>;

class TemplateFile : public testing::Test {
 protected:
  static CellTemplates chain(std::string_view text, std::string note = "") {
    Stages stages;
    const auto count = parse_cell_chain(text, stages);
    EXPECT_TRUE(count) << count.error().text;
    return {{stages.begin(), stages.begin() + *count}, std::move(note)};
  }

  Bytes bytes() const {
    const std::string bytes = test::bytes_of(path_);
    return {bytes.begin(), bytes.end()};
  }
  void write(const Bytes& bytes) const {
    std::ofstream(path_, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  /// Writes the file that the library makes.
  void write_file(const CellTemplates& templates) const {
    detail::CellTemplateFileBytes file;
    const auto made = detail::encode_cell_templates(templates.stages, templates.note, file);
    ASSERT_TRUE(made) << made.error().text;
    write({file.bytes, file.bytes + file.count});
  }
  static Error refused(const CellTemplates& templates) {
    detail::CellTemplateFileBytes file;
    const auto made = detail::encode_cell_templates(templates.stages, templates.note, file);
    return made ? Error{} : made.error();
  }
  /// Writes a file of this table, and of arrays, which a template file must not have.
  void write_table(const flatbuffers::FlatBufferBuilder& table, const Bytes& arrays = {}) const {
    Bytes all(detail::model_arrays_at(table.GetSize()));
    detail::write_model_header(detail::kCellTemplateKind, table.GetBufferPointer(), table.GetSize(),
                               arrays.size(), XXH64(arrays.data(), arrays.size(), 0), all.data());
    all.insert(all.end(), arrays.begin(), arrays.end());
    write(all);
  }
  Error error() const {
    Stages stages;
    const auto info = read_cell_template_file(path_.c_str(), stages);
    return info ? Error{} : info.error();
  }
  /// The error text for a file whose table was changed by `change`.
  std::string error_of(const std::function<void(file::CellTemplatesT&)>& change) const {
    file::CellTemplatesT table;
    auto stage = std::make_unique<file::CellStageT>();
    stage->radius = 1;
    stage->a.assign(9, 0.5f);
    stage->b.assign(9, 0.25f);
    stage->levels = 2;
    stage->xi = 1.0f;
    stage->start = file::CellStart_input;
    stage->max_sweeps = 10;
    table.stages.push_back(std::move(stage));
    change(table);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(file::CellTemplates::Pack(builder, &table));
    write_table(builder);
    const Error wrong = error();
    EXPECT_TRUE(wrong.status == Status::kCorruptFile || wrong.status == Status::kOk);
    return wrong.text;
  }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "x.ocellus";
};

void expect_same(const CellStage& a, const CellStage& b) {
  EXPECT_EQ(a.weights.radius, b.weights.radius);
  EXPECT_EQ(a.weights.a, b.weights.a);
  EXPECT_EQ(a.weights.b, b.weights.b);
  EXPECT_EQ(a.weights.threshold, b.weights.threshold);
  EXPECT_EQ(a.levels, b.levels);
  EXPECT_EQ(a.xi, b.xi);
  EXPECT_EQ(a.input, b.input);
  EXPECT_EQ(a.start, b.start);
  EXPECT_EQ(a.start_value, b.start_value);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.boundary, b.boundary);
  EXPECT_EQ(a.boundary_value, b.boundary_value);
  EXPECT_EQ(a.update, b.update);
  EXPECT_EQ(a.move, b.move);
  EXPECT_EQ(a.color_spacing, b.color_spacing);
  EXPECT_EQ(a.max_sweeps, b.max_sweeps);
  EXPECT_EQ(a.group_stages, b.group_stages);
  EXPECT_EQ(a.max_passes, b.max_passes);
}

// Fails when a field is not written, or is read into a different member.
TEST_F(TemplateFile, KeepsEveryField) {
  CellTemplates file = chain("hlf5 | invhlf3", "made by a test");
  CellStage odd;
  odd.weights.radius = 4;
  for (std::size_t i = 0; i < kMaxTemplateWeights; ++i) {
    odd.weights.a[i] = static_cast<float>(i) / 64.0f;
    odd.weights.a[kMaxTemplateWeights - 1 - i] = odd.weights.a[i];
    odd.weights.b[i] = -static_cast<float>(i);
  }
  odd.weights.threshold = -2.5f;
  odd.xi = 0.125f;
  odd.input = CellInput::kFrame;
  odd.start = CellStart::kNoise;
  odd.start_value = 0.75f;
  odd.seed = 4000000000u;
  odd.boundary = CellBoundary::kPeriodic;
  odd.boundary_value = -0.5f;
  odd.move = CellMove::kSwap;
  odd.color_spacing = 8;
  odd.max_sweeps = 99999;
  odd.max_passes = 77'777;
  file.stages.push_back(odd);
  CellStage many = odd;
  many.levels = 256;
  many.update = CellUpdate::kRaster;
  many.move = CellMove::kUpdate;
  many.start = CellStart::kPrevious;
  many.group_stages = 1;
  file.stages.push_back(many);
  write_file(file);
  Stages stages;
  const auto info = read_cell_template_file(path_.c_str(), stages);
  ASSERT_TRUE(info) << info.error().text;
  ASSERT_EQ(info->stages, 4);
  EXPECT_STREQ(info->note, "made by a test");
  for (std::size_t i = 0; i < 4; ++i) expect_same(stages[i], file.stages[i]);
  Stages linked;
  const auto count = parse_cell_chain("edge | " + path_ + " | edge", linked);
  ASSERT_TRUE(count) << count.error().text;
  ASSERT_EQ(*count, 6);
  for (std::size_t i = 0; i < 4; ++i) expect_same(linked[1 + i], file.stages[i]);
}

// Fails when the largest file exceeds the reader's buffer.
TEST_F(TemplateFile, SixteenLargestStagesFit) {
  CellTemplates file;
  file.note.assign(1000, 'n');
  for (int i = 0; i < kMaxCellStages; ++i) {
    CellStage stage;
    stage.weights.radius = 4;
    stage.weights.b.fill(0.125f);
    file.stages.push_back(stage);
  }
  write_file(file);
  EXPECT_STREQ(error().text, "");
  file.stages.emplace_back();
  EXPECT_STREQ(refused(file).text, "template file: it has 17 stages; it must have 1 to 16");
  EXPECT_STREQ(refused({}).text, "template file: it has 0 stages; it must have 1 to 16");
}

// Fails when a file is made that no reader takes: a value out of range, or a plane.
TEST_F(TemplateFile, IsMadeOnlyOfWhatIsRead) {
  CellTemplates file = chain("erosion | edge");
  file.stages[1].levels = 1;
  EXPECT_STREQ(refused(file).text, "template file: stage 2: levels is 1; it must be 2 to 256");
  file = chain("erosion | edge");
  file.stages[1].weights.radius = 5;
  EXPECT_NE(std::string(refused(file).text).find("stage 2: radius is 5"), std::string::npos);
  const float plane[1] = {};
  file = chain("erosion | edge");
  file.stages[0].threshold_plane = plane;
  EXPECT_NE(std::string(refused(file).text).find("stage 1 has a plane"), std::string::npos);
}

// Fails when a changed byte is not detected, because the reader leaves out a check of the
// container.
// Promises: FILE-003.
TEST_F(TemplateFile, DetectsEveryChangedByte) {
  write_file(chain("hole | edge", "note"));
  const Bytes good = bytes();
  ASSERT_EQ(error().status, Status::kOk);
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char bits : {'\x01', '\x80', '\xff'}) {
      Bytes damaged = good;
      damaged[i] = static_cast<char>(damaged[i] ^ bits);
      const fuzz::MemoryFile file(damaged.data(), damaged.size());
      Stages stages;
      const auto read = read_cell_template_file(file.path().c_str(), stages);
      ASSERT_FALSE(read) << "byte " << i;
      EXPECT_EQ(read.error().status, Status::kCorruptFile);
    }
  }
}

// Fails when a file is refused with a wrong reason, or without one.
TEST_F(TemplateFile, ReportsTheReason) {
  const std::string quoted = "template file \"" + path_ + "\": ";
  const auto expect = [&](const std::string& text) {
    EXPECT_EQ(std::string(error().text).substr(0, quoted.size() + text.size()), quoted + text);
  };
  write_file(chain("edge"));
  const Bytes good = bytes();
  Bytes damaged = good;
  std::memcpy(damaged.data() + 8, "kernels\0", 8);
  write(damaged);
  expect("the file is of the kind \"kernels\"; it must be of the kind \"template\"");
  damaged = good;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  write(damaged);
  expect("damaged (the checksum of its header does not match)");
  write({good.begin(), good.end() - 1});
  expect("truncated: the file has ");
  write({});
  expect("the file has 0 bytes, which is too short");
  flatbuffers::FlatBufferBuilder table;
  table.Finish(file::CreateCellTemplates(table));
  write_table(table, Bytes(64));
  expect("it has 64 bytes of arrays; it must have none");

  Stages stages;
  EXPECT_EQ(read_cell_template_file(nullptr, stages).error().status, Status::kInvalidArgument);
  EXPECT_EQ(read_cell_template_file("", stages).error().status, Status::kInvalidArgument);
  EXPECT_EQ(read_cell_template_file(folder_.path().c_str(), stages).error().status,
            Status::kIoError);
  std::filesystem::remove(path_);
  EXPECT_EQ(error().status, Status::kIoError);
  expect("No such file or directory");
}

// Fails when a value outside its range is accepted from a file with a correct checksum.
TEST_F(TemplateFile, ChecksEveryRange) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const struct {
    const char* words;
    std::function<void(file::CellTemplatesT&)> change;
  } cases[] = {
      {"it has 0 stages; it must have 1 to 16", [](auto& t) { t.stages.clear(); }},
      {"stage 1: radius is 0; it must be 1 to 4", [](auto& t) { t.stages[0]->radius = 0; }},
      {"stage 1: radius is 5; it must be 1 to 4",
       [](auto& t) {
         t.stages[0]->radius = 5;
         t.stages[0]->a.assign(121, 0.0f);
         t.stages[0]->b.assign(121, 0.0f);
       }},
      {"stage 1: a has 8 weights; radius 1 needs 9", [](auto& t) { t.stages[0]->a.pop_back(); }},
      {"stage 1: b has 0 weights; radius 1 needs 9", [](auto& t) { t.stages[0]->b.clear(); }},
      {"nan", [&](auto& t) { t.stages[0]->a[7] = kNan; }},
      {"inf", [](auto& t) { t.stages[0]->b[0] = -std::numeric_limits<float>::infinity(); }},
      {"threshold is nan", [&](auto& t) { t.stages[0]->threshold = kNan; }},
      {"levels is 1; it must be 2 to 256", [](auto& t) { t.stages[0]->levels = 1; }},
      {"levels is 257; it must be 2 to 256", [](auto& t) { t.stages[0]->levels = 257; }},
      {"xi is 0; it must be above 0", [](auto& t) { t.stages[0]->xi = 0.0f; }},
      {"xi is nan", [&](auto& t) { t.stages[0]->xi = kNan; }},
      {"input is 2", [](auto& t) { t.stages[0]->input = static_cast<file::CellInput>(2); }},
      {"start is 7", [](auto& t) { t.stages[0]->start = static_cast<file::CellStart>(7); }},
      {"start is plane, which a file cannot hold",
       [](auto& t) { t.stages[0]->start = file::CellStart_plane; }},
      {"start_value is 1.5; it must be -1 to 1",
       [](auto& t) {
         t.stages[0]->start = file::CellStart_constant;
         t.stages[0]->start_value = 1.5f;
       }},
      {"boundary is 3",
       [](auto& t) { t.stages[0]->boundary = static_cast<file::CellBoundary>(3); }},
      {"boundary_value is -2; it must be -1 to 1",
       [](auto& t) { t.stages[0]->boundary_value = -2.0f; }},
      // This stage does not use the value, but it is converted to fixed point, too.
      {"start_value is nan; it must be -1 to 1",
       [](auto& t) { t.stages[0]->start_value = std::numeric_limits<float>::quiet_NaN(); }},
      {"start_value is -inf; it must be -1 to 1",
       [](auto& t) { t.stages[0]->start_value = -std::numeric_limits<float>::infinity(); }},
      {"boundary_value is nan; it must be -1 to 1",
       [](auto& t) {
         t.stages[0]->boundary = file::CellBoundary_periodic;
         t.stages[0]->boundary_value = std::numeric_limits<float>::quiet_NaN();
       }},
      {"boundary_value is 3e+38; it must be -1 to 1",
       [](auto& t) {
         t.stages[0]->boundary = file::CellBoundary_zero_flux;
         t.stages[0]->boundary_value = 3e38f;
       }},
      {"update is 3", [](auto& t) { t.stages[0]->update = static_cast<file::CellUpdate>(3); }},
      {"move is 2", [](auto& t) { t.stages[0]->move = static_cast<file::CellMove>(2); }},
      {"color_spacing is 1; it must be 2 to 9", [](auto& t) { t.stages[0]->color_spacing = 1; }},
      {"max_sweeps is 0; it must be 1 to 100000", [](auto& t) { t.stages[0]->max_sweeps = 0; }},
      {"max_passes is 0; it must be 1 to 100000", [](auto& t) { t.stages[0]->max_passes = 0; }},
      {"group_stages is 2; it must be at most 1", [](auto& t) { t.stages[0]->group_stages = 2; }},
      {"max_sweeps is 1073741824; it must be 1 to 100000",
       [](auto& t) { t.stages[0]->max_sweeps = 4294967295u; }},
  };
  EXPECT_EQ(error_of([](auto&) {}), "") << "the unchanged file must be valid";
  for (const auto& [words, change] : cases) {
    const std::string text = error_of(change);
    EXPECT_NE(text.find(words), std::string::npos)
        << "\"" << words << "\" is not in \"" << text << "\"";
  }
}

// Fails when a note can send escape sequences to a terminal.
TEST_F(TemplateFile, NotesArePrintable) {
  write_file(chain("edge", "a\033[31m\nb"));
  Stages stages;
  const auto info = read_cell_template_file(path_.c_str(), stages);
  ASSERT_TRUE(info);
  EXPECT_STREQ(info->note, "a?[31m?b");
}

// Fails when the library's data have a list of a wrong length, which is copied or read as it is, or
// a mask that misses a rank.
TEST(CellLibrary, ListsHaveTheirLengths) {
  const std::span<const std::uint8_t> bytes = detail::cell_library();
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  ASSERT_TRUE(verifier.VerifyBuffer<file::CellLibrary>());
  const auto& library = *flatbuffers::GetRoot<file::CellLibrary>(bytes.data());
  EXPECT_LE(library.templates()->size(), 64u);
  EXPECT_EQ(library.templates()->size(), cell_templates().size());
  for (const file::LibraryTemplate* const one : *library.templates()) {
    for (const file::CellStage* const stage : *one->stages()) {
      const unsigned side = 2u * static_cast<unsigned>(stage->radius()) + 1u;
      for (const auto* const weights : {stage->a(), stage->b()}) {
        if (weights == nullptr) continue;
        EXPECT_EQ(weights->size(), side * side) << one->name()->str();
      }
    }
  }
  const auto& ranks = *library.blue_noise();
  ASSERT_EQ(ranks.size(), 4096u);
  std::vector<bool> seen(4096, false);
  for (const std::uint16_t rank : ranks) {
    ASSERT_LT(rank, 4096);
    EXPECT_FALSE(seen[rank]) << rank;
    seen[rank] = true;
  }
}

}  // namespace
}  // namespace ocellus
