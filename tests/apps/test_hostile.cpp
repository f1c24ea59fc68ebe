// The program with malicious files, with names that contain control characters, and with signals.
#include <gtest/gtest.h>
// jpeglib.h needs FILE and size_t, so <cstdio> must come first.
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>
#include <signal.h>
#include <sys/stat.h>
#include <zlib.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "apps/io/flow_file.h"
#include "ocellus/cell_templates.h"
#include "program_checks.h"

namespace ocellus::test {
namespace {

using nlohmann::json;

constexpr std::size_t kMega = 1'000'000;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kMemoryCounts = false;  // the sanitizer itself needs more memory
#else
constexpr bool kMemoryCounts = true;
#endif

class Hostile : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  /// Compares the file with itself. It is read twice, and two images are kept.
  ChildResult read(const std::string& kind, const std::string& file) const {
    return run_program({"compare", kind, file, file});
  }
  /// Memory beyond the use for two images of one pixel.
  std::size_t beyond_nothing(const ChildResult& result) {
    if (least_ == 0) {
      const std::string pixel = write("pixel.pgm", "P5\n1 1\n255\nx");
      least_ = read("image", pixel).peak_memory;
      EXPECT_GT(least_, 0u);
    }
    return result.peak_memory - std::min(result.peak_memory, least_);
  }

  /// Expects that the file is refused with these texts, quickly, and with little memory beside an
  /// image of this size.
  void expect_refused(const std::string& kind, const std::string& file,
                      const std::vector<std::string>& says, std::size_t image_bytes = 0) {
    const ChildResult result = read(kind, file);
    EXPECT_EQ(result.exit_code, 2) << file;
    for (const std::string& text : says)
      EXPECT_NE(result.err.find(text), std::string::npos) << file << " says: " << result.err;
    EXPECT_LT(result.seconds, 20.0) << file;
    if (kMemoryCounts) {
      EXPECT_LT(beyond_nothing(result), image_bytes + 64 * kMega) << file;
    }
  }

  const TemporaryFolder folder_;

 private:
  std::size_t least_ = 0;
};

// ---- files

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string png_chunk(const std::string& kind, const std::string& data) {
  const std::string body = kind + data;
  const auto crc =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(static_cast<std::uint32_t>(data.size())) + body +
         big_endian(static_cast<std::uint32_t>(crc));
}

/// This number of zeros, compressed by deflate.
std::string deflated(std::size_t zeros) {
  const std::string plain(zeros, '\0');
  uLongf size = compressBound(zeros);
  std::string out(size, '\0');
  compress2(reinterpret_cast<Bytef*>(out.data()), &size,
            reinterpret_cast<const Bytef*>(plain.data()), zeros, 9);
  out.resize(size);
  return out;
}

std::string png(std::uint32_t width, std::uint32_t height, char color, const std::string& before,
                const std::string& data) {
  using namespace std::string_literals;
  return "\x89PNG\r\n\x1a\n"s +
         png_chunk("IHDR", big_endian(width) + big_endian(height) + "\x08"s + color + "\0\0\0"s) +
         before + png_chunk("IDAT", data) + png_chunk("IEND", "");
}

/// A gray JPEG. With three components, each has a scan of its own.
std::string jpeg(int width, int height, int components, bool progressive) {
  jpeg_compress_struct c;
  jpeg_error_mgr errors;
  c.err = jpeg_std_error(&errors);
  jpeg_create_compress(&c);
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&c, &memory, &bytes);
  c.image_width = static_cast<JDIMENSION>(width);
  c.image_height = static_cast<JDIMENSION>(height);
  c.input_components = components;
  c.in_color_space = components == 3 ? JCS_YCbCr : JCS_GRAYSCALE;
  jpeg_set_defaults(&c);
  jpeg_scan_info scans[3] = {};
  if (progressive) {
    jpeg_simple_progression(&c);
  } else if (components == 3) {
    for (int i = 0; i < 3; ++i) {
      scans[i].comps_in_scan = 1;
      scans[i].component_index[0] = i;
      scans[i].Se = 63;
    }
    c.scan_info = scans;
    c.num_scans = 3;
  }
  jpeg_start_compress(&c, TRUE);
  std::vector<JSAMPLE> row(static_cast<std::size_t>(width * components), 128);
  JSAMPROW rows[] = {row.data()};
  for (int y = 0; y < height; ++y) jpeg_write_scanlines(&c, rows, 1);
  jpeg_finish_compress(&c);
  jpeg_destroy_compress(&c);
  std::string all(reinterpret_cast<const char*>(memory), bytes);
  std::free(memory);
  return all;
}

