#include "cluster/transfers.h"

#include <cassert>

namespace ocellus::cluster {
namespace {

/// A row of some planes. The next one follows at the distance of the rows.
MPI_Datatype row_type(const SlotPlanes& planes, int width, int plane_count) {
  MPI_Datatype row = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(plane_count, width * planes.pixel_bytes,
                          static_cast<MPI_Aint>(planes.plane_bytes()), MPI_BYTE, &row);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(row, 0, static_cast<MPI_Aint>(planes.stride), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&row);
  return type;
}

/// `parts` of planes that the root has at their places in the image.
Collective of_rows(Collective::Kind kind, const SlotPlanes& planes, int slot, int plane_count,
                   std::span<const Rect> parts, int rank, MPI_Comm communicator) {
  Collective made;
  made.kind = kind;
  made.communicator = communicator;
  made.rank = rank;
  const Rect& mine = parts[static_cast<std::size_t>(rank)];
  made.data = rank == 0 ? planes.at(slot, 0, planes.rect.x, planes.rect.y)
                        : planes.at(slot, 0, mine.x, mine.y);
  made.row = row_type(planes, mine.width, plane_count);
  for (const Rect& part : parts) {
    made.rows.push_back(part.height);
    made.first.push_back(part.y - planes.rect.y);
  }
  made.rows.front() = 0;
  return made;
}

/// The bytes of the other ranks on the root, the own ones elsewhere.
std::size_t bytes_of_parts(std::span<const Rect> parts, int rank, std::size_t pixel_bytes) {
  std::size_t pixels = 0;
  for (std::size_t r = 0; r < parts.size(); ++r) {
    const bool counts = rank == 0 ? r != 0 : r == static_cast<std::size_t>(rank);
    if (!counts) continue;
    pixels += static_cast<std::size_t>(parts[r].width) * static_cast<std::size_t>(parts[r].height);
  }
  return pixels * pixel_bytes;
}

}  // namespace

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
  requests_.insert(requests_.begin() + static_cast<std::ptrdiff_t>(messages_.size()),
                   message.request());
  message.request() = MPI_REQUEST_NULL;
  messages_.push_back(std::move(message));
}

void Messages::add(Collective collective, std::size_t bytes) {
  bytes_ += bytes;
  requests_.push_back(MPI_REQUEST_NULL);
  collectives_.push_back(std::move(collective));
}

void Messages::add_broadcast(void* bytes, int count, int rank, MPI_Comm communicator) {
  Collective made;
  made.communicator = communicator;
  made.rank = rank;
  made.data = bytes;
  made.rows = {count};
  add(std::move(made), static_cast<std::size_t>(count));
}

void Messages::add_scatter(const SlotPlanes& planes, int slot, std::span<const Rect> parts,
                           int rank, MPI_Comm communicator) {
  Collective made = of_rows(Collective::Kind::kScatter, planes, slot, 1, parts, rank, communicator);
  for (std::size_t r = 0, first = 0; r < parts.size(); ++r) {
    made.first[r] = static_cast<int>(first);
    first += static_cast<std::size_t>(parts[r].height);
  }
  add(std::move(made), bytes_of_parts(parts, rank, static_cast<std::size_t>(planes.pixel_bytes)));
}

void Messages::add_gather(const SlotPlanes& planes, int slot, std::span<const Rect> parts, int rank,
                          MPI_Comm communicator) {
  add(of_rows(Collective::Kind::kGather, planes, slot, planes.planes, parts, rank, communicator),
      bytes_of_parts(parts, rank, static_cast<std::size_t>(planes.pixel_bytes * planes.planes)));
}

Messages::~Messages() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  assert(!active_);
  for (std::size_t i = 0; i < messages_.size(); ++i) MPI_Request_free(&requests_[i]);
  for (Collective& collective : collectives_)
    if (collective.row != MPI_DATATYPE_NULL) MPI_Type_free(&collective.row);
}

void Messages::start() {
  assert(!active_);
  if (requests_.empty()) return;
  if (!messages_.empty()) MPI_Startall(static_cast<int>(messages_.size()), requests_.data());
  for (std::size_t i = 0; i < collectives_.size(); ++i) {
    Collective& c = collectives_[i];
    MPI_Request& request = requests_[messages_.size() + i];
    const int mine = c.kind == Collective::Kind::kBroadcast
                         ? c.rows[0]
                         : c.rows[static_cast<std::size_t>(c.rank)];
    void* const all = c.rank == 0 ? c.data : nullptr;
    void* const own = c.rank == 0 ? nullptr : c.data;
    switch (c.kind) {
      case Collective::Kind::kBroadcast:
        MPI_Ibcast(c.data, mine, MPI_BYTE, 0, c.communicator, &request);
        break;
      case Collective::Kind::kScatter:
        MPI_Iscatterv(all, c.rows.data(), c.first.data(), c.row, own, mine, c.row, 0,
                      c.communicator, &request);
        break;
      case Collective::Kind::kGather:
        MPI_Igatherv(own, mine, c.row, all, c.rows.data(), c.first.data(), c.row, 0, c.communicator,
                     &request);
        break;
    }
  }
  active_ = true;
}

bool Messages::done() {
  if (!active_) return true;
  int flag = 0;
  MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &flag, MPI_STATUSES_IGNORE);
  active_ = flag == 0;
  return !active_;
}

void Messages::cancel_receives() {
  if (!active_) return;
  for (std::size_t i = 0; i < messages_.size(); ++i) MPI_Cancel(&requests_[i]);
}

}  // namespace ocellus::cluster
