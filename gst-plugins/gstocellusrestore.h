// ocellusrestore: see gstocellusrestore.cpp.
#pragma once

#include "base/gstocellusbase.h"

G_BEGIN_DECLS

#define GST_TYPE_OCELLUS_RESTORE (gst_ocellus_restore_get_type())
G_DECLARE_FINAL_TYPE(GstOcellusRestore, gst_ocellus_restore, GST, OCELLUS_RESTORE, GstOcellusBase)
GST_ELEMENT_REGISTER_DECLARE(ocellusrestore)

G_END_DECLS
