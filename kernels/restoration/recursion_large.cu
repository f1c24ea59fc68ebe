// The recursion for large supports, in a file of its own because it takes long to compile.
#include "kernels/restoration/recursion.cuh"

namespace ocellus::cuda {

RecursionVariant large_recursion_variant(int support) noexcept {
  using recursion::variant;
  if (support <= 15) return variant<15>();
  if (support <= 19) return variant<19>();
  if (support <= 23) return variant<23>();
  if (support <= 27) return variant<27>();
  return variant<31>();
}

}  // namespace ocellus::cuda
