// The C interface over the list of operators and OperatorHandle. It names no operator.
#include "ocellus/ocellus_c.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "core/c_interface.h"
#include "core/checks.h"
#include "core/failure.h"
#include "ocellus/deadline.h"
#include "ocellus/engine.h"
#include "ocellus/frame_mailbox.h"
#include "ocellus/operator_group.h"
#include "ocellus/operators.h"
#include "ocellus/version.h"

// NOLINTBEGIN(readability-identifier-naming): the names of the C interface
struct ocellus_engine {
  ocellus::Engine engine;
};

struct ocellus_mailbox {
  ocellus::FrameMailbox mailbox;
};

struct ocellus_group {
  ocellus::OperatorGroup group;
};
// NOLINTEND(readability-identifier-naming)

namespace ocellus {
namespace {

using detail::enum_of;
using detail::fail;
using detail::fail_null;
using detail::invalid_argument;
using detail::refuse_null;

// ---- results that must have the same values in both interfaces

template <typename Enum>
constexpr bool same(std::int32_t value, Enum member) noexcept {
  return value == static_cast<std::int32_t>(member);
}
static_assert(same(OCELLUS_OK, Status::kOk) &&
              same(OCELLUS_INVALID_ARGUMENT, Status::kInvalidArgument) &&
              same(OCELLUS_UNSUPPORTED, Status::kUnsupported) &&
              same(OCELLUS_OUT_OF_MEMORY, Status::kOutOfMemory) &&
              same(OCELLUS_QUEUE_FULL, Status::kQueueFull) &&
              same(OCELLUS_INVALID_TICKET, Status::kInvalidTicket) &&
              same(OCELLUS_DEADLINE_MISSED, Status::kDeadlineMissed) &&
              same(OCELLUS_BACKEND_UNAVAILABLE, Status::kBackendUnavailable) &&
              same(OCELLUS_DEVICE_LOST, Status::kDeviceLost) &&
              same(OCELLUS_CORRUPT_FILE, Status::kCorruptFile) &&
              same(OCELLUS_IO_ERROR, Status::kIoError) && same(OCELLUS_SYSTEM, Status::kSystem) &&
              same(OCELLUS_STOPPED, Status::kStopped));
static_assert(same(OCELLUS_FIELD_INT32, FieldType::kInt32) &&
              same(OCELLUS_FIELD_UINT32, FieldType::kUint32) &&
              same(OCELLUS_FIELD_FLOAT, FieldType::kFloat) &&
              same(OCELLUS_FIELD_BOOL, FieldType::kBool) && sizeof(bool) == 1);
static_assert(same(OCELLUS_ROLE_VALUE, FieldRole::kValue) &&
              same(OCELLUS_ROLE_COUNT, FieldRole::kCount) &&
              same(OCELLUS_ROLE_LABEL, FieldRole::kLabel) &&
              same(OCELLUS_ROLE_CONFIDENCE, FieldRole::kConfidence) &&
              same(OCELLUS_ROLE_BOX, FieldRole::kBox) &&
              same(OCELLUS_ROLE_TEXT, FieldRole::kText) &&
              same(OCELLUS_ROLE_FLAG, FieldRole::kFlag));
static_assert(same(OCELLUS_WARMING_UP, kWarmingUp) && same(OCELLUS_BAD_PIXELS, kBadPixels));
static_assert(OCELLUS_ERROR_TEXT_CAPACITY == Error::kTextCapacity);
static_assert(OCELLUS_MAX_PLANES == kMaxOutputPlanes);
static_assert(sizeof(ocellus_engine_info::device_name) == sizeof(EngineInfo::device_name));
static_assert(sizeof(ocellus_operator_info::summary) == sizeof(OperatorInfo::summary));

ocellus_status result_of(const Expected<void>& result, ocellus_error* out) noexcept {
  return result ? OCELLUS_OK : fail(result.error(), out);
}

// ---- configurations

tl::unexpected<Error> unknown_operator(const char* name) noexcept {
  char names[160] = "";
  std::size_t at = 0;
  for (const OperatorDescription& description : operators()) {
    const int wrote = std::snprintf(names + at, sizeof(names) - at, "%s%s", at == 0 ? "" : ", ",
                                    description.name);
    if (wrote < 0 || at + static_cast<std::size_t>(wrote) >= sizeof(names)) break;
    at += static_cast<std::size_t>(wrote);
  }
  return invalid_argument("there is no operator \"%.*s\"; there are %s", detail::shown(name), name,
                          names);
}

using Settings = std::array<OptionSetting, OCELLUS_MAX_OPTIONS>;

/// Options of the caller, which `settings` then holds. `what`: the operator, or "engine".
Expected<std::span<const OptionSetting>> settings_of(const char* what,
                                                     const ocellus_option* options,
                                                     std::size_t count,
                                                     Settings& settings) noexcept {
  if (options == nullptr && count > 0)
    return invalid_argument("%s: options is null, but option_count is %zu", what, count);
  if (count > OCELLUS_MAX_OPTIONS) {
    return invalid_argument("%s: option_count is %zu; it must be at most %d", what, count,
                            OCELLUS_MAX_OPTIONS);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const ocellus_option& option = options[i];
    if (option.name == nullptr || option.value == nullptr) {
      return invalid_argument("%s: the %s of option %zu is null", what,
                              option.name == nullptr ? "name" : "value", i);
    }
    settings[i] = {option.name, option.value};
  }
  return std::span<const OptionSetting>(settings.data(), count);
}

Expected<OperatorConfig> config_of(const ocellus_operator_config& given) noexcept {
  if (given.name == nullptr) return invalid_argument("the operator's name is null");
  const OperatorDescription* const description = find_operator(given.name);
  if (description == nullptr) return unknown_operator(given.name);
  Settings memory;
  OCELLUS_TRY_ASSIGN(settings, settings_of(given.name, given.options, given.option_count, memory));
  OperatorConfig config(*description);
  OCELLUS_TRY(config.set_options(*settings));
  OCELLUS_TRY_ASSIGN(format, enum_of<PixelFormat>("format", given.format));
  const bool whole_range = given.black == 0.0f && given.white == 0.0f;
  config.set_input({given.width, given.height}, *format,
                   whole_range ? GrayRange{} : GrayRange{given.black, given.white});
  return config;
}

Expected<EngineConfig> config_of(const ocellus_engine_config* given) noexcept {
  EngineConfig config;
  if (given == nullptr) return config;
  if (given->backend != nullptr) {
    OCELLUS_TRY_ASSIGN(backend, BackendSpec::parse(given->backend));
    config.backend = *backend;
  }
  config.workers = given->workers;
  config.realtime_priority = given->realtime_priority;
  config.lock_memory = given->lock_memory != 0;
  config.workers_only = given->workers_only != 0;
  config.memory = {given->memory.host, given->memory.pinned, given->memory.device};
  if (given->affinity == nullptr && given->affinity_count > 0)
    return invalid_argument("affinity is null, but affinity_count is %zu", given->affinity_count);
  if (given->affinity_count > config.affinity.size()) {
    return invalid_argument("affinity_count is %zu; it must be at most %zu", given->affinity_count,
                            config.affinity.size());
  }
  std::copy_n(given->affinity, given->affinity_count, config.affinity.begin());
  OCELLUS_TRY_ASSIGN(wait, enum_of<DeviceWait>("device_wait", given->device_wait));
  config.device_wait = *wait;
  if (given->device_stream_sets != 0) config.device_stream_sets = given->device_stream_sets;
  config.device_copy_threads = given->device_copy_threads;
  Settings memory;
  OCELLUS_TRY_ASSIGN(settings, settings_of("engine", given->options, given->option_count, memory));
  OCELLUS_TRY(set_options(config, *settings));
  return config;
}

/// An engine with memory for these operators. As `create_engine`, which wants all configurations of
/// C++ at once and so an array of them.
Expected<Engine> make_engine(const ocellus_engine_config* given,
                             const ocellus_operator_config* operators,
                             std::size_t operator_count) noexcept {
  OCELLUS_TRY_ASSIGN(config, config_of(given));
  OCELLUS_TRY_ASSIGN(probed, Engine::probe(*config));
  for (std::size_t i = 0; i < operator_count; ++i) {
    OCELLUS_TRY_ASSIGN(one, config_of(operators[i]));
    OCELLUS_TRY_ASSIGN(footprint, one->footprint(*probed));
    config->memory += *footprint;
  }
  return Engine::create(*config);
}

// ---- what the library tells

ocellus_footprint described(const Footprint& from) noexcept {
  return {from.host, from.pinned, from.device};
}

ocellus_field_info described(const RecordField& field) noexcept {
  return {field.name,     field.help,   static_cast<ocellus_field_type>(field.type),
          field.capacity, field.offset, static_cast<ocellus_field_role>(field.role)};
}

void describe(const EngineInfo& from, ocellus_engine_info& info) noexcept {
  info = {};
  info.backend = backend_name(from.backend);
  info.device = from.device;
  info.workers = from.workers;
  std::memcpy(info.device_name, from.device_name, sizeof(info.device_name));
  info.simd_target = from.simd_target;
  info.integrated = from.integrated ? 1 : 0;
  info.zero_copy = from.zero_copy ? 1 : 0;
  info.workers_only = from.workers_only ? 1 : 0;
}

void describe(const OperatorInfo& from, ocellus_operator_info& info) noexcept {
  info = {};
  info.name = from.name;
  info.width = from.size.width;
  info.height = from.size.height;
  info.format = static_cast<ocellus_format>(from.format);
  info.plane_count = from.plane_count;
  for (std::size_t p = 0; p < static_cast<std::size_t>(from.plane_count); ++p) {
    const PlaneInfo& plane = from.planes[p];
    info.planes[p] = {plane.name,
                      plane.size.width,
                      plane.size.height,
                      static_cast<ocellus_format>(plane.format),
                      plane.optional ? 1 : 0,
                      plane.levels,
                      plane.follows_frame ? 1 : 0,
                      plane.color == PictureColor::kKept ? 1 : 0};
  }
  if (from.record != nullptr) {
    info.record_name = from.record->name;
    info.record_bytes = from.record->bytes;
    info.field_count = from.record->field_count;
    info.classes = from.classes;
    info.text_parts = from.text_parts;
  }
  info.depth = from.depth;
  info.support_frames = from.support_frames;
  info.delay_frames = from.delay_frames;
  info.keeps_state = from.keeps_state ? 1 : 0;
  info.learns = from.learns ? 1 : 0;
  std::memcpy(info.summary, from.summary, sizeof(info.summary));
}

void describe(const FrameInfo& from, ocellus_frame_info* info) noexcept {
  if (info == nullptr) return;
  *info = {
      from.sequence,     from.timestamp_ns, from.described_sequence, from.described_timestamp_ns,
      from.delay_frames, from.flags,        from.queue_ns,           from.copy_ns,
      from.compute_ns};
}

Deadline deadline_at(std::int64_t ns) noexcept {
  static_assert(std::is_same_v<Deadline::Clock::duration, std::chrono::nanoseconds>);
  return Deadline::at(Deadline::Clock::time_point(std::chrono::nanoseconds(ns)));
}

/// Gives the caller what was made, in memory of its own.
template <typename Handle, typename Made>
ocellus_status give(Expected<Made> made, Handle** to, ocellus_error* error) noexcept {
  if (!made) return fail(made.error(), error);
  auto* const handle = new (std::nothrow) Handle{std::move(*made)};
  if (handle == nullptr) return fail(detail::no_memory_for_operator().value(), error);
  *to = handle;
  return OCELLUS_OK;
}

/// A frame and the destination of its result.
struct Request {
  Frame in;
  OperatorOutput out;
};

Expected<Request> request_of(const OperatorInfo& info, const ocellus_frame& frame,
                             const ocellus_plane* planes, std::size_t plane_count,
                             void* record) noexcept {
  if (planes == nullptr && plane_count > 0) return invalid_argument("planes is null");
  if (plane_count > OCELLUS_MAX_PLANES) {
    return invalid_argument("plane_count is %zu; %s has %d planes", plane_count, info.name,
                            info.plane_count);
  }
  Request request;
  for (std::size_t p = 0; p < plane_count; ++p) {
    OCELLUS_TRY_ASSIGN(plane, detail::view_of(planes[p], p));
    request.out.planes[p] = *plane;
  }
  request.out.record = record;
  OCELLUS_TRY_ASSIGN(format, enum_of<PixelFormat>("frame.format", frame.format));
  OCELLUS_TRY_ASSIGN(space, enum_of<MemorySpace>("frame.memory", frame.memory));
  request.in = {.data = frame.data,
                .size = {frame.width, frame.height},
                .stride = frame.stride,
                .format = *format,
                .space = *space,
                .stream = frame.stream,
                .sequence = frame.sequence,
                .timestamp_ns = frame.timestamp_ns};
  return request;
}

/// What a mailbox is made of.
struct MailboxKind {
  ImageSize size;
  PixelFormat format;
  MemorySpace space;
};

Expected<MailboxKind> mailbox_kind(std::int32_t width, std::int32_t height, ocellus_format format,
                                   ocellus_memory memory) noexcept {
  OCELLUS_TRY_ASSIGN(pixels, enum_of<PixelFormat>("format", format));
  OCELLUS_TRY_ASSIGN(space, enum_of<MemorySpace>("memory", memory));
  OCELLUS_TRY(detail::check_geometry({width, height}, *pixels, {}, 1));
  return MailboxKind{{width, height}, *pixels, *space};
}

Expected<OperatorGroup> make_group(const ocellus_engine_config* engines, std::size_t engine_count,
                                   const ocellus_operator_config& config,
                                   std::int32_t camera_count) noexcept {
  std::array<EngineConfig, kMaxGroupEngines> settings;
  if (engine_count > settings.size()) {
    return invalid_argument("engine_count is %zu; it must be 1 to %zu", engine_count,
                            settings.size());
  }
  for (std::size_t i = 0; i < engine_count; ++i) {
    OCELLUS_TRY_ASSIGN(one, config_of(&engines[i]));
    settings[i] = *one;
  }
  OCELLUS_TRY_ASSIGN(checked, config_of(config));
  return OperatorGroup::create(std::span(settings).first(engine_count), *checked, camera_count);
}

const OperatorDescription* operator_at(std::size_t index) noexcept {
  return index < operators().size() ? &operators()[index] : nullptr;
}

}  // namespace
}  // namespace ocellus

