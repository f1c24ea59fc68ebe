// CopyStream on CUDA.
#pragma once

#include <memory>

#include "core/device.h"
#include "kernels/core/cuda_device.h"

namespace ocellus::cuda {

class CudaCopyStream final : public detail::CopyStream {
 public:
  static Expected<std::unique_ptr<detail::CopyStream>> create(CudaDevice& device,
                                                              int marks) noexcept;
  ~CudaCopyStream() override;

  StreamHandle handle() const noexcept override { return stream_; }
  Expected<void> copy(const detail::RowCopy& rows) noexcept override;
  Expected<void> set_mark(int mark) noexcept override;
  Expected<bool> reached(int mark) noexcept override;

 private:
  explicit CudaCopyStream(CudaDevice& device) noexcept : device_(device) {}
  Expected<void> prepare(int marks) noexcept;

  CudaDevice& device_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<cudaEvent_t[]> marks_;
  int mark_count_ = 0;
};

}  // namespace ocellus::cuda
