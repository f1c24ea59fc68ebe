// Kernel bank files: they are read back as written, and damaged files are refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/model_file.h"
#include "fuzz/memory_file.h"
#include "kernel_bank_generated.h"
#include "ocellus/kernel_taps.h"
#include "ocellus/optical_flow.h"
#include "ocellus/spatio_temporal_filter.h"
#include "optical_flow/kernel_bank_file.h"
#include "support/files.h"
#include "support/plane.h"
#include "support/run.h"

namespace ocellus {
namespace {

using detail::KernelBankFile;
using detail::KernelBankHeader;
using detail::KernelBankWriter;
using test::TemporaryFolder;

/// A tap whose value encodes its position, so that a wrong order is detected.
float tap_value(int x, int y, int convolution, int term, int axis, int tap) {
  return static_cast<float>(((((y * 31 + x) * 8 + convolution) * 4 + term) * 3 + axis) * 25 + tap) /
             4096.0f -
         1.0f;
}

void for_each_entry(const KernelBankHeader& shape,
                    const std::function<void(int, int, int, int)>& visit) {
  const ImageSize size = shape.size;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < shape.convolutions; ++c) {
        for (int t = 0; t < shape.terms; ++t) visit(x, y, c, t);
      }
    }
  }
}

std::vector<float> axis_taps(int x, int y, int c, int t, int axis, int n) {
  std::vector<float> taps(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) taps[static_cast<std::size_t>(i)] = tap_value(x, y, c, t, axis, i);
  return taps;
}

/// Taps of wx, which holds a whole full kernel.
int first_taps(const KernelBankHeader& shape) {
  return shape.form == KernelForm::kFull ? shape.nx * shape.ny * shape.nt : shape.nx;
}

void write_bank(const std::string& path, const KernelBankHeader& shape) {
  const auto writer = std::make_unique<KernelBankWriter>();
  test::must(writer->open(path.c_str(), shape));
  for_each_entry(shape, [&](int x, int y, int c, int t) {
    test::must(writer->add(axis_taps(x, y, c, t, 0, first_taps(shape)).data(),
                           axis_taps(x, y, c, t, 1, shape.ny).data(),
                           axis_taps(x, y, c, t, 2, shape.nt).data()));
  });
  test::must(writer->finish());
}

std::vector<char> load(const std::string& path) {
  const std::string bytes = test::bytes_of(path);
  return {bytes.begin(), bytes.end()};
}