using namespace ocellus;

const char* ocellus_version(void) {
  return version();
}

const char* ocellus_status_name(ocellus_status status) {
  // A number that is no byte is that of no status, either.
  constexpr std::uint8_t kNone = std::numeric_limits<std::uint8_t>::max();
  const bool byte = status >= 0 && status < kNone;
  return status_name(static_cast<Status>(byte ? static_cast<std::uint8_t>(status) : kNone));
}

const char* ocellus_operator_name(size_t index) {
  const OperatorDescription* const description = operator_at(index);
  return description == nullptr ? nullptr : description->name;
}

const char* ocellus_operator_summary(size_t index) {
  const OperatorDescription* const description = operator_at(index);
  return description == nullptr ? nullptr : description->summary;
}

ptrdiff_t ocellus_row_bytes(ocellus_format format, int32_t width) {
  const Expected<PixelFormat> pixels = enum_of<PixelFormat>("format", format);
  return pixels ? row_bytes(*pixels, width) : 0;
}

int64_t ocellus_deadline_after(int64_t duration_ns) {
  const Deadline deadline = Deadline::after(std::chrono::nanoseconds(duration_ns));
  return deadline.time().time_since_epoch().count();
}

ocellus_status ocellus_engine_probe(const ocellus_engine_config* config, ocellus_engine_info* info,
                                    ocellus_error* error) {
  if (info == nullptr) return fail_null("info", error);
  const Expected<EngineConfig> checked = config_of(config);
  if (!checked) return fail(checked.error(), error);
  const Expected<EngineInfo> probed = Engine::probe(*checked);
  if (!probed) return fail(probed.error(), error);
  describe(*probed, *info);
  return OCELLUS_OK;
}

