// Fuzz target: frames of any numbers through every operator, with any texts as settings. The first
// byte is the operator, or 255 for all of them one after the other. The second byte is the frames'
// format, the third one the seed of the pixels, and the rest are the settings; see `settings_of`.
// An operator is made in exactly its footprint, and each frame has a result.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>

#include "fuzz/operators.h"
#include "support/operator_cases.h"

namespace {

using namespace ocellus;

constexpr ImageSize kSize{17, 12};
constexpr std::size_t kMostBytes = std::size_t{1} << 28;

void run(const OperatorDescription& description, PixelFormat format, unsigned seed,
         std::string_view text) {
  OperatorConfig config(description);
  config.set_input(kSize, format);
  if (const auto set = config.set_options(fuzz::settings_of(text, config.options())); !set) {
    fuzz::check(set.error());
    return;
  }
  EngineConfig settings;
  settings.backend.choice = BackendChoice::kCpu;
  settings.workers = 1 + static_cast<int>(seed % 2);
  // A new network may be as large as its options say.
  const auto probe = Engine::probe(settings);
  if (!probe) std::abort();
  const auto bytes = config.footprint(*probe);
  if (bytes && bytes->host > kMostBytes) return;
  auto engine = create_engine(settings, {config});
  if (!engine) {
    fuzz::check(engine.error());
    return;
  }
  auto op = config.create(*engine);
  if (!op) {
    fuzz::check(op.error());
    return;
  }
  if (engine->memory_use().used != engine->memory_use().capacity) std::abort();
  test::OutputBuffer out(op->info());
  std::mt19937 random(seed);
  for (std::uint64_t f = 0; f < 3; ++f) {
    // Floats of any bits among them: huge, tiny, not finite.
    test::FrameBuffer frame(kSize, format, 3, 1);
    for (int y = 0; y < kSize.height; ++y) {
      for (int x = 0; x < kSize.width; ++x) {
        auto gray = static_cast<float>(random() % 256);
        const auto bits = static_cast<std::uint32_t>(random());
        if (f == 1 && format == PixelFormat::kFloat32 && bits % 8 == 0)
          std::memcpy(&gray, &bits, sizeof(gray));
        frame.set(x, y, static_cast<double>(gray));
      }
    }
    const auto ticket = op->submit(frame.frame(f), out.output());
    if (!ticket || !op->wait(*ticket, Deadline::never())) std::abort();
    if (!out.surroundings_untouched()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  constexpr PixelFormat kFormats[] = {PixelFormat::kGray8, PixelFormat::kGray16,
                                      PixelFormat::kFloat32};
  const PixelFormat format = kFormats[data[1] % 3];
  const std::string_view text(reinterpret_cast<const char*>(data) + 3, size - 3);
  if (data[0] == 255) {
    for (const OperatorDescription& description : operators())
      run(description, format, data[2], text);
  } else {
    run(operators()[data[0] % operators().size()], format, data[2], text);
  }
  return 0;
}
