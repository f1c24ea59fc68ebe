/* The C interface: engines, and every operator of the library by its name. For programs in C and
 * for other languages. It is plain C99 and gives what OperatorHandle gives in C++
 * (ocellus/operator.h).
 *
 *     #include <ocellus/ocellus_c.h>
 *     #include <stdio.h>
 *
 *     static unsigned char gray[480][640];
 *     static float u[480][640], v[480][640];
 *
 *     int main(void) {
 *       const ocellus_option options[] = {{"preset", "fast"}};
 *       const ocellus_operator_config config = {
 *           .name = "flow", .width = 640, .height = 480, .options = options, .option_count = 1};
 *       const ocellus_frame frame = {.data = gray, .width = 640, .height = 480, .stride = 640};
 *       const ocellus_plane planes[] = {
 *           {.data = u, .width = 640, .height = 480, .stride = 2560, .format = OCELLUS_FLOAT32},
 *           {.data = v, .width = 640, .height = 480, .stride = 2560, .format = OCELLUS_FLOAT32}};
 *       ocellus_engine* engine = NULL;
 *       ocellus_operator* flow = NULL;
 *       ocellus_ticket ticket;
 *       ocellus_error error;
 *
 *       ocellus_status status = ocellus_engine_create(NULL, &config, 1, &engine, &error);
 *       if (status == OCELLUS_OK) status = ocellus_operator_create(engine, &config, &flow, &error);
 *       for (int i = 0; i < 10 && status == OCELLUS_OK; ++i) {  // a new image comes into gray
 *         status = ocellus_operator_submit(flow, &frame, planes, 2, NULL, &ticket, &error);
 *         if (status == OCELLUS_OK)
 *           status = ocellus_operator_wait(flow, ticket, OCELLUS_NEVER, NULL, &error);
 *       }
 *       if (status != OCELLUS_OK) fprintf(stderr, "%s\n", error.text);
 *       ocellus_operator_destroy(flow);
 *       ocellus_engine_destroy(engine);
 *       return status;
 *     }
 *
 * Errors. A function that can fail returns a status and takes a pointer to an ocellus_error, which
 * may be null. After a failure the error has the status and a text that says what is wrong and what
 * is valid. After a success the error is not changed. A null pointer where none is allowed is an
 * InvalidArgument, and so is a number that no enumerator has. A failed call does not write to its
 * other results.
 *
 * Memory. Only the functions ..._create allocate. Texts that the library returns are never freed.
 *
 * Threads. The rules are those of C++: the calls for one operator must not run at the same time,
 * except `wait` with `submit`. Different operators are independent, even on one engine. An engine
 * takes any call from any thread. The interface has no state of its own.
 *
 * The structs may grow before version 1.0: compare ocellus_version with OCELLUS_VERSION_STRING.
 */
#ifndef OCELLUS_OCELLUS_C_H
#define OCELLUS_OCELLUS_C_H

#include <stddef.h>
#include <stdint.h>

#include "ocellus/version.h"

