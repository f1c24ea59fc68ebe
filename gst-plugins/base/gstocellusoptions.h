// Option tables as element properties: one property for each row. The options of an operator have a
// class that stores them.
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

/// Id of the property of the first row. The other properties of an element have smaller ids.
inline constexpr guint kFirstOption = 1000;

/// Installs the properties of a table on an element class, from this id on. `defaults`: a
/// configuration.
void install_table(GObjectClass* klass, guint first_id, ocellus::OptionTable table,
                   const void* defaults, GParamFlags mutability);
/// Those of an operator.
void install_options(GObjectClass* klass, const ocellus::OperatorDescription& description);

/// Sets a member of a configuration to the value of the property that a row of its table has.
/// GObject has checked the range.
void set_option(const ocellus::Option& option, void* config, const GValue* value);
void get_option(const ocellus::Option& option, const void* config, GValue* value);

/// The options that are set on an element. They are stored as texts, because a preset changes the
/// values of options that are not set. The configuration is made from them when it is needed.
class Options {
 public:
  explicit Options(const ocellus::OperatorDescription& description);

  /// `id`: id of an installed property. A string value of NULL unsets the option.
  void set(guint id, const GValue* value);
  /// Returns the value that was set, otherwise the value that the operator would use.
  void get(guint id, GValue* value) const;

  void set_file(const gchar* path);
  const std::string& file() const { return file_; }
  /// Reads the file, if one is set. Errors: InvalidArgument, naming `config` and the file.
  ocellus::Expected<void> read_file();
  void forget_file() { from_file_.clear(); }

  /// Makes a configuration from the options in the file and those that are set, which take
  /// precedence. Size and format are not set. Errors: as OperatorConfig::set_options.
  ocellus::Expected<ocellus::OperatorConfig> make() const;

  /// Returns the error with property names in place of option names.
  tl::unexpected<ocellus::Error> named(const ocellus::Error& error) const;

 private:
  const ocellus::OperatorDescription* description_;
  std::vector<std::optional<std::string>> values_;  // indexed by row of the table
  std::string file_;
  std::vector<std::pair<std::string, std::string>> from_file_;
};

}  // namespace gst_ocellus
