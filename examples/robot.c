/* The robot's camera loop of robot.cpp in C: moving objects, a sharper picture and digits, all from
 * the newest frame and by a deadline. Reads frames of 8-bit gray pixels from standard input. */
#include <ocellus/ocellus_c.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPERATORS = 3 };

static ocellus_error error; /* of the main thread */

static void need(ocellus_status status) {
  if (status == OCELLUS_OK) return;
  fprintf(stderr, "robot: %s\n", error.text);
  exit(1);
}

static void* camera(void* mailbox) {
  ocellus_plane to;
  for (uint64_t number = 0;; ++number) {
    ocellus_mailbox_back(mailbox, &to, NULL);
    for (int y = 0; y < to.height; ++y) {
      if (fread((char*)to.data + y * to.stride, (size_t)to.width, 1, stdin) == 1) continue;
      ocellus_mailbox_close(mailbox);
      return NULL;
    }
    ocellus_mailbox_publish(mailbox, number, 0, NULL);
  }
}

int main(int argc, char** argv) {
  const int width = argc > 1 ? atoi(argv[1]) : 640;
  const int height = argc > 2 ? atoi(argv[2]) : 480;
  const int64_t budget_ns = (argc > 3 ? atoi(argv[3]) : 33) * INT64_C(1000000);
  const ocellus_option options[OPERATORS][2] = {
      {{"objects", "16"}, {"priority", "high"}}, /* it finds what the robot must not hit */
      {{"filter", "gaussian-1.5"}, {"priority", "normal"}},
      {{"max_characters", "64"}, {"priority", "low"}}};
  const char* const names[OPERATORS] = {"flow", "restore", "digits"};
  ocellus_operator_config configs[OPERATORS] = {{NULL, 0, 0, 0, 0, 0, NULL, 0}};
  for (int i = 0; i < OPERATORS; ++i) {
    configs[i].name = names[i];
    configs[i].width = width;
    configs[i].height = height;
    configs[i].options = options[i];
    configs[i].option_count = 2;
  }

  /* All memory is taken here: for the mailbox, and for three operators that share the workers. */
  ocellus_engine_config engine_config = {.backend = "auto"};
  need(ocellus_mailbox_footprint(width, height, OCELLUS_GRAY8, OCELLUS_MEMORY_HOST,
                                 &engine_config.memory, &error));
  ocellus_engine* engine = NULL;
  ocellus_mailbox* mailbox = NULL;
  need(ocellus_engine_create(&engine_config, configs, OPERATORS, &engine, &error));
  need(ocellus_mailbox_create(engine, width, height, OCELLUS_GRAY8, OCELLUS_MEMORY_HOST, &mailbox,
                              &error));
  ocellus_operator* ops[OPERATORS] = {NULL};
  static ocellus_operator_info infos[OPERATORS];
  ocellus_plane planes[OPERATORS][OCELLUS_MAX_PLANES] = {{{NULL, 0, 0, 0, 0, 0, NULL}}};
  void* records[OPERATORS] = {NULL};
  for (int i = 0; i < OPERATORS; ++i) {
    need(ocellus_operator_create(engine, &configs[i], &ops[i], &error));
    need(ocellus_operator_get_info(ops[i], &infos[i], &error));
    if (infos[i].record_bytes > 0) records[i] = calloc(1, infos[i].record_bytes);
    for (int p = 0; p < infos[i].plane_count; ++p) {
      const ocellus_plane_info* info = &infos[i].planes[p];
      ocellus_plane* plane = &planes[i][p];
      plane->width = info->width;
      plane->height = info->height;
      plane->format = info->format;
      plane->stride = ocellus_row_bytes(info->format, info->width);
      if (!info->optional || i == 0) plane->data = malloc((size_t)(plane->stride * info->height));
    }
  }

  pthread_t thread;
  if (pthread_create(&thread, NULL, camera, mailbox) != 0) return 1;
  ocellus_frame frame;
  while (ocellus_mailbox_take(mailbox, OCELLUS_NEVER, &frame, &error) == OCELLUS_OK) {
    ocellus_ticket tickets[OPERATORS];
    for (int i = 0; i < OPERATORS; ++i)
      need(ocellus_operator_submit(ops[i], &frame, planes[i], (size_t)infos[i].plane_count,
                                   records[i], &tickets[i], &error));
    int64_t deadline = ocellus_deadline_after(budget_ns);
    for (int left = OPERATORS; left > 0; --left) {
      size_t done = 0;
      ocellus_status status = ocellus_wait_any(ops, OPERATORS, deadline, 0, &done, &error);
      if (status == OCELLUS_DEADLINE_MISSED) {
        printf("frame %d: late\n", (int)frame.sequence); /* a robot brakes here */
        deadline = OCELLUS_NEVER;                        /* the frame is still in use */
        status = ocellus_wait_any(ops, OPERATORS, deadline, 0, &done, &error);
      }
      need(status);
      need(ocellus_operator_wait(ops[done], tickets[done], OCELLUS_NEVER, NULL, &error));
    }
    double objects = 0;
    char text[128];
    size_t length = 0;
    need(ocellus_operator_read_field(ops[0], records[0], "count", 0, &objects, &error));
    need(ocellus_operator_write_text(ops[2], records[2], -1, text, sizeof(text), &length, &error));
    printf("frame %d: %d moving objects, digits \"%s\"\n", (int)frame.sequence, (int)objects, text);
  }
  pthread_join(thread, NULL);
  printf("%d frames were replaced by newer ones\n", (int)ocellus_mailbox_replaced(mailbox));
  for (int i = 0; i < OPERATORS; ++i) ocellus_operator_destroy(ops[i]);
  ocellus_mailbox_destroy(mailbox);
  ocellus_engine_destroy(engine);
  return 0;
}
