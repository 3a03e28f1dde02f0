import type { HeaderSpec } from '../../spec/server-spec.ts';
import type { OptionTable } from './option-table.ts';
import { collect } from './option-values.ts';

// All are read later: a fault found by the parser of options would be printed with the value.
export const headerOptionTable: OptionTable<HeaderSpec> = {
  header: {
    flags: '-H, --header <name:value>',
    help: 'HTTP header or gRPC metadata of every request and control call; repeatable; its value is neither printed nor kept, but other users of this machine see it in the list of processes',
    parse: collect,
  },
  headerEnv: {
    flags: '--header-env <name:variable>',
    help: 'such a header with the value of an environment variable; repeatable',
    parse: collect,
  },
  headerFile: {
    flags: '--header-file <file>',
    help: 'such headers from a file, NAME: VALUE on each line; repeatable',
    parse: collect,
  },
  tokenEnv: { flags: '--token-env <variable>', help: 'bearer token, from an environment variable' },
  tokenFile: { flags: '--token-file <file>', help: 'bearer token, from a file' },
};