/// Replaces the size in a JPEG's frame header.
std::string resized(std::string all, int width, int height) {
  for (std::size_t at = 2; at + 9 < all.size();) {
    const auto marker = static_cast<unsigned char>(all[at + 1]);
    if (marker >= 0xc0 && marker <= 0xc2) {
      all.replace(at + 5, 4, big_endian(static_cast<std::uint32_t>(height << 16 | width)));
      break;
    }
    at += 2 + (static_cast<std::size_t>(static_cast<unsigned char>(all[at + 2])) << 8 |
               static_cast<unsigned char>(all[at + 3]));
  }
  return all;
}

// Example failure: memory is allocated for the size in a header before the file's size is checked.
// Promises: FILE-004.
TEST_F(Hostile, RefusesHeadersThatExceedTheFile) {
  using namespace std::string_literals;
  expect_refused("image", write("a.pgm", "P2\n16384 16384\n65535\n"), {"a.pgm", "truncated"});
  expect_refused("image", write("b.pgm", "P5\n16384 16384\n65535\nxx"), {"b.pgm", "536870912"});
  expect_refused("flow", write("c.flo", "PIEH\0\x40\0\0\0\x40\0\0"s),
                 {"c.flo", "truncated", "16384x16384"});
  expect_refused("image", write("d.png", png(16384, 16384, 2, "", deflated(100))),
                 {"d.png", "truncated", "16384x16384"});
  expect_refused("image", write("e.jpg", resized(jpeg(64, 64, 1, false), 16384, 16384)),
                 {"e.jpg", "truncated"});
  expect_refused("image", write("f.jpg", resized(jpeg(64, 64, 3, true), 16384, 16384)),
                 {"f.jpg", "truncated"});
  expect_refused("image", write("g.png", png(16385, 1, 0, "", deflated(16386))),
                 {"g.png", "16385x1", "1 to 16384"});
}

// Example failure: the samples of a damaged PNG are held beside its image, and are four times as
// large.
// Promises: FILE-004.
TEST_F(Hostile, RefusesALargeDamagedPngWithLittleMemory) {
  std::string data = deflated(40 * kMega);
  data.resize(data.size() / 2);
  data += std::string(kMega, 'x');
  expect_refused("image", write("a.png", png(16384, 16384, 2, "", data)),
                 {"a.png", "damaged or truncated PNG"}, std::size_t{16384} * 16384);
}

// Example failure: the texts and profiles of an image of one pixel are decompressed into memory.
// Promises: FILE-004.
TEST_F(Hostile, IgnoresPngChunksThatDecompressToGigabytes) {
  using namespace std::string_literals;
  const std::string packed = deflated(7'900'000);
  std::string chunks;
  for (int i = 0; i < 300; ++i) chunks += png_chunk("zTXt", "Comment\0\0"s + packed);
  chunks += png_chunk("iCCP", "profile\0\0"s + packed);
  const std::string pixel = png(1, 1, 0, chunks, deflated(2));
  const ChildResult result = read("image", write("a.png", pixel));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LT(result.seconds, 10.0);
  if (kMemoryCounts) {
    EXPECT_LT(beyond_nothing(result), 64 * kMega);
  }
  // Chunks that determine the pixels are still read.
  const std::string palette = png_chunk("PLTE", "\x09\x09\x09"s) + chunks;
  std::ofstream(path("b.png"), std::ios::binary) << png(1, 1, 3, palette, deflated(2));
  EXPECT_EQ(read("image", path("b.png")).exit_code, 0);
}

