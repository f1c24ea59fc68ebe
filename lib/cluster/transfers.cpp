#include "cluster/transfers.h"

#include <cassert>
#include <utility>

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

/// The rows of planes that a collective operation moves.
struct PartRows {
  void* data = nullptr;  ///< on the root the first row of all parts, else of the own part
  MPI_Datatype row = MPI_DATATYPE_NULL;
  /// Of each rank's part. The root's own part has no row, because the root uses it while the
  /// operation is active.
  std::vector<int> rows{};
  std::vector<int> first{};  ///< row of each rank's part, counted from that of `data` on the root
};

/// `parts` of planes that the root has at their places in the image.
PartRows rows_of(const SlotPlanes& planes, int slot, int plane_count, std::span<const Rect> parts,
                 int rank) {
  const Rect& mine = parts[static_cast<std::size_t>(rank)];
  PartRows made{rank == 0 ? planes.at(slot, 0, planes.rect.x, planes.rect.y)
                          : planes.at(slot, 0, mine.x, mine.y),
                row_type(planes, mine.width, plane_count)};
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

/// Returns what the addresses of the type are relative to. A message with one block names it,
/// because MPI recognizes device memory by this address. Device memory needs a message of its own.
void* Messages::make_type(const Message& message) {
  const std::vector<Message::Block>& blocks = message.blocks_;
  void* const base = blocks.size() == 1 ? blocks.front().bytes : MPI_BOTTOM;
  std::vector<int> counts(blocks.size(), 1);
  std::vector<MPI_Aint> at;
  std::vector<MPI_Datatype> types;
  for (const Message::Block& block : blocks) {
    MPI_Aint address = 0;
    if (base == MPI_BOTTOM) MPI_Get_address(block.bytes, &address);
    at.push_back(address);
    types.push_back(block.type);
  }
  MPI_Datatype& type = types_.emplace_back(MPI_DATATYPE_NULL);
  MPI_Type_create_struct(static_cast<int>(blocks.size()), counts.data(), at.data(), types.data(),
                         &type);
  MPI_Type_commit(&type);
  for (MPI_Datatype& part : types) MPI_Type_free(&part);
  bytes_ += message.bytes_;
  return base;
}

void Messages::add_send(const Message& message, int to, int tag, MPI_Comm communicator) {
  void* const base = make_type(message);
  MPI_Send_init(base, 1, types_.back(), to, tag, communicator,
                &requests_.emplace_back(MPI_REQUEST_NULL));
}

void Messages::add_receive(const Message& message, int from, int tag, MPI_Comm communicator) {
  void* const base = make_type(message);
  MPI_Recv_init(base, 1, types_.back(), from, tag, communicator,
                &requests_.emplace_back(MPI_REQUEST_NULL));
}

void Messages::add_collective(std::size_t bytes, std::function<void(MPI_Request&)> start) {
  bytes_ += bytes;
  requests_.push_back(MPI_REQUEST_NULL);
  collectives_.push_back(std::move(start));
}

void Messages::add_broadcast(void* bytes, int count, MPI_Comm communicator) {
  add_collective(static_cast<std::size_t>(count), [=](MPI_Request& request) {
    MPI_Ibcast(bytes, count, MPI_BYTE, 0, communicator, &request);
  });
}

void Messages::add_scatter(const SlotPlanes& planes, int slot, std::span<const Rect> parts,
                           int rank, MPI_Comm communicator) {
  PartRows made = rows_of(planes, slot, 1, parts, rank);
  for (std::size_t r = 0, first = 0; r < parts.size(); ++r) {
    made.first[r] = static_cast<int>(first);
    first += static_cast<std::size_t>(parts[r].height);
  }
  types_.push_back(made.row);
  add_collective(bytes_of_parts(parts, rank, static_cast<std::size_t>(planes.pixel_bytes)),
                 [=](MPI_Request& request) {
                   MPI_Iscatterv(rank == 0 ? made.data : nullptr, made.rows.data(),
                                 made.first.data(), made.row, rank == 0 ? nullptr : made.data,
                                 made.rows[static_cast<std::size_t>(rank)], made.row, 0,
                                 communicator, &request);
                 });
}

void Messages::add_gather(const SlotPlanes& planes, int slot, std::span<const Rect> parts, int rank,
                          MPI_Comm communicator) {
  const PartRows made = rows_of(planes, slot, planes.planes, parts, rank);
  types_.push_back(made.row);
  add_collective(
      bytes_of_parts(parts, rank, static_cast<std::size_t>(planes.pixel_bytes * planes.planes)),
      [=](MPI_Request& request) {
        MPI_Igatherv(rank == 0 ? nullptr : made.data, made.rows[static_cast<std::size_t>(rank)],
                     made.row, rank == 0 ? made.data : nullptr, made.rows.data(), made.first.data(),
                     made.row, 0, communicator, &request);
      });
}

Messages::~Messages() {
  // After MPI_Finalize, nothing of MPI may be called; it has freed everything.
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  assert(!active_);
  if (collectives_.empty())
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  for (MPI_Datatype& type : types_) MPI_Type_free(&type);
}

void Messages::start() {
  assert(!active_);
  if (requests_.empty()) return;
  if (collectives_.empty()) MPI_Startall(static_cast<int>(requests_.size()), requests_.data());
  for (std::size_t i = 0; i < collectives_.size(); ++i) collectives_[i](requests_[i]);
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
  if (!active_ || !collectives_.empty()) return;
  for (MPI_Request& request : requests_) MPI_Cancel(&request);
}

}  // namespace ocellus::cluster
