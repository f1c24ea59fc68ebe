#include <ocellus/ocellus.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

// Every call gives a value, or an error with a text that says what was wrong.
template <typename T>
T need(ocellus::Expected<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().text);
  std::exit(1);
}

int main() {
  using namespace ocellus;
  constexpr ImageSize kSize{320, 240};
  const OpticalFlowConfig config = OpticalFlowConfig::fast(kSize);

  // Before the operator, which may still write to them while it is destroyed.
  std::vector<float> u(320 * 240), v(320 * 240);
  std::vector<unsigned char> gray(320 * 240);
  const auto plane = [&](std::vector<float>& values) {
    return ImageView{values.data(), kSize, 320 * 4, PixelFormat::kFloat32};
  };

  // An engine with just the memory that the operator wants. Nothing is allocated after this.
  Engine engine = need(create_engine(EngineConfig{}, {config}));
  OpticalFlow flow = need(OpticalFlow::create(engine, config));

  for (int frame = 0; frame < 10; ++frame) {
    for (int i = 0; i < 320 * 240; ++i) {  // a texture that moves by (1.5, -0.5) pixels a frame
      const double x = i % 320 - 1.5 * frame, y = i / 320 + 0.5 * frame;
      gray[i] = 128 + 60 * std::sin(0.21 * x + 0.07 * y) + 60 * std::sin(0.05 * x - 0.17 * y);
    }
    const Frame in{.data = gray.data(), .size = kSize, .stride = 320};
    const FlowOutput out{.u = plane(u), .v = plane(v)};
    const Ticket ticket = need(flow.submit(in, out));
    const FrameInfo info = need(flow.wait(ticket, Deadline::never()));
    std::printf("frame %d: flow (%.2f, %.2f) at the center, %.2f ms\n", frame, u[120 * 320 + 160],
                v[120 * 320 + 160], static_cast<double>(info.compute_ns) / 1e6);
  }
}