/* NOLINTBEGIN(readability-identifier-naming): names of a C library */
#if defined(__GNUC__)
#pragma GCC visibility push(default) /* exported by a shared library */
#endif
#ifdef __cplusplus
extern "C" {
#endif

/** The result of a call. The values and meanings of ocellus::Status. */
typedef int32_t ocellus_status;
enum {
  OCELLUS_OK = 0,
  OCELLUS_INVALID_ARGUMENT = 1, /**< a value of the call or of the configuration is wrong */
  OCELLUS_UNSUPPORTED = 2,      /**< valid, but not on this backend or in this build */
  OCELLUS_OUT_OF_MEMORY = 3,    /**< the engine's block is too small, or the system is full */
  OCELLUS_QUEUE_FULL = 4,       /**< `depth` frames are in flight */
  OCELLUS_INVALID_TICKET = 5,   /**< not in flight: waited for, dropped, or of another operator */
  OCELLUS_DEADLINE_MISSED = 6,  /**< not done yet; the operator still uses the frame */
  OCELLUS_BACKEND_UNAVAILABLE = 7, /**< the backend is not in this build or on this machine */
  OCELLUS_DEVICE_LOST = 8,         /**< the device does not respond any more */
  OCELLUS_CORRUPT_FILE = 9,        /**< a model, filter or kernel file is damaged */
  OCELLUS_IO_ERROR = 10,           /**< a file could not be opened, read or written */
  OCELLUS_SYSTEM = 11,             /**< the system or CUDA refused a call */
  OCELLUS_STOPPED = 12             /**< `stop` was called: no result, or the frame was not taken */
};

/** Bytes of an error's text, with the NUL. */
#define OCELLUS_ERROR_TEXT_CAPACITY 240

/** What is wrong, and what is valid. */
typedef struct ocellus_error {
  ocellus_status status;
  char text[OCELLUS_ERROR_TEXT_CAPACITY]; /**< NUL-terminated */
} ocellus_error;

/** Type of the pixels of a frame, or of the elements of a plane. The formats from OCELLUS_YUY2 on
 * are those of cameras: only frames have them, and an operator computes from their luma, see
 * ocellus/luma.h. The Y plane of I420 or NV12 is an OCELLUS_GRAY8 frame. */
typedef int32_t ocellus_format;
enum {
  OCELLUS_GRAY8 = 0,   /**< uint8_t, 0 to 255 */
  OCELLUS_GRAY16 = 1,  /**< uint16_t in the host's byte order; 65535 is white */
  OCELLUS_FLOAT32 = 2, /**< float; for frames 255 is white, NaN and infinity are bad pixels */
  OCELLUS_YUY2 = 3,    /**< YUV 4:2:2, two pixels in the bytes Y U Y V */
  OCELLUS_UYVY = 4,    /**< the same in the bytes U Y V Y */
  OCELLUS_BGR = 5,     /**< the bytes B G R */
  OCELLUS_RGB = 6,     /**< the bytes R G B */
  OCELLUS_BGRX = 7,    /**< the bytes B G R and one that is not used; also BGRA */
  OCELLUS_RGBX = 8     /**< the bytes R G B and one that is not used; also RGBA */
};

/** The kind of memory that holds the pixels. */
typedef int32_t ocellus_memory;
enum {
  OCELLUS_MEMORY_HOST = 0,   /**< ordinary memory */
  OCELLUS_MEMORY_PINNED = 1, /**< page-locked memory of CUDA */
  OCELLUS_MEMORY_CUDA = 2    /**< device memory; `stream` orders its use, see ocellus/frame.h */
};

/** How `wait` waits for a CUDA device. */
typedef int32_t ocellus_device_wait;
enum {
  OCELLUS_WAIT_SPIN = 0,  /**< polls: shortest delay, one CPU busy */
  OCELLUS_WAIT_YIELD = 1, /**< polls and yields to other threads in between */
  OCELLUS_WAIT_BLOCK = 2  /**< sleeps: no CPU busy, about 50 us slower */
};

/** Largest number of planes of an operator. */
#define OCELLUS_MAX_PLANES 8
/** Largest number of options in a configuration. */
#define OCELLUS_MAX_OPTIONS 64

/** An option by its name, and its value as text: {"window", "9"}. docs/options.md lists the options
 * of every operator. Words of a name may be separated by '_' or '-'. */
typedef struct ocellus_option {
  const char* name;
  const char* value;
} ocellus_option;

/** Configuration of an operator. Zero is the default of every member behind `height`. */
typedef struct ocellus_operator_config {
  const char* name; /**< "flow", "halftone", ...; ocellus_operator_name lists all */
  int32_t width;    /**< size of the frames in pixels */
  int32_t height;
  ocellus_format format;         /**< format of the frames */
  float black;                   /**< gray value of black, in units of 8-bit gray */
  float white;                   /**< gray value of white; black and white both 0: 0 and 255 */
  const ocellus_option* options; /**< in any order: a preset is applied first */
  size_t option_count;           /**< at most OCELLUS_MAX_OPTIONS */
} ocellus_operator_config;

/** Bytes of each kind of memory. */
typedef struct ocellus_footprint {
  size_t host;   /**< ordinary memory */
  size_t pinned; /**< page-locked host memory */
  size_t device; /**< memory of the CUDA device */
} ocellus_footprint;

/** Use of the memory of an engine. */
typedef struct ocellus_memory_use {
  ocellus_footprint capacity; /**< what the engine has */
  ocellus_footprint used;     /**< what its operators and mailboxes hold now */
  ocellus_footprint peak;     /**< largest value of `used` so far */
  int32_t pieces;             /**< number of pieces of memory in use */
} ocellus_memory_use;

/** Configuration of an engine. Zero is the default of every member. */
typedef struct ocellus_engine_config {
  const char* backend; /**< "auto", "cpu", "cuda" or "cuda:N"; null: "auto" */
  /** Threads that compute CPU frames; 0: as many as CPUs that the affinity mask and the limit of
   * the container allow. */
  int32_t workers;
  int32_t realtime_priority; /**< 1 to 99: SCHED_FIFO at this priority; 0: no real-time policy */
  int32_t lock_memory;       /**< not 0: locks the memory of the engine (mlock) */
  /** CPU of each worker; -1: a share of the CPUs that no other worker may use; -2: any CPU;
   * null: -1 for all. */
  const int16_t* affinity;
  size_t affinity_count; /**< at most 64; -1 for workers behind it */
  ocellus_device_wait device_wait;
  int32_t device_stream_sets;  /**< CUDA: operators that may overlap on the device; 0: 4 */
  int32_t device_copy_threads; /**< CUDA: threads that help to copy, 0 to 16 */
  /** Options by name: "zero_copy" with "auto", "on" or "off", see EngineConfig in
   * ocellus/engine.h. */
  const ocellus_option* options;
  size_t option_count; /**< at most OCELLUS_MAX_OPTIONS */
  /** not 0: threads that wait never compute, see EngineConfig in ocellus/engine.h */
  int32_t workers_only;
  /** Memory in addition to that of the operators that the engine is created for, such as for
   * mailboxes. */
  ocellus_footprint memory;
} ocellus_engine_config;

/** Properties of an engine. */
typedef struct ocellus_engine_info {
  const char* backend;     /**< "cpu" or "cuda" */
  int32_t device;          /**< number of the CUDA device; -1 on the CPU */
  int32_t workers;         /**< threads that compute; 0 on a CUDA device */
  char device_name[64];    /**< name of the processor or of the device */
  const char* simd_target; /**< instruction set in use */
  int32_t integrated;      /**< 1: the memory of the CUDA device is that of the host */
  int32_t zero_copy;       /**< 1: the CUDA device uses pinned memory where it lies */
  int32_t workers_only;    /**< 1: threads that wait never compute */
} ocellus_engine_info;

/** A plane that an operator writes. */
typedef struct ocellus_plane_info {
  const char* name;
  int32_t width;
  int32_t height;
  ocellus_format format;
  int32_t optional; /**< 1: the plane may be left out */
  int32_t levels;   /**< number of different values; 0: any */
  /** 1: the plane is a picture of the frame; if frames have color, ocellus_plane.format may be that
   * of the frames, and the picture is then written in it */
  int32_t follows_frame;
  int32_t keeps_color; /**< 1: such a picture has the color of the frame; 0: it is gray */
} ocellus_plane_info;

/** Type of a field of a record. */
typedef int32_t ocellus_field_type;
enum {
  OCELLUS_FIELD_INT32 = 0,
  OCELLUS_FIELD_UINT32 = 1,
  OCELLUS_FIELD_FLOAT = 2,
  OCELLUS_FIELD_BOOL = 3 /**< one byte, 0 or 1 */
};

/** What a field of a record means to a program that does not know the operator. */
typedef int32_t ocellus_field_role;
enum {
  OCELLUS_ROLE_VALUE = 0,      /**< of the record, or of each item if the capacity is above 1 */
  OCELLUS_ROLE_COUNT = 1,      /**< number of items: the values of a field of a capacity above 1 */
  OCELLUS_ROLE_LABEL = 2,      /**< class of an item, see ocellus_operator_class_name; -1: none */
  OCELLUS_ROLE_CONFIDENCE = 3, /**< of the label, 0 to 1 */
  OCELLUS_ROLE_BOX = 4,        /**< four fields: left and upper edge, width and height, pixels */
  OCELLUS_ROLE_TEXT = 5, /**< two fields: the part of the text of an item, and its line there */
  /** bits of an item; of a capacity of 1: a bool that is worth telling if it is true */
  OCELLUS_ROLE_FLAG = 6
};

/** A field of a record: an array of `capacity` values of one type. */
typedef struct ocellus_field_info {
  const char* name;
  const char* help; /**< meaning, with the unit */
  ocellus_field_type type;
  int32_t capacity;
  size_t offset; /**< bytes from the start of the record */
  ocellus_field_role role;
} ocellus_field_info;

/** What an operator takes and produces. It does not change after creation. */
typedef struct ocellus_operator_info {
  const char* name;
  int32_t width; /**< size of the frames */
  int32_t height;
  ocellus_format format;
  int32_t plane_count;
  ocellus_plane_info planes[OCELLUS_MAX_PLANES];
  const char* record_name; /**< null if the operator has no record */
  size_t record_bytes;     /**< at most 24576; 0 if the operator has no record */
  int32_t field_count;     /**< fields of the record, see ocellus_operator_get_field */
  int32_t classes;         /**< classes of the record's labels */
  int32_t text_parts; /**< parts of the record's text, such as the fields of a form; 0: it is not
                         divided */
  int32_t depth;      /**< frames in flight, 1 to 8 */
  int32_t support_frames; /**< number of frames that a result is computed from */
  float delay_frames;     /**< age of the moment that a result describes */
  int32_t keeps_state;    /**< 1: a result depends on previous frames */
  int32_t learns;         /**< 1: frames change the model; `reset` keeps that */
  char summary[160];      /**< the method of computation in a few words */
} ocellus_operator_info;

/** An input image. It must stay valid and unchanged until `wait` reports the frame as done. */
typedef struct ocellus_frame {
  const void* data; /**< first pixel of the first row */
  int32_t width;
  int32_t height;
  ptrdiff_t stride; /**< bytes from row to row */
  ocellus_format format;
  ocellus_memory memory;
  void* stream;         /**< device memory: the stream that writes the pixels */
  uint64_t sequence;    /**< the caller's frame number, returned in ocellus_frame_info */
  int64_t timestamp_ns; /**< the caller's time, returned in ocellus_frame_info */
} ocellus_frame;

/** Destination of a plane, in the caller's memory. */
typedef struct ocellus_plane {
  void* data; /**< first element of the first row; null: the plane is left out */
  int32_t width;
  int32_t height;
  ptrdiff_t stride; /**< bytes from row to row */
  ocellus_format format;
  ocellus_memory memory;
  void* stream; /**< device memory: the stream that uses the plane */
} ocellus_plane;

/** Identifies a submitted frame. Valid for one operator until `wait` reports the frame as done,
 * `cancel` drops it or `reset` is called. */
typedef struct ocellus_ticket {
  uint64_t number;
  uint64_t issuer;
} ocellus_ticket;

/** Bits of ocellus_frame_info.flags. */
enum {
  OCELLUS_WARMING_UP = 1, /**< fewer frames have come than the temporal support */
  /** the frame contains NaN or infinity; the planes are marked invalid, the record is zero */
  OCELLUS_BAD_PIXELS = 2
};

/** Description of a finished frame. */
typedef struct ocellus_frame_info {
  uint64_t sequence;
  int64_t timestamp_ns;
  uint64_t described_sequence; /**< the frame that the result describes */
  int64_t described_timestamp_ns;
  float delay_frames;
  uint32_t flags;
  int64_t queue_ns;   /**< from `submit` until the first worker started */
  int64_t copy_ns;    /**< copies to and from the device */
  int64_t compute_ns; /**< from the start of the first worker to the end of the last one */
} ocellus_frame_info;

/** What `cancel` found. */
typedef enum ocellus_cancel_outcome {
  OCELLUS_CANCELED = 0,     /**< the frame had not begun; it is dropped with its ticket */
  OCELLUS_CANCEL_BEGUN = 1, /**< it is being computed; wait for it as usual */
  OCELLUS_CANCEL_DONE = 2   /**< it is done; `wait` returns its result */
} ocellus_cancel_outcome;

/** Statistics since creation. Times are from `submit` to the return of the `wait` that reported the
 * frame as done. */
typedef struct ocellus_stats {
  uint64_t frames;     /**< frames that `wait` reported as done */
  uint64_t bad_frames; /**< number of those that had pixels that are not finite */
  /** Frames of which a `wait` returned OCELLUS_DEADLINE_MISSED although its deadline was later than
   * the frame's `submit`. Each one counts once, whether it was done later or not. A deadline that
   * is not later, such as 0, only looks and does not count. */
  uint64_t missed_deadlines;
  int64_t p50_ns; /**< 17179869184: longer than 17179869183; the same for p99_ns */
  int64_t p99_ns;
  int64_t max_ns;
  uint64_t canceled_frames; /**< frames that `cancel` dropped; no other number counts them */
  uint64_t overflow;        /**< of `frames`, those that took longer than 17179869183 ns */
} ocellus_stats;

/** Owner of worker threads, devices and memory. */
typedef struct ocellus_engine ocellus_engine;
/** An operator on an engine. */
typedef struct ocellus_operator ocellus_operator;
/** The newest frame of a camera, see FrameMailbox in ocellus/frame_mailbox.h. */
typedef struct ocellus_mailbox ocellus_mailbox;
/** Operators of one configuration on several devices, see OperatorGroup in
 * ocellus/operator_group.h. */
typedef struct ocellus_group ocellus_group;

/** Version of the linked library, "major.minor.patch". */
const char* ocellus_version(void);
/** Name of a status: "InvalidArgument". */
const char* ocellus_status_name(ocellus_status status);

/** Name of an operator of the library, in the order of the documentation. Returns null behind the
 * last one. */
const char* ocellus_operator_name(size_t index);
/** One sentence about the same operator. */
const char* ocellus_operator_summary(size_t index);

/** Bytes of `width` pixels of a format without padding; 0 if there is no such format. */
ptrdiff_t ocellus_row_bytes(ocellus_format format, int32_t width);

/** A deadline is a time of the system's monotonic clock (CLOCK_MONOTONIC) in nanoseconds. A
 * deadline in the past, such as 0, lets `wait` look without blocking. */
#define OCELLUS_NEVER INT64_MAX
/** The deadline that is `duration_ns` from now. */
int64_t ocellus_deadline_after(int64_t duration_ns);

/** What ocellus_engine_create would make of a configuration. Takes no resources. Errors: those of
 * ocellus_engine_create. */
ocellus_status ocellus_engine_probe(const ocellus_engine_config* config, ocellus_engine_info* info,
                                    ocellus_error* error);
/** Starts the workers and allocates the memory for these operators, which may all exist on the
 * engine at once. A null `config` is the default. Errors: InvalidArgument, BackendUnavailable,
 * OutOfMemory, CorruptFile, IoError, System, Unsupported. */
ocellus_status ocellus_engine_create(const ocellus_engine_config* config,
                                     const ocellus_operator_config* operators,
                                     size_t operator_count, ocellus_engine** engine,
                                     ocellus_error* error);
/** The operators of an engine keep its threads and memory, so the order of destruction is free.
 * Null is allowed. */
void ocellus_engine_destroy(ocellus_engine* engine);
ocellus_status ocellus_engine_get_info(const ocellus_engine* engine, ocellus_engine_info* info,
                                       ocellus_error* error);
ocellus_status ocellus_engine_get_memory_use(const ocellus_engine* engine, ocellus_memory_use* use,
                                             ocellus_error* error);

/** What an operator of this configuration takes and produces. Takes no resources. Errors: those of
 * ocellus_operator_create. */
ocellus_status ocellus_operator_probe(const ocellus_operator_config* config,
                                      ocellus_operator_info* info, ocellus_error* error);
/** The memory that an operator takes on such an engine. Takes no resources. Errors: those of
 * ocellus_operator_create. */
ocellus_status ocellus_operator_footprint(const ocellus_engine_config* engine,
                                          const ocellus_operator_config* config,
                                          ocellus_footprint* footprint, ocellus_error* error);
/** Creates an operator. Errors: InvalidArgument (the text names the option, its value and the valid
 * values), OutOfMemory (not a configuration that the engine was made for), and those of
 * ocellus_engine_create. */
ocellus_status ocellus_operator_create(ocellus_engine* engine,
                                       const ocellus_operator_config* config, ocellus_operator** op,
                                       ocellus_error* error);
/** Ends the frames in flight early and returns the memory to the engine. Null is allowed. */
void ocellus_operator_destroy(ocellus_operator* op);

ocellus_status ocellus_operator_get_info(const ocellus_operator* op, ocellus_operator_info* info,
                                         ocellus_error* error);
/** Describes field number `index` of the operator's record. Errors: InvalidArgument. */
ocellus_status ocellus_operator_get_field(const ocellus_operator* op, size_t index,
                                          ocellus_field_info* field, ocellus_error* error);
/** Reads value number `index` of a field from a record of this operator. A bool is 0 or 1. Errors:
 * InvalidArgument (no such field or value). */
ocellus_status ocellus_operator_read_field(const ocellus_operator* op, const void* record,
                                           const char* field, size_t index, double* value,
                                           ocellus_error* error);

/** The name of a class, which lives as long as the operator; "" if there is no such class. */
const char* ocellus_operator_class_name(const ocellus_operator* op, int32_t label);
/** Writes the names of the classes of a record's items as one text, such as the digits that were
 * read, with a line end between lines. `part`: 0 to text_parts - 1, or -1 for all. `length`: of the
 * text without its NUL. If `capacity` is not greater, the text is cut off. Errors: InvalidArgument.
 */
ocellus_status ocellus_operator_write_text(const ocellus_operator* op, const void* record,
                                           int32_t part, char* text, size_t capacity,
                                           size_t* length, ocellus_error* error);

/** Draws a flow field to an image of OCELLUS_RGB of its size, see ocellus/flow_draw.h. `u` and `v`
 * are OCELLUS_FLOAT32. `over` 0: with the color wheel, the whole image; 1: the motion of at least a
 * pixel as arrows over the image, with a legend. Only libocellus_c.so has the functions that draw.
 * All planes are in memory of the host. Errors: InvalidArgument. */
ocellus_status ocellus_draw_flow(const ocellus_plane* u, const ocellus_plane* v, int32_t over,
                                 const ocellus_plane* image, ocellus_error* error);
/** Draws the boxes of a record's items and their names over an image of OCELLUS_RGB that has the
 * size of the frames: characters, patches, moving objects. Errors: InvalidArgument. */
ocellus_status ocellus_operator_draw(const ocellus_operator* op, const void* record,
                                     const ocellus_plane* image, ocellus_error* error);

/** Queues a frame. Takes bounded time. `planes` are in the order of ocellus_operator_info.planes;
 * planes behind `plane_count` are left out. `record` has room for record_bytes and is aligned as by
 * malloc; null: no record is written. Frame, planes and record belong to the operator until `wait`
 * reports the frame as done. Errors: InvalidArgument, QueueFull, DeviceLost, System, Stopped. */
ocellus_status ocellus_operator_submit(ocellus_operator* op, const ocellus_frame* frame,
                                       const ocellus_plane* planes, size_t plane_count,
                                       void* record, ocellus_ticket* ticket, ocellus_error* error);
/** Computes or waits until the frame is done or the deadline has passed. `info` may be null.
 * Errors: InvalidTicket, DeadlineMissed (not done yet), DeviceLost, System, Stopped (the frame has
 * no result, and its ticket is dropped). */
ocellus_status ocellus_operator_wait(ocellus_operator* op, ocellus_ticket ticket,
                                     int64_t deadline_ns, ocellus_frame_info* info,
                                     ocellus_error* error);
/** Gives a frame back that has not begun, so that a newer one can take its place; it leaves no
 * trace. Does not wait. If the frame has begun or is done, nothing changes. On CUDA every submitted
 * frame has begun. Errors: InvalidTicket, DeviceLost, System. */
ocellus_status ocellus_operator_cancel(ocellus_operator* op, ocellus_ticket ticket,
                                       ocellus_cancel_outcome* outcome, ocellus_error* error);
/** Gives a file descriptor for event loops (poll, epoll). It is readable while a frame is done that
 * was not waited for, or while `wait` would return an error other than DeadlineMissed. Do not read,
 * write or close it: `wait` resets it, and the operator closes it. The first call creates it, and
 * on CUDA starts a thread; call it at creation. Errors: System. */
ocellus_status ocellus_operator_create_event_fd(ocellus_operator* op, int* fd,
                                                ocellus_error* error);
/** Makes the frames in flight end early, see OperatorHandle::stop. The `wait` of such a frame and
 * every `submit` until `reset` return Stopped. Any thread and a handler of signals may call it
 * beside every other call but `destroy`. `op` may be null. */
void ocellus_operator_stop(ocellus_operator* op);
/** Drops the frames in flight and their tickets, and forgets all previous frames. A frame that runs
 * ends early. */
ocellus_status ocellus_operator_reset(ocellus_operator* op, ocellus_error* error);

/** Writes what the operator has learned to a model file. `path` has the old file or the whole new
 * one at any time; pipes are refused. Errors: Unsupported (it does not learn), InvalidArgument,
 * IoError, DeviceLost, System. */
ocellus_status ocellus_operator_save_model(ocellus_operator* op, const char* path,
                                           ocellus_error* error);
/** Takes over what another operator has learned. After an error in the middle, submit and
 * save_model return System until it succeeds. Errors: Unsupported, InvalidArgument (models of
 * different shapes), DeviceLost, System. */
ocellus_status ocellus_operator_take_learned(ocellus_operator* op, ocellus_operator* from,
                                             ocellus_error* error);
ocellus_status ocellus_operator_get_stats(const ocellus_operator* op, ocellus_stats* stats,
                                          ocellus_error* error);

/** Waits until one of the operators has a frame that is done and was not waited for, and gives its
 * index, see wait_any in ocellus/operator.h. `last`: the index that the call before gave. Errors:
 * InvalidArgument (none, or more than 64), DeadlineMissed, System. */
ocellus_status ocellus_wait_any(ocellus_operator* const* operators, size_t operator_count,
                                int64_t deadline_ns, size_t last, size_t* index,
                                ocellus_error* error);

/** The memory of a mailbox, for ocellus_engine_config.memory. Errors: InvalidArgument. */
ocellus_status ocellus_mailbox_footprint(int32_t width, int32_t height, ocellus_format format,
                                         ocellus_memory memory, ocellus_footprint* footprint,
                                         ocellus_error* error);
/** Creates a mailbox in the memory of an engine: OCELLUS_MEMORY_HOST, or OCELLUS_MEMORY_PINNED on
 * CUDA. Errors: InvalidArgument, Unsupported, OutOfMemory. */
ocellus_status ocellus_mailbox_create(ocellus_engine* engine, int32_t width, int32_t height,
                                      ocellus_format format, ocellus_memory memory,
                                      ocellus_mailbox** mailbox, ocellus_error* error);
/** Null is allowed. */
void ocellus_mailbox_destroy(ocellus_mailbox* mailbox);
/** The camera's thread: the buffer of the next frame, which is its own until `publish`. */
ocellus_status ocellus_mailbox_back(const ocellus_mailbox* mailbox, ocellus_plane* plane,
                                    ocellus_error* error);
/** The camera's thread: makes that buffer the newest frame. */
ocellus_status ocellus_mailbox_publish(ocellus_mailbox* mailbox, uint64_t sequence,
                                       int64_t timestamp_ns, ocellus_error* error);
/** The thread that computes: waits for a frame newer than the last one, which stays valid until the
 * next call. Errors: DeadlineMissed, Stopped (the camera has ended). */
ocellus_status ocellus_mailbox_take(ocellus_mailbox* mailbox, int64_t deadline_ns,
                                    ocellus_frame* frame, ocellus_error* error);
/** The camera has ended. Null is allowed. */
void ocellus_mailbox_close(ocellus_mailbox* mailbox);
/** Frames that a newer one replaced before they were taken. */
uint64_t ocellus_mailbox_replaced(const ocellus_mailbox* mailbox);

/** Creates an engine for each configuration and the operators on them. `engine_count` is 1 to 64,
 * `camera_count` 1 to 256. Errors: those of ocellus_engine_create and ocellus_operator_create. */
ocellus_status ocellus_group_create(const ocellus_engine_config* engines, size_t engine_count,
                                    const ocellus_operator_config* config, int32_t camera_count,
                                    ocellus_group** group, ocellus_error* error);
/** Ends the frames in flight early. Null is allowed. */
void ocellus_group_destroy(ocellus_group* group);
/** What each operator takes and produces. */
ocellus_status ocellus_group_get_info(const ocellus_group* group, ocellus_operator_info* info,
                                      ocellus_error* error);
/** Engine number `number`. Errors: InvalidArgument. */
ocellus_status ocellus_group_get_engine_info(const ocellus_group* group, int32_t number,
                                             ocellus_engine_info* info, ocellus_error* error);
int32_t ocellus_group_engine_count(const ocellus_group* group);
int32_t ocellus_group_camera_count(const ocellus_group* group);
/** The largest number of frames of one camera in flight. */
int32_t ocellus_group_frames_in_flight(const ocellus_group* group);
/** The engine that takes the next frame of a camera; -1: none has room. */
int32_t ocellus_group_next_engine(const ocellus_group* group, int32_t camera);
/** Queues a frame of a camera, as ocellus_operator_submit. Errors: also QueueFull if no engine has
 * room. */
ocellus_status ocellus_group_submit(ocellus_group* group, int32_t camera,
                                    const ocellus_frame* frame, const ocellus_plane* planes,
                                    size_t plane_count, void* record, ocellus_error* error);
/** Waits for the oldest frame in flight of a camera, as ocellus_operator_wait. `info` and `engine`,
 * the number of the engine that computed it, may be null. */
ocellus_status ocellus_group_wait(ocellus_group* group, int32_t camera, int64_t deadline_ns,
                                  ocellus_frame_info* info, int32_t* engine, ocellus_error* error);
/** As ocellus_operator_stop, for all cameras. */
void ocellus_group_stop(ocellus_group* group);
/** As ocellus_operator_reset, for all cameras. */
ocellus_status ocellus_group_reset(ocellus_group* group, ocellus_error* error);
/** Writes what the operator of a camera has learned, as ocellus_operator_save_model. */
ocellus_status ocellus_group_save_model(ocellus_group* group, int32_t camera, const char* path,
                                        ocellus_error* error);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
/* NOLINTEND(readability-identifier-naming) */

#endif
