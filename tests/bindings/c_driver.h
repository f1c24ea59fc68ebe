/* A C program's part of the test of the C interface. */
#ifndef OCELLUS_TESTS_BINDINGS_C_DRIVER_H
#define OCELLUS_TESTS_BINDINGS_C_DRIVER_H

#include "ocellus/ocellus_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An operator on an engine of its own. */
typedef struct driver {
  ocellus_engine* engine;
  ocellus_operator* op;
  ocellus_operator_info info;
} driver;

ocellus_status driver_create(driver* made, const ocellus_operator_config* config,
                             ocellus_error* error);
void driver_destroy(driver* made);

/** Sends frames without padding that lie one behind the other, and waits for each. Afterwards the
 * planes and the record have the result of the last one. `infos` has room for one description a
 * frame. */
ocellus_status driver_run(driver* made, const void* frames, int frame_count,
                          const ocellus_plane* planes, void* record, ocellus_frame_info* infos,
                          ocellus_error* error);

/** Number of operators in the list, counted from C. */
size_t driver_count_operators(void);

#ifdef __cplusplus
}
#endif

#endif
