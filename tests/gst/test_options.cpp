// The properties from the option tables of the operators, and configuration files.
#include <fstream>
#include <set>

#include "gst/gst_support.h"
#include "ocellus/flow_draw.h"
#include "ocellus/kernel_taps.h"
#include "ocellus/operators.h"
#include "support/files.h"

namespace ocellus::gst_test {
namespace {

std::string property_name(const Option& option) {
  std::string name(option.name);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

void expect_choices(const Option& option, GParamSpec* spec) {
  GEnumClass* choices = G_PARAM_SPEC_ENUM(spec)->enum_class;
  ASSERT_EQ(choices->n_values, option.choices.size());
  for (const OptionChoice& choice : option.choices) {
    const GEnumValue* value = g_enum_get_value_by_nick(choices, choice.word);
    ASSERT_NE(value, nullptr) << choice.word;
    EXPECT_EQ(value->value, choice.value) << choice.word;
    EXPECT_STREQ(value->value_name, choice.help) << choice.word;
  }
}

/// Expects that the property has the type, the range and the default of the option.
/// `defaults`: a configuration.
void expect_property(const void* defaults, const Option& option, GParamSpec* spec) {
  const double number = option.get != nullptr ? option.get(defaults) : 0.0;
  Text<kMaxOptionText> text;
  detail::get_option(option, defaults, text.data, sizeof(text.data));
  switch (option.type) {
    case OptionType::kBool:
      ASSERT_TRUE(G_IS_PARAM_SPEC_BOOLEAN(spec));
      EXPECT_EQ(G_PARAM_SPEC_BOOLEAN(spec)->default_value != FALSE, number != 0.0);
      return;
    case OptionType::kInt:
      if (option.high > G_MAXINT) {
        ASSERT_TRUE(G_IS_PARAM_SPEC_INT64(spec));
        EXPECT_EQ(static_cast<double>(G_PARAM_SPEC_INT64(spec)->minimum), option.low);
        EXPECT_EQ(static_cast<double>(G_PARAM_SPEC_INT64(spec)->maximum), option.high);
        EXPECT_EQ(static_cast<double>(G_PARAM_SPEC_INT64(spec)->default_value), number);
      } else {
        ASSERT_TRUE(G_IS_PARAM_SPEC_INT(spec));
        EXPECT_EQ(G_PARAM_SPEC_INT(spec)->minimum, option.low);
        EXPECT_EQ(G_PARAM_SPEC_INT(spec)->maximum, option.high);
        EXPECT_EQ(G_PARAM_SPEC_INT(spec)->default_value, number);
      }
      return;
    case OptionType::kFloat:
      ASSERT_TRUE(G_IS_PARAM_SPEC_FLOAT(spec));
      EXPECT_EQ(G_PARAM_SPEC_FLOAT(spec)->minimum, static_cast<gfloat>(option.low));
      EXPECT_EQ(G_PARAM_SPEC_FLOAT(spec)->maximum, static_cast<gfloat>(option.high));
      EXPECT_EQ(G_PARAM_SPEC_FLOAT(spec)->default_value, static_cast<gfloat>(number));
      return;
    case OptionType::kChoice:
      ASSERT_TRUE(G_IS_PARAM_SPEC_ENUM(spec));
      EXPECT_EQ(G_PARAM_SPEC_ENUM(spec)->default_value, number);
      expect_choices(option, spec);
      return;
    case OptionType::kText:
      ASSERT_TRUE(G_IS_PARAM_SPEC_STRING(spec));
      EXPECT_STREQ(G_PARAM_SPEC_STRING(spec)->default_value, text.c_str());
      return;
  }
}

class Table : public ::testing::TestWithParam<const char*> {};

std::vector<const char*> names_of_elements() {
  std::vector<const char*> names;
  for (const OperatorDescription& description : operators()) names.push_back(description.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, Table, ::testing::ValuesIn(names_of_elements()));

// Fails when an option has no property, or one with another type, default, range or description.
// Also fails when an element has a property that is neither in the table nor listed here.
TEST_P(Table, EveryOptionIsAProperty) {
  const OperatorDescription* description = find_operator(GetParam());
  ASSERT_NE(description, nullptr);
  const OperatorConfig defaults(*description);
  GstElement* element =
      gst_element_factory_make((std::string("ocellus") + GetParam()).c_str(), nullptr);
  ASSERT_NE(element, nullptr);
  GObjectClass* klass = G_OBJECT_GET_CLASS(element);
  std::set<std::string> known = {"align", "draw", "messages", "save-location"};
  const EngineConfig engine;
  for (const Option& option : EngineConfig::options()) {
    const std::string name = property_name(option);
    GParamSpec* const spec = g_object_class_find_property(klass, name.c_str());
    ASSERT_NE(spec, nullptr) << name;
    known.insert(name);
    expect_property(&engine, option, spec);
  }
  if (G_OBJECT_TYPE(element) == g_type_from_name("GstOcellusFlow"))
    for (const Option& option : OverlayConfig::options()) known.insert(property_name(option));
  for (const Option& option : description->options) {
    const std::string name = property_name(option);
    SCOPED_TRACE(name);
    GParamSpec* spec = g_object_class_find_property(klass, name.c_str());
    if (spec == nullptr) {
      ADD_FAILURE() << "the option has no property";
      continue;
    }
    known.insert(name);
    EXPECT_EQ(spec->flags & (G_PARAM_READWRITE | GST_PARAM_MUTABLE_PLAYING),
              G_PARAM_READWRITE | GST_PARAM_MUTABLE_PLAYING);
    expect_property(defaults.data(), option, spec);
    const std::string blurb = g_param_spec_get_blurb(spec);
    EXPECT_EQ(blurb.find(option.help), 0u) << blurb;
    EXPECT_NE(blurb.find(option.unit), std::string::npos) << blurb;
    EXPECT_EQ(blurb.find("only with ") != std::string::npos, option.needs[0] != '\0') << blurb;
    EXPECT_EQ(blurb.find('_'), std::string::npos)
        << blurb << ": contains the name of an option, not of a property";
    GValue value = G_VALUE_INIT;
    g_value_init(&value, spec->value_type);
    g_object_get_property(G_OBJECT(element), name.c_str(), &value);
    EXPECT_TRUE(g_param_value_defaults(spec, &value));
    g_value_unset(&value);
  }
  guint count = 0;
  GParamSpec** specs = g_object_class_list_properties(klass, &count);
  for (guint i = 0; i < count; ++i) {
    if (specs[i]->owner_type == G_OBJECT_TYPE(element)) {
      EXPECT_EQ(known.count(specs[i]->name), 1u) << specs[i]->name << " is not an option";
    }
  }
  g_free(specs);
  gst_object_unref(element);
}

// Fails when a preset or a method changes an option that is set, or does not change one that is not
// set. Also fails when a text option cannot be unset.
TEST(Options, PresetsDetermineUnsetOptions) {
  GstElement* element = gst_element_factory_make("ocellusflow", nullptr);
  ASSERT_NE(element, nullptr);
  set_properties(element, "warps=3 preset=quality");
  EXPECT_EQ(property_text(element, "levels"), "5");
  EXPECT_EQ(property_text(element, "solver"), "variational");
  EXPECT_EQ(property_text(element, "warps"), "3");
  set_properties(element, "preset=fast");
  EXPECT_EQ(property_text(element, "levels"), "4");
  EXPECT_EQ(property_text(element, "warps"), "3");
  gst_object_unref(element);

  element = gst_element_factory_make("ocellusflow", nullptr);
  set_properties(element, "method=kernels taps=5x5x3");
  EXPECT_EQ(property_text(element, "window"), "15");
  EXPECT_EQ(property_text(element, "window-weight"), "gaussian");
  EXPECT_EQ(property_text(element, "taps"), "5x5x3");
  g_object_set(element, "taps", nullptr, nullptr);
  EXPECT_EQ(property_text(element, "taps"), "15x15x20");
  // An invalid setting does not prevent reading the others.
  set_properties(element, "taps=many");
  EXPECT_EQ(property_text(element, "taps"), "many");
  EXPECT_EQ(property_text(element, "window"), "11");
  gst_object_unref(element);
}

// Fails when kernels are not read from a file, or options that the file determines are accepted.
TEST(Options, KernelsFromAFile) {
  const Expected<KernelFileInfo> file = read_kernel_file_info(OCELLUS_KERNEL_FILE);
  ASSERT_TRUE(file) << file.error().text;
  const KernelConfig& kernels = file->kernels;
  Harness harness("method=kernels kernels=" OCELLUS_KERNEL_FILE, {});
  harness.start();
  harness.push_frames(0, kernels.nt);
  EXPECT_GT(harness.drop_output(), 0);
  EXPECT_EQ(property_text(harness.element(), "kernels"), OCELLUS_KERNEL_FILE);
  EXPECT_EQ(property_text(harness.element(), "taps"), std::to_string(kernels.nx) + "x" +
                                                          std::to_string(kernels.ny) + "x" +
                                                          std::to_string(kernels.nt));
  Pipeline pipeline(
      "videotestsrc ! ocellusflow method=kernels taps=9x9x9 kernels=" OCELLUS_KERNEL_FILE
      " ! fakesink");
  EXPECT_EQ(gst_element_set_state(pipeline.get(), GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  const std::string error = pipeline.wait_for_end();
  EXPECT_NE(error.find("taps has no meaning"), std::string::npos) << error;
}

/// Sets an element with these properties to READY. Returns its error, or "".
std::string error_at_ready(const char* factory, const std::string& properties) {
  GstElement* element = gst_element_factory_make(factory, nullptr);
  EXPECT_NE(element, nullptr) << factory;
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  set_properties(element, properties);
  const bool ready = gst_element_set_state(element, GST_STATE_READY) != GST_STATE_CHANGE_FAILURE;
  std::string text = ready ? "" : "no reason";
  if (GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR)) {
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    text = error->message;
    g_error_free(error);
    gst_message_unref(message);
  }
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, nullptr);
  gst_object_unref(bus);
  gst_object_unref(element);
  return text;
}

// Fails when an element reads a file, or a part of it, only with the first caps. gst-launch misses
// some of the errors that come while its pipeline prerolls, and then waits for ever.
TEST(Options, FilesAreCheckedBeforeReady) {
  struct Case {
    const char* factory;
    const char* properties;  // the path follows
    std::string file;        // a good one
    const char* name;        // in errors
  };
  const test::TemporaryFolder folder;
  const std::string seeds = OCELLUS_SEEDS;
  const std::string picture = folder / "picture.pgm";
  std::ofstream(picture) << "P5\n12 8\n255\n" + std::string(12 * 8, 'z');
  const std::string options = folder / "options.json";
  std::ofstream(options) << R"({"window": 9})";
  const std::string bad = folder / "bad.ocellus";
  for (const Case& c : {
           Case{"ocellusrestore", "filter=", seeds + "/filter_file/support4.ocellus", "filter"},
           Case{"ocelluscnn", "template=", seeds + "/template_file/hole.ocellus", "template"},
           Case{"ocellushalftone", "template=", seeds + "/template_file/hlf5.ocellus", "template"},
           Case{"ocelluscnn", "initial=", picture, "initial"},
           Case{"ocellusflow",
                "method=kernels kernels=", seeds + "/kernel_bank_file/uniform.ocellus", "kernels"},
           Case{"ocellusflow",
                "method=kernels kernels=", seeds + "/kernel_bank_file/foveated.ocellus", "kernels"},
           Case{"ocellusflow", "config=", options, "config"},
       }) {
    SCOPED_TRACE(std::string(c.factory) + " " + c.properties + c.file);
    EXPECT_EQ(error_at_ready(c.factory, c.properties + c.file), "");
    EXPECT_NE(error_at_ready(c.factory, c.properties + bad).find(bad), std::string::npos);
    // One byte less, at the end.
    std::string bytes = test::bytes_of(c.file);
    ASSERT_FALSE(bytes.empty());
    std::ofstream(bad, std::ios::binary) << bytes.substr(0, bytes.size() - 1);
    EXPECT_NE(error_at_ready(c.factory, c.properties + bad).find(c.name), std::string::npos);
    // The last byte is of the arrays, which a checksum protects.
    if (c.file.ends_with(".ocellus")) {
      bytes.back() = static_cast<char>(bytes.back() ^ 1);
      std::ofstream(bad, std::ios::binary) << bytes;
      EXPECT_NE(error_at_ready(c.factory, c.properties + bad).find("checksum"), std::string::npos);
    }
    std::remove(bad.c_str());
  }
  for (const char* factory : {"ocellusdigits", "ocelluscortex"}) {
    EXPECT_EQ(error_at_ready(factory, "model=digits"), "");
    EXPECT_NE(error_at_ready(factory, "model=" + bad).find(bad), std::string::npos);
    EXPECT_NE(error_at_ready(factory, "model=" + options).find("too short"), std::string::npos);
  }
  EXPECT_NE(error_at_ready("ocellusflow", "backend=gpu").find("gpu"), std::string::npos);
}

// Fails when the check before READY refuses a setting that fits larger pictures only, or one that
// fits no picture of its own size.
TEST(Options, SettingsForAnySizeReachReady) {
  for (const auto& [factory, properties] :
       {std::pair{"ocellusflow", "roi=3000,2000,500,500"},
        std::pair{"ocellusflow", "roi=3000,2000,500,500 method=kernels"},
        std::pair{"ocellusflow", "levels=6 window=31"},
        std::pair{"ocellusdigits", "fields=4000,100,300,60;20,3000,300,60"},
        std::pair{"ocellusdigits", "layout=tiles tile-width=1024 tile-height=1024"},
        std::pair{"ocellusdigits", "min-height=512 max-height=1000"},
        std::pair{"ocelluscortex", "layout=tiles tile-width=1024 tile-height=1024"}})
    EXPECT_EQ(error_at_ready(factory, properties), "") << factory << " " << properties;
}

// Fails when a property that changes in READY is not checked again.
TEST(Options, ChangesInReadyAreChecked) {
  Pipeline pipeline("videotestsrc ! ocellusrestore name=it ! fakesink");
  ASSERT_TRUE(pipeline.reach(GST_STATE_READY));
  g_object_set(pipeline.by_name("it"), "filter", "/no/such/filter", nullptr);
  EXPECT_EQ(gst_element_set_state(pipeline.get(), GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  EXPECT_NE(pipeline.wait_for_end().find("/no/such/filter"), std::string::npos);
  g_object_set(pipeline.by_name("it"), "filter", "gaussian-2", nullptr);
  EXPECT_TRUE(pipeline.reach(GST_STATE_PAUSED));
}

class Config : public ::testing::Test {
 protected:
  std::string write(const std::string& text) {
    const std::string path = folder_ / "options.json";
    std::ofstream(path) << text;
    return path;
  }
  /// Returns the error of a pipeline with these properties; empty if it runs.
  static std::string error_of(const std::string& properties,
                              const std::string& factory = "ocellusflow") {
    Pipeline pipeline(
        "videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,width=64,height=48 ! " + factory +
        " name=it ! fakesink");
    set_properties(pipeline.by_name("it"), properties);
    gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
    return pipeline.wait_for_end();
  }
  /// Returns the delay of the first result, in frames.
  static float delay_of(Harness& harness) {
    harness.start();
    for (int i = 0; i < 8; ++i) EXPECT_EQ(harness.push(harness.frame(i)), GST_FLOW_OK);
    std::vector<GstBuffer*> out = harness.pull();
    EXPECT_FALSE(out.empty());
    const float delay = out.empty() ? -1.0f : flow_of(out.front())->delay_frames;
    unref_all(out);
    return delay;
  }

  test::TemporaryFolder folder_;
};

// Fails when the options in a file, in the format that the program prints, have no effect on the
// operator, or keep the element from starting.
TEST_F(Config, FileIsReadAtTheStart) {
  const std::string path = write(
      R"({"version": "1", "config": {"operator": "flow", "method": "kernels", "taps": "9x9x5",
          "sigma_space": 2.5, "window": 9, "depth": 4}})");
  Harness harness("align=false config=" + path, {});
  EXPECT_EQ(delay_of(harness), 2.0f);
  EXPECT_EQ(property_text(harness.element(), "method"), "kernels");
  EXPECT_EQ(property_text(harness.element(), "taps"), "9x9x5");
  EXPECT_EQ(property_text(harness.element(), "sigma-space"), "2.5");
  EXPECT_EQ(property_text(harness.element(), "window"), "9");
  EXPECT_EQ(property_text(harness.element(), "config"), path);
}

// Fails when a property that is set does not take precedence over the file.
TEST_F(Config, PropertiesTakePrecedence) {
  const std::string path =
      write(R"({"method": "kernels", "taps": "9x9x5", "sigma-space": 2, "warps": 2})");
  EXPECT_NE(error_of("config=" + path).find("warps has no meaning"), std::string::npos);
  write(R"({"method": "kernels", "taps": "9x9x5", "sigma-space": 2})");
  Harness harness("align=false taps=9x9x7 config=" + path, {});
  EXPECT_EQ(delay_of(harness), 3.0f);
  EXPECT_EQ(property_text(harness.element(), "sigma-space"), "2");
}

// Fails when the file is read only once, or its options remain after the property is unset.
TEST_F(Config, FileIsReadAtEveryStart) {
  const std::string path = write(R"({"preset": "quality"})");
  Harness harness("config=" + path, {});
  EXPECT_EQ(property_text(harness.element(), "levels"), "5");
  gst_element_set_state(harness.element(), GST_STATE_READY);
  EXPECT_EQ(property_text(harness.element(), "levels"), "4");
  write(R"({"window": 13})");
  gst_element_set_state(harness.element(), GST_STATE_PLAYING);
  EXPECT_EQ(property_text(harness.element(), "window"), "13");
  gst_element_set_state(harness.element(), GST_STATE_READY);
  g_object_set(harness.element(), "config", nullptr, nullptr);
  gst_element_set_state(harness.element(), GST_STATE_PLAYING);
  EXPECT_EQ(property_text(harness.element(), "window"), "11");
  EXPECT_EQ(property_text(harness.element(), "config"), "");
}

// Fails when an invalid file is accepted, or the message does not name the cause.
TEST_F(Config, ErrorsNameTheCause) {
  struct Case {
    const char* factory;
    const char* text;
    std::vector<const char*> says;
  };
  for (const Case& c : {
           Case{"ocellusflow",
                R"({"windw": 9})",
                {"config", "options.json", "\"windw\"", "nearest is window"}},
           Case{"ocellusflow", R"({"window": 4})", {"window is 4", "odd, 3 to 31"}},
           Case{"ocellusflow", R"({"smoothing_size": 1})", {"smoothing-size is 1", "3 to 31"}},
           Case{"ocellusflow", R"({"levels": [4]})", {"config", "options.json", "levels"}},
           Case{"ocellusflow", R"({"operator": "cnn"})", {"config", "cnn", "flow"}},
           Case{"ocellusflow", "[1]", {"config", "options.json", "JSON object"}},
           Case{"ocellusflow", "{", {"config", "options.json", "JSON object"}},
           Case{"ocelluscnn", R"({"template": "none"})", {"template", "none"}},
           Case{"ocellushalftone", R"({"preset": "best"})", {"preset", "best", "quality"}},
       }) {
    const std::string error = error_of("config=" + write(c.text), c.factory);
    for (const char* says : c.says)
      EXPECT_NE(error.find(says), std::string::npos) << c.text << " says: " << error;
  }
  for (const std::string& path :
       {folder_ / "none.json", folder_.path(), std::string("/dev/zero")}) {
    const std::string error = error_of("config=" + path);
    EXPECT_NE(error.find("config: " + path), std::string::npos) << error;
  }
  EXPECT_EQ(error_of("config=" + write(R"({"template": "threshold | edge", "max_sweeps": 20})"),
                     "ocelluscnn"),
            "");
}

}  // namespace
}  // namespace ocellus::gst_test
