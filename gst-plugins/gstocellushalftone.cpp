// The elements of the cellular network.
#include "ocellus/halftone.h"

#include "base/gstocellusbase.h"

using namespace ocellus;

// The file of the initial state must have the size of the pictures. Any error is found again with
// the configuration.
static ImageSize trial_size(const OperatorConfig& config) {
  const CnnConfig* cnn = config.get_if<CnnConfig>();
  if (cnn == nullptr || cnn->initial.empty()) return kGstOcellusTrialSize;
  return Cnn::read_initial_size(cnn->initial.c_str()).value_or(kGstOcellusTrialSize);
}

// Input and output have the same caps, so they have the same format and range.
static void adapt(GstOcellusBase*, OperatorConfig& config) {
  ChainConfig* chain = config.get_if<HalftoneConfig>();
  if (chain == nullptr) chain = config.get_if<CnnConfig>();
  chain->output_format = luma_format(chain->format);
  chain->output_range = chain->input_range;
}

static void class_init(GstOcellusBaseClass* klass) {
  klass->trial_size = trial_size;
  klass->adapt = adapt;
}

/**
 * SECTION:element-ocellushalftone
 * @title: ocellushalftone
 *
 * Converts each picture into black and white dots that look like the picture from a distance. A
 * cellular neural network computes them: each cell takes the value with the smallest error under a
 * model of the eye. The network stops when no cell changes, or after the maximum number of sweeps.
 *
 * #GstOcellusHalftone:preset selects a balance of time and quality. #GstOcellusHalftone:template
 * selects another network instead: the name of a template such as hlf5, the path of a template file
 * (*.ocellus), or a chain of templates separated by "|". With #GstOcellusHalftone:warm-start each
 * frame starts from the dots of the previous one, so that areas without motion do not flicker.
 * #GstOcellusBase:config is a JSON file of options, such as {"preset": "fast", "warm_start": true}.
 *
 * The network works on luma. The colorimetry in the caps defines the black and white levels of the
 * input and of the output. They are 16 and 235 in limited range and 0 and 255 in full range. With
 * 16 bits they are 4096 and 60160, or 0 and 65535. Without a colorimetry in the caps, YUV formats
 * have limited range, gray and RGB formats full range. Luma outside the range counts as black or as
 * white. Chroma becomes neutral, or is kept (#GstOcellusHalftone:chroma).
 *
 * The result is written to a new buffer. #GstOcellusBase:on-miss determines what happens to a frame
 * that misses its budget: it is pushed late, dropped, replaced by the newest result, or pushed
 * unchanged. The number of sweeps of a frame is in its GstOcellusMeta (ocellus/gst/meta.h) and in
 * the element message (#GstOcellusBase:post-messages).
 *
 * #GstOcellusHalftone:depth (1 to 8, default 1) is the number of frames that the operator has at
 * the same time. With more than 1, a GPU computes one frame while the next one is uploaded and the
 * result of the previous one is downloaded. So a pipeline reaches the full rate of the device. When
 * a frame arrives, the element pushes the buffers of all frames that are done. A buffer is pushed
 * at the latest when depth - 1 more frames have arrived, and the LATENCY query includes this time.
 * #GstOcellusBase:budget counts from the arrival of a frame at the element. With a depth above 1 it
 * therefore includes the time until the next frames arrive. For a live camera that the device keeps
 * up with, a depth of 1 gives the least latency.
 *
 * The element accepts I420, NV12, BGR, RGB, BGRx, BGRA, RGBx and RGBA in memory:CUDAMemory, if the
 * plugin was built with CUDA support and the backend is a CUDA device. The pictures are then read
 * and written in device memory. The element offers its neighbors the CUDA context in which no copy
 * is needed. It copies pictures from other contexts. #GstOcellusBase:stats counts these copies.
 *
 * ## Launch lines
 * |[
 * gst-launch-1.0 v4l2src ! videoconvert ! video/x-raw,format=GRAY8 ! ocellushalftone
 * warm-start=true ! videoconvert ! autovideosink
 * ]| Shows the camera as a halftone.
 * |[
 * gst-launch-1.0 videotestsrc pattern=ball ! video/x-raw,format=GRAY8 ! ocellushalftone preset=fast
 * post-messages=true ! fakesink
 * ]| Add -m to print the number of sweeps of every frame.
 * |[
 * gst-launch-1.0 filesrc location=video.mp4 ! decodebin ! videoconvert ! video/x-raw,format=NV12 !
 * ocellushalftone backend=cuda depth=3 ! fakesink sync=false
 * ]| Processes a file at the full rate of the device.
 */
extern const GstOcellusElement gst_ocellus_halftone = {
    "halftone", "Ocellus halftone", "Filter/Effect/Video",
    "Converts each picture into a black and white halftone", class_init};

/**
 * SECTION:element-ocelluscnn
 * @title: ocelluscnn
 *
 * Runs a chain of templates of a cellular neural network on each picture, and pushes the result in
 * its place. #GstOcellusCnn:template is the name of a template such as edge, the path of a template
 * file (*.ocellus), or a chain of templates separated by "|". `ocellus template list` lists the
 * names. Black is +1, as in the literature, unless #GstOcellusCnn:polarity is white.
 *
 * Each template has its own levels, boundary and update order. A property that is set replaces the
 * value in all templates of the chain. #GstOcellusCnn:max-sweeps limits the sweeps of a frame.
 * #GstOcellusCnn:initial is a binary PGM file with the size of the pictures. #GstOcellusBase:config
 * is a JSON file of options, such as
 * {"template": "threshold | edge", "max_sweeps": 20}.
 *
 * Many templates are for pictures with two levels: start the chain with threshold, as in
 * "threshold | erosion". The templates recall, connectivity, logand, logor and logdif use the input
 * picture as a second operand. They read it without the threshold, so the input must have two
 * levels: put an ocelluscnn template=threshold before the element.
 *
 * The range of luma, chroma, missed budgets, the meta, #GstOcellusCnn:depth and memory:CUDAMemory
 * are the same as in ocellushalftone.
 *
 * ## Launch lines
 * |[
 * gst-launch-1.0 v4l2src ! videoconvert ! video/x-raw,format=GRAY8 ! ocelluscnn
 * template="threshold | edge" ! videoconvert ! autovideosink
 * ]| Shows the outlines of dark objects in front of the camera.
 * |[
 * gst-launch-1.0 videotestsrc pattern=ball ! video/x-raw,format=GRAY8 ! ocelluscnn
 * template="threshold | erosion | dilation" post-messages=true ! fakesink
 * ]| Add -m to print the number of sweeps of every frame.
 * |[
 * gst-launch-1.0 filesrc location=video.mp4 ! decodebin ! videoconvert ! video/x-raw,format=NV12 !
 * ocelluscnn template="threshold | edge" backend=cuda depth=3 ! fakesink sync=false
 * ]| Processes a file at the full rate of the device.
 */
extern const GstOcellusElement gst_ocellus_cnn = {
    "cnn", "Ocellus cellular network", "Filter/Effect/Video",
    "Runs templates of a cellular neural network on each picture", class_init};
