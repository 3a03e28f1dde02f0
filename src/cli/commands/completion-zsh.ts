import { type Outline, type Value, walk } from './completion-outline.ts';

/** Offers an option's arguments, and files. */
const OR_FILES = '_tritune_or_files';

/**
 * Returns a completion script for zsh, for a folder in `fpath` or for sourcing after `compinit`.
 */
export function zshCompletion(root: Outline): string {
  const functions = walk(root).map(({ path, outline }) => formatFunction([root.name, ...path], outline));
  return `#compdef ${root.name}
${OR_FILES}() {
  compadd -- "$@"
  _files
}
${functions.reverse().join('\n')}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _${root.name} "$@"; else compdef _${root.name} ${root.name}; fi
`;
}

function formatFunction(path: readonly string[], { options, arguments: taken, commands }: Outline): string {
  const name = functionName(path);
  const specs = [
    ...options.map(({ short, long, help, value }) => {
      const flags = short ? `'(${short} ${long})'{${short},${long}}` : long;
      return `${flags}${quoted(`[${help.replaceAll(/[\\[\]]/g, '\\$&')}]${value ? `:value:${formatAction(value)}` : ''}`)}`;
    }),
    ...taken.map((value, index) => quoted(`${index + 1}:${value.name.replaceAll(':', '\\:')}:${formatAction(value)}`)),
  ];
  if (commands.length === 0) return `${name}() {\n  _arguments -s -S ${specs.join(' \\\n    ')}\n}`;
  const described = commands.map((each) => quoted(`${each.name}:${each.help}`));
  return `${name}() {
  local state line
  typeset -A opt_args
  _arguments -C ${[...specs, "'1:command:->command'", "'*::argument:->argument'"].join(' \\\n    ')}
  case $state in
    command)
      local -a commands
      commands=(${described.join(' \\\n        ')})
      _describe command commands ;;
    argument)
      case $line[1] in
${commands.map((each) => `        ${each.name}) ${functionName([...path, each.name])} ;;`).join('\n')}
      esac ;;
  esac
}`;
}

const functionName = (path: readonly string[]): string => `_${path.join('_').replaceAll(/[^\w]/g, '_')}`;

/** A lone space means a value about which nothing is known. */
function formatAction({ words, paths }: Value): string {
  // zsh runs an action after a space unchanged.
  if (words.length > 0 && paths !== null) return ` ${OR_FILES} ${words.join(' ')}`;
  if (words.length > 0) return `(${words.join(' ')})`;
  return paths === null ? ' ' : paths === 'files' ? '_files' : '_files -/';
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