ocellus_status ocellus_engine_create(const ocellus_engine_config* config,
                                     const ocellus_operator_config* operators,
                                     size_t operator_count, ocellus_engine** engine,
                                     ocellus_error* error) {
  if (engine == nullptr) return fail_null("engine", error);
  if (operators == nullptr && operator_count > 0) return fail_null("operators", error);
  return give(make_engine(config, operators, operator_count), engine, error);
}

void ocellus_engine_destroy(ocellus_engine* engine) {
  delete engine;
}

ocellus_status ocellus_engine_get_info(const ocellus_engine* engine, ocellus_engine_info* info,
                                       ocellus_error* error) {
  if (const auto bad = refuse_null({{"engine", engine}, {"info", info}}, error)) return bad;
  describe(engine->engine.info(), *info);
  return OCELLUS_OK;
}

ocellus_status ocellus_engine_get_memory_use(const ocellus_engine* engine, ocellus_memory_use* use,
                                             ocellus_error* error) {
  if (const auto bad = refuse_null({{"engine", engine}, {"use", use}}, error)) return bad;
  const MemoryUse from = engine->engine.memory_use();
  *use = {described(from.capacity), described(from.used), described(from.peak), from.pieces};
  return OCELLUS_OK;
}

ocellus_status ocellus_operator_probe(const ocellus_operator_config* config,
                                      ocellus_operator_info* info, ocellus_error* error) {
  if (const auto bad = refuse_null({{"config", config}, {"info", info}}, error)) return bad;
  const Expected<OperatorConfig> checked = config_of(*config);
  if (!checked) return fail(checked.error(), error);
  const Expected<OperatorInfo> probed = checked->info();
  if (!probed) return fail(probed.error(), error);
  describe(*probed, *info);
  return OCELLUS_OK;
}