void store(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Opens the file and reads it to the end.
Expected<void> read_all(const std::string& path) {
  const auto file = std::make_unique<KernelBankFile>();
  if (auto opened = file->open(path.c_str()); !opened) return opened;
  return file->finish();
}

KernelBankHeader small_per_pixel() {
  return {.form = KernelForm::kPerPixel,
          .nx = 3,
          .ny = 5,
          .nt = 2,
          .convolutions = 3,
          .terms = 2,
          .size = {4, 3},
          .note = "test"};
}

/// Changes the table of a file and corrects checksums and lengths. A faulty writer or an attacker
/// could make such a file, and only the checks of the fields detect it.
void forge(const std::string& path, const std::function<void(file::KernelBankT&)>& change) {
  const std::vector<char> bytes = load(path);
  const auto header =
      detail::parse_model_header(detail::kKernelBankKind, bytes.data(), bytes.size(), bytes.size());
  ASSERT_TRUE(header) << header.error().text;
  const std::unique_ptr<file::KernelBankT> table(
      file::GetKernelBank(bytes.data() + detail::kModelTableAt)->UnPack());
  change(*table);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(file::CreateKernelBank(builder, table.get()));
  const std::vector<char> taps(bytes.begin() + static_cast<std::ptrdiff_t>(header->arrays_at),
                               bytes.end());
  std::vector<char> forged(detail::model_arrays_at(builder.GetSize()));
  detail::write_model_header(detail::kKernelBankKind, builder.GetBufferPointer(), builder.GetSize(),
                             taps.size(), XXH64(taps.data(), taps.size(), 0), forged.data());
  forged.insert(forged.end(), taps.begin(), taps.end());
  store(path, forged);
}

// Fails when reader and writer disagree about the position of a tap. The test covers every form,
// and sizes below, equal to and far above the reader's buffer.
TEST(KernelBankFile, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  std::vector<KernelBankHeader> shapes;
  for (const KernelForm form : {KernelForm::kUniform, KernelForm::kPerPixel, KernelForm::kFull}) {
    for (const int terms : {1, 3, 4}) {
      if (form == KernelForm::kFull && terms > 1) continue;
      for (const int taps : {1, 4, 25}) {
        KernelBankHeader shape{form,  taps,   taps == 25 ? 1 : taps, 2, taps == 4 ? 8 : 3,
                               terms, {1, 1}, "round trip"};
        if (form != KernelForm::kUniform) shape.size = {31, 7};
        shapes.push_back(shape);
      }
    }
  }
  for (const KernelBankHeader& shape : shapes) {
    const std::string path = folder / "bank.ocellus";
    write_bank(path, shape);
    const auto file = std::make_unique<KernelBankFile>();
    const auto opened = file->open(path.c_str());
    ASSERT_TRUE(opened) << opened.error().text;
    EXPECT_EQ(file->header().form, shape.form);
    EXPECT_EQ(file->header().size, shape.size);
    EXPECT_STREQ(file->header().note, "round trip");
    EXPECT_EQ((std::filesystem::file_size(path) - file->header().tap_bytes()) % 64, 0u);
    std::vector<float> wx(static_cast<std::size_t>(first_taps(shape)));
    std::vector<float> wy(static_cast<std::size_t>(shape.ny));
    std::vector<float> wt(static_cast<std::size_t>(shape.nt));
    EXPECT_EQ(file->header().entry_floats(),
              shape.form == KernelForm::kFull ? first_taps(shape) : shape.nx + shape.ny + shape.nt);
    for_each_entry(shape, [&](int x, int y, int c, int t) {
      const auto read = file->next(wx.data(), wy.data(), wt.data());
      ASSERT_TRUE(read) << read.error().text;
      ASSERT_EQ(wx, axis_taps(x, y, c, t, 0, first_taps(shape)))
          << x << ' ' << y << ' ' << c << ' ' << t;
      if (shape.form == KernelForm::kFull) return;
      ASSERT_EQ(wy, axis_taps(x, y, c, t, 1, shape.ny));
      ASSERT_EQ(wt, axis_taps(x, y, c, t, 2, shape.nt));
    });
    const auto beyond = file->next(wx.data(), wy.data(), wt.data());
    ASSERT_FALSE(beyond);
    EXPECT_EQ(beyond.error().status, Status::kInvalidArgument);
    EXPECT_TRUE(file->finish());
  }
}

// Fails when a file with a single flipped bit is accepted, because the reader leaves out a check of
// the container or does not read all taps.
// Promises: FILE-003.
TEST(KernelBankFile, RefusesEveryFlippedBit) {
  const TemporaryFolder folder;
  const std::string path = folder / "bank.ocellus";
  KernelBankHeader shape = small_per_pixel();
  shape.size = {2, 1};
  write_bank(path, shape);
  std::vector<char> bytes = load(path);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
      const auto read = read_all(fuzz::MemoryFile(bytes.data(), bytes.size()).path());
      ASSERT_FALSE(read) << "bit " << bit << " of byte " << i << " was flipped and accepted";
      EXPECT_EQ(read.error().status, Status::kCorruptFile) << read.error().text;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
    }
  }
}

