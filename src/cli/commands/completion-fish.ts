import { type Outline, type Value, walk } from './completion-outline.ts';

/** Returns a completion script for fish 3 and newer. */
export function fishCompletion(root: Outline): string {
  const { name } = root;
  return `# fish completion of ${name}; source it, or put it into ~/.config/fish/completions/${name}.fish
function __${name}_at
    set -l words (commandline -opc)
    set -e words[1]
    for word in $argv
        test "$words[1]" = "$word"; or return 1
        set -e words[1]
    end
end
function __${name}_chooses
    __${name}_at $argv; and test (count (commandline -opc)) -eq (math 1 + (count $argv))
end
complete -c ${name} -f
${walk(root)
  .flatMap(({ path, outline }) => listLines(name, path, outline))
  .join('\n')}
`;
}

function listLines(name: string, path: readonly string[], { options, arguments: taken, commands }: Outline): string[] {
  const at = (condition: string): string =>
    `complete -c ${name} -n ${quoted([`__${name}_${condition}`, ...path].join(' '))}`;
  // Text before the first command belongs to the root.
  const here = path.length === 0 ? at('chooses') : at('at');
  return [
    ...commands.map((each) => `${at('chooses')} -a ${each.name} -d ${quoted(each.help)}`),
    ...options.map(({ short, long, help, value }) => {
      const flags = `${short ? `-s ${short.slice(1)} ` : ''}-l ${long.slice(2)}`;
      return `${here} ${flags}${value ? ` ${expected(value)}` : ''} -d ${quoted(help)}`;
    }),
    ...taken.flatMap((value) => (value.words.length > 0 || value.paths ? [`${here} ${expected(value).slice(3)}`] : [])),
  ];
}

/** Returns all that is known about a value; `-r` requires one. */
function expected({ words, paths }: Value): string {
  if (words.length > 0) return `-r ${paths === 'files' ? '-F' : '-f'} -a ${quoted(words.join(' '))}`;
  if (paths === 'directories') return "-r -f -a '(__fish_complete_directories)'";
  return paths === 'files' ? '-r -F' : '-r -f';
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
