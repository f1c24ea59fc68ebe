// Everything public.
#pragma once

#include "ocellus/buffer.h"
#include "ocellus/deadline.h"
#include "ocellus/engine.h"
#include "ocellus/flow_draw.h"
#include "ocellus/frame.h"
#include "ocellus/kernel_bank.h"
#include "ocellus/kernel_taps.h"
#include "ocellus/latency_histogram.h"
#include "ocellus/log.h"
#include "ocellus/memory.h"
#include "ocellus/optical_flow.h"
#include "ocellus/spatio_temporal_filter.h"
#include "ocellus/status.h"
#include "ocellus/ticket.h"
#include "ocellus/version.h"
