"""Completion for shells, made from the command line's own declarations, so that it is never out of date."""

import argparse
from collections.abc import Mapping

SHELLS = ("bash", "zsh")
EPILOG = 'For this shell: eval "$(overclos completion bash)". For good: put that line into ~/.bashrc or ~/.zshrc.'
PROGRAM = "overclos"
BASH = """\
_{program}() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" verb="${{COMP_WORDS[1]}}" words
    if [ "$COMP_CWORD" = 1 ]; then
        words="{verbs}"
    else
        case "$verb" in
{cases}
            *) words="" ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [ "${{#COMPREPLY[@]}}" -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}}
complete -o filenames -F _{program} {program}
"""
ZSH_HEAD = "autoload -U +X compinit bashcompinit\n(( $+functions[compdef] )) || compinit\nbashcompinit\n"


def script(shell: str, command_line: argparse.ArgumentParser) -> str:
    """The script for a shell of SHELLS. `command_line` is the whole parser of the command."""
    verbs = _verbs(command_line)
    cases = "\n".join(f'            {name}) words="{" ".join(_words(parser))}" ;;' for name, parser in verbs.items())
    text = BASH.format(program=PROGRAM, verbs=" ".join(verbs), cases=cases)
    return ZSH_HEAD + text if shell == "zsh" else text


def _verbs(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _words(parser: argparse.ArgumentParser) -> list[str]:
    """All that may follow a verb: options, choices, and the kinds and actions that its arguments name."""
    words: list[str] = []
    for action in parser._actions:
        words += [option for option in action.option_strings if option.startswith("--")]
        if isinstance(action, argparse._SubParsersAction):
            words += [*action.choices, *(word for inner in action.choices.values() for word in _words(inner))]
        elif action.choices:
            words += map(str, action.choices)
        elif action.metavar == "KIND" and action.help:
            words += action.help.split(", ")
    return list(dict.fromkeys(words))