// Fails when a table with a correct checksum is trusted although a value is out of range or
// contradicts another. Also fails when the message does not name the field.
TEST(KernelBankFile, RefusesForgedTables) {
  struct Case {
    const char* words;
    std::function<void(file::KernelBankT&)> change;
  };
  const Case cases[] = {
      {"form is 3", [](file::KernelBankT& t) { t.form = static_cast<file::KernelBankForm>(3); }},
      {"terms is 2; it must be 1 to 1",
       [](file::KernelBankT& t) { t.form = file::KernelBankForm_Full; }},
      {"nx is 0", [](file::KernelBankT& t) { t.nx = 0; }},
      {"nx is 26", [](file::KernelBankT& t) { t.nx = 26; }},
      {"ny is 255", [](file::KernelBankT& t) { t.ny = 255; }},
      {"nt is 0", [](file::KernelBankT& t) { t.nt = 0; }},
      {"convolutions is 9", [](file::KernelBankT& t) { t.convolutions = 9; }},
      {"terms is 5", [](file::KernelBankT& t) { t.terms = 5; }},
      {"width is 0", [](file::KernelBankT& t) { t.width = 0; }},
      {"width is 16385", [](file::KernelBankT& t) { t.width = 16385; }},
      {"height is 4294967295", [](file::KernelBankT& t) { t.height = 0xffffffffu; }},
      {"width is 4; it must be 0 to 0",
       [](file::KernelBankT& t) { t.form = file::KernelBankForm_Uniform; }},
      {"there are 2880 bytes of taps; the sizes give 3168", [](file::KernelBankT& t) { t.nx = 4; }},
      {"the sizes give 5760", [](file::KernelBankT& t) { t.height *= 2; }},
      {"the sizes give 1920", [](file::KernelBankT& t) { t.height -= 1; }},
      // 12 x 2^28 bytes x 10 x 6 exceed 32 bits.
      {"the sizes give 64424509440", [](file::KernelBankT& t) { t.width = t.height = 16384; }},
      {"the table has 5", [](file::KernelBankT& t) { t.note.assign(5000, 'n'); }},
  };
  const TemporaryFolder folder;
  const std::string path = folder / "bank.ocellus";
  for (const Case& c : cases) {
    write_bank(path, small_per_pixel());
    forge(path, c.change);
    const auto read = read_all(path);
    ASSERT_FALSE(read) << c.words;
    EXPECT_EQ(read.error().status, Status::kCorruptFile);
    EXPECT_NE(std::string(read.error().text).find(c.words), std::string::npos)
        << read.error().text << " / " << c.words;
  }
  // forge() without a change must give a valid file. Otherwise the errors above could have other
  // causes.
  write_bank(path, small_per_pixel());
  forge(path, [](file::KernelBankT&) {});
  EXPECT_TRUE(read_all(path));
}

// Fails when a file of another kind is accepted, or is reported as damaged.
TEST(KernelBankFile, RefusesFilesOfAnotherKind) {
  const TemporaryFolder folder;
  const std::string path = folder / "bank.ocellus";
  write_bank(path, small_per_pixel());
  std::vector<char> bytes = load(path);
  std::memcpy(bytes.data() + 8, "template", 8);
  store(path, bytes);
  const auto read = read_all(path);
  ASSERT_FALSE(read);
  EXPECT_STREQ(read.error().text,
               "kernel bank: the file is of the kind \"template\"; it must be of the kind "
               "\"kernels\"");
}

// Fails when an invalid tap is accepted in a file with a correct checksum, or is reported at a
// wrong position.
TEST(KernelBankFile, ReportsBadTaps) {
  const TemporaryFolder folder;
  const std::string path = folder / "bank.ocellus";
  const KernelBankHeader shape = small_per_pixel();
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -2.0e6f}) {
    write_bank(path, shape);
    std::vector<char> bytes = load(path);
    const std::size_t entry = 3 + 5 + 2;
    const std::size_t taps_at = bytes.size() - 4u * 3u * 6u * entry * sizeof(float);
    // Pixel (1, 2), convolution 2, term 1, wy[3].
    const std::size_t index = (((2 * 4 + 1) * 3 + 2) * 2 + 1) * entry + 3 + 3;
    std::memcpy(bytes.data() + taps_at + index * sizeof(float), &bad, sizeof(float));
    store(path, bytes);
    forge(path, [](file::KernelBankT&) {});
    const auto read = read_all(path);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().status, Status::kCorruptFile);
    EXPECT_NE(std::string(read.error().text).find("wy[3] of pixel (1, 2), convolution 2, term 1"),
              std::string::npos)
        << read.error().text;
  }
}

