"""Shell completion and the manual page, against what --help of every command prints."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["OCELLUS_PROGRAM"]


def output(*arguments):
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout


def commands(path=()):
    """Each command as a tuple of words, with the long options and the subcommands that its help lists."""
    text = output(*path, "--help")
    # Lines such as "  -o,--output TEXT ..." and "  --json ..."; texts of footers are not indented by two spaces and a dash.
    options = re.findall(r"^  (?:-\w,)?(--[a-z][a-z0-9-]*)", text, re.MULTILINE)
    listed = re.search(r"^Subcommands:\n((?:  .*\n|\n(?=  ))*)", text, re.MULTILINE)
    names = re.findall(r"^  ([a-z][a-z-]*)", listed.group(1), re.MULTILINE) if listed else []
    yield path, options, names
    for name in names:
        if (*path, name) not in [("bench",), ("compare", "latency"), ("cortex", "plan")]:  # another program, ocellus-bench
            yield from commands((*path, name))


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.commands = list(commands())
        cls.bash = output("completion", "bash")

    def complete(self, *words):
        """What bash offers after these words; the last one is not complete."""
        script = self.bash + '\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ocellus; printf "%s\\n" "${COMPREPLY[@]}"'
        # compopt works only while bash completes.
        script = "compopt() { :; }\n" + script
        run = subprocess.run(["bash", "-c", script, "bash", "ocellus", *words], check=True, capture_output=True, text=True)
        self.assertEqual(run.stderr, "")
        return run.stdout.split()

    # Fails when the help is not read here, so that the other tests would test nothing.
    def test_commands_are_found(self):
        paths = [path for path, _, _ in self.commands]
        self.assertIn(("train", "digits"), paths)
        self.assertGreater(len(paths), 20)
        self.assertGreater(sum(len(options) for _, options, _ in self.commands), 200)

    # Fails when a command or an option is not offered, or one is offered that does not exist.
    def test_bash_offers_every_command_and_option(self):
        for path, options, names in self.commands:
            self.assertEqual(sorted(set(self.complete(*path, "--"))), sorted(set(options)), path)
            if names:
                offered = [word for word in self.complete(*path, "") if not word.startswith("-")]
                self.assertEqual(offered, names, path)

    # Fails when the words of an option, from a table or from the command itself, are not offered.
    def test_bash_offers_the_words_of_an_option(self):
        self.assertEqual(self.complete("flow", "--preset", ""), ["fast", "quality", "best"])
        self.assertEqual(self.complete("flow", "--preset", "=", "q"), ["quality"])
        self.assertEqual(self.complete("flow", "--style", "w"), ["wheel"])
        self.assertEqual(self.complete("train", "cortex", "--read-out", "b"), ["bayes"])
        self.assertEqual(self.complete("completion", "x"), [])

    # Fails when a file is not offered where a command takes one.
    def test_bash_offers_files(self):
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, "walk.mp4"), "w").close()
            self.assertEqual(self.complete("flow", folder + "/w"), [folder + "/walk.mp4"])
            self.assertEqual(self.complete("flow", "--output", folder + "/w"), [folder + "/walk.mp4"])

    # Fails when zsh or fish lack a command or an option, or when their scripts have an error of syntax.
    def test_zsh_and_fish(self):
        zsh = output("completion", "zsh")
        fish = output("completion", "fish")
        for path, options, names in self.commands:
            typed = " ".join(("ocellus", *path))
            branch = zsh[zsh.rindex(f"    '{typed}')\n"):]
            branch = branch[:branch.index(";;")]
            lines = [line for line in fish.splitlines() if f"'__ocellus_at \"{typed}\"'" in line]
            for option in options:
                self.assertIn(f"'{option}:", branch, typed)
                self.assertTrue(any(f" -l {option[2:]} " in line for line in lines), (typed, option))
            for name in names:
                self.assertIn(f"'{name}:", branch, typed)
                self.assertTrue(any(f" -a {name} -d" in line for line in lines), (typed, name))
        for shell, text in ("zsh", zsh), ("fish", fish):
            if shutil.which(shell):
                subprocess.run([shell, "-n"], input=text, check=True, text=True)

    # Fails when the page lacks a command, an option or the texts of the help, or is no correct page.
    def test_manual(self):
        page = output("manual")
        plain = page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "")
        for path, options, _ in self.commands:
            section = plain
            if path:
                begin = plain.index('.SS "' + " ".join(("ocellus", *path)) + '"\n')
                end = plain.find("\n.SS", begin)
                section = plain[begin:end if end > 0 else None]
            for option in options:
                self.assertRegex(section, r"(?m)^(-\w, )?" + re.escape(option) + r"\b", path)
        self.assertIn("FRAMES is one of:", plain)
        if shutil.which("groff"):
            run = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=page, capture_output=True, text=True, check=True)
            self.assertEqual(run.stderr, "")


if __name__ == "__main__":
    unittest.main()
