// Elements whose operator learns: what it has learned becomes a model file.
#pragma once

#include "base/gstocellusbase.h"

namespace gst_ocellus {

/// Installs the action signal `save-model` on an element class.
void install_save_model(GType type);

/// Saves to the file of the property `save-location`, if one is set and frames have taught the
/// operator since the last file. Called at the end of the stream, when its frames have been pushed,
/// and before the operator is destroyed.
void save_learned(GstOcellusBase* self);

}  // namespace gst_ocellus
