/* Prints the layout of each struct of ocellus_c.h: its name and size, then name, offset and size of
 * each member. The test of the Python package compares it with what the package declares. */
#include <stdio.h>

#include "ocellus/ocellus_c.h"

#define STRUCT(type) printf("\n%s %zu", #type, sizeof(type))
#define FIELD(type, member) \
  printf(" %s:%zu:%zu", #member, offsetof(type, member), sizeof(((type*)NULL)->member))

int main(void) {
  STRUCT(ocellus_error);
  FIELD(ocellus_error, status);
  FIELD(ocellus_error, text);
  STRUCT(ocellus_option);
  FIELD(ocellus_option, name);
  FIELD(ocellus_option, value);
  STRUCT(ocellus_operator_config);
  FIELD(ocellus_operator_config, name);
  FIELD(ocellus_operator_config, width);
  FIELD(ocellus_operator_config, height);
  FIELD(ocellus_operator_config, format);
  FIELD(ocellus_operator_config, black);
  FIELD(ocellus_operator_config, white);
  FIELD(ocellus_operator_config, options);
  FIELD(ocellus_operator_config, option_count);
  STRUCT(ocellus_engine_config);
  FIELD(ocellus_engine_config, backend);
  FIELD(ocellus_engine_config, workers);
  FIELD(ocellus_engine_config, realtime_priority);
  FIELD(ocellus_engine_config, lock_memory);
  FIELD(ocellus_engine_config, affinity);
  FIELD(ocellus_engine_config, affinity_count);
  FIELD(ocellus_engine_config, device_wait);
  FIELD(ocellus_engine_config, device_stream_sets);
  FIELD(ocellus_engine_config, device_copy_threads);
  FIELD(ocellus_engine_config, options);
  FIELD(ocellus_engine_config, option_count);
  FIELD(ocellus_engine_config, workers_only);
  FIELD(ocellus_engine_config, memory);
  STRUCT(ocellus_engine_info);
  FIELD(ocellus_engine_info, backend);
  FIELD(ocellus_engine_info, device);
  FIELD(ocellus_engine_info, workers);
  FIELD(ocellus_engine_info, device_name);
  FIELD(ocellus_engine_info, simd_target);
  FIELD(ocellus_engine_info, integrated);
  FIELD(ocellus_engine_info, zero_copy);
  FIELD(ocellus_engine_info, workers_only);
  STRUCT(ocellus_plane_info);
  FIELD(ocellus_plane_info, name);
  FIELD(ocellus_plane_info, width);
  FIELD(ocellus_plane_info, height);
  FIELD(ocellus_plane_info, format);
  FIELD(ocellus_plane_info, optional);
  FIELD(ocellus_plane_info, levels);
  FIELD(ocellus_plane_info, follows_frame);
  FIELD(ocellus_plane_info, keeps_color);
  STRUCT(ocellus_field_info);
  FIELD(ocellus_field_info, name);
  FIELD(ocellus_field_info, help);
  FIELD(ocellus_field_info, type);
  FIELD(ocellus_field_info, capacity);
  FIELD(ocellus_field_info, offset);
  FIELD(ocellus_field_info, role);
  STRUCT(ocellus_operator_info);
  FIELD(ocellus_operator_info, name);
  FIELD(ocellus_operator_info, width);
  FIELD(ocellus_operator_info, height);
  FIELD(ocellus_operator_info, format);
  FIELD(ocellus_operator_info, plane_count);
  FIELD(ocellus_operator_info, planes);
  FIELD(ocellus_operator_info, record_name);
  FIELD(ocellus_operator_info, record_bytes);
  FIELD(ocellus_operator_info, field_count);
  FIELD(ocellus_operator_info, classes);
  FIELD(ocellus_operator_info, text_parts);
  FIELD(ocellus_operator_info, depth);
  FIELD(ocellus_operator_info, support_frames);
  FIELD(ocellus_operator_info, delay_frames);
  FIELD(ocellus_operator_info, keeps_state);
  FIELD(ocellus_operator_info, learns);
  FIELD(ocellus_operator_info, summary);
  STRUCT(ocellus_frame);
  FIELD(ocellus_frame, data);
  FIELD(ocellus_frame, width);
  FIELD(ocellus_frame, height);
  FIELD(ocellus_frame, stride);
  FIELD(ocellus_frame, format);
  FIELD(ocellus_frame, memory);
  FIELD(ocellus_frame, stream);
  FIELD(ocellus_frame, sequence);
  FIELD(ocellus_frame, timestamp_ns);
  STRUCT(ocellus_plane);
  FIELD(ocellus_plane, data);
  FIELD(ocellus_plane, width);
  FIELD(ocellus_plane, height);
  FIELD(ocellus_plane, stride);
  FIELD(ocellus_plane, format);
  FIELD(ocellus_plane, memory);
  FIELD(ocellus_plane, stream);
  STRUCT(ocellus_ticket);
  FIELD(ocellus_ticket, number);
  FIELD(ocellus_ticket, issuer);
  STRUCT(ocellus_frame_info);
  FIELD(ocellus_frame_info, sequence);
  FIELD(ocellus_frame_info, timestamp_ns);
  FIELD(ocellus_frame_info, described_sequence);
  FIELD(ocellus_frame_info, described_timestamp_ns);
  FIELD(ocellus_frame_info, delay_frames);
  FIELD(ocellus_frame_info, flags);
  FIELD(ocellus_frame_info, queue_ns);
  FIELD(ocellus_frame_info, copy_ns);
  FIELD(ocellus_frame_info, compute_ns);
  STRUCT(ocellus_stats);
  FIELD(ocellus_stats, frames);
  FIELD(ocellus_stats, bad_frames);
  FIELD(ocellus_stats, missed_deadlines);
  FIELD(ocellus_stats, p50_ns);
  FIELD(ocellus_stats, p99_ns);
  FIELD(ocellus_stats, max_ns);
  FIELD(ocellus_stats, canceled_frames);
  FIELD(ocellus_stats, overflow);
  printf("\n");
  return 0;
}