// Fails when taps are returned after a damaged one, because their positions would be wrong.
TEST(KernelBankFile, ReturnsNothingAfterADamagedTap) {
  const TemporaryFolder folder;
  const std::string path = folder / "bank.ocellus";
  KernelBankHeader shape = small_per_pixel();
  shape.size = {64, 64};  // many times the size of the reader's buffer
  write_bank(path, shape);
  std::vector<char> bytes = load(path);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes.data() + bytes.size() / 2 / 4 * 4, &nan, sizeof(nan));
  store(path, bytes);
  const auto file = std::make_unique<KernelBankFile>();
  ASSERT_TRUE(file->open(path.c_str()));
  float wx[3], wy[5], wt[2];
  while (file->next(wx, wy, wt)) {
  }
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(file->next(wx, wy, wt));
  EXPECT_FALSE(file->finish());
}

// Fails when an unreadable path is reported without its name, or an empty path is opened.
TEST(KernelBankFile, ReportsPathsThatCannotBeRead) {
  const TemporaryFolder folder;
  const std::string absent = folder / "absent.ocellus";
  for (const char* path : {absent.c_str(), static_cast<const char*>(nullptr), ""}) {
    const auto file = std::make_unique<KernelBankFile>();
    const auto opened = file->open(path);
    ASSERT_FALSE(opened);
    const bool is_absent = path == absent.c_str();
    EXPECT_EQ(opened.error().status, is_absent ? Status::kIoError : Status::kInvalidArgument);
    EXPECT_NE(std::string(opened.error().text).find(is_absent ? path : "kernels.path is empty"),
              std::string::npos)
        << opened.error().text;
  }
}

// Fails when a file that becomes shorter during reading ends the program, or is accepted.
TEST(KernelBankFile, SurvivesAFileThatShrinks) {
  const TemporaryFolder folder;
  const std::string path = folder / "bank.ocellus";
  KernelBankHeader shape = small_per_pixel();
  shape.size = {64, 64};
  write_bank(path, shape);
  const auto file = std::make_unique<KernelBankFile>();
  ASSERT_TRUE(file->open(path.c_str()));
  float wx[3], wy[5], wt[2];
  ASSERT_TRUE(file->next(wx, wy, wt));
  ASSERT_EQ(truncate(path.c_str(), 1024), 0);
  const auto read = file->finish();
  ASSERT_FALSE(read);
  EXPECT_NE(std::string(read.error().text).find("became shorter"), std::string::npos)
      << read.error().text;
}

// Fails when a bank is accepted for a configuration that it does not fit, or when the message names
// the wrong field.
TEST(KernelBankFile, MatchesOnlyItsOwnConfiguration) {
  const TemporaryFolder folder;
  const std::string path = folder / "bank.ocellus";
  write_bank(path, small_per_pixel());
  const auto file = std::make_unique<KernelBankFile>();
  ASSERT_TRUE(file->open(path.c_str()));
  const auto info = read_kernel_file_info(path.c_str());
  ASSERT_TRUE(info) << info.error().text;
  EXPECT_EQ(info->kernels.origin, KernelOrigin::kFile);
  EXPECT_EQ(info->size, (ImageSize{4, 3}));
  EXPECT_STREQ(info->note, "test");
  EXPECT_TRUE(file->match(info->kernels, info->size));

  const auto expect = [&](const char* words,
                          const std::function<void(KernelConfig&, ImageSize&)>& change) {
    KernelConfig config = info->kernels;
    ImageSize size = info->size;
    change(config, size);
    const auto matched = file->match(config, size);
    ASSERT_FALSE(matched) << words;
    EXPECT_EQ(matched.error().status, Status::kInvalidArgument);
    EXPECT_NE(std::string(matched.error().text).find(words), std::string::npos)
        << matched.error().text;
  };
  expect("kernels.form is uniform",
         [](KernelConfig& k, ImageSize&) { k.form = KernelForm::kUniform; });
  expect("kernels.nx is 4, but the kernel bank file has 3",
         [](KernelConfig& k, ImageSize&) { k.nx = 4; });
  expect("kernels.ny is 1", [](KernelConfig& k, ImageSize&) { k.ny = 1; });
  expect("kernels.nt is 20", [](KernelConfig& k, ImageSize&) { k.nt = 20; });
  expect("kernels.convolutions is 8", [](KernelConfig& k, ImageSize&) { k.convolutions = 8; });
  expect("kernels.terms is 1", [](KernelConfig& k, ImageSize&) { k.terms = 1; });
  expect("images of 4x3, the operator's size is 3x4", [](KernelConfig&, ImageSize& s) {
    s = {3, 4};
  });
}