ocellus_status ocellus_operator_footprint(const ocellus_engine_config* engine,
                                          const ocellus_operator_config* config,
                                          ocellus_footprint* footprint, ocellus_error* error) {
  if (const auto bad = refuse_null({{"config", config}, {"footprint", footprint}}, error))
    return bad;
  const auto bytes = [&]() -> Expected<Footprint> {
    OCELLUS_TRY_ASSIGN(on, config_of(engine));
    OCELLUS_TRY_ASSIGN(probed, Engine::probe(*on));
    OCELLUS_TRY_ASSIGN(checked, config_of(*config));
    return checked->footprint(*probed);
  }();
  if (!bytes) return fail(bytes.error(), error);
  *footprint = described(*bytes);
  return OCELLUS_OK;
}

ocellus_status ocellus_operator_create(ocellus_engine* engine,
                                       const ocellus_operator_config* config, ocellus_operator** op,
                                       ocellus_error* error) {
  if (const auto bad = refuse_null({{"engine", engine}, {"config", config}, {"op", op}}, error))
    return bad;
  const Expected<OperatorConfig> checked = config_of(*config);
  if (!checked) return fail(checked.error(), error);
  return give(checked->create(engine->engine), op, error);
}

void ocellus_operator_destroy(ocellus_operator* op) {
  delete op;
}