// Example failure: each of thousands of scans is decoded over the whole image.
// Promises: FILE-004.
TEST_F(Hostile, RefusesAJpegWithManyScans) {
  const std::string whole = jpeg(1024, 1024, 3, false);
  EXPECT_EQ(read("image", write("few.jpg", whole)).exit_code, 0);
  const std::size_t last = whole.rfind("\xff\xda");
  ASSERT_NE(last, std::string::npos);
  std::string many = whole.substr(0, whole.size() - 2);
  const std::string scan = many.substr(last);
  for (int i = 0; i < 5000; ++i) many += scan;
  many += "\xff\xd9";
  expect_refused("image", write("many.jpg", many), {"many.jpg", "more than 100 scans"},
                 2 * 1024 * 1024);
}

// Example failure: the coefficients of a progressive JPEG are held in memory without a limit.
TEST_F(Hostile, RefusesALargeProgressiveJpeg) {
  EXPECT_EQ(read("image", write("small.jpg", jpeg(512, 512, 3, true))).exit_code, 0);
  const std::string large = resized(jpeg(64, 64, 1, true), 6000, 6000) + std::string(kMega, 'x');
  expect_refused("image", write("large.jpg", large),
                 {"large.jpg", "progressive JPEG of 6000x6000", "56.0 MiB", "jpegtran"});
}

// ---- text input

// Example failure: nested JSON overflows the stack in the parser or in an error text.
// Promises: FILE-004.
TEST_F(Hostile, RefusesDeeplyNestedJson) {
  constexpr std::size_t kDeep = 100'000;
  const std::string nested = std::string(kDeep, '[') + std::string(kDeep, ']');
  for (const char* field : {"threshold", "a", "start"}) {
    const std::string file = write("t.json", std::string("{\"") + field + "\": " + nested + "}");
    expect_error({"template", "make", file, "-o", path("t.ocellus")},
                 {"t.json", "nests 100001 arrays and objects", "16"});
  }
  const std::string bank =
      write("k.json", "{\"form\": \"per-pixel\", \"size\": " + nested + ", \"pixels\": []}");
  expect_error({"kernels", "from-json", bank, "-o", path("k.ocellus")}, {"k.json", "16"});
}