/// Writes the kernels that the library would use to a file.
void write_bank_of(const std::string& path, const KernelConfig& kernels, ImageSize size) {
  const bool per_pixel = kernels.form != KernelForm::kUniform;
  const auto writer = std::make_unique<KernelBankWriter>();
  test::must(writer->open(path.c_str(),
                          {kernels.form, kernels.nx, kernels.ny, kernels.nt, kernels.convolutions,
                           kernels.terms, per_pixel ? size : ImageSize{1, 1}, "copy"}));
  const auto visited = visit_kernels(
      kernels, size,
      [](void* user, int, int, int, int, const float* wx, const float* wy, const float* wt) {
        return static_cast<KernelBankWriter*>(user)->add(wx, wy, wt).has_value();
      },
      writer.get());
  ASSERT_TRUE(visited) << visited.error().text;
  test::must(writer->finish());
}

std::vector<float> filter_noise(const KernelConfig& kernels, ImageSize size) {
  SpatioTemporalFilterConfig config;
  config.size = size;
  config.kernels = kernels;
  EngineConfig engine_config;
  engine_config.backend.choice = BackendChoice::kCpu;
  const auto info = Engine::probe(engine_config);
  const auto footprint = SpatioTemporalFilter::footprint(*info, config);
  if (!footprint) return {};
  engine_config.memory = *footprint;
  auto engine = Engine::create(engine_config);
  auto filter = SpatioTemporalFilter::create(*engine, config);
  if (!filter) {
    ADD_FAILURE() << filter.error().text;
    return {};
  }
  const auto pixels = static_cast<std::size_t>(size.width * size.height);
  std::vector<float> out(pixels * 3);
  std::vector<std::uint8_t> image(pixels);
  std::uint32_t state = 1;
  for (int frame = 0; frame < 8; ++frame) {
    for (std::uint8_t& pixel : image)
      pixel = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
    OperatorOutput view;
    for (std::size_t c = 0; c < 3; ++c) {
      view.planes[c] = test::float_plane(out.data() + c * pixels, size,
                                         size.width * static_cast<std::ptrdiff_t>(sizeof(float)));
    }
    Frame in;
    in.data = image.data();
    in.size = size;
    in.stride = size.width;
    const auto ticket = filter->submit(in, view);
    EXPECT_TRUE(ticket);
    EXPECT_TRUE(filter->wait(*ticket, Deadline::never()));
  }
  return out;
}

// Fails when an operator gives different results with a file than with the kernels in it.
TEST(KernelBankFile, GivesTheSameResultsAsItsKernels) {
  const TemporaryFolder folder;
  const std::string path = folder / "bank.ocellus";
  const ImageSize size{37, 19};
  for (const KernelForm form : {KernelForm::kUniform, KernelForm::kPerPixel, KernelForm::kFull}) {
    KernelConfig made;
    made.form = form;
    made.origin = form == KernelForm::kUniform ? KernelOrigin::kGaussian : KernelOrigin::kFoveated;
    made.nx = 7;
    made.ny = 5;
    made.nt = 4;
    made.fovea_radius = 10.0f;
    write_bank_of(path, made, size);
    auto info = read_kernel_file_info(path.c_str());
    ASSERT_TRUE(info) << info.error().text;
    EXPECT_TRUE(info->kernels.path.assign(path));
    const std::vector<float> expected = filter_noise(made, size);
    ASSERT_FALSE(expected.empty());
    EXPECT_EQ(filter_noise(info->kernels, size), expected);
  }
}

