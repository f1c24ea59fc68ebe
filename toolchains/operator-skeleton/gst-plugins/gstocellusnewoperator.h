// ocellusnewoperator: see gstocellusnewoperator.cpp.
#pragma once

#include "base/gstocellusbase.h"

G_BEGIN_DECLS

#define GST_TYPE_OCELLUS_NEWOPERATOR (gst_ocellus_newoperator_get_type())
G_DECLARE_FINAL_TYPE(GstOcellusNewoperator, gst_ocellus_newoperator, GST, OCELLUS_NEWOPERATOR,
                     GstOcellusBase)
GST_ELEMENT_REGISTER_DECLARE(ocellusnewoperator)

G_END_DECLS
