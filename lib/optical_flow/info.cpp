// The OperatorInfo of optical flow and of the spatio-temporal filter.
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <span>

#include "optical_flow/plan.h"

namespace ocellus::detail {
namespace {

constexpr RecordField list(const char* name, FieldType type, std::size_t offset, const char* help,
                           FieldRole role = FieldRole::kValue) {
  return {name, type, kMaxMovingObjects, static_cast<std::uint32_t>(offset), help, role};
}

constexpr RecordField kFields[] = {
    {"objects_found", FieldType::kInt32, 1, offsetof(MovingObjectsRecord, found),
     "number of moving objects, with those that are left out"},
    {"count", FieldType::kInt32, 1, offsetof(MovingObjectsRecord, count),
     "number of objects in the record", FieldRole::kCount},
    list("x", FieldType::kInt32, offsetof(MovingObjectsRecord, x), "left edge of the box, pixels",
         FieldRole::kBox),
    list("y", FieldType::kInt32, offsetof(MovingObjectsRecord, y), "upper edge of the box, pixels",
         FieldRole::kBox),
    list("width", FieldType::kInt32, offsetof(MovingObjectsRecord, width), "of the box, pixels",
         FieldRole::kBox),
    list("height", FieldType::kInt32, offsetof(MovingObjectsRecord, height), "of the box, pixels",
         FieldRole::kBox),
    list("mean_u", FieldType::kFloat, offsetof(MovingObjectsRecord, u),
         "mean motion to the right, pixels per frame"),
    list("mean_v", FieldType::kFloat, offsetof(MovingObjectsRecord, v),
         "mean motion down, pixels per frame"),
    list("area", FieldType::kInt32, offsetof(MovingObjectsRecord, area), "pixels"),
};
constexpr RecordInfo kRecord = {"moving objects", sizeof(MovingObjectsRecord),
                                kFields,          static_cast<int>(std::size(kFields)),
                                "objects",        "moving-object"};
static_assert(sizeof(MovingObjectsRecord) <= kMaxRecordBytes);

const char* kernels_word(const OpticalFlowPlan& plan) {
  return plan.origin == KernelOrigin::kFile       ? "of a file"
         : plan.origin == KernelOrigin::kCallback ? "of a callback"
         : plan.origin == KernelOrigin::kFoveated ? "foveated"
         : plan.form == KernelForm::kUniform      ? "uniform"
         : plan.form == KernelForm::kFull         ? "full"
                                                  : "per-pixel";
}

/// Writes the summary and the least cost of a frame.
void describe_kernels(const OpticalFlowPlan& plan, OperatorInfo& info) {
  const bool per_pixel = plan.form != KernelForm::kUniform;
  const bool half = plan.storage == CoefficientStorage::kHalf;
  char window[24] = "";
  if (!plan.filter_only) std::snprintf(window, sizeof(window), ", window %d", 2 * plan.radius + 1);
  std::snprintf(info.summary, sizeof(info.summary), "kernels %s %dx%dx%d%s%s", kernels_word(plan),
                plan.nx, plan.ny, plan.nt,
                !per_pixel ? ""
                : half     ? ", half"
                           : ", float",
                window);
  const double pixels = static_cast<double>(plan.roi.width) * plan.roi.height;
  const double input = bytes_per_pixel(plan.input_format);
  const double output = 4.0 * info.plane_count;
  const double solve = plan.filter_only ? 0.0 : solution_flops(2 * plan.radius + 1);
  if (plan.form == KernelForm::kFull) {
    // The bank alone is far larger than a cache.
    const double taps = static_cast<double>(plan.convolutions) * plan.term_taps;
    info.least_bytes = pixels * (taps * (half ? 2.0 : 4.0) + input + output);
    info.least_flops = pixels * (2.0 * taps + solve);
  } else if (per_pixel) {
    // The bank and the ring of spatial sums are far larger than a cache and are read once for each
    // frame.
    const double number = half ? 2.0 : 4.0;
    const double sets = static_cast<double>(plan.convolutions) * plan.terms;
    info.least_bytes =
        pixels * (sets * (plan.nx + plan.ny + plan.nt + plan.nt) * number + input + output);
    info.least_flops =
        pixels *
        (sets * 2.0 * (static_cast<double>(plan.nx) * plan.ny + plan.ny + plan.nt) + solve);
  } else {
    // Smoothing and derivative in time over the stored frames, then two separable passes for each
    // convolution.
    info.least_bytes = pixels * (plan.nt * input + output);
    info.least_flops =
        pixels * (2.0 * (2.0 * plan.nt + plan.convolutions * (plan.nx + plan.ny)) + solve);
  }
}

/// Operations of a warp for each pixel, by the equations of docs/optical_flow_method.md: the second
/// derivatives, two equations of the data term, two weights of the smoothness, the inverse of the
/// block, and a step of each sweep.
double variational_flops(int sweeps) {
  return 5.0 * 5.0 + 2.0 * 20.0 + 2.0 * 26.0 + 25.0 + 28.0 * sweeps;
}
/// Operations of the guided median for each pixel: 25 samples with two components.
double guided_flops(int reweightings) {
  return 25.0 * (13.0 + 13.0 * reweightings);
}

void describe_pyramid(const OpticalFlowPlan& plan, OperatorInfo& info) {
  constexpr int kFineLevels = 2;  // these use `warps`, the others `coarse_warps`
  const PyramidConfig& p = plan.pyramid;
  char left_out[40] = "";
  if (plan.levels < p.levels)
    std::snprintf(left_out, sizeof(left_out), " (%d left out: too small)", p.levels - plan.levels);
  char coarse[24] = "";
  if (plan.levels > kFineLevels && p.coarse_warps != p.warps)
    std::snprintf(coarse, sizeof(coarse), " or %d", p.coarse_warps);
  const bool variational = is_variational(plan);
  char solver[40];
  if (variational)
    std::snprintf(solver, sizeof(solver), "variational, %d sweeps", p.sweeps);
  else
    std::snprintf(solver, sizeof(solver), "window %d", 2 * plan.radius + 1);
  std::snprintf(info.summary, sizeof(info.summary),
                "pyramid of %d %s%s, %d frames, %d%s %s a level, %s", plan.levels,
                plan.levels == 1 ? "level" : "levels", left_out, plan.frames, p.warps, coarse,
                p.warps == 1 && coarse[0] == '\0' ? "warp" : "warps", solver);
  const double pixels = static_cast<double>(plan.roi.width) * plan.roi.height;
  double level_pixels = 0.0;
  double scale = 1.0;
  for (int level = 0; level < plan.levels; ++level, scale *= 0.25) level_pixels += pixels * scale;
  // A warp takes four products, derivatives of two taps along each axis, then the sums and the
  // solution.
  const double solution =
      variational ? variational_flops(p.sweeps) : solution_flops(2 * plan.radius + 1);
  const double warp = 2.0 * (4.0 + 2.0 + 2.0 + 2.0) + solution;
  info.least_bytes = pixels * (bytes_per_pixel(plan.input_format) + bytes_per_pixel(plan.format) +
                               4.0 * info.plane_count);
  // Plus the reduction of the new frame with two passes of five taps.
  info.least_flops = level_pixels * p.warps * warp + pixels * 2.0 * 10.0;
  if (variational) info.least_flops += level_pixels * guided_flops(p.reweightings);
}

}  // namespace

double solution_flops(int window) noexcept {
  const double passes = 2.0 * window;  // two passes of a separable sum
  constexpr double kSolve = 20.0;      // products, determinant, division, eigenvalue
  return 2.0 * (5.0 + 5.0 * passes) + kSolve;
}

OperatorInfo info_of(const OpticalFlowPlan& plan) noexcept {
  static constexpr const char* kFlowPlanes[] = {"u", "v", "confidence", "deviation"};
  static constexpr const char* kFilterPlanes[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
  static_assert(std::size(kFilterPlanes) == kMaxConvolutions);
  const std::span<const char* const> names =
      plan.filter_only ? std::span(kFilterPlanes).first(static_cast<std::size_t>(plan.convolutions))
                       : std::span(kFlowPlanes).first(plan.deviation_plane ? 4 : 3);
  OperatorInfo info;
  info.name = plan.filter_only ? "filter" : "flow";
  info.size = plan.size;
  info.format = plan.input_format;
  info.plane_count = static_cast<int>(names.size());
  for (int p = 0; p < info.plane_count; ++p) {
    PlaneInfo& plane = info.planes[static_cast<std::size_t>(p)];
    plane.name = names[static_cast<std::size_t>(p)];
    plane.size = {plan.roi.width, plan.roi.height};
    plane.optional = !plan.filter_only && p >= 2;
  }
  if (plan.objects > 0) info.record = &kRecord;
  info.depth = plan.depth;
  info.support_frames = plan.frames;
  info.delay_frames = plan.delay_frames;
  info.keeps_state = plan.frames > 1;
  if (plan.method == FlowMethod::kPyramid)
    describe_pyramid(plan, info);
  else
    describe_kernels(plan, info);
  return info;
}

OperatorInfo window_info_of(const OpticalFlowPlan& plan) noexcept {
  OperatorInfo info = info_of(plan);
  info.name = "window flow";
  info.size = {plan.size.width, 3 * plan.size.height};
  info.support_frames = 1;
  info.delay_frames = 0.0f;
  info.keeps_state = false;
  std::snprintf(info.summary, sizeof(info.summary), "window %d", 2 * plan.radius + 1);
  const double pixels = static_cast<double>(plan.roi.width) * plan.roi.height;
  info.least_bytes = pixels * 4.0 * (3 + info.plane_count);
  info.least_flops = pixels * solution_flops(2 * plan.radius + 1);
  return info;
}

}  // namespace ocellus::detail