ocellus_status ocellus_operator_get_info(const ocellus_operator* op, ocellus_operator_info* info,
                                         ocellus_error* error) {
  if (const auto bad = refuse_null({{"op", op}, {"info", info}}, error)) return bad;
  describe(op->handle.info(), *info);
  return OCELLUS_OK;
}

ocellus_status ocellus_operator_get_field(const ocellus_operator* op, size_t index,
                                          ocellus_field_info* field, ocellus_error* error) {
  if (const auto bad = refuse_null({{"op", op}, {"field", field}}, error)) return bad;
  const RecordInfo* const record = op->handle.info().record;
  const int count = record == nullptr ? 0 : record->field_count;
  if (index >= static_cast<std::size_t>(count)) {
    return fail(invalid_argument("there is no field %zu; the record of %s has %d fields", index,
                                 op->handle.info().name, count)
                    .value(),
                error);
  }
  *field = described(record->fields[index]);
  return OCELLUS_OK;
}

ocellus_status ocellus_operator_read_field(const ocellus_operator* op, const void* record,
                                           const char* field, size_t index, double* value,
                                           ocellus_error* error) {
  if (const auto bad =
          refuse_null({{"op", op}, {"record", record}, {"field", field}, {"value", value}}, error))
    return bad;
  const RecordInfo* const described_by = op->handle.info().record;
  const int count = described_by == nullptr ? 0 : described_by->field_count;
  for (int f = 0; f < count; ++f) {
    const RecordField& one = described_by->fields[f];
    if (std::strcmp(one.name, field) != 0) continue;
    if (index >= one.capacity) {
      return fail(invalid_argument("index is %zu; the field %s has %d values", index, one.name,
                                   one.capacity)
                      .value(),
                  error);
    }
    *value = field_value(one, record, static_cast<int>(index));
    return OCELLUS_OK;
  }
  return fail(invalid_argument("the record of %s has no field \"%.*s\"", op->handle.info().name,
                               detail::shown(field), field)
                  .value(),
              error);
}

