#include "gst/fake_element.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <new>

#include "core/operator_instance.h"
#include "core/option_table.h"

using ocellus::Deadline;
using ocellus::Expected;
using ocellus::Status;
using ocellus::gst_test::kMark;
using ocellus::gst_test::script;

ocellus::gst_test::Script ocellus::gst_test::script;

namespace {

struct FakeRecord {
  std::int32_t first = 0;
};
constexpr ocellus::RecordField kFields[] = {
    {"first", ocellus::FieldType::kInt32, 1, offsetof(FakeRecord, first), "first pixel"}};
constexpr ocellus::RecordInfo kRecord = {"fake", sizeof(FakeRecord), kFields, 1};

// An operator whose result is the first pixel of its frame. Only one instance exists at a time,
// unless the operator learns or its options change.
class FakeInstance final : public ocellus::detail::OperatorInstance {
 public:
  FakeInstance() noexcept {
    EXPECT_LE(alive, script.learns || script.changes ? 1 : 0)
        << "the previous instance was not destroyed";
    ++alive;
  }
  ~FakeInstance() override {
    --alive;
    if (started_) ++script.destructions;
  }

  ocellus::Footprint footprint() noexcept override { return {}; }
  Expected<void> start(ocellus::detail::EngineState&) noexcept override {
    if (script.fail_create == script.creations)
      return tl::unexpected(ocellus::make_error(script.failure, "create failed as requested"));
    started_ = true;
    number_ = script.creations++;
    return {};
  }

  Learned learned() const noexcept override { return {script.learns ? sizeof(count_) : 0, shape_}; }
  Expected<void> read_learned(void* to, std::uint64_t, std::size_t bytes) noexcept override {
    if (script.lose_device_on_read)
      return tl::unexpected(
          ocellus::make_error(Status::kDeviceLost, "device lost in read as requested"));
    std::memcpy(to, &count_, bytes);
    return {};
  }
  Expected<void> write_learned(const void* from, std::uint64_t,
                               std::size_t bytes) noexcept override {
    std::memcpy(&count_, from, bytes);
    return {};
  }
  Expected<void> save_learned(const char*) noexcept override {
    script.saves.push_back(count_);
    if (script.fail_save)
      return tl::unexpected(ocellus::make_error(Status::kIoError, "save failed as requested"));
    return {};
  }

  Expected<void> submit(int slot, const ocellus::Frame& frame,
                        const ocellus::OperatorOutput& out) noexcept override {
    InFlight& next = frames_[static_cast<std::size_t>(slot)];
    EXPECT_FALSE(next.waiting) << "the previous frame has not been waited for";
    const ocellus::ImageView& plane = out.planes[0];
    EXPECT_EQ(reinterpret_cast<guintptr>(plane.data) % 64, 0u);
    if (script.pictures) {
      EXPECT_EQ(plane.stride, 96);
    }
    const int number = script.submissions++;
    script.sequences.push_back(frame.sequence);
    script.luma.push_back(static_cast<const guint8*>(frame.data)[0]);
    if (number == script.lose_device_on_submit || (script.lost_again && number_ > 0))
      return tl::unexpected(
          ocellus::make_error(Status::kDeviceLost, "device lost in submit as requested"));
    ++count_;
    next.waiting = true;
    next.number = number;
    next.late = static_cast<std::size_t>(number) < script.late.size() &&
                script.late[static_cast<std::size_t>(number)];
    next.frame = frame;
    next.out = out;
    return {};
  }
  /// Elements cancel no frame.
  Expected<ocellus::CancelOutcome> try_cancel(int) noexcept override {
    return ocellus::CancelOutcome::kBegun;
  }
  Expected<void> wait(int slot, Deadline deadline, ocellus::FrameInfo&) noexcept override {
    InFlight& oldest = frames_[static_cast<std::size_t>(slot)];
    EXPECT_TRUE(oldest.waiting);
    if (oldest.number == script.lose_device_on_wait)
      return tl::unexpected(
          ocellus::make_error(Status::kDeviceLost, "device lost in wait as requested"));
    const bool looks_only = deadline.time() == Deadline::immediate().time();
    if ((oldest.late && !deadline.is_never()) || (script.slow && looks_only))
      return tl::unexpected(ocellus::make_error(Status::kDeadlineMissed, "late as requested"));
    oldest.waiting = false;
    // The memory of picture and result must still be valid.
    auto* const result = static_cast<guint8*>(oldest.out.planes[0].data);
    result[0] = static_cast<guint8>(static_cast<const guint8*>(oldest.frame.data)[0] +
                                    (script.pictures ? kMark : 0));
    if (script.write)
      script.write(oldest.out);
    else
      static_cast<FakeRecord*>(oldest.out.record)->first = result[0];
    return {};
  }
  void cancel(int slot) noexcept override {
    frames_[static_cast<std::size_t>(slot)].waiting = false;
  }
  void stop() noexcept override {}
  bool is_stopped() const noexcept override { return false; }
  void reset() noexcept override { ++script.resets; }
  ocellus::Expected<void> finish_frames() noexcept override { return {}; }

  static int alive;

 private:
  struct InFlight {
    bool waiting = false;
    bool late = false;
    int number = 0;  // number of the submission
    ocellus::Frame frame;
    ocellus::OperatorOutput out;
  };
  bool started_ = false;
  int number_ = 0;  // number of the creation
  int count_ = 0;   // of the frames that have taught
  const std::uint64_t shape_ = script.shape;
  std::array<InFlight, ocellus::kMaxDepth> frames_;
};
int FakeInstance::alive = 0;

}  // namespace

