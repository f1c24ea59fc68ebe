// Helpers that run operators: an engine of exactly their memory, frames, results.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ocellus/ocellus.h"
#include "support/plane.h"

namespace ocellus::test {

/// The value. After an error, prints the library's text and ends the test program.
template <typename T>
T must(Expected<T> value) {
  if (!value) {
    ADD_FAILURE() << status_name(value.error().status) << ": " << value.error().text;
    std::abort();
  }
  if constexpr (!std::is_void_v<T>) return std::move(*value);
}

inline EngineConfig engine_config(int workers = 2, BackendChoice backend = BackendChoice::kCpu) {
  EngineConfig config;
  config.backend.choice = backend;
  config.workers = workers;
  return config;
}

/// The results of a sequence of frames.
struct Results {
  std::vector<std::vector<PlaneF>> planes;          ///< [frame][plane]
  std::vector<std::vector<std::uint32_t>> records;  ///< [frame][value of a field]
  std::vector<FrameInfo> infos;
};

/// Sends the frames to `op`, `in_flight` at a time, with sequence numbers from `first_sequence` on.
inline Results send(OperatorHandle& op, const std::vector<FrameBuffer>& frames, int in_flight = 1,
                    std::uint64_t first_sequence = 0) {
  struct Flight {
    Ticket ticket;
    std::unique_ptr<OutputBuffer> out;
  };
  const OperatorInfo& info = op.info();
  Results results;
  std::deque<Flight> flying;
  const auto land = [&] {
    Flight flight = std::move(flying.front());
    flying.pop_front();
    results.infos.push_back(
        must(op.wait(flight.ticket, Deadline::after(std::chrono::seconds(120)))));
    EXPECT_TRUE(flight.out->surroundings_untouched()) << "bytes beside the result were written";
    std::vector<PlaneF> planes;
    for (int p = 0; p < flight.out->plane_count(); ++p) planes.push_back(flight.out->plane(p));
    results.planes.push_back(std::move(planes));
    results.records.push_back(flight.out->record());
  };
  for (const FrameBuffer& frame : frames) {
    if (static_cast<int>(flying.size()) == in_flight) land();
    Flight flight;
    flight.out = std::make_unique<OutputBuffer>(info);
    flight.ticket = must(op.submit(frame.frame(first_sequence++), flight.out->output()));
    flying.push_back(std::move(flight));
  }
  while (!flying.empty()) land();
  return results;
}

/// An engine with memory for exactly one such operator, and the operator.
template <typename Operator>
struct Rig {
  Engine engine;
  Operator op;

  template <typename Config>
  static Rig make(const Config& config, int workers = 2,
                  BackendChoice backend = BackendChoice::kCpu) {
    EngineConfig settings = engine_config(workers, backend);
    settings.memory = must(Operator::footprint(must(Engine::probe(settings)), config));
    Engine made = must(Engine::create(settings));
    Operator op = must(Operator::create(made, config));
    return {std::move(made), std::move(op)};
  }
};

using FlowRig = Rig<OpticalFlow>;

/// The same for a configuration of any operator.
inline Rig<OperatorHandle> make_rig(const OperatorConfig& config, int workers = 2,
                                    BackendChoice backend = BackendChoice::kCpu) {
  Engine engine = must(create_engine(engine_config(workers, backend), {config}));
  OperatorHandle op = must(config.create(engine));
  return {std::move(engine), std::move(op)};
}

template <typename Operator, typename Config>
Results run(const Config& config, const std::vector<FrameBuffer>& frames, int workers = 2,
            int in_flight = 1, BackendChoice backend = BackendChoice::kCpu) {
  auto rig = Rig<Operator>::make(config, workers, backend);
  return send(rig.op, frames, in_flight);
}

inline Results run(const OperatorConfig& config, const std::vector<FrameBuffer>& frames,
                   int workers = 2, int in_flight = 1,
                   BackendChoice backend = BackendChoice::kCpu) {
  auto rig = make_rig(config, workers, backend);
  return send(rig.op, frames, in_flight);
}

/// For SetUp: skips a test that needs a CUDA device where there is none, and where
/// OCELLUS_TEST_BACKEND leaves it to another run of the same program.
inline void skip_without_device() {
  const char* const asked = std::getenv("OCELLUS_TEST_BACKEND");
  if (asked != nullptr && std::string_view(asked) == "cpu")
    GTEST_SKIP() << "it needs a CUDA device, and OCELLUS_TEST_BACKEND is cpu";
  const Expected<EngineInfo> probed = Engine::probe(engine_config(1, BackendChoice::kCuda));
  if (!probed) GTEST_SKIP() << "no CUDA device: " << probed.error().text;
}

/// Tests that need a CUDA device.
class OnDevice : public testing::Test {
 protected:
  void SetUp() override { skip_without_device(); }
};

/// The folder of the optional development data, or empty.
inline std::string data_folder() {
  const char* folder = std::getenv("OCELLUS_TEST_DATA");
  return folder == nullptr ? "" : folder;
}

inline bool same_bytes(const PlaneF& a, const PlaneF& b) {
  return a.width == b.width && a.height == b.height &&
         std::memcmp(a.data.data(), b.data.data(), a.data.size() * sizeof(float)) == 0;
}
inline bool same_bytes(const Results& a, const Results& b) {
  if (a.planes.size() != b.planes.size() || a.records != b.records) return false;
  for (std::size_t f = 0; f < a.planes.size(); ++f) {
    for (std::size_t p = 0; p < a.planes[f].size(); ++p) {
      if (!same_bytes(a.planes[f][p], b.planes[f][p])) return false;
    }
  }
  return true;
}

}  // namespace ocellus::test
