// CudaOperator with an operator of the tests, over the fake driver. Its kernels are a function that
// the driver calls for each graph.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "kernels/core/cuda_operator.h"
#include "kernels/fake_driver.h"
#include "support/inverse.h"

namespace ocellus::test {
namespace {

using cuda::CudaOperator;
using detail::FrameResult;
using detail::LayoutBuilder;

template <typename T>
class Inverse final : public CudaOperator {
 public:
  explicit Inverse(const OperatorInfo& info) noexcept : CudaOperator(info) {
    fake_driver().graph = [this](int slot) { compute(slot); };
  }

 private:
  void layout(LayoutBuilder& device) noexcept override {
    for (float*& frame : kept_) frame = device.take<float>(pixels());
  }
  Expected<void> prepare(cuda::Scope& cuda) noexcept override { return load_check_kernel(cuda); }
  Expected<void> record(cuda::Scope& cuda, int slot, cudaStream_t stream) noexcept override {
    return launch_check(cuda, slot, stream);
  }
  void complete(const FrameResult& result, void* record) noexcept override {
    static_cast<InverseRecord*>(record)->flagged = (result.flags & kBadPixels) != 0 ? 1 : 0;
  }

  void compute(int slot) {
    const cuda::FrameParams& frame = *params(slot);
    cuda::TemporalState& at = *state();
    float* const now = kept_[at.head];
    const float* const before = kept_[(at.head - std::min(1, at.count) + 2) % 2];
    bool bad = false;
    std::uint32_t bright = 0;
    for (int y = 0; y < info_.size.height; ++y) {
      const auto* row = reinterpret_cast<const float*>(static_cast<const char*>(frame.image) +
                                                       y * frame.image_stride);
      for (int x = 0; x < info_.size.width; ++x) {
        now[y * info_.size.width + x] = row[x];
        bad = bad || !std::isfinite(row[x]);
        bright += row[x] > kInverseBright ? 1 : 0;
      }
    }
    for (int p = 0; p < 2; ++p) {
      if (frame.out[p] == nullptr) continue;
      for (int y = 0; y < info_.size.height; ++y) {
        T* const row =
            reinterpret_cast<T*>(static_cast<char*>(frame.out[p]) + y * frame.out_stride[p]);
        for (int x = 0; x < info_.size.width; ++x) {
          const int i = y * info_.size.width + x;
          row[x] = bad      ? kInverseBad<T>
                   : p == 0 ? inverse_of<T>(now[i])
                            : static_cast<T>(before[i]);
        }
      }
    }
    auto& record = *static_cast<InverseRecord*>(record_of(slot));
    record.bright = bright;
    if (bad) {
      outcome(slot)->bad = record.from_bad = 1;
      return;
    }
    at.head = (at.head + 1) % 2;
    at.count = 1;
  }

  std::size_t pixels() const {
    return static_cast<std::size_t>(info_.size.width * info_.size.height);
  }

  float* kept_[2] = {};
};

template <typename T>
class Results : public testing::Test {};
using Elements = testing::Types<std::uint8_t, std::uint16_t>;
TYPED_TEST_SUITE(Results, Elements);

// Fails when results of 8 or 16 bits are copied wrongly through pinned memory, when a plane that
// was left out is written, or when the record belongs to another frame.
TYPED_TEST(Results, ComeWithTheirRecord) {
  for (const int depth : {1, -1, 2, -2, 7, -7}) {
    SCOPED_TRACE("depth " + std::to_string(depth));
    reset_fake_driver();
    fake_driver().lazy = depth < 0;
    const OperatorInfo info = inverse_info<TypeParam>(std::abs(depth));
    EngineConfig config = engine_config(1, BackendChoice::kCuda);
    config.memory = must(detail::footprint_of(std::make_unique<Inverse<TypeParam>>(info)));
    {
      Engine engine = must(Engine::create(config));
      OperatorHandle op =
          must(detail::make_operator(engine, info, std::make_unique<Inverse<TypeParam>>(info)));
      EXPECT_EQ(engine.memory_use().used, engine.memory_use().capacity);
      expect_inverses<TypeParam>(op);
      op.reset();
      expect_inverses<TypeParam>(op);
    }
    EXPECT_TRUE(fake_driver().empty());
  }
}

// Fails when the error of a failed creation does not name the operator, or when the creation leaks.
TEST(Creation, ErrorsNameTheOperator) {
  reset_fake_driver();
  const OperatorInfo info = inverse_info<std::uint8_t>();
  EngineConfig config = engine_config(1, BackendChoice::kCuda);
  config.memory = must(detail::footprint_of(std::make_unique<Inverse<std::uint8_t>>(info)));
  {
    Engine engine = must(Engine::create(config));
    const auto before = fake_driver().events.size();
    auto made = std::make_unique<Inverse<std::uint8_t>>(info);
    fake_driver().names.clear();
    fake_driver().fail_at = fake_driver().calls + 30;
    const auto instance = detail::make_operator(engine, info, std::move(made));
    ASSERT_FALSE(instance);
    EXPECT_EQ(std::string(instance.error().text).find("inverse: " + fake_driver().failed_call), 0u)
        << instance.error().text;
    EXPECT_EQ(engine.memory_use().used, Footprint{});
    EXPECT_EQ(fake_driver().events.size(), before);
  }
  EXPECT_TRUE(fake_driver().empty());
  const auto bytes = detail::footprint_of(nullptr);
  ASSERT_FALSE(bytes);
  EXPECT_STREQ(bytes.error().text, "the system gave no memory for the operator");
}

}  // namespace
}  // namespace ocellus::test