struct OcellusFake {
  GstOcellusBase parent_instance;
};
struct OcellusFakeClass {
  GstOcellusBaseClass parent_class;
};
GType ocellus_fake_get_type(void);
G_DEFINE_TYPE(OcellusFake, ocellus_fake, GST_TYPE_OCELLUS_BASE)

// The configuration of the fake operator.
struct FakeConfig {
  ocellus::ImageSize size;
  ocellus::PixelFormat format = ocellus::PixelFormat::kGray8;
  int level = 0;
};
using FakeRows = ocellus::detail::Rows<FakeConfig>;
constexpr ocellus::Option kOptions[] = {
    FakeRows::integer<[](auto& c) { return &c.level; }>("level", 0, 9, "", "It has no effect")};

static Expected<ocellus::OperatorInfo> fake_info(const void* data) noexcept {
  const auto& config = *static_cast<const FakeConfig*>(data);
  ocellus::OperatorInfo info;
  info.name = "fake";
  info.size = config.size;
  info.format = config.format;
  info.planes[0] = {"result", info.size, info.format, false};
  info.planes[0].follows_frame = script.pictures;
  if (!script.pictures)
    info.planes[0] = {"result",
                      {static_cast<int>(script.result_bytes), script.result_rows},
                      ocellus::PixelFormat::kGray8,
                      false};
  info.support_frames = static_cast<int>(script.frames);
  info.delay_frames = script.delay;
  info.depth = script.depth;
  info.keeps_state = true;
  info.learns = script.learns;
  info.record = &kRecord;
  if (script.describe) script.describe(info);
  return info;
}
static ocellus::OperatorDescription describe_fake() {
  ocellus::OperatorDescription fake;
  fake.name = "fake";
  fake.options = kOptions;
  fake.construct = [](void* config) noexcept { new (config) FakeConfig; };
  fake.set_input = [](void* config, ocellus::ImageSize size, ocellus::PixelFormat format,
                      const ocellus::GrayRange&) noexcept {
    auto& made = *static_cast<FakeConfig*>(config);
    made.size = size;
    made.format = format;
  };
  fake.info = fake_info;
  fake.footprint = [](const ocellus::EngineInfo&,
                      const void*) noexcept -> Expected<ocellus::Footprint> {
    if (script.fail_footprint == script.creations)
      return tl::unexpected(ocellus::make_error(script.failure, "footprint failed as requested"));
    return ocellus::Footprint{};
  };
  fake.create = [](ocellus::Engine& engine, const void* config) noexcept {
    ocellus::OperatorInfo info = *fake_info(config);
    info.class_names = script.class_names;
    return ocellus::detail::make_operator(engine, info, std::make_unique<FakeInstance>());
  };
  return fake;
}
static void fake_draw(GstOcellusBase*, GstBuffer*, const ocellus::OverlayImage& image) {
  image.planes[0][0] = 0;
  ++script.draws;
}
static void ocellus_fake_class_init(OcellusFakeClass* klass) {
  GstOcellusBaseClass* base = GST_OCELLUS_BASE_CLASS(klass);
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(klass), "Fake", "Testing",
                                        "An operator that follows a script", "The Ocellus authors");
  static const ocellus::OperatorDescription fake = describe_fake();
  gst_ocellus_base_class_set_operator(base, &fake);
  gst_ocellus_base_class_install_align(base);
  gst_ocellus_base_class_install_draw(base, "Draw");
  gst_ocellus_base_class_install_learning(base);
  base->draw = fake_draw;
}
static void ocellus_fake_init(OcellusFake*) {}

// An element whose results have only the tables of its operator.
struct OcellusFakeTable {
  GstOcellusBase parent_instance;
};
struct OcellusFakeTableClass {
  GstOcellusBaseClass parent_class;
};
GType ocellus_fake_table_get_type(void);
G_DEFINE_TYPE(OcellusFakeTable, ocellus_fake_table, GST_TYPE_OCELLUS_BASE)
static void ocellus_fake_table_class_init(OcellusFakeTableClass* klass) {
  GstOcellusBaseClass* base = GST_OCELLUS_BASE_CLASS(klass);
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(klass), "Fake table", "Testing",
                                        "An operator with a table", "The Ocellus authors");
  static const ocellus::OperatorDescription fake = describe_fake();
  gst_ocellus_base_class_set_operator(base, &fake);
}
static void ocellus_fake_table_init(OcellusFakeTable*) {}

namespace ocellus::gst_test {

FakeResult fake_result(GstBuffer* buffer) {
  const GstOcellusMeta* const meta = gst_buffer_get_ocellus_meta(buffer, "fake");
  if (meta == nullptr) return {};
  const auto has = [meta](GstOcellusMetaFlags flag) { return (meta->flags & guint{flag}) != 0; };
  return {true, static_cast<int>(value_of(meta, "first")), has(GST_OCELLUS_META_FLAG_REUSED),
          has(GST_OCELLUS_META_FLAG_LATE), has(GST_OCELLUS_META_FLAG_REPEATED)};
}

GstElement* make_fake() {
  const GType type = script.describe ? ocellus_fake_table_get_type() : ocellus_fake_get_type();
  auto* element = GST_ELEMENT(g_object_new(type, nullptr));
  if (!script.describe) g_object_set(element, "align", FALSE, nullptr);
  if (script.learns) g_object_set(element, "save-location", "model", nullptr);
  return element;
}

}  // namespace ocellus::gst_test
