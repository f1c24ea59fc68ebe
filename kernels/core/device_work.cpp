#include "kernels/core/device_work.h"

#include "core/failure.h"

namespace ocellus::cuda {

DeviceWork::~DeviceWork() {
  if (device_ == nullptr) return;
  if (stream_set_ >= 0) {
    {
      Scope cuda(*device_, Phase::kCreating, who_);
      finish(cuda);
      for (cudaEvent_t event : events_)
        if (event != nullptr) cuda.release(kCudaCalls.destroy_event, event);
      release(cuda, graph_);
    }
    device_->give_back_stream_set(stream_set_);
  }
  device_->give_back(MemorySpace::kCuda, device_piece_);
  device_->give_back(MemorySpace::kPinned, pinned_piece_);
}

Expected<void> DeviceWork::prepare(Engine& engine, const Footprint& bytes,
                                   const char* who) noexcept {
  if (engine.info().backend != BackendKind::kCuda)
    return tl::unexpected(
        make_error(Status::kUnsupported, "%s: the engine has no CUDA device", who));
  who_ = who;
  engine_ = detail::EngineAccess::share(engine);
  device_ = static_cast<CudaDevice*>(engine_->device());
  OCELLUS_TRY_ASSIGN(device_piece, device_->take(MemorySpace::kCuda, bytes.device));
  device_piece_ = *device_piece;
  device_bytes_ = bytes.device;
  if (bytes.pinned > 0) {
    OCELLUS_TRY_ASSIGN(pinned_piece, device_->take(MemorySpace::kPinned, bytes.pinned));
    pinned_piece_ = *pinned_piece;
  }
  stream_set_ = device_->take_stream_set();
  return {};
}

Expected<void> DeviceWork::start(Scope& cuda) noexcept {
  for (cudaEvent_t& event : events_) OCELLUS_TRY(cuda(kCudaCalls.create_event, &event, 0U));
  return clear(cuda, device_piece_, device_bytes_);
}

cudaStream_t DeviceWork::stream(WorkStream which) noexcept {
  const StreamSet& streams = device_->stream_set(stream_set_);
  if (which == WorkStream::kCompute) return streams.compute;
  copies_ = true;
  return which == WorkStream::kUpload ? streams.upload : streams.download;
}

void DeviceWork::finish(Scope& cuda) noexcept {
  device_->finish(cuda, stream());
  if (!copies_) return;
  device_->finish(cuda, stream(WorkStream::kUpload));
  device_->finish(cuda, stream(WorkStream::kDownload));
}

void DeviceWork::release(Scope& cuda, WorkGraph& graph) noexcept {
  if (graph.exec != nullptr) cuda.release(kCudaCalls.destroy_graph_exec, graph.exec);
  if (graph.graph != nullptr) cuda.release(kCudaCalls.destroy_graph, graph.graph);
  graph = {};
}

Expected<void> DeviceWork::copy(Scope& cuda, void* to, const void* from, std::size_t bytes,
                                cudaMemcpyKind kind, WorkStream in) noexcept {
  return cuda(kCudaCalls.copy, to, from, bytes, kind, stream(in));
}

Expected<void> DeviceWork::copy_rows(Scope& cuda, void* to, std::size_t to_pitch, const void* from,
                                     std::size_t from_pitch, std::size_t row_bytes,
                                     std::size_t rows, cudaMemcpyKind kind,
                                     WorkStream in) noexcept {
  return cuda(kCudaCalls.copy_2d, to, to_pitch, from, from_pitch, row_bytes, rows, kind,
              stream(in));
}

Expected<void> DeviceWork::copy_to_peer(Scope& cuda, DeviceWork& peer, void* to, const void* from,
                                        std::size_t bytes) noexcept {
  return cuda(kCudaCalls.copy_peer, to, peer.device_->number(), from, device_->number(), bytes,
              stream());
}

Expected<void> DeviceWork::upload(Scope& cuda, void* to, const void* from,
                                  std::size_t bytes) noexcept {
  OCELLUS_TRY(copy(cuda, to, from, bytes, cudaMemcpyHostToDevice));
  return finished(cuda, cuda(kCudaCalls.synchronize_stream, stream()));
}

Expected<void> DeviceWork::download(Scope& cuda, void* to, const void* from,
                                    std::size_t bytes) noexcept {
  OCELLUS_TRY(copy(cuda, to, from, bytes, cudaMemcpyDeviceToHost));
  return finished(cuda, cuda(kCudaCalls.synchronize_stream, stream()));
}

Expected<void> DeviceWork::clear(Scope& cuda, void* memory, std::size_t bytes) noexcept {
  return cuda(kCudaCalls.set, memory, 0, bytes, stream());
}

Expected<void> DeviceWork::begin_graph(Scope& cuda) noexcept {
  return cuda(kCudaCalls.begin_capture, stream(), cudaStreamCaptureModeThreadLocal);
}

Expected<void> DeviceWork::end_graph(Scope& cuda, WorkGraph& graph) noexcept {
  OCELLUS_TRY(cuda(kCudaCalls.end_capture, stream(), &graph.graph));
  OCELLUS_TRY(cuda(kCudaCalls.instantiate_graph, &graph.exec, graph.graph));
  return cuda(kCudaCalls.upload_graph, graph.exec, stream());
}

Expected<void> DeviceWork::run_graph(Scope& cuda, const WorkGraph& graph) noexcept {
  return cuda(kCudaCalls.launch_graph, graph.exec, stream());
}

Expected<void> DeviceWork::record(Scope& cuda, std::size_t event, WorkStream in) noexcept {
  return cuda(kCudaCalls.record_event, events_[event], stream(in));
}

Expected<void> DeviceWork::let_wait(Scope& cuda, WorkStream in, const DeviceWork& other,
                                    std::size_t event) noexcept {
  return cuda(kCudaCalls.wait_for_event, stream(in), other.events_[event], 0U);
}

Expected<void> DeviceWork::wait_for(Scope& cuda, std::size_t event) noexcept {
  return cuda(kCudaCalls.synchronize_event, events_[event]);
}

Expected<double> DeviceWork::elapsed(Scope& cuda, std::size_t from, std::size_t to) noexcept {
  float ms = 0.0f;
  OCELLUS_TRY(cuda(kCudaCalls.elapsed, &ms, events_[from], events_[to]));
  return static_cast<double>(ms);
}

Expected<void> DeviceWork::settle(Scope& cuda) noexcept {
  finish(cuda);
  if (device_->lost()) return tl::unexpected(device_->loss());
  return {};
}

Expected<void> DeviceWork::finished(Scope& cuda, Expected<void> done) noexcept {
  if (!done) finish(cuda);
  return done;
}

}  // namespace ocellus::cuda