// Fails when `create` accepts a bank that is damaged or made for another image, or refuses it
// without the reason.
TEST(KernelBankFile, IsCheckedByCreate) {
  const TemporaryFolder folder;
  const std::string path = folder / "bank.ocellus";
  const ImageSize size{37, 19};
  KernelConfig made;
  made.form = KernelForm::kPerPixel;
  made.origin = KernelOrigin::kFoveated;
  write_bank_of(path, made, size);
  const auto info = read_kernel_file_info(path.c_str());
  ASSERT_TRUE(info);

  const auto create = [&](ImageSize image) -> Expected<void> {
    OpticalFlowConfig config = OpticalFlowConfig::with_kernels(image);
    config.kernels = info->kernels;
    EXPECT_TRUE(config.kernels.path.assign(path));
    EngineConfig engine_config;
    engine_config.backend.choice = BackendChoice::kCpu;
    engine_config.memory = *OpticalFlow::footprint(*Engine::probe(engine_config), config);
    auto engine = Engine::create(engine_config);
    const auto flow = OpticalFlow::create(*engine, config);
    if (!flow) {
      EXPECT_EQ(engine->memory_use().used.host, 0u) << "a failed creation must release its memory";
      return tl::unexpected(flow.error());
    }
    return {};
  };
  EXPECT_TRUE(create(size));
  const auto other_size = create({38, 19});
  ASSERT_FALSE(other_size);
  EXPECT_EQ(other_size.error().status, Status::kInvalidArgument);
  EXPECT_NE(std::string(other_size.error().text).find("images of 37x19"), std::string::npos)
      << other_size.error().text;

  std::vector<char> bytes = load(path);
  const std::size_t last = bytes.size() - 1;
  bytes[last - 3] = static_cast<char>(bytes[last - 3] ^ 1);  // the lowest bit of the last tap
  store(path, bytes);
  const auto damaged = create(size);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().status, Status::kCorruptFile);
  EXPECT_NE(std::string(damaged.error().text).find("checksum"), std::string::npos)
      << damaged.error().text;

  bytes.pop_back();
  store(path, bytes);
  const auto truncated = create(size);
  ASSERT_FALSE(truncated);
  EXPECT_EQ(truncated.error().status, Status::kCorruptFile);
  EXPECT_NE(std::string(truncated.error().text).find("truncated"), std::string::npos)
      << truncated.error().text;

  std::filesystem::remove(path);
  const auto absent = create(size);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().status, Status::kIoError);
}

// Fails when the writer accepts too few, too many or invalid taps, or leaves half a file.
// Promises: FILE-001.
TEST(KernelBankWriter, LeavesNoPartialFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "bank.ocellus";
  const KernelBankHeader bank{KernelForm::kUniform, 1, 1, 1, 2, 1, {1, 1}, ""};
  const float one = 1.0f;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto refuses = [](const Expected<void>& done, Status status, const char* says) {
    ASSERT_FALSE(done) << "not refused: " << says;
    EXPECT_EQ(done.error().status, status);
    EXPECT_NE(std::string(done.error().text).find(says), std::string::npos) << done.error().text;
  };
  {
    const auto writer = std::make_unique<KernelBankWriter>();
    test::must(writer->open(path.c_str(), bank));
    test::must(writer->add(&one, &one, &one));
    refuses(writer->finish(), Status::kInvalidArgument, "the taps of 1 kernels are missing, of 2");
    refuses(writer->add(&one, &nan, &one), Status::kInvalidArgument, "wy[0] of kernel 1 is nan");
    test::must(writer->add(&one, &one, &one));
    refuses(writer->add(&one, &one, &one), Status::kInvalidArgument, "there are more taps");
  }
  EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(path).parent_path()));
  const auto opened = [](const std::string& to, const KernelBankHeader& what) {
    return std::make_unique<KernelBankWriter>()->open(to.c_str(), what);
  };
  refuses(opened(folder / "no/such/folder.ocellus", bank), Status::kIoError, "no/such");
  KernelBankHeader wrong = bank;
  wrong.nt = 26;
  refuses(opened(path, wrong), Status::kInvalidArgument, "nt is 26; it must be 1 to 25");
  wrong = bank;
  wrong.nx = 1000;  // more than the table's field holds
  refuses(opened(path, wrong), Status::kInvalidArgument, "nx is 1000; it must be 1 to 25");
  wrong = {KernelForm::kFull, 1, 1, 1, 2, 2, {1, 1}, ""};
  refuses(opened(path, wrong), Status::kInvalidArgument, "terms is 2; it must be 1 to 1");
  wrong = bank;
  wrong.size = {2, 2};
  refuses(opened(path, wrong), Status::kInvalidArgument, "width is 2; it must be 0 to 0");
}

}  // namespace
}  // namespace ocellus