const char* ocellus_operator_class_name(const ocellus_operator* op, int32_t label) {
  return op == nullptr ? "" : op->handle.info().class_name(label);
}

ocellus_status ocellus_operator_write_text(const ocellus_operator* op, const void* record,
                                           int32_t part, char* text, size_t capacity,
                                           size_t* length, ocellus_error* error) {
  if (const auto bad = refuse_null({{"op", op}, {"record", record}}, error)) return bad;
  if (text == nullptr && capacity > 0) return fail_null("text", error);
  if (length == nullptr) return fail_null("length", error);
  const OperatorInfo& info = op->handle.info();
  if (part < kAllParts || part >= std::max(info.text_parts, 1)) {
    return fail(invalid_argument("part is %d; the text of %s has %d parts, and -1 is all of them",
                                 part, info.name, std::max(info.text_parts, 1))
                    .value(),
                error);
  }
  *length = write_text(info, record, part, std::span(text, capacity));
  return OCELLUS_OK;
}

ocellus_status ocellus_operator_submit(ocellus_operator* op, const ocellus_frame* frame,
                                       const ocellus_plane* planes, size_t plane_count,
                                       void* record, ocellus_ticket* ticket, ocellus_error* error) {
  if (const auto bad = refuse_null({{"op", op}, {"frame", frame}}, error)) return bad;
  if (ticket == nullptr) return fail_null("ticket", error);
  const Expected<Request> request =
      request_of(op->handle.info(), *frame, planes, plane_count, record);
  if (!request) return fail(request.error(), error);
  const Expected<Ticket> given = op->handle.submit(request->in, request->out);
  if (!given) return fail(given.error(), error);
  *ticket = {given->number, given->issuer};
  return OCELLUS_OK;
}

ocellus_status ocellus_operator_wait(ocellus_operator* op, ocellus_ticket ticket,
                                     int64_t deadline_ns, ocellus_frame_info* info,
                                     ocellus_error* error) {
  if (op == nullptr) return fail_null("op", error);
  const Expected<FrameInfo> done =
      op->handle.wait({ticket.number, ticket.issuer}, deadline_at(deadline_ns));
  if (!done) return fail(done.error(), error);
  describe(*done, info);
  return OCELLUS_OK;
}

ocellus_status ocellus_operator_cancel(ocellus_operator* op, ocellus_ticket ticket,
                                       ocellus_cancel_outcome* outcome, ocellus_error* error) {
  if (const auto bad = refuse_null({{"op", op}, {"outcome", outcome}}, error)) return bad;
  static_assert(OCELLUS_CANCELED == static_cast<int>(CancelOutcome::kCanceled) &&
                OCELLUS_CANCEL_BEGUN == static_cast<int>(CancelOutcome::kBegun) &&
                OCELLUS_CANCEL_DONE == static_cast<int>(CancelOutcome::kDone));
  const Expected<CancelOutcome> found = op->handle.cancel({ticket.number, ticket.issuer});
  if (!found) return fail(found.error(), error);
  *outcome = static_cast<ocellus_cancel_outcome>(*found);
  return OCELLUS_OK;
}

ocellus_status ocellus_operator_create_event_fd(ocellus_operator* op, int* fd,
                                                ocellus_error* error) {
  if (const auto bad = refuse_null({{"op", op}, {"fd", fd}}, error)) return bad;
  const Expected<int> made = op->handle.create_event_fd();
  if (!made) return fail(made.error(), error);
  *fd = *made;
  return OCELLUS_OK;
}

void ocellus_operator_stop(ocellus_operator* op) {
  if (op != nullptr) op->handle.stop();
}

ocellus_status ocellus_operator_reset(ocellus_operator* op, ocellus_error* error) {
  if (op == nullptr) return fail_null("op", error);
  op->handle.reset();
  return OCELLUS_OK;
}

ocellus_status ocellus_operator_save_model(ocellus_operator* op, const char* path,
                                           ocellus_error* error) {
  if (const auto bad = refuse_null({{"op", op}, {"path", path}}, error)) return bad;
  return result_of(op->handle.save_model(path), error);
}

