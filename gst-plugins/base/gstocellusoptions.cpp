#include "base/gstocellusoptions.h"

#include <charconv>

#include "apps/common/config_file.h"
#include "apps/common/input_error.h"

using namespace ocellus;

namespace gst_ocellus {
namespace {

std::string property_name(std::string_view option) {
  std::string name(option);
  for (char& letter : name)
    if (letter == '_') letter = '-';
  return name;
}

// Replaces option names by property names. Text in quotation marks is user input and stays
// unchanged.
std::string with_property_names(OptionTable table, std::string_view text) {
  const auto is_in_word = [](char letter) {
    return g_ascii_isalnum(letter) || letter == '_' || letter == '-' || letter == '/';
  };
  std::string made;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_in_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    const bool is_name = !quoted && !word.empty() && find_option(table, word) != nullptr;
    made += is_name ? property_name(word) : std::string(word);
    if (end < text.size()) {
      if (text[end] == '"') quoted = !quoted;
      made += text[end++];
    }
    at = end;
  }
  return made;
}

// For example "Sigma of the Gaussian (pixels; only with method=pyramid)".
std::string blurb_of(OptionTable table, const Option& option) {
  std::string notes = option.odd ? "odd" : "";
  const auto note = [&notes](const std::string& text) {
    notes += (notes.empty() ? "" : "; ") + text;
  };
  if (option.unit[0] != '\0') note(option.unit);
  if (option.needs[0] != '\0') note("only with " + with_property_names(table, option.needs));
  return notes.empty() ? std::string(option.help) : std::string(option.help) + " (" + notes + ")";
}

std::string nick_of(const Option& option) {
  std::string nick(option.name);
  for (char& letter : nick)
    if (letter == '_') letter = ' ';
  nick[0] = g_ascii_toupper(nick[0]);
  return nick;
}

// A registered type is never freed, and neither are its values.
GType register_choices(GObjectClass* klass, const Option& option) {
  std::string name = G_OBJECT_CLASS_NAME(klass);
  bool begins = true;
  for (const char* letter = option.name; *letter != '\0'; ++letter) {
    if (*letter != '_') name += begins ? g_ascii_toupper(*letter) : *letter;
    begins = *letter == '_';
  }
  auto* values = new GEnumValue[option.choices.size() + 1]{};
  GEnumValue* next = values;
  for (const OptionChoice& choice : option.choices)
    *next++ = {choice.value, choice.help, choice.word};
  const GType type = g_enum_register_static(name.c_str(), values);
  gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
  return type;
}

std::string value_text(const Option& option, const void* config) {
  Text<kMaxOptionText> text;
  detail::get_option(option, config, text.data, sizeof(text.data));
  return text.c_str();
}

GParamSpec* new_property(GObjectClass* klass, OptionTable table, const Option& option,
                         const void* defaults, GParamFlags mutability) {
  const auto flags =
      static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | mutability);
  // Interned strings are never freed.
  const gchar* name = g_intern_string(property_name(option.name).c_str());
  const gchar* nick = g_intern_string(nick_of(option).c_str());
  const gchar* blurb = g_intern_string(blurb_of(table, option).c_str());
  const double number = option.get != nullptr ? option.get(defaults) : 0.0;
  switch (option.type) {
    case OptionType::kBool:
      return g_param_spec_boolean(name, nick, blurb, number != 0.0, flags);
    case OptionType::kInt:
      if (option.low >= G_MININT && option.high <= G_MAXINT) {
        return g_param_spec_int(name, nick, blurb, static_cast<gint>(option.low),
                                static_cast<gint>(option.high), static_cast<gint>(number), flags);
      }
      return g_param_spec_int64(name, nick, blurb, static_cast<gint64>(option.low),
                                static_cast<gint64>(option.high), static_cast<gint64>(number),
                                flags);
    case OptionType::kFloat:
      return g_param_spec_float(name, nick, blurb, static_cast<gfloat>(option.low),
                                static_cast<gfloat>(option.high), static_cast<gfloat>(number),
                                flags);
    case OptionType::kChoice:
      return g_param_spec_enum(name, nick, blurb, register_choices(klass, option),
                               static_cast<gint>(number), flags);
    case OptionType::kText:
      break;
  }
  return g_param_spec_string(name, nick, blurb, value_text(option, defaults).c_str(), flags);
}

template <typename Number>
std::string text_of(Number number) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof(text), number).ptr};
}

