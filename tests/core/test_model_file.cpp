// The container of model files: files are read back as written, and damaged files are refused.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "core/model_file.h"
#include "fuzz/memory_file.h"
#include "model_table_generated.h"
#include "support/files.h"

namespace ocellus {
namespace {

using detail::ModelFile;
using detail::ModelHeader;
using detail::ModelKind;
using test::TemporaryFolder;
using Bytes = std::vector<unsigned char>;

constexpr ModelKind kKind{"numbers", "number file", 3, 448};
constexpr std::size_t kCapacity = detail::model_arrays_at(kKind.max_table_bytes);
constexpr std::uint32_t kNumber = 20481536;

template <typename T>
void put(Bytes& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

template <typename T>
T get(const Bytes& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

std::uint64_t hash_of(const Bytes& bytes) {
  return XXH64(bytes.data(), bytes.size(), 0);
}

/// Corrects the header's checksum. It is computed here from the documented layout, so that the test
/// does not repeat a mistake of the library.
void seal(Bytes& bytes) {
  const std::size_t arrays_at = (64 + std::size_t{get<std::uint32_t>(bytes, 20)} + 63) / 64 * 64;
  Bytes hashed(bytes.begin(), bytes.begin() + 40);
  hashed.insert(hashed.end(), bytes.begin() + 48,
                bytes.begin() + static_cast<std::ptrdiff_t>(std::min(arrays_at, bytes.size())));
  put(bytes, 40, hash_of(hashed));
}

Bytes table(const std::string& text) {
  flatbuffers::FlatBufferBuilder builder;
  const auto string = builder.CreateString(text);
  builder.Finish(test::CreateModelTable(builder, kNumber, string));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

/// A table of exactly `size` bytes, which must be a multiple of 4.
Bytes table_of_size(std::size_t size) {
  return table(std::string(size - table("").size(), 'x'));
}

Bytes model(const Bytes& table, const Bytes& arrays) {
  const auto length = static_cast<std::uint32_t>(table.size());
  Bytes bytes(detail::model_arrays_at(length));
  detail::write_model_header(kKind, table.data(), length, arrays.size(), hash_of(arrays),
                             bytes.data());
  bytes.insert(bytes.end(), arrays.begin(), arrays.end());
  return bytes;
}

Bytes some_arrays() {
  Bytes arrays(150);
  for (std::size_t i = 0; i < arrays.size(); ++i) arrays[i] = static_cast<unsigned char>(3 * i + 1);
  return arrays;
}

class ModelFileTest : public testing::Test {
 protected:
  void store(const Bytes& bytes) const {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  /// Reads the whole file. Returns an Error of kOk on success.
  static Error read(const Bytes& bytes) {
    const fuzz::MemoryFile stored(bytes.data(), bytes.size());
    ModelFile file;
    if (const auto opened = file.open(kKind, stored.path().c_str()); !opened) return opened.error();
    alignas(64) unsigned char buffer[kCapacity];
    const auto header = file.header(buffer, sizeof(buffer));
    if (!header) return header.error();
    const auto table = detail::model_table<test::ModelTable>(kKind, buffer, *header);
    if (!table) return table.error();
    EXPECT_EQ((*table)->number(), kNumber);
    unsigned char piece[64];
    while (file.left() != 0) {
      const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(file.left(), 64));
      if (const auto got = file.read(piece, length); !got) return got.error();
    }
    return {};
  }

  /// The error text for `good_` after `change`. If `sealed`, the checksum is corrected.
  std::string error_of(bool sealed, const std::function<void(Bytes&)>& change) const {
    Bytes bytes = good_;
    change(bytes);
    if (sealed) seal(bytes);
    const Error error = read(bytes);
    EXPECT_EQ(error.status, Status::kCorruptFile) << error.text;
    return error.text;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "x.ocellus";
  const Bytes good_ = model(table("text"), some_arrays());
};

// Fails when a field of the header has a different offset than documented, or when a checksum
// covers different bytes. Then files of other versions of the library would be refused.
TEST_F(ModelFileTest, HasTheDocumentedLayout) {
  const Bytes contents = table("text");
  const Bytes arrays = some_arrays();
  EXPECT_EQ(std::memcmp(good_.data(), "\x89OCELLUS", 8), 0);
  EXPECT_EQ(std::memcmp(good_.data() + 8, "numbers\0", 8), 0);
  EXPECT_EQ(get<std::uint16_t>(good_, 16), 1);
  EXPECT_EQ(get<std::uint16_t>(good_, 18), 3);
  EXPECT_EQ(get<std::uint32_t>(good_, 20), contents.size());
  EXPECT_EQ(get<std::uint64_t>(good_, 24), arrays.size());
  EXPECT_EQ(get<std::uint64_t>(good_, 32), hash_of(arrays));
  Bytes sealed = good_;
  seal(sealed);
  EXPECT_EQ(good_, sealed);
  EXPECT_EQ(Bytes(good_.begin() + 48, good_.begin() + 64), Bytes(16));
  const auto table_end = good_.begin() + 64 + static_cast<std::ptrdiff_t>(contents.size());
  EXPECT_EQ(Bytes(good_.begin() + 64, table_end), contents);
  const auto arrays_begin = good_.end() - static_cast<std::ptrdiff_t>(arrays.size());
  EXPECT_EQ((arrays_begin - good_.begin()) % 64, 0);
  EXPECT_LT(arrays_begin - table_end, 64);
  EXPECT_EQ(Bytes(table_end, arrays_begin),
            Bytes(static_cast<std::size_t>(arrays_begin - table_end)));
  EXPECT_EQ(Bytes(arrays_begin, good_.end()), arrays);
  EXPECT_EQ(model(contents, {}).size() % 64, 0u);
}

// Fails when a name of 8 characters, the maximum, is cut off or written beyond its field.
TEST_F(ModelFileTest, KindsHaveUpToEightCharacters) {
  constexpr ModelKind kLongest{"eightlet", "long name", 1, 448};
  const Bytes contents = table("");
  const auto length = static_cast<std::uint32_t>(contents.size());
  Bytes bytes(detail::model_arrays_at(length));
  detail::write_model_header(kLongest, contents.data(), length, 0, hash_of({}), bytes.data());
  EXPECT_EQ(std::memcmp(bytes.data() + 8, "eightlet\x01\0", 10), 0);
  const auto taken = detail::parse_model_header(kLongest, bytes.data(), bytes.size(), bytes.size());
  EXPECT_TRUE(taken) << taken.error().text;
}

// Fails when the table or a byte of the arrays is read from a different place than it was written
// to. The tables go up to the maximum length, with and without arrays.
TEST_F(ModelFileTest, ReadsBackWhatWasWritten) {
  const std::size_t shortest = table("").size();
  for (std::size_t size = shortest; size <= kKind.max_table_bytes; size += 4) {
    for (const std::size_t count : {0u, 1u, 64u, 1000u}) {
      Bytes arrays(count);
      for (std::size_t i = 0; i < count; ++i) arrays[i] = static_cast<unsigned char>(i * i + size);
      const Bytes contents = table_of_size(size);
      ASSERT_EQ(contents.size(), size);
      const Bytes bytes = model(contents, arrays);
      const fuzz::MemoryFile stored(bytes.data(), bytes.size());
      ModelFile file;
      ASSERT_TRUE(file.open(kKind, stored.path().c_str()));
      alignas(64) unsigned char buffer[kCapacity];
      const auto header = file.header(buffer, sizeof(buffer));
      ASSERT_TRUE(header) << header.error().text;
      EXPECT_EQ(header->table_bytes, size);
      EXPECT_EQ(header->arrays_at % 64, 0u);
      EXPECT_EQ(header->array_bytes, count);
      EXPECT_EQ(header->array_hash, hash_of(arrays));
      const auto read = detail::model_table<test::ModelTable>(kKind, buffer, *header);
      ASSERT_TRUE(read) << read.error().text;
      EXPECT_EQ((*read)->number(), kNumber);
      EXPECT_EQ((*read)->text()->str(), std::string(size - shortest, 'x'));
      Bytes back(count);
      for (std::size_t at = 0; at < count;) {
        ASSERT_EQ(file.left(), count - at);
        const std::size_t piece = std::min<std::size_t>(count - at, 37);
        const auto got = file.read(back.data() + at, piece);
        ASSERT_TRUE(got) << got.error().text;
        at += piece;
      }
      EXPECT_EQ(back, arrays);
      EXPECT_EQ(file.left(), 0u);
    }
  }
}

// Fails when damaged arrays pass, when a good file does not, or when reading does not begin at the
// first array afterwards.
TEST_F(ModelFileTest, VerifiesArraysBeforeTheyAreRead) {
  Bytes arrays(100'000);
  for (std::size_t i = 0; i < arrays.size(); ++i) arrays[i] = static_cast<unsigned char>(i * i);
  const Bytes good = model(table("text"), arrays);
  for (const bool damaged : {false, true}) {
    Bytes bytes = good;
    if (damaged) bytes.back() ^= 1;
    store(bytes);
    ModelFile file;
    ASSERT_TRUE(file.open(kKind, path_.c_str()));
    alignas(64) unsigned char buffer[kCapacity];
    ASSERT_TRUE(file.header(buffer, sizeof(buffer)));
    const auto verified = file.verify_arrays();
    ASSERT_EQ(verified.has_value(), !damaged);
    if (damaged) {
      EXPECT_EQ(verified.error().status, Status::kCorruptFile);
      continue;
    }
    EXPECT_EQ(file.left(), arrays.size());
    Bytes back(arrays.size());
    EXPECT_TRUE(file.read(back.data(), back.size()));
    EXPECT_EQ(back, arrays);
  }
}

// Fails when more bytes are read than the arrays have: bytes behind their end, or their beginning
// again.
TEST_F(ModelFileTest, StopsAtTheEndOfTheArrays) {
  store(good_);
  ModelFile file;
  ASSERT_TRUE(file.open(kKind, path_.c_str()));
  alignas(64) unsigned char buffer[kCapacity];
  ASSERT_TRUE(file.header(buffer, sizeof(buffer)));
  Bytes arrays(151);
  const auto beyond = file.read(arrays.data(), 151);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().status, Status::kInvalidArgument);
  EXPECT_TRUE(file.read(arrays.data(), 150));
  EXPECT_FALSE(file.read(arrays.data(), 1));
}

// Fails when a file cut off at any position is accepted, or is not reported as truncated.
// Promises: FILE-003.
TEST_F(ModelFileTest, RefusesEveryTruncation) {
  ASSERT_EQ(read(good_).status, Status::kOk);
  for (const Bytes& whole : {good_, model(table("text"), {})}) {
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const Error error =
          read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
      ASSERT_EQ(error.status, Status::kCorruptFile) << length << " bytes of " << whole.size();
      const std::string bytes = std::to_string(length) + " bytes";
      EXPECT_EQ(error.text, length < 64
                                ? "number file: the file has " + bytes + ", which is too short"
                                : "number file: truncated: the file has " + bytes +
                                      ", its header says " + std::to_string(whole.size()));
    }
  }
}

// Fails when a file with a single flipped bit is accepted. The bit may be in the header, the table,
// the padding or the arrays.
// Promises: FILE-003.
TEST_F(ModelFileTest, RefusesEveryFlippedBit) {
  for (const Bytes& whole : {good_, model(table("text"), {})}) {
    Bytes bytes = whole;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      for (int bit = 0; bit < 8; ++bit) {
        const auto mask = static_cast<unsigned char>(1 << bit);
        bytes[i] = static_cast<unsigned char>(bytes[i] ^ mask);
        ASSERT_EQ(read(bytes).status, Status::kCorruptFile) << "bit " << bit << " of byte " << i;
        bytes[i] = static_cast<unsigned char>(bytes[i] ^ mask);
      }
    }
  }
}

// Fails when additional bytes at the end of a file are accepted.
TEST_F(ModelFileTest, RefusesDataAfterTheEnd) {
  for (const Bytes& whole : {good_, model(table("text"), {})}) {
    for (const std::size_t more : {1u, 64u}) {
      Bytes longer = whole;
      longer.resize(whole.size() + more);
      const Error error = read(longer);
      EXPECT_EQ(error.status, Status::kCorruptFile);
      EXPECT_EQ(error.text, "number file: data after its end: the file has " +
                                std::to_string(longer.size()) + " bytes, its header says " +
                                std::to_string(whole.size()));
    }
  }
}

// Fails when a file of another format or kind is accepted, or is reported as damaged.
TEST_F(ModelFileTest, RefusesFilesOfAnotherKind) {
  const Error other = read(Bytes(4096, 'x'));
  EXPECT_STREQ(other.text,
               "number file: not a model file of Ocellus (the magic number does not match)");

  const auto kind = [](const char* id) {
    return [id](Bytes& bytes) { std::memcpy(bytes.data() + 8, id, 8); };
  };
  const auto expected = [](const std::string& found) {
    return "number file: the file is of the kind \"" + found +
           "\"; it must be of the kind \"numbers\"";
  };
  for (const bool sealed : {false, true}) {
    EXPECT_EQ(error_of(sealed, kind("kernels\0")), expected("kernels"));
    EXPECT_EQ(error_of(sealed, kind("number\0\0")), expected("number"));
    EXPECT_EQ(error_of(sealed, kind("numbersX")), expected("numbersX"));
    EXPECT_EQ(error_of(sealed, kind("\0\0\0\0\0\0\0\0")), expected(""));
    // The name is printed on terminals.
    EXPECT_EQ(error_of(sealed, kind("\x1b[31m\n\xff\x7f")), expected("?[31m???"));
    EXPECT_EQ(error_of(sealed, kind("num\0ers\0")), expected("num?ers"));
  }
}

// Fails when a file of a future version is reported as damaged. The version must be checked before
// everything that a future version may change.
TEST_F(ModelFileTest, RefusesFilesOfAnotherVersion) {
  const auto from_20 = [](Bytes& bytes) { std::fill(bytes.begin() + 20, bytes.end(), '\xa5'); };
  for (const int version : {0, 2, 256, 65535}) {
    const std::string text = std::to_string(version) + "; this library reads version ";
    EXPECT_EQ(error_of(false,
                       [&](Bytes& bytes) {
                         put(bytes, 16, static_cast<std::uint16_t>(version));
                         put(bytes, 18, std::uint16_t{7});
                         from_20(bytes);
                       }),
              "number file: the container has version " + text + "1");
    EXPECT_EQ(error_of(false,
                       [&](Bytes& bytes) {
                         put(bytes, 18, static_cast<std::uint16_t>(version));
                         from_20(bytes);
                       }),
              "number file: the contents have version " + text + "3");
  }
}

// Fails when the checks are in a wrong order. Each header has one more mistake than the one before,
// and the new mistake must be reported.
TEST_F(ModelFileTest, ChecksInTheDocumentedOrder) {
  Bytes bytes = good_;
  const auto expect = [&](const char* words) {
    const Error error = read(bytes);
    EXPECT_NE(std::string(error.text).find(words), std::string::npos)
        << "\"" << words << "\" is not in \"" << error.text << "\"";
  };
  std::fill(bytes.begin() + 64, bytes.begin() + 80, '\xff');  // the table
  seal(bytes);
  expect("its table is not valid");
  put(bytes, 40, std::uint64_t{0});
  expect("the checksum of its header");
  put(bytes, 24, std::uint64_t{151});
  expect("truncated");
  put(bytes, 24, std::uint64_t{149});
  expect("data after its end");
  put(bytes, 20, std::uint32_t{449});
  expect("the table has 449 bytes; at most 448 are allowed");
  put(bytes, 18, std::uint16_t{4});
  expect("the contents have version 4");
  put(bytes, 16, std::uint16_t{2});
  expect("the container has version 2");
  bytes[8] = 'N';
  expect("the kind \"Numbers\"");
  bytes[0] = 0x88;
  expect("the magic number");
  bytes.resize(63);
  expect("too short");
}

// Fails when a header with a correct checksum is trusted although it contradicts the file, or when
// a length overflows.
// Promises: FILE-003.
TEST_F(ModelFileTest, RefusesForgedHeaders) {
  const auto lengths = [](std::uint32_t table_bytes, std::uint64_t array_bytes) {
    return [=](Bytes& bytes) {
      put(bytes, 20, table_bytes);
      put(bytes, 24, array_bytes);
    };
  };
  const auto begins = [this](const std::function<void(Bytes&)>& change, const std::string& with) {
    EXPECT_EQ(error_of(true, change).substr(0, with.size()), with);
  };
  const auto table_bytes = get<std::uint32_t>(good_, 20);
  const std::uint64_t arrays_at = good_.size() - 150;
  begins(lengths(table_bytes, 149), "number file: data after its end");
  begins(lengths(table_bytes, 151), "number file: truncated");
  begins(lengths(table_bytes, ~std::uint64_t{0}), "number file: truncated");
  begins(lengths(table_bytes, ~std::uint64_t{0} - arrays_at), "number file: truncated");
  begins(lengths(449, 150), "number file: the table has 449 bytes; at most 448 are allowed");
  begins(lengths(~std::uint32_t{0}, 150), "number file: the table has 4294967295 bytes");
  // Their sum is the length of the file because of an overflow.
  begins(lengths(448, good_.size() - 512), "number file: truncated");
  // The table overlaps the arrays.
  begins(lengths(table_bytes + 64, 150 - 64),
         "number file: damaged (the checksum of its arrays does not match)");
  begins(lengths(0, good_.size() - 64), "number file: damaged (its table is not valid)");
  begins([](Bytes& bytes) { std::fill(bytes.begin() + 64, bytes.begin() + 68, '\x7f'); },
         "number file: damaged (its table is not valid)");
  begins([](Bytes& bytes) { bytes[32] ^= 1; },
         "number file: damaged (the checksum of its arrays does not match)");
}

// Fails when a file without arrays may have any checksum for them. Then two different files would
// be the same model.
TEST_F(ModelFileTest, ChecksTheChecksumOfEmptyArrays) {
  Bytes bytes = model(table("text"), {});
  bytes[39] ^= 0x80;
  seal(bytes);
  EXPECT_STREQ(read(bytes).text,
               "number file: damaged (the checksum of its arrays does not match)");
}

// Fails when the header is read beyond the end of a buffer that is too short. The bytes there would
// be correct in this test.
TEST_F(ModelFileTest, StaysInsideAShortBuffer) {
  for (const std::size_t available : {std::size_t{64}, good_.size() - 151}) {
    EXPECT_FALSE(detail::parse_model_header(kKind, good_.data(), available, good_.size()));
    store(good_);
    ModelFile file;
    ASSERT_TRUE(file.open(kKind, path_.c_str()));
    Bytes buffer = good_;
    EXPECT_FALSE(file.header(buffer.data(), available));
  }
}

// Fails when a path that is not a regular file hangs, or is reported without its name.
TEST_F(ModelFileTest, ReportsPathsThatCannotBeRead) {
  const std::string fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const std::string absent = folder_ / "absent.ocellus";
  for (const std::string& path : {absent, folder_ / ".", fifo}) {
    ModelFile file;
    const auto opened = file.open(kKind, path.c_str());
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().status, Status::kIoError);
    const std::string what = path == absent ? "No such file or directory" : "is not a regular file";
    EXPECT_EQ(opened.error().text, "number file \"" + path + "\": " + what);
  }
}

// Fails when a file that becomes shorter during reading ends the program, or is accepted.
TEST_F(ModelFileTest, SurvivesAFileThatShrinks) {
  for (const std::size_t left : {std::size_t{10}, good_.size() - 1}) {
    store(good_);
    ModelFile file;
    ASSERT_TRUE(file.open(kKind, path_.c_str()));
    alignas(64) unsigned char buffer[kCapacity];
    Expected<void> read;
    if (left >= 64) {
      ASSERT_TRUE(file.header(buffer, sizeof(buffer)));
      ASSERT_TRUE(file.read(buffer, 100));
    }
    ASSERT_EQ(truncate(path_.c_str(), static_cast<off_t>(left)), 0);
    if (left >= 64) {
      read = file.read(buffer, 50);
    } else if (const auto header = file.header(buffer, sizeof(buffer)); !header) {
      read = tl::unexpected(header.error());
    }
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().status, Status::kCorruptFile);
    EXPECT_STREQ(read.error().text, "number file: the file became shorter while it was read");
  }
}

// Fails when a note is cut off at a wrong position, is not terminated, or keeps characters that are
// not printable.
TEST_F(ModelFileTest, NotesArePrintable) {
  std::array<char, 6> note;
  note.fill('#');
  detail::copy_note(note.data(), 5, "a\x1b\xff~z", 5);
  EXPECT_EQ(std::string(note.data(), 6), std::string("a??~\0#", 6));
  detail::copy_note(note.data(), 5, "", 0);
  EXPECT_STREQ(note.data(), "");
}

}  // namespace
}  // namespace ocellus
