// ocellus completion, ocellus manual: scripts and a page made from the program's own commands.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/common/common.h"
#include "ocellus/version.h"

namespace ocellus::app {
namespace {

/// Calls `visit` with the path of each command, such as "ocellus train digits", and the command.
void for_each_command(const CLI::App& command, const std::string& path,
                      const std::function<void(const std::string&, const CLI::App&)>& visit) {
  visit(path, command);
  for (const CLI::App* const next : command.get_subcommands({}))
    for_each_command(*next, path + " " + next->get_name(), visit);
}

/// The names of an option with their dashes.
std::vector<std::string> flags_of(const CLI::Option& option) {
  std::vector<std::string> flags;
  for (const std::string& name : option.get_snames()) flags.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flags.push_back("--" + name);
  return flags;
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

/// The words that an option takes, or nothing. A check gives them in its description, "{a,b}", or
/// in its name, "a,b" (TableOptions::add_to).
std::vector<std::string> words_of(CLI::Option& option) {
  for (int i = 0;; ++i) {
    std::string text;
    try {
      CLI::Validator& check = *option.get_validator(i);
      text = check.get_description();
      text = text.size() > 2 && text.front() == '{' ? text.substr(1, text.size() - 2)
                                                    : check.get_name();
    } catch (const CLI::OptionNotFound&) {
      return {};
    }
    if (text.find(',') != std::string::npos) return CLI::detail::split(text, ',');
  }
}

std::vector<CLI::Option*> options_of(const CLI::App& command) {
  std::vector<CLI::Option*> options;
  for (const CLI::Option* const option : command.get_options())
    if (!option->get_positional()) options.push_back(const_cast<CLI::Option*>(option));
  return options;
}

std::vector<std::string> names_of_subcommands(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* const next : command.get_subcommands({})) names.push_back(next->get_name());
  return names;
}

/// A text between single quotes of the shell.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// A text between single quotes of fish, which has other rules.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

/// The start of a description, for the lists of zsh and fish.
std::string short_text(const std::string& description) {
  constexpr std::size_t kLongest = 70;
  std::string text = description.substr(0, description.find_first_of(":;\n("));
  while (text.ends_with(' ')) text.pop_back();
  return text.size() <= kLongest ? text : text.substr(0, text.rfind(' ', kLongest)) + " ...";
}

/// The statements that find the path of the command that is typed, for bash and zsh. `word` is the
/// shell's expression of word i, `first` and `end` are the bounds of i.
std::string path_loop(const CLI::App& program, std::string_view word, std::string_view first,
                      std::string_view end) {
  std::vector<std::string> paths;
  for_each_command(program, program.get_name(), [&](const std::string& path, const CLI::App&) {
    paths.push_back(shell_quoted(path));
  });
  return fmt::format(
      "  local at={} i\n"
      "  for ((i = {}; i < {}; ++i)); do\n"
      "    case \"$at {}\" in\n"
      "      {}) at=\"$at {}\" ;;\n"
      "      *) break ;;\n"
      "    esac\n"
      "  done\n",
      program.get_name(), first, end, word, fmt::join(paths, " | "), word);
}

/// The branches that complete the value of an option. `words` and `files` are the statements of the
/// shell; "@" in `words` stands for the words.
std::string value_cases(const CLI::App& program, const std::string& words,
                        const std::string& files) {
  std::string text;
  for_each_command(program, program.get_name(), [&](const std::string& path, const CLI::App& app) {
    std::vector<std::string> others;
    for (CLI::Option* const option : options_of(app)) {
      if (!takes_value(*option)) continue;
      std::vector<std::string> patterns;
      for (const std::string& flag : flags_of(*option))
        patterns.push_back(shell_quoted(path + " " + flag));
      const std::vector<std::string> choices = words_of(*option);
      if (choices.empty()) {
        others.insert(others.end(), patterns.begin(), patterns.end());
        continue;
      }
      std::string statement = words;
      statement.replace(statement.find('@'), 1, fmt::format("{}", fmt::join(choices, " ")));
      text += fmt::format("    {}) {}; return ;;\n", fmt::join(patterns, " | "), statement);
    }
    if (!others.empty())
      text += fmt::format("    {}) {}; return ;;\n", fmt::join(others, " | "), files);
  });
  return text;
}

std::string bash_completion(const CLI::App& program) {
  const std::string& name = program.get_name();
  std::string text = fmt::format(
      "# Completion of {0} {1} for bash. `{0} completion bash` prints it.\n"
      "_{0}() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} "
      "words=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$previous\" = = ]; then previous=${{COMP_WORDS[COMP_CWORD - 2]}}; fi\n"
      "  if [ \"$current\" = = ]; then previous=${{COMP_WORDS[COMP_CWORD - 1]}} current=; fi\n",
      name, version());
  text += path_loop(program, "${COMP_WORDS[i]}", "1", "COMP_CWORD");
  const std::string files =
      "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$current\")";
  text += "  case \"$at $previous\" in\n";
  text += value_cases(program, "mapfile -t COMPREPLY < <(compgen -W '@' -- \"$current\")", files);
  text += "  esac\n  case \"$at\" in\n";
  for_each_command(program, name, [&](const std::string& path, const CLI::App& command) {
    std::vector<std::string> words = names_of_subcommands(command);
    for (const CLI::Option* const option : options_of(command))
      for (const std::string& flag : flags_of(*option)) words.push_back(flag);
    text += fmt::format("    {}) words={} ;;\n", shell_quoted(path),
                        shell_quoted(fmt::format("{}", fmt::join(words, " "))));
  });
  text += fmt::format(
      "  esac\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "  if [ ${{#COMPREPLY[@]}} -eq 0 ]; then {}; fi\n"
      "}}\n"
      "complete -F _{} {}\n",
      files, name, name);
  return text;
}

std::string zsh_completion(const CLI::App& program) {
  const std::string& name = program.get_name();
  // _describe takes "name:text"
  const auto entry = [](std::string word, const std::string& description) {
    for (std::size_t at = 0; (at = word.find(':', at)) != std::string::npos; at += 2)
      word.insert(at, "\\");
    return shell_quoted(word + ":" + short_text(description));
  };
  std::string text = fmt::format(
      "#compdef {0}\n"
      "# Completion of {0} {1} for zsh. `{0} completion zsh` prints it.\n"
      "_{0}() {{\n",
      name, version());
  text += path_loop(program, "${words[i]}", "2", "CURRENT");
  text += "  local -a commands options\n  case \"$at ${words[CURRENT-1]}\" in\n";
  text += value_cases(program, "compadd -- @", "_files");
  text += "  esac\n  case \"$at\" in\n";
  for_each_command(program, name, [&](const std::string& path, const CLI::App& command) {
    std::vector<std::string> commands, options;
    for (const CLI::App* const next : command.get_subcommands({}))
      commands.push_back(entry(next->get_name(), next->get_description()));
    for (const CLI::Option* const option : options_of(command))
      for (const std::string& flag : flags_of(*option))
        options.push_back(entry(flag, option->get_description()));
    text += fmt::format("    {})\n      commands=({})\n      options=({}) ;;\n", shell_quoted(path),
                        fmt::join(commands, " "), fmt::join(options, " "));
  });
  text += fmt::format(
      "  esac\n"
      "  if (( ${{#commands}} )); then _describe command commands; fi\n"
      "  if [[ ${{words[CURRENT]}} == -* ]]; then _describe option options; else _files; fi\n"
      "}}\n"
      "if [ \"$funcstack[1]\" = _{0} ]; then _{0}; else compdef _{0} {0}; fi\n",
      name);
  return text;
}

std::string fish_completion(const CLI::App& program) {
  const std::string& name = program.get_name();
  std::vector<std::string> paths;
  for_each_command(program, name, [&](const std::string& path, const CLI::App&) {
    paths.push_back(shell_quoted(path));
  });
  std::string text = fmt::format(
      "# Completion of {0} {1} for fish. `{0} completion fish` prints it.\n"
      "function __{0}_at\n"
      "    set -l at {0}\n"
      "    for word in (commandline -opc)[2..-1]\n"
      "        contains -- \"$at $word\" {2}; or break\n"
      "        set at \"$at $word\"\n"
      "    end\n"
      "    test \"$at\" = \"$argv[1]\"\n"
      "end\n",
      name, version(), fmt::join(paths, " "));
  for_each_command(program, name, [&](const std::string& path, const CLI::App& command) {
    const std::string line = fmt::format("complete -c {} -n '__{}_at \"{}\"'", name, name, path);
    const std::vector<const CLI::Option*> arguments =
        command.get_options([](const CLI::Option* option) { return option->get_positional(); });
    if (arguments.empty()) text += line + " -f\n";  // no files
    for (const CLI::App* const next : command.get_subcommands({}))
      text += fmt::format("{} -a {} -d {}\n", line, next->get_name(),
                          fish_quoted(short_text(next->get_description())));
    for (CLI::Option* const option : options_of(command)) {
      text += line;
      for (const std::string& one : option->get_snames()) text += " -s " + one;
      for (const std::string& one : option->get_lnames()) text += " -l " + one;
      const std::vector<std::string> words = words_of(*option);
      if (!words.empty())
        text += fmt::format(" -x -a {}", fish_quoted(fmt::format("{}", fmt::join(words, " "))));
      else if (takes_value(*option))
        text += " -r -F";
      text += fmt::format(" -d {}\n", fish_quoted(short_text(option->get_description())));
    }
  });
  return text;
}

// ---- the manual page

/// Escapes a text for roff.
std::string roff(std::string_view text) {
  std::string out;
  bool begin = true;
  for (const char c : text) {
    if (begin && (c == '.' || c == '\'')) out += "\\&";
    begin = c == '\n';
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string roff_options(const CLI::App& command) {
  std::string text;
  for (const std::string& group : command.get_groups()) {
    std::string list;
    for (const CLI::Option* const option :
         command.get_options([&](const CLI::Option* one) { return one->get_group() == group; })) {
      std::string names, value = option->get_type_name();
      if (option->get_positional()) {
        names = fmt::format("\\fI{}\\fR", roff(option->get_name(true)));
      } else {
        std::vector<std::string> flags = flags_of(*option);
        for (std::string& flag : flags) flag = "\\fB" + roff(flag) + "\\fR";
        names = fmt::format("{}", fmt::join(flags, ", "));
      }
      if (takes_value(*option) && !value.empty()) names += " \\fI" + roff(value) + "\\fR";
      if (!option->get_default_str().empty()) names += " = " + roff(option->get_default_str());
      list += fmt::format(".TP\n{}\n{}\n", names, roff(option->get_description()));
    }
    if (!list.empty()) text += fmt::format(".PP\n{}:\n{}", roff(group), list);
  }
  return text;
}

std::string manual_page(const CLI::App& program) {
  const std::string& name = program.get_name();
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(),
                 [](char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c); });
  std::string text = fmt::format(
      ".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n"
      ".B {}\n.I COMMAND\n[\\fIOPTION\\fR...]\n",
      title, name, version(), name, roff(program.get_description()), name);
  for_each_command(program, name, [&](const std::string& path, const CLI::App& command) {
    if (&command == &program) {
      text += ".SH DESCRIPTION\n" + roff_options(command);
    } else {
      text += fmt::format(".SS \"{}\"\n{}\n", roff(path), roff(command.get_description()));
      text += roff_options(command);
    }
    if (!command.get_footer().empty())
      text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command.get_footer()));
    if (&command == &program) text += ".SH COMMANDS\n";
  });
  return text;
}

}  // namespace

void add_page_commands(CLI::App& program, int& exit_code) {
  CLI::App* const completion = program.add_subcommand(
      "completion", "Print the script by which a shell completes commands and options");
  completion->footer(
      fmt::format("bash: eval \"$({0} completion bash)\"\n"
                  "zsh:  eval \"$({0} completion zsh)\", after compinit\n"
                  "fish: {0} completion fish | source",
                  program.get_name()));
  const auto shell = std::make_shared<std::string>();
  completion->add_option("SHELL", *shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([&program, shell, &exit_code] {
    fmt::print("{}", *shell == "bash"  ? bash_completion(program)
                     : *shell == "zsh" ? zsh_completion(program)
                                       : fish_completion(program));
    exit_code = kDone;
  });
  program.add_subcommand("manual", "Print the manual page, in the format of man")
      ->callback([&program, &exit_code] {
        fmt::print("{}", manual_page(program));
        exit_code = kDone;
      });
}

}  // namespace ocellus::app