// Returns the value of a property as text, or nothing for a string that is NULL.
std::optional<std::string> text_of(const Option& option, const GValue* value) {
  switch (option.type) {
    case OptionType::kBool:
      return g_value_get_boolean(value) ? "true" : "false";
    case OptionType::kInt:
      return G_VALUE_HOLDS_INT(value) ? text_of(g_value_get_int(value))
                                      : text_of(g_value_get_int64(value));
    case OptionType::kFloat:
      return text_of(g_value_get_float(value));
    case OptionType::kChoice:
      for (const OptionChoice& choice : option.choices)
        if (choice.value == g_value_get_enum(value)) return choice.word;
      return std::nullopt;  // not reached: GObject refuses other values
    case OptionType::kText:
      break;
  }
  const gchar* text = g_value_get_string(value);
  return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
}

template <typename Number>
Number number_of(std::string_view text) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// `text`: as returned by the function above or by OperatorConfig::get_option.
void set_value(const Option& option, const std::string& text, GValue* value) {
  switch (option.type) {
    case OptionType::kBool:
      g_value_set_boolean(value, text == "true");
      return;
    case OptionType::kInt:
      if (G_VALUE_HOLDS_INT(value))
        g_value_set_int(value, number_of<gint>(text));
      else
        g_value_set_int64(value, number_of<gint64>(text));
      return;
    case OptionType::kFloat:
      g_value_set_float(value, number_of<gfloat>(text));
      return;
    case OptionType::kChoice:
      for (const OptionChoice& choice : option.choices)
        if (text == choice.word) g_value_set_enum(value, choice.value);
      return;
    case OptionType::kText:
      g_value_set_string(value, text.c_str());
      return;
  }
}

}  // namespace

void install_table(GObjectClass* klass, guint first_id, OptionTable table, const void* defaults,
                   GParamFlags mutability) {
  for (const Option& option : table) {
    g_object_class_install_property(klass, first_id++,
                                    new_property(klass, table, option, defaults, mutability));
  }
}

void install_options(GObjectClass* klass, const OperatorDescription& description) {
  const OperatorConfig defaults(description);
  install_table(klass, kFirstOption, description.options, defaults.data(),
                static_cast<GParamFlags>(GST_PARAM_MUTABLE_PLAYING));
}

void set_option(const Option& option, void* config, const GValue* value) {
  const std::string text = text_of(option, value).value_or("");
  const OptionSetting setting{option.name, text};
  const Expected<void> set =
      detail::set_options(OptionTable(&option, 1), config, std::span(&setting, 1));
  if (!set) g_warning("%s", set.error().text);
}

void get_option(const Option& option, const void* config, GValue* value) {
  set_value(option, value_text(option, config), value);
}

Options::Options(const OperatorDescription& description)
    : description_(&description), values_(description.options.size()) {}

void Options::set(guint id, const GValue* value) {
  const std::size_t row = id - kFirstOption;
  values_[row] = text_of(description_->options[row], value);
}

void Options::get(guint id, GValue* value) const {
  const std::size_t row = id - kFirstOption;
  const Option& option = description_->options[row];
  if (values_[row]) return set_value(option, *values_[row], value);
  const Expected<OperatorConfig> made = make();
  const OperatorConfig config = made ? *made : OperatorConfig(*description_);
  set_value(option, config.get_option(option).c_str(), value);
}

void Options::set_file(const gchar* path) {
  file_ = path != nullptr ? path : "";
  forget_file();
}

Expected<void> Options::read_file() {
  forget_file();
  if (file_.empty()) return {};
  try {
    from_file_ = app::read_config_file(file_, *description_);
  } catch (const app::InputError& error) {
    return tl::unexpected(make_error(Status::kInvalidArgument, "config: %s", error.what()));
  }
  return {};
}

Expected<OperatorConfig> Options::make() const {
  const OptionTable table = description_->options;
  std::vector<OptionSetting> settings;
  for (const auto& [name, value] : from_file_) {
    const Option* option = find_option(table, name);
    const auto row = static_cast<std::size_t>(option - table.data());
    if (!values_[row]) settings.push_back({option->name, value});
  }
  for (std::size_t row = 0; row < table.size(); ++row)
    if (values_[row]) settings.push_back({table[row].name, *values_[row]});
  OperatorConfig config(*description_);
  if (const Expected<void> set = config.set_options(settings); !set) return named(set.error());
  return config;
}

tl::unexpected<Error> Options::named(const Error& error) const {
  const std::string text = with_property_names(description_->options, error.text);
  return tl::unexpected(make_error(error.status, "%s", text.c_str()));
}

}  // namespace gst_ocellus