// Example failure: millions of empty arrays of three bytes each take 25 times the file's size.
TEST_F(Hostile, RefusesJsonWithManyValues) {
  std::string text = "{\"kernels\": [[]";
  for (int i = 0; i < 800'000; ++i) text += ",[]";
  const ChildResult result =
      run_program({"kernels", "from-json", write("k.json", text + "]}"), "-o", path("k.ocellus")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("values; the limit is 800000"), std::string::npos) << result.err;
  if (kMemoryCounts) {
    EXPECT_LT(beyond_nothing(result), 80 * kMega);
  }
}

// Example failure: an error text repeats a key of several megabytes.
TEST_F(Hostile, CutsOffLongWordsInErrors) {
  const std::string word(20 * kMega, 'k');
  const auto error_of = [](const std::vector<std::string>& arguments) {
    const ChildResult result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_LT(result.err.size(), 2000u);
    return result.err;
  };
  const std::string keys = write("k.json", "{\"" + word + "\": 1}");
  EXPECT_NE(error_of({"kernels", "from-json", keys, "-o", path("k.ocellus")})
                .find("kkk... (20000000 bytes in all)\" is unknown"),
            std::string::npos);
  error_of({"kernels", "from-json", write("t.json", "{" + word), "-o", path("k.ocellus")});
  error_of({"kernels", "from-json", write("k.txt", word), "-o", path("k.ocellus")});
  error_of({"template", "make", keys, "-o", path("t.ocellus")});
  const std::string long_word = write("t.txt", std::string(kMega, 'k'));
  EXPECT_NE(error_of({"template", "make", long_word, "-o", path("t.ocellus")})
                .find("(1000000 bytes in all)\""),
            std::string::npos);
}

// Example failure: an endless device fills the memory, or an endless string does.
// Promises: FILE-004.
TEST_F(Hostile, RefusesEndlessTexts) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"template", "make", "/dev/zero", "-o", path("t.ocellus")}, "has more than 1.0 MiB"},
      {{"kernels", "from-json", "/dev/zero", "-o", path("k.ocellus")}, "it must be JSON"},
      {{"cnn", "test:8x8", "--template", "hole", "--initial", "/dev/zero"},
       "is not a regular file"},
      {{"cnn", "test:8x8", "--template", "/dev/zero"}, "/dev/zero"},
  };
  for (const auto& [arguments, says] : cases) {
    const ChildResult result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find("/dev/zero"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(says), std::string::npos) << result.err;
    if (kMemoryCounts) {
      EXPECT_LT(beyond_nothing(result), 256 * kMega);
    }
  }
  const std::string note = write("n.json", "{\"note\": \"" + std::string(80 * kMega, 'n'));
  const ChildResult result = run_program({"kernels", "from-json", note, "-o", path("k.ocellus")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("n.json: it has more than 64.0 MiB without a value"), std::string::npos)
      << result.err;
  if (kMemoryCounts) {
    EXPECT_LT(beyond_nothing(result), 256 * kMega);
  }
}

// Example failure: process substitution or /dev/stdin does not work, or a pipe is waited for
// without a limit.
TEST_F(Hostile, ReadsTextsThroughPipes) {
  const std::string fifo = path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const auto write_late = [&](const std::string& text) {
    return std::thread([fifo, text] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      std::ofstream(fifo) << text;
    });
  };
  std::thread writer = write_late(R"({"a": [[0, 1, 0], [1, 3, 1], [0, 1, 0]]})");
  const ChildResult made = run_program({"template", "make", fifo, "-o", path("t.ocellus")});
  writer.join();
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const std::string uniform =
      R"({"form": "uniform", "kernels": [[{"x": [1], "y": [2], "t": [3]}]]})";
  writer = write_late(uniform);
  const ChildResult bank = run_program({"kernels", "from-json", fifo, "-o", path("k.ocellus")});
  writer.join();
  EXPECT_EQ(bank.exit_code, 0) << bank.err;
  // Standard input is /dev/null here.
  expect_error({"template", "make", "/dev/stdin", "-o", path("t.ocellus")},
               {"/dev/stdin", "is empty"});
  expect_error({"template", "make", "-", "-o", path("t.ocellus")}, {"standard input", "is empty"});
}

// Example failure: the program waits forever for a pipe to which no process writes.
TEST_F(Hostile, SlowRefusesAPipeWithoutAWriter) {
  const std::string fifo = path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  expect_error({"kernels", "from-json", fifo, "-o", path("k.ocellus")},
               {"fifo", "gave no data for 10 s"});
}

// ---- names and signals

