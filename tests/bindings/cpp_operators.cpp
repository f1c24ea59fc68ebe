// The C++ side of the tests of the Python package.
//
//   cpp_operators results FRAMES WIDTH HEIGHT COUNT FOLDER
//       sends COUNT gray frames of the file to every operator on the CPU and writes the planes and
//       the record of the last one to FOLDER/NAME
//   cpp_operators options
//       prints the names of all options of all operators
//   cpp_operators time FRAMES WIDTH HEIGHT COUNT
//       for every number N on the standard input: processes N frames with flow, preset fast, and
//       prints the median time of one in nanoseconds, and the median of its CPU time on all threads
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "ocellus/ocellus.h"

namespace {

using namespace ocellus;

template <typename T>
T need(Expected<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().text);
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

EngineConfig on_cpu() {
  EngineConfig engine;
  engine.backend.choice = BackendChoice::kCpu;
  return engine;
}

struct Frames {
  std::vector<char> bytes;
  ImageSize size;
  int count;

  Frame at(int index) const {
    const std::size_t frame =
        static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
    return {.data = bytes.data() + static_cast<std::size_t>(index % count) * frame,
            .size = size,
            .stride = size.width};
  }
};

Frames read_frames(char** arguments) {
  std::ifstream file(arguments[0], std::ios::binary);
  Frames frames{{std::istreambuf_iterator<char>(file), {}},
                {std::atoi(arguments[1]), std::atoi(arguments[2])},
                std::atoi(arguments[3])};
  const auto pixels =
      static_cast<std::size_t>(frames.size.width) * static_cast<std::size_t>(frames.size.height);
  if (frames.count < 1 || frames.bytes.size() != pixels * static_cast<std::size_t>(frames.count)) {
    std::fprintf(stderr, "%s has %zu bytes\n", arguments[0], frames.bytes.size());
    std::exit(1);
  }
  return frames;
}

struct Output {
  std::vector<std::vector<char>> planes;
  std::vector<std::uint64_t> record;
  OperatorOutput output;

  explicit Output(const OperatorInfo& info) : planes(static_cast<std::size_t>(info.plane_count)) {
    for (std::size_t p = 0; p < planes.size(); ++p) {
      const PlaneInfo& plane = info.planes[p];
      const std::ptrdiff_t stride = plane.size.width * bytes_per_pixel(plane.format);
      planes[p].resize(static_cast<std::size_t>(stride * plane.size.height));
      output.planes[p] = {planes[p].data(), plane.size, stride, plane.format};
    }
    if (info.record == nullptr) return;
    record.resize((info.record->bytes + 7) / 8);
    output.record = record.data();
  }
};

void write_results(const Frames& frames, const std::string& folder) {
  for (const OperatorDescription& description : operators()) {
    OperatorConfig config(description);
    config.set_input(frames.size, PixelFormat::kGray8);
    Engine engine = need(create_engine(on_cpu(), {config}));
    OperatorHandle op = need(config.create(engine));
    Output out(op.info());
    for (int f = 0; f < frames.count; ++f)
      need(op.wait(need(op.submit(frames.at(f), out.output)), Deadline::never()));
    std::ofstream file(folder + "/" + description.name, std::ios::binary);
    for (const std::vector<char>& plane : out.planes)
      file.write(plane.data(), static_cast<std::streamsize>(plane.size()));
    if (op.info().record != nullptr) {
      file.write(reinterpret_cast<const char*>(out.record.data()),
                 static_cast<std::streamsize>(op.info().record->bytes));
    }
  }
}

/// CPU time of all threads of the process.
long long cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

long long median(std::vector<long long>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void print_times(const Frames& frames) {
  const OpticalFlowConfig config = OpticalFlowConfig::fast(frames.size);
  Engine engine = need(create_engine(on_cpu(), {config}));
  OperatorHandle op = need(OpticalFlow::create(engine, config));
  Output out(op.info());
  int next = 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<long long> times, cpu_times;
    for (int i = std::atoi(line.c_str()); i > 0; --i) {
      const auto begin = std::chrono::steady_clock::now();
      const long long cpu_begin = cpu_ns();
      need(op.wait(need(op.submit(frames.at(next++), out.output)), Deadline::never()));
      times.push_back((std::chrono::steady_clock::now() - begin).count());
      cpu_times.push_back(cpu_ns() - cpu_begin);
    }
    std::printf("%lld %lld\n", median(times), median(cpu_times));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "results" && argc == 7) {
    write_results(read_frames(argv + 2), argv[6]);
  } else if (what == "options" && argc == 2) {
    for (const OperatorDescription& description : operators())
      for (const Option& option : description.options) std::printf("%s\n", option.name);
  } else if (what == "time" && argc == 6) {
    print_times(read_frames(argv + 2));
  } else {
    std::fprintf(stderr, "the comment in cpp_operators.cpp describes the arguments\n");
    return 2;
  }
}
