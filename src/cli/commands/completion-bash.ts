import { type Outline, type Value, walk } from './completion-outline.ts';

/** Returns a completion script for bash 3.2 and newer. */
export function bashCompletion(root: Outline): string {
  const commands = walk(root);
  const name = root.name;
  return `# bash completion of ${name}; source it, or put it where bash-completion looks.
_${name}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path= word i IFS=$'\\n'
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case "$path $word" in
${commands
  .filter(({ path }) => path.length > 0)
  .map(({ path }) => `      ${quoted(stepTo(path))}) path=${quoted(path.join(' '))} ;;`)
  .join('\n')}
    esac
  done
  # bash takes '--option=value' apart.
  if [[ $cur == '=' ]]; then cur=; elif [[ $prev == '=' ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  case "$path $prev" in
${commands.flatMap(({ path, outline }) => optionCases(path, outline)).join('\n')}
  esac
  case "$path" in
${commands.map(({ path, outline }) => commandCase(path, outline)).join('\n')}
  esac
}
complete -F _${name} ${name}
`;
}

const stepTo = (path: readonly string[]): string => `${path.slice(0, -1).join(' ')} ${path.at(-1)}`;

/** Returns the completions after each option that takes a value. */
function optionCases(path: readonly string[], { options }: Outline): string[] {
  return options.flatMap(({ short, long, value }) => {
    if (!value) return [];
    const patterns = [short, long].flatMap((flag) => (flag ? [quoted(`${path.join(' ')} ${flag}`)] : []));
    return [`    ${patterns.join(' | ')}) ${reply(value)}return ;;`];
  });
}

function commandCase(path: readonly string[], { options, commands, arguments: taken }: Outline): string {
  const flags = options.flatMap(({ short, long }) => [...(short ? [short] : []), long]);
  const words = [...commands.map(({ name }) => name), ...taken.flatMap((each) => each.words)];
  const paths = taken.find((each) => each.paths)?.paths ?? null;
  return `    ${quoted(path.join(' '))})
      if [[ $cur == -* ]]; then ${wordsReply(flags)}else ${reply({ words, paths }) || ':; '}fi ;;`;
}

const wordsReply = (words: readonly string[]): string =>
  `COMPREPLY=($(compgen -W ${quoted(words.join('\n'))} -- "$cur")); `;

function reply({ words, paths }: Value): string {
  if (paths === null) return words.length > 0 ? wordsReply(words) : '';
  const named = words.length > 0 ? `-W ${quoted(words.join('\n'))} ` : '';
  return `compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen ${named}${paths === 'files' ? '-f' : '-d'} -- "$cur")); `;
}

/** Quotes text for a shell. Escapes line breaks between words, so that each case is one line. */
const quoted = (text: string): string =>
  text.includes('\n')
    ? `$'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
    : `'${text}'`;
