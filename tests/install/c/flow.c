#include <ocellus/ocellus_c.h>
#include <stdio.h>

enum { WIDTH = 320, HEIGHT = 240 };
static unsigned char gray[HEIGHT][WIDTH];
static float u[HEIGHT][WIDTH], v[HEIGHT][WIDTH];

/* A call that failed has filled in the error. */
static int failed(const ocellus_error* error) {
  fprintf(stderr, "%s: %s\n", ocellus_status_name(error->status), error->text);
  return 1;
}

int main(void) {
  const ocellus_option options[] = {{"preset", "fast"}, {"window", "9"}};
  const ocellus_operator_config config = {
      .name = "flow", .width = WIDTH, .height = HEIGHT, .options = options, .option_count = 2};
  const ocellus_plane planes[] = {{.data = u,
                                   .width = WIDTH,
                                   .height = HEIGHT,
                                   .stride = sizeof(u[0]),
                                   .format = OCELLUS_FLOAT32},
                                  {.data = v,
                                   .width = WIDTH,
                                   .height = HEIGHT,
                                   .stride = sizeof(v[0]),
                                   .format = OCELLUS_FLOAT32}};
  const ocellus_frame frame = {.data = gray, .width = WIDTH, .height = HEIGHT, .stride = WIDTH};
  ocellus_engine* engine;
  ocellus_operator* flow;
  ocellus_ticket ticket;
  ocellus_error error;

  /* Only these two calls allocate. */
  if (ocellus_engine_create(NULL, &config, 1, &engine, &error) != OCELLUS_OK) return failed(&error);
  if (ocellus_operator_create(engine, &config, &flow, &error) != OCELLUS_OK) return failed(&error);

  for (int time = 0; time < 5; ++time) { /* a texture that moves by 2 pixels a frame to the right */
    for (int y = 0; y < HEIGHT; ++y)
      for (int x = 0; x < WIDTH; ++x) {
        const unsigned place = (unsigned)(x - 2 * time + 64);
        gray[y][x] =
            (unsigned char)((place % 32 * (32 - place % 32) + (unsigned)(y % 24 * (24 - y % 24))) /
                            2);
      }
    if (ocellus_operator_submit(flow, &frame, planes, 2, NULL, &ticket, &error) != OCELLUS_OK)
      return failed(&error);
    if (ocellus_operator_wait(flow, ticket, OCELLUS_NEVER, NULL, &error) != OCELLUS_OK)
      return failed(&error);
    printf("frame %d: flow (%.2f, %.2f) at the center\n", time, (double)u[120][160],
           (double)v[120][160]);
  }
  const float wrong = u[120][160] > 2 ? u[120][160] - 2 : 2 - u[120][160];
  ocellus_operator_destroy(flow);
  ocellus_engine_destroy(engine);
  return wrong < 0.2f ? 0 : 1; /* NaN is wrong, too */
}