// Example failure: a file name sends escape sequences to a terminal, or starts a line of its own.
TEST_F(Hostile, EscapesControlCharactersInNames) {
  const std::string escape = "\x1b[31m\n\x7f\xc2\x9b";
  const auto is_plain = [](const std::string& text) {
    for (const char c : text) {
      if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) return false;
    }
    return text.find("\xc2\x9b") == std::string::npos;
  };
  const std::string image = write(escape + ".pgm", "P5\n2 1\n255\nxx");
  const std::string bank = path(escape + ".ocellus");
  const std::vector<std::vector<std::string>> commands = {
      {"flow", path(escape + "absent")},
      {escape},
      {"flow", "test:32x32", "--" + escape},
      {"flow", "test:32x32", "--backend", escape},
      {"compare", "image", image, image},
      {"compare", "image", image, image, "--json"},
      {"cnn", image, "--template", "edge", "-o", path(escape + ".png")},
      {"cnn", image, "--template", "edge", "-o", path(escape + ".png"), "--json"},
      {"cnn", image, "--template", escape},
      {"kernels", "make", "-o", bank},
      {"kernels", "info", bank},
      {"kernels", "info", bank, "--json"},
      {"flow", "test:32x32,frames=4", "--method", "kernels", "--kernels", bank},
      {"template", "show", escape},
      {"template", "make", write("words", "{\"" + escape), "-o", path("t.ocellus")},
      {"latency", "--input", image, "--pipeline", "halftone", "--fps", "1000", "--frames", "3",
       "--budget-ms", "10000", "--plot", path(escape + ".svg")},
  };
  for (const auto& command : commands) {
    const ChildResult result = run_program(command);
    EXPECT_TRUE(is_plain(result.out)) << command[0] << ": " << result.out;
    EXPECT_TRUE(is_plain(result.err)) << command[0] << ": " << result.err;
    EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 2) << result.err;
  }
  const std::string svg = bytes_of(path(escape + ".svg"));
  EXPECT_NE(svg.find("\\x1b[31m\\x0a\\x7f\\u009b.pgm"), std::string::npos);
  EXPECT_TRUE(is_plain(svg));
  // The JSON string has the exact name.
  EXPECT_EQ(json_of({"compare", "image", image, image})["result"], image);
}

// Example failure: one of these signals leaves a partly written file.
// Promises: FILE-002.
TEST_F(Hostile, NoSignalLeavesAnUnfinishedFile) {
  for (const int signal : {SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGQUIT, SIGVTALRM,
                           SIGTERM, SIGINT, SIGPWR, SIGSTKFLT, SIGRTMIN, SIGRTMAX}) {
    RunningProgram program({"kernels", "make", "--kernels", "foveated", "--size", "1024x1024",
                            "--taps", "25x25x25", "-o", path("k.ocellus")});
    EXPECT_TRUE(wait_until([&] { return !files_in(path(""), "k.ocellus").empty(); }));
    program.send(signal);
    EXPECT_EQ(program.wait().exit_code, 128 + signal);
    EXPECT_TRUE(files_in(path("")).empty()) << "signal " << signal;
  }
}

// Example failure: a new file takes the number of a closed standard stream, and printed text goes
// into it. Or an error that cannot be printed ends the program by an exception.
TEST_F(Hostile, WorksWithClosedOrFullStandardStreams) {
  const auto shell = [&](const std::string& arguments, const std::string& streams) {
    const int status =
        std::system(("'" + program_path() + "' " + arguments + " " + streams).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  };
  const std::string file = path("k.ocellus");
  const std::string make = "kernels make --kernels foveated --size 64x64 -o '" + file + "'";
  for (const char* streams : {">&- 2>/dev/null", ">/dev/full 2>/dev/null", ">&- 2>&- <&-"}) {
    EXPECT_EQ(shell(make, streams), 2) << streams;
    EXPECT_EQ(run_program({"kernels", "info", file}).exit_code, 0) << streams;
    std::filesystem::remove(file);
  }
  for (const char* streams : {"2>/dev/full", "2>&-", ">&- 2>&-"}) {
    EXPECT_EQ(shell("flow '" + path("none.pgm") + "'", streams), 2) << streams;
    EXPECT_EQ(shell("flow --bogus", streams), 2) << streams;
  }
  const std::string text =
      write("k.json", R"({"form": "uniform", "kernels": [[{"x": [1], "y": [2], "t": [3]}]]})");
  EXPECT_EQ(shell("kernels from-json '" + text + "' -o '" + file + "'", "<&- >/dev/null"), 0);
}

// Example failure: stdout is a regular file, -o writes it from its beginning, and printed text then
// overwrites it.
TEST_F(Hostile, OutputToStdoutIsNotOverwrittenByTheReport) {
  const std::string link = path("o.flo");
  std::filesystem::create_symlink("/dev/stdout", link);
  const ChildResult result = run_program({"flow", "test:32x32,frames=3", "-o", link});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.substr(0, 4), "PIEH");
  EXPECT_NE(result.out.find("written: "), std::string::npos);
}

