// ocellusdigits: see gstocellusdigits.cpp.
#pragma once

#include "base/gstocellusbase.h"

G_BEGIN_DECLS

#define GST_TYPE_OCELLUS_DIGITS (gst_ocellus_digits_get_type())
G_DECLARE_FINAL_TYPE(GstOcellusDigits, gst_ocellus_digits, GST, OCELLUS_DIGITS, GstOcellusBase)
GST_ELEMENT_REGISTER_DECLARE(ocellusdigits)

G_END_DECLS
