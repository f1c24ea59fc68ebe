// The plugin on the command line: gst-inspect-1.0, gst-launch-1.0, and the leaks tracer.
#include <cstdlib>
#include <fstream>

#include "gst/gst_support.h"

namespace ocellus::gst_test {
namespace {

// Fails when the tests run with a plugin other than that of this build.
TEST(Inspect, PluginIsThatOfThisBuild) {
  const char* expected = std::getenv("OCELLUS_GST_PLUGIN");
  if (expected == nullptr) GTEST_SKIP() << "OCELLUS_GST_PLUGIN is not set; run by ctest";
  GstPlugin* plugin = gst_registry_find_plugin(gst_registry_get(), "ocellus");
  ASSERT_NE(plugin, nullptr);
  EXPECT_STREQ(gst_plugin_get_filename(plugin), expected);
  gst_object_unref(plugin);
}

std::string inspect(const std::string& element = "ocellusflow") {
  int status = 0;
  const std::string text = run_command("gst-inspect-1.0 --no-colors " + element, &status);
  EXPECT_EQ(status, 0) << text;
  return text;
}

// Returns the text of one property, up to the next one.
std::string property(const std::string& text, const std::string& name) {
  std::size_t begin = text.find("\n  " + name + " ");
  if (begin == std::string::npos) begin = text.find("\n  " + name + ":");
  if (begin == std::string::npos) return {};
  std::size_t end = begin + 1;
  while (true) {
    end = text.find("\n  ", end + 1);
    if (end == std::string::npos || (end + 3 < text.size() && text[end + 3] != ' ')) break;
  }
  return text.substr(begin, end == std::string::npos ? end : end - begin);
}

constexpr const char* kFormats =
    "format: { (string)GRAY8, (string)GRAY16_LE, (string)I420, (string)NV12, "
    "(string)P010_10LE, (string)YUY2, (string)UYVY, (string)BGR, (string)RGB, (string)BGRx, "
    "(string)BGRA, (string)RGBx, (string)RGBA }";

// Fails when the description of the element changes in a way that users or scripts notice.
TEST(Inspect, Factory) {
  const std::string text = inspect();
  for (const char* line :
       {"Long-name                Ocellus optical flow",
        "Klass                    Filter/Analyzer/Video", "License                  Apache 2.0",
        "Name                     ocellus\n", "+----GstBaseTransform", "+----GstOcellusBase",
        "+----GstOcellusFlow", kFormats, "width: [ 1, 16384 ]", "framerate: [ 0/1, 2147483647/1 ]"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

struct Case {
  const char* name;
  std::vector<const char*> lines;
};

void expect_properties(const std::string& text, const std::vector<Case>& cases) {
  for (const Case& item : cases) {
    const std::string block = property(text, item.name);
    EXPECT_FALSE(block.empty()) << item.name;
    for (const char* line : item.lines)
      EXPECT_NE(block.find(line), std::string::npos)
          << item.name << " does not contain: " << line << "\n"
          << block;
  }
}

// As above, for the properties: type, range, default, nicks, and when they can be changed. Another
// test compares the properties of all options with their tables; this one has some of each kind.
TEST(Inspect, Properties) {
  const std::string text = inspect();
  expect_properties(
      text,
      {
          {"backend",
           {"readable, writable, changeable only in NULL or READY state",
            "String. Default: \"auto\""}},
          {"active-backend", {"flags: readable\n", "String. Default: null"}},
          {"threads", {"Integer. Range: 0 - 64 Default: 0"}},
          {"budget",
           {"changeable in NULL, READY, PAUSED or PLAYING state",
            "Unsigned Integer64. Range: 0 - 9223372036854775807 Default: 0"}},
          {"on-miss",
           {"Default: 0, \"post\"", "(0): post ", "(1): drop ", "(2): reuse ",
            "(3): passthrough "}},
          {"on-device-loss", {"Default: 0, \"error\"", "(1): cpu "}},
          {"stats", {"flags: readable\n", "GstStructure"}},
          {"draw",
           {"Boolean. Default: false", "changeable in NULL, READY, PAUSED or PLAYING state"}},
          {"post-messages", {"Boolean. Default: false"}},
          {"qos", {"Boolean. Default: true"}},
          {"config", {"changeable only in NULL or READY state", "String. Default: \"\""}},
          {"method",
           {"(0): kernels ", "(1): pyramid ", "Default: 1, \"pyramid\"",
            "changeable in NULL, READY, PAUSED or PLAYING state"}},
          {"kernels", {"String. Default: \"uniform\""}},
          {"taps", {"String. Default: \"15x15x20\""}},
          {"sigma-space",
           {"Float. Range:             0.1 -            1000 Default:             1.5", "pixels",
            "only with method=kernels and kernels that are not read"}},
          {"sweeps", {"Integer. Range: 1 - 28 Default: 8"}},
          {"window", {"Integer. Range: 3 - 31 Default: 11"}},
          {"window-sigma", {"only with window-weight=gaussian"}},
          {"solver", {"(0): lucas-kanade ", "(1): variational ", "Default: 0, \"lucas-kanade\""}},
          {"deviation", {"Boolean. Default: false"}},
          {"align", {"Boolean. Default: true"}},
          {"depth",
           {"Integer. Range: 1 - 8 Default: 1",
            "changeable in NULL, READY, PAUSED or PLAYING state"}},
      });
}

// As above, for the elements of the cellular network.
TEST(Inspect, CellularNetworks) {
  const std::string halftone = inspect("ocellushalftone");
  const std::string cnn = inspect("ocelluscnn");
  for (const auto& [text, names] :
       {std::pair{halftone, std::vector<const char*>{"Ocellus halftone", "GstOcellusHalftone"}},
        std::pair{cnn, std::vector<const char*>{"Ocellus cellular network", "GstOcellusCnn"}}}) {
    for (const char* name : names) EXPECT_NE(text.find(name), std::string::npos) << text;
    for (const char* line : {"Filter/Effect/Video", "+----GstOcellusBase", kFormats})
      EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
    EXPECT_EQ(property(text, "draw"), "") << "the element must not have the property draw";
    expect_properties(
        text, {{"start", {"Default: 0, \"template\"", "(2): noise ", "(4): error-diffusion "}},
               {"seed", {"Integer64. Range: 0 - 4294967295 Default: 1"}},
               {"warm-start",
                {"Boolean. Default: false", "changeable in NULL, READY, PAUSED or PLAYING"}},
               {"levels", {"Integer. Range: 0 - 256 Default: 0"}},
               {"max-sweeps", {"Integer. Range: 1 - 1000000 Default: 4096"}},
               {"polarity", {"Default: 0, \"black\"", "(1): white "}},
               {"chroma", {"Default: 0, \"neutral\"", "(1): keep "}},
               {"on-miss", {"Default: 0, \"post\""}},
               {"budget", {"Default: 0"}}});
  }
  expect_properties(halftone, {{"preset", {"Default: 0, \"quality\"", "(1): fast "}},
                               {"template", {"String. Default: \"\""}}});
  expect_properties(cnn, {{"template", {"String. Default: \"edge\""}},
                          {"boundary", {"String. Default: \"\""}},
                          {"update", {"Default: 0, \"template\"", "(3): synchronous "}},
                          {"color-spacing", {"Integer. Range: 0 - 9 Default: 0"}},
                          {"initial", {"String. Default: \"\""}}});
}

// As above, for the element that reads digits.
TEST(Inspect, Digits) {
  const std::string text = inspect("ocellusdigits");
  for (const char* line : {"Ocellus reading of digits", "Filter/Analyzer/Video",
                           "+----GstOcellusBase", "+----GstOcellusDigits", kFormats})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  expect_properties(
      text,
      {{"model",
        {"String. Default: \"digits-small\"", "changeable in NULL, READY, PAUSED or PLAYING"}},
       {"layout", {"Default: 0, \"find\"", "(1): boxes ", "(2): tiles "}},
       {"fields", {"String. Default: \"\"", "only with layout=find or boxes"}},
       {"min-confidence", {"Float. Range:               0 -               1"}},
       {"max-characters", {"Integer. Range: 0 - 512 Default: 0"}},
       {"messages",
        {"Default: 1, \"changes\"", "(0): none ", "(2): all ",
         "changeable in NULL, READY, PAUSED or PLAYING state"}},
       {"post-messages", {"Boolean. Default: false"}},
       {"draw", {"Boolean. Default: false", "NULL, READY, PAUSED or PLAYING state"}},
       {"depth", {"Integer. Range: 1 - 8 Default: 1"}}});
}

// As above, for the element that classifies.
TEST(Inspect, Cortex) {
  const std::string text = inspect("ocelluscortex");
  for (const char* line : {"Ocellus cortical classifier", "Filter/Analyzer/Video",
                           "+----GstOcellusBase", "+----GstOcellusCortex", kFormats})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  expect_properties(
      text,
      {{"model", {"String. Default: \"digits\"", "changeable in NULL, READY, PAUSED or PLAYING"}},
       {"layout", {"Default: 0, \"frame\"", "(1): tiles "}},
       {"tile-width", {"Integer. Range: 1 - 16384 Default: 28", "layout=tiles"}},
       {"messages",
        {"Default: 1, \"changes\"", "(0): none ", "(2): all ",
         "changeable in NULL, READY, PAUSED or PLAYING state"}}});
}

// Fails when a command line of the documentation of an element does not run. A test source replaces
// camera and file, and the backend is not given.
TEST(Launch, LinesOfTheDocumentation) {
  for (const char* line :
       {"videotestsrc num-buffers=10 ! video/x-raw,width=640,height=480 ! "
        "videoconvert ! ocellusflow draw=true ! videoconvert ! fakesink",
        "videotestsrc pattern=ball num-buffers=10 ! video/x-raw,format=GRAY8 ! "
        "ocellusflow post-messages=true ! fakesink",
        "videotestsrc num-buffers=10 ! videoconvert ! video/x-raw,format=GRAY8 ! "
        "ocellushalftone warm-start=true ! videoconvert ! fakesink",
        "videotestsrc pattern=ball num-buffers=10 ! video/x-raw,format=GRAY8 ! "
        "ocellushalftone preset=fast post-messages=true ! fakesink",
        "videotestsrc num-buffers=10 ! videoconvert ! video/x-raw,format=GRAY8 ! "
        "ocelluscnn template=\"threshold | edge\" ! videoconvert ! fakesink",
        "videotestsrc pattern=ball num-buffers=10 ! video/x-raw,format=GRAY8 ! "
        "ocelluscnn template=\"threshold | erosion | dilation\" "
        "post-messages=true ! fakesink",
        "videotestsrc num-buffers=10 ! videoconvert ! video/x-raw,format=NV12 ! "
        "ocellusflow depth=3 post-messages=true ! fakesink sync=false",
        "videotestsrc num-buffers=10 ! videoconvert ! video/x-raw,format=NV12 ! "
        "ocellushalftone depth=3 ! fakesink sync=false",
        "videotestsrc num-buffers=10 ! videoconvert ! video/x-raw,format=NV12 ! "
        "ocelluscnn template=\"threshold | edge\" depth=3 ! fakesink sync=false",
        "videotestsrc num-buffers=10 ! videoconvert ! ocellusdigits draw=true ! "
        "videoconvert ! fakesink",
        "videotestsrc num-buffers=10 ! videoconvert ! videocrop left=80 right=80 ! "
        "ocelluscortex ! videoconvert ! fakesink"}) {
    int status = 0;
    const std::string text = run_command(std::string("gst-launch-1.0 -m ") + line, &status);
    EXPECT_EQ(status, 0) << line << "\n" << text;
    EXPECT_NE(text.find("Got EOS"), std::string::npos) << text;
    EXPECT_EQ(text.find("ERROR"), std::string::npos) << text;
    EXPECT_EQ(text.find("CRITICAL"), std::string::npos) << text;
  }
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Replaces each word that begins with `from`.
void replace_word(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, std::min(text.find(' ', at), text.size()) - at, to);
}

// Fails when a pipeline of the README does not run. Camera, file and screen are replaced, because
// they are not available everywhere, and the length is limited.
TEST(Launch, PipelinesOfTheReadme) {
  std::ifstream readme(OCELLUS_README);
  ASSERT_TRUE(readme) << OCELLUS_README;
  int found = 0;
  std::string line;
  while (std::getline(readme, line)) {
    // A line may continue after a backslash.
    for (std::string more; !line.empty() && line.back() == '\\' && std::getline(readme, more);) {
      line.back() = ' ';
      line += more;
    }
    const std::size_t begin = line.find("gst-launch-1.0 ");
    if (begin == std::string::npos || line.find("ocellus") == std::string::npos) continue;
    ++found;
    line.erase(0, begin);
    replace_word(line, "num-buffers=", "");
    replace_all(line, "videotestsrc ", "videotestsrc num-buffers=15 ");
    replace_word(line, "v4l2src", "videotestsrc num-buffers=15");
    const std::size_t file = line.find("filesrc ");
    const std::size_t decoder = line.find("decodebin");
    if (file != std::string::npos && decoder != std::string::npos)
      line.replace(file, decoder + 9 - file,
                   "videotestsrc num-buffers=15 ! video/x-raw,width=320,height=240");
    replace_word(line, "location=", "location=/dev/null");
    replace_all(line, "autovideosink", "fakesink");
    int status = 0;
    const std::string text = run_command("timeout 60 " + line, &status);
    EXPECT_EQ(status, 0) << line << "\n" << text;
    EXPECT_NE(text.find("Got EOS"), std::string::npos) << line << "\n" << text;
    EXPECT_EQ(text.find("CRITICAL"), std::string::npos) << text;
    EXPECT_EQ(text.find("WARNING"), std::string::npos) << line << "\n" << text;
  }
  EXPECT_GE(found, 1) << "the README has no pipeline";
}

// The text of the tracer for an object that is still alive. The tracer's description of this line
// does not contain "Gst".
constexpr const char* kAlive = "object-alive, type-name=(string)Gst";

// Fails when an object or a buffer is alive after the pipeline is destroyed, or the tracer does not
// run.
// Promises: MEM-008.
TEST(Leaks, NothingIsAliveAfterThePipeline) {
  // All types that GStreamer tracks, not only those of this plugin.
  const std::string environment = "GST_TRACERS=leaks GST_DEBUG=GST_TRACER:7,leaks:7 ";
  for (const char* element :
       {"ocellusflow", "ocellusflow draw=true align=false",
        "ocellusflow method=kernels taps=15x15x20", "ocellusflow budget=1 on-miss=reuse",
        "ocellusflow budget=1 on-miss=drop", "ocellusflow ! tee ! queue ! ocellusflow",
        "ocellusfilter taps=5x5x4", "ocellusfilter align=false ! ocelluscortex draw=true",
        "ocellushalftone", "ocellushalftone warm-start=true budget=1 on-miss=reuse chroma=keep",
        "ocelluscnn template=edge budget=1 on-miss=passthrough ! ocellushalftone", "ocellusdigits",
        "ocellusdigits messages=all draw=true layout=tiles tile-width=16 tile-height=16",
        "ocellusdigits depth=3 budget=1 on-miss=reuse ! ocellusdigits",
        "ocelluscortex messages=all layout=tiles tile-width=16 tile-height=16 depth=2 ! "
        "ocelluscortex budget=1 on-miss=reuse"}) {
    int status = 0;
    const std::string text = run_command(environment +
                                             "gst-launch-1.0 videotestsrc num-buffers=12 ! "
                                             "video/x-raw,format=I420,width=64,height=48 ! " +
                                             element + " ! fakesink",
                                         &status);
    EXPECT_EQ(status, 0) << text;
    EXPECT_NE(text.find("checking for leaks"), std::string::npos) << "the tracer did not run";
    EXPECT_EQ(text.find(kAlive), std::string::npos) << element << "\n" << text;
  }
}

// Fails when the tracer detects no leak at all. The test above would then always pass.
// Promises: MEM-008.
TEST(Leaks, TracerDetectsAPlantedLeak) {
  int status = 0;
  const std::string text =
      run_command("GST_TRACERS=leaks GST_DEBUG=GST_TRACER:7 " OCELLUS_PLANTED_LEAK " gst", &status);
  EXPECT_EQ(status, 0) << text;
  EXPECT_NE(text.find(std::string(kAlive) + "OcellusPool"), std::string::npos) << text;
  EXPECT_NE(text.find(std::string(kAlive) + "Buffer,"), std::string::npos) << text;
}

}  // namespace
}  // namespace ocellus::gst_test
