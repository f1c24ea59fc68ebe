// The options of an element's operator as properties: one property for each row of the table.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ocellus/operators.h"
#include "ocellus/status.h"

namespace gst_ocellus {

/// Id of the property of the table's first row. An element's own properties have smaller ids.
inline constexpr guint kFirstOption = 1000;

/// Installs the properties on the class of an element.
void install_options(GObjectClass* klass, const ocellus::OperatorDescription& description);

/// The options that were set on an element. A preset changes what was not set, so that the values
/// are kept as texts, and the configuration is made from them when it is needed.
class Options {
 public:
  explicit Options(const ocellus::OperatorDescription& description);

  /// `id`: of an installed property. A text that is NULL is not set any more.
  void set(guint id, const GValue* value);
  /// The value that was set, else the one that the operator would have.
  void get(guint id, GValue* value) const;

  void set_file(const gchar* path);
  const std::string& file() const { return file_; }
  /// Reads the file, if there is one. Errors: InvalidArgument, naming `config` and the file.
  ocellus::Expected<void> read_file();
  void forget_file() { from_file_.clear(); }

  /// From the options of the file and those that were set, which take precedence. Size and format
  /// are missing. Errors: as OperatorConfig::set_options.
  ocellus::Expected<ocellus::OperatorConfig> make() const;

  /// The error with the options called as the properties are.
  tl::unexpected<ocellus::Error> named(const ocellus::Error& error) const;

 private:
  const ocellus::OperatorDescription* description_;
  std::vector<std::optional<std::string>> values_;  // by the table's rows
  std::string file_;
  std::vector<std::pair<std::string, std::string>> from_file_;
};

}  // namespace gst_ocellus