// Example failure: the program waits forever for a reader of its output.
TEST_F(Hostile, AnOutputPipeWithoutAReaderCanBeInterrupted) {
  const std::string fifo = path("o.png");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  RunningProgram program({"halftone", "test:32x32,frames=3", "--limit", "1", "-o", fifo});
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  program.send(SIGTERM);
  const ChildResult result = program.wait();
  EXPECT_EQ(result.exit_code, 128 + SIGTERM) << result.err;
  EXPECT_LT(result.seconds, 10.0);
}

// Example failure: a frame that cannot be examined is silently left out of its pattern.
TEST_F(Hostile, ReportsFramesThatCannotBeExamined) {
  namespace fs = std::filesystem;
  for (const char* name : {"f0.pgm", "f1.pgm", "f2.pgm"})
    write(name, "P5 16 16 255\n" + std::string(256, 'g'));
  fs::create_symlink("nowhere.pgm", path("f3.pgm"));
  // The report of the frames before has begun.
  const auto expect = [this](const char* reason) {
    const ChildResult result = run_program({"halftone", path("f%d.pgm")});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find("f3.pgm"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(reason), std::string::npos) << result.err;
  };
  expect("No such file");
  fs::remove(path("f3.pgm"));
  fs::create_symlink("f3.pgm", path("f3.pgm"));
  expect("Too many levels");
}

// Example failure: a link to itself is treated as a missing file.
TEST_F(Hostile, DoesNotReplaceALoopOfLinks) {
  namespace fs = std::filesystem;
  fs::create_symlink("b.flo", path("a.flo"));
  fs::create_symlink("a.flo", path("b.flo"));
  expect_error({"flow", "test:32x32,frames=3", "-o", path("a.flo")},
               {"a.flo: cannot be written: Too many levels"});
  EXPECT_TRUE(fs::is_symlink(path("a.flo")));
  EXPECT_TRUE(fs::is_symlink(path("b.flo")));
  EXPECT_EQ(files_in(path("")).size(), 2u);
  expect_error({"flow", path("a.flo")}, {"a.flo", "Too many levels"});
}

// Example failure: -o keeps %% as two signs, or treats the number of a folder as part of its name.
TEST_F(Hostile, WritesNumberedFilesAndFolders) {
  namespace fs = std::filesystem;
  const std::string scene = "test:32x32,frames=4";
  json_of({"flow", scene, "-o", path("o%%n.flo"), "--confidence", path("c%%.pfm")});
  EXPECT_EQ(app::read_flo(path("o%n.flo")).size, (ImageSize{32, 32}));
  EXPECT_EQ(app::read_pfm(path("c%.pfm")).size, (ImageSize{32, 32}));
  const std::string said =
      run_program({"flow", scene, "-o", path("o.flo"), "--confidence", path("c%%%d.pfm")}).out;
  EXPECT_NE(said.find(path("c%2.pfm")), std::string::npos) << said;
  for (const char* folder : {"d0", "d1", "d2"}) fs::create_directory(path(folder));
  json_of({"flow", scene, "-o", path("d%d/x.flo")});
  for (const char* file : {"d0/x.flo", "d1/x.flo", "d2/x.flo"})
    EXPECT_EQ(app::read_flo(path(file)).size, (ImageSize{32, 32})) << file;
  expect_error({"flow", scene, "-o", path("e%d/x.flo")}, {"e0/x.flo", "No such file"});
  expect_error({"flow", scene, "-o", path("d%d/x%d.flo")}, {"d%d/x%d.flo", "of one folder"});
}

}  // namespace
}  // namespace ocellus::test