ocellus_status ocellus_operator_take_learned(ocellus_operator* op, ocellus_operator* from,
                                             ocellus_error* error) {
  if (const auto bad = refuse_null({{"op", op}, {"from", from}}, error)) return bad;
  return result_of(op->handle.take_learned(from->handle), error);
}

ocellus_status ocellus_operator_get_stats(const ocellus_operator* op, ocellus_stats* stats,
                                          ocellus_error* error) {
  if (const auto bad = refuse_null({{"op", op}, {"stats", stats}}, error)) return bad;
  const OperatorStats from = op->handle.stats();
  *stats = {from.frames, from.bad_frames, from.missed_deadlines, from.p50_ns,
            from.p99_ns, from.max_ns,     from.canceled_frames,  from.overflow};
  return OCELLUS_OK;
}

ocellus_status ocellus_wait_any(ocellus_operator* const* operators, size_t operator_count,
                                int64_t deadline_ns, size_t last, size_t* index,
                                ocellus_error* error) {
  if (const auto bad = refuse_null({{"operators", operators}, {"index", index}}, error)) return bad;
  std::array<OperatorHandle*, kMostToWaitFor> all{};
  for (std::size_t i = 0; i < std::min(operator_count, all.size()); ++i) {
    if (operators[i] == nullptr)
      return fail(invalid_argument("operators[%zu] is null", i).value(), error);
    all[i] = &operators[i]->handle;
  }
  const Expected<std::size_t> done = wait_any(
      std::span<OperatorHandle* const>(all.data(), operator_count), deadline_at(deadline_ns), last);
  if (!done) return fail(done.error(), error);
  *index = *done;
  return OCELLUS_OK;
}

ocellus_status ocellus_mailbox_footprint(int32_t width, int32_t height, ocellus_format format,
                                         ocellus_memory memory, ocellus_footprint* footprint,
                                         ocellus_error* error) {
  if (footprint == nullptr) return fail_null("footprint", error);
  const Expected<MailboxKind> kind = mailbox_kind(width, height, format, memory);
  if (!kind) return fail(kind.error(), error);
  *footprint = described(FrameMailbox::footprint(kind->size, kind->format, kind->space));
  return OCELLUS_OK;
}

ocellus_status ocellus_mailbox_create(ocellus_engine* engine, int32_t width, int32_t height,
                                      ocellus_format format, ocellus_memory memory,
                                      ocellus_mailbox** mailbox, ocellus_error* error) {
  if (const auto bad = refuse_null({{"engine", engine}, {"mailbox", mailbox}}, error)) return bad;
  const Expected<MailboxKind> kind = mailbox_kind(width, height, format, memory);
  if (!kind) return fail(kind.error(), error);
  return give(FrameMailbox::create(engine->engine, kind->size, kind->format, kind->space), mailbox,
              error);
}

void ocellus_mailbox_destroy(ocellus_mailbox* mailbox) {
  delete mailbox;
}

ocellus_status ocellus_mailbox_back(const ocellus_mailbox* mailbox, ocellus_plane* plane,
                                    ocellus_error* error) {
  if (const auto bad = refuse_null({{"mailbox", mailbox}, {"plane", plane}}, error)) return bad;
  const ImageView view = mailbox->mailbox.back();
  *plane = {view.data,
            view.size.width,
            view.size.height,
            view.stride,
            static_cast<ocellus_format>(view.format),
            static_cast<ocellus_memory>(view.space),
            view.stream};
  return OCELLUS_OK;
}

ocellus_status ocellus_mailbox_publish(ocellus_mailbox* mailbox, uint64_t sequence,
                                       int64_t timestamp_ns, ocellus_error* error) {
  if (mailbox == nullptr) return fail_null("mailbox", error);
  mailbox->mailbox.publish(sequence, timestamp_ns);
  return OCELLUS_OK;
}

