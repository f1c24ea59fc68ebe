// frames [REPEATS]: computes every operator's frames on one thread. Under callgrind, the
// instructions of two frames of each operator are dumped by its name; each is computed REPEATS
// times.
#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>

#include "apps/io/operator_run.h"
#include "apps/measure/selftest_cases.h"

int main(int argc, char** argv) {
  using namespace ocellus;
  const int repeats = argc > 1 ? std::atoi(argv[1]) : 1;
  EngineConfig engine;
  engine.backend.choice = BackendChoice::kCpu;
  engine.workers = 1;
  bool named = false;
  for (const app::SelfTestCase& tested : app::selftest_cases()) {
    app::OperatorRun run(engine, tested.config);
    if (!named) std::printf("%s\n", run.engine().simd_target);
    named = true;
    std::uint64_t number = 0;
    const auto step = [&] {
      const auto& frame = tested.clip.frames[number % tested.clip.frames.size()];
      run.op().step(frame.view(number, static_cast<std::int64_t>(number) * 33'333'333));
      ++number;
    };
    // Past the first frames, which have no past.
    while (number < 2 * tested.clip.frames.size()) step();
    CALLGRIND_ZERO_STATS;
    for (int i = 0; i < 2 * repeats; ++i) step();
    CALLGRIND_DUMP_STATS_AT(tested.name.c_str());
  }
}
