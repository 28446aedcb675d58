import type { Command, Option } from 'commander';
import type { shells } from './arguments.js';
import { type AddCommand, addCommand } from './command.js';
import { exitCodes } from './failure.js';

const help = `
The script completes commands, options and fixed words. It lists the commands of
this version, so load it whenever a shell starts:
  bash, in ~/.bashrc                    source <(faretrail completion bash)
  zsh, in ~/.zshrc after compinit       source <(faretrail completion zsh)
  fish, in ~/.config/fish/config.fish   faretrail completion fish | source`;

/** `completion <shell>`: a script that completes our commands. */
export const addCompletion: AddCommand = (program, run) => {
  const does = 'print the completion script for a shell';
  addCommand(program, 'completion <shell>', { does, examples: ['bash'], more: help }).action(
    run(async (context, { shell }: { shell: Shell }) => {
      const script = scripts[shell](levelsOf(program));
      context.tell({ shell, script }, script);
      return exitCodes.done;
    }),
  );
};

type Shell = (typeof shells)[number];

/** What can follow the program, a noun or a command on the command line. */
interface Level {
  /** The noun and verb before it, such as `order follow`; empty for the program itself. */
  path: string;
  /** The fixed words for each place of a command or an argument. */
  places: Word[][];
  options: (Word & { takes: 'nothing' | 'text' | 'file' })[];
}

interface Word {
  name: string;
  does: string;
}

/** The levels from `command` down, read from commander's tree, so that the script lists every command. */
function levelsOf(command: Command, path = ''): Level[] {
  const children = command.commands.map((one) => ({ name: one.name(), does: one.description() }));
  const level: Level = {
    path,
    places:
      children.length > 0
        ? [children]
        : command.registeredArguments.map(({ argChoices = [] }) => argChoices.map((name) => ({ name, does: '' }))),
    options: [
      ...command.options.map((option) => ({
        name: option.long ?? '',
        does: option.description,
        takes: takesOf(option),
      })),
      { name: '--help', does: 'explain the command', takes: 'nothing' },
    ],
  };
  return [level, ...command.commands.flatMap((one) => levelsOf(one, `${path} ${one.name()}`.trim()))];
}

function takesOf({ flags, required }: Option): 'nothing' | 'text' | 'file' {
  if (!required) return 'nothing';
  return flags.endsWith('<file>') ? 'file' : 'text';
}

/** The patterns for `"$level $word"`: the paths that lead one level down, and the options that take a text or a file. */
function patternsOf(levels: readonly Level[]) {
  const paths = levels.map(({ path }) => path).filter((path) => path !== '');
  const options = levels.flatMap((level) =>
    level.options.map((option) => ({ ...option, name: `${level.path} ${option.name}` })),
  );
  const taking = (takes: 'text' | 'file') => options.filter((option) => option.takes === takes).map(({ name }) => name);
  return {
    deeper: paths.map((path) => (path.includes(' ') ? path : ` ${path}`)),
    texts: taking('text'),
    files: taking('file'),
  };
}

/** The fixed words by level and place. */
const fixedWords = (levels: readonly Level[]): [pattern: string, words: readonly Word[]][] =>
  levels
    .flatMap(({ path, places, options }): [string, readonly Word[]][] => [
      ...places.map((words, place): [string, readonly Word[]] => [`${path}:${place}`, words]),
      [`${path}:options`, options],
    ])
    .filter(([, words]) => words.length > 0);

const literal = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** For bash and zsh: a function that prints the completions of "$@", one per line. The last word is the one at the cursor. */
function fitsFunction(levels: readonly Level[]): string {
  const { deeper, texts, files } = patternsOf(levels);
  const any = (patterns: readonly string[]): string => patterns.map(literal).join('|');
  const arms = fixedWords(levels).map(
    ([pattern, words]) => `    ${literal(pattern)}) printf '%s\\n' ${words.map(({ name }) => name).join(' ')} ;;`,
  );
  return `_faretrail_fits() {
  local level= place=0 takes= word
  while [ $# -gt 1 ]; do
    word=$1
    shift
    if [ -n "$takes" ]; then takes=; continue; fi
    case "$level $word" in
      ${any(deeper)}) level="\${level:+$level }$word"; continue ;;
      ${any(texts)}) takes=text ;;
      ${any(files)}) takes=file ;;
      *' -'*) ;;
      *) place=$((place + 1)) ;;
    esac
  done
  case "$takes:$1" in
    text:*) return ;;
    file:*) printf '%s\\n' '<file>'; return ;;
    :-*) place=options ;;
  esac
  case "$level:$place" in
${arms.join('\n')}
  esac
}`;
}

const toBashScript = (levels: readonly Level[]): string => `# bash completion for faretrail
${fitsFunction(levels)}
_faretrail() {
  local fits IFS=$'\\n' word=\${COMP_WORDS[COMP_CWORD]}
  fits=$(_faretrail_fits "\${COMP_WORDS[@]:1:COMP_CWORD}")
  if [ "$fits" = '<file>' ]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$word"))
  else
    COMPREPLY=($(compgen -W "$fits" -- "$word"))
  fi
}
complete -F _faretrail faretrail`;

const toZshScript = (levels: readonly Level[]): string => `# zsh completion for faretrail
${fitsFunction(levels)}
_faretrail() {
  local fits
  fits=$(_faretrail_fits "\${(@)words[2,CURRENT]}")
  if [ "$fits" = '<file>' ]; then _files; else compadd -- \${(f)fits}; fi
}
compdef _faretrail faretrail`;

const toFishScript = (levels: readonly Level[]): string => {
  const { deeper, texts, files } = patternsOf(levels);
  const fishLiteral = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
  const any = (patterns: readonly string[]): string => patterns.map(fishLiteral).join(' ');
  const arms = fixedWords(levels).map(([pattern, words]) => {
    const shown = words.map(({ name, does }) => `${name} ${fishLiteral(does)}`).join(' ');
    return `    case ${fishLiteral(pattern)}\n      printf '%s\\t%s\\n' ${shown}`;
  });
  return `# fish completion for faretrail
function __faretrail_fits
  set -l level ''
  set -l place 0
  set -l takes ''
  set -l given (commandline -opc)
  for word in $given[2..]
    if test -n "$takes"
      set takes ''
      continue
    end
    switch "$level $word"
      case ${any(deeper)}
        set level (string trim "$level $word")
      case ${any(texts)}
        set takes text
      case ${any(files)}
        set takes file
      case '* -*'
      case '*'
        set place (math $place + 1)
    end
  end
  if test -n "$takes"
    test $takes = file; and __fish_complete_path (commandline -ct)
    return
  end
  string match -q -- '-*' (commandline -ct); and set place options
  switch "$level:$place"
${arms.join('\n')}
  end
end
complete -c faretrail -f -a '(__faretrail_fits)'`;
};

const scripts: Readonly<Record<Shell, (levels: readonly Level[]) => string>> = {
  bash: toBashScript,
  zsh: toZshScript,
  fish: toFishScript,
};