ocellus_status ocellus_mailbox_take(ocellus_mailbox* mailbox, int64_t deadline_ns,
                                    ocellus_frame* frame, ocellus_error* error) {
  if (const auto bad = refuse_null({{"mailbox", mailbox}, {"frame", frame}}, error)) return bad;
  const Expected<Frame> taken = mailbox->mailbox.take(deadline_at(deadline_ns));
  if (!taken) return fail(taken.error(), error);
  *frame = {taken->data,
            taken->size.width,
            taken->size.height,
            taken->stride,
            static_cast<ocellus_format>(taken->format),
            static_cast<ocellus_memory>(taken->space),
            taken->stream,
            taken->sequence,
            taken->timestamp_ns};
  return OCELLUS_OK;
}

void ocellus_mailbox_close(ocellus_mailbox* mailbox) {
  if (mailbox != nullptr) mailbox->mailbox.close();
}

uint64_t ocellus_mailbox_replaced(const ocellus_mailbox* mailbox) {
  return mailbox == nullptr ? 0 : mailbox->mailbox.replaced();
}

ocellus_status ocellus_group_create(const ocellus_engine_config* engines, size_t engine_count,
                                    const ocellus_operator_config* config, int32_t camera_count,
                                    ocellus_group** group, ocellus_error* error) {
  if (const auto bad =
          refuse_null({{"engines", engines}, {"config", config}, {"group", group}}, error))
    return bad;
  return give(make_group(engines, engine_count, *config, camera_count), group, error);
}

void ocellus_group_destroy(ocellus_group* group) {
  delete group;
}

ocellus_status ocellus_group_get_info(const ocellus_group* group, ocellus_operator_info* info,
                                      ocellus_error* error) {
  if (const auto bad = refuse_null({{"group", group}, {"info", info}}, error)) return bad;
  describe(group->group.info(), *info);
  return OCELLUS_OK;
}

ocellus_status ocellus_group_get_engine_info(const ocellus_group* group, int32_t number,
                                             ocellus_engine_info* info, ocellus_error* error) {
  if (const auto bad = refuse_null({{"group", group}, {"info", info}}, error)) return bad;
  const int count = group->group.engine_count();
  if (number < 0 || number >= count) {
    return fail(invalid_argument("number is %d; there are %d engines", number, count).value(),
                error);
  }
  describe(group->group.engine(number).info(), *info);
  return OCELLUS_OK;
}

int32_t ocellus_group_engine_count(const ocellus_group* group) {
  return group == nullptr ? 0 : group->group.engine_count();
}

int32_t ocellus_group_camera_count(const ocellus_group* group) {
  return group == nullptr ? 0 : group->group.camera_count();
}

int32_t ocellus_group_frames_in_flight(const ocellus_group* group) {
  return group == nullptr ? 0 : group->group.frames_in_flight();
}

int32_t ocellus_group_next_engine(const ocellus_group* group, int32_t camera) {
  return group == nullptr ? -1 : group->group.next_engine(camera);
}

ocellus_status ocellus_group_submit(ocellus_group* group, int32_t camera,
                                    const ocellus_frame* frame, const ocellus_plane* planes,
                                    size_t plane_count, void* record, ocellus_error* error) {
  if (const auto bad = refuse_null({{"group", group}, {"frame", frame}}, error)) return bad;
  const Expected<Request> request =
      request_of(group->group.info(), *frame, planes, plane_count, record);
  if (!request) return fail(request.error(), error);
  return result_of(group->group.submit(camera, request->in, request->out), error);
}

ocellus_status ocellus_group_wait(ocellus_group* group, int32_t camera, int64_t deadline_ns,
                                  ocellus_frame_info* info, int32_t* engine, ocellus_error* error) {
  if (group == nullptr) return fail_null("group", error);
  const Expected<GroupResult> done = group->group.wait(camera, deadline_at(deadline_ns));
  if (!done) return fail(done.error(), error);
  describe(done->info, info);
  if (engine != nullptr) *engine = done->engine;
  return OCELLUS_OK;
}

void ocellus_group_stop(ocellus_group* group) {
  if (group != nullptr) group->group.stop();
}

ocellus_status ocellus_group_reset(ocellus_group* group, ocellus_error* error) {
  if (group == nullptr) return fail_null("group", error);
  group->group.reset();
  return OCELLUS_OK;
}

ocellus_status ocellus_group_save_model(ocellus_group* group, int32_t camera, const char* path,
                                        ocellus_error* error) {
  if (const auto bad = refuse_null({{"group", group}, {"path", path}}, error)) return bad;
  return result_of(group->group.save_model(camera, path), error);
}
