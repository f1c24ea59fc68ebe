// CopyStream on CUDA.
#include <memory>
#include <new>
#include <utility>

#include "core/failure.h"
#include "kernels/core/cuda_device.h"

namespace ocellus::cuda {
namespace {

constexpr const char* kWho = "a stream of copies";

cudaMemcpyKind kind_of(detail::CopyDirection direction) noexcept {
  switch (direction) {
    case detail::CopyDirection::kToDevice:
      return cudaMemcpyHostToDevice;
    case detail::CopyDirection::kToHost:
      return cudaMemcpyDeviceToHost;
    case detail::CopyDirection::kBetweenDevices:
      return cudaMemcpyDeviceToDevice;
  }
  return cudaMemcpyDefault;
}

Error no_memory() noexcept {
  return make_error(Status::kOutOfMemory, "the system gave no memory for %s", kWho);
}

class CudaCopyStream final : public detail::CopyStream {
 public:
  explicit CudaCopyStream(CudaDevice& device) noexcept : device_(device) {}
  ~CudaCopyStream() override;
  Expected<void> prepare(int marks) noexcept;

  StreamHandle handle() const noexcept override { return stream_; }
  Expected<void> copy(const detail::RowCopy& rows) noexcept override;
  Expected<void> set_mark(int mark) noexcept override;
  Expected<bool> reached(int mark) noexcept override;

 private:
  CudaDevice& device_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<cudaEvent_t[]> marks_;
  int mark_count_ = 0;
};

Expected<void> CudaCopyStream::prepare(int marks) noexcept {
  marks_.reset(new (std::nothrow) cudaEvent_t[static_cast<std::size_t>(marks)]());
  if (!marks_) return tl::unexpected(no_memory());
  mark_count_ = marks;
  Scope cuda(device_, Phase::kCreating, kWho);
  OCELLUS_TRY_ASSIGN(stream, device_.make_stream(cuda, OperatorPriority::kNormal));
  stream_ = *stream;
  for (int i = 0; i < marks; ++i) {
    OCELLUS_TRY(cuda(kCudaCalls.create_event, &marks_[static_cast<std::size_t>(i)],
                     unsigned{cudaEventDisableTiming}));
  }
  return {};
}

CudaCopyStream::~CudaCopyStream() {
  if (device_.abandoned()) return;
  {
    Scope cuda(device_, Phase::kCreating, kWho);
    if (stream_ != nullptr) device_.finish(cuda, stream_);
    for (int i = 0; i < mark_count_; ++i) {
      const cudaEvent_t mark = marks_[static_cast<std::size_t>(i)];
      if (mark != nullptr) cuda.release(kCudaCalls.destroy_event, mark);
    }
    if (stream_ != nullptr) cuda.release(kCudaCalls.destroy_stream, stream_);
  }
  device_.log_loss();
}

Expected<void> CudaCopyStream::copy(const detail::RowCopy& rows) noexcept {
  Scope cuda(device_, Phase::kRunning, kWho);
  return cuda(kCudaCalls.copy_2d, rows.to, rows.to_stride, rows.from, rows.from_stride,
              rows.row_bytes, rows.rows, kind_of(rows.direction), stream_);
}

Expected<void> CudaCopyStream::set_mark(int mark) noexcept {
  Scope cuda(device_, Phase::kRunning, kWho);
  return cuda(kCudaCalls.record_event, marks_[static_cast<std::size_t>(mark)], stream_);
}

Expected<bool> CudaCopyStream::reached(int mark) noexcept {
  Scope cuda(device_, Phase::kRunning, kWho);
  return cuda.query(marks_[static_cast<std::size_t>(mark)]);
}

}  // namespace

Expected<std::unique_ptr<detail::CopyStream>> CudaDevice::make_copy_stream(int marks) noexcept {
  std::unique_ptr<CudaCopyStream> made(new (std::nothrow) CudaCopyStream(*this));
  if (!made) return tl::unexpected(no_memory());
  OCELLUS_TRY(made->prepare(marks));
  return std::unique_ptr<detail::CopyStream>(std::move(made));
}

}  // namespace ocellus::cuda
