#include "cluster/transfers.h"

namespace ocellus::cluster {

Message& Message::operator=(Message&& other) noexcept {
  std::swap(blocks_, other.blocks_);
  std::swap(bytes_, other.bytes_);
  std::swap(type_, other.type_);
  std::swap(request_, other.request_);
  return *this;
}

Message::~Message() {
  // After MPI_Finalize, nothing of MPI may be called; it has freed everything.
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  if (request_ != MPI_REQUEST_NULL) MPI_Request_free(&request_);
  if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  for (Block& block : blocks_) MPI_Type_free(&block.type);
}

void Message::add(void* bytes, std::size_t count) {
  Block block{};
  block.bytes = bytes;
  MPI_Type_contiguous(static_cast<int>(count), MPI_BYTE, &block.type);
  blocks_.push_back(block);
  bytes_ += count;
}

void Message::add(const SlotPlanes& planes, int slot, const Rect& part) {
  const int row = part.width * planes.pixel_bytes;
  MPI_Datatype rows = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(part.height, row, static_cast<MPI_Aint>(planes.stride), MPI_BYTE, &rows);
  Block block{};
  block.bytes = planes.at(slot, 0, part.x, part.y);
  MPI_Type_create_hvector(planes.planes, 1, static_cast<MPI_Aint>(planes.plane_bytes()), rows,
                          &block.type);
  MPI_Type_free(&rows);
  blocks_.push_back(block);
  bytes_ += static_cast<std::size_t>(row) * static_cast<std::size_t>(part.height) *
            static_cast<std::size_t>(planes.planes);
}

void Message::make_type() {
  std::vector<int> counts(blocks_.size(), 1);
  std::vector<MPI_Aint> at;
  std::vector<MPI_Datatype> types;
  for (const Block& block : blocks_) {
    MPI_Aint address = 0;
    if (base() == MPI_BOTTOM) MPI_Get_address(block.bytes, &address);
    at.push_back(address);
    types.push_back(block.type);
  }
  MPI_Type_create_struct(static_cast<int>(blocks_.size()), counts.data(), at.data(), types.data(),
                         &type_);
  MPI_Type_commit(&type_);
}

void* Message::base() const {
  return blocks_.size() == 1 ? blocks_.front().bytes : MPI_BOTTOM;
}

void Message::make_send(int to, int tag, MPI_Comm communicator) {
  make_type();
  MPI_Send_init(base(), 1, type_, to, tag, communicator, &request_);
}

void Message::make_receive(int from, int tag, MPI_Comm communicator) {
  make_type();
  MPI_Recv_init(base(), 1, type_, from, tag, communicator, &request_);
}

void Messages::add(Message message) {
  bytes_ += message.bytes();
  requests_.push_back(message.request());
  message.request() = MPI_REQUEST_NULL;
  messages_.push_back(std::move(message));
}

Messages::~Messages() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  for (MPI_Request& request : requests_) MPI_Request_free(&request);
}

void Messages::start() {
  if (requests_.empty()) return;
  MPI_Startall(static_cast<int>(requests_.size()), requests_.data());
  started_ = true;
}

bool Messages::done() {
  if (!started_) return true;
  int flag = 0;
  MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &flag, MPI_STATUSES_IGNORE);
  if (flag != 0) started_ = false;
  return flag != 0;
}

void Messages::wait() {
  if (!started_) return;
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  started_ = false;
}

void Messages::cancel() {
  if (!started_) return;
  for (MPI_Request& request : requests_) MPI_Cancel(&request);
  wait();
}

}  // namespace ocellus::cluster
