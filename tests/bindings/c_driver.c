#include "c_driver.h"

static size_t pixel_bytes(ocellus_format format) {
  switch (format) {
    case OCELLUS_GRAY8:
      return 1;
    case OCELLUS_GRAY16:
    case OCELLUS_YUY2:
    case OCELLUS_UYVY:
      return 2;
    case OCELLUS_BGR:
    case OCELLUS_RGB:
      return 3;
    default:
      return 4;
  }
}

ocellus_status driver_create(driver* made, const ocellus_operator_config* config,
                             ocellus_error* error) {
  const ocellus_engine_config engine_config = {.backend = "cpu", .workers = 2};
  ocellus_status status;
  made->engine = NULL;
  made->op = NULL;
  status = ocellus_engine_create(&engine_config, config, 1, &made->engine, error);
  if (status == OCELLUS_OK)
    status = ocellus_operator_create(made->engine, config, &made->op, error);
  if (status == OCELLUS_OK) status = ocellus_operator_get_info(made->op, &made->info, error);
  if (status != OCELLUS_OK) driver_destroy(made);
  return status;
}

void driver_destroy(driver* made) {
  ocellus_engine_destroy(made->engine); /* the operator keeps what it needs of the engine */
  ocellus_operator_destroy(made->op);
  made->engine = NULL;
  made->op = NULL;
}

ocellus_status driver_run(driver* made, const void* frames, int frame_count,
                          const ocellus_plane* planes, void* record, ocellus_frame_info* infos,
                          ocellus_error* error) {
  const ocellus_operator_info* info = &made->info;
  ocellus_frame frame = {.width = info->width, .height = info->height, .format = info->format};
  size_t bytes;
  frame.stride = (ptrdiff_t)((size_t)info->width * pixel_bytes(info->format));
  bytes = (size_t)frame.stride * (size_t)info->height;
  for (int f = 0; f < frame_count; ++f) {
    ocellus_ticket ticket;
    ocellus_status status;
    frame.data = (const char*)frames + (size_t)f * bytes;
    frame.sequence = (uint64_t)f + 10;
    frame.timestamp_ns = 1000 * (int64_t)f;
    status = ocellus_operator_submit(made->op, &frame, planes, (size_t)info->plane_count, record,
                                     &ticket, error);
    if (status == OCELLUS_OK)
      status = ocellus_operator_wait(made->op, ticket, OCELLUS_NEVER, &infos[f], error);
    if (status != OCELLUS_OK) return status;
  }
  return OCELLUS_OK;
}

size_t driver_count_operators(void) {
  size_t count = 0;
  while (ocellus_operator_name(count) != NULL && ocellus_operator_summary(count) != NULL) ++count;
  return count;
}
