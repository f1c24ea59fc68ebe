#include <ocellus/ocellus.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

// Every call gives a value or an error with a text that says what was wrong.
template <typename T>
T need(ocellus::Expected<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().text);
  std::exit(1);
}

int main() {
  constexpr int kWidth = 320, kHeight = 240;
  const auto config = ocellus::OpticalFlowConfig::fast({kWidth, kHeight});

  // An engine with just the memory that the operator will want; nothing is allocated after these
  // calls.
  ocellus::EngineConfig engine_config;
  engine_config.memory =
      need(ocellus::OpticalFlow::footprint(need(ocellus::Engine::probe(engine_config)), config));
  auto engine = need(ocellus::Engine::create(engine_config));
  auto flow = need(ocellus::OpticalFlow::create(engine, config));

  std::vector<unsigned char> image(kWidth * kHeight);
  std::vector<float> u(image.size()), v(image.size());
  for (int frame = 0; frame < 10; ++frame) {
    for (int i = 0; i < kWidth * kHeight;
         ++i) {  // a texture that moves by (1.5, -0.5) pixels a frame
      const double x = i % kWidth - 1.5 * frame, y = i / kWidth + 0.5 * frame;
      image[i] = static_cast<unsigned char>(127.5 + 60 * std::sin(0.21 * x + 0.07 * y) +
                                            60 * std::sin(0.05 * x - 0.17 * y));
    }
    const ocellus::Frame in{.data = image.data(), .size = {kWidth, kHeight}, .stride = kWidth};
    const ocellus::FlowView out{
        .u = u.data(), .v = v.data(), .size = {kWidth, kHeight}, .stride = kWidth * sizeof(float)};
    const auto ticket = need(flow.submit(in, out));
    const auto info = need(flow.wait(ticket, ocellus::Deadline::after(std::chrono::seconds(1))));
    const int centre = kHeight / 2 * kWidth + kWidth / 2;
    std::printf("frame %d%s: flow (%.2f, %.2f) at the centre, %.2f ms\n", frame,
                info.warming_up() ? " (warming up)" : "", u[centre], v[centre],
                info.compute_ns / 1e6);
  }
}
